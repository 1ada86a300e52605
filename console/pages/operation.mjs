/** The page Operation. */

import { html } from "../vendor/htm-preact.mjs";
import { PageHead } from "../view/parts.mjs";

export function OperationPage() {
  return html`<div class="page"><${PageHead} title="Operation" /></div>`;
}
