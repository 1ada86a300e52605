/** What can stop a run, and how to go on: a lost service, a deleted or ended session, another tab. */

import { html } from "../../vendor/htm-preact.mjs";
import { Problem } from "../../service/requests.mjs";
import { confidence, number } from "../../view/numbers.mjs";
import { counted } from "../../view/parts.mjs";
import { Fault } from "../../view/problem.mjs";
import { POSITION_MAX } from "./player.mjs";

/** @param {{player: import("./player.mjs").Player, version: number}} props */
export function Notices({ player }) {
  const { fault, mode, runs } = player;
  const isGone = fault instanceof Problem && fault.status === 404;
  const isOpen = runs.every((run) => run.session);
  return html`
    ${isGone ? html`<div class="notice warn" role="alert">
        <p><strong>The session is gone.</strong> Someone deleted the session, or the session expired. A new session with the same seed and examples has the same state.</p>
        <div><button class="primary" onClick=${() => player.renew()}>Replay in a new session</button></div></div>`
      : fault && html`<${Fault} error=${fault} onRetry=${() => (isOpen ? player.goTo(player.position, player.passOf(player.position)) : player.renew())} />`}
    ${mode === "paused" && !isOpen && !fault && html`<div class="notice"><p>The session is not open.</p><div><button class="primary" onClick=${() => player.renew()}>Open the session</button></div></div>`}
    ${mode === "paused" && !fault && html`<${PassEnd} player=${player} />`}
    ${!isGone && runs.map((run) => html`<${OfRun} key=${run.wanted.slot.learner} run=${run} player=${player} />`)}`;
}

/** The end of a pass over the data, and the ways on. @param {{player: import("./player.mjs").Player}} props */
function PassEnd({ player }) {
  const { position, beyond, runs } = player;
  const { examples } = player.examples.dataset;
  const pass = player.passOf(position);
  if (player.hasEnded) return null;
  if (position >= POSITION_MAX) return html`<div class="notice" role="status"><p><strong>This page follows a session up to position ${number(POSITION_MAX)}.</strong> A job on the page Train learns from more examples.</p></div>`;
  if (position === 0 || position % examples !== 0) return null;
  const mistakes = runs.map((run) => run.history.between(position - examples, position));
  const isClean = mistakes.every((count) => count === 0);
  return html`<div class="notice" role="status">
    <p><strong>Pass ${number(pass)} is complete: all ${counted(examples, "example")} of the data ${pass > 1 ? "were learnt again" : "are learnt"}.</strong>
      ${runs.map((run, index) => ` ${run.wanted.learner.title} made ${mistakes[index] === null ? "an unknown number of mistakes" : counted(mistakes[index] ?? 0, "mistake")} in this pass.`)}</p>
    <p>The data begin again. Step and Play learn the same examples once more${isClean ? ", although this pass had no mistake" : ""}. Certificates hold for fresh examples only, so not for a later pass.</p>
    ${beyond !== null && html`<div><button onClick=${() => player.goTo(beyond, player.passOf(beyond))}>Go on to position ${number(beyond)}</button></div>`}
  </div>`;
}

/** @param {{run: import("./run.mjs").Run, player: import("./player.mjs").Player}} props */
function OfRun({ run, player }) {
  const end = run.session?.termination;
  const missing = run.history.missing;
  const { title } = run.wanted.learner;
  return html`
    ${missing > 0 && html`<div class="notice warn" role="alert">
      <p><strong>Another tab or program teaches this session of ${title}.</strong> ${run.moved
        ? `The session stood at position ${number(run.moved.to)} instead of ${number(run.moved.from)}. This page caught up and taught nothing twice.`
        : "This page caught up."} The answers to ${counted(missing, "example")} went elsewhere.</p>
      <div><button onClick=${() => player.renew()}>Replay in a session of this tab</button></div></div>`}
    ${end && html`<div class=${`notice ${end.reason === "confident" ? "good" : ""}`}>
      <p><strong>The session of ${title} has ended: ${end.reason}.</strong>
        ${end.confidence ? ` Rule ${end.rule}, confidence ${confidence(end.confidence)}: ${counted(end.run_length ?? 0, "consistent example")} in a row, ${number(end.threshold)} needed.` : ""}
        ${end.detail ? ` ${end.detail}.` : ""}${end.confidence_detail ? ` ${end.confidence_detail}.` : ""}</p>
      <p class="small">An ended session learns no more, but still predicts. Save the hypothesis, go back, or restart with other stop conditions.</p></div>`}`;
}
