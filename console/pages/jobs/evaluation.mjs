/** The result of an evaluation: the errors of a model, its confusions and the wrong examples. */

import { html } from "../../vendor/htm-preact.mjs";
import { Certificates } from "../../view/learning.mjs";
import { Facts, Panel, counted } from "../../view/parts.mjs";
import { SavePicture } from "../../view/picture.mjs";
import { href } from "../../view/place.mjs";
import { number, percent } from "../../view/numbers.mjs";
import { Rows } from "../../view/rows.mjs";
import { Errors } from "./training.mjs";
import { shortId } from "./words.mjs";

/** @typedef {import("./words.mjs").Schemas} Schemas */

/** @param {{result: Schemas["EvaluateResult"]}} props */
export function EvaluateView({ result }) {
  const { wrong } = result;
  return html`<${Panel} title="Result" actions=${html`<a href=${href(`models/${result.model}`)}>Model ${shortId(result.model)}</a>`}>
      ${!result.complete && html`<div class="notice warn"><p>A limit ended the evaluation. The counts cover ${counted(result.examples, "example")}.</p></div>`}
      <${Facts} of=${[["Errors", html`<${Errors} of=${result} />`], ["Accuracy", html`<strong>${percent(result.accuracy)}</strong>`],
        ["Most frequent class", result.baseline !== null && percent(result.baseline)], ["Macro F1", result.macro_f1 !== null && percent(result.macro_f1)],
        ["Examples", html`<strong>${number(result.examples)}</strong>`]]} />
      <h3>Classes</h3>
      <${Rows} caption="Classes" rows=${result.classes} height=${400} rowKey=${(/** @type {ClassDocument} */ row) => row.name} columns=${CLASS_COLUMNS} />
      <${ConfusionMatrix} result=${result} />
    <//>
    <${Panel} title="Certificates"><${Certificates} certificates=${result.certificates} withheld=${result.certificates_withheld} /><//>
    <${Panel} title="Wrong predictions">${wrong.length === 0 ? html`<p class="muted">The model made no wrong prediction.</p>`
      : html`${wrong.length < result.errors && html`<p class="small muted">The result lists the first ${number(wrong.length)} of ${number(result.errors)}.</p>`}
        <${Rows} caption="Wrong predictions" rows=${wrong} height=${400} rowKey=${(/** @type {Schemas["WrongDocument"]} */ row) => String(row.index)}
          columns=${wrongColumns(result)} />`}<//>`;
}

/** @typedef {Schemas["ClassDocument"]} ClassDocument */

/** The most classes whose matrix the page shows. */
const MATRIX_MAX = 30;

/** @type {import("../../view/rows.mjs").Column<ClassDocument>[]} */
const CLASS_COLUMNS = [
  { name: "class", cell: (row) => row.name },
  { name: "examples", isNumber: true, cell: (row) => number(row.examples) },
  { name: "predicted", isNumber: true, cell: (row) => number(row.predicted) },
  { name: "precision", isNumber: true, cell: (row) => shareText(row.precision) },
  { name: "recall", isNumber: true, cell: (row) => shareText(row.recall) },
  { name: "F1", isNumber: true, cell: (row) => shareText(row.f1) },
];

/** @param {number|null|undefined} share */
function shareText(share) {
  return typeof share === "number" ? percent(share, 1) : "–";
}

/** Rows are the labels, columns the predictions. The shade of a cell is its share of the row. @param {{result: Schemas["EvaluateResult"]}} props */
function ConfusionMatrix({ result }) {
  const { confusion, classes } = result;
  if (!confusion || classes.length > MATRIX_MAX) return html`<p class="small muted">${`The matrix of ${number(classes.length)} classes is in the result, if they are at most 256.`}</p>`;
  const drawing = () => ({ heat_maps: { title: "Examples by label and prediction", maps: [{ label: "Rows are labels, columns predictions", columns: confusion.length, values: confusion.flat() }] } });
  return html`<div class="row spread"><h3>Labels and predictions</h3><${SavePicture} drawing=${drawing} name="confusion" label="Matrix as SVG" /></div>
    <div class="scroll" tabindex="0" role="region" aria-label="Labels and predictions"><table class="matrix">
      <thead><tr><th scope="col">label</th>${classes.map(({ name }) => html`<th key=${name} scope="col" class="number">predicted ${name}</th>`)}</tr></thead>
      <tbody>${confusion.map((row, label) => html`<tr key=${label}><th scope="row">${classes[label]?.name}</th>${row.map((count, at) => html`<td key=${at} class="number"
        style=${{ background: shade(count, classes[label]?.examples ?? 0, label === at) }}>${number(count)}</td>`)}</tr>`)}</tbody>
    </table></div>`;
}

/** @param {number} count  @param {number} all  @param {boolean} isRight */
function shade(count, all, isRight) {
  const percentage = all > 0 ? Math.round((count / all) * 25) : 0;
  return `color-mix(in srgb, var(--series-${isRight ? 1 : 2}) ${percentage}%, transparent)`;
}

/** @param {Schemas["EvaluateResult"]} result  @returns {import("../../view/rows.mjs").Column<Schemas["WrongDocument"]>[]} */
function wrongColumns({ classes }) {
  const name = (/** @type {number} */ label) => (classes.length > 2 ? classes[label]?.name ?? "" : label > 0 ? "+1" : "−1");
  return [
    { name: "example", isNumber: true, cell: (row) => number(row.index) },
    { name: "label", isNumber: classes.length === 2, cell: (row) => name(row.label) },
    { name: "prediction", isNumber: classes.length === 2, cell: (row) => name(row.prediction) },
    { name: "score", isNumber: true, cell: (row) => number(row.score) },
  ];
}
