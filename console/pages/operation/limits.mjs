/** All limits in force, with their meanings from the API document. */

import { html } from "../../vendor/htm-preact.mjs";
import { useConstant, useResource } from "../../service/resource.mjs";
import { bytes, duration, number } from "../../view/numbers.mjs";
import { Empty, Field, Panel, valueOf } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { Loaded } from "../../view/problem.mjs";

/** @param {{search: string}} props */
export function Limits({ search }) {
  const limits = useResource({ path: "v1/limits" });
  const document = useConstant("openapi.json");
  /** @type {Record<string, {description?: string}>} */
  const meanings = document.value?.components?.schemas?.Limits?.properties ?? {};
  return html`<${Panel} title="Limits in force">
    <p class="muted">The error of a refused request names its limit as in this table. Operators set some limits with
      flags such as <code>--body-bytes-max</code>; the others are fixed.</p>
    <${Field} label="Search the limits">${(/** @type {object} */ attributes) => html`<input ...${attributes} type="search" value=${search}
      onInput=${(/** @type {Event} */ event) => setQuery({ search: valueOf(event) })} />`}<//>
    <${Loaded} resource=${limits}>${(/** @type {Record<string, any>} */ values) => {
      const words = search.toLowerCase();
      const rows = Object.entries(values).filter(([name, value]) => typeof value === "number"
        && `${name} ${meanings[name]?.description ?? ""}`.toLowerCase().includes(words));
      if (rows.length === 0) return html`<${Empty}>No limit contains “${search}”.<//>`;
      return html`<div class="scroll tall" tabindex="0" role="region" aria-label="Limits"><table>
        <thead><tr><th scope="col">Limit</th><th scope="col" class="number">Value</th></tr></thead>
        <tbody>${rows.map(([name, value]) => html`<tr key=${name}><th scope="row" class="feature"><code>${name}</code>
          <div class="small muted">${prose(meanings[name]?.description ?? "")}</div></th><td class="number nowrap">${written(name, value)}</td></tr>`)}</tbody>
      </table></div>`;
    }}<//>
  <//>`;
}

/** A description of the API document, which marks names with backticks. @param {string} text */
function prose(text) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** A value with its unit, which the name tells. @param {string} name  @param {number} value */
function written(name, value) {
  if (name.includes("bytes")) return bytes(value);
  if (name.includes("seconds")) return duration(value);
  return number(value);
}
