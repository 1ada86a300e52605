/**
 * A chart: interactive on the screen, and the same data as a table, as SVG and as CSV. On paper the chart is an image in
 * colours for white paper.
 *
 * Each line has its own colour and dash pattern, so that the lines can be told apart in black and white.
 */

import { html } from "../vendor/htm-preact.mjs";
import { useEffect, useMemo, useRef, useState } from "../vendor/hooks.mjs";
import { CSV_TYPE, csvOf, download, nameOfFile } from "./download.mjs";
import { number, power } from "./numbers.mjs";
import { SavePicture, chartAxis, chartPoint } from "./picture.mjs";
import { viewChoice } from "./place.mjs";
import { theme } from "./theme.mjs";

/**
 * @typedef {{x: number, y: number, low?: number, high?: number}} Point  `low` and `high` bound an interval of y.
 * @typedef {{label: string, points: Point[], form?: "marked"|"line"|"step"|"points"}} Series  A `line` has no marks at its points.
 * @typedef {{label: string, unit?: string, isLog?: boolean, min?: number, max?: number, isWhole?: boolean, names?: string[]}} Axis
 * `names` name the places 1, 2 and so on of a horizontal axis.
 * @typedef {{title: string, note?: string, x: Axis, y: Axis, series: Series[]}} FigureSpec
 */

/** The dash pattern of each line, as lengths of strokes and gaps. */
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [14, 4]];

/** The most labelled powers of ten on a logarithmic axis. */
const DECADES_MAX = 6;

/** The distances between ticks of an axis of whole numbers. */
const WHOLE_STEPS = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((factor) => factor * 10 ** power)).flat();

/** Rows of the table under a figure. A longer series is in the CSV file. */
const TABLE_ROWS_MAX = 200;

/** The dash pattern of a line. The combination with the six colours repeats after 36 lines. @param {number} index */
export function dashOf(index) {
  return DASHES[(index + Math.floor(index / DASHES.length)) % DASHES.length] ?? [];
}

/** The text of a place on an axis. @param {Axis} axis  @param {number} value  @param {number} [digits] */
export function placeText(axis, value, digits) {
  if (!axis.names) return number(value, digits);
  const name = axis.names[value - 1] ?? "";
  return name.length > 28 ? `${name.slice(0, 27)}…` : name;
}

/** @param {Axis} axis */
export function axisLabel(axis) {
  return axis.unit ? `${axis.label} (${axis.unit})` : axis.label;
}

/** @param {{spec: FigureSpec, height?: number}} props */
export function Figure({ spec, height = 280 }) {
  const name = nameOfFile(spec.title);
  const [isTable, setIsTable] = viewChoice("table", name);
  const hasData = spec.series.some((series) => series.points.length > 0);
  return html`<figure class="figure">
    <div class="row spread">
      <figcaption>${spec.title}</figcaption>
      ${hasData && html`<div class="row no-print">
        <button class="small-button" aria-pressed=${isTable} onClick=${() => setIsTable(!isTable)}>Table</button>
        <${SavePicture} drawing=${() => drawingOf(spec)} name=${name} />
        <button class="small-button" onClick=${() => download(`${name}.csv`, CSV_TYPE, csvOf(rowsOf(spec)))}>CSV</button>
      </div>`}
    </div>
    ${!hasData ? html`<p class="empty">No point yet.</p>` : isTable ? html`<${FigureTable} spec=${spec} />`
      : html`<${Plot} spec=${spec} height=${height} />`}
    ${hasData && html`<${Paper} spec=${spec} />`}
    <${Legend} spec=${spec} />
    ${spec.note && html`<p class="small muted">${spec.note}</p>`}
  </figure>`;
}

/** @param {FigureSpec} spec @returns {(string|number)[][]} */
function rowsOf(spec) {
  const hasIntervals = spec.series.some((series) => series.points.some((point) => point.low !== undefined));
  const head = ["series", axisLabel(spec.x), axisLabel(spec.y), ...(hasIntervals ? ["low", "high"] : [])];
  const rows = spec.series.flatMap((series) => series.points.map((point) => [series.label, spec.x.names?.[point.x - 1] ?? point.x, point.y,
    ...(hasIntervals ? [point.low ?? "", point.high ?? ""] : [])]));
  return [head, ...rows];
}

