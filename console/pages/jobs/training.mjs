/** The result of a training: outcome, curve, certificates, explanation and hypothesis. */

import { html } from "../../vendor/htm-preact.mjs";
import { useState } from "../../vendor/hooks.mjs";
import { useResource } from "../../service/resource.mjs";
import { Problem } from "../../service/requests.mjs";
import { Figure } from "../../view/figure.mjs";
import { Bound, Certificates, HypothesisView } from "../../view/learning.mjs";
import { Facts, Panel } from "../../view/parts.mjs";
import { Fault, Loaded } from "../../view/problem.mjs";
import { href } from "../../view/place.mjs";
import { confidence, duration, number, percent } from "../../view/numbers.mjs";
import { classesOf } from "../../view/balance.mjs";
import { ExplanationPanel } from "../models/explanation.mjs";
import { ModelFiles } from "./files.mjs";
import { errorsOf, shortId, titleOf } from "./words.mjs";

/** @typedef {import("./words.mjs").Schemas} Schemas */
/** @typedef {import("./words.mjs").Job} Job */
/** @typedef {Schemas["TrainResult"]} TrainResult */

/** @param {{job: Job, result: TrainResult}} props */
export function TrainView({ job, result }) {
  return html`<${Outcome} result=${result} />
    ${result.model && html`<${ExplanationPanel} model=${result.model} name=${titleOf(job)}
      classes=${result.members?.map((member) => member.class) ?? classesOf(null, job.table)}
      title="What the hypothesis uses" />`}
    ${!job.parent && html`<${MistakeCurve} job=${job} bound=${result.bound ?? null} />`}
    <${Panel} title="Certificates"><${Certificates} certificates=${result.certificates} withheld=${result.certificates_withheld} /><//>
    <${HypothesisPanel} result=${result} />
    ${result.model && html`<${ModelFiles} model=${result.model} />`}`;
}

/** Errors as a share, with the counts. @param {{of: {errors: number, examples: number}}} props */
export function Errors({ of: { errors, examples } }) {
  return html`<strong>${percent(examples > 0 ? errors / examples : null)}</strong><br /><span class="small muted">${number(errors)} of ${number(examples)}</span>`;
}

/** @param {{result: TrainResult}} props */
function Outcome({ result }) {
  const { termination, target, best } = result;
  return html`<${Panel} title="Result" actions=${result.model && html`<a href=${href(`models/${result.model}`)}>Model ${shortId(result.model)}</a>`}>
    <p><strong>${meaningOf(termination)}</strong></p>
    <${Facts} of=${[
      ["Errors on held-out examples", result.holdout && html`<${Errors} of=${result.holdout} />`],
      ["Errors on training examples", result.training && html`<${Errors} of=${result.training} />`],
      ["Mistakes while learning", html`<strong>${number(result.mistakes)}</strong>`],
      ["Updates", number(result.updates)],
      ["Examples read", number(result.examples)],
      ["Passes", number(result.passes)],
      ["Computing", duration(result.seconds)],
      ["Hypothesis", result.hypothesis_is === "best" ? "the best of the run" : "the last of the run"],
      ["Best at the end of a pass", best && `${errorsOf(best)}, pass ${number(best.pass)}`],
      ["Hidden target", target && (target.recovered ? "recovered" : `${number(target.distance)} coordinates differ`)],
      ["Weights of classes", result.class_weight && Object.entries(result.class_weight).map(([name, weight]) => `${name}: ${number(weight)}`).join(", ")],
      ["Confidence", typeof termination.confidence === "number" && confidence(termination.confidence)],
      ["Run length", typeof termination.run_length === "number" && `${number(termination.run_length)}${typeof termination.threshold === "number" ? ` of ${number(termination.threshold)}` : ""}`],
    ]} />
    <${Bound} bound=${result.bound ?? null} detail=${result.bound_detail} />
    ${termination.confidence_detail && html`<p class="small muted">${termination.confidence_detail}</p>`}
    ${typeof termination.per_hypothesis_confidence === "number" && html`<p class="small muted">Confidence for one hypothesis fixed in advance:${" "}
      ${confidence(termination.per_hypothesis_confidence)}.</p>`}
  <//>`;
}

