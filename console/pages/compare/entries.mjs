/**
 * The entries of a comparison: one row per training, from jobs, from a comparison or from a grid. An entry keeps only the
 * numbers, because hypotheses of a thousand jobs would fill the memory.
 */

import { number, percent } from "../../view/numbers.mjs";
import { flattened } from "../jobs/request.mjs";
import { generatedText, titleOf } from "../jobs/words.mjs";

/** @typedef {import("../jobs/words.mjs").Schemas} Schemas */
/** @typedef {import("../jobs/words.mjs").Job} Job */
/** @typedef {{errors: number, examples: number}} ErrorCount */
/**
 * @typedef {object} Interval
 * @property {number} low
 * @property {number} high
 * @property {"certificate"|"theory"|"folds"} kind  `folds` spans the folds and is no confidence interval.
 * @property {number} [confidence]
 */
/**
 * @typedef {object} Entry
 * @property {string} id
 * @property {string} name
 * @property {string|null} job  Job that holds the whole result.
 * @property {string} status
 * @property {Record<string, any>} params
 * @property {ErrorCount|null} judged  Errors on examples that the learner did not see.
 * @property {Interval|null} interval  Null if the service can still be asked for one.
 * @property {boolean} isOneSample  Whether the judged examples are one sample, so that an exact interval exists.
 * @property {ErrorCount|null} training
 * @property {Record<string, number|null|undefined>} counts
 * @property {string|null} bound
 * @property {string|null} end
 * @property {boolean} mayHaveCurve
 */

/** @param {readonly Schemas["Certificate"][]|null|undefined} certificates @returns {Interval|null} */
function certified(certificates) {
  const found = (certificates ?? []).find((certificate) => certificate.kind === "test-set");
  return found?.kind === "test-set" ? { low: found.low, high: found.high, confidence: found.confidence, kind: "certificate" } : null;
}

/** @param {Schemas["BoundDocument"]|null|undefined} bound */
function boundLine(bound) {
  if (!bound) return null;
  const { mistakes_at_most: most, log2_mistakes_at_most: power } = bound;
  if (typeof most === "number") return `${bound.theorem}: ${number(most)}`;
  return typeof power === "number" ? `${bound.theorem}: 2^${number(power)}` : bound.theorem;
}

/** @param {Job} job @returns {Entry} */
export function entryOfJob(job) {
  const result = job.result;
  const training = result?.task === "train" ? result : null;
  const judged = training ? (training.holdout ?? null) : result?.task === "evaluate" ? { errors: result.errors, examples: result.examples } : null;
  return {
    id: job.id, job: job.id, name: titleOf(job), status: job.status,
    params: { task: job.task, learner: job.learner?.name ?? null, data: job.dataset ?? (job.data_sha256 ? `sent ${job.data_sha256.slice(0, 8)}` : generatedText(job)),
      seed: job.seed, ...Object.fromEntries(flattened(job.learner?.params)) },
    judged, interval: result && "certificates" in result ? certified(result.certificates) : null, isOneSample: true,
    training: training?.training ?? null,
    counts: training ? { mistakes: training.mistakes, updates: training.updates, examples: training.examples, passes: training.passes, seconds: training.seconds }
      : { mistakes: job.progress.mistakes, examples: job.progress.examples, passes: job.progress.passes },
    bound: boundLine(training?.bound), end: training?.termination.reason ?? job.error?.code ?? null,
    mayHaveCurve: training !== null && !job.parent,
  };
}

/** @param {Schemas["ComparedLearner"]} learner  @param {number} index @returns {Entry} */
export function entryOfLearner(learner, index) {
  const { errors, examples } = learner;
  const shares = learner.folds.filter((fold) => fold.examples > 0).map((fold) => fold.errors / fold.examples);
  const isFolded = learner.folds.length > 1;
  return {
    id: String(index), job: learner.jobs.length === 1 ? (learner.jobs[0] ?? null) : null, name: learner.name, status: learner.unfit ? "unfit" : "",
    params: Object.fromEntries(flattened(learner.params)),
    judged: typeof errors === "number" && typeof examples === "number" ? { errors, examples } : null,
    interval: certified(learner.certificates) ?? (isFolded && shares.length > 0 ? { low: Math.min(...shares), high: Math.max(...shares), kind: "folds" } : null),
    isOneSample: !isFolded, training: null,
    counts: { mistakes: learner.mistakes, updates: learner.updates, seconds: learner.seconds },
    bound: boundLine(learner.bound), end: learner.unfit ?? null, mayHaveCurve: false,
  };
}

/** @param {Schemas["GridTraining"]} training  @param {number} index @returns {Entry} */
export function entryOfTraining(training, index) {
  return {
    id: String(index), job: training.job, name: `training ${number(index + 1)}`, status: training.status,
    params: /** @type {Record<string, any>} */ (training.over), judged: training.holdout ?? null, interval: certified(training.certificates), isOneSample: true,
    training: training.training ?? null, counts: { mistakes: training.mistakes, examples: training.examples },
    bound: null, end: training.reason ?? null, mayHaveCurve: false,
  };
}

/** @param {ErrorCount|null} count */
export function shareOf(count) {
  return count && count.examples > 0 ? count.errors / count.examples : null;
}

/** @param {any} value */
export function textOf(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : JSON.stringify(value);
}

/** @param {Interval|null} interval */
export function intervalText(interval) {
  if (!interval) return "–";
  const span = `${percent(interval.low)} – ${percent(interval.high)}`;
  return interval.kind === "folds" ? `${span} (span of folds)` : span;
}

/** Names that tell the entries apart, by the parameters that differ. @param {Entry[]} entries */
export function labelsOf(entries) {
  const names = [...new Set(entries.flatMap((entry) => Object.keys(entry.params)))];
  const differing = names.filter((name) => new Set(entries.map((entry) => JSON.stringify(entry.params[name]))).size > 1);
  const [seen, repeated] = [new Set(), new Set()];
  for (const { name } of entries) (seen.has(name) ? repeated : seen).add(name);
  const times = new Map();
  return entries.map((entry) => {
    const rest = differing.filter((name) => name !== "learner" && name !== "task" && name !== "data" && entry.params[name] !== undefined)
      .map((name) => `${name} ${textOf(entry.params[name])}`).join(", ");
    const label = entry.name.startsWith("training ") ? differing.map((name) => textOf(entry.params[name])).join(", ") || entry.name
      : repeated.has(entry.name) && rest ? `${entry.name}, ${rest}` : entry.name;
    times.set(label, (times.get(label) ?? 0) + 1);
    return times.get(label) > 1 ? `${label} (${times.get(label)})` : label;
  });
}
