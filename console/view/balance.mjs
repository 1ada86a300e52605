/** The shares of the two classes, as a bar with its numbers, as SVG and as CSV. */

import { html } from "../vendor/htm-preact.mjs";
import { CSV_TYPE, csvOf, download } from "./download.mjs";
import { number, percent } from "./numbers.mjs";
import { counted } from "./parts.mjs";
import { SavePicture } from "./picture.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {{kind: Schemas["LabelsKind"], examples: number, class_examples?: number[]|null}} Counts */

/** @typedef {{label: string, code: number, name: string|undefined, count: number, share: number}} ClassShare */

/** The most classes that the legend lists. */
const LISTED_MAX = 12;

/** @param {{of: Counts, classes?: string[]|null}} props */
export function Balance({ of, classes }) {
  if (of.kind === "unlabelled") return html`<p class="muted">The examples have no labels.</p>`;
  if (of.kind === "half-space") return html`<p>All ${number(of.examples)} examples are positive examples of a half-space.</p>`;
  const shares = sharesOf(of, classes);
  let left = 0;
  return html`<div class="stack">
    <svg class="bar-of" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">${shares.map(({ share }, index) => {
      const x = left;
      left += share * 100;
      return html`<rect key=${index} x=${x} width=${share * 100} height="14" fill=${colour(index)} />`;
    })}</svg>
    <div class="row spread"><ul class="legend">${shares.slice(0, LISTED_MAX).map(({ label, name, count, share }, index) => html`<li key=${label}>
        <svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill=${colour(index)} /></svg>
        <span><strong>${label}</strong>${name !== undefined && html` ${name}`}: ${number(count)} (${percent(share, 1)})</span></li>`)}
        ${shares.length > LISTED_MAX && html`<li>and ${number(shares.length - LISTED_MAX)} more classes</li>`}</ul>
      <span class="row no-print">
        <${SavePicture} drawing=${() => drawingOf(shares)} name="balance" label="Balance as SVG" />
        <button type="button" class="small-button" aria-label="Balance as CSV" onClick=${() => download("balance.csv", CSV_TYPE, csvOf([["label", "class", "examples", "share"],
          ...shares.map(({ code, label, name, count, share }) => [code, shares.length > 2 ? label : name ?? "", count, share])]))}>CSV</button></span></div>
  </div>`;
}

/** The classes in the order of their codes; of two, +1 comes first. @param {Counts} of  @param {string[]|null} [classes]  @returns {ClassShare[]} */
function sharesOf(of, classes) {
  const counts = of.class_examples ?? [];
  const shares = counts.map((count, code) => {
    const share = of.examples > 0 ? count / of.examples : 0;
    return counts.length > 2 ? { label: classes?.[code] ?? String(code), code, name: undefined, count, share }
      : { label: code === 1 ? "+1" : "−1", code: code === 1 ? 1 : -1, name: classes?.[code], count, share };
  });
  return counts.length === 2 ? shares.reverse() : shares;
}

/** @param {number} index */
function colour(index) {
  return `var(--series-${(index % 6) + 1})`;
}

/** @param {ClassShare[]} shares  @returns {import("./picture.mjs").Drawing} */
function drawingOf(shares) {
  const bars = shares.map(({ label, name, count, share }) => ({ label: name === undefined ? label : `${label} ${name}`, value: count, text: `${number(count)} (${percent(share, 1)})` }));
  return { bars: { title: "Examples of each class", axis: "examples", bars } };
}

/** The same in a few words, for a cell of a table. @param {Counts} of */
export function balanceText(of) {
  if (of.kind !== "labelled") return of.kind;
  const counts = of.class_examples ?? [];
  if (counts.length > 2) return `${number(counts.length)} classes`;
  return of.examples > 0 ? `${percent((counts[1] ?? 0) / of.examples, 1)} positive` : "no examples";
}

/** The meaning of contradictions. @param {number} count */
export function contradictionText(count) {
  return `${counted(count, "row")} ${count === 1 ? "appears" : "appear"} with more than one label. No hypothesis is right on all examples.`;
}

/**
 * The names of the classes in the order of their codes. A class against several others has a name, and the others have none.
 * @param {string[]|null|undefined} classes  @param {Schemas["TableEncoding"]|null|undefined} table
 */
export function classesOf(classes, table) {
  return classes ?? table?.label?.classes.map((name) => name ?? "every other value") ?? null;
}

/** What the values of a label column mean. @param {Schemas["LabelEncoding"]} label */
export function labelText(label) {
  const [first, second] = label.classes.map((name) => name ?? "every other value");
  return label.classes.length > 2 ? `${number(label.classes.length)} classes: ${classesShown(label.classes)}` : `${second} means +1, ${first} means −1`;
}

/** @param {(string|null)[]} classes */
function classesShown(classes) {
  const shown = classes.slice(0, LISTED_MAX).map((name) => name ?? "every other value").join(", ");
  return classes.length > LISTED_MAX ? `${shown} …` : shown;
}
