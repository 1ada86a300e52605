/** The page Train, filled in with the request of a job, so that you can change and repeat it. */

import { href } from "../../view/place.mjs";
import { comparedText } from "../train/request.mjs";
import { TASKS } from "../train/tasks.mjs";
import { flattened, generatedOf } from "./words.mjs";

/** @typedef {import("./words.mjs").Job} Job */

/** The place of the form, or null for a task that the page Train does not offer and for a job without a request. @param {Job} job */
export function againHref(job) {
  const task = TASKS.find(({ name }) => name === job.task);
  const asked = /** @type {Record<string, any>|undefined} */ (job.request?.[job.task]);
  if (!task || !asked) return null;
  const training = asked.train ?? asked;
  /** @type {Record<string, string>} */
  const query = task.name === "train" ? {} : { task: task.name };
  const add = (/** @type {string} */ prefix, /** @type {object|undefined} */ fields) => {
    for (const [name, value] of flattened(fields)) query[prefix + name] = textOf(value);
  };
  if (job.dataset) query.dataset = job.dataset;
  const drawn = generatedOf(job);
  if (drawn) {
    const { target, ...generated } = drawn;
    const [[name, fields] = ["", {}]] = Object.entries(target);
    query.from = "generated";
    query["g.target"] = name;
    add("g.", generated);
    add(`g.target.${name}.`, fields);
  }
  if (task.learners === "one") {
    query.learner = training.learner.name;
    add("p.", training.learner.params);
    if (task.name === "train" && !training.trace) query.trace = "off";
  }
  if (task.learners === "several") query.learners = comparedText(asked.learners ?? []);
  for (const name of [...Object.keys(task.fields), "model", "warm_start"]) {
    if (training[name] !== undefined) query[name] = textOf(training[name]);
  }
  add("stop.", training.stop);
  // The page writes a list of values without its brackets.
  for (const [name, values] of Object.entries(asked.over ?? {})) query[`over.${name}`] = JSON.stringify(values).slice(1, -1);
  query.seed = String(job.seed);
  if (job.priority !== 0) query.priority = String(job.priority);
  if (job.name) query.name = job.name;
  return href("train", query);
}

/** @param {any} value */
function textOf(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}
