/** The facts of a job, and what you can do with it: repeat, read, cancel and delete. */

import { html } from "../../vendor/htm-preact.mjs";
import { useResource } from "../../service/resource.mjs";
import { DatasetLink } from "../../view/dataset_link.mjs";
import { Facts, Panel, Time } from "../../view/parts.mjs";
import { ShowRecipe } from "../../view/recipe.mjs";
import { href } from "../../view/place.mjs";
import { fieldsOf } from "../../view/schema_form.mjs";
import { duration, number, percent, secondsBetween } from "../../view/numbers.mjs";
import { stopSchema } from "../train/tasks.mjs";
import { cancelling, deleting } from "./actions.mjs";
import { flattened, generatedText, isEnded, listOf, secondsOf, shortId, taskName } from "./words.mjs";

/** @typedef {import("./words.mjs").Job} Job */

/** @param {{job: Job}} props */
export function Request({ job }) {
  const waited = secondsBetween(job.created_at, job.started_at);
  const { callback } = job;
  return html`<${Panel} title="About this job">
    <${Facts} of=${[
      ["Task", taskName(job.task)],
      ["Learner", job.learner?.name],
      ["Data", job.dataset ? html`<${DatasetLink} id=${job.dataset} />`
        : job.data_sha256 ? "sent with the request" : job.task === "experiment" ? null : generatedText(job)],
      ["Seed", html`<span class="small nowrap">${job.seed}</span>`],
      ["Warm start", job.warm_start && html`<a href=${href(`models/${job.warm_start}`)}>model ${shortId(job.warm_start)}</a>`],
      ["Priority", number(job.priority)],
      ["Attempts", number(job.attempt)],
      ["Submitted", html`<${Time} at=${job.created_at} />`],
      ["Started", job.started_at && html`<${Time} at=${job.started_at} />`],
      ["Ended", job.finished_at && html`<${Time} at=${job.finished_at} />`],
      ["Waited", waited !== null && duration(Math.max(0, waited))],
      ["Ran", secondsOf(job) !== null && duration(secondsOf(job))],
    ]} />
    <${Asked} job=${job} />
    ${job.data_sha256 && html`<p class="small muted">SHA-256 of the rows: <code>${job.data_sha256}</code></p>`}
    ${callback && html`<div class=${`notice ${callback.state === "given-up" ? "bad" : callback.state === "delivered" ? "good" : ""}`}>
      <p><strong>Callback ${callback.state}.</strong> <code>${callback.url}</code></p>
      ${callback.failures > 0 && html`<p class="small">${number(callback.failures)} failed deliveries.
        ${callback.error && html` Last failure: ${callback.error}`}</p>`}
    </div>`}
    ${job.request && html`<${ShowRecipe} title="Request that repeats the job" recipe=${{ operation: "create_job", method: "POST", path: "v1/jobs", json: job.request }} />`}
    ${job.request && job.data_sha256 && !job.dataset && html`<p class="small muted">The service kept the rows only until the job ended. Add them as <code>data</code>${" "}
      before you repeat the request.</p>`}
    <${ShowRecipe} title="Request for this job" recipe=${{ operation: "get_job", arguments: [job.id], path: `v1/jobs/${job.id}` }} />
    ${(!isEnded(job) || !job.parent) && html`<${ShowRecipe} title=${isEnded(job) ? "Request to delete the job" : "Request to cancel the job"}
      recipe=${isEnded(job) ? deleting(job.id) : cancelling(job.id)} />`}
  <//>`;
}

/** Parts of a request that the facts above show. */
const SHOWN_ABOVE = ["data", "seed", "learner", "learners", "stop", "train", "over", "holdout", "stratify", "folds", "trace", "warm_start"];

