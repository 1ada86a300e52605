/** Examples that you type for a model without a table: bits or numbers, one example per line. */

import { html } from "../../vendor/htm-preact.mjs";
import { useState } from "../../vendor/hooks.mjs";
import { useLive } from "../../service/live.mjs";
import { Field, Panel, counted, valueOf } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { Fault } from "../../view/problem.mjs";
import { number } from "../../view/numbers.mjs";
import { CopyRecipe } from "../../view/recipe.mjs";
import { Answer } from "./answer.mjs";

/** @typedef {import("./words.mjs").Model} Model */

/** Examples of the form. More examples belong in a file. */
const EXAMPLES_MAX = 50;
/** Features that a person can type. */
const TYPED_MAX = 4096;
/** Characters of examples that the URL holds. */
const URL_MAX = 8000;
/** Characters of an example in the table of answers. */
const SHOWN_MAX = 64;

/** @param {{model: Model, query: URLSearchParams, isReal: boolean}} props */
export function TypedExamples({ model, query, isReal }) {
  const [long, setLong] = useState(/** @type {string|null} */ (null));
  const start = model.n <= TYPED_MAX ? (isReal ? Array(model.n).fill("0").join(", ") : "1".repeat(model.n)) : "";
  const text = long ?? query.get("examples") ?? start;
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean).slice(0, EXAMPLES_MAX);
  const fault = faultOf(lines, model.n, isReal);
  const json = { unlabelled: { examples: lines.map((line) => (isReal ? numbersOf(line) : bitsOf(line))) } };
  const request = { method: /** @type {const} */ ("POST"), path: `v1/models/${model.id}/predict`, json };
  const answer = useLive(lines.length > 0 && !fault ? request : null);
  const type = (/** @type {Event} */ event) => {
    const typed = valueOf(event);
    setLong(typed.length > URL_MAX ? typed : null);
    setQuery({ examples: typed.length > URL_MAX || typed === start ? null : typed });
  };
  const recipe = { operation: "predict_model", arguments: [model.id], ...request };
  const hint = `One example of ${counted(model.n, isReal ? "number" : "bit")} per line${isReal ? ", with commas between the numbers" : ""}. The first ${EXAMPLES_MAX} lines count.`;
  if (model.n > TYPED_MAX) return html`<${Panel} title="Predict typed examples">
    <p class="muted">An example has ${number(model.n)} features, too many to type. Use a file.</p><//>`;
  return html`<${Panel} title="Predict typed examples" actions=${!fault && lines.length > 0 && html`<${CopyRecipe} recipe=${recipe} />`}>
    <${Field} label="Examples" hint=${hint} fault=${fault}>
      ${(/** @type {object} */ attributes) => html`<textarea ...${attributes} value=${text} spellcheck=${false} onInput=${type}></textarea>`}<//>
    <${Fault} error=${answer.error} onRetry=${answer.reload} />
    ${!fault && lines.length > 0 && html`<div class="scroll tall" tabindex="0" role="region" aria-label="Predictions"><table>
      <caption class="hidden-label">Predictions of the typed examples</caption>
      <thead><tr><th scope="col">example</th><th scope="col">prediction</th></tr></thead>
      <tbody>${lines.map((line, index) => html`<tr key=${index}><td class="bits">${line.length > SHOWN_MAX ? `${line.slice(0, SHOWN_MAX)}…` : line}</td>
        <td><${Answer} model=${model} predictions=${answer.value} index=${index} isOld=${answer.isLoading} /></td></tr>`)}</tbody>
    </table></div>`}
  <//>`;
}

/** @param {string} line */
function bitsOf(line) {
  return line.replaceAll(/\s/g, "");
}

/** @param {string} line */
function numbersOf(line) {
  return line.split(/[\s,;]+/).filter(Boolean).map(Number);
}

/** The fault of the first wrong line. @param {string[]} lines  @param {number} n  @param {boolean} isReal */
function faultOf(lines, n, isReal) {
  for (const [index, line] of lines.entries()) {
    const values = isReal ? numbersOf(line) : [...bitsOf(line)];
    const place = lines.length > 1 ? `Line ${index + 1}: ` : "";
    if (isReal && values.some((value) => !Number.isFinite(value))) return `${place}A value is not a number.`;
    if (!isReal && values.some((value) => value !== "0" && value !== "1")) return `${place}Bits are 0 and 1.`;
    if (values.length !== n) return `${place}${counted(values.length, isReal ? "number" : "bit")} of ${number(n)}.`;
  }
  return undefined;
}
