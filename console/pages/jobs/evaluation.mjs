/** The result of an evaluation: the errors of a model, its confusions and the wrong examples. */

import { html } from "../../vendor/htm-preact.mjs";
import { Certificates } from "../../view/learning.mjs";
import { Facts, Panel, counted } from "../../view/parts.mjs";
import { href } from "../../view/place.mjs";
import { number, percent } from "../../view/numbers.mjs";
import { Rows } from "../../view/rows.mjs";
import { Errors } from "./training.mjs";
import { shortId } from "./words.mjs";

/** @typedef {import("./words.mjs").Schemas} Schemas */

/** @param {{result: Schemas["EvaluateResult"]}} props */
export function EvaluateView({ result }) {
  const { confusion, wrong } = result;
  return html`<${Panel} title="Result" actions=${html`<a href=${href(`models/${result.model}`)}>Model ${shortId(result.model)}</a>`}>
      ${!result.complete && html`<div class="notice warn"><p>A limit ended the evaluation. The counts cover ${counted(result.examples, "example")}.</p></div>`}
      <${Facts} of=${[["Errors", html`<${Errors} of=${result} />`], ["Accuracy", html`<strong>${percent(result.accuracy)}</strong>`],
        ["Examples", html`<strong>${number(result.examples)}</strong>`]]} />
      <h3>Labels and predictions</h3>
      <div class="scroll" tabindex="0" role="region" aria-label="Labels and predictions"><table>
        <thead><tr><th scope="col">label</th><th scope="col" class="number">predicted +1</th><th scope="col" class="number">predicted −1</th></tr></thead>
        <tbody><tr><th scope="row">+1</th><td class="number">${number(confusion.true_positives)}</td><td class="number">${number(confusion.false_negatives)}</td></tr>
          <tr><th scope="row">−1</th><td class="number">${number(confusion.false_positives)}</td><td class="number">${number(confusion.true_negatives)}</td></tr></tbody>
      </table></div>
    <//>
    <${Panel} title="Certificates"><${Certificates} certificates=${result.certificates} withheld=${result.certificates_withheld} /><//>
    <${Panel} title="Wrong predictions">${wrong.length === 0 ? html`<p class="muted">The model made no wrong prediction.</p>`
      : html`${wrong.length < result.errors && html`<p class="small muted">The result lists the first ${number(wrong.length)} of ${number(result.errors)}.</p>`}
        <${Rows} caption="Wrong predictions" rows=${wrong} height=${400} rowKey=${(/** @type {Schemas["WrongDocument"]} */ row) => String(row.index)}
          columns=${WRONG_COLUMNS} />`}<//>`;
}

/** @type {import("../../view/rows.mjs").Column<Schemas["WrongDocument"]>[]} */
const WRONG_COLUMNS = [
  { name: "example", isNumber: true, cell: (row) => number(row.index) },
  { name: "label", isNumber: true, cell: (row) => signed(row.label) },
  { name: "prediction", isNumber: true, cell: (row) => signed(row.prediction) },
  { name: "score", isNumber: true, cell: (row) => number(row.score) },
];

/** @param {number} label */
function signed(label) {
  return label > 0 ? "+1" : "−1";
}
