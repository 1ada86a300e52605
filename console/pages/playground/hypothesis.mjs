/** The hypothesis of a session before and after the latest examples: bits, a square of colours, bars or support vectors. */

import { html } from "../../vendor/htm-preact.mjs";
import { HypothesisView, useMember, weightsOf } from "../../view/learning.mjs";
import { number } from "../../view/numbers.mjs";
import { Panel, counted } from "../../view/parts.mjs";
import { viewChoice } from "../../view/place.mjs";
import { HeatMap, SaveSquares, sideOf } from "./heat_map.mjs";

/** @typedef {import("#api").components["schemas"]["HypothesisDocument"]} Hypothesis */

/** Bits that are shown. */
const BITS_MAX = 1000;

/** @param {{run: import("./run.mjs").Run, isOne?: boolean, version: number}} props */
export function HypothesisPanel({ run, isOne }) {
  const { session, beforeAt } = run;
  const { one: after, was: before, choice, name } = useMember(session?.hypothesis ?? null, run.before, session?.classes ?? run.examples.dataset.classes);
  const [isList, setIsList] = viewChoice("weights", "list");
  const weights = after && weightsOf(after);
  const was = before && weightsOf(before);
  const side = weights ? sideOf(weights.length) : null;
  const title = isOne ? "Hypothesis" : `Hypothesis of ${run.wanted.learner.title}`;
  const toggle = side && html`<div class="row no-print" role="group" aria-label="View of the weights">
    <button class="small-button" aria-pressed=${!isList} onClick=${() => setIsList(false)}>Square</button>
    <button class="small-button" aria-pressed=${isList} onClick=${() => setIsList(true)}>${after?.kind === "binary-weights" ? "Bits" : "Bars"}</button></div>`;
  return html`<${Panel} title=${title} actions=${toggle}>
    ${choice && html`<div class="row no-print">${choice}</div>`}
    <p class="small muted">${before ? `Position ${number(run.position)}, compared with position ${number(beforeAt)}. ` : `Position ${number(run.position)}. `}${changeText(weights, was, after, before)}</p>
    ${!after && session?.open && run.position === 0 ? html`<p class="muted">The first example begins the hypothesis.</p>`
      : !after ? html`<p class="muted">The hypothesis is larger than 256 KiB. Save the session as a model to read it.</p>`
      : side && weights && !isList ? html`<${Squares} weights=${weights} was=${was} side=${side} name=${[run.wanted.learner.name, name].filter(Boolean).join(", ")} />`
        : after.kind === "binary-weights" ? html`<${Bits} after=${after} before=${before} />`
          : html`<${HypothesisView} hypothesis=${after} before=${before} features=${run.examples.dataset.features ?? null} />`}
  <//>`;
}

/** @param {number[]|null} weights  @param {number[]|null} was  @param {Hypothesis|null} after  @param {Hypothesis|null} before */
function changeText(weights, was, after, before) {
  if (!after || !before) return "";
  if (weights && was) {
    const count = weights.filter((weight, index) => weight !== was[index]).length;
    return count === 0 ? "No weight changed." : `${counted(count, "weight")} changed.`;
  }
  if ("support" in after && "support" in before) {
    const count = after.support.length - before.support.length;
    return count === 0 ? "No support vector was added." : `${counted(count, "support vector")} more.`;
  }
  return "";
}

/** @param {{weights: number[], was: number[]|null, side: number, name: string}} props */
function Squares({ weights, was, side, name }) {
  const most = [...weights, ...(was ?? [])].reduce((largest, weight) => Math.max(largest, Math.abs(weight)), 0);
  const squares = [...(was ? [{ name: "before", values: was }] : []), { name: was ? "after" : "now", values: weights }];
  const square = (/** @type {string} */ name, /** @type {number[]} */ values) => html`<figure class="stack tight" key=${name}>
    <${HeatMap} values=${values} most=${most} label=${`Weights ${name} as a square of ${side} by ${side}`} /><figcaption class="small">${name}</figcaption></figure>`;
  return html`<div class="row squares">${squares.map((one) => square(one.name, one.values))}</div>
    <div><${SaveSquares} squares=${squares} most=${most} name=${`weights of ${name}`} /></div>
    <p class="small muted">Blue is positive, orange negative, stronger colours are larger. The largest size is ${number(most)}.</p>`;
}

/** Binary weights as bits, with the changed ones marked. @param {{after: Hypothesis, before: Hypothesis|null}} props */
function Bits({ after, before }) {
  if (after.kind !== "binary-weights") return null;
  const was = before?.kind === "binary-weights" ? before.weights : null;
  const shown = Array.from(after.weights.slice(0, BITS_MAX));
  return html`<div class="stack">
    ${was && html`<div><h3>Before</h3><p class="bits">${was.slice(0, BITS_MAX)}</p></div>`}
    <div><h3>${was ? "After" : "Now"}</h3><p class="bits">${shown.map((bit, index) => (was && was[index] !== bit ? html`<mark key=${index}>${bit}</mark>` : bit))}</p></div>
    <p class="small muted">1 stands for the weight +1, 0 for −1.${after.weights.length > BITS_MAX ? ` The first ${number(BITS_MAX)} of ${number(after.weights.length)} weights.` : ""}</p>
  </div>`;
}
