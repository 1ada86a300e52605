/** The page Playground. */

import { html } from "../vendor/htm-preact.mjs";
import { PageHead } from "../view/parts.mjs";

export function PlaygroundPage() {
  return html`<div class="page"><${PageHead} title="Playground" /></div>`;
}
