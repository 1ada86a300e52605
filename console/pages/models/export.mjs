/** The files of a model: the model itself, a program in each language, the weights for NumPy and the receipt. */

import { html } from "../../vendor/htm-preact.mjs";
import { useText } from "../../service/live.mjs";
import { Problem, send } from "../../service/requests.mjs";
import { useAction } from "../../service/resource.mjs";
import { download, nameOfFile } from "../../view/download.mjs";
import { Panel } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { Fault, Loaded } from "../../view/problem.mjs";
import { number } from "../../view/numbers.mjs";
import { CopyButton, CopyRecipe } from "../../view/recipe.mjs";
import { LANGUAGES, codeOf, getting, languageIn, receiptOf, titleOf } from "./words.mjs";

/** @typedef {import("./words.mjs").Model} Model */
/** @typedef {import("./words.mjs").Schemas["Receipt"]} Receipt */

/** Characters of a file that the page shows. */
const SHOWN_MAX = 20_000;

/** @param {{model: Model, query: URLSearchParams}} props */
export function ExportTab({ model, query }) {
  const name = nameOfFile(titleOf(model));
  return html`<${Program} model=${model} query=${query} name=${name} />
    <div class="columns">
      <${ModelFile} model=${model} name=${name} />
      <${Weights} model=${model} name=${name} />
    </div>
    <${ReceiptPanel} model=${model} name=${name} />`;
}

/** @param {{model: Model, query: URLSearchParams, name: string}} props */
function Program({ model, query, name }) {
  const [language, label, ending, use] = languageIn(query);
  const recipe = codeOf(model.id, language);
  const code = useText(recipe);
  return html`<${Panel} title="As a program" actions=${html`<${CopyRecipe} recipe=${recipe} />`}>
    <p class="muted">The program needs no service. It reads raw rows and gives exactly the predictions of the service.</p>
    <div class="row" role="group" aria-label="Language of the program">${LANGUAGES.map(([known, text]) => html`<button key=${known}
      class="small-button" aria-pressed=${known === language} onClick=${() => setQuery({ language: known }, { push: true })}>${text}</button>`)}</div>
    <p class="small">${use}</p>
    ${isCode(code.error, "inexpressible") ? html`<div class="notice warn" role="status"><p><strong>${label} has no exact program of this model.</strong>
        ${" "}${code.error?.message}</p><p class="small">The service writes no program that could differ from its predictions. Python states every model.</p></div>`
      : html`<${Loaded} resource=${code}>${(/** @type {string} */ text) => html`
        <div class="row"><button class="primary" onClick=${() => download(`${name}.${ending}`, "text/plain", text)}>Download ${name}.${ending}</button>
          <${CopyButton} label="Copy the program" text=${() => text} /></div>
        <${Shown} text=${text} label="The program" />`}<//>`}
  <//>`;
}

/** @param {Error|null} error  @param {string} code */
function isCode(error, code) {
  return error instanceof Problem && error.document.code === code;
}

/** The beginning of a text. @param {{text: string, label: string}} props */
function Shown({ text, label }) {
  return html`${text.length > SHOWN_MAX && html`<p class="small muted">The first ${number(SHOWN_MAX)} of ${number(text.length)} characters. The download has all.</p>`}
    <pre tabindex="0" role="region" aria-label=${label}>${text.slice(0, SHOWN_MAX)}</pre>`;
}

/** @param {{model: Model, name: string}} props */
function ModelFile({ model, name }) {
  const recipe = getting(model.id);
  const saving = useAction(async (abort) => download(`${name}.json`, "application/json", await (await send(recipe, abort)).blob()));
  return html`<${Panel} title="As a model file" actions=${html`<${CopyRecipe} recipe=${recipe} />`}>
    <p class="muted">The file holds the whole model. The page Models of another service imports the file.
      The command line uses the file without a service.</p>
    <div><button disabled=${saving.isRunning} onClick=${saving.start}>Download ${name}.json</button></div>
    <${Fault} error=${saving.error} />
  <//>`;
}

/** @param {{model: Model, name: string}} props */
function Weights({ model, name }) {
  const first = model.hypothesis.kind === "committee" ? model.hypothesis.members[0] : model.hypothesis;
  const hasWeights = first?.kind === "linear" || first?.kind === "binary-weights";
  const recipe = { operation: "get_model_weights", arguments: [model.id], path: `v1/models/${model.id}/weights.npy` };
  const saving = useAction(async (abort) => download(`${name}.npy`, "application/x-npy", await (await send(recipe, abort)).blob()));
  return html`<${Panel} title="As a NumPy array" actions=${hasWeights && html`<${CopyRecipe} recipe=${recipe} />`}>
    ${hasWeights ? html`<p class="muted">One weight per feature, and the bias last if the model has one; with more than two classes, a row for each.</p>
      <div><button disabled=${saving.isRunning} onClick=${saving.start}>Download ${name}.npy</button></div>
      <${Fault} error=${saving.error} />`
      : html`<p class="muted">This kind of hypothesis has no weight per feature. Only linear models and binary weights have an array.</p>`}
  <//>`;
}

/** @param {{model: Model, name: string}} props */
function ReceiptPanel({ model, name }) {
  const recipe = receiptOf(model.id);
  const receipt = useText(recipe);
  return html`<${Panel} title="Receipt of the training" actions=${html`<${CopyRecipe} recipe=${recipe} />`}>
    <p class="muted">The receipt lists the mistaken examples, from which the training can be repeated.</p>
    ${isCode(receipt.error, "inexpressible") ? html`<p role="status">${receipt.error?.message}</p>`
      : html`<${Loaded} resource=${receipt}>${(/** @type {string} */ text) => html`<${ReceiptView} text=${text} name=${name} />`}<//>`}
  <//>`;
}

/** @param {{text: string, name: string}} props */
function ReceiptView({ text, name }) {
  /** @type {Receipt} */
  const receipt = JSON.parse(text);
  const file = `${name}-receipt.json`;
  const isGenerated = receipt.data.kind === "generated";
  const kept = new Set(receipt.members.flatMap((member) => member.kept));
  const command = `halfspace verify ${file}${isGenerated ? "" : " data.csv"}`;
  return html`<p>${number(kept.size)} of ${number(receipt.examples)} examples are kept. The run made ${number(receipt.mistakes)} mistakes.</p>
    <div class="row"><button onClick=${() => download(file, "application/json", text)}>Download ${file}</button></div>
    <p>Verify the receipt with a second implementation of the learners${isGenerated ? "" : html`. Replace <code>data.csv</code> by the file of the training`}:</p>
    <div class="row"><code class="command">${command}</code><${CopyButton} label="Copy the command" text=${() => command} /></div>
    <details><summary>Show the receipt</summary><${Shown} text=${JSON.stringify(receipt, null, 1)} label="The receipt" /></details>`;
}
