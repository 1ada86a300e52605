/** Hypotheses, counts, bounds and certificates, put the way people read them. */

import { html } from "../vendor/htm-preact.mjs";
import { useState } from "../vendor/hooks.mjs";
import { CSV_TYPE, csvOf, download } from "./download.mjs";
import { Facts, Field, Select, counted } from "./parts.mjs";
import { confidence, number, rounded } from "./numbers.mjs";
import { SavePicture } from "./picture.mjs";
import { viewChoice } from "./place.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {Schemas["HypothesisDocument"]} Hypothesis */

/** Weights that are shown at first, and weights that are shown at all. The CSV file has every weight. */
const [WEIGHTS_SHOWN, WEIGHTS_MAX] = [24, 500];

/**
 * Whether a certificate says nothing: its bound excludes no error, or it counts no example.
 * @param {Schemas["Certificate"]} certificate
 */
export function isVacuous(certificate) {
  switch (certificate.kind) {
    case "test-set": return certificate.examples === 0 || certificate.at_most >= 1;
    case "survival": return certificate.run_length === 0 || certificate.error_at_most >= 1;
    case "progressive": return certificate.examples === 0 || certificate.mean_error_at_most >= 1;
    case "compression": return certificate.examples === 0 || certificate.error_at_most >= 1;
    case "unique": return certificate.examples === 0 || certificate.log10_doubt >= 0;
    default: return false;
  }
}

/** Statements of how far an answer can be trusted. @param {{certificates: Schemas["Certificate"][], withheld: Schemas["WithheldCertificate"][]}} props */
export function Certificates({ certificates, withheld }) {
  const [empty, valid] = [certificates.filter(isVacuous), certificates.filter((found) => !isVacuous(found))];
  const left = empty.length + withheld.length;
  return html`<div class="stack">
    ${valid.map((found) => html`<div key=${found.kind} class="notice good">
      <p>${found.statement}</p>
      <p class="small"><strong>${found.kind}</strong>, confidence ${confidence(found.confidence)}.
        ${found.assumes.length > 0 && html` Assumes: ${found.assumes.join(", ")}.`} Source: ${found.source}.</p>
    </div>`)}
    ${left > 0 && html`<details open=${valid.length === 0}>
      <summary>${counted(left, "certificate")} withheld</summary>
      <ul class="small">${empty.map((found) => html`<li key=${found.kind}><strong>${found.kind}</strong>: the examples exclude no error yet.</li>`)}
        ${withheld.map((found) => html`<li key=${found.kind}><strong>${found.kind}</strong>: ${found.reason}.</li>`)}</ul>
    </details>`}
    ${valid.length + left === 0 && html`<p class="muted">No certificate applies.</p>`}
  </div>`;
}

/** @param {{bound: Schemas["BoundDocument"]|null, detail?: string|null}} props */
export function Bound({ bound, detail }) {
  if (!bound) return html`<p class="muted">No bound${detail ? html`: ${detail}` : ""}.</p>`;
  const most = bound.mistakes_at_most !== null && bound.mistakes_at_most !== undefined ? number(bound.mistakes_at_most)
    : bound.log2_mistakes_at_most !== null && bound.log2_mistakes_at_most !== undefined ? `2^${number(bound.log2_mistakes_at_most)}` : "unknown";
  const tone = bound.respected === true ? "good" : bound.respected === false ? "bad" : "";
  const word = bound.respected === true ? "respected" : bound.respected === false ? "exceeded" : "not applicable";
  return html`<p>${bound.theorem}: at most ${most} mistakes. <span class=${`badge ${tone}`}>${word}</span>
    ${bound.detail && html`<span class="small muted"> ${rounded(bound.detail)}</span>`}</p>`;
}

/**
 * The hypothesis of one class of a committee, which a person chooses. Others pass unchanged.
 * @param {Hypothesis|null} hypothesis  @param {Hypothesis|null} before  @param {string[]|null|undefined} classes
 * @returns {{one: Hypothesis|null, was: Hypothesis|null, choice: any, name: string|null}}
 */