/** @param {Schemas["TerminationDocument"]} termination */
function meaningOf({ reason, rule, detail }) {
  switch (reason) {
    case "confident": return `Confident: the run of correct predictions reached the threshold${rule ? ` of the rule ${rule}` : ""}.`;
    case "converged": return "Converged: a whole pass had no mistake.";
    case "consistent": return "Consistent: the search found a hypothesis without errors on all examples.";
    case "exhausted": return "Exhausted: the data ended.";
    case "limit": return `Limit: the run ended at ${detail ?? "a limit"}.`;
    case "cancelled": return "Cancelled: the service kept the hypothesis so far.";
    default: return reason;
  }
}

/** @param {{job: Job, bound: Schemas["BoundDocument"]|null}} props */
function MistakeCurve({ job, bound }) {
  const hasNone = /** @type {any} */ (job.request)?.train?.trace === false;
  const trace = useResource(hasNone ? null : { path: `v1/jobs/${job.id}/trace` });
  if (hasNone || (trace.error instanceof Problem && trace.error.status === 404)) return html`<${Panel} title="Mistake curve">
    <p class="muted">This job kept no curve. Set “trace” before you run the job again.</p><//>`;
  return html`<${Panel} title="Mistake curve"><${Loaded} resource=${trace}>${(/** @type {Schemas["Trace"]} */ value) =>
    html`<${Figure} spec=${curveSpec(value, bound)} />`}<//><//>`;
}

/** @param {Schemas["Trace"]} trace  @param {Schemas["BoundDocument"]|null} bound @returns {import("../../view/figure.mjs").FigureSpec} */
function curveSpec(trace, bound) {
  const points = pointsOf(trace);
  const most = bound?.mistakes_at_most;
  const end = points.at(-1) ?? { x: 0, y: 0 };
  // A bound far above the curve would press the curve to the axis.
  const isNear = typeof most === "number" && most <= 10 * Math.max(1, end.y);
  const note = typeof most === "number" && !isNear ? `The bound of ${bound?.theorem}, ${number(most)} mistakes, lies above the chart.` : "";
  const stride = trace.stride > 1 ? `The curve keeps one of every ${number(trace.stride)} mistakes.` : "";
  return { title: "Mistakes by examples read", note: [note, stride].filter(Boolean).join(" "),
    x: { label: "examples read", min: 0 }, y: { label: "mistakes", min: 0, isWhole: true },
    series: [{ label: isNear ? "mistakes" : "", form: "step", points },
      ...(isNear ? [{ label: `at most, ${bound?.theorem}`, form: /** @type {const} */ ("line"), points: [{ x: 0, y: Number(most) }, { x: end.x, y: Number(most) }] }] : [])] };
}

/** @param {Schemas["Trace"]} trace */
export function pointsOf(trace) {
  return [{ x: 0, y: 0 }, ...trace.points.map((point) => ({ x: point.examples, y: point.mistakes }))];
}

/** @param {{result: {hypothesis?: any, model?: string|null}}} props */
export function HypothesisPanel({ result }) {
  const [isOpen, setIsOpen] = useState(false);
  const { hypothesis, model: id } = result;
  if (!hypothesis && !id) return null;
  const title = !hypothesis ? "Load the hypothesis from the model" : "support" in hypothesis ? "All support vectors" : "All weights";
  // A closed list says nothing on paper.
  return html`<div class=${isOpen ? "" : "no-print"}><${Panel} title="Hypothesis">
    ${!hypothesis && html`<p>The hypothesis is larger than 256 KiB and is not part of the job.</p>`}
    <details open=${isOpen} onToggle=${(/** @type {Event} */ event) => setIsOpen(/** @type {HTMLDetailsElement} */ (event.target).open)}>
      <summary>${title}</summary>
      ${isOpen && (id ? html`<${OfModel} id=${id} hypothesis=${hypothesis ?? null} />` : html`<${HypothesisView} hypothesis=${hypothesis} />`)}
    </details>
  <//></div>`;
}

/** The hypothesis with the names of the features, which only the model knows. @param {{id: string, hypothesis: any}} props */
function OfModel({ id, hypothesis }) {
  const model = useResource({ path: `v1/models/${id}` });
  if (model.error && hypothesis) return html`<div class="stack"><${Fault} error=${model.error} onRetry=${model.reload} />
    <${HypothesisView} hypothesis=${hypothesis} /></div>`;
  return html`<${Loaded} resource=${model}>${(/** @type {Schemas["Model"]} */ value) =>
    html`<${HypothesisView} hypothesis=${value.hypothesis} features=${value.features} classes=${value.classes} />`}<//>`;
}
