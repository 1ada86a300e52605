/** One prediction: the name of the class and the exact score. */

import { html } from "../../vendor/htm-preact.mjs";
import { number } from "../../view/numbers.mjs";
import { className } from "./words.mjs";

/** @typedef {import("./words.mjs").Schemas["Predictions"]} Predictions */

/**
 * @param {{model: import("./words.mjs").Model, predictions: Predictions|null, index: number, isOld?: boolean}} props
 * `isOld`: the answer to the latest change is on its way.
 */
export function Answer({ model, predictions, index, isOld = false }) {
  const label = predictions?.predictions[index];
  if (!predictions || label === undefined) return html`<span class="muted" role="status">…</span>`;
  const score = predictions.scores?.[index];
  return html`<span class="row answer" role="status" aria-busy=${isOld}>
    <strong class=${`badge ${label > 0 ? "note" : ""}`}>${predictions.predicted_classes?.[index] ?? className(model, label)}</strong>
    ${score !== null && score !== undefined && html`<span class="small">score ${typeof score === "string" ? score : number(score, 15)}</span>`}</span>`;
}
