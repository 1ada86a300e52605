/** Obstacles of a run, and the way to proceed: a lost service, a deleted or ended session, another tab. */

import { html } from "../../vendor/htm-preact.mjs";
import { Problem, isAway } from "../../service/requests.mjs";
import { number, percent } from "../../view/numbers.mjs";
import { counted } from "../../view/parts.mjs";
import { Fault } from "../../view/problem.mjs";

/** @param {{player: import("./player.mjs").Player, version: number}} props */
export function Notices({ player }) {
  const { fault, runs } = player;
  const isGone = fault instanceof Problem && fault.status === 404;
  const isOpen = runs.every((run) => run.session);
  return html`
    ${isAway.value && html`<div class="notice warn" role="alert"><p>The service does not answer. The page shows the last known state and goes on by itself when the service is back.</p></div>`}
    ${isGone ? html`<div class="notice warn" role="alert">
        <p><strong>The session is gone.</strong> Someone deleted the session, or the session expired. A new session with the same seed and examples has the same state.</p>
        <div><button class="primary" onClick=${() => player.renew()}>Replay in a new session</button></div></div>`
      : fault && html`<${Fault} error=${fault} onRetry=${() => (isOpen ? player.goTo(player.position) : player.renew())} />`}
    ${runs.map((run) => html`<${OfRun} key=${run.wanted.slot.learner} run=${run} player=${player} />`)}`;
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
        ${end.confidence ? ` Rule ${end.rule}, confidence ${percent(end.confidence, 4)}: ${counted(end.run_length ?? 0, "consistent example")} in a row, ${number(end.threshold)} needed.` : ""}
        ${end.detail ? ` ${end.detail}.` : ""}${end.confidence_detail ? ` ${end.confidence_detail}.` : ""}</p>
      <p class="small">An ended session learns no more, but still predicts. Save the hypothesis, go back, or restart with other stop conditions.</p></div>`}`;
}
