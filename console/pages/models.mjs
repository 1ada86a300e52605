/** The page Models. */

import { html } from "../vendor/htm-preact.mjs";
import { PageHead } from "../view/parts.mjs";

export function ModelsPage() {
  return html`<div class="page"><${PageHead} title="Models" /></div>`;
}
