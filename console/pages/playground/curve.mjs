/** The mistakes against the examples, beside the bound of the theorem, and the places where two learners differ. */

import { html } from "../../vendor/htm-preact.mjs";
import { useMemo } from "../../vendor/hooks.mjs";
import { number } from "../../view/numbers.mjs";
import { Check, counted } from "../../view/parts.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { Fault } from "../../view/problem.mjs";
import { Figure } from "../../view/figure.mjs";
import { CopyRecipe } from "../../view/recipe.mjs";
import { useBound } from "./bound.mjs";

/** @typedef {import("./player.mjs").Player} Player */

const POINTS_MAX = 1000;
/** The largest bound in the frame, as a multiple of the mistakes. A higher one would flatten the curve. */
const BOUND_MAX = 4;
/** The largest bound that is always in the frame, since few mistakes are no curve yet. */
const BOUND_NEAR = 10;
/** Differences that are marked. */
const MARKS_MAX = 500;

/** @param {{player: Player, version: number, query: URLSearchParams}} props */
export function Curve({ player, version, query }) {
  const [one, other] = player.runs;
  const bounds = [useBound(one, query), useBound(other, query)];
  const hasBound = bounds.some((bound) => bound?.value);
  const frame = frameOf(player);
  const isFar = bounds.some((bound) => (bound?.value ?? 0) > frame);
  const wanted = query.get("bound");
  const isBoundShown = wanted === "on" || (wanted !== "off" && !isFar);
  const told = `${isBoundShown} ${bounds.map((bound) => bound?.value ?? null).join()}`;
  const differing = useMemo(() => (one && other ? differences(one, other) : []), [version]);
  const spec = useMemo(() => figureOf(player, bounds, wanted === "off" ? 0 : isBoundShown ? Infinity : frame, differing), [version, told]);
  const change = (/** @type {boolean} */ isOn) => setQuery({ bound: isOn === !isFar ? null : isOn ? "on" : "off" });
  return html`<${Figure} spec=${spec} height=${260} />
    ${hasBound && html`<div class="no-print"><${Check} label="Show the bound in the chart" checked=${isBoundShown} onChange=${change} /></div>`}
    ${other && html`<p class="small">The learners predicted different labels for ${counted(differing.length, "example")}.</p>`}
    ${player.runs.map((run, index) => html`<${BoundText} key=${run.wanted.slot.learner} run=${run} bound=${bounds[index] ?? null} isOne=${!other} />`)}`;
}

/** Positions where both predictions are known and differ. @param {import("./run.mjs").Run} one  @param {import("./run.mjs").Run} other */
function differences(one, other) {
  const found = [];
  const end = Math.min(one.history.position, other.history.position);
  for (let index = 0; index < end; index++) {
    if (one.history.differs(other.history, index + 1)) found.push(index + 1);
  }
  return found;
}

/** The largest bound that leaves the curve its height. @param {Player} player */
function frameOf(player) {
  const mistakes = player.runs.map((run) => run.history.mistakes.at(-1) ?? 0).filter((count) => !Number.isNaN(count));
  return Math.max(BOUND_NEAR, BOUND_MAX * Math.max(0, ...mistakes));
}

/**
 * @param {Player} player  @param {(import("./bound.mjs").Bound|null)[]} bounds  @param {number} frame  The largest bound that is drawn.
 * @param {number[]} differing @returns {import("../../view/figure.mjs").FigureSpec}
 */
function figureOf(player, bounds, frame, differing) {
  const names = player.runs.map((run, index) => (player.runs[1 - index]?.wanted.learner.name === run.wanted.learner.name
    ? `${run.wanted.learner.title} (${index + 1})` : run.wanted.learner.title));
  const end = Math.max(player.position, 1);
  const curves = player.runs.map((run, index) => ({ label: names[index] ?? "", form: /** @type {const} */ ("step"), points: run.history.curve(POINTS_MAX) }));
  const known = bounds.flatMap((bound, index) => (typeof bound?.value === "number"
    ? [{ value: bound.value, label: `${bound.label}${player.runs.length > 1 ? `, ${names[index]}` : ""}: ${number(bound.value, 3)}` }] : []));
  const levels = known.filter(({ value }) => value <= frame).map(({ value, label }) => ({ form: /** @type {const} */ ("line"), label,
    points: [{ x: 0, y: value }, { x: end, y: value }] }));
  const above = frame > 0 ? known.filter(({ value }) => value > frame).map(({ label }) => `${label} lies above the frame.`) : [];
  const step = Math.max(1, Math.ceil(differing.length / MARKS_MAX));
  // The marks stand on the axis, so that they hide no curve.
  const marks = differing.filter((_, index) => index % step === 0).map((position) => ({ x: position, y: 0 }));
  return { title: "Mistakes by examples", note: above.join(" "), x: { label: "examples", min: 0, max: end, isWhole: true }, y: { label: "mistakes", min: 0, isWhole: true },
    series: [...curves, ...levels, ...(marks.length > 0 ? [{ label: "Predictions differ", form: /** @type {const} */ ("points"), points: marks }] : [])] };
}

/** @param {{run: import("./run.mjs").Run, bound: import("./bound.mjs").Bound|null, isOne: boolean}} props */
function BoundText({ run, bound, isOne }) {
  if (!bound) return null;
  const { error, ask, job, recipe, value } = bound;
  return html`<div class="stack tight small">
    <p><strong>${isOne ? "" : `${run.wanted.learner.title}. `}${bound.label}${value === null ? ": no number." : `: ${number(value, 4)}.`}</strong> <span class="muted">${bound.detail}</span>
      ${job && html` <a href=${href(`jobs/${job}`)}>The job behind the bound</a>`}</p>
    ${ask && html`<div class="row no-print"><button class="small-button" onClick=${ask}>Compute the bound</button>${recipe && html`<${CopyRecipe} recipe=${recipe} />`}</div>`}
    ${error && html`<${Fault} error=${error} />`}
  </div>`;
}
