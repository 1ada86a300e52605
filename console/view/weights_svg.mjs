/** Weights as a stand-alone SVG file: one bar per feature, from the middle to the right if the weight is positive. */

import { SVG_COLOURS, escaped } from "./figure_svg.mjs";
import { number } from "./numbers.mjs";

/** @typedef {{name: string, weight: number, was: number}} Weight */

const [WIDTH, ROW, TOP, BAR] = [720, 20, 36, 130];

/** @param {Weight[]} weights  @param {string} title  @param {number} most  The size of the longest bar. */
export function weightsSvg(weights, title, most) {
  const height = TOP + ROW * weights.length + 12;
  const middle = WIDTH - BAR - 16;
  const rows = weights.map(({ name, weight, was }, index) => {
    const top = TOP + ROW * index;
    const width = Math.round(Math.abs(weight) / most * BAR * 100) / 100;
    const mark = Math.round((middle + was / most * BAR) * 100) / 100;
    return `<text x="16" y="${top + 14}">${escaped(name.length > 40 ? `${name.slice(0, 39)}…` : name)}</text>`
      + `<text x="${middle - BAR - 16}" y="${top + 14}" text-anchor="end">${escaped(number(weight))}</text>`
      + `<rect x="${weight < 0 ? middle - width : middle}" y="${top + 4}" width="${width}" height="12" fill="${SVG_COLOURS[weight < 0 ? 1 : 0]}"/>`
      + (was === weight ? "" : `<path d="M${mark} ${top + 2}v16" stroke="#1a1d21" stroke-width="2"/>`);
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="13" fill="#1a1d21">
<title>${escaped(title)}</title><rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
<text x="16" y="22" font-size="15" font-weight="bold">${escaped(title)}</text>
<path d="M${middle} ${TOP}V${height - 12}" stroke="#777777"/>
${rows.join("\n")}
</svg>
`;
}
