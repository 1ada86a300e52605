/** The gallery of past runs: each experiment with its state, and with its picture as soon as its card is in view. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useRef, useState } from "../../vendor/hooks.mjs";
import { useList } from "../../service/resource.mjs";
import { send } from "../../service/requests.mjs";
import { Empty, Panel, StatusBadge, Time } from "../../view/parts.mjs";
import { href } from "../../view/place.mjs";
import { Fault } from "../../view/problem.mjs";
import { duration, number, percent } from "../../view/numbers.mjs";
import { CopyRecipe } from "../../view/recipe.mjs";
import { isEnded, pauseOf, secondsOf, titleOf } from "../jobs/words.mjs";

/** @typedef {import("./words.mjs").Schemas["Job"]} Job */

const REQUEST = { path: "v1/jobs", query: { task: "experiment" } };

export function Gallery() {
  const list = useList(REQUEST, { every: pauseOf });
  return html`<${Panel} title="Past runs" actions=${html`<${CopyRecipe} recipe=${{ operation: "list_jobs", ...REQUEST }} />`}>
    <${Fault} error=${list.error} onRetry=${list.reload} />
    ${list.isLoading ? html`<p class="loading" role="status">Loading…</p>`
      : list.items.length === 0 && !list.error ? html`<${Empty}>No experiment yet. <a href=${href("experiments")}>Run a figure of the papers</a><//>`
      : html`<div class="cards wide-cards">${list.items.map((/** @type {Job} */ job) => html`<${RunCard} key=${job.id} job=${job} />`)}</div>`}
    ${list.hasMore && html`<div><button onClick=${list.more}>Show older runs</button></div>`}
  <//>`;
}

/** The name of the job, or the title of its figure. @param {Job} job */
function nameOf(job) {
  return job.name || (job.result?.task === "experiment" ? job.result.title : titleOf(job));
}

/** @param {{job: Job}} props */
function RunCard({ job }) {
  const { fraction, seconds_left: left } = job.progress;
  return html`<article class="card">
    <h3><a href=${href(`jobs/${job.id}`)}>${nameOf(job)}</a></h3>
    <div class="row small"><${StatusBadge} status=${job.status} /><span class="muted"><${Time} at=${job.created_at} />${isEnded(job) && `, ran ${duration(secondsOf(job))}`}</span></div>
    ${job.status === "running" && html`<progress aria-label=${`Progress of ${nameOf(job)}`} value=${fraction ?? 0} max="1"></progress>
      <p class="small">${percent(fraction ?? 0, 0)}${typeof left === "number" && `, about ${duration(left)} left`}</p>`}
    ${job.error && html`<p class="small">${job.error.detail}</p>`}
    ${job.result?.task === "experiment" && html`<${Runs} result=${job.result} /><${Picture} job=${job} />`}
  </article>`;
}

/** @param {{result: import("./words.mjs").Schemas["ExperimentResult"]}} props */
function Runs({ result }) {
  return html`<p class="small muted">${result.runs < result.runs_planned ? `${number(result.runs)} of ${number(result.runs_planned)} runs` : `${number(result.runs)} runs`}</p>`;
}

/** The figure of the service. The card asks for the figure when the card is in view. @param {{job: Job}} props */
function Picture({ job }) {
  const holder = useRef(/** @type {HTMLElement|null} */ (null));
  const [state, setState] = useState({ url: "", isMissing: false });
  useEffect(() => {
    const abort = new AbortController();
    let url = "";
    const load = () => send({ path: `v1/jobs/${job.id}/figure`, query: { format: "svg" } }, abort.signal).then((answer) => answer.blob()).then((picture) => {
      url = URL.createObjectURL(new Blob([picture], { type: "image/svg+xml" }));
      setState({ url, isMissing: false });
    }).catch(() => { if (!abort.signal.aborted) setState({ url: "", isMissing: true }); });
    const watch = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watch.disconnect();
      load();
    }, { rootMargin: "200px" });
    if (holder.current) watch.observe(holder.current);
    return () => {
      watch.disconnect();
      abort.abort();
      if (url) URL.revokeObjectURL(url);
    };
  }, [job.id]);
  return html`<div class="picture-place" ref=${holder}>${state.url ? html`<img class="picture" src=${state.url} alt=${`Figure of ${nameOf(job)}`} />`
    : html`<p class="small muted">${state.isMissing ? "The picture could not be loaded." : "Loading the picture…"}</p>`}</div>`;
}
