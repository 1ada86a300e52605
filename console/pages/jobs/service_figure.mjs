/** The picture and the table that the service itself makes of a job. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useState } from "../../vendor/hooks.mjs";
import { send } from "../../service/requests.mjs";
import { useAction } from "../../service/resource.mjs";
import { download, nameOfFile } from "../../view/download.mjs";
import { Fault } from "../../view/problem.mjs";
import { CopyRecipe } from "../../view/recipe.mjs";
import { titleOf } from "./words.mjs";

/** @typedef {import("./words.mjs").Job} Job */

/** @param {{job: Job}} props */
export function ServiceFigure({ job }) {
  const [isOpen, setIsOpen] = useState(false);
  const recipe = (/** @type {string} */ format) => ({ operation: "get_job_figure", arguments: [job.id], path: `v1/jobs/${job.id}/figure`, query: { format } });
  const save = useAction(async (abort) => saved("svg", "image/svg+xml", abort));
  const saveTable = useAction(async (abort) => saved("csv", "text/csv", abort));
  const saved = async (/** @type {string} */ format, /** @type {string} */ type, /** @type {AbortSignal} */ abort) => {
    const answer = await send(recipe(format), abort);
    download(`${nameOfFile(titleOf(job))}.${format}`, type, await answer.text());
  };
  return html`<details class="no-print" onToggle=${(/** @type {Event} */ event) => setIsOpen(/** @type {HTMLDetailsElement} */ (event.target).open)}>
    <summary>The figure as the API draws it, with a fixed size and font</summary>
    ${isOpen && html`<div class="stack">
      <div class="row spread"><div class="row">
        <button type="button" class="small-button" disabled=${save.isRunning} onClick=${save.start}>SVG of the API</button>
        <button type="button" class="small-button" disabled=${saveTable.isRunning} onClick=${saveTable.start}>CSV of the API</button></div>
        <${CopyRecipe} recipe=${recipe("svg")} /></div>
      <${Fault} error=${save.error ?? saveTable.error} />
      <${Picture} job=${job} />
    </div>`}
  </details>`;
}

/** @param {{job: Job}} props */
function Picture({ job }) {
  const [state, setState] = useState(/** @type {{url: string, error: Error|null}} */ ({ url: "", error: null }));
  useEffect(() => {
    const abort = new AbortController();
    let url = "";
    send({ path: `v1/jobs/${job.id}/figure`, query: { format: "svg" } }, abort.signal).then((answer) => answer.text()).then((text) => {
      url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
      setState({ url, error: null });
    }).catch((error) => { if (!abort.signal.aborted) setState({ url: "", error }); });
    return () => {
      abort.abort();
      if (url) URL.revokeObjectURL(url);
    };
  }, [job.id, job.status]);
  if (state.error) return html`<${Fault} error=${state.error} />`;
  return state.url ? html`<img class="picture" src=${state.url} alt=${`Figure of ${titleOf(job)}`} />` : html`<p class="loading" role="status">Loading…</p>`;
}
