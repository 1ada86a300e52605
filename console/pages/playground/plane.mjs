/**
 * The points of the plane with the line of each hypothesis, now and before. The lines come from the service's weights.
 * Those of several classes are the borders between regions of the largest score.
 */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useId, useState } from "../../vendor/hooks.mjs";
import { CSV_TYPE, csvOf, download } from "../../view/download.mjs";
import { number } from "../../view/numbers.mjs";
import { SavePicture, chartAxis, chartPoint } from "../../view/picture.mjs";
import { viewChoice } from "../../view/place.mjs";
import { CLASSES_MAX, bordersOf, lineOf } from "./borders.mjs";
import { codeOf, hasManyClasses, labelText } from "./labels.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {{x: number, y: number, label: number}} Dot  `label`: a code. */

const [WIDTH, HEIGHT, MARGIN] = [440, 340, 32];
/** Points that are drawn. */
const DOTS_MAX = 500;
const TICKS_MAX = 8;
/** Classes differ by shape and colour, up to 12 of them. */
const SHAPES = 4;
const COLOURS = 6;

/** @param {{player: import("./player.mjs").Player, version: number}} props */
export function Plane({ player }) {
  const [dots, setDots] = useState(/** @type {Dot[]} */ ([]));
  const [isTable, setIsTable] = viewChoice("table", "plane");
  const { dataset } = player.examples;
  useEffect(() => {
    player.examples.from(0, Math.min(dataset.examples, DOTS_MAX)).then((items) => setDots(items.map((item) => {
      const x = /** @type {string | number[]} */ (item.x);
      return { x: Number(x[0]), y: Number(x[1]), label: codeOf(item, dataset) };
    })), () => {});
  }, []);
  if (dots.length === 0) return html`<p class="loading">Loading…</p>`;
  const saveTable = () => download("plane.csv", CSV_TYPE, csvOf([["example", "x1", "x2", "label"], ...dots.map(({ x, y, label }, index) => [index + 1, x, y, hasManyClasses(dataset) ? labelText(label, dataset) : label])]));
  return html`<div class="row no-print"><button class="small-button" aria-pressed=${isTable} onClick=${() => setIsTable(!isTable)}>Table</button>
      <${SavePicture} drawing=${() => drawingOf(player, dots)} name="plane" />
      <button class="small-button" onClick=${saveTable}>CSV</button></div>
    ${isTable ? html`<${Points} dots=${dots} dataset=${dataset} />` : html`<${Picture} player=${player} dots=${dots} />`}
    <p class="small muted">${player.runs.map((run) => `${run.wanted.learner.title}: ${lineText(run.session?.hypothesis ?? null)}`).join(". ")}.
      ${dataset.examples > DOTS_MAX ? ` The picture has the first ${DOTS_MAX} points.` : ""}</p>`;
}

/** @param {Schemas["HypothesisDocument"]|null} hypothesis */
function lineText(hypothesis) {
  if (hypothesis?.kind === "committee") return hypothesis.members.length > CLASSES_MAX ? `the borders of more than ${CLASSES_MAX} classes are not drawn`
    : "a point belongs to the class with the largest score";
  const line = lineOf(hypothesis);
  if (!line) return "this hypothesis has no line";
  const sign = (/** @type {number} */ value) => `${value < 0 ? "−" : "+"} ${number(Math.abs(value))}`;
  return line.a === 0 && line.b === 0 ? "all weights are 0, so there is no line" : `+1 where ${number(line.a)} x1 ${sign(line.b)} x2 ${sign(line.c)} ≥ 0`;
}

/** The points and the lines as the service draws them. @param {import("./player.mjs").Player} player  @param {Dot[]} dots  @returns {import("../../view/picture.mjs").Drawing} */
function drawingOf(player, dots) {
  const frame = frameOf(dots);
  const { dataset } = player.examples;
  const series = codesOf(dataset).map((code) => ({ label: legendOf(code, dataset), points: dots.filter(({ label }) => label === code).map(chartPoint) }));
  const lines = player.runs.flatMap((run) => [[run.session?.hypothesis ?? null, "now"], [run.before, "before"]].flatMap(([of, when]) => (
    bordersOf(/** @type {Schemas["HypothesisDocument"]|null} */ (of), frame).map(([from, to, of]) => (
      { label: [`${run.wanted.learner.title}, ${when}`, of?.map((code) => labelText(code, dataset)).join(" and ")].filter(Boolean).join(": "),
        beside: null, points: [from, to] })))));
  return { chart: { title: "Examples and lines of the hypotheses", x: chartAxis({ label: "x1" }), y: chartAxis({ label: "x2" }), marks: [], notes: [],
    series: series.filter(({ points }) => points.length > 0).map((one) => ({ ...one, form: /** @type {const} */ ("points") })),
    theory: lines.filter(({ points }) => points.length > 0).map((line) => ({ ...line, points: line.points.map(({ x, y }) => ({ x, y })) })) } };
}

