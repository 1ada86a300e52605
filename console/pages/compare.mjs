/** The page Compare. */

import { html } from "../vendor/htm-preact.mjs";
import { PageHead } from "../view/parts.mjs";

export function ComparePage() {
  return html`<div class="page"><${PageHead} title="Compare" /></div>`;
}
