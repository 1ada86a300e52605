/** The evaluation of a model on labelled examples: a stored dataset or a file. */

import { html } from "../../vendor/htm-preact.mjs";
import { useState } from "../../vendor/hooks.mjs";
import { create } from "../../service/requests.mjs";
import { useAction, useResource } from "../../service/resource.mjs";
import { upload } from "../../service/upload.mjs";
import { Check, Field, Panel, Select, valueOf } from "../../view/parts.mjs";
import { go, href, setQuery } from "../../view/place.mjs";
import { Fault, Loaded } from "../../view/problem.mjs";
import { number, percent } from "../../view/numbers.mjs";
import { ShowRecipe } from "../../view/recipe.mjs";
import { EvaluateView } from "../jobs/evaluation.mjs";
import { ChooseDataFile, headersOf } from "../../view/data_file.mjs";

/** @typedef {import("./words.mjs").Model} Model */
/** @typedef {import("./words.mjs").Schemas} Schemas */
/** @typedef {import("../../view/data_file.mjs").DataFile} DataFile */

/** @type {[value: string, label: string][]} */
const ASSUMES = [["", "nothing"], ["independent", "independent draws of one distribution"], ["uniform-positive", "uniform over the positive half-space"],
  ["reflected", "uniform, the negative ones reflected"], ["uniform", "uniform over the cube"]];

/** @param {{model: Model, query: URLSearchParams}} props */
export function EvaluateTab({ model, query }) {
  const source = query.get("source") === "file" ? "file" : "dataset";
  const options = optionsIn(query);
  const choice = html`<div class="row" role="group" aria-label="Source of the examples">
        ${[["dataset", "A stored dataset"], ["file", "A file"]].map(([name, label]) => html`<button key=${name} class="small-button" aria-pressed=${source === name}
          onClick=${() => setQuery({ source: name === "file" ? name : null, run: null }, { push: true })}>${label}</button>`)}</div>`;
  const Source = source === "file" ? OnFile : OnDataset;
  return html`<${Source} model=${model} options=${options} query=${query} choice=${choice} />`;
}

/** @typedef {{assume: string, fresh: boolean, confidence: string}} Options */

/** @param {URLSearchParams} query @returns {Options} */
function optionsIn(query) {
  return { assume: query.get("assume") ?? "", fresh: query.get("fresh") === "true", confidence: query.get("confidence") ?? "" };
}

/** The options as query of the request. @param {Options} options */
function asked({ assume, fresh, confidence }) {
  return { assume, fresh: fresh ? true : null, confidence };
}

/** The declarations that give a certificate. @param {{options: Options, isDataset?: boolean}} props */
function Declarations({ options }) {
  const { assume, fresh, confidence } = options;
  const isWrong = confidence !== "" && !(Number(confidence) > 0 && Number(confidence) < 1);
  const set = (/** @type {Record<string, string|boolean|null>} */ changes) => setQuery({ ...changes, run: null });
  return html`<fieldset class="stack"><legend>For a certificate of the error</legend>
    <p class="small muted">A certificate is an interval that holds the true error with the confidence. It needs two facts that only you know:
      how the examples were drawn, and that the model has not seen them. Without them you still get the counts.</p>
    <div class="fields">
      <${Field} label="The examples are">${(/** @type {object} */ attributes) => html`<${Select} attributes=${attributes} value=${assume}
        options=${ASSUMES.map(([value, label]) => [value, value === "" ? "not declared" : label])} onChange=${(/** @type {string} */ value) => set({ assume: value })} />`}<//>
      <${Field} label="Confidence" fault=${isWrong ? "The value must lie between 0 and 1." : undefined}>${(/** @type {object} */ attributes) => html`<input ...${attributes}
        value=${confidence} placeholder="default: 0.95" inputmode="decimal" autocomplete="off" onInput=${(/** @type {Event} */ event) => set({ confidence: valueOf(event).trim() })} />`}<//>
    </div>
    <${Check} label="The examples are new: neither this model nor a model that it started from learnt from them." checked=${fresh}
      onChange=${(/** @type {boolean} */ checked) => set({ fresh: checked ? "true" : null })} />
  </fieldset>`;
}

/** @param {{model: Model, options: Options, query: URLSearchParams, choice: any}} props  `choice`: the choice of the source. */
function OnDataset({ model, options, query, choice }) {
  const dataset = query.get("dataset") ?? "";
  const datasets = useResource({ path: "v1/datasets", query: { limit: 100 } }, { every: 10 });
  const request = { method: /** @type {const} */ ("POST"), path: `v1/models/${model.id}/evaluate`, query: asked(options), json: { dataset } };
  const result = useResource(dataset && query.get("run") ? request : null);
  const evaluate = { model: model.id, data: { dataset: dataset || "ds_…" }, ...(options.fresh && { fresh: true }), ...(options.confidence && { confidence: Number(options.confidence) }) };
  const asJob = { method: /** @type {const} */ ("POST"), path: "v1/jobs", json: { evaluate } };
  const submitting = useAction(async (abort) => {
    const job = await create({ ...asJob, headers: { prefer: "wait=0" } }, abort);
    go(`jobs/${job.id}`);
  });
  const choose = (/** @type {string} */ id) => setQuery({ dataset: id, run: null });
  return html`<${Panel} title="Evaluate on labelled examples">${choice}
    <${Loaded} resource=${datasets}>${(/** @type {Schemas["DatasetList"]} */ list) => html`<${ChooseDataset} list=${list} model=${model} chosen=${dataset} onChoose=${choose} />`}<//>
    <${Declarations} options=${options} />
    <div class="row">
      <button class="primary" disabled=${!dataset || result.isLoading} onClick=${() => (query.get("run") ? result.reload() : setQuery({ run: "1" }))}>
        ${result.isLoading ? "Evaluating…" : "Evaluate"}</button>
      <button disabled=${!dataset || submitting.isRunning} onClick=${submitting.start}>Evaluate as a job</button>
      <span class="small muted">A job has no time limit of an answer. Its declaration of the draws is that of the dataset.</span></div>
    <${Fault} error=${submitting.error} />
    <${ShowRecipe} recipe=${{ operation: "evaluate_model", arguments: [model.id], ...request, json: { dataset: dataset || "ds_…" } }} />
    <${ShowRecipe} title="The request for a job" recipe=${{ operation: "create_job", ...asJob }} /><//>
    ${dataset && query.get("run") && html`<${Loaded} resource=${result}>${(/** @type {Schemas["EvaluateResult"]} */ found) => html`<${EvaluateView} result=${found} />`}<//>`}`;
}