export function useMember(hypothesis, before, classes) {
  const [chosen, choose] = useState("0");
  if (hypothesis?.kind !== "committee") return { one: hypothesis, was: before, choice: null, name: null };
  const { members } = hypothesis;
  const names = members.map((_, index) => classes?.[index] ?? `class ${index + 1}`);
  const index = Math.min(Number(chosen), members.length - 1);
  const was = before?.kind === "committee" ? before.members[index] ?? null : null;
  const options = /** @type {[string, string][]} */ (names.map((name, place) => [String(place), name]));
  const choice = html`<${Field} label="Class">${(/** @type {object} */ attributes) => html`<${Select} attributes=${attributes} value=${String(index)} options=${options} onChange=${choose} />`}<//>`;
  return { one: /** @type {Hypothesis|null} */ (members[index] ?? null), was: /** @type {Hypothesis|null} */ (was), choice, name: names[index] ?? null };
}

/**
 * A hypothesis: weights by feature name, bits, or examples with their labels. A committee has one per class.
 * @param {{hypothesis: Hypothesis|null, features?: string[]|null, classes?: string[]|null, before?: Hypothesis|null}} props  `before` marks the changes.
 */
export function HypothesisView({ hypothesis, features, classes, before }) {
  const { one, was, choice } = useMember(hypothesis, before ?? null, classes);
  if (choice) return html`<div class="stack"><div class="row no-print">${choice}</div><${HypothesisView} hypothesis=${one} features=${features} before=${was} /></div>`;
  if (!hypothesis) return html`<p class="muted">The hypothesis is larger than 256 KiB. Open the model to read it.</p>`;
  const facts = factsOf(hypothesis);
  const weights = weightsOf(hypothesis);
  return html`<div class="stack">
    <${Facts} of=${facts} />
    ${weights ? html`<${WeightBars} weights=${weights} before=${before ? weightsOf(before) : null} names=${features} />`
      : html`<${Support} hypothesis=${hypothesis} />`}
  </div>`;
}

/** @param {Hypothesis} hypothesis @returns {[string, any][]} */
function factsOf(hypothesis) {
  /** @type {[string, any][]} */
  const facts = [["kind", hypothesis.kind], ["features", number(hypothesis.n)]];
  if (hypothesis.kind === "linear") facts.push(["bias", number(hypothesis.bias)], ["reading", hypothesis.reading], ["unit", hypothesis.unit && hypothesis.unit !== 1 ? number(hypothesis.unit) : null]);
  if (hypothesis.kind === "bounded") facts.push(["inhibition", number(hypothesis.inhibition)], ["threshold", number(hypothesis.threshold)]);
  if (hypothesis.kind === "winnow") facts.push(["alpha", hypothesis.alpha], ["theta", number(hypothesis.theta)], ["complements", hypothesis.negated_literals ? "yes" : null]);
  if (hypothesis.kind === "kernel") facts.push(["conjunctions", hypothesis.kernel.conjunctions], ["support vectors", number(hypothesis.support.length)]);
  if (hypothesis.kind === "kernel-winnow") facts.push(["alpha", hypothesis.alpha], ["theta", number(hypothesis.theta)], ["support vectors", number(hypothesis.support.length)]);
  return facts;
}

/**
 * One number per feature, in the order of the features: weights, signs of binary weights, or exponents of Winnow.
 * @param {Hypothesis} hypothesis  @returns {number[]|null}
 */
export function weightsOf(hypothesis) {
  if (hypothesis.kind === "linear" || hypothesis.kind === "bounded") return hypothesis.weights.map(Number);
  if (hypothesis.kind === "winnow") return hypothesis.exponents;
  if (hypothesis.kind === "binary-weights") return Array.from(hypothesis.weights, (bit) => (bit === "1" ? 1 : -1));
  return null;
}

/**
 * Weights as bars, the heaviest first. A changed weight has a mark at its value before.
 * @param {{weights: number[], before?: number[]|null, names?: string[]|null}} props
 */
