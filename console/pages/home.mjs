/** The page Home. */

import { html } from "../vendor/htm-preact.mjs";
import { PageHead } from "../view/parts.mjs";

export function HomePage() {
  return html`<div class="page"><${PageHead} title="Home" /></div>`;
}
