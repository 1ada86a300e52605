/**
 * The bound of a theorem on the mistakes of a learner, computed by the service. If a learner has no such bound, the
 * reason is shown.
 */

import { useState } from "../../vendor/hooks.mjs";
import { useResource } from "../../service/resource.mjs";
import { number, rounded } from "../../view/numbers.mjs";
import { textsIn } from "../../view/schema_form.mjs";
import { isEnded } from "../jobs/words.mjs";
import { digest } from "./data.mjs";
import { hasManyClasses } from "./labels.mjs";
import { dataKindIn } from "./wanted.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {import("../../service/requests.mjs").RequestSpec} RequestSpec */
/** @typedef {{label: string, value: number|null, detail: string, job?: string|null, ask?: (() => void)|null, recipe?: Recipe|null, error?: Error|null}} Bound */
/** @typedef {import("../../service/recipes.mjs").Recipe} Recipe */

const MARGIN_SECONDS_MAX = 60;

/**
 * @param {import("./run.mjs").Run|undefined} run  @param {URLSearchParams} query  @returns {Bound|null}
 */
export function useBound(run, query) {
  const [isAsked, setIsAsked] = useState(false);
  const plan = run?.session ? planOf(run, query, isAsked) : null;
  const first = useResource(plan?.request ?? null);
  const job = /** @type {Schemas["Job"]|null} */ (plan?.isJob ? first.value : null);
  const later = useResource(job && !isEnded(job) ? { path: `v1/jobs/${job.id}` } : null, { every: 2, until: isEnded });
  if (!plan) return null;
  if (!plan.request) return { label: plan.label, value: null, detail: plan.detail, recipe: plan.recipe ?? null, ask: plan.recipe ? () => setIsAsked(true) : null };
  if (first.error) return { label: plan.label, value: null, detail: "The service could not compute the bound.", error: first.error };
  const found = plan.isJob ? later.value ?? job : first.value;
  return found ? { ...plan.read(found), label: plan.label, job: plan.isJob ? found.id : null } : { label: plan.label, value: null, detail: "The service computes the bound…" };
}

/** @typedef {{label: string, request: RequestSpec|null, detail: string, isJob?: boolean, recipe?: Recipe, read: (answer: any) => {value: number|null, detail: string}}} Plan */

/** @param {import("./run.mjs").Run} run  @param {URLSearchParams} query  @param {boolean} isAsked  @returns {Plan} */
function planOf(run, query, isAsked) {
  const { learner } = run.wanted;
  const params = /** @type {Record<string, any>} */ (run.session?.learner.params ?? {});
  const { dataset } = run.examples;
  if (hasManyClasses(dataset)) return none("Bound", "The result of a training states the bounds of more than two classes.");
  if (Number(params.thickness) > 0) return none("Bound", "With thickness, the bound is on the updates. The result of a training states it.");
  if (learner.name === "perceptron") return novikoff(params, dataset, isAsked);
  if (learner.name === "winnow") return winnow(params, run, query);
  if (learner.name === "directed-drift") return drift(run);
  return none(learner.guarantee.theorem, `${learner.guarantee.bound} The service computes no number from this statement.`);
}

/** @param {string} label  @param {string} detail @returns {Plan} */
function none(label, detail) {
  return { label, request: null, detail, read: () => ({ value: null, detail }) };
}

/** @param {Record<string, any>} params  @param {Schemas["Dataset"]} dataset  @param {boolean} isAsked @returns {Plan} */
function novikoff(params, dataset, isAsked) {
  const label = "Novikoff's bound";
  const isZero = [params.initial].flat().every((weight) => Number(weight) === 0);
  if (!isZero) return none(label, "The bound holds for initial weights 0 only.");
  if (dataset.kind === "half-space") return none(label, "The examples have no labels of both classes.");
  const request = { maximum_margin: { data: { dataset: dataset.id }, bias: params.bias, max_seconds: MARGIN_SECONDS_MAX,
    ...(dataset.values === "boolean" && { reading: params.reading }) }, name: "Novikoff's bound for the playground" };
  const recipe = { method: /** @type {const} */ ("POST"), path: "v1/jobs", json: request, headers: { prefer: "wait=10" }, operation: "create_job" };
  if (!isAsked) return { ...none(label, `The bound needs the largest margin of the ${number(dataset.examples)} × ${number(dataset.n)} values: a job of at most ${MARGIN_SECONDS_MAX} seconds.`), recipe };
  return { label, detail: "", isJob: true,
    request: { ...recipe, headers: { ...recipe.headers, "idempotency-key": `console-margin-${digest(JSON.stringify(request))}` } },
    read: (/** @type {Schemas["Job"]} */ job) => {
      const result = /** @type {any} */ (job.result);
      if (!result) return { value: null, detail: job.error ? job.error.detail : "The service computes the largest margin…" };
      if (result.bound?.mistakes_at_most !== null && result.bound?.mistakes_at_most !== undefined) return { value: result.bound.mistakes_at_most, detail: `${rounded(result.bound.detail)}.` };
      return { value: null, detail: result.separable === false ? "No hyperplane separates these examples, so the theorem does not apply and the mistakes need not end." : `${result.detail ?? "The margin is unknown"}.` };
    } };
}

/** @param {Record<string, any>} params  @param {import("./run.mjs").Run} run  @param {URLSearchParams} query @returns {Plan} */
function winnow(params, run, query) {
  const label = "Littlestone's bound";
  const hypothesis = run.session?.hypothesis;
  const texts = textsIn(query, "g.");
  const isNoisy = Number(texts.noise ?? 0) > 0;
  if (dataKindIn(query) === "generated" && isNoisy) return none(label, "The labels have noise, and the theorem needs labels of a disjunction.");
  if (!params.relevant) return none(label, "The bound needs the number of features in the disjunction behind the labels: the parameter relevant.");
  const theta = hypothesis?.kind === "winnow" ? hypothesis.theta : params.theta;
  const n = run.examples.dataset.n * (params.negated_literals ? 2 : 1);
  return { label, detail: "", request: { path: "v1/theory/winnow", query: { n, relevant: params.relevant, alpha: params.alpha, theta } },
    read: (/** @type {Schemas["MistakeBound"]} */ bound) => ({ value: bound.mistakes_at_most ?? null,
      detail: `For examples that a disjunction of at most ${params.relevant} of ${n} features labels.` }) };
}

/** @param {import("./run.mjs").Run} run @returns {Plan} */
function drift(run) {
  const label = "Expected mistakes";
  const origin = run.session?.assume;
  if (!origin || origin === "independent") return none(label, "The exact chain needs examples that are declared as uniform (declared origin).");
  if (run.wanted.request.learner.params.initial) return none(label, "The exact chain is shown for random initial weights.");
  return { label, detail: "", request: { path: "v1/theory/directed-drift", query: { n: run.examples.dataset.n, delta: 0.01 } },
    read: (/** @type {Schemas["DirectedDriftAnalysis"]} */ found) => ({ value: found.expected_mistakes.random_start ?? null,
      detail: "The mean over many runs with fresh examples, from a random start. A single run may make more mistakes." }) };
}
