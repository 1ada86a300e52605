/** The page Train. */

import { html } from "../vendor/htm-preact.mjs";
import { PageHead } from "../view/parts.mjs";

export function TrainPage() {
  return html`<div class="page"><${PageHead} title="Train" /></div>`;
}
