/**
 * The set-up of a run: presets, learners with their parameters, data, seed and declared origin. The URL holds all of
 * it.
 */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useState } from "../../vendor/hooks.mjs";
import { useResource } from "../../service/resource.mjs";
import { Field, Panel, Select, valueOf } from "../../view/parts.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { Loaded } from "../../view/problem.mjs";
import { SchemaForm, queryOf, textsIn } from "../../view/schema_form.mjs";
import { PROPOSED, TARGETS, generatedSchema, targetOf } from "../train/generated.mjs";
import { stopSchema } from "../train/tasks.mjs";
import { PRESETS } from "./presets.mjs";
import { NOT_FOR_SESSIONS, SEED, SLOTS, dataKindIn, isRight, wantedIn, withoutData } from "./wanted.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {import("./wanted.mjs").Learner} Learner */
/** @typedef {Record<string, string>} Texts */

/** Changes the set-up. The run starts only when the person says so. @param {import("../../view/place.mjs").Query} changes */
function change(changes) {
  setQuery({ ...changes, at: null, pass: null, setup: 1 });
}

/** Origins that a person may declare for the examples. */
const ORIGINS = /** @type {[string, string][]} */ ([["", "nothing"], ["independent", "independent draws of one distribution"], ["uniform", "uniform draws"],
  ["uniform-positive", "uniform draws of the positive half-space"], ["reflected", "uniform draws, negative ones negated"]]);

const MULTICLASS = /** @type {[string, string][]} */ ([["", "one against the rest"], ["joint", "jointly"]]);
const CLASSES = /** @type {[string, string][]} */ ([["", "known from the start"], ["open", "join when they appear"]]);

const KINDS = /** @type {[string, string][]} */ ([["", "Choose…"], ["dataset", "Stored dataset"], ["sample", "Sample"], ["rows", "Typed rows"], ["generated", "Drawn by the service"]]);

export function Presets() {
  return html`<${Panel} title="Start with an example">
    <ul class="cards plain-list">${PRESETS.map(({ title, text, query }) => html`<li key=${title} class="card">
      <h3><a class="title-link" href=${href("playground", query)}>${title}</a></h3><p class="small muted">${text}</p></li>`)}</ul>
  <//>`;
}

/** @param {{query: URLSearchParams, catalogue: Learner[]}} props */
export function SetUp({ query, catalogue }) {
  const hasData = dataKindIn(query) !== null;
  const wanted = wantedIn(query, catalogue);
  const hasLearner = wanted[0]?.slot.learner === "learner";
  const isReady = hasData && hasLearner && isRight(query, wanted);
  const { setup: _, at: __, pass: ___, ...rest } = Object.fromEntries(query);
  const start = href("playground", rest);
  return html`<${Panel} title="Set up a run">
    <div class="columns">
      <div class="stack wide-gaps">${SLOTS.map((slot) => html`<${LearnerForm} key=${slot.learner} slot=${slot} query=${query} catalogue=${catalogue} />`)}</div>
      <div class="stack wide-gaps">
        <${DataForm} query=${query} />
        <div class="fields">
          <${Field} label="Seed" hint="Equal set-ups with equal seeds give equal answers.">${(/** @type {object} */ attributes) => html`<input ...${attributes}
            inputmode="numeric" placeholder=${`default: ${SEED}`} value=${query.get("seed") ?? ""} onInput=${(/** @type {Event} */ event) => change({ seed: valueOf(event).trim() })} />`}<//>
          <${Field} label="Declared origin" hint="Certificates and confidence need examples whose origin is declared. The service refutes a wrong declaration if the examples show it.">${(/** @type {object} */ attributes) =>
            html`<${Select} attributes=${attributes} value=${query.get("assume") ?? ""} options=${ORIGINS} onChange=${(/** @type {string} */ assume) => change({ assume })} />`}<//>
          <${Field} label="More than two classes" hint="Each class learns against all others, or the true and the predicted class learn together (jointly).">${(/** @type {object} */ attributes) =>
            html`<${Select} attributes=${attributes} value=${query.get("multiclass") ?? ""} options=${MULTICLASS} onChange=${(/** @type {string} */ multiclass) => change({ multiclass })} />`}<//>
          <${Field} label="Classes" hint="Of more than two classes, all learn from the first example on, or each joins when its first example comes.">${(/** @type {object} */ attributes) =>
            html`<${Select} attributes=${attributes} value=${query.get("classes") ?? ""} options=${CLASSES} onChange=${(/** @type {string} */ classes) => change({ classes })} />`}<//>
        </div>
      </div>
    </div>
    <div class="row">${isReady ? html`<a class="button primary" href=${start}>Start the run</a>`
      : html`<p class="muted">${!hasData ? "Choose the data and a learner to start." : !hasLearner ? "Choose a learner to start." : "A value above needs a change before the run can start."}</p>`}</div>
  <//>`;
}

