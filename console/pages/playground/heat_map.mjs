/** Numbers as a square of colours: blue above zero, orange below, stronger for larger numbers. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useRef } from "../../vendor/hooks.mjs";
import { CSV_TYPE, csvOf, download, nameOfFile } from "../../view/download.mjs";
import { SVG_COLOURS, SVG_TYPE, escaped } from "../../view/figure_svg.mjs";
import { theme } from "../../view/theme.mjs";

/** Sides of squares that are worth a picture. */
const [SIDE_MIN, SIDE_MAX] = [3, 1024];

/** The side of the square that n features fill, or null. @param {number} n */
export function sideOf(n) {
  const side = Math.round(Math.sqrt(n));
  return side * side === n && side >= SIDE_MIN && side <= SIDE_MAX ? side : null;
}

/** @param {{values: number[], label: string, most?: number}} props  `most`: the size with the strongest colour. */
export function HeatMap({ values, label, most }) {
  const canvas = useRef(/** @type {HTMLCanvasElement|null} */ (null));
  const side = Math.round(Math.sqrt(values.length));
  const colours = theme.value;
  useEffect(() => {
    const style = getComputedStyle(document.documentElement);
    if (canvas.current) paint(canvas.current, values, most, ["--series-1", "--series-2", "--sunken"].map((name) => style.getPropertyValue(name)));
  }, [values, colours, most]);
  return html`<canvas ref=${canvas} class="heat-map" width=${side} height=${side} role="img" aria-label=${label}></canvas>`;
}

/** @param {HTMLCanvasElement} canvas  @param {number[]} values  @param {number|undefined} most  @param {string[]} colours  Above zero, below zero, zero. */
function paint(canvas, values, most, colours) {
  const context = canvas.getContext("2d");
  if (!context) return;
  const [above, below, zero] = colours.map(channels);
  const size = most ?? values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  const image = context.createImageData(canvas.width, canvas.height);
  values.forEach((value, index) => {
    const share = size > 0 ? Math.min(1, Math.abs(value) / size) : 0;
    const end = (value < 0 ? below : above) ?? [0, 0, 0];
    for (let channel = 0; channel < 3; channel++) {
      const from = zero?.[channel] ?? 0;
      image.data[4 * index + channel] = Math.round(from + share * ((end[channel] ?? 0) - from));
    }
    image.data[4 * index + 3] = 255;
  });
  context.putImageData(image, 0, 0);
}

/** @typedef {{name: string, values: number[]}} Square */

/** Buttons that save squares as SVG, side by side, and as CSV. @param {{squares: Square[], name: string, most?: number}} props */
export function SaveSquares({ squares, name, most }) {
  const title = name[0]?.toUpperCase() + name.slice(1);
  const saveTable = () => download(`${nameOfFile(name)}.csv`, CSV_TYPE, csvOf(rowsOf(squares)));
  return html`<span class="row no-print"><button type="button" class="small-button" aria-label=${`${title} as SVG`}
      onClick=${() => download(`${nameOfFile(name)}.svg`, SVG_TYPE, squaresSvg(squares, title, most))}>SVG</button>
    <button type="button" class="small-button" aria-label=${`${title} as CSV`} onClick=${saveTable}>CSV</button></span>`;
}

/** @param {Square[]} squares @returns {(string|number)[][]} */
function rowsOf(squares) {
  const side = Math.round(Math.sqrt(squares[0]?.values.length ?? 0));
  const cells = squares[0]?.values.map((_, index) => [Math.floor(index / side) + 1, index % side + 1, ...squares.map(({ values }) => values[index] ?? "")]) ?? [];
  return [["row", "column", ...squares.map((square) => square.name)], ...cells];
}

/** Pixels of a square in a file, in colours for paper. Each cell has whole pixels, so that no program blurs the cells. */
const FILE_SIDE = 480;

/** @param {Square[]} squares  @param {string} title  @param {number} [most] */
function squaresSvg(squares, title, most) {
  const pictures = squares.map(({ name, values }, index) => {
    const side = Math.round(Math.sqrt(values.length));
    const [small, large] = [document.createElement("canvas"), document.createElement("canvas")];
    small.width = small.height = side;
    paint(small, values, most, [SVG_COLOURS[0] ?? "", SVG_COLOURS[1] ?? "", "#f1f3f6"]);
    large.width = large.height = side * Math.max(1, Math.floor(FILE_SIDE / side));
    const context = large.getContext("2d");
    if (context) context.imageSmoothingEnabled = false;
    context?.drawImage(small, 0, 0, large.width, large.height);
    const left = 16 + 316 * index;
    return `<text x="${left}" y="52">${escaped(name)}</text><image x="${left}" y="62" width="300" height="300" href="${large.toDataURL()}"/>`
      + `<rect x="${left}" y="62" width="300" height="300" fill="none" stroke="#777777"/>`;
  });
  const width = 16 + 316 * squares.length;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} 378" width="${width}" height="378" font-family="sans-serif" font-size="13" fill="#1a1d21">
<title>${escaped(title)}</title><rect width="${width}" height="378" fill="#ffffff"/><text x="16" y="26" font-size="15" font-weight="bold">${escaped(title)}</text>
${pictures.join("\n")}
</svg>
`;
}

/** The channels of a colour such as `#1a56b0`. @param {string} colour */
function channels(colour) {
  return [1, 3, 5].map((start) => parseInt(colour.trim().slice(start, start + 2), 16));
}
