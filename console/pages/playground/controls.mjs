/** The controls of a run: step, play, pause, back, and a position to go to. All of them work by keyboard. */

import { html } from "../../vendor/htm-preact.mjs";
import { useState } from "../../vendor/hooks.mjs";
import { number } from "../../view/numbers.mjs";
import { Select, valueOf } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { labelText } from "./example.mjs";

/** @typedef {import("./player.mjs").Player} Player */

const SPEED_NAMES = /** @type {[string, string][]} */ ([["1", "1 example/s"], ["5", "5 examples/s"], ["25", "25 examples/s"], ["100", "100 examples/s"], ["full", "full speed"]]);

/** @param {{player: Player, version: number}} props */
export function Controls({ player }) {
  const { position, mode } = player;
  const isPlaying = mode === "playing";
  const isIdle = mode === "paused" && player.runs.every((run) => run.session);
  const actions = /** @type {Record<string, () => void>} */ ({
    ArrowRight: () => { if (isIdle && !player.hasEnded) player.step(); },
    ArrowLeft: () => { if (isIdle && position > 0) player.goTo(position - 1); },
    Home: () => { if (isIdle) player.goTo(0); },
    k: () => (isPlaying ? player.pause() : player.play()),
  });
  const press = (/** @type {KeyboardEvent} */ event) => {
    const isField = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    const action = actions[event.key];
    if (!action || isField || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  };
  // Disabled buttons lose the focus, so the buttons stay enabled while an action runs.
  const button = (/** @type {string} */ label, /** @type {() => void} */ action, /** @type {string} */ shortcut, isOff = false) => html`<button type="button"
    aria-disabled=${isOff} aria-keyshortcuts=${shortcut} onClick=${action}>${label}</button>`;
  return html`<section class="action-bar playground-controls no-print" role="group" aria-label="Controls of the run" onKeyDown=${press}>
    <div class="row row-end">
      <button type="button" class="primary" aria-keyshortcuts="ArrowRight" aria-disabled=${!isIdle || player.hasEnded} onClick=${actions.ArrowRight}>Step</button>
      <button type="button" aria-keyshortcuts="k" aria-disabled=${!isPlaying && (!isIdle || player.hasEnded)} onClick=${actions.k}>${isPlaying ? "Pause" : "Play"}</button>
      ${button("Back", /** @type {() => void} */ (actions.ArrowLeft), "ArrowLeft", !isIdle || position === 0)}
      ${button("Restart", /** @type {() => void} */ (actions.Home), "Home", !isIdle)}
      <${Select} label="Speed" value=${player.speed} options=${SPEED_NAMES} onChange=${(/** @type {string} */ speed) => setQuery({ speed: speed === "5" ? null : speed })} />
      <${GoTo} player=${player} isIdle=${isIdle} />
    </div>
    <div class="row spread">
      <p><strong data-position=${position}>Position ${number(position)}</strong> <span class="muted">${placeIn(player)}</span></p>
      <p class="small muted">Keys in this bar: → step, ← back, K play or pause, Home restart.</p>
    </div>
    <p class="hidden-label" role="status">${isPlaying && player.speed !== "1" ? "The run plays." : said(player)}</p>
  </section>`;
}

/** @param {Player} player */
function placeIn(player) {
  const { examples } = player.examples.dataset;
  if (player.mode === "opening" && player.position === 0) return "The session opens…";
  if (player.progress && player.mode !== "playing") return `Replaying: ${number(player.progress.done)} of ${number(player.progress.goal)}`;
  const { position } = player;
  const pass = Math.floor(position / examples) + 1;
  if (position > 0 && position % examples === 0) return `${number(position)} examples are learnt, the end of pass ${number(pass - 1)}. The data begin again.`;
  return pass === 1 ? `of ${number(examples)} examples` : `of pass ${number(pass)} over ${number(examples)} examples. Certificates hold for fresh examples only, so not for a later pass.`;
}

/** The outcome of the last example, for screen readers. @param {Player} player */
function said(player) {
  return player.runs.map((run) => {
    const past = run.history.at(run.position);
    if (!past || player.mode !== "paused") return "";
    const outcome = past.isMistake ? "a mistake" : "no mistake";
    return `${run.wanted.learner.title}, example ${past.position}: predicted ${labelText(past.prediction)}, ${outcome}.`;
  }).join(" ");
}

/** @param {{player: Player, isIdle: boolean}} props */
function GoTo({ player, isIdle }) {
  const [text, setText] = useState("");
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const position = Number(text);
    if (!isIdle || text === "" || !Number.isInteger(position) || position < 0) return;
    player.goTo(position);
    setText("");
  };
  return html`<form class="row nowrap-row go-to" onSubmit=${submit}>
    <input aria-label="Position to go to" inputmode="numeric" pattern="[0-9]{1,9}" placeholder="position" value=${text}
      onInput=${(/** @type {Event} */ event) => setText(valueOf(event).trim())} />
    <button type="submit">Go</button></form>`;
}
