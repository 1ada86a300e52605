/** The charts of a comparison: the held-out errors with their intervals, and all mistake curves in one chart. */

import { html } from "../../vendor/htm-preact.mjs";
import { Problem } from "../../service/requests.mjs";
import { Figure } from "../../view/figure.mjs";
import { Panel, counted } from "../../view/parts.mjs";
import { percent } from "../../view/numbers.mjs";
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

/** The ids of the entries in the charts. @param {string[]} ids  Ids of all entries.  @param {URLSearchParams} query  @param {number} first */
export function chartedIn(ids, query, first) {
  const wanted = query.get("chart");
  if (wanted === null || wanted === "") return ids.slice(0, first);
  const ticked = new Set(wanted.split(","));
  return ids.filter((id) => ticked.has(id));
}

/**
 * The held-out errors, the smallest first.
 * @param {{entries: Entry[], labels: string[], charted: string[], isOneTask?: boolean, children?: any}} props  `isOneTask`: whether the
 * service allowed for the choice among the entries in the confidence of each interval.
 */
export function ErrorChart({ entries, labels, charted, isOneTask = false, children }) {
  const judged = entries.filter((entry) => charted.includes(entry.id) && entry.judged !== null);
  const shown = useIntervals(judged.sort((a, b) => Number(shareOf(a.judged)) - Number(shareOf(b.judged))));
  if (!entries.some((entry) => entry.judged)) return null;
  const labelOf = new Map(entries.map((entry, index) => [entry.id, labels[index] ?? entry.name]));
  const hasFolds = shown.some((entry) => entry.interval?.kind === "folds");
  const hasTheory = shown.some((entry) => entry.interval?.kind === "theory");
  const confidences = [...new Set(shown.map((entry) => entry.interval?.confidence).filter(Boolean))];
  const note = hasFolds ? "Each line spans the error rates of the folds. The folds share training examples, so the line is no confidence interval."
    : `Exact intervals${confidences.length === 1 ? ` with confidence ${percent(confidences[0])}` : ""} of the share of errors.${isOneTask ? " The confidence of each allows for the choice among all."
      : " Each holds by itself and does not allow for a choice of the best."}${hasTheory
      ? " Those without a certificate hold if the held-out examples are independent draws." : ""}`;
  const spec = {
    title: "Errors on examples that the learners did not see", note,
    x: { label: "", names: shown.map((entry) => labelOf.get(entry.id) ?? entry.name) }, y: { label: "share of errors", min: 0 },
    series: [{ label: "", form: /** @type {const} */ ("points"), points: shown.map((entry, index) => ({ x: index + 1, y: shareOf(entry.judged) ?? 0,
      ...(entry.interval && { low: entry.interval.low, high: entry.interval.high }) })) }],
  };
  return html`<${Panel} title="Errors"><${Figure} spec=${spec} height=${340} />${children}<//>`;
}

/** @param {{entries: Entry[], labels: string[], charted: string[]}} props */
export function CurveChart({ entries, labels, charted }) {
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
