/** The table of a comparison: parameters and results, sorted by a column, and on demand only what differs. */

import { html } from "../../vendor/htm-preact.mjs";
import { useMemo } from "../../vendor/hooks.mjs";
import { CSV_TYPE, csvOf, download } from "../../view/download.mjs";
import { DatasetLink } from "../../view/dataset_link.mjs";
import { Check, StatusBadge, counted } from "../../view/parts.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { confidence, duration, number, percent } from "../../view/numbers.mjs";
import { Rows } from "../../view/rows.mjs";
import { STATUSES } from "../jobs/words.mjs";
import { useIntervals } from "./intervals.mjs";
import { intervalText, shareOf, textOf } from "./entries.mjs";

/** @typedef {import("./entries.mjs").Entry} Entry */
/** @typedef {{name: string, isNumber?: boolean, value: (entry: Entry) => any, cell?: (entry: Entry) => any}} Part */

/** @type {Part[]} */
const RESULTS = [
  { name: "held-out errors", isNumber: true, value: (entry) => shareOf(entry.judged),
    cell: (entry) => (entry.judged ? html`<strong>${percent(shareOf(entry.judged))}</strong> <span class="small muted">${number(entry.judged.errors)} of ${number(entry.judged.examples)}</span>` : "–") },
  { name: "interval", isNumber: true, value: (entry) => entry.interval?.high ?? null, cell: (entry) => html`<${IntervalCell} entry=${entry} />` },
  { name: "errors of an evaluation", isNumber: true, value: (entry) => shareOf(entry.evaluated),
    cell: (entry) => (entry.evaluated ? html`${percent(shareOf(entry.evaluated))} <span class="small muted">${number(entry.evaluated.errors)} of ${number(entry.evaluated.examples)}</span>` : "–") },
  { name: "training errors", isNumber: true, value: (entry) => shareOf(entry.training), cell: (entry) => percent(shareOf(entry.training)) },
  { name: "mistakes", isNumber: true, value: (entry) => entry.counts.mistakes },
  { name: "updates", isNumber: true, value: (entry) => entry.counts.updates },
  { name: "examples", isNumber: true, value: (entry) => entry.counts.examples },
  { name: "passes", isNumber: true, value: (entry) => entry.counts.passes },
  { name: "computing", isNumber: true, value: (entry) => entry.counts.seconds, cell: (entry) => duration(entry.counts.seconds) },
  { name: "bound", value: (entry) => entry.bound },
  { name: "end", value: (entry) => entry.end },
];

/** Asks the service for the interval of a visible job that ran alone. @param {{entry: Entry}} props */
function IntervalCell({ entry }) {
  const [known = entry] = useIntervals([entry]);
  const { interval } = known;
  const source = interval?.statement ?? (interval?.kind === "certificate" ? `exact, certified with confidence ${confidence(interval.confidence)}`
    : interval?.kind === "theory" ? `exact for independent examples, confidence ${confidence(interval.confidence)}` : "");
  return html`<span title=${source}>${intervalText(interval)}${interval?.isCertified && html` <span class="badge good">certified</span>`}</span>`;
}

/** @param {Entry[]} entries @returns {Part[]} */
function parametersOf(entries) {
  const names = new Set(entries.flatMap((entry) => Object.keys(entry.params)));
  return [...names].map((name) => ({ name, isNumber: entries.some((entry) => typeof entry.params[name] === "number"),
    value: (entry) => entry.params[name] ?? null,
    cell: (entry) => (name === "data" && String(entry.params[name]).startsWith("ds_")
      ? html`<${DatasetLink} id=${entry.params[name]} />` : textOf(entry.params[name])) }));
}

/**
 * @param {{entries: Entry[], labels: string[], query: URLSearchParams, best?: string[], charted: string[], caption: string}} props
 * `best`: ids of the best entries. `charted`: ids of the entries in the charts.
 */