/** @param {{slot: import("./wanted.mjs").Slot, query: URLSearchParams, catalogue: Learner[]}} props */
function LearnerForm({ slot, query, catalogue }) {
  const name = query.get(slot.learner) ?? "";
  const learners = catalogue.filter(({ mode }) => mode === "on-line");
  const learner = learners.find((found) => found.name === name);
  const isSecond = slot.learner === "with";
  const choose = (/** @type {string} */ next) => change({ ...queryOf(query, {}, slot.params), ...queryOf(query, {}, slot.stop), [slot.learner]: next });
  const changeAt = (/** @type {string} */ prefix) => (/** @type {Texts} */ texts) => change({ ...queryOf(query, texts, prefix) });
  return html`<section class="stack" aria-label=${slot.title}>
    <h3>${slot.title}</h3>
    <${Field} label=${isSecond ? "Second learner on the same examples" : "On-line learner"} hint=${learner?.learns}>${(/** @type {object} */ attributes) =>
      html`<${Select} attributes=${attributes} value=${learner ? name : ""} onChange=${choose}
        options=${[["", isSecond ? "none" : "Choose…"], ...learners.map((found) => [found.name, found.title])]} />`}<//>
    ${learner && html`
      <details open=${Object.keys(textsIn(query, slot.params)).length > 0}><summary>Parameters of ${learner.title}</summary>
        <${SchemaForm} schema=${learner.parameters} texts=${textsIn(query, slot.params)} onChange=${changeAt(slot.params)} /></details>
      <details open=${Object.keys(textsIn(query, slot.stop)).length > 0}><summary>Stop conditions of ${learner.title}</summary>
        <${SchemaForm} schema=${stopSchema([learner], { isSession: true })} texts=${textsIn(query, slot.stop)} except=${NOT_FOR_SESSIONS} onChange=${changeAt(slot.stop)} /></details>`}
  </section>`;
}

/** @param {{query: URLSearchParams}} props */
function DataForm({ query }) {
  const chosen = dataKindIn(query);
  const [kind, setKind] = useState(/** @type {string} */ (chosen ?? ""));
  useEffect(() => { if (chosen) setKind(chosen); }, [chosen]);
  const choose = (/** @type {string} */ next) => {
    setKind(next);
    change({ ...withoutData(query), ...(next === "generated" && { ...PROPOSED, from: "generated" }) });
  };
  return html`<section class="stack" aria-label="Data"><h3>Data</h3>
    <${Field} label="Source of the examples" hint="After the last example the data begin again.">${(/** @type {object} */ attributes) => html`<${Select} attributes=${attributes} value=${kind} options=${KINDS} onChange=${choose} />`}<//>
    ${kind === "dataset" && html`<${Stored} query=${query} />`}
    ${kind === "sample" && html`<${Samples} query=${query} />`}
    ${kind === "rows" && html`<${Rows} query=${query} />`}
    ${kind === "generated" && html`<${Drawn} query=${query} />`}
  </section>`;
}

