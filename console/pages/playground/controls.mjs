/** The controls of a run: step, play, pause, back, and a position to go to. All of them work with the keyboard. */

import { html } from "../../vendor/htm-preact.mjs";
import { useId, useState } from "../../vendor/hooks.mjs";
import { number } from "../../view/numbers.mjs";
import { Check, Select, valueOf } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { labelText } from "./labels.mjs";
import { faultOfPosition } from "./wanted.mjs";

/** @typedef {import("./player.mjs").Player} Player */

const SPEED_NAMES = /** @type {[string, string][]} */ ([["1", "1 example/s"], ["5", "5 examples/s"], ["25", "25 examples/s"], ["100", "100 examples/s"], ["full", "full speed"]]);

/** @param {{player: Player, query: URLSearchParams, version: number}} props */
export function Controls({ player, query }) {
  const { position, mode, isStoppable } = player;
  const isPlaying = mode === "playing";
  const isIdle = mode === "paused" && player.isOpen;
  const actions = /** @type {Record<string, () => void>} */ ({
    ArrowRight: () => { if (isIdle && !player.isDone) player.step(); },
    ArrowLeft: () => { if (isIdle && position > 0) player.goTo(position - 1, player.passOf(position - 1)); },
    Home: () => { if (isIdle) player.goTo(0, 1); },
    k: () => (isStoppable ? player.pause() : isIdle && player.play()),
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
      <button type="button" class="primary" aria-keyshortcuts="ArrowRight" aria-disabled=${!isIdle || player.isDone} onClick=${actions.ArrowRight}>Step</button>
      <button type="button" aria-keyshortcuts="k" aria-disabled=${!isStoppable && (!isIdle || player.isDone)} onClick=${actions.k}>${isStoppable ? "Pause" : "Play"}</button>
      ${button("Back", /** @type {() => void} */ (actions.ArrowLeft), "ArrowLeft", !isIdle || position === 0)}
      ${button("Restart", /** @type {() => void} */ (actions.Home), "Home", !isIdle)}
      <${Select} label="Speed" value=${player.speed} options=${SPEED_NAMES} onChange=${(/** @type {string} */ speed) => setQuery({ speed: speed === "5" ? null : speed })} />
      <${GoTo} player=${player} asked=${query.get("at") ?? "0"} isIdle=${isIdle} />
    </div>
    ${player.progress && !isPlaying && html`<progress max=${player.progress.goal} value=${player.progress.done} aria-label="Progress to the position"></progress>`}
    <div class="row spread">
      <p><strong data-position=${position}>Position ${number(position)}</strong> <span class="muted">${placeIn(player)}</span></p>
      <${Check} label="Pause at the end of the data" checked=${!player.isEndless} onChange=${(/** @type {boolean} */ isOn) => setQuery({ passes: isOn ? null : "on" })} />
      <p class="small muted">Keys in this bar: → step, ← back, K play or pause, Home restart.</p>
    </div>
    <p class="hidden-label" role="status">${isPlaying && player.speed !== "1" ? "The run plays." : said(player)}</p>
  </section>`;
}

/** @param {Player} player */
function placeIn(player) {
  const { examples } = player.examples.dataset;
  if (player.progress && player.mode !== "playing") return `Learning: ${number(player.progress.done)} of ${number(player.progress.goal)} examples. Pause stops here.`;
  if (player.mode === "opening") return "The session opens…";
  const pass = player.passOf(player.position);
  return pass === 1 ? `of ${number(examples)} examples` : `of pass ${number(pass)} over ${number(examples)} examples. Certificates hold for fresh examples only, so not for a later pass.`;
}

/** The outcome of the last example, for screen readers. @param {Player} player */
function said(player) {
  return player.runs.map((run) => {
    const past = run.history.at(run.position);
    if (!past || player.mode !== "paused") return "";
    const outcome = past.isMistake ? "a mistake" : "no mistake";
    return `${run.wanted.learner.title}, example ${past.position}: predicted ${labelText(past.prediction, player.examples.dataset)}, ${outcome}.`;
  }).join(" ");
}

/** @param {{player: Player, asked: string, isIdle: boolean}} props  `asked`: the position in the URL. */
function GoTo({ player, asked, isIdle }) {
  const id = useId();
  const refused = faultOfPosition(asked) === null ? "" : asked;
  const [text, setText] = useState(refused);
  const [fault, setFault] = useState(refused && `The link asks for the position ${shortened(refused)}. ${faultOfPosition(refused)}`);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const found = faultOfPosition(text);
    setFault(found ?? "");
    if (found || !isIdle) return;
    player.jump(Number(text));
    setText("");
  };
  const input = (/** @type {Event} */ event) => {
    setText(valueOf(event).trim());
    setFault("");
  };
  return html`<form class="field go-to" noValidate onSubmit=${submit}>
    <div class="row nowrap-row"><input aria-label="Position to go to" inputmode="numeric" placeholder="position" autocomplete="off" value=${text} onInput=${input}
        aria-invalid=${fault ? true : undefined} aria-describedby=${fault ? id : undefined} />
      <button type="submit" aria-disabled=${!isIdle}>Go</button></div>
    ${fault && html`<p class="fault" id=${id} role="alert">${fault}</p>`}</form>`;
}

/** @param {string} text */
function shortened(text) {
  return text.length > 20 ? `${text.slice(0, 20)}…` : text;
}