export function CompareTable({ entries, labels, query, best = [], charted, caption }) {
  const isDifferences = query.get("differences") === "yes";
  const sort = query.get("sort") ?? "";
  const { shown, equal, sorted } = useMemo(() => {
    /** @type {Part[]} */
    const all = [{ name: "status", value: (entry) => entry.status || null, cell: (entry) => statusCell(entry.status) }, ...parametersOf(entries), ...RESULTS];
    const used = all.filter((part) => entries.some((entry) => present(part.value(entry))));
    const isEqual = (/** @type {Part} */ part) => new Set(entries.map((entry) => JSON.stringify(part.value(entry) ?? null))).size === 1;
    const equal = isDifferences && entries.length > 1 ? used.filter(isEqual) : [];
    return { shown: used.filter((part) => !equal.includes(part)), equal, sorted: sortedBy(entries, labels, all, sort) };
  }, [entries, labels, isDifferences, sort]);
  const named = new Map(entries.map((entry, index) => [entry.id, labels[index] ?? entry.name]));
  /** @type {import("../../view/rows.mjs").Column<Entry>[]} */
  const columns = [
    { name: "chart", label: html`<span class="no-print">chart</span>`, cell: (entry) => html`<${Tick} entry=${entry} name=${named.get(entry.id) ?? entry.name} charted=${charted} />` },
    { name: "name", ...header("name", sort), cell: (entry) => html`${entry.job ? html`<a href=${href(`jobs/${entry.job}`)} title=${named.get(entry.id)}>${entry.name}</a>` : entry.name}
      ${best.includes(entry.id) && html` <span class="badge good">${best.length > 1 ? "tie for best" : "best"}</span>`}` },
    ...shown.map((part) => ({ name: part.name, isNumber: part.isNumber ?? false, ...header(part.name, sort),
      cell: part.cell ?? ((/** @type {Entry} */ entry) => (typeof part.value(entry) === "number" ? number(part.value(entry)) : textOf(part.value(entry)))) })),
  ];
  const csv = () => csvOf([["name", ...shown.map((part) => part.name)], ...sorted.map((entry) => [named.get(entry.id) ?? entry.name, ...shown.map((part) =>
    (part.name === "interval" ? intervalText(entry.interval) : part.value(entry)))])]);
  return html`<div class="stack">
    <div class="row spread no-print">
      <${Check} label="Only differences" checked=${isDifferences} onChange=${(/** @type {boolean} */ on) => setQuery({ differences: on ? "yes" : "" })} />
      <button type="button" class="small-button" onClick=${() => download("comparison.csv", CSV_TYPE, csv())}>Table as CSV</button>
    </div>
    <${Rows} columns=${columns} rows=${sorted} rowKey=${(/** @type {Entry} */ entry) => entry.id} caption=${caption} height=${520}
      isChosen=${(/** @type {Entry} */ entry) => charted.includes(entry.id)} />
    ${equal.length > 0 && html`<p class="small muted"><strong>Equal in all ${counted(entries.length, "row")}:</strong>
      ${" "}${equal.map((part, index) => html`${index > 0 && "; "}${part.name} ${part.name === "data" && part.cell && entries[0] ? part.cell(entries[0]) : written(part, entries[0])}`)}.</p>`}
  </div>`;
}

/** @param {Part} part  @param {Entry|undefined} entry */
function written(part, entry) {
  if (!entry) return "";
  if (part.name === "interval") return intervalText(entry.interval);
  const value = part.value(entry);
  return part.name.endsWith("errors") ? percent(value) : typeof value === "number" && part.name !== "seed" ? number(value) : textOf(value);
}

/** @param {{entry: Entry, name: string, charted: string[]}} props */
function Tick({ entry, name, charted }) {
  const isOn = charted.includes(entry.id);
  const change = () => setQuery({ chart: (isOn ? charted.filter((id) => id !== entry.id) : [...charted, entry.id]).join(",") || "none" });
  return html`<input type="checkbox" checked=${isOn} onChange=${change} aria-label=${`Show ${name} in the charts`} />`;
}

/** @param {string} status */
function statusCell(status) {
  return (/** @type {readonly string[]} */ (STATUSES)).includes(status) ? html`<${StatusBadge} status=${status} />` : status || "–";
}

/** @param {any} value */
function present(value) {
  return value !== null && value !== undefined;
}

/** The head of a column that sorts. A second click reverses the order. @param {string} name  @param {string} sort */
function header(name, sort) {
  const next = sort === name ? `-${name}` : sort === `-${name}` ? "" : name;
  const mark = sort === name ? " ▲" : sort === `-${name}` ? " ▼" : "";
  return { sort: /** @type {"ascending"|"descending"|"none"} */ (sort === name ? "ascending" : sort === `-${name}` ? "descending" : "none"),
    label: html`<button type="button" class="head-button" onClick=${() => setQuery({ sort: next })}>${name}${mark}</button>
      <span class="on-paper">${name}${mark}</span>` };
}

/** @param {Entry[]} entries  @param {string[]} labels  @param {Part[]} parts  @param {string} sort */
function sortedBy(entries, labels, parts, sort) {
  if (!sort) return entries;
  const name = sort.replace(/^-/, "");
  const part = parts.find((part) => part.name === name);
  const value = name === "name" ? (/** @type {number} */ index) => labels[index] : (/** @type {number} */ index) => part?.value(/** @type {Entry} */ (entries[index]));
  const sign = sort.startsWith("-") ? -1 : 1;
  const order = entries.map((entry, index) => ({ entry, value: value(index) }));
  // Rows without a value stay at the end in both orders.
  order.sort((a, b) => (!present(a.value) || !present(b.value) ? Number(!present(a.value)) - Number(!present(b.value))
    : sign * (typeof a.value === "number" && typeof b.value === "number" ? a.value - b.value : textOf(a.value).localeCompare(textOf(b.value), "en", { numeric: true }))));
  return order.map(({ entry }) => entry);
}
