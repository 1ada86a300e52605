/** The words for experiments: their names, what they are for and how long they take. This module makes no requests. */

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {Schemas["Figure"]} ReadyFigure */

/** The kinds of experiments: a title, and the question that the experiment answers. @type {Record<string, [title: string, question: string, schema: string]>} */
export const KINDS = {
  "mistake-bound-sweep": ["Mistakes of Directed Drift", "How many mistakes does a learner make until the hypothesis is the target, by n or by the size of a batch?", "MistakeBoundSweepSpec"],
  "false-stop-rate": ["False stops", "How often does a stopping rule accept a wrong hypothesis?", "FalseStopRateSpec"],
  "separable-fraction": ["Separable dichotomies", "Which share of random dichotomies does a hyperplane through the origin separate?", "SeparableFractionSpec"],
  "sample-complexity": ["Sample complexity", "How many examples does a learner need to find hidden binary weights exactly?", "SampleComplexitySpec"],
  "certificate-coverage": ["Coverage of certificates", "How often is a certificate wrong, against the error that it allows?", "CertificateCoverageSpec"],
};

/** The figure for a newcomer. */
export const FIRST_FIGURE = "fang-venkatesh-table-1";

/** Conditions of figures. @type {Record<string, string>} */
export const NOTES = {
  [FIRST_FIGURE]: "The two lines of Theorem 1 concern algorithm D only and hold from n = 4 on. D' and D'' have no such bound.",
};

/** The time of a figure with its own parameters on two cores, in words. @type {Record<string, string>} */
const TIMES = { [FIRST_FIGURE]: "some seconds", "coverage-samples": "under a minute" };

/** @param {string} figure */
export function timeOf(figure) {
  return TIMES[figure] ?? "several minutes";
}

/** @param {string} kind */
export function kindTitle(kind) {
  return KINDS[kind]?.[0] ?? kind;
}

/** The runs per point of an experiment. @param {{params: object}} experiment @returns {number|null} */
export function runsOf(experiment) {
  const { runs } = /** @type {{runs?: unknown}} */ (experiment.params);
  return typeof runs === "number" ? runs : null;
}
