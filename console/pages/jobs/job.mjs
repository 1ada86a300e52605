/** The page of one job: its state, its result by task, its parts and its request. */

import { html } from "../../vendor/htm-preact.mjs";
import { Fault } from "../../view/problem.mjs";
import { PageHead, StatusBadge, Time } from "../../view/parts.mjs";
import { href } from "../../view/place.mjs";
import { duration } from "../../view/numbers.mjs";
import { CancelJob, DeleteJob } from "./actions.mjs";
import { againHref } from "./again.mjs";
import { Failed, Queued, Running } from "./state.mjs";
import { Parts } from "./parts.mjs";
import { Request } from "./request.mjs";
import { Result } from "./result.mjs";
import { useJob } from "./live.mjs";
import { isEnded, secondsOf, shortId, taskName, titleOf } from "./words.mjs";

/** @typedef {import("./words.mjs").Job} Job */

/** @param {{id: string, query: URLSearchParams}} props */
export function JobPage({ id, query }) {
  const { job, error, curve, reload } = useJob(id);
  const jobs = html`<a href=${href("jobs")}>Jobs</a>`;
  if (!job) return html`<div class="page"><${PageHead} title="Job" above=${jobs} />
    ${error ? html`<${Fault} error=${error} onRetry=${reload} />` : html`<p class="loading" role="status">Loading…</p>`}</div>`;
  return html`<div class="page">
    <${JobHead} job=${job} onChange=${reload} />
    ${error && html`<${Fault} error=${error} onRetry=${reload} />`}
    ${job.status === "queued" && html`<${Queued} job=${job} />`}
    ${job.status === "running" && html`<${Running} job=${job} curve=${curve} />`}
    ${job.error && html`<${Failed} job=${job} error=${job.error} />`}
    ${(job.result || job.parts) && html`<${Result} job=${job} query=${query} />`}
    ${isEnded(job) && !job.result && !job.error && html`<div class="notice"><p>The job was cancelled before it began. It has no result.</p></div>`}
    ${job.parts && html`<${Parts} job=${job} query=${query} />`}
    <${Request} job=${job} />
  </div>`;
}

/** @param {{job: Job, onChange: () => void}} props */
function JobHead({ job, onChange }) {
  const above = html`<a href=${href("jobs")}>Jobs</a>${job.parent && html` / <a href=${href(`jobs/${job.parent}`)}>${shortId(job.parent)}</a>`} / <code>${job.id}</code>`;
  const again = againHref(job);
  const seconds = secondsOf(job);
  return html`<${PageHead} title=${titleOf(job)} above=${above}>
      ${again && html`<a class="button" href=${again}>Edit and run again</a>`}
      ${isEnded(job) ? !job.parent && html`<${DeleteJob} job=${job} />` : html`<${CancelJob} job=${job} onChange=${onChange} />`}
    <//>
    <div class="row">
      <${StatusBadge} status=${job.status} />
      <span>${taskName(job.task)}${job.learner && html` with <strong>${job.learner.name}</strong>`}</span>
      <span class="muted">submitted <${Time} at=${job.created_at} />${seconds !== null && `, ran ${duration(seconds)}`}</span>
    </div>`;
}
