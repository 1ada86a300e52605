/** The facts of a job, and its requests: repeat, read, cancel and delete. */

import { html } from "../../vendor/htm-preact.mjs";
import { DatasetLink } from "../../view/dataset_link.mjs";
import { Facts, Panel, Time } from "../../view/parts.mjs";
import { ShowRecipe } from "../../view/recipe.mjs";
import { href } from "../../view/place.mjs";
import { duration, number, secondsBetween } from "../../view/numbers.mjs";
import { cancelling, deleting } from "./actions.mjs";
import { generatedOf, generatedText, isEnded, secondsOf, shortId, taskName } from "./words.mjs";

/** @typedef {import("./words.mjs").Job} Job */

/** The parameters of a learner by dotted name. @param {object|undefined} value  @param {string} [prefix] @returns {[string, any][]} */
export function flattened(value, prefix = "") {
  return Object.entries(value ?? {}).flatMap(([name, part]) => (part !== null && typeof part === "object" && !Array.isArray(part)
    ? flattened(part, `${prefix}${name}.`)
    : [/** @type {[string, any]} */ ([`${prefix}${name}`, part])]));
}

/** The page Train with the data, the learner and the parameters of a job. @param {Job} job */
export function againHref(job) {
  if (!job.learner) return null;
  /** @type {Record<string, string>} */
  const query = { learner: job.learner.name };
  if (job.dataset) query.dataset = job.dataset;
  const add = (/** @type {string} */ prefix, /** @type {object|undefined} */ fields) => {
    for (const [name, value] of flattened(fields)) query[prefix + name] = typeof value === "string" ? value : JSON.stringify(value);
  };
  add("p.", job.learner.params);
  const training = /** @type {any} */ (job.request)?.train;
  add("stop.", training?.stop);
  if (training?.holdout) query.holdout = String(training.holdout);
  if (training && !training.trace) query.trace = "off";
  const drawn = generatedOf(job);
  if (drawn) {
    const { target, ...generated } = drawn;
    const [[name, fields] = ["", {}]] = Object.entries(target);
    query.from = "generated";
    query["g.target"] = name;
    add("g.", generated);
    add(`g.target.${name}.`, fields);
  }
  if (job.warm_start) query.warm_start = job.warm_start;
  query.seed = String(job.seed);
  if (job.name) query.name = job.name;
  return href("train", query);
}

/** @param {{job: Job}} props */
export function Request({ job }) {
  const params = flattened(job.learner?.params);
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
    ${job.learner && html`<div class="stack"><h3>Parameters</h3>${params.length > 0
      ? html`<${Facts} of=${params.map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)])} />`
      : html`<p class="muted">All parameters have their defaults.</p>`}</div>`}
    ${job.data_sha256 && html`<p class="small muted">SHA-256 of the rows: <code>${job.data_sha256}</code></p>`}
    ${callback && html`<div class=${`notice ${callback.state === "given-up" ? "bad" : callback.state === "delivered" ? "good" : ""}`}>
      <p><strong>Callback ${callback.state}.</strong> <code>${callback.url}</code></p>
      ${callback.failures > 0 && html`<p class="small">${number(callback.failures)} failed deliveries.
        ${callback.error && html` Last failure: ${callback.error}`}</p>`}
    </div>`}
    ${job.request && html`<${ShowRecipe} title="Request that repeats the job" recipe=${{ operation: "create_job", method: "POST", path: "v1/jobs", json: job.request }} />`}
    ${job.request && job.data_sha256 && !job.dataset && html`<p class="small muted">The service kept the rows only until the job ended. Add them as <code>data</code>
      before you repeat the request.</p>`}
    <${ShowRecipe} title="Request for this job" recipe=${{ operation: "get_job", arguments: [job.id], path: `v1/jobs/${job.id}` }} />
    ${(!isEnded(job) || !job.parent) && html`<${ShowRecipe} title=${isEnded(job) ? "Request to delete the job" : "Request to cancel the job"}
      recipe=${isEnded(job) ? deleting(job.id) : cancelling(job.id)} />`}
  <//>`;
}
