/** The actions on one job: cancel and delete, each with its request. */

import { html } from "../../vendor/htm-preact.mjs";
import { call } from "../../service/requests.mjs";
import { useAction } from "../../service/resource.mjs";
import { Fault } from "../../view/problem.mjs";
import { ConfirmButton } from "../../view/parts.mjs";
import { go } from "../../view/place.mjs";

/** @typedef {import("./words.mjs").Job} Job */
/** @typedef {import("../../service/recipes.mjs").Recipe} Recipe */

/** @param {string} id @returns {Recipe} */
export function cancelling(id) {
  return { operation: "cancel_job", arguments: [id], method: "POST", path: `v1/jobs/${id}/cancel` };
}

/** @param {string} id @returns {Recipe} */
export function deleting(id) {
  return { operation: "delete_job", arguments: [id], method: "DELETE", path: `v1/jobs/${id}` };
}

/** @param {string[]} ids @returns {Recipe} */
export function cancellingAll(ids) {
  return { operation: "cancel_jobs", method: "POST", path: "v1/jobs/cancel", json: { ids } };
}

/** @param {string[]} ids @returns {Recipe} */
export function deletingAll(ids) {
  return { operation: "delete_jobs", method: "POST", path: "v1/jobs/delete", json: { ids } };
}

/** @param {{job: Job, onChange: () => void}} props */
export function CancelJob({ job, onChange }) {
  const action = useAction(async (abort) => {
    await call(cancelling(job.id), abort);
    onChange();
  });
  const question = job.status === "queued" ? "Cancel this job? The job has not begun and will have no result."
    : "Cancel this job? The service keeps the result so far.";
  return html`<${ConfirmButton} label=${action.isRunning ? "Cancelling…" : "Cancel job"} question=${question}
      disabled=${action.isRunning} onConfirm=${action.start} />
    <${Fault} error=${action.error} />`;
}

/** @param {{job: Job}} props */
export function DeleteJob({ job }) {
  const action = useAction(async (abort) => {
    await call(deleting(job.id), abort);
    go("jobs");
  });
  const question = `Delete this job${job.parts ? " and its parts" : ""}? Its model stays.`;
  return html`<${ConfirmButton} label="Delete job" question=${question} disabled=${action.isRunning} onConfirm=${action.start} />
    <${Fault} error=${action.error} />`;
}
