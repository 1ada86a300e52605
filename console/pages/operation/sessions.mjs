/** The caller's on-line sessions as a list, and their deletion. */

import { html } from "../../vendor/htm-preact.mjs";
import { call } from "../../service/requests.mjs";
import { useAction, useList } from "../../service/resource.mjs";
import { number } from "../../view/numbers.mjs";
import { ConfirmButton, Panel, Time } from "../../view/parts.mjs";
import { href } from "../../view/place.mjs";
import { Fault } from "../../view/problem.mjs";
import { CopyRecipe } from "../../view/recipe.mjs";
import { ListTable } from "../../view/rows.mjs";
import { shortId } from "../jobs/words.mjs";

/** @typedef {import("#api").components["schemas"]["SessionItem"]} SessionItem */

/** @param {string} id */
function deletion(id) {
  return { method: /** @type {const} */ ("DELETE"), path: `v1/sessions/${id}`, operation: "delete_session", arguments: [id] };
}

export function Sessions() {
  const list = useList({ path: "v1/sessions" }, { every: 5 });
  const columns = [
    { name: "Session", cell: (/** @type {SessionItem} */ session) => html`<code title=${session.id}>${shortId(session.id)}</code>` },
    { name: "Learner", cell: (/** @type {SessionItem} */ session) => session.learner },
    { name: "Features", isNumber: true, cell: (/** @type {SessionItem} */ session) => number(session.n) },
    { name: "Examples learnt", isNumber: true, cell: (/** @type {SessionItem} */ session) => number(session.position) },
    { name: "Opened", cell: (/** @type {SessionItem} */ session) => html`<${Time} at=${session.created_at} />` },
    { name: "Action", label: html`<span class="hidden-label">Action</span>`,
      cell: (/** @type {SessionItem} */ session) => html`<${Deletion} key=${session.id} session=${session} onDeleted=${list.reload} />` },
  ];
  return html`<${Panel} title="Sessions" actions=${html`<a href=${href("playground")}>Open the playground</a>`}>
    <p class="muted">A session learns one example at a time and stays until you delete the session. The playground opens one session per learner.</p>
    <${ListTable} list=${list} columns=${columns} caption="Sessions, newest first" empty="There is no session. The playground opens one." />
  <//>`;
}

/** @param {{session: SessionItem, onDeleted: () => void}} props */
function Deletion({ session, onDeleted }) {
  const action = useAction(async (abort) => {
    await call(deletion(session.id), abort);
    onDeleted();
  });
  return html`<${ConfirmButton} label="Delete" disabled=${action.isRunning} onConfirm=${action.start}
    question=${`Delete the session of ${session.learner} with ${number(session.position)} examples? Models that were saved from the session stay.`}><${CopyRecipe} recipe=${deletion(session.id)} /><//>
    <${Fault} error=${action.error} />`;
}
