/** The charts of a comparison: the held-out errors with their intervals, and all mistake curves in one chart. */

import { html } from "../../vendor/htm-preact.mjs";
import { Problem } from "../../service/requests.mjs";
import { Figure } from "../../view/figure.mjs";
import { Panel, counted } from "../../view/parts.mjs";
import { confidence, number } from "../../view/numbers.mjs";
import { pointsOf } from "../jobs/training.mjs";
import { shareOf } from "./entries.mjs";
import { useIntervals } from "./intervals.mjs";
import { useMany } from "./lanes.mjs";

/** @typedef {import("./entries.mjs").Entry} Entry */
/** @typedef {import("../../view/figure.mjs").Point} Point */

/** Entries that the charts show before a person ticks: lines stay distinct, and so do names below an axis. */
export const CURVES_FIRST = 12;
export const NAMES_FIRST = 40;

/** Points of all curves together. Longer curves keep evenly chosen points. */
const CURVE_POINTS_MAX = 12_000;

/**
 * The ids of the entries in the charts: those that a person ticked, or those with the smallest share of held-out errors.
 * @param {Entry[]} entries  @param {URLSearchParams} query  @param {number} most  Entries that the charts show without ticks.
 * @param {string[]} [best]  Ids that are shown whatever their place is.
 */
export function chartedIn(entries, query, most, best = []) {
  const wanted = query.get("chart");
  if (wanted) {
    const ticked = new Set(wanted.split(","));
    return entries.filter(({ id }) => ticked.has(id)).map(({ id }) => id);
  }
  if (entries.length <= most) return entries.map(({ id }) => id);
  const rank = (/** @type {Entry} */ entry) => (best.includes(entry.id) ? -1 : shareOf(entry.judged) ?? Infinity);
  return [...entries].sort((a, b) => { const [one, other] = [rank(a), rank(b)]; return one === other ? 0 : one - other; })
    .slice(0, most).map(({ id }) => id);
}

/** Says which entries the charts leave out. @param {{entries: Entry[], charted: string[], query: URLSearchParams, noun: string}} props */
export function Charted({ entries, charted, query, noun }) {
  if (charted.length >= entries.length || charted.length === 0) return null;
  const which = query.get("chart") ? "those that are ticked in the table"
    : entries.some((entry) => entry.judged) ? "those with the smallest share of held-out errors" : `the first of the ${noun}s`;
  return html`<p class="small" role="status">The chart shows ${number(charted.length)} of ${counted(entries.length, noun)}: ${which}. The table has all, and its ticks choose others.</p>`;
}

/**
 * The held-out errors, the smallest first.
 * @param {{entries: Entry[], labels: string[], charted: string[], query: URLSearchParams, noun: string, statement?: string|null, children?: any}} props
 * `statement`: what the service says about the intervals of one comparison or grid. Without it, the entries are jobs that a person ticked.
 */
export function ErrorChart({ entries, labels, charted, query, noun, statement, children }) {
  const judged = entries.filter((entry) => charted.includes(entry.id) && entry.judged !== null);
  const shown = useIntervals(judged.sort((a, b) => Number(shareOf(a.judged)) - Number(shareOf(b.judged))));
  if (!entries.some((entry) => entry.judged)) return null;
  const labelOf = new Map(entries.map((entry, index) => [entry.id, labels[index] ?? entry.name]));
  const note = statement ?? noteOnJobs(shown);
  const spec = {
    title: "Errors on examples that the learners did not see", note,
    x: { label: "", names: shown.map((entry) => labelOf.get(entry.id) ?? entry.name) }, y: { label: "share of errors", min: 0 },
    series: [{ label: "", form: /** @type {const} */ ("points"), points: shown.map((entry, index) => ({ x: index + 1, y: shareOf(entry.judged) ?? 0,
      ...(entry.interval && { low: entry.interval.low, high: entry.interval.high }) })) }],
  };
  return html`<${Panel} title="Errors"><${Charted} entries=${entries.filter((entry) => entry.judged)} charted=${judged.map(({ id }) => id)} query=${query} noun=${noun} />
    <${Figure} spec=${spec} height=${340} />${children}<//>`;
}

/** What the intervals of ticked jobs say: nothing about the best of them, since the ticks may follow the results. @param {Entry[]} shown */
function noteOnJobs(shown) {
  if (!shown.some((entry) => entry.interval)) return "";
  const confidences = [...new Set(shown.map((entry) => entry.interval?.confidence).filter(Boolean))];
  const hasTheory = shown.some((entry) => entry.interval?.kind === "theory");
  return `Exact intervals${confidences.length === 1 ? `, each with confidence ${confidence(confidences[0])}` : ""}. Each holds by itself, and not for the best of several jobs, `
    + `whose errors look smaller than they are: a comparison or a grid states intervals that hold for all at once.${hasTheory
      ? " Those without a certificate hold if the held-out examples are independent draws." : ""}`;
}

/** @param {{entries: Entry[], labels: string[], charted: string[], query: URLSearchParams, noun: string}} props */
export function CurveChart({ entries, labels, charted, query, noun }) {
  const wanted = entries.filter((entry) => charted.includes(entry.id) && entry.mayHaveCurve);
  const traces = useMany(wanted.map((entry) => entry.id), (id) => ({ path: `v1/jobs/${id}/trace` }), pointsOf);
  const labelOf = new Map(entries.map((entry, index) => [entry.id, labels[index] ?? entry.name]));
  const found = wanted.filter((entry) => traces.values.has(entry.id));
  const without = wanted.filter((entry) => { const error = traces.errors.get(entry.id); return error instanceof Problem && error.status === 404; });
  const most = Math.max(100, Math.floor(CURVE_POINTS_MAX / Math.max(1, found.length)));
  let isThin = false;
  const series = found.map((entry) => {
    const points = traces.values.get(entry.id) ?? [];
    isThin ||= points.length > most;
    return { label: labelOf.get(entry.id) ?? entry.name, form: /** @type {const} */ ("step"), points: thinned(points, most) };
  });
  const spec = { title: "Mistakes by examples read", x: { label: "examples read", min: 0 }, y: { label: "mistakes", min: 0, isWhole: true }, series,
    note: isThin ? "Long curves show evenly chosen points." : "" };
  return html`<${Panel} title="Mistake curves">
    <${Charted} entries=${entries.filter((entry) => entry.mayHaveCurve)} charted=${wanted.map(({ id }) => id)} query=${query} noun=${noun} />
    ${traces.left > 0 && wanted.length > 0 && html`<p class="loading" role="status">Loading ${counted(traces.left, "curve")}…</p>`}
    ${wanted.length === 0 ? html`<p class="muted">No ended training is ticked for the charts.</p>`
      : found.length > 0 ? html`<${Figure} spec=${spec} height=${360} />` : traces.left === 0 && html`<p class="muted">The ticked jobs kept no curve. Set “trace” when you train.</p>`}
    ${found.length > 0 && without.length > 0 && html`<p class="small muted">${counted(without.length, "ticked job")} kept no curve.</p>`}
  <//>`;
}

/** @param {Point[]} points  @param {number} most */
function thinned(points, most) {
  const step = Math.ceil(points.length / most);
  return step === 1 ? points : points.filter((_, index) => index % step === 0 || index === points.length - 1);
}
