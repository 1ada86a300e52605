/** The choice of what to compare: trainings by ticks, or a comparison or grid that the service ran. */

import { html } from "../../vendor/htm-preact.mjs";
import { useList } from "../../service/resource.mjs";
import { PageHead, Panel, StatusBadge, Time, counted } from "../../view/parts.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { ListTable } from "../../view/rows.mjs";
import { JOB_COLUMNS, tickColumn } from "../jobs/columns.mjs";
import { Filters, tickedIn } from "../jobs/list.mjs";
import { outcomeOf, pauseOf, shortId, titleOf } from "../jobs/words.mjs";

/** @typedef {import("../jobs/words.mjs").Job} Job */

/** @type {import("../../view/rows.mjs").Column<Job>[]} */
const TASK_COLUMNS = [
  { name: "job", cell: (job) => html`<a href=${href("compare", { job: job.id })}>${job.name ?? `${titleOf(job)} ${shortId(job.id)}`}</a>` },
  { name: "status", cell: (job) => html`<${StatusBadge} status=${job.status} />` },
  { name: "outcome", cell: (job) => outcomeOf(job) || "–" },
  { name: "submitted", cell: (job) => html`<${Time} at=${job.created_at} />` },
];

/** @param {{query: URLSearchParams}} props */
export function Choice({ query }) {
  const filter = { status: query.get("status") ?? "", task: "train", learner: query.get("learner") ?? "" };
  const trainings = useList({ path: "v1/jobs", query: filter }, { every: pauseOf });
  const comparisons = useList({ path: "v1/jobs", query: { task: "compare" } }, { every: pauseOf });
  const grids = useList({ path: "v1/jobs", query: { task: "grid" } }, { every: pauseOf });
  const ticked = tickedIn(query);
  const all = () => setQuery({ ticked: [...new Set([...ticked, ...trainings.items.map((/** @type {Job} */ job) => job.id)])].join(",") });
  return html`<div class="page">
    <${PageHead} title="Compare">
      <a class="button" href=${href("train", { task: "compare" })}>New comparison of learners</a>
    <//>
    <${Panel} title="Tick trainings to compare">
      <${Filters} filter=${filter} tasks=${["train"]} />
      <div class="row spread no-print">
        <div class="row"><button type="button" class="small-button" disabled=${trainings.items.length === 0} onClick=${all}>Tick all shown</button>
          ${ticked.length > 0 && html`<button type="button" class="small-button" onClick=${() => setQuery({ ticked: "" })}>Clear</button>`}</div>
        ${ticked.length > 1 ? html`<a class="button primary" href=${href("compare", { jobs: ticked.join(",") })}>Compare ${counted(ticked.length, "job")}</a>`
          : html`<span class="small muted" role="status">Tick two or more trainings.</span>`}
      </div>
      <${ListTable} list=${trainings} columns=${[tickColumn(ticked), ...JOB_COLUMNS]} caption="Trainings, the newest first" height=${440}
        empty=${html`No training matches. <a href=${href("train")}>Train a learner</a>`} isChosen=${(/** @type {Job} */ job) => ticked.includes(job.id)} />
    <//>
    <${Panel} title="Comparisons by the service"><p>The service trains several learners on the same splits of the data.</p>
      <${ListTable} list=${comparisons} columns=${TASK_COLUMNS} caption="Comparisons" height=${280}
        empty=${html`No comparison yet. <a href=${href("train", { task: "compare" })}>Compare learners on your data</a>`} /><//>
    <${Panel} title="Grids"><p>The service trains with every combination of parameters.</p>
      <${ListTable} list=${grids} columns=${TASK_COLUMNS} caption="Grids" height=${280} empty=${html`No grid yet. <a href=${href("train", { task: "grid" })}>Try values of parameters</a>`} /><//>
  </div>`;
}
