/** The list of jobs: filters in the URL, ticks, and the actions on the ticked jobs. */

import { html } from "../../vendor/htm-preact.mjs";
import { useList, useResource } from "../../service/resource.mjs";
import { Field, PageHead, Select } from "../../view/parts.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { ListTable } from "../../view/rows.mjs";
import { JOB_COLUMNS, tickColumn } from "./columns.mjs";
import { Ticked } from "./ticked.mjs";
import { STATUSES, TASKS, pauseOf } from "./words.mjs";

/** @typedef {import("./words.mjs").Job} Job */

/** The jobs that are ticked, in the order of the ticks. @param {URLSearchParams} query @param {string} [name] */
export function tickedIn(query, name = "ticked") {
  return (query.get(name) ?? "").split(",").filter(Boolean);
}

/** @param {{query: URLSearchParams}} props */
export function JobList({ query }) {
  const filter = { status: query.get("status") ?? "", task: query.get("task") ?? "", learner: query.get("learner") ?? "" };
  const list = useList({ path: "v1/jobs", query: filter }, { every: pauseOf });
  const ticked = tickedIn(query);
  const hasFilter = Object.values(filter).some(Boolean);
  const empty = hasFilter ? html`No job matches. <a href=${href("jobs")}>Show all jobs</a>`
    : html`No job yet. <a href=${href("train")}>Train a learner</a> or <a href=${href("experiments")}>run an experiment</a>.`;
  return html`<div class="page">
    <${PageHead} title="Jobs">
      <a class="button primary" href=${href("train")}>New job</a>
    <//>
    <div class="panel">
      <${Filters} filter=${filter} />
      <${Ticked} ids=${ticked} jobs=${list.items} onChange=${list.reload} />
      <${ListTable} list=${list} columns=${[tickColumn(ticked), ...JOB_COLUMNS]} caption="Jobs, the newest first" empty=${empty}
        height=${640} isChosen=${(/** @type {Job} */ job) => ticked.includes(job.id)} />
    </div>
  </div>`;
}

/** @param {{filter: {status: string, task: string, learner: string}, tasks?: string[]}} props */
export function Filters({ filter, tasks = Object.keys(TASKS).filter((task) => task !== "experiment_part") }) {
  const learners = useResource({ path: "v1/learners" });
  const names = new Set([...(learners.value?.items ?? []).map((/** @type {{name: string}} */ learner) => learner.name), ...(filter.learner ? [filter.learner] : [])]);
  /** @type {[keyof typeof filter, string, [string, string][]][]} */
  const fields = [
    ["status", "Status", STATUSES.map((status) => [status, status])],
    ["task", "Task", tasks.map((task) => [task, TASKS[task] ?? task])],
    ["learner", "Learner", [...names].map((name) => [name, name])],
  ];
  return html`<div class="fields no-print">${fields.filter(([, , options]) => options.length !== 1).map(([name, label, options]) => html`<${Field} key=${name} label=${label}>
    ${(/** @type {object} */ attributes) => html`<${Select} attributes=${attributes} value=${filter[name]} onChange=${(/** @type {string} */ value) => setQuery({ [name]: value })}
      options=${[["", "all"], ...options]} />`}<//>`)}</div>`;
}
