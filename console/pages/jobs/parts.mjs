/** The parts of a job: how many have which status, and a table of any length. */

import { html } from "../../vendor/htm-preact.mjs";
import { useList, useResource } from "../../service/resource.mjs";
import { Facts, Panel, Select, StatusBadge } from "../../view/parts.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { duration, number } from "../../view/numbers.mjs";
import { ListTable } from "../../view/rows.mjs";
import { STATUSES, isEnded, outcomeOf, secondsOf, shortId } from "./words.mjs";

/** @typedef {import("./words.mjs").Job} Job */

/** Jobs on the page that a count reads. A larger number is written as "100 or more". */
const COUNTED_MAX = 100;

/** @type {import("../../view/rows.mjs").Column<Job>[]} */
const COLUMNS = [
  { name: "part", isNumber: true, cell: (job) => html`<a href=${href(`jobs/${job.id}`)}>${typeof job.part === "number" ? number(job.part + 1) : shortId(job.id)}</a>` },
  { name: "status", cell: (job) => html`<${StatusBadge} status=${job.status} />` },
  { name: "learner", cell: (job) => job.learner?.name ?? "–" },
  { name: "seed", isNumber: true, cell: (job) => String(job.seed) },
  { name: "outcome", cell: (job) => html`<span title=${outcomeOf(job)}>${outcomeOf(job) || "–"}</span>` },
  { name: "ran", isNumber: true, cell: (job) => duration(secondsOf(job)) },
];

/** @param {{job: Job, query: URLSearchParams}} props */
export function Parts({ job, query }) {
  const status = query.get("status") ?? "";
  const isLive = !isEnded(job);
  const list = useList({ path: "v1/jobs", query: { parent: job.id, status } }, { every: isLive ? 3 : 0, again: job.status });
  const total = job.parts?.total ?? 0;
  const left = job.parts?.left ?? 0;
  return html`<${Panel} title="Parts">
    <${Facts} of=${[["Total", html`<strong>${number(total)}</strong>`], ["Ended", html`<strong>${number(total - left)}</strong>`],
      ["Left", html`<strong>${number(left)}</strong>`],
      ["Running", isLive && html`<${Count} job=${job} status="running" />`],
      ["Failed", html`<${Count} job=${job} status="failed" />`], ["Cancelled", html`<${Count} job=${job} status="cancelled" />`]]} />
    <div class="row no-print"><span class="small" id="part-status">Status</span>
      <${Select} attributes=${{ "aria-labelledby": "part-status" }} value=${status} onChange=${(/** @type {string} */ value) => setQuery({ status: value })}
        options=${[["", "all"], ...STATUSES.map((name) => [name, name])]} /></div>
    <${ListTable} list=${list} columns=${COLUMNS} caption="Parts of the job" height=${440}
      empty=${status ? `No part is ${status}.` : "No part yet."} />
  <//>`;
}

/** @param {{job: Job, status: string}} props */
function Count({ job, status }) {
  const parts = useResource({ path: "v1/jobs", query: { parent: job.id, status, limit: COUNTED_MAX } }, { every: isEnded(job) ? 0 : 5, again: job.status });
  const count = parts.value?.items.length ?? null;
  return html`<strong>${count === null ? "…" : parts.value.next_cursor ? `${number(count)} or more` : number(count)}</strong>`;
}
