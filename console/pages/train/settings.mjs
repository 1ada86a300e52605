/** The settings of a task: parameters of the learner, stop conditions, hold-out, seed, trace, warm start, name. */

import { html } from "../../vendor/htm-preact.mjs";
import { useId } from "../../vendor/hooks.mjs";
import { useResource } from "../../service/resource.mjs";
import { Check, Field, Panel, valueOf } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { SchemaForm, queryOf, textsIn } from "../../view/schema_form.mjs";
import { listOf } from "../jobs/words.mjs";
import { faultsBelow, plainTexts } from "./request.mjs";
import { JOB, pointerOf, stopSchema } from "./tasks.mjs";

/** @typedef {import("../../view/schema_form.mjs").Schema} Schema */
/** @typedef {Record<string, string>} Texts */

/** @param {{learner: import("./request.mjs").Learner, query: URLSearchParams, faults: Texts}} props */
export function Parameters({ learner, query, faults }) {
  return html`<${Panel} title="3. Parameters">
    <${SchemaForm} schema=${learner.parameters} texts=${textsIn(query)} faults=${faults} onChange=${(/** @type {Texts} */ next) => setQuery(queryOf(query, next))} />
  <//>`;
}

/** A form whose names stand in the query without a prefix. @param {{schema: Schema, query: URLSearchParams, faults: Texts}} props */
function Plain({ schema, query, faults }) {
  const empty = Object.fromEntries(Object.keys(schema.properties ?? {}).map((name) => [name, null]));
  return html`<${SchemaForm} schema=${schema} texts=${plainTexts(query, schema)} faults=${faults} onChange=${(/** @type {Texts} */ next) => setQuery({ ...empty, ...next })} />`;
}

/**
 * @param {{task: import("./tasks.mjs").Task, learners: import("./request.mjs").Learner[], query: URLSearchParams, faults: Texts}} props
 * `learners`: those that the task trains.
 */
export function Settings({ task, learners, query, faults }) {
  const isTraining = task.name === "train";
  const at = pointerOf(task);
  const stops = task.learners !== "none";
  const ends = endsOf(learners);
  const number = task.name === "grid" ? "5. " : isTraining ? "4. " : task.learners === "none" && !task.needsModel ? "2. " : "3. ";
  return html`<${Panel} title=${`${number}Settings`}>
    <${Plain} schema=${{ properties: { ...task.fields, ...JOB.properties } }} query=${query}
      faults=${{ ...faultsBelow(faults, at), ...faultsBelow(faults, "") }} />
    ${isTraining && html`<div class="fields">
      <${WarmStart} query=${query} fault=${faults["/train/warm_start"]} />
      <div class="field"><span class="label">Mistake curve</span><div>
        <${Check} label="Keep the curve of the mistakes" checked=${query.get("trace") !== "off"} onChange=${(/** @type {boolean} */ isOn) => setQuery({ trace: isOn ? null : "off" })} /></div></div>
    </div>`}
    ${stops && ends.length > 0 && html`<p class="small muted">${ends.length > 1 ? "Each learner has default stop conditions of its own." : ends[0]?.[0]}</p>`}
    ${stops && html`<details open=${Object.keys(textsIn(query, "stop.")).length > 0 || Object.keys(faultsBelow(faults, `${at}/stop`)).length > 0}>
      <summary><h3 class="inline">Stop conditions</h3></summary>
      ${ends.length > 1 && html`<ul class="small muted">${ends.map(([statement, titles]) => html`<li key=${statement}><strong>${listOf(titles, 4)}.</strong> ${statement}</li>`)}</ul>`}
      <${SchemaForm} schema=${stopSchema(learners)} texts=${textsIn(query, "stop.")} faults=${faultsBelow(faults, `${at}/stop`)}
        onChange=${(/** @type {Texts} */ next) => setQuery(queryOf(query, next, "stop."))} />
    </details>`}
  <//>`;
}

/** The titles of the learners by what ends their runs without stop conditions, as the service states it. @param {import("./request.mjs").Learner[]} learners */
function endsOf(learners) {
  /** @type {Map<string, string[]>} */
  const ends = new Map();
  for (const { title, default_stop: stop } of learners) ends.set(stop.statement, [...(ends.get(stop.statement) ?? []), title]);
  return [...ends];
}

/** @param {{query: URLSearchParams, fault: string|undefined}} props */
function WarmStart({ query, fault }) {
  return html`<${ModelField} label="Warm start" name="warm_start" query=${query} fault=${fault}
    hint="Id of a model whose hypothesis the training starts from." placeholder="none" />`;
}

/** @param {{query: URLSearchParams, fault: string|undefined}} props */
export function ModelChoice({ query, fault }) {
  return html`<${Panel} title="2. Model"><div class="fields">
    <${ModelField} label="Model" name="model" query=${query} fault=${fault} hint="Id of the model. The list proposes your newest models." placeholder="mdl_…" />
  </div><//>`;
}

/** The id of a model, with the newest models as proposals. @param {{label: string, name: string, query: URLSearchParams, fault: string|undefined, hint: string, placeholder: string}} props */
function ModelField({ label, name, query, fault, hint, placeholder }) {
  const models = useResource({ path: "v1/models", query: { limit: 50 } });
  const list = useId();
  return html`<${Field} label=${label} hint=${hint} fault=${fault}>${(/** @type {object} */ attributes) => html`
    <input ...${attributes} value=${query.get(name) ?? ""} list=${list} placeholder=${placeholder} autocomplete="off" spellcheck=${false}
      onInput=${(/** @type {Event} */ event) => setQuery({ [name]: valueOf(event).trim() })} />
    <datalist id=${list}>${(models.value?.items ?? []).map((/** @type {import("#api").components["schemas"]["ModelItem"]} */ model) => html`<option key=${model.id}
      value=${model.id} label=${`${model.name || model.learner}, ${model.n} features`}></option>`)}</datalist>`}<//>`;
}
