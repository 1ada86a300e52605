/** A comparison of ticked jobs, which arrive a few at a time. The page says how many are left. */

import { html } from "../../vendor/htm-preact.mjs";
import { useMemo, useRef, useState } from "../../vendor/hooks.mjs";
import { Problem } from "../../service/requests.mjs";
import { useRepetition } from "../../service/resource.mjs";
import { Fault } from "../../view/problem.mjs";
import { Empty, PageHead, Panel, counted } from "../../view/parts.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { number } from "../../view/numbers.mjs";
import { CURVES_FIRST, CurveChart, ErrorChart, chartedIn } from "./charts.mjs";
import { entryOfJob, labelsOf } from "./entries.mjs";
import { useMany } from "./lanes.mjs";
import { CompareTable } from "./table.mjs";

/** Seconds between two readings of the jobs that have not ended. */
const LIVE_SECONDS = 3;

/** @param {{ids: string[], query: URLSearchParams}} props */
export function Selection({ ids, query }) {
  const [round, setRound] = useState(0);
  const jobs = useMany(ids, (id) => ({ path: `v1/jobs/${encodeURIComponent(id)}` }), entryOfJob, {
    again: String(round), isStale: (entry) => entry.status === "queued" || entry.status === "running", list: { path: "v1/jobs" } });
  const entries = useMemo(() => ids.flatMap((id) => jobs.values.get(id) ?? []), [jobs.values, ids.join(",")]);
  const hasOpen = entries.some((entry) => entry.status === "queued" || entry.status === "running");
  // A new round would abort the first load.
  const isLoading = useRef(true);
  isLoading.current = jobs.left > 0;
  useRepetition(hasOpen ? LIVE_SECONDS : 0, isLoading, () => setRound((before) => before + 1));
  const labels = useMemo(() => labelsOf(entries), [entries]);
  // The best of the jobs are known when all are loaded.
  const isChoiceOpen = jobs.left > 0 && ids.length > CURVES_FIRST && !query.get("chart");
  const charted = isChoiceOpen ? [] : chartedIn(entries, query, CURVES_FIRST);
  const gone = ids.filter((id) => isGone(jobs.errors.get(id)));
  const failure = [...jobs.errors.values()].find((error) => !isGone(error));
  return html`<div class="page">
    <${PageHead} title=${`Compare ${counted(ids.length, "job")}`} above=${html`<a href=${href("compare")}>Compare</a>`}>
      <a class="button" href=${href("jobs", { ticked: ids.join(",") })}>Change the selection</a>
    <//>
    ${jobs.left > 0 && html`<p class="loading" role="status">${number(ids.length - jobs.left)} of ${counted(ids.length, "job")} loaded…</p>`}
    ${gone.length > 0 && html`<div class="notice warn"><p>${counted(gone.length, "job")} of this comparison ${gone.length === 1 ? "does" : "do"} not exist any more.</p>
      <div><button type="button" onClick=${() => setQuery({ jobs: ids.filter((id) => !gone.includes(id)).join(",") })}>Leave out</button></div></div>`}
    ${failure && html`<${Fault} error=${failure} onRetry=${() => setRound(round + 1)} />`}
    ${entries.length > 0 ? html`
      ${!isChoiceOpen && html`<${CurveChart} entries=${entries} labels=${labels} charted=${charted} query=${query} noun="job" />
        <${ErrorChart} entries=${entries} labels=${labels} charted=${charted} query=${query} noun="job" />`}
      <div class="wide-on-paper"><${Panel} title="Parameters and results"><${CompareTable} entries=${entries} labels=${labels} query=${query}
        charted=${charted} caption="Compared jobs" /><//></div>`
      : jobs.left === 0 && html`<${Empty}>No job to compare. <a href=${href("compare")}>Choose jobs</a><//>`}
  </div>`;
}

/** @param {Error|undefined} error */
function isGone(error) {
  return error instanceof Problem && [400, 404].includes(error.status);
}