/** @param {{spec: FigureSpec}} props */
function FigureTable({ spec }) {
  const [head = [], ...rows] = rowsOf(spec);
  const step = Math.ceil(rows.length / TABLE_ROWS_MAX);
  const shown = rows.filter((_, index) => index % step === 0 || index === rows.length - 1);
  return html`<div class="scroll tall" tabindex="0" role="region" aria-label=${spec.title}>
    <table>
      <caption>${step > 1 ? `${number(shown.length)} of ${number(rows.length)} rows, evenly chosen. The CSV file has all rows.`
        : `${number(rows.length)} rows`}</caption>
      <thead><tr>${head.map((name, index) => html`<th scope="col" class=${index > 0 ? "number" : ""}>${name}</th>`)}</tr></thead>
      <tbody>${shown.map((row) => html`<tr>${row.map((cell, index) => html`<td class=${index > 0 ? "number" : ""}>
        ${typeof cell === "number" ? number(cell, 6) : cell}</td>`)}</tr>`)}</tbody>
    </table>
  </div>`;
}

/** @param {{spec: FigureSpec}} props */
function Legend({ spec }) {
  if (spec.series.length < 2 && !spec.series[0]?.label) return null;
  return html`<ul class="legend">${spec.series.map((series, index) => html`<li key=${series.label}>
    <svg width="28" height="12" aria-hidden="true">${series.form === "points"
      ? html`<circle cx="14" cy="6" r="3.5" fill=${colour(index)} />`
      : html`<line x1="1" x2="27" y1="6" y2="6" stroke=${colour(index)} stroke-width="2.5"
          stroke-dasharray=${dashOf(index).join(" ") || "none"} />`}</svg>
    ${series.label}</li>`)}</ul>`;
}

/** @param {number} index */
function colour(index) {
  return `var(--series-${(index % 6) + 1})`;
}

/** Colours for white paper, by the names that the page has for them. @type {Record<string, string>} */
const PAPER = { "--muted": "#1a1d21", "--line": "#d9dde3", "--series-1": "#0066a6", "--series-2": "#b84a00", "--series-3": "#00795a",
  "--series-4": "#9c3f7d", "--series-5": "#7d5f00", "--series-6": "#4a4f57" };

/** The chart as an image for the printer, made when the page is printed. @param {{spec: FigureSpec}} props */
function Paper({ spec }) {
  const [url, setUrl] = useState("");
  const latest = useRef(spec);
  latest.current = spec;
  useEffect(() => {
    const print = matchMedia("print");
    const make = () => {
      const plot = new uPlot(options(latest.current, latest, (name) => PAPER[name] ?? "", 720, 320), dataOf(latest.current), document.createElement("div"));
      // The chart is drawn when this task ends, and the page is printed after that.
      queueMicrotask(() => {
        setUrl(plot.ctx.canvas.toDataURL());
        plot.destroy();
      });
    };
    const changed = () => { if (print.matches) make(); };
    addEventListener("beforeprint", make);
    print.addEventListener("change", changed);
    changed();
    return () => {
      removeEventListener("beforeprint", make);
      print.removeEventListener("change", changed);
    };
  }, []);
  return url ? html`<img class="picture on-paper" src=${url} alt=${spec.title} />` : null;
}

