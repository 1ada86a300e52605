/** The outcome of an experiment as a figure, also while its parts run. */

import { html } from "../../vendor/htm-preact.mjs";
import { useResource } from "../../service/resource.mjs";
import { Figure, axisLabel } from "../../view/figure.mjs";
import { Panel, counted } from "../../view/parts.mjs";
import { Loaded } from "../../view/problem.mjs";
import { number } from "../../view/numbers.mjs";
import { ServiceFigure } from "./service_figure.mjs";
import { isEnded } from "./words.mjs";

/** @typedef {import("./words.mjs").Schemas} Schemas */
/** @typedef {import("./words.mjs").Job} Job */
/** @typedef {import("../../view/figure.mjs").FigureSpec} FigureSpec */

/** Seconds between two figures of a running experiment. */
const FIGURE_SECONDS = 4;

/** @param {{job: Job}} props */
export function ExperimentView({ job }) {
  const figure = useResource(job.result ? null : { path: `v1/jobs/${job.id}/figure`, query: { format: "json" } }, { every: isEnded(job) ? 0 : FIGURE_SECONDS, again: job.status });
  if (job.status === "failed") return null;
  const content = (/** @type {Schemas["ExperimentResult"]} */ result) => html`
    ${result.runs < result.runs_planned && html`<p role="status">The figure covers ${number(result.runs)} of ${counted(result.runs_planned, "run")}.</p>`}
    <${ResultTable} result=${result} />
    <${Figure} spec=${specOfChart(result)} height=${340} />
    <${ServiceFigure} job=${job} />`;
  return html`<${Panel} title="Figure">${job.result ? content(/** @type {Schemas["ExperimentResult"]} */ (job.result))
    : html`<${Loaded} resource=${figure}>${content}<//>`}<//>`;
}

/** The numbers as a table of the papers: a row for each place, a column for each series. @param {{result: Schemas["Chart"]}} props */
function ResultTable({ result }) {
  const columns = [...result.series, ...result.theory];
  // Theory has points between the measured places. The chart shows those.
  const places = [...new Set((result.series.length > 0 ? result.series : columns).flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  const [x, y] = [axisOf(result.x), axisOf(result.y)].map(axisLabel);
  return html`<div class="scroll tall" tabindex="0" role="region" aria-label=${`Table of ${result.title}`}>
    <table><caption>${y}${result.series.some(({ points }) => points.some(hasInterval)) && ", with the interval of the measurement"}</caption>
      <thead><tr><th scope="col" class="number">${x}</th>${columns.map(({ label }) => html`<th scope="col" class="number" key=${label}>${label}</th>`)}</tr></thead>
      <tbody>${places.map((place) => html`<tr key=${place}><th scope="row" class="number">${number(place)}</th>
        ${columns.map(({ label, points }) => html`<td class="number" key=${label}>${cellOf(points.find((point) => point.x === place))}</td>`)}</tr>`)}</tbody>
    </table></div>`;
}

/** @typedef {{x: number, y: number, low?: number|null, high?: number|null}} ChartPoint */

/** @param {ChartPoint} point */
function hasInterval({ low, high }) {
  return typeof low === "number" && typeof high === "number" && high > low;
}

/** @param {ChartPoint|undefined} point */
function cellOf(point) {
  if (!point) return "";
  return html`${number(point.y)}${hasInterval(point) && html` <span class="small muted nowrap">${number(point.low, 3)} to ${number(point.high, 3)}</span>`}`;
}

/** The chart of the service for Figure. @param {Schemas["Chart"]} chart @returns {FigureSpec} */
function specOfChart(chart) {
  const isLog = chart.y.scale === "logarithmic";
  const measured = chart.series.flatMap((series) => series.points.map((point) => point.y)).filter((y) => !isLog || y > 0);
  const [low, high] = measured.length > 0 ? [Math.min(...measured), Math.max(...measured)] : [-Infinity, Infinity];
  // Theory may leave the measured range by many powers of ten. The points beyond would hide the measurements.
  const isShown = (/** @type {number} */ y) => (isLog ? y >= low / 10 && y <= high * 10 : y >= low - (high - low) && y <= high + (high - low));
  const isCut = measured.length > 1 && chart.theory.some((curve) => curve.points.some((point) => !isShown(point.y)));
  const marks = chart.marks.map((mark) => `${mark.label} at ${number(mark.x)}`);
  const notes = [...chart.notes, ...marks, ...(isCut ? ["Theory far beyond the measurements is left out."] : [])];
  return {
    title: chart.title, note: notes.map((note) => note.replace(/\.?$/, ".")).join(" "),
    x: { ...axisOf(chart.x), isWhole: chart.series.every((series) => series.points.every((point) => Number.isInteger(point.x))) }, y: { ...axisOf(chart.y), ...(!isLog && low >= 0 && { min: 0 }) },
    series: [
      ...chart.series.map((series) => ({ label: series.label, points: series.points.map(({ x, y, low, high }) => ({ x, y,
        ...(typeof low === "number" && typeof high === "number" && { low, high }) })) })),
      ...chart.theory.map((curve) => ({ label: curve.label, form: /** @type {const} */ ("line"), points: curve.points.filter((point) => !isCut || isShown(point.y)) })),
    ],
  };
}

/** @param {Schemas["Axis"]} axis */
function axisOf(axis) {
  // "mistakes (mistakes)" says the unit twice.
  return { label: axis.label, ...(axis.unit && axis.unit !== axis.label && { unit: axis.unit }), isLog: axis.scale === "logarithmic" };
}

/** @param {{result: Schemas["ExperimentPartResult"]}} props */
export function PartView({ result }) {
  return html`<${Panel} title="Tally"><p>The experiment adds these integers to those of its other parts.</p>
    <pre tabindex="0">${JSON.stringify(result.tally, null, 2)}</pre><//>`;
}
