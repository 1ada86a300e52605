/** The request as it is sent, and the button that sends it. The button stays in view. */

import { html } from "../../vendor/htm-preact.mjs";
import { Panel } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { Fault } from "../../view/problem.mjs";
import { ShowRecipe } from "../../view/recipe.mjs";

/** Seconds of computing after which the service ends a run without a limit. */
const SECONDS_DEFAULT = 600;

const PASSES_PROPOSED = 100;

/** Whether nothing but the default time ends a run that keeps making mistakes. @param {import("./tasks.mjs").Task} task  @param {Record<string, any>} request */
function isUnlimited(task, request) {
  return task.learners !== "none" && Object.keys(request[task.name].train?.stop ?? request[task.name].stop ?? {}).every((name) => name === "rule");
}

/**
 * @param {{task: import("./tasks.mjs").Task, request: Record<string, any>|null, missing: string,
 *   submission: import("../train.mjs").Submission, subject: string}} props
 */
export function Submit({ task, request, missing, submission, subject }) {
  return html`
    ${request && html`<${Panel} title="The request"><${ShowRecipe} isOpen title="As curl or Python"
      recipe=${{ operation: "create_job", method: "POST", path: "v1/jobs", json: request }} /><//>`}
    <div class="action-bar no-print">
      <${Fault} error=${submission.error} />
      ${request && isUnlimited(task, request) && html`<div class="row small"><span class="badge warn">no limit</span>
        <span>On data that the learner cannot learn without mistakes, each run lasts until ${SECONDS_DEFAULT} s of computing.</span>
        <button type="button" class="small-button" onClick=${() => setQuery({ "stop.max_passes": PASSES_PROPOSED })}>Stop after ${PASSES_PROPOSED} passes</button></div>`}
      <div class="row">
        <button class="primary" disabled=${!request || submission.isRunning} onClick=${submission.start}>
          ${submission.isRunning ? "Sending…" : task.verb}</button>
        <span class="small muted" role="status">${missing || (subject ? `${task.verb}: ${subject}` : task.question)}</span>
      </div>
    </div>`;
}
