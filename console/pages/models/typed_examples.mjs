/** Examples that you type for a model without a table: bits, numbers or names, one example per line. */

import { html } from "../../vendor/htm-preact.mjs";
import { useState } from "../../vendor/hooks.mjs";
import { useLive } from "../../service/live.mjs";
import { Field, Panel, counted, valueOf } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { Fault } from "../../view/problem.mjs";
import { number } from "../../view/numbers.mjs";
import { CopyRecipe } from "../../view/recipe.mjs";
import { Answer } from "./answer.mjs";
import { Why } from "./why.mjs";

/** @typedef {import("./words.mjs").Model} Model */

/** Examples of the form. More examples belong in a file. */
const EXAMPLES_MAX = 50;
/** Features that a person can type. */
const TYPED_MAX = 4096;
/** Characters of examples that the URL holds. */
const URL_MAX = 8000;
/** Characters of an example in the table of answers. */
const SHOWN_MAX = 64;
/** Names of the example that the form shows first. */
const NAMES_FIRST = 3;

/**
 * How a line is read. `faultOf` gets a line and tells what is wrong with it.
 * @typedef {{start: string, hint: string, read: (line: string) => unknown, faultOf: (line: string) => string|undefined}} Form
 */

/** @param {{model: Model, query: URLSearchParams, isReal: boolean}} props */
export function TypedExamples({ model, query, isReal }) {
  const hasNames = model.vocabulary === "open";
  if (!hasNames && model.n > TYPED_MAX) return html`<${Panel} title="Predict typed examples">
    <p class="muted">An example has ${number(model.n)} features, too many to type. Use a file.</p><//>`;
  return html`<${TypedLines} model=${model} query=${query} form=${hasNames ? ofNames(model) : isReal ? ofNumbers(model.n) : ofBits(model.n)} />`;
}

/** @param {{model: Model, query: URLSearchParams, form: Form}} props */
function TypedLines({ model, query, form }) {
  const [long, setLong] = useState(/** @type {string|null} */ (null));
  const [why, setWhy] = useState(/** @type {number|null} */ (null));
  // An absent name adds nothing, so the names of an example explain its prediction.
  const isNamed = model.vocabulary === "open";
  const { start } = form;
  const text = long ?? query.get("examples") ?? start;
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean).slice(0, EXAMPLES_MAX);
  const faults = lines.map((line, index) => [index, form.faultOf(line)]).filter(([, told]) => told);
  const fault = faults[0] && `${lines.length > 1 ? `Line ${Number(faults[0][0]) + 1}: ` : ""}${faults[0][1]}`;
  const json = { unlabelled: { examples: fault ? [] : lines.map(form.read) } };
  const request = { method: /** @type {const} */ ("POST"), path: `v1/models/${model.id}/predict`, json };
  const answer = useLive(lines.length > 0 && !fault ? request : null);
  const type = (/** @type {Event} */ event) => {
    const typed = valueOf(event);
    setLong(typed.length > URL_MAX ? typed : null);
    setQuery({ examples: typed.length > URL_MAX || typed === start ? null : typed });
  };
  const recipe = { operation: "predict_model", arguments: [model.id], ...request };
  const hint = `${form.hint} The first ${EXAMPLES_MAX} lines count.`;
  const unseen = answer.value?.unseen;
  return html`<${Panel} title="Predict typed examples" actions=${!fault && lines.length > 0 && html`<${CopyRecipe} recipe=${recipe} />`}>
    <${Field} label="Examples" hint=${hint} fault=${fault}>
      ${(/** @type {object} */ attributes) => html`<textarea ...${attributes} value=${text} spellcheck=${false} onInput=${type}></textarea>`}<//>
    <${Fault} error=${answer.error} onRetry=${answer.reload} />
    ${!fault && lines.length > 0 && html`<div class="scroll tall" tabindex="0" role="region" aria-label="Predictions"><table>
      <caption class="hidden-label">Predictions of the typed examples</caption>
      <thead><tr><th scope="col">example</th><th scope="col">prediction</th>${unseen && html`<th scope="col" class="number">unknown names</th>`}${isNamed && html`<th scope="col"><span class="hidden-label">Why</span></th>`}</tr></thead>
      <tbody>${lines.map((line, index) => html`<tr key=${index}><td class="bits">${line.length > SHOWN_MAX ? `${line.slice(0, SHOWN_MAX)}…` : line}</td>
        <td><${Answer} model=${model} predictions=${answer.value} index=${index} isOld=${answer.isLoading} /></td>
        ${unseen && html`<td class="number">${number(unseen[index])}</td>`}
        ${isNamed && html`<td><button class="small-button" aria-expanded=${why === index} aria-label=${`Why line ${index + 1}?`}
          onClick=${() => setWhy(why === index ? null : index)}>Why?</button></td>`}</tr>`)}</tbody>
    </table></div>`}
    ${!fault && why !== null && why < lines.length && html`<h3>Why line ${why + 1}?</h3>
      <${Why} model=${model} json=${{ unlabelled: { examples: [form.read(lines[why] ?? "")] } }} />`}
  <//>`;
}

/** @param {number} n @returns {Form} */
function ofBits(n) {
  const read = (/** @type {string} */ line) => line.replaceAll(/\s/g, "");
  const faultOf = (/** @type {string} */ line) => (/[^01]/.test(read(line)) ? "Bits are 0 and 1." : lengthFault(read(line).length, n, "bit"));
  return { start: "1".repeat(n), hint: `One example of ${counted(n, "bit")} per line.`, read, faultOf };
}

/** @param {number} n @returns {Form} */
function ofNumbers(n) {
  const read = (/** @type {string} */ line) => line.split(/[\s,;]+/).filter(Boolean).map(Number);
  const faultOf = (/** @type {string} */ line) => (read(line).every(Number.isFinite) ? lengthFault(read(line).length, n, "number") : "A value is not a number.");
  return { start: Array(n).fill("0").join(", "), hint: `One example of ${counted(n, "number")} per line, with commas between the numbers.`, read, faultOf };
}

/** @param {number} found  @param {number} n  @param {string} what */
function lengthFault(found, n, what) {
  return found === n ? undefined : `${counted(found, what)} of ${number(n)}.`;
}

/** Names with blanks between them, or JSON for names with blanks and for values. @param {Model} model @returns {Form} */
function ofNames(model) {
  const isJson = (/** @type {string} */ line) => /^[[{]/.test(line);
  const read = (/** @type {string} */ line) => (isJson(line) ? JSON.parse(line) : line.split(/\s+/));
  const faultOf = (/** @type {string} */ line) => {
    try {
      read(line);
      return undefined;
    } catch {
      return "A line that begins with [ or { is JSON, but this one is not complete.";
    }
  };
  const names = (model.features ?? []).slice(0, NAMES_FIRST);
  const isPlain = names.length > 0 && names.every((name) => !/\s/.test(name)) && !isJson(names[0] ?? "");
  return { start: isPlain ? names.join(" ") : JSON.stringify(names), read, faultOf,
    hint: "The names of one example per line, with blanks between them, or as JSON: [\"New York\", \"the\"], or {\"length\": 3.5}." };
}