export function WeightBars({ weights, before, names }) {
  const [isAll, setIsAll] = viewChoice("weights", "all");
  const order = weights.map((weight, index) => ({ weight, index, name: names?.[index] ?? `x${index + 1}`, was: before?.[index] ?? weight }))
    .sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight) || a.index - b.index);
  const most = Math.max(...order.slice(0, 1).map(({ weight }) => Math.abs(weight)), ...(before ?? []).map(Math.abs), 1e-300);
  const shown = order.slice(0, isAll ? WEIGHTS_MAX : WEIGHTS_SHOWN);
  const drawing = () => ({ bars: { title: "Weights", axis: "weight",
    bars: shown.map(({ name, weight, was }) => ({ label: name, value: weight, text: number(weight), before: was === weight ? null : was })) } });
  const saveTable = () => download("weights.csv", CSV_TYPE, csvOf([["feature", "weight", ...(before ? ["weight before"] : [])],
    ...[...order].sort((a, b) => a.index - b.index).map(({ name, weight, was }) => [name, weight, ...(before ? [was] : [])])]));
  return html`<div class="stack">
    <div class="row no-print"><${SavePicture} drawing=${drawing} name="weights" label="Weights as SVG" />
      <button type="button" class="small-button" aria-label="Weights as CSV" onClick=${saveTable}>CSV</button></div>
    <div class="scroll tall" tabindex="0" role="region" aria-label="Weights">
      <table><caption class="hidden-label">Weights by size</caption>
        <thead><tr><th scope="col">feature</th><th scope="col" class="number">weight</th><th scope="col"><span class="hidden-label">bar</span></th></tr></thead>
        <tbody>${shown.map(({ weight, index, name, was }) => html`<tr key=${index}>
          <th scope="row" class="feature">${name}</th>
          <td class="number">${number(weight)}${was !== weight && html`<span class="small muted"> was ${number(was)}</span>`}</td>
          <td class="bar"><${Bar} share=${weight / most} was=${was / most} /></td></tr>`)}</tbody>
      </table>
    </div>
    ${order.length > WEIGHTS_SHOWN && html`<div class="no-print"><button class="small-button" aria-expanded=${isAll} onClick=${() => setIsAll(!isAll)}>
      Show ${isAll ? `the first ${WEIGHTS_SHOWN}` : order.length > WEIGHTS_MAX ? `the first ${WEIGHTS_MAX}` : "all"} of ${number(order.length)}</button></div>`}
  </div>`;
}

/** A bar from the middle: to the right for positive weights. @param {{share: number, was?: number}} props  Shares from -1 to 1. */
export function Bar({ share, was = share }) {
  const width = Math.abs(share) * 100;
  return html`<svg class="bar-of" viewBox="-102 0 204 14" preserveAspectRatio="none" aria-hidden="true">
    <line x1="0" x2="0" y1="0" y2="14" stroke="var(--strong-line)" vector-effect="non-scaling-stroke" />
    <rect x=${share < 0 ? -width : 0} y="2" width=${width} height="10" fill=${share < 0 ? "var(--series-2)" : "var(--series-1)"} />
    ${was !== share && html`<line x1=${was * 100} x2=${was * 100} y1="0" y2="14" stroke="var(--text)" stroke-width="2" vector-effect="non-scaling-stroke" />`}
  </svg>`;
}

/** Characters of an example that the page shows. An example may have a million. */
const EXAMPLE_SHOWN = 256;

/** @param {string} example */
function beginningOf(example) {
  return example.length > EXAMPLE_SHOWN ? `${example.slice(0, EXAMPLE_SHOWN)}… (${number(example.length)} characters)` : example;
}

/** The bits of a support vector, or the numbers of the features that are 1. @param {Schemas["SupportVector"] | Schemas["CountedExample"]} vector */
function bitsOf(vector) { return vector.x ?? `ones: ${(vector.ones ?? []).join(" ")}`; }

/** The examples of a kernel hypothesis. @param {{hypothesis: Hypothesis}} props */
function Support({ hypothesis }) {
  if (hypothesis.kind !== "kernel" && hypothesis.kind !== "kernel-winnow") return null;
  const shown = hypothesis.support.slice(0, 100);
  return html`<div class="scroll tall" tabindex="0" role="region" aria-label="Support vectors">
    <table><caption>${shown.length < hypothesis.support.length ? `The first ${shown.length} of ${number(hypothesis.support.length)} support vectors` : counted(shown.length, "support vector")}</caption>
      <thead><tr><th scope="col">example</th><th scope="col" class="number">label</th></tr></thead>
      <tbody>${shown.map((vector, index) => html`<tr key=${index}><td class="bits">${beginningOf(bitsOf(vector))}</td><td class="number">${vector.y > 0 ? "+1" : "−1"}</td></tr>`)}</tbody>
    </table></div>`;
}