/** @param {{player: import("./player.mjs").Player, dots: Dot[]}} props */
function Picture({ player, dots }) {
  const clip = useId();
  const frame = frameOf(dots);
  const [placeX, placeY] = [(/** @type {number} */ x) => MARGIN + (x - frame.left) * frame.scale, (/** @type {number} */ y) => HEIGHT - MARGIN - (y - frame.bottom) * frame.scale];
  const at = player.position;
  const { dataset } = player.examples;
  const next = dots[at % dataset.examples];
  const said = `The plane with ${dots.length} points. ${next ? `The next example lies at ${number(next.x)}, ${number(next.y)} with label ${labelText(next.label, dataset)}.` : ""} The button Table lists the points.`;
  const lines = player.runs.flatMap((run, index) => [{ of: run.before, isOld: true, index, title: run.wanted.learner.title }, { of: run.session?.hypothesis ?? null, isOld: false, index, title: run.wanted.learner.title }]);
  return html`<svg class="plane" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${said}>
      <clipPath id=${clip}><rect x=${MARGIN} y=${MARGIN} width=${WIDTH - 2 * MARGIN} height=${HEIGHT - 2 * MARGIN} /></clipPath>
      <rect x=${MARGIN} y=${MARGIN} width=${WIDTH - 2 * MARGIN} height=${HEIGHT - 2 * MARGIN} fill="none" stroke="var(--line)" />
      ${axes(frame, placeX, placeY)}
      <g clip-path=${`url(#${clip})`}>${lines.flatMap(({ of, isOld, index, title }) => bordersOf(of, frame).map(([from, to], place) => (
        html`<line key=${`${index}${isOld}${place}`} x1=${placeX(from.x)} y1=${placeY(from.y)} x2=${placeX(to.x)} y2=${placeY(to.y)}
          stroke=${lineColour(index, dataset)} stroke-width=${isOld ? 1.5 : 3} stroke-dasharray=${isOld ? "6 5" : index === 0 ? "none" : "12 4"}><title>${title}, ${isOld ? "before" : "now"}</title></line>`)))}</g>
      ${dots.map((dot, index) => html`<${Mark} key=${index} place=${placeOf(dot.label, dataset)} x=${placeX(dot.x)} y=${placeY(dot.y)} isSeen=${index < at} />`)}
      ${next && html`<circle cx=${placeX(next.x)} cy=${placeY(next.y)} r="10" fill="none" stroke="var(--text)" stroke-width="2" />`}
    </svg>
    <ul class="legend">${codesOf(dataset).map((code) => html`<li key=${code}><svg width="14" height="14" aria-hidden="true"><${Mark} place=${placeOf(code, dataset)} x=${7} y=${7} isSeen /></svg>${legendOf(code, dataset)}</li>`)}
      <li><svg width="18" height="18" aria-hidden="true"><circle cx="9" cy="9" r="7" fill="none" stroke="var(--text)" stroke-width="2" /></svg>next example</li>
      ${player.runs.map((run, index) => html`<li key=${index}><svg width="28" height="12" aria-hidden="true"><line x1="0" x2="28" y1="6" y2="6" stroke=${lineColour(index, dataset)} stroke-width="3"
        stroke-dasharray=${index === 0 ? "none" : "12 4"} /></svg>${run.wanted.learner.title}, now</li>`)}
      <li><svg width="28" height="12" aria-hidden="true"><line x1="0" x2="28" y1="6" y2="6" stroke=${lineColour(0, dataset)} stroke-width="1.5" stroke-dasharray="6 5" /></svg>before</li>
      <li>Filled: learnt. Outlined: not yet.</li></ul>`;
}

/** The codes of the labels in the order of the legend. @param {Schemas["Dataset"]} dataset */
function codesOf(dataset) {
  if (dataset.kind === "half-space") return [1];
  return hasManyClasses(dataset) ? (dataset.classes ?? []).map((_, code) => code) : [1, -1];
}

/** @param {number} code  @param {Schemas["Dataset"]} dataset */
function legendOf(code, dataset) {
  return hasManyClasses(dataset) ? labelText(code, dataset) : `label ${labelText(code, dataset)}`;
}

/** The place of a code in the order of the legend. @param {number} code  @param {Schemas["Dataset"]} dataset */
function placeOf(code, dataset) {
  return hasManyClasses(dataset) ? code : Number(code <= 0);
}

/** Lines have colours that no class has. @param {number} index  @param {Schemas["Dataset"]} dataset */
function lineColour(index, dataset) {
  return hasManyClasses(dataset) ? ["var(--text)", "var(--muted)"][index] : `var(--series-${3 + index})`;
}

/** A point. `place`: that of its class in the legend. @param {{place: number, x: number, y: number, isSeen: boolean}} props */
function Mark({ place, x, y, isSeen }) {
  const colour = `var(--series-${1 + place % COLOURS})`;
  const look = { fill: isSeen ? colour : "var(--panel)", stroke: colour, "stroke-width": 2 };
  switch (place % SHAPES) {
    case 0: return html`<circle cx=${x} cy=${y} r="5" ...${look} />`;
    case 1: return html`<rect x=${x - 4.5} y=${y - 4.5} width="9" height="9" ...${look} />`;
    case 2: return html`<path d=${`M${x} ${y - 6} l5.5 10 h-11 z`} ...${look} />`;
    default: return html`<path d=${`M${x} ${y - 6} l6 6 l-6 6 l-6 -6 z`} ...${look} />`;
  }
}

/** @typedef {import("./borders.mjs").Frame} Frame */

/** The part of the plane in view: all points and the origin, with one scale for both axes. @param {Dot[]} dots @returns {Frame} */
function frameOf(dots) {
  const [xs, ys] = [[0, ...dots.map(({ x }) => x)], [0, ...dots.map(({ y }) => y)]];
  const [left, right, bottom, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const [width, height] = [WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN];
  const scale = Math.min(width / ((right - left) * 1.16 || 1), height / ((top - bottom) * 1.16 || 1));
  const [middleX, middleY] = [(left + right) / 2, (bottom + top) / 2];
  return { left: middleX - width / scale / 2, right: middleX + width / scale / 2, bottom: middleY - height / scale / 2, top: middleY + height / scale / 2, scale };
}

/** @param {Frame} frame  @param {(x: number) => number} placeX  @param {(y: number) => number} placeY */
function axes(frame, placeX, placeY) {
  const size = Math.max(frame.right - frame.left, frame.top - frame.bottom) / TICKS_MAX;
  const power = 10 ** Math.floor(Math.log10(size));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= size) ?? 10);
  const ticks = (/** @type {number} */ low, /** @type {number} */ high) => {
    const first = Math.ceil(low / step);
    return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, index) => (first + index) * step);
  };
  const [across, up] = [ticks(frame.left, frame.right), ticks(frame.bottom, frame.top)];
  return html`<line x1=${placeX(0)} x2=${placeX(0)} y1=${MARGIN} y2=${HEIGHT - MARGIN} stroke="var(--line)" /><line x1=${MARGIN} x2=${WIDTH - MARGIN} y1=${placeY(0)} y2=${placeY(0)} stroke="var(--line)" />
    ${across.map((tick) => html`<text key=${`x${tick}`} x=${placeX(tick)} y=${HEIGHT - MARGIN + 18} text-anchor="middle" font-size="13" fill="var(--muted)">${number(tick, 3)}</text>`)}
    ${up.map((tick) => html`<text key=${`y${tick}`} x=${MARGIN - 6} y=${placeY(tick) + 4} text-anchor="end" font-size="13" fill="var(--muted)">${number(tick, 3)}</text>`)}`;
}

/** @param {{dots: Dot[], dataset: Schemas["Dataset"]}} props */
function Points({ dots, dataset }) {
  return html`<div class="scroll tall" tabindex="0" role="region" aria-label="Points of the plane"><table><caption>${number(dots.length)} points</caption>
    <thead><tr><th scope="col" class="number">example</th><th scope="col" class="number">x1</th><th scope="col" class="number">x2</th><th scope="col" class="number">label</th></tr></thead>
    <tbody>${dots.map((dot, index) => html`<tr key=${index}><td class="number">${index + 1}</td><td class="number">${number(dot.x)}</td><td class="number">${number(dot.y)}</td><td class="number">${labelText(dot.label, dataset)}</td></tr>`)}</tbody></table></div>`;
}
