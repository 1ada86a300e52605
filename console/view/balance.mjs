/** The shares of the two classes, as a bar with its numbers, as SVG and as CSV. */

import { html } from "../vendor/htm-preact.mjs";
import { CSV_TYPE, csvOf, download } from "./download.mjs";
import { number, percent } from "./numbers.mjs";
import { counted } from "./parts.mjs";
import { SavePicture } from "./picture.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {{kind: Schemas["LabelsKind"], examples: number, positives?: number|null, negatives?: number|null}} Counts */

/** @typedef {{sign: "+1"|"−1", name: string|undefined, count: number, share: number}} ClassShare */

/** @param {{of: Counts, classes?: string[]|null}} props */
export function Balance({ of, classes }) {
  if (of.kind === "unlabelled") return html`<p class="muted">The examples have no labels.</p>`;
  if (of.kind === "half-space") return html`<p>All ${number(of.examples)} examples are positive examples of a half-space.</p>`;
  const positives = of.positives ?? 0;
  const share = of.examples > 0 ? positives / of.examples : 0;
  const [negative, positive] = classes ?? [];
  const shares = /** @type {ClassShare[]} */ ([{ sign: "+1", name: positive, count: positives, share },
    { sign: "−1", name: negative, count: of.negatives ?? 0, share: of.examples > 0 ? 1 - share : 0 }]);
  return html`<div class="stack">
    <svg class="bar-of" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">
      <rect width=${share * 100} height="14" fill="var(--series-1)" />
      <rect x=${share * 100} width=${100 - share * 100} height="14" fill="var(--series-2)" />
    </svg>
    <div class="row spread"><ul class="legend">${shares.map(({ sign, name, count, share }, index) => html`<li key=${sign}>
        <svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill=${`var(--series-${index + 1})`} /></svg>
        <span><strong>${sign}</strong>${name !== undefined && html` ${name}`}: ${number(count)} (${percent(share, 1)})</span></li>`)}</ul>
      <span class="row no-print">
        <${SavePicture} drawing=${() => drawingOf(shares)} name="balance" label="Balance as SVG" />
        <button type="button" class="small-button" aria-label="Balance as CSV" onClick=${() => download("balance.csv", CSV_TYPE, csvOf([["label", "class", "examples", "share"],
          ...shares.map(({ sign, name, count, share }) => [sign === "+1" ? 1 : -1, name ?? "", count, share])]))}>CSV</button></span></div>
  </div>`;
}

/** @param {ClassShare[]} shares  @returns {import("./picture.mjs").Drawing} */
function drawingOf(shares) {
  const bars = shares.map(({ sign, name, count, share }) => ({ label: name === undefined ? sign : `${sign} ${name}`, value: count, text: `${number(count)} (${percent(share, 1)})` }));
  return { bars: { title: "Examples of each class", axis: "examples", bars } };
}

/** The same in a few words, for a cell of a table. @param {Counts} of */
export function balanceText(of) {
  if (of.kind !== "labelled") return of.kind;
  return of.examples > 0 ? `${percent((of.positives ?? 0) / of.examples, 1)} positive` : "no examples";
}

/** The meaning of contradictions. @param {number} count */
export function contradictionText(count) {
  return `${counted(count, "row")} ${count === 1 ? "appears" : "appear"} with both labels. No hypothesis is right on all examples.`;
}

/**
 * The names of the labels −1 and +1. A class against several others has a name, and the others have none.
 * @param {string[]|null|undefined} classes  @param {Schemas["TableEncoding"]|null|undefined} table
 */
export function classesOf(classes, table) {
  const label = table?.label;
  return classes ?? (label ? [label.negative ?? "every other value", label.positive] : null);
}
