/** The result of an import: the dataset that an object of a bucket became. */

import { html } from "../../vendor/htm-preact.mjs";
import { bytes, duration, number } from "../../view/numbers.mjs";
import { Facts, Panel } from "../../view/parts.mjs";
import { href } from "../../view/place.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */

/** @param {{result: Schemas["ImportResult"]}} props */
export function ImportView({ result }) {
  return html`<${Panel} title="Result" actions=${html`<a href=${href(`data/${result.dataset}`)}>Dataset</a>`}>
    <${Facts} of=${[
      ["Examples", html`<strong>${number(result.examples)}</strong>`], ["Features", number(result.n)],
      ["Columns", typeof result.columns === "number" && number(result.columns)],
      ["Object", html`<code>${result.source}</code>`], ["Read", bytes(result.source_bytes)], ["Read as", html`<code>${result.media_type}</code>`],
      ["Stored", bytes(result.bytes)], ["Computing", duration(result.seconds)]]} />
  <//>`;
}
