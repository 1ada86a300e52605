/** The heaviest terms of a model, by the names of the features. */

import { html } from "../../vendor/htm-preact.mjs";
import { useResource } from "../../service/resource.mjs";
import { Bar } from "../../view/learning.mjs";
import { Loaded } from "../../view/problem.mjs";
import { number, percent } from "../../view/numbers.mjs";

/** @typedef {import("./words.mjs").Schemas["Explanation"]} ExplanationDocument */

/** @param {{model: string}} props */
export function Explanation({ model }) {
  const explanation = useResource({ path: `v1/models/${model}/explanation`, query: { top: 20 } });
  return html`<${Loaded} resource=${explanation}>${(/** @type {ExplanationDocument} */ value) => html`<${Terms} explanation=${value} />`}<//>`;
}

/** @param {{explanation: ExplanationDocument}} props */
function Terms({ explanation }) {
  const { terms, share, bias } = explanation;
  const sizes = terms.map((term) => sizeOf(term.weight));
  const most = Math.max(...sizes.map(({ power }) => power), -1000);
  const hasUses = terms.some((term) => typeof term.uses === "number");
  return html`<div class="stack">
    <p>${explanation.rule}</p>
    ${terms.length > 0 && html`<div class="scroll tall" tabindex="0" role="region" aria-label="Heaviest terms">
      <table><caption>The ${number(terms.length)} heaviest terms${bias !== null && bias !== undefined ? `; bias ${number(bias)}` : ""}</caption>
        <thead><tr><th scope="col">term</th><th scope="col" class="number">weight</th>
          ${hasUses && html`<th scope="col" class="number">updates</th>`}<th scope="col"><span class="hidden-label">bar</span></th></tr></thead>
        <tbody>${terms.map((term, index) => html`<tr key=${index}><th scope="row" class="feature">${nameOf(term)}</th>
          <td class="number">${number(term.weight)}</td>${hasUses && html`<td class="number">${number(term.uses)}</td>`}
          <td class="bar"><${Bar} share=${shareOf(sizes[index], most)} /></td></tr>`)}</tbody>
      </table></div>`}
    ${share && html`<p class="small">These terms hold ${percent(share.decimal)} of the squared weights (exactly ${share.fraction}).</p>`}
    ${explanation.detail && html`<p class="small muted">${explanation.detail}</p>`}
  </div>`;
}

/** The sign and the binary logarithm of a weight. Winnow has weights such as `2^5000`. @param {number|string} weight */
function sizeOf(weight) {
  const [, power] = /^2\^(-?\d+)$/.exec(String(weight)) ?? [];
  const value = Number(weight);
  return power ? { sign: 1, power: Number(power) } : { sign: Math.sign(value), power: Math.log2(Math.abs(value)) };
}

/** @param {{sign: number, power: number}|undefined} size  @param {number} most */
function shareOf(size, most) {
  return size && size.sign !== 0 && Number.isFinite(size.power) ? size.sign * 2 ** (size.power - most) : 0;
}

/** @param {ExplanationDocument["terms"][number]} term */
function nameOf({ literals }) {
  return literals.length === 0 ? "always true" : literals.map(({ name, negated }) => (negated ? `not ${name}` : name)).join(" and ");
}
