/** The tasks that the page Train offers, with the fields of their requests beside data, learner and stop conditions. */

/** @typedef {import("../../view/schema_form.mjs").Schema} Schema */
/** @typedef {"train"|"compare"|"grid"|"separability"|"maximum_margin"|"version_space"|"evaluate"} TaskName */

/** @typedef {{name: TaskName, title: string, question: string, verb: string, learners: "one"|"several"|"none", needsModel?: boolean,
 *   ofTwoClasses?: boolean, fields: Record<string, Schema>}} Task */

/** @typedef {import("#api").components["schemas"]["DefaultStop"]} DefaultStop */

/** @type {Record<string, Schema>} */
const SHARED = {
  holdout: { title: "Hold-out", type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1, default: "none",
    description: "Share of the examples that the learner does not see, such as 0.2. The service counts the errors on them in the end." },
  stratify: { title: "Share of each class", type: "boolean", default: false,
    description: "Each class has its share of the held-out examples or of every fold. The parts are then no independent draws, and no certificate rests on them." },
  seed: { title: "Seed", type: "integer", minimum: 0, maximum: 9007199254740991, default: "drawn",
    description: "Equal requests with equal seeds give equal results." },
  minimum_count: { title: "Examples per name", type: "integer", minimum: 1, maximum: 9007199254740991, default: "none",
    description: "For examples with names: a name counts from this many examples on. Rarer names are left out of the model, which then has no bound." },
  discard: { title: "Names to drop", type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1, default: "none",
    description: "For examples with names: the share of them that the model drops in the end, those of the smallest weights." },
  multiclass: { title: "More than two classes", type: "string", enum: ["one-vs-rest", "joint"], default: "one-vs-rest",
    description: "Each class learns against all others, or the true and the predicted class learn together (joint)." },
  class_weight: { title: "Weights of classes", type: "string", default: "none",
    description: "balanced, or class:weight with commas between them, such as spam:2.5,ham:1. An example of weight 2 counts like two." },
  bias: { title: "Bias", type: "boolean", description: "Whether the hyperplane may miss the origin." },
  reading: { title: "Bits stand for", type: "string", enum: ["signed", "unsigned"], default: "signed", description: "−1 and +1 (signed), or 0 and 1 (unsigned)." },
  max_seconds: { title: "Seconds of computing", type: "number", exclusiveMinimum: 0, default: 600 },
  confidence: { title: "Confidence of the certificate", type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1, default: 0.95 },
};

/** @param {string[]} names @returns {Record<string, Schema>} */
function shared(...names) {
  return Object.fromEntries(names.map((name) => [name, SHARED[name] ?? {}]));
}

/** @type {Task[]} */
export const TASKS = [
  { name: "train", title: "Train a learner", question: "Which hypothesis explains the examples, and after how many mistakes?", verb: "Train", learners: "one",
    fields: shared("holdout", "stratify", "multiclass", "class_weight", "minimum_count", "discard", "seed") },
  { name: "compare", title: "Compare learners", question: "Which learner errs least on examples that its training did not see?", verb: "Compare", learners: "several",
    fields: { folds: { title: "Folds", type: "integer", minimum: 2, maximum: 100, default: 5, description: "Parts of the examples. Each part judges the trainings on the others. Leave this field open beside a hold-out." },
      holdout: { ...SHARED.holdout, description: "Share of the examples that judges all trainings, instead of folds." }, ...shared("stratify", "multiclass", "class_weight", "seed") } },
  { name: "grid", title: "Grid", question: "Which parameters of a learner err least? The service trains with every combination.", verb: "Train all", learners: "one",
    fields: shared("holdout", "stratify", "multiclass", "class_weight", "seed") },
  { name: "separability", title: "Separability", question: "Does a hyperplane separate the two classes? The answer carries a proof.", verb: "Decide", learners: "none", ofTwoClasses: true,
    fields: { ...shared("bias", "reading"), convention: { title: "Right side of the hyperplane", type: "string", enum: ["strict", "service"],
      description: "A score of 0 is on no side (strict), or on the positive side (service)." }, ...shared("max_seconds", "seed") } },
  { name: "maximum_margin", title: "Maximum margin", question: "Which hyperplane has the largest margin? The result is a model.", verb: "Find", learners: "none", ofTwoClasses: true,
    fields: shared("bias", "reading", "confidence", "max_seconds", "seed") },
  { name: "version_space", title: "Version space", question: "Which weights of −1 and +1 agree with all examples? Up to 32 features are enumerated.", verb: "Find", learners: "none", ofTwoClasses: true,
    fields: { list: { title: "Weights in the result", type: "integer", minimum: 0, maximum: 10000, default: 100, description: "Largest number of weight vectors that the result lists." },
      ...shared("max_seconds", "seed") } },
  { name: "evaluate", title: "Evaluate a model", question: "How many of the examples does a model get wrong?", verb: "Evaluate", learners: "none", needsModel: true,
    fields: { fresh: { title: "Fresh examples", type: "boolean", default: false,
      description: "Declares that neither the model nor its ancestors learnt from the examples." }, ...shared("confidence", "max_seconds", "seed") } },
];