/** @param {{query: URLSearchParams}} props */
function Stored({ query }) {
  const list = useResource({ path: "v1/datasets", query: { limit: 100 } }, { every: 10 });
  const id = query.get("dataset") ?? "";
  return html`<${Loaded} resource=${list}>${(/** @type {{items: Schemas["DatasetItem"][]}} */ { items }) => {
    const options = items.filter(({ kind }) => kind !== "unlabelled").map((item) => [item.id, `${item.name || item.id}: ${item.examples} × ${item.n}`]);
    const isOther = id !== "" && !options.some(([known]) => known === id);
    return html`<${Field} label="Dataset" hint=${html`The newest 100 datasets. The page <a href=${href("data")}>Data</a> lists all of them and brings files.`}>${(/** @type {object} */ attributes) =>
      html`<${Select} attributes=${attributes} value=${id} onChange=${(/** @type {string} */ dataset) => change({ dataset })}
        options=${[["", options.length > 0 ? "Choose…" : "No dataset is stored"], ...(isOther ? [[id, id]] : []), ...options]} />`}<//>`;
  }}<//>`;
}

/** @param {{query: URLSearchParams}} props */
function Samples({ query }) {
  const list = useResource({ path: "v1/samples" });
  const name = query.get("sample") ?? "";
  return html`<${Loaded} resource=${list}>${(/** @type {{items: Schemas["Sample"][]}} */ { items }) => {
    const sample = items.find((found) => found.name === name);
    return html`<${Field} label="Sample" hint=${sample?.description}>${(/** @type {object} */ attributes) => html`<${Select} attributes=${attributes} value=${name}
        onChange=${(/** @type {string} */ next) => change({ ...queryOf(query, {}, "s."), sample: next })} options=${[["", "Choose…"], ...items.map((found) => [found.name, found.title])]} />`}<//>
      ${sample && html`<${SchemaForm} schema=${sample.parameters} texts=${textsIn(query, "s.")} onChange=${(/** @type {Texts} */ texts) => change({ ...queryOf(query, texts, "s.") })} />`}`;
  }}<//>`;
}

/** @param {{query: URLSearchParams}} props */
function Rows({ query }) {
  return html`<${Field} label="Rows" hint="One example per line, the label last: 0.5,1.25,1 or 10110,-1 or 3,4,cat. The link carries the rows, so keep them short.">${(/** @type {object} */ attributes) =>
    html`<textarea ...${attributes} rows="8" spellcheck=${false} value=${query.get("rows") ?? ""}
      onInput=${(/** @type {Event} */ event) => change({ rows: valueOf(event) })}></textarea>`}<//>`;
}

/** @param {{query: URLSearchParams}} props */
function Drawn({ query }) {
  const { seed, ...texts } = textsIn(query, "g.");
  const target = targetOf(texts);
  const { count, ...fields } = generatedSchema(target, texts.sampling || String(PROPOSED["g.sampling"])).properties ?? {};
  const schema = { properties: { n: fields.n, count: { ...count, default: PROPOSED["g.count"], description: "The number of different examples." }, ...fields } };
  const redraw = (/** @type {Texts} */ next) => change({ ...queryOf(query, { ...next, ...(seed && { seed }) }, "g.") });
  const rename = (/** @type {string} */ next) => redraw({ ...Object.fromEntries(Object.entries(texts).filter(([name]) => !name.startsWith("target."))), target: next });
  return html`<${Field} label="Hidden concept" hint="The labels of the examples come from this concept.">${(/** @type {object} */ attributes) =>
      html`<${Select} attributes=${attributes} value=${target} onChange=${rename} options=${Object.entries(TARGETS).map(([name, { title }]) => [name, title])} />`}<//>
    <${SchemaForm} schema=${schema} texts=${texts} onChange=${(/** @type {Texts} */ next) => redraw({ ...next, ...(texts.target && { target: texts.target }) })} />
    <div class="fields"><${Field} label="Seed of the data">${(/** @type {object} */ attributes) => html`<input ...${attributes} inputmode="numeric" placeholder=${`default: ${SEED}`} value=${seed ?? ""}
      onInput=${(/** @type {Event} */ event) => change({ "g.seed": valueOf(event).trim() })} />`}<//></div>`;
}