/** The colour of this name on the page. @param {string} name */
function colourOnPage(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/**
 * The figure as the service draws it. A chart with names at its places becomes bars.
 * @param {FigureSpec} spec  @returns {import("./picture.mjs").Drawing}
 */
export function drawingOf(spec) {
  const { title, x, y } = spec;
  const notes = spec.note ? [spec.note] : [];
  if (x.names) {
    const bars = spec.series.flatMap(({ points }) => points.map((point) => (
      { label: x.names?.[point.x - 1] ?? "", value: point.y, text: number(point.y), low: point.low ?? null, high: point.high ?? null })));
    return { bars: { title, axis: axisLabel(y), bars, notes } };
  }
  const series = spec.series.map(({ label, form = "marked", points }) => ({ label: label || y.label, form,
    points: points.filter((point) => Number.isFinite(point.y)).map(chartPoint) }));
  return { chart: { title, x: chartAxis(x), y: chartAxis(y), series, theory: [], marks: [], notes } };
}

/** @param {{spec: FigureSpec, height: number}} props */
function Plot({ spec, height }) {
  const holder = useRef(/** @type {HTMLDivElement|null} */ (null));
  const plot = useRef(/** @type {uPlot|null} */ (null));
  const shown = useRef(spec);
  shown.current = spec;
  const colours = theme.value;
  // The chart is made anew when its lines change, and takes new data otherwise.
  const form = JSON.stringify([spec.x, spec.y, spec.series.map(({ label, form }) => [label, form])]);
  const data = useMemo(() => dataOf(spec), [spec]);
  useEffect(() => {
    const element = /** @type {HTMLDivElement} */ (holder.current);
    plot.current = new uPlot(options(spec, shown, colourOnPage, element.clientWidth, height), data, element);
    const watch = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [form, colours, height]);
  useEffect(() => plot.current?.setData(data), [data]);
  return html`<div class="plot" ref=${holder} role="img" aria-label=${describe(spec)}></div>`;
}

/** @param {FigureSpec} spec */
function describe(spec) {
  const lines = spec.series.map((series) => {
    const last = series.points.at(-1);
    return last ? `${series.label || spec.y.label}: ${number(last.y)} at ${placeText(spec.x, last.x)}` : `${series.label}: no point`;
  });
  return `Chart of ${axisLabel(spec.y)}${spec.x.label && ` against ${axisLabel(spec.x)}`}. Last points: ${lines.join("; ")}. The button Table shows the numbers.`;
}

/** @param {FigureSpec} spec @returns {uPlot.AlignedData} */
function dataOf(spec) {
  const tables = spec.series.map(({ points }) => /** @type {uPlot.AlignedData} */ (
    [points.map((point) => point.x), points.map((point) => point.y)]));
  return tables.length > 1 ? uPlot.join(tables) : (tables[0] ?? [[]]);
}

/**
 * @param {FigureSpec} spec  @param {{current: FigureSpec}} shown  @param {(name: string) => string} read  The colour of a name.
 * @param {number} width  @param {number} height  @returns {uPlot.Options}
 */
function options(spec, shown, read, width, height) {
  /** @param {Axis} axis @returns {uPlot.Axis} */
  const axis = (axis) => ({
    ...(axis.label && { label: axisLabel(axis) }), stroke: read("--muted"), grid: { stroke: read("--line"), width: 1, ...powers(axis) },
    ticks: { stroke: read("--line"), width: 1, ...powers(axis) }, ...powers(axis), ...(axis.isWhole && !axis.isLog && { incrs: WHOLE_STEPS }), font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif",
    values: (_, ticks) => ticks.map((tick) => (tick !== null && axis.isLog && decades(ticks) >= DECADES_MAX ? power(tick)
      : tick === null || (axis.isWhole && !Number.isInteger(tick)) ? "" : number(tick, 3))),
    // Texts beside each other need their width, and texts above each other only their height.
    space: axis === spec.x ? (_, __, low, high) => 12 + 6.5 * Math.max(number(low, 3).length, number(high, 3).length) : 50,
  });
  /** @param {Axis} axis @returns {uPlot.Scale} */
  const scale = (axis) => ({
    time: false, distr: axis.isLog ? 3 : 1,
    range: (_, dataLow, dataHigh) => {
      const [low, high] = axis === spec.y ? withIntervals(shown.current, dataLow, dataHigh) : [dataLow, dataHigh];
      return axis.isLog ? uPlot.rangeLog(low ?? 1, high ?? 10, 10, false) : spread(axis, low, high);
    },
  });
  return {
    width, height, legend: { show: false },
    cursor: { points: { size: 7 } },
    scales: { x: scale(spec.x), y: scale(spec.y) },
    axes: [{ ...axis(spec.x), size: 44, ...(spec.x.names && namedAxis(spec.x)) }, { ...axis(spec.y), size: (self, values) => widthOf(values) }],
    series: [{}, ...spec.series.map((series, index) => {
      const stroke = read(`--series-${(index % 6) + 1}`);
      return /** @type {uPlot.Series} */ ({
        label: series.label, stroke, width: 2, dash: dashOf(index), spanGaps: true,
        paths: series.form === "points" ? () => null : series.form === "step" ? uPlot.paths.stepped?.({ align: 1 }) : undefined,
        points: { show: series.form === "points" || (series.form !== "line" && series.points.length < 40), size: 6, fill: stroke },
      });
    })],
    hooks: { draw: [(self) => drawIntervals(self, shown.current, read)] },
  };
}

/** The filter of a logarithmic axis. @param {Axis} axis */
function powers(axis) {
  return axis.isLog ? { filter: powersOfTen } : {};
}

/** The ticks of a logarithmic axis that have a line and a text. A long axis shows every few powers of ten. @param {uPlot} _  @param {number[]} ticks */
function powersOfTen(_, ticks) {
  const step = Math.ceil(decades(ticks) / DECADES_MAX) || 1;
  return ticks.map((tick) => (Number.isInteger(Math.round(Math.log10(tick) * 1e9) / 1e9 / step) ? tick : null));
}

/** The powers of ten between the first and the last tick. @param {(number|null)[]} ticks */
function decades(ticks) {
  const known = ticks.filter((tick) => tick !== null);
  return known.length > 1 ? Math.log10(/** @type {number} */ (known.at(-1)) / /** @type {number} */ (known[0])) : 0;
}

/** @param {FigureSpec} spec  @param {number|null} low  @param {number|null} high @returns {[number|null, number|null]} */
function withIntervals(spec, low, high) {
  for (const series of spec.series) {
    for (const point of series.points) {
      if (point.low !== undefined && (point.low > 0 || !spec.y.isLog)) low = Math.min(low ?? point.low, point.low);
      if (point.high !== undefined) high = Math.max(high ?? point.high, point.high);
    }
  }
  return [low, high];
}

/** An axis with a name at each place. @param {Axis} axis @returns {uPlot.Axis} */
function namedAxis(axis) {
  const texts = (axis.names ?? []).map((_, index) => placeText(axis, index + 1));
  const longest = Math.max(0, ...texts.map((text) => text.length));
  return { splits: () => texts.map((_, index) => index + 1), values: () => texts, rotate: 40, grid: { show: false },
    size: 24 + Math.ceil(longest * 4.6) };
}

/** @param {readonly string[]|null} values */
function widthOf(values) {
  const longest = Math.max(0, ...(values ?? []).map((value) => value?.length ?? 0));
  return 34 + longest * 7;
}

/** @param {Axis} axis  @param {number|null} low  @param {number|null} high @returns {[number, number]} */
function spread(axis, low, high) {
  if (axis.names) return [0.5, axis.names.length + 0.5];
  const from = axis.min ?? low ?? 0;
  const to = axis.max ?? high ?? 1;
  if (from === to) return [from === 0 ? 0 : from - Math.abs(from) * 0.1, to + (Math.abs(to) * 0.1 || 1)];
  return [from, axis.max ?? to + (to - from) * 0.04];
}

/** Draws the interval of each point as a whisker. @param {uPlot} plot  @param {FigureSpec} spec  @param {(name: string) => string} read */
function drawIntervals(plot, spec, read) {
  const { ctx } = plot;
  const cap = 4 * devicePixelRatio;
  ctx.save();
  ctx.lineWidth = 1.5 * devicePixelRatio;
  spec.series.forEach((series, index) => {
    ctx.strokeStyle = read(`--series-${(index % 6) + 1}`);
    for (const point of series.points) {
      if (point.low === undefined || point.high === undefined) continue;
      const x = plot.valToPos(point.x, "x", true);
      const [low, high] = [plot.valToPos(point.low, "y", true), plot.valToPos(point.high, "y", true)];
      ctx.beginPath();
      ctx.moveTo(x, low);
      ctx.lineTo(x, high);
      for (const y of [low, high]) {
        ctx.moveTo(x - cap, y);
        ctx.lineTo(x + cap, y);
      }
      ctx.stroke();
    }
  });
  ctx.restore();
}
