/** The settings of a task: parameters of the learner, stop conditions, hold-out, seed, trace, warm start, name. */

import { html } from "../../vendor/htm-preact.mjs";
import { useId } from "../../vendor/hooks.mjs";
import { useResource } from "../../service/resource.mjs";
import { Check, Field, Panel, valueOf } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { SchemaForm, queryOf, textsIn } from "../../view/schema_form.mjs";
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
 * @param {{task: import("./tasks.mjs").Task, learner: import("./request.mjs").Learner|null, query: URLSearchParams, faults: Texts}} props
 */
export function Settings({ task, learner, query, faults }) {
  const isTraining = task.name === "train";
  const at = pointerOf(task);
  const stops = task.learners !== "none";
  const number = task.name === "grid" ? "5. " : isTraining ? "4. " : task.learners === "none" && !task.needsModel ? "2. " : "3. ";
  return html`<${Panel} title=${`${number}Settings`}>
    <${Plain} schema=${{ properties: { ...task.fields, ...JOB.properties } }} query=${query}
      faults=${{ ...faultsBelow(faults, at), ...faultsBelow(faults, "") }} />
    ${isTraining && html`<div class="fields">
      <${WarmStart} query=${query} fault=${faults["/train/warm_start"]} />
      <div class="field"><span class="label">Mistake curve</span><div>
        <${Check} label="Keep the curve of the mistakes" checked=${query.get("trace") !== "off"} onChange=${(/** @type {boolean} */ isOn) => setQuery({ trace: isOn ? null : "off" })} /></div></div>
    </div>`}
    ${stops && html`<details open=${Object.keys(textsIn(query, "stop.")).length > 0 || Object.keys(faultsBelow(faults, `${at}/stop`)).length > 0}>
      <summary><h3 class="inline">Stop conditions</h3></summary>
      <${SchemaForm} schema=${stopSchema(learner?.confidence_rules ?? [])} texts=${textsIn(query, "stop.")} faults=${faultsBelow(faults, `${at}/stop`)}
        onChange=${(/** @type {Texts} */ next) => setQuery(queryOf(query, next, "stop."))} />
    </details>`}
  <//>`;
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