/** @param {{list: Schemas["DatasetList"], model: Model, chosen: string, onChoose: (id: string) => void}} props */
function ChooseDataset({ list, model, chosen, onChoose }) {
  // Examples with names may have any number of them, and the list does not tell which datasets have names.
  const hasNames = model.vocabulary === "open";
  const fitting = list.items.filter((item) => (hasNames || item.n === model.n) && item.kind !== "unlabelled");
  const features = hasNames ? "names of features" : `${number(model.n)} features`;
  /** @type {[string, string][]} */
  const options = fitting.map((item) => [item.id, `${item.name || "without a name"}, ${number(item.examples)} examples, …${item.id.slice(-8)}`]);
  const known = chosen && !fitting.some((item) => item.id === chosen) ? [/** @type {[string, string]} */ ([chosen, chosen]), ...options] : options;
  const hint = fitting.length === 0 ? html`No dataset of labelled examples with ${features} is among the newest 100. <a href=${href("data/new")}>Store a file</a>, or use “A file” above.`
    : `Labelled datasets${hasNames ? ", of which the model takes those with names of features," : ` with ${features}`}${list.next_cursor ? " among the newest 100" : ""}.`;
  return html`<div class="stack"><${Field} label="Dataset" hint=${hint}>${(/** @type {object} */ attributes) => html`<${Select} attributes=${attributes} value=${chosen}
      options=${[["", "choose a dataset"], ...known]} onChange=${onChoose} />`}<//>
    ${list.next_cursor && html`<${Field} label="Or the id of a dataset">${(/** @type {object} */ attributes) => html`<input ...${attributes} value=${chosen} autocomplete="off"
      placeholder="ds_…" onChange=${(/** @type {Event} */ event) => onChoose(valueOf(event).trim())} />`}<//>`}</div>`;
}

/** @param {{model: Model, options: Options, query: URLSearchParams, choice: any}} props */
function OnFile({ model, options, query, choice }) {
  const [data, setData] = useState(/** @type {DataFile|null} */ (null));
  const [share, setShare] = useState(0);
  const [result, setResult] = useState(/** @type {Schemas["EvaluateResult"]|null} */ (null));
  const labels = query.get("labels") ?? "";
  const request = { method: /** @type {const} */ ("POST"), path: `v1/models/${model.id}/evaluate`, query: { ...asked(options), labels },
    headers: headersOf(data?.format ?? "csv", data?.coding ?? null) };
  const evaluating = useAction(async (abort) => {
    setResult(null);
    setShare(0);
    setResult(await upload({ ...request, body: /** @type {DataFile} */ (data).file }, (sent, total) => setShare(total > 0 ? sent / total : 0), abort));
  });
  const choose = (/** @type {DataFile} */ chosen) => {
    setResult(null);
    setData(chosen);
  };
  const column = model.table?.label?.column;
  return html`<${Panel} title="Evaluate on labelled examples">${choice}
    <${ChooseDataFile} label="Drop a file with labels here, or choose one:" data=${data} onData=${choose} />
    ${model.table && html`<div class="fields"><${Field} label="Label column" hint=${column ? `The training table has its labels in “${column}”.` : null}>${(/** @type {object} */ attributes) => html`<input
      ...${attributes} value=${labels} placeholder="default: as in the training" autocomplete="off" onInput=${(/** @type {Event} */ event) => setQuery({ labels: valueOf(event) })} />`}<//></div>`}
    <${Declarations} options=${options} />
    <div class="row"><button class="primary" disabled=${!data || evaluating.isRunning} onClick=${evaluating.start}>${evaluating.isRunning ? "Evaluating…" : "Evaluate"}</button>
      ${evaluating.isRunning && html`<button onClick=${evaluating.stop}>Stop</button><span role="status">${share < 1 ? `${percent(share, 0)} sent` : "Counting"}</span>`}</div>
    ${evaluating.isRunning && html`<progress aria-label="Part of the file that is sent" value=${share} max="1"></progress>`}
    <${Fault} error=${evaluating.error} />
    <${ShowRecipe} recipe=${{ operation: "evaluate_model", arguments: [model.id], ...request, body: "", file: data?.file.name ?? "data.csv" }} /><//>
    ${result && html`<${EvaluateView} result=${result} />`}`;
}
