/** The card of a model: its origin, its rule and its encoding. When the page is printed, this is what goes on paper. */

import { html } from "../../vendor/htm-preact.mjs";
import { useMemo, useState } from "../../vendor/hooks.mjs";
import { HypothesisView } from "../../view/learning.mjs";
import { Facts, Panel } from "../../view/parts.mjs";
import { href } from "../../view/place.mjs";
import { number } from "../../view/numbers.mjs";
import { CopyRecipe, ShowRecipe } from "../../view/recipe.mjs";
import { classesOf, labelText } from "../../view/balance.mjs";
import { wholeColumns } from "../../view/whole_columns.mjs";
import { ExplanationPanel } from "./explanation.mjs";
import { deleting, getting, kindName, titleOf } from "./words.mjs";

/** @typedef {import("./words.mjs").Schemas} Schemas */
/** @typedef {import("./words.mjs").Model} Model */

/** Columns of a table that the card lists. */
const COLUMNS_MAX = 100;
/** Values of a column that the card lists. */
const VALUES_MAX = 12;

/** @param {{model: Model}} props */
export function ModelCard({ model }) {
  return html`<${Panel} title="Origin" actions=${html`<${CopyRecipe} recipe=${getting(model.id)} />`}><${Origin} model=${model} /><//>
    <${ExplanationPanel} model=${model.id} name=${titleOf(model)} classes=${classesOf(model.classes, model.table)} />
    ${model.table && html`<${Encoding} table=${model.table} />`}
    <${Numbers} model=${model} />
    <${ShowRecipe} title="The request that deletes this model" recipe=${deleting(model.id)} />`;
}

/** @param {{model: Model}} props */
function Origin({ model }) {
  const params = Object.entries(model.params ?? {});
  return html`<${Facts} of=${[
      ["Learner", html`<strong>${model.learner}</strong>`], ["Hypothesis", html`<strong>${kindName(model.kind)}</strong>`],
      [model.vocabulary === "open" ? "Names of features" : "Features", html`<strong>${number(model.n)}</strong>`], [(model.classes?.length ?? 2) > 2 ? "Classes" : "Classes (−1, +1)", model.classes && html`<strong>${model.classes.join(", ")}</strong>`],
      ["Examples read", number(model.examples)], ["Passes", number(model.passes)], ["Mistakes", number(model.mistakes)],
      ["Updates", number(model.updates)], ["Held out", model.held_out ? number(model.held_out) : null],
      ["Seed", html`<code>${String(model.seed)}</code>`], ["Made", momentOf(model.created_at)],
      ["Started from", model.warm_start && html`<a href=${href(`models/${model.warm_start}`)}>model …${model.warm_start.slice(-8)}</a>`]]} />
    <dl class="facts wide-facts">
      <div><dt>Parameters</dt><dd>${params.length === 0 ? "none" : params.map(([name, value]) => html`<code key=${name} class="pair">${name} = ${plain(value)}</code>`)}</dd></div>
      <div><dt>SHA-256 of the training data</dt><dd>${model.data_sha256 ? html`<code>${model.data_sha256}</code>` : "none, the data were generated"}</dd></div>
      <div><dt>SHA-256 of the model</dt><dd><code>${model.sha256}</code></dd></div>
    </dl>`;
}

/** A time for paper: the day stands there too, and the zone. @param {string} at */
function momentOf(at) {
  return html`<time datetime=${at}>${at.slice(0, 19).replace("T", " ")} UTC</time>`;
}

/** @param {unknown} value */
function plain(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}… (${number(text.length)} characters)` : text;
}

/** @param {{table: Schemas["TableEncoding"]}} props */
function Encoding({ table }) {
  const columns = wholeColumns(table.columns);
  const shown = columns.slice(0, COLUMNS_MAX);
  const cut = columns.length > shown.length ? `The first ${number(shown.length)} of ${number(columns.length)} columns. The exported file has all.`
    : "The columns of the training table. Raw rows with these columns can be predicted.";
  const label = table.label;
  return html`<${Panel} title="Encoding">
    ${label && html`<p>The label is the column <strong>${label.column}</strong>: ${labelText(label)}.</p>`}
    <div class="scroll tall" tabindex="0" role="region" aria-label="Columns of the encoding"><table>
      <caption>${cut}</caption>
      <thead><tr><th scope="col">column</th><th scope="col">kind</th><th scope="col">values or thresholds</th><th scope="col" class="number">features</th></tr></thead>
      <tbody>${shown.map((column) => html`<tr key=${column.index}><th scope="row" class="feature">${column.name}</th><td>${column.kind}</td>
        <td>${valuesOf(column)}</td><td class="number">${number((column.features[1] ?? 0) - (column.features[0] ?? 0))}</td></tr>`)}</tbody>
    </table></div>
    ${table.ignored.length > 0 && html`<p class="small muted">Ignored: ${firstOf(table.ignored.map(({ column }) => column), 20)}.</p>`}
    ${table.missing.cells > 0 && html`<p class="small muted">Missing cells in the training table: ${number(table.missing.cells)}, treated as
      “${table.missing.treatment}”${table.missing.rows_dropped > 0 && `; rows left out: ${number(table.missing.rows_dropped)}`}.</p>`}
  <//>`;
}

/** @param {import("../../view/whole_columns.mjs").WholeColumn} column */
function valuesOf(column) {
  const texts = column.parts ?? column.values ?? column.thresholds?.map((threshold) => `≥ ${number(threshold)}`) ?? [];
  const all = column.missing ? [...texts, "(missing)"] : texts;
  return all.length === 0 ? "the number itself" : firstOf(all, VALUES_MAX);
}

/** @param {string[]} texts  @param {number} most */
function firstOf(texts, most) {
  const rest = texts.length - most;
  return rest > 0 ? `${texts.slice(0, most).join(", ")} and ${number(rest)} more` : texts.join(", ");
}

/** The numbers of the hypothesis, made only when a person asks. @param {{model: Model}} props */
function Numbers({ model }) {
  const [isOpen, setIsOpen] = useState(false);
  // A million weights are sorted once and not with each change of the page.
  const view = useMemo(() => (isOpen ? html`<${HypothesisView} hypothesis=${model.hypothesis} features=${model.features ?? null} classes=${model.classes ?? null} />` : null), [isOpen, model]);
  return html`<details class="no-print" onToggle=${(/** @type {Event} */ event) => setIsOpen(/** @type {HTMLDetailsElement} */ (event.target).open)}>
    <summary>The hypothesis in numbers</summary>${view}</details>`;
}