/** Fields that every job has. @type {Schema} */
export const JOB = { properties: {
  name: { title: "Name", type: "string", description: "Free text that lists of jobs show." },
  priority: { title: "Priority", type: "integer", minimum: -10, maximum: 10, default: 0, description: "Among your waiting jobs. Higher numbers run first." },
} };

/**
 * The stop conditions of a training or a session. The defaults are those of the learners.
 * @param {import("./request.mjs").Learner[]} learners  @param {{isSession?: boolean}} [options]  @returns {Schema}
 */
export function stopSchema(learners, { isSession = false } = {}) {
  const rules = learners.length === 1 ? (learners[0]?.confidence_rules ?? []) : [];
  const common = (/** @type {(stop: DefaultStop) => number|null|undefined} */ part, /** @type {string} */ none) => {
    const values = [...new Set(learners.map(({ default_stop: stop }) => part(stop) ?? none))];
    return values.length === 1 ? values[0] : values.length > 1 ? "of each learner" : none;
  };
  const ofJob = (/** @type {"max_passes"|"max_mistakes"} */ name) => common((stop) => (isSession ? null : stop[name]), "no limit");
  /** @type {Record<string, Schema>} */
  const confidence = {
    confidence: { title: "Confidence", type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1,
      default: common((stop) => (isSession ? stop.endless_confidence : stop.confidence), "not asked for"),
      description: "The run stops once the rule claims this confidence. Needs data whose origin is declared." },
    rule: { title: "Rule", type: "string", enum: [...new Set([...rules, "pac"])], default: rules[0] ?? "pac", description: "The rule that measures the confidence." },
    error: { title: "Error", type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1, default: "not asked for",
      description: "The run stops once the hypothesis errs at most this often, by the rule pac." },
  };
  return { properties: {
    max_passes: { title: "Passes", type: "integer", minimum: 1, default: ofJob("max_passes"), description: "Largest number of passes over the data." },
    max_mistakes: { title: "Mistakes", type: "integer", minimum: 1, default: ofJob("max_mistakes") },
    max_examples: { title: "Examples read", type: "integer", minimum: 1, default: "no limit" },
    max_seconds: { title: "Seconds of computing", type: "number", exclusiveMinimum: 0, default: common((stop) => stop.max_seconds, "of the service") },
    ...confidence,
  } };
}

/** The place of a training in the request of a task. @param {Task} task */
export function pointerOf({ name }) {
  return name === "grid" ? "/grid/train" : `/${name}`;
}

/** @param {URLSearchParams} query @returns {Task} */
export function taskOf(query) {
  return TASKS.find(({ name }) => name === query.get("task")) ?? /** @type {Task} */ (TASKS[0]);
}
