/**
 * A figure as a stand-alone SVG file for papers and printers: dark lines on white that can be told apart without
 * colours.
 */

import { axisLabel, dashOf, placeText } from "./figure.mjs";
import { number } from "./numbers.mjs";

/** @typedef {import("./figure.mjs").FigureSpec} FigureSpec */
/** @typedef {import("./figure.mjs").Axis} Axis */

export const SVG_TYPE = "image/svg+xml";

export const SVG_COLOURS = ["#0066a6", "#b84a00", "#00795a", "#9c3f7d", "#7d5f00", "#4a4f57"];
const [WIDTH, TOP, RIGHT, PLOT_HEIGHT] = [720, 44, 24, 320];

/** @param {FigureSpec} spec */
export function svgOf(spec) {
  const x = scaleOf(spec.x, spec.series.flatMap((series) => series.points.map((point) => point.x)));
  const y = scaleOf(spec.y, spec.series.flatMap((series) => series.points.flatMap((point) =>
    [point.y, point.low ?? point.y, point.high ?? point.y])));
  const yTexts = y.ticks.map((tick) => number(tick, 3));
  const xTexts = x.ticks.map((tick) => placeText(spec.x, tick, 3));
  const [longest, first] = [Math.max(...xTexts.map((text) => text.length), 1), xTexts[0]?.length ?? 0];
  // Slanted names need width at the left of the first and height below the axis.
  const left = Math.max(44 + 7 * Math.max(...yTexts.map((text) => text.length), 1), spec.x.names ? Math.min(200, 5.5 * first) : 0);
  const [innerWidth, bottom] = [WIDTH - left - RIGHT, TOP + PLOT_HEIGHT];
  const placeX = (/** @type {number} */ value) => round(left + x.share(value) * innerWidth);
  const placeY = (/** @type {number} */ value) => round(bottom - y.share(value) * PLOT_HEIGHT);
  const below = spec.x.names ? 18 + Math.ceil(4.6 * longest) : 26;
  const legendTop = bottom + below + (spec.x.label ? 38 : 20);
  const rows = spec.series.filter((series) => series.label);
  const notes = linesOf(spec.note ?? "", Math.floor((WIDTH - left) / 6.2));
  const height = legendTop + 20 * rows.length + (notes.length > 0 ? 8 + 16 * notes.length : 0);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" `
      + `font-family="sans-serif" font-size="13" fill="#1a1d21">`,
    `<title>${escaped(spec.title)}</title>`, `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    text(WIDTH / 2, 24, spec.title, 'text-anchor="middle" font-size="15" font-weight="bold"'),
  ];
  for (const [index, tick] of y.ticks.entries()) {
    parts.push(line(left, placeY(tick), WIDTH - RIGHT, placeY(tick), 'stroke="#d9dde3"'),
      text(left - 8, placeY(tick) + 4, yTexts[index] ?? "", 'text-anchor="end"'));
  }
  for (const [index, tick] of x.ticks.entries()) {
    const place = placeX(tick);
    parts.push(line(place, bottom, place, bottom + 5, 'stroke="#1a1d21"'), spec.x.names
      ? text(place, bottom + 16, xTexts[index] ?? "", `text-anchor="end" transform="rotate(-40 ${place} ${bottom + 16})"`)
      : text(place, bottom + 20, xTexts[index] ?? "", 'text-anchor="middle"'));
  }
  parts.push(line(left, bottom, WIDTH - RIGHT, bottom, 'stroke="#1a1d21"'), line(left, TOP, left, bottom, 'stroke="#1a1d21"'),
    text(left + innerWidth / 2, bottom + below + 16, axisLabel(spec.x), 'text-anchor="middle"'),
    `<text transform="translate(16 ${TOP + PLOT_HEIGHT / 2}) rotate(-90)" text-anchor="middle">${escaped(axisLabel(spec.y))}</text>`);
  spec.series.forEach((series, index) => parts.push(...lineOf(series, index, placeX, placeY)));
  rows.forEach((series, row) => {
    const index = spec.series.indexOf(series);
    const middle = legendTop + 20 * row - 4;
    parts.push(series.form === "points" ? marker(left + 18, middle, index)
      : line(left, middle, left + 36, middle, stroke(index)) + (series.form === "plain" ? "" : marker(left + 18, middle, index)),
    text(left + 46, middle + 4, series.label, ""));
  });
  notes.forEach((note, index) => parts.push(text(left, height - 10 - 16 * (notes.length - 1 - index), note, 'font-size="12" fill="#555e6b"')));
  return `${parts.join("\n")}\n</svg>\n`;
}

/** @param {import("./figure.mjs").Series} series  @param {number} index  @param {(value: number) => number} placeX  @param {(value: number) => number} placeY */
function lineOf(series, index, placeX, placeY) {
  const places = series.points.map((point) => [placeX(point.x), placeY(point.y)]);
  const parts = [];
  if (series.form !== "points" && places.length > 1) {
    const path = places.map(([x, y], at) => (at === 0 ? `M${x} ${y}` : series.form === "step" ? `H${x}V${y}` : `L${x} ${y}`));
    parts.push(`<path d="${path.join("")}" fill="none" ${stroke(index)}/>`);
  }
  for (const point of series.points) {
    if (point.low === undefined || point.high === undefined) continue;
    const [x, low, high] = [placeX(point.x), placeY(point.low), placeY(point.high)];
    parts.push(`<path d="M${x} ${low}V${high}M${x - 4} ${low}h8M${x - 4} ${high}h8" fill="none" stroke="${SVG_COLOURS[index % 6]}"/>`);
  }
  if (series.form === "points" || (series.form !== "plain" && places.length < 40)) {
    parts.push(...places.map(([x = 0, y = 0]) => marker(x, y, index)));
  }
  return parts;
}

/** A text as lines of at most `length` characters, because SVG breaks no lines. @param {string} content  @param {number} length */
function linesOf(content, length) {
  /** @type {string[]} */
  const lines = [];
  for (const word of content.split(" ").filter(Boolean)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < length) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** @param {number} index */
function stroke(index) {
  const dashes = dashOf(index).join(" ");
  return `stroke="${SVG_COLOURS[index % 6]}" stroke-width="2"${dashes ? ` stroke-dasharray="${dashes}"` : ""}`;
}

/** A marker whose form differs between lines. @param {number} x  @param {number} y  @param {number} index */
function marker(x, y, index) {
  const fill = `fill="${SVG_COLOURS[index % 6]}"`;
  const forms = [
    `<circle cx="${x}" cy="${y}" r="3.5" ${fill}/>`,
    `<rect x="${x - 3.5}" y="${y - 3.5}" width="7" height="7" ${fill}/>`,
    `<path d="M${x} ${y - 4.5}l4.5 8h-9z" ${fill}/>`,
    `<path d="M${x} ${y - 5}l5 5-5 5-5-5z" ${fill}/>`,
    `<circle cx="${x}" cy="${y}" r="3" fill="#ffffff" stroke="${SVG_COLOURS[index % 6]}" stroke-width="1.5"/>`,
    `<rect x="${x - 3}" y="${y - 3}" width="6" height="6" fill="#ffffff" stroke="${SVG_COLOURS[index % 6]}" stroke-width="1.5"/>`,
  ];
  return forms[index % forms.length] ?? "";
}

/**
 * The place of each value on an axis, from 0 to 1, and the values of the ticks.
 * @param {Axis} axis  @param {number[]} values
 */
function scaleOf(axis, values) {
  if (axis.names) {
    const { length } = axis.names;
    return { ticks: axis.names.map((_, index) => index + 1), share: (/** @type {number} */ value) => (value - 0.5) / length };
  }
  const known = values.filter((value) => Number.isFinite(value) && (!axis.isLog || value > 0));
  const least = known.reduce((low, value) => Math.min(low, value), Infinity);
  const most = known.reduce((high, value) => Math.max(high, value), -Infinity);
  let low = axis.min ?? (Number.isFinite(least) ? least : 0);
  let high = axis.max ?? (Number.isFinite(most) ? most : 1);
  if (axis.isLog) {
    const [from, to] = [Math.floor(Math.log10(low)), Math.max(Math.ceil(Math.log10(high)), Math.floor(Math.log10(low)) + 1)];
    const ticks = Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index));
    return { ticks, share: (/** @type {number} */ value) => (Math.log10(value) - from) / (to - from) };
  }
  if (low === high) [low, high] = [Math.min(low, 0), high === 0 ? 1 : Math.max(high, 0) || 1];
  const raw = (high - low) / 6;
  const power = 10 ** Math.floor(Math.log10(raw));
  const wanted = [1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10;
  const step = axis.isWhole ? Math.max(1, Math.round(wanted * power)) : wanted * power;
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
  const [from, to] = [first * step, last * step];
  return { ticks, share: (/** @type {number} */ value) => (value - from) / (to - from) };
}

/** @param {number} x1  @param {number} y1  @param {number} x2  @param {number} y2  @param {string} style */
function line(x1, y1, x2, y2, style) {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" ${style}/>`;
}

/** @param {number} x  @param {number} y  @param {string} content  @param {string} style */
function text(x, y, content, style) {
  return `<text x="${round(x)}" y="${round(y)}" ${style}>${escaped(content)}</text>`;
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 100) / 100;
}

/** A text inside SVG. @param {string} content */
export function escaped(content) {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
