/** The page Experiments. */

import { html } from "../vendor/htm-preact.mjs";
import { PageHead } from "../view/parts.mjs";

export function ExperimentsPage() {
  return html`<div class="page"><${PageHead} title="Experiments" /></div>`;
}
