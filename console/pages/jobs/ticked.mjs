/** The actions on ticked jobs: compare, cancel, delete. A tick outlives the page of the list, so an action counts by id. */

import { html } from "../../vendor/htm-preact.mjs";
import { useState } from "../../vendor/hooks.mjs";
import { curl, python } from "../../service/recipes.mjs";
import { Problem, call, patiently } from "../../service/requests.mjs";
import { useAction } from "../../service/resource.mjs";
import { ConfirmButton, counted } from "../../view/parts.mjs";
import { Fault } from "../../view/problem.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { CopyButton } from "../../view/recipe.mjs";
import { cancelling, deleting } from "./actions.mjs";
import { isEnded } from "./words.mjs";

/** @typedef {import("./words.mjs").Job} Job */
/** @typedef {import("../../service/recipes.mjs").Recipe} Recipe */

/** Requests at once. */
const LANES = 4;

/** @param {{ids: string[], jobs: Job[], onChange: () => void}} props */
export function Ticked({ ids, jobs, onChange }) {
  const shown = jobs.filter((job) => ids.includes(job.id));
  const isAllTicked = jobs.length > 0 && shown.length === jobs.length;
  const all = () => setQuery({ ticked: isAllTicked ? "" : [...new Set([...ids, ...jobs.map((job) => job.id)])].join(",") });
  const ended = shown.filter(isEnded).map((job) => job.id);
  const open = shown.filter((job) => !isEnded(job)).map((job) => job.id);
  const done = (/** @type {string[]} */ gone) => {
    setQuery({ ticked: ids.filter((id) => !gone.includes(id)).join(",") });
    onChange();
  };
  if (jobs.length + ids.length === 0) return null;
  return html`<div class="row spread no-print">
    <div class="row">
      <button type="button" class="small-button" disabled=${jobs.length === 0} onClick=${all}>${isAllTicked ? "Clear the shown" : "Tick all shown"}</button>
      <span class="small muted" role="status">${ids.length === 0 ? "Tick jobs to compare, cancel or delete them." : `${counted(ids.length, "job")} ticked`}</span>
      ${ids.length > shown.length && html`<button type="button" class="plain small" onClick=${() => setQuery({ ticked: "" })}>Clear all</button>`}
    </div>
    ${ids.length > 0 && html`<div class="row">
      ${ids.length > 1 ? html`<a class="button primary" href=${href("compare", { jobs: ids.join(",") })}>Compare ${ids.length}</a>` : html`<span class="small muted">Tick two to compare.</span>`}
      ${open.length > 0 && html`<${OnEach} verb="Cancel" ids=${open} recipe=${cancelling} onDone=${() => onChange()}
        question=${`Cancel ${counted(open.length, "job")}? The service keeps the results so far.`} />`}
      ${ended.length > 0 && html`<${OnEach} verb="Delete" ids=${ended} recipe=${deleting} onDone=${done}
        question=${`Delete ${counted(ended.length, "job")}? Their models stay.`} />`}
    </div>`}
  </div>`;
}

/**
 * A button that sends one request per job.
 * @param {{verb: string, ids: string[], recipe: (id: string) => Recipe, question: string, onDone: (ids: string[]) => void}} props
 */
function OnEach({ verb, ids, recipe, question, onDone }) {
  const [left, setLeft] = useState(0);
  const action = useAction(async (abort) => {
    const waiting = [...ids];
    /** @type {string[]} */
    const done = [];
    /** @type {Error|null} */
    let failure = null;
    const lane = async () => {
      for (let id = waiting.shift(); id && !abort.aborted; id = waiting.shift()) {
        setLeft(waiting.length + 1);
        const request = recipe(id);
        try {
          await patiently(() => call(request, abort), abort, 5);
          done.push(id);
        } catch (error) {
          // Another person may have deleted or ended the job since.
          if (error instanceof Problem && [404, 409].includes(error.status)) done.push(id);
          else failure ??= /** @type {Error} */ (error);
        }
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    setLeft(0);
    onDone(done);
    if (failure) throw failure;
  });
  const all = (/** @type {(recipe: Recipe) => string} */ write) => () => ids.map((id) => write(recipe(id))).join("\n\n");
  return html`<span class="row">
    <${ConfirmButton} label=${action.isRunning ? `${verb}: ${left} left` : `${verb} ${ids.length}`} question=${question} disabled=${action.isRunning} onConfirm=${action.start} />
    <${CopyButton} label=${`${verb} as curl`} text=${all(curl)} /><${CopyButton} label=${`${verb} as Python`} text=${all(python)} />
    <${Fault} error=${action.error} /></span>`;
}
