/** The words for a job: its title, its outcome in one line, and its address. This module makes no requests. */

import { bytes, number, percent, secondsBetween } from "../../view/numbers.mjs";
import { counted } from "../../view/parts.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {Schemas["Job"]} Job */

/** @type {Record<string, string>} */
export const TASKS = { train: "Training", compare: "Comparison", grid: "Grid", evaluate: "Evaluation", experiment: "Experiment",
  experiment_part: "Part of an experiment", separability: "Separability", maximum_margin: "Maximum margin", version_space: "Version space",
  import: "Import" };

export const STATUSES = /** @type {const} */ (["queued", "running", "succeeded", "failed", "cancelled"]);

/** @param {Job} job */
export function isEnded(job) {
  return job.status !== "queued" && job.status !== "running";
}

/** Seconds to the next reading of a list of jobs: few while a job runs or waits. @param {Job[]} jobs */
export function pauseOf(jobs) {
  return jobs.every(isEnded) ? 10 : 3;
}

/** @param {string} task */
export function taskName(task) {
  return TASKS[task] ?? task;
}

/** @param {Job} job */
export function titleOf(job) {
  if (job.name) return job.name;
  const task = taskName(job.task);
  const part = job.parent && typeof job.part === "number" ? `, part ${number(job.part + 1)}` : "";
  return `${task}${job.learner ? ` of ${job.learner.name}` : ""}${part}`;
}

/** The end of an id, which differs between jobs of the same moment. @param {string} id */
export function shortId(id) {
  return `…${id.slice(-8)}`;
}

/** The parameters of a learner by dotted name. @param {object|undefined} value  @param {string} [prefix] @returns {[string, any][]} */
export function flattened(value, prefix = "") {
  return Object.entries(value ?? {}).flatMap(([name, part]) => (part !== null && typeof part === "object" && !Array.isArray(part)
    ? flattened(part, `${prefix}${name}.`)
    : [/** @type {[string, any]} */ ([`${prefix}${name}`, part])]));
}

/** The description of the data that the service draws for a job, if the document holds the request. @param {Job} job */
export function generatedOf(job) {
  const request = /** @type {Record<string, any>|null|undefined} */ (job.request)?.[job.task];
  return (request?.train ?? request)?.data?.generated ?? null;
}

/** @param {Job} job */
export function generatedText(job) {
  const { n, target, count, sampling } = generatedOf(job) ?? {};
  if (!n) return "generated";
  const concept = Object.keys(target ?? {})[0]?.replaceAll("_", " ") ?? "";
  return [`generated: n = ${number(n)}`, concept, sampling, count && counted(count, "example")].filter(Boolean).join(", ");
}

/** Seconds from the start to the end. @param {Job} job */
export function secondsOf(job) {
  const seconds = secondsBetween(job.started_at, job.finished_at);
  // A clock of another process may be behind.
  return seconds === null ? null : Math.max(0, seconds);
}

/** @param {{errors: number, examples: number}|null|undefined} count */
export function errorsOf(count) {
  if (!count) return null;
  return `${percent(count.examples > 0 ? count.errors / count.examples : null)} (${number(count.errors)} of ${number(count.examples)})`;
}

/**
 * The places of the counts whose share of errors equals that of the best, which is one of them.
 * @param {({errors?: number|null, examples?: number|null}|null|undefined)[]} counts  @param {number|null|undefined} best  @returns {number[]}
 */
export function tiedWith(counts, best) {
  const { errors, examples } = counts[best ?? -1] ?? {};
  if (typeof errors !== "number" || typeof examples !== "number") return [];
  // The products may have more digits than a double holds.
  const product = (/** @type {number} */ one, /** @type {number} */ other) => BigInt(one) * BigInt(other);
  return counts.flatMap((count, place) => (typeof count?.errors === "number" && count.examples
    && product(count.errors, examples) === product(errors, count.examples) ? [place] : []));
}

/** Names as a list of prose. @param {string[]} names  @param {number} [most]  Names before the rest is only counted. */
export function listOf(names, most = 5) {
  const shown = names.length > most ? [...names.slice(0, most - 1), `${number(names.length - most + 1)} more`] : names;
  const comma = shown.some((name) => name.includes(",")) ? "; " : ", ";
  return shown.length > 1 ? `${shown.slice(0, -1).join(comma)} and ${shown.at(-1)}` : (shown[0] ?? "");
}

/** The state or the outcome of a job in one line. @param {Job} job */
export function outcomeOf(job) {
  if (job.error) return job.error.detail;
  const { fraction, mistakes, examples, bytes: read, bytes_total: whole } = job.progress;
  if (job.status === "running") {
    if (typeof read === "number") return `${percent(fraction ?? 0, 0)}, ${bytes(read)} of ${bytes(whole)} read`;
    const done = typeof fraction === "number" ? percent(fraction, 0) : examples > 0 ? `${number(examples)} examples` : "started";
    return job.parts ? `${done}, ${number(job.parts.total - job.parts.left)} of ${number(job.parts.total)} parts` : `${done}, ${counted(mistakes, "mistake")}`;
  }
  return job.result ? resultLine(job.result) : "";
}

/** @param {Schemas["JobResult"]} result @returns {string} */
function resultLine(result) {
  switch (result.task) {
    case "train": {
      const { holdout, training } = result;
      const judged = holdout ?? training;
      const errors = judged && judged.examples > 0 ? `${percent(judged.errors / judged.examples)} ${holdout ? "held-out" : "training"} errors, ` : "";
      return `${errors}${counted(result.mistakes, "mistake")}, ${result.termination.reason}`;
    }
    case "evaluate": return `errors ${errorsOf(result)}`;
    case "compare": {
      const best = typeof result.best === "number" ? result.learners[result.best] : null;
      const tied = tiedWith(result.learners, result.best).map((place) => result.learners[place]?.name ?? "");
      return best ? `${tied.length > 1 ? `tie for best: ${listOf(tied)}` : `best: ${best.name}`}, errors ${percent(best.error_rate)}` : `${number(result.learners.length)} learners`;
    }
    case "grid": return `${number(result.trainings.length)} trainings`;
    case "separability": return result.separable === true ? "separable" : result.separable === false ? "not separable" : "undecided";
    case "maximum_margin": return typeof result.margin === "number" ? `margin ${number(result.margin)}` : result.separable === false ? "not separable" : "undecided";
    case "version_space": return result.count ? `${number(result.count)} weight vectors` : "unknown count";
    case "import": return `${counted(result.examples, "example")} of ${bytes(result.source_bytes)}`;
    case "experiment": return `${number(result.runs)} runs`;
    default: return "";
  }
}
