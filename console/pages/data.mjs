/** The page Data. */

import { html } from "../vendor/htm-preact.mjs";
import { PageHead } from "../view/parts.mjs";

export function DataPage() {
  return html`<div class="page"><${PageHead} title="Data" /></div>`;
}
