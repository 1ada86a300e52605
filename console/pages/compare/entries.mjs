/**
 * The entries of a comparison: one row per training, from jobs, from a comparison or from a grid. An entry keeps only
 * the numbers, because the hypotheses of a thousand jobs would fill the memory.
 */

import { isVacuous } from "../../view/learning.mjs";
import { number, span } from "../../view/numbers.mjs";
import { flattened, generatedText, titleOf } from "../jobs/words.mjs";

/** @typedef {import("../jobs/words.mjs").Schemas} Schemas */
/** @typedef {import("../jobs/words.mjs").Job} Job */
/** @typedef {{errors: number, examples: number}} ErrorCount */
/**
 * @typedef {object} Interval
 * @property {number} low
 * @property {number} high
 * @property {"certificate"|"theory"|"joint"|"folds"} kind  `joint` holds with those of all candidates at once. `folds` spans the folds and is
 * no confidence interval.
 * @property {number} [confidence]
 * @property {string} [statement]  What the service says about a joint interval.
 * @property {boolean} [isCertified]
 */
/**
 * @typedef {object} Entry
 * @property {string} id
 * @property {string} name
 * @property {string|null} job  Job that holds the whole result.
 * @property {string} status
 * @property {Record<string, any>} params
 * @property {ErrorCount|null} judged  Errors on examples that the learner did not see.
 * @property {Interval|null} interval
 * @property {boolean} isAlone  Whether the job is no part of a comparison or a grid, so that an interval may hold for it alone.
 * @property {ErrorCount|null} evaluated  Errors on examples of which nobody declared that the model did not learn from them.
 * @property {ErrorCount|null} training
 * @property {Record<string, number|null|undefined>} counts
 * @property {string|null} bound
 * @property {string|null} end
 * @property {boolean} mayHaveCurve
 */

/** @param {readonly Schemas["Certificate"][]|null|undefined} certificates @returns {Interval|null} */
function certified(certificates) {
  const found = (certificates ?? []).find((certificate) => certificate.kind === "test-set" && !isVacuous(certificate));
  return found?.kind === "test-set" ? { low: found.low, high: found.high, confidence: found.confidence, kind: "certificate", isCertified: true } : null;
}

/**
 * The interval of a candidate, as the result states it for all candidates.
 * @param {{interval?: Schemas["ErrorInterval"]|null, certificates: Schemas["Certificate"][]}} candidate
 * @param {Schemas["ErrorIntervals"]|null|undefined} stated  @returns {Interval|null}
 */
function jointly({ interval, certificates }, stated) {
  if (!interval || !stated) return null;
  const kind = typeof stated.confidence === "number" ? "joint" : "folds";
  return { low: interval.low, high: interval.high, kind, statement: stated.statement, isCertified: certified(certificates) !== null };
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
  const interval = result && "certificates" in result ? certified(result.certificates) : null;
  const evaluated = result?.task === "evaluate" ? { errors: result.errors, examples: result.examples } : null;
  const judged = training ? (training.holdout ?? null) : interval && evaluated;
  return {
    id: job.id, job: job.id, name: titleOf(job), status: job.status,
    params: { task: job.task, learner: job.learner?.name ?? null, data: job.dataset ?? (job.data_sha256 ? `sent ${job.data_sha256.slice(0, 8)}` : generatedText(job)),
      seed: job.seed, ...Object.fromEntries(flattened(job.learner?.params)) },
    judged, evaluated: judged ? null : evaluated, interval, isAlone: !job.parent,
    training: training?.training ?? null,
    counts: training ? { mistakes: training.mistakes, updates: training.updates, examples: training.examples, passes: training.passes, seconds: training.seconds }
      : { mistakes: job.progress.mistakes, examples: job.progress.examples, passes: job.progress.passes },
    bound: boundLine(training?.bound), end: training?.termination.reason ?? job.error?.code ?? null,
    mayHaveCurve: training !== null && !job.parent,
  };
}

/** A part of a grid that has no result yet. The result states the intervals. @param {Job} job @returns {Entry} */
export function entryOfPart(job) {
  return { ...entryOfJob(job), interval: null };
}

/** @param {Schemas["ComparedLearner"]} learner  @param {number} index  @param {Schemas["ErrorIntervals"]|null|undefined} stated @returns {Entry} */
export function entryOfLearner(learner, index, stated) {
  const { errors, examples } = learner;
  return {
    id: String(index), job: learner.jobs.length === 1 ? (learner.jobs[0] ?? null) : null, name: learner.name, status: learner.unfit ? "unfit" : "",
    params: Object.fromEntries(flattened(learner.params)),
    judged: typeof errors === "number" && typeof examples === "number" ? { errors, examples } : null,
    evaluated: null, interval: jointly(learner, stated), isAlone: false, training: null,
    counts: { mistakes: learner.mistakes, updates: learner.updates, seconds: learner.seconds },
    bound: boundLine(learner.bound), end: learner.unfit ?? null, mayHaveCurve: false,
  };
}

/** @param {Schemas["GridTraining"]} training  @param {number} index  @param {Schemas["ErrorIntervals"]|null|undefined} stated @returns {Entry} */
export function entryOfTraining(training, index, stated) {
  return {
    id: String(index), job: training.job, name: `training ${number(index + 1)}`, status: training.status,
    params: /** @type {Record<string, any>} */ (training.over), judged: training.holdout ?? null, evaluated: null, interval: jointly(training, stated), isAlone: false,
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
  const text = span(interval.low, interval.high);
  return interval.kind === "folds" ? `${text} (span of folds)` : text;
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
