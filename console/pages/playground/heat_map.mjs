/** Numbers as a square of colours: blue above zero, orange below, and stronger the larger the number. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useRef } from "../../vendor/hooks.mjs";
import { CSV_TYPE, csvOf, download, nameOfFile } from "../../view/download.mjs";
import { SavePicture } from "../../view/picture.mjs";
import { theme } from "../../view/theme.mjs";

/** Sides of squares that are worth a picture. */
const [SIDE_MIN, SIDE_MAX] = [3, 512];

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
  const drawing = () => ({ heat_maps: { title, strongest: most || null,
    maps: squares.map(({ name, values }) => ({ label: name, columns: Math.round(Math.sqrt(values.length)), values })) } });
  const saveTable = () => download(`${nameOfFile(name)}.csv`, CSV_TYPE, csvOf(rowsOf(squares)));
  return html`<span class="row no-print"><${SavePicture} drawing=${drawing} name=${nameOfFile(name)} label=${`${title} as SVG`} />
    <button type="button" class="small-button" aria-label=${`${title} as CSV`} onClick=${saveTable}>CSV</button></span>`;
}

/** @param {Square[]} squares @returns {(string|number)[][]} */
function rowsOf(squares) {
  const side = Math.round(Math.sqrt(squares[0]?.values.length ?? 0));
  const cells = squares[0]?.values.map((_, index) => [Math.floor(index / side) + 1, index % side + 1, ...squares.map(({ values }) => values[index] ?? "")]) ?? [];
  return [["row", "column", ...squares.map((square) => square.name)], ...cells];
}

/** The channels of a colour such as `#1a56b0`. @param {string} colour */
function channels(colour) {
  return [1, 3, 5].map((start) => parseInt(colour.trim().slice(start, start + 2), 16));
}
