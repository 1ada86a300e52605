/** The results of exact questions about data: separability, maximum margin and version space, with their proofs. */

import { html } from "../../vendor/htm-preact.mjs";
import { Bound, Certificates, WeightBars } from "../../view/learning.mjs";
import { Facts, Panel, counted } from "../../view/parts.mjs";
import { href } from "../../view/place.mjs";
import { duration, number } from "../../view/numbers.mjs";
import { Rows } from "../../view/rows.mjs";
import { classesOf } from "../../view/balance.mjs";
import { ExplanationPanel } from "../models/explanation.mjs";
import { ModelFiles } from "./files.mjs";
import { HypothesisPanel } from "./training.mjs";
import { shortId, titleOf } from "./words.mjs";

/** @typedef {import("./words.mjs").Schemas} Schemas */

/** @param {{result: Schemas["SeparabilityResult"]}} props */
export function SeparabilityView({ result }) {
  return html`<${Panel} title="Result">
      <p><strong>${verdict(result.separable)}</strong></p>
      ${result.detail && html`<p>${result.detail}</p>`}
      <p>${result.convention === "strict" ? "In the strict convention, no example may lie on the hyperplane."
        : "In the convention of the service, a positive example may lie on the hyperplane."}</p>
      <${Facts} of=${[["Computing", duration(result.seconds)]]} />
    <//>
    ${result.certificate && html`<${Panel} title="Proof"><${Proof} certificate=${result.certificate} /><//>`}`;
}

/** @param {boolean|null|undefined} separable */
function verdict(separable) {
  if (separable === true) return "A hyperplane separates the examples.";
  return separable === false ? "No hyperplane separates the examples." : "Undecided: a limit ended the computation.";
}

/** @type {Record<string, string>} */
const PROOFS = {
  separator: "Every example lies on the right side of this hyperplane. The service checked each example in integers.",
  gordan: "These positive multipliers add the examples, times their labels, up to zero. A strict separator would make the same sum "
    + "positive, so no strict separator exists (Gordan).",
  motzkin: "These positive multipliers add the examples, times their labels, up to zero, and one negative example takes part. "
    + "A separator in the convention of the service would make the sum positive, so no separator exists (Motzkin).",
};

/** @param {{certificate: Schemas["CertificateDocument"]}} props */
function Proof({ certificate }) {
  return html`<div class="stack"><p>${PROOFS[certificate.kind] ?? certificate.kind}</p>
    ${certificate.kind === "separator" ? html`<${Facts} of=${[["Features", number(certificate.weights.length)],
        ["Bias", certificate.bias !== null && certificate.bias !== undefined && number(certificate.bias)]]} />
        <${WeightBars} weights=${certificate.weights.map(Number)} />`
      : html`<${Multipliers} multipliers=${certificate.multipliers} />`}</div>`;
}

/** @param {{multipliers: Schemas["MultiplierDocument"][]}} props */
function Multipliers({ multipliers }) {
  return html`<${Rows} caption=${counted(multipliers.length, "example")} rows=${multipliers} height=${360}
    rowKey=${(/** @type {Schemas["MultiplierDocument"]} */ row) => String(row.example)}
    columns=${[{ name: "example", isNumber: true, cell: (/** @type {Schemas["MultiplierDocument"]} */ row) => number(row.example) },
      { name: "multiplier", isNumber: true, cell: (/** @type {Schemas["MultiplierDocument"]} */ row) => number(row.weight) }]} />`;
}

/** @param {{job: import("./words.mjs").Job, result: Schemas["MaximumMarginResult"]}} props */
export function MaximumMarginView({ job, result }) {
  return html`<${Panel} title="Result" actions=${result.model && html`<a href=${href(`models/${result.model}`)}>Model ${shortId(result.model)}</a>`}>
      <p><strong>${verdict(result.separable)}</strong></p>
      ${result.detail && html`<p>${result.detail}</p>`}
      <${Facts} of=${[["Margin", typeof result.margin === "number" && html`<strong>${number(result.margin, 6)}</strong>`],
        ["No margin is above", typeof result.margin_at_most === "number" && number(result.margin_at_most, 6)],
        ["Support examples", result.support && number(result.support.length)], ["Computing", duration(result.seconds)]]} />
      <${Bound} bound=${result.bound ?? null} />
    <//>
    ${result.certificate && html`<${Panel} title="Proof"><${Proof} certificate=${result.certificate} /><//>`}
    ${result.model && html`<${ExplanationPanel} model=${result.model} name=${titleOf(job)} classes=${classesOf(null, job.table)}
      title="What the hypothesis uses" />`}
    ${result.separable && html`<${Panel} title="Certificates"><${Certificates} certificates=${result.certificates} withheld=${result.certificates_withheld} /><//>`}
    ${result.support && html`<${Panel} title="Support examples"><p>These examples alone have the same largest margin. They are counted from 0.</p>
      <p class="mono">${result.support.slice(0, 200).map((index) => number(index)).join(" ")}</p>
      ${result.support.length > 200 && html`<p class="small muted">The first 200 of ${number(result.support.length)}.</p>`}<//>`}
    <${HypothesisPanel} result=${result} />
    ${result.model && html`<${ModelFiles} model=${result.model} hasReceipt=${false} />`}`;
}

/** @param {{result: Schemas["VersionSpaceResult"]}} props */
export function VersionSpaceView({ result }) {
  const { count, hypotheses, exclusion } = result;
  const sentence = count === null || count === undefined ? "The number of weight vectors is unknown."
    : count === "0" ? "No weights of −1 and +1 agree with the examples." : count === "1" ? "Exactly one weight vector agrees with the examples."
      : `${number(count)} weight vectors agree with the examples.`;
  return html`<${Panel} title="Result"><p><strong>${sentence}</strong></p>${result.detail && html`<p>${result.detail}</p>`}
      <${Facts} of=${[["Unique", typeof result.unique === "boolean" && (result.unique ? "yes" : "no")], ["Computing", duration(result.seconds)]]} /><//>
    ${exclusion && html`<${Panel} title="Proof"><p>These multipliers prove that no weights of −1 and +1 agree with the examples.
      ${exclusion.excludes_real_weights && " The proof excludes every hyperplane through the origin too."}</p>
      <${Multipliers} multipliers=${exclusion.multipliers} /><//>`}
    ${hypotheses.length > 0 && html`<${Panel} title="Weight vectors">
      <${Rows} caption=${`${hypotheses.length < Number(count ?? Infinity) ? "The first " : ""}${counted(hypotheses.length, "weight vector")}; 1 is +1 and 0 is −1`}
        rows=${hypotheses} height=${400} rowKey=${(/** @type {string} */ bits) => bits}
        columns=${[{ name: "number", isNumber: true, cell: (/** @type {string} */ _, /** @type {number} */ index) => number(index + 1) },
          { name: "weights", cell: (/** @type {string} */ bits) => html`<span class="bits">${bits}</span>` }]} /><//>`}`;
}
