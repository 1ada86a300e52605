/** The actions on ticked jobs: compare, cancel, delete. A tick outlives the page of the list, so actions go by id. */

import { html } from "../../vendor/htm-preact.mjs";
import { useState } from "../../vendor/hooks.mjs";
import { announce } from "../../service/deletions.mjs";
import { curl, python } from "../../service/recipes.mjs";
import { call, patiently } from "../../service/requests.mjs";
import { useAction } from "../../service/resource.mjs";
import { ConfirmButton, counted } from "../../view/parts.mjs";
import { Fault } from "../../view/problem.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { CopyButton } from "../../view/recipe.mjs";
import { cancellingAll, deletingAll } from "./actions.mjs";
import { isEnded, listOf, shortId } from "./words.mjs";

/** @typedef {import("./words.mjs").Schemas} Schemas */
/** @typedef {import("./words.mjs").Job} Job */
/** @typedef {import("../../service/recipes.mjs").Recipe} Recipe */

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
    <div class="row">
      ${ids.length > 1 ? html`<a class="button primary" href=${href("compare", { jobs: ids.join(",") })}>Compare ${ids.length}</a>` : ids.length === 1 && html`<span class="small muted">Tick two to compare.</span>`}
      <${OnAll} verb="Cancel" ids=${open} recipe=${cancellingAll} onDone=${() => onChange()}
        question=${`Cancel ${counted(open.length, "job")}? The service keeps the results so far.`} />
      <${OnAll} verb="Delete" ids=${ended} recipe=${deletingAll} onDone=${done}
        question=${`Delete ${counted(ended.length, "job")}? Their models stay.`} />
    </div>
  </div>`;
}

/** Jobs of one request. The service refuses more. */
const IDS_MAX = 1000;

/**
 * A button that sends one request for many jobs. Without jobs it only tells what the last request left: a refused
 * job may end or vanish at once, and its refusal would go with the button.
 * @param {{verb: string, ids: string[], recipe: (ids: string[]) => Recipe, question: string, onDone: (ids: string[]) => void}} props
 */
function OnAll({ verb, ids, recipe, question, onDone }) {
  const [refusals, setRefusals] = useState(/** @type {string[]} */ ([]));
  const requests = Array.from({ length: Math.ceil(ids.length / IDS_MAX) }, (_, place) => recipe(ids.slice(place * IDS_MAX, (place + 1) * IDS_MAX)));
  const action = useAction(async (abort) => {
    setRefusals([]);
    for (const request of requests) {
      const { items } = /** @type {Schemas["JobOutcomes"]} */ (await patiently(() => call(request, abort), abort, 5));
      // Another person may have deleted a job since.
      const done = items.filter(({ refusal }) => !refusal || refusal.code === "not-found").map(({ id }) => id);
      if (verb === "Delete") done.forEach((id) => announce(`v1/jobs/${id}`));
      setRefusals((before) => [...new Set([...before, ...items.filter(({ id }) => !done.includes(id)).map(({ id, refusal }) => `${shortId(id)}: ${refusal?.detail}`)])]);
      onDone(done);
    }
  });
  const all = (/** @type {(recipe: Recipe) => string} */ write) => () => requests.map(write).join("\n\n");
  return html`<span class="row">
    ${ids.length > 0 && html`<${ConfirmButton} label=${action.isRunning ? `${verb}…` : `${verb} ${ids.length}`} question=${question} disabled=${action.isRunning} onConfirm=${action.start} />
    <${CopyButton} label=${`${verb} as curl`} text=${all(curl)} /><${CopyButton} label=${`${verb} as Python`} text=${all(python)} />`}
    <${Fault} error=${action.error} />
    ${refusals.length > 0 && html`<span class="small bad-text" role="alert">${counted(refusals.length, "job")} refused. ${listOf(refusals, 3)}</span>`}</span>`;
}
