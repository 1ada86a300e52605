/** Numbers as a square of colours: blue above zero, orange below, stronger for larger numbers. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useRef } from "../../vendor/hooks.mjs";
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
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    const style = getComputedStyle(document.documentElement);
    const [above, below, zero] = ["--series-1", "--series-2", "--sunken"].map((name) => channels(style.getPropertyValue(name)));
    const size = most ?? values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
    const image = context.createImageData(side, side);
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
  }, [values, colours, most]);
  return html`<canvas ref=${canvas} class="heat-map" width=${side} height=${side} role="img" aria-label=${label}></canvas>`;
}

/** The channels of a colour such as `#1a56b0`. @param {string} colour */
function channels(colour) {
  return [1, 3, 5].map((start) => parseInt(colour.trim().slice(start, start + 2), 16));
}
