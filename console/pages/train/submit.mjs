/** The request as it is sent, and the button that sends it and always stays in view. */

import { html } from "../../vendor/htm-preact.mjs";
import { Panel } from "../../view/parts.mjs";
import { Fault } from "../../view/problem.mjs";
import { ShowRecipe } from "../../view/recipe.mjs";

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
      <div class="row">
        <button class="primary" disabled=${!request || submission.isRunning} onClick=${submission.start}>
          ${submission.isRunning ? "Sending…" : task.verb}</button>
        <span class="small muted" role="status">${missing || (subject ? `${task.verb}: ${subject}` : task.question)}</span>
      </div>
    </div>`;
}
