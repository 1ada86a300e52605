/** The page Compare: ticked jobs at `?jobs=a,b`, or the learners of one comparison or grid at `?job=a`. */

import { html } from "../vendor/htm-preact.mjs";
import { PageHead } from "../view/parts.mjs";
import { Loaded } from "../view/problem.mjs";
import { href } from "../view/place.mjs";
import { Comparison } from "./compare/comparison.mjs";
import { Choice } from "./compare/choice.mjs";
import { Selection } from "./compare/selection.mjs";
import { useResource } from "../service/resource.mjs";
import { isEnded, shortId, titleOf } from "./jobs/words.mjs";

/** @typedef {import("./jobs/words.mjs").Job} Job */

/** @param {{query: URLSearchParams}} props */
export function ComparePage({ query }) {
  const job = query.get("job");
  const jobs = (query.get("jobs") ?? "").split(",").filter(Boolean);
  if (job) return html`<${OfTask} id=${job} query=${query} />`;
  if (jobs.length > 0) return html`<${Selection} ids=${[...new Set(jobs)]} query=${query} />`;
  return html`<${Choice} query=${query} />`;
}

/** @param {{id: string, query: URLSearchParams}} props */
function OfTask({ id, query }) {
  const spec = { path: `v1/jobs/${encodeURIComponent(id)}` };
  const job = useResource(spec, { every: 3, until: isEnded });
  const value = /** @type {Job|null} */ (job.value);
  return html`<div class="page">
    <${PageHead} title=${value ? titleOf(value) : "Compare"} above=${html`<a href=${href("compare")}>Compare</a> / <a href=${href(`jobs/${id}`)}>${shortId(id)}</a>`} />
    <${Loaded} resource=${job}>${(/** @type {Job} */ value) => (value.task === "compare" || value.task === "grid"
      ? html`${!isEnded(value) && html`<div class="notice" role="status"><p>The job is ${value.status}. The table grows with its results.</p></div>`}
        <${Comparison} job=${value} query=${query} />`
      : html`<div class="notice warn"><p>This job is neither a comparison nor a grid. <a href=${href("compare", { jobs: id })}>Compare the job with others</a></p></div>`)}<//>
  </div>`;
}
