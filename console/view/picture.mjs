/** Pictures that a person keeps. The page describes the figure and the service draws it, so that all have one look. */

import { send } from "../service/requests.mjs";
import { useAction } from "../service/resource.mjs";
import { html } from "../vendor/htm-preact.mjs";
import { download } from "./download.mjs";
import { Fault } from "./problem.mjs";

/** @typedef {import("#api").components["schemas"]["Drawing"]} Drawing */

/** A point without an interval or runs. @param {{x: number, y: number, low?: number, high?: number}} point */
export function chartPoint({ x, y, low, high }) {
  return { x, y, low: low ?? null, high: high ?? null, runs: 0, censored: 0 };
}

/** @param {{label: string, unit?: string, isLog?: boolean}} axis @returns {import("#api").components["schemas"]["Axis"]} */
export function chartAxis({ label, unit = "", isLog = false }) {
  return { label, unit, scale: isLog ? "logarithmic" : "linear" };
}

export const SVG_TYPE = "image/svg+xml";

/** A button that saves a figure as SVG. @param {{drawing: () => Drawing, name: string, label?: string}} props */
export function SavePicture({ drawing, name, label = "SVG" }) {
  const saving = useAction(async (abort) => {
    const answer = await send({ method: "POST", path: "v1/figures", json: drawing() }, abort);
    download(`${name}.svg`, SVG_TYPE, await answer.text());
  });
  return html`<button type="button" class="small-button" aria-label=${label} disabled=${saving.isRunning} onClick=${saving.start}>SVG</button>
    <${Fault} error=${saving.error} />`;
}
