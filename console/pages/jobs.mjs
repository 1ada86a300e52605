/** The page Jobs. */

import { html } from "../vendor/htm-preact.mjs";
import { PageHead } from "../view/parts.mjs";

export function JobsPage() {
  return html`<div class="page"><${PageHead} title="Jobs" /></div>`;
}
