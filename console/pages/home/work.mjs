/** The caller's work: jobs that run or wait, and jobs that ended recently. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect } from "../../vendor/hooks.mjs";
import { useResource } from "../../service/resource.mjs";
import { duration } from "../../view/numbers.mjs";
import { Empty, Panel, StatusBadge, Time } from "../../view/parts.mjs";
import { href } from "../../view/place.mjs";
import { Loaded } from "../../view/problem.mjs";
import { outcomeOf, taskName, titleOf } from "../jobs/words.mjs";

/** @typedef {import("#api").components["schemas"]["Job"]} Job */
/** @typedef {import("../../service/resource.mjs").Resource<{items: Job[], next_cursor?: string|null}>} Jobs */

/** Seconds between two looks at the jobs that run and wait. */
const EVERY = 3;
/** Seconds between two looks at the jobs that ended. Their documents contain results, so the console reads them less often. */
const EVERY_ENDED = 15;
const SHOWN = 8;

/** @param {Job["status"]} status  @param {number} every  @returns {Jobs} */
function useJobs(status, every) {
  return useResource({ path: "v1/jobs", query: { status, limit: SHOWN } }, { every });
}

/** The jobs of the caller. The ended jobs are read again as soon as a job no longer runs or waits. */
export function useWork() {
  const running = useJobs("running", EVERY);
  const queued = useJobs("queued", EVERY);
  const succeeded = useJobs("succeeded", EVERY_ENDED);
  const failed = useJobs("failed", EVERY_ENDED);
  const cancelled = useJobs("cancelled", EVERY_ENDED);
  const ended = [succeeded, failed, cancelled];
  const active = [running, queued].flatMap((jobs) => jobs.value?.items ?? []).map((job) => job.id).join(" ");
  useEffect(() => {
    for (const jobs of ended) jobs.reload();
  }, [active]);
  return { running, queued, ended };
}

/** @typedef {ReturnType<typeof useWork>} Work */

/** @param {{work: Work}} props */
export function Running({ work }) {
  const { running, queued } = work;
  return html`<${Panel} title="Running and waiting" actions=${html`<a href=${href("jobs")}>All jobs</a>`}>
    <${Loaded} resource=${running}>${(/** @type {NonNullable<Jobs["value"]>} */ first) => {
      // A job that starts between the two answers is in both.
      const started = new Set(first.items.map((job) => job.id));
      const waiting = (queued.value?.items ?? []).filter((job) => !started.has(job.id));
      const jobs = [...first.items, ...waiting];
      const isCut = first.next_cursor || queued.value?.next_cursor;
      if (jobs.length === 0) return html`<${Empty}>No job runs or waits.<//>`;
      return html`<ul class="entries">${jobs.map((job) => html`<${ActiveJob} key=${job.id} job=${job} />`)}</ul>
        ${isCut && html`<p class="small muted">The newest of each are shown. <a href=${href("jobs")}>All jobs</a> has the others.</p>`}`;
    }}<//>
  <//>`;
}

/** @param {{job: Job}} props */
function ActiveJob({ job }) {
  const { fraction, seconds_left: left } = job.progress;
  return html`<li>
    <div class="entry"><${JobLink} job=${job} /><${StatusBadge} status=${job.status} /></div>
    ${job.status === "running" && html`<progress aria-label=${`Progress of ${titleOf(job)}`} max="1" value=${fraction ?? undefined}></progress>`}
    <p class="small muted">${job.status === "queued" ? html`Waits since <${Time} at=${job.created_at} />. The page of the job tells the reason.`
      : `${outcomeOf(job)}${typeof left === "number" ? `, ${duration(left)} left` : ""}`}</p>
  </li>`;
}

/** @param {{work: Work}} props */
export function Ended({ work }) {
  const [succeeded] = /** @type {[Jobs, Jobs, Jobs]} */ (work.ended);
  return html`<${Panel} title="Recently ended">
    <${Loaded} resource=${succeeded}>${() => {
      const jobs = work.ended.flatMap((found) => found.value?.items ?? [])
        .sort((one, other) => String(other.finished_at).localeCompare(String(one.finished_at))).slice(0, SHOWN);
      if (jobs.length === 0) return html`<${Empty}>No job has ended yet. Train a sample to see a result here.<//>`;
      return html`<ul class="entries">${jobs.map((job) => html`<li key=${job.id}>
        <div class="entry"><${JobLink} job=${job} /><${StatusBadge} status=${job.status} /></div>
        <p class="small muted">${outcomeOf(job)}${outcomeOf(job) && ", "}<${Time} at=${job.finished_at} /></p></li>`)}</ul>`;
    }}<//>
  <//>`;
}

/** @param {{job: Job}} props */
export function JobLink({ job }) {
  const what = [job.name && taskName(job.task), job.name && job.learner?.name].filter(Boolean).join(", ");
  return html`<div class="stack tight"><a class="title-link" href=${href(`jobs/${job.id}`)}>${titleOf(job)}</a>
    ${what && html`<span class="small muted">${what}</span>`}</div>`;
}