/** The request as it ran: what it asked for, and the defaults of what it left open. @param {{job: Job}} props */
function Asked({ job }) {
  const asked = /** @type {Record<string, any>|undefined} */ (job.request?.[job.task]);
  const training = asked?.train ?? asked;
  const learner = training?.learner ?? job.learner ?? null;
  const catalogue = useResource(learner ? { path: `v1/learners/${encodeURIComponent(learner.name)}` } : null);
  const known = /** @type {import("./words.mjs").Schemas["Learner"]|null} */ (catalogue.value);
  const others = flattened(Object.fromEntries(Object.entries(asked ?? {}).filter(([name]) => !SHOWN_ABOVE.includes(name))));
  const trains = ["train", "grid", "compare"].includes(job.task);
  const titles = stopSchema([]).properties ?? {};
  return html`
    ${job.parent && !asked && trains && html`<p class="small">Hold-out and stop conditions are those of <a href=${href(`jobs/${job.parent}`)}>the whole job</a>.</p>`}
    ${asked && (trains || others.length > 0) && html`<div class="stack"><h3>Request</h3><${Facts} of=${[
      ["Hold-out", trains && !training.folds && (training.holdout ? `${percent(training.holdout)} of ${training.stratify ? "each class" : "the examples"}` : "none")],
      ["Folds", training.folds && `${number(training.folds)}${training.stratify ? ", each with its share of each class" : ""}`],
      ["Mistake curve", job.task === "train" && (training.trace ? "kept" : "not kept")],
      ["Learners", asked.learners && listOf(asked.learners.map(learnerText), 20)],
      ...others.map(([name, value]) => /** @type {[string, string]} */ ([name, textOf(value)])),
    ]} /></div>`}
    ${asked && trains && html`<div class="stack"><h3>Stop conditions</h3>
      ${Object.keys(training.stop ?? {}).length > 0 && html`<${Facts} of=${flattened(training.stop).map(([name, value]) => [titles[name]?.title ?? name, textOf(value)])} />`}
      ${job.task === "compare" ? html`<p class="small muted">Each learner ends by its defaults where the request states no condition.</p>`
        : known && html`<p class="small muted">${known.default_stop.statement}</p>`}</div>`}
    ${learner && html`<div class="stack"><h3>Parameters of ${learner.name}</h3><${Parameters} given=${learner.params} known=${known} /></div>`}
    ${asked?.over && html`<div class="stack"><h3>Values tried</h3>
      <${Facts} of=${Object.entries(asked.over).map(([name, values]) => [name, valuesText(/** @type {any[]} */ (values))])} /></div>`}`;
}

/** The given parameters, and the defaults of the others. @param {{given: object|undefined, known: import("./words.mjs").Schemas["Learner"]|null}} props */
function Parameters({ given, known }) {
  const asked = new Map(flattened(given));
  const fields = known ? fieldsOf(/** @type {import("../../view/schema_form.mjs").Schema} */ (known.parameters)) : [];
  const names = [...new Set([...fields.map(([name]) => name), ...asked.keys()])];
  const defaults = new Map(fields.map(([name, field]) => [name, field.default]));
  if (names.length === 0) return html`<p class="muted">The learner has no parameters.</p>`;
  return html`<${Facts} of=${names.map((name) => [name, asked.has(name) ? html`<strong>${textOf(asked.get(name))}</strong>`
    : html`${defaults.get(name) === undefined ? "" : `${textOf(defaults.get(name))} `}<span class="small muted">default</span>`])} />`;
}

/** @param {{name: string, params?: object}} learner */
function learnerText({ name, params }) {
  return Object.keys(params ?? {}).length > 0 ? `${name} ${JSON.stringify(params)}` : name;
}

/** Values of a field as a list. A long list is shortened, and the request below has all. @param {any[]} values */
function valuesText(values) {
  return values.length > VALUES_MAX ? `${values.slice(0, VALUES_MAX - 1).map(textOf).join(", ")}, … ${textOf(values.at(-1))} (${number(values.length)} values)`
    : values.map(textOf).join(", ");
}

const VALUES_MAX = 12;

/** Characters of a value that the facts show. The request has all. */
const TEXT_MAX = 120;

/** @param {any} value */
function textOf(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}
