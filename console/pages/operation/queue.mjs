/** The queue by owner, the caller's waiting jobs, and the processes that compute. */

import { html } from "../../vendor/htm-preact.mjs";
import { useResource } from "../../service/resource.mjs";
import { bytes, duration, number } from "../../view/numbers.mjs";
import { Empty, Facts, Panel, Time } from "../../view/parts.mjs";
import { href } from "../../view/place.mjs";
import { Loaded } from "../../view/problem.mjs";
import { shortId } from "../jobs/words.mjs";
import { JobLink } from "../home/work.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */

/** Seconds between two looks. */
const EVERY = 3;

export function Queue() {
  const queue = useResource({ path: "v1/queue" }, { every: EVERY });
  return html`<${Panel} title="Queue"><${Loaded} resource=${queue}>${(/** @type {Schemas["Queue"]} */ document) => html`<${QueueLoad} of=${document} />`}<//><//>`;
}

/** @param {{of: Schemas["Queue"]}} props */
function QueueLoad({ of: { queued, running, parked, oldest_age_seconds: age, owners } }) {
  const own = owners.find((owner) => owner.own);
  return html`<${Facts} of=${[
      ["Waiting", html`<strong>${number(queued)}</strong>`],
      ["Running", html`<strong>${number(running)}</strong>`],
      ["Parked", html`<strong>${number(parked)}</strong>`],
      ["Oldest waits", typeof age === "number" && html`<strong>${duration(age)}</strong>`],
      ["Your weight", own && html`<strong>${number(own.weight)}</strong>`],
      ["Your time per weight", own && html`<strong>${duration(Math.max(0, own.virtual_seconds ?? 0))}</strong>`],
    ]} />
    ${owners.length > 0 && html`<div class="scroll tall" tabindex="0" role="region" aria-label="The queue by key"><table>
      <thead><tr><th scope="col">Key</th><th scope="col" class="number">Waiting</th><th scope="col" class="number">Running</th>
        <th scope="col" class="number">Parked</th></tr></thead>
      <tbody>${owners.map((owner, index) => html`<tr key=${index} class=${owner.own ? "chosen" : ""}>
        <th scope="row">${ownerName(owner)}</th><td class="number">${number(owner.queued)}</td>
        <td class="number">${number(owner.running)}</td><td class="number">${number(owner.parked)}</td></tr>`)}</tbody>
    </table></div>`}
    <p class="small muted">The key with the fewest computed seconds per weight goes first. A parked job has begun and yields to other jobs.</p>`;
}

/** @param {Schemas["QueueOwner"]} owner */
function ownerName({ owner, own: isOwn }) {
  if (!isOwn) return "another key";
  return owner === "anonymous" ? "everybody" : "your key";
}

/** The newest jobs of the caller that wait. */
export function Waiting() {
  const jobs = useResource({ path: "v1/jobs", query: { status: "queued", limit: 6 } }, { every: EVERY });
  return html`<${Panel} title="Your waiting jobs" actions=${html`<a href=${href("jobs", { status: "queued" })}>All waiting jobs</a>`}>
    <${Loaded} resource=${jobs}>${(/** @type {import("#api").components["schemas"]["JobList"]} */ list) => (list.items.length === 0
      ? html`<${Empty}>No job waits.<//>`
      : html`<p class="small muted">The page of a job tells why the job waits, and cancels the job.</p>
        <ul class="entries">${list.items.map((job) => html`<li key=${job.id}><div class="entry"><${JobLink} job=${job} />
          <span class="small muted">since <${Time} at=${job.created_at} /></span></div></li>`)}</ul>`)}<//>
  <//>`;
}

/** @type {Record<string, string>} */
const ROLES = { all: "answers and computes", api: "answers", worker: "computes" };

export function Workers() {
  const workers = useResource({ path: "v1/workers" }, { every: EVERY });
  return html`<${Panel} title="Processes"><${Loaded} resource=${workers}>${(/** @type {Schemas["WorkerList"]} */ { items }) => html`
    ${!items.some((worker) => worker.workers > 0) && html`<div class="notice warn"><p><strong>No process computes jobs.</strong> Jobs wait
      until you start one with <code>halfspace serve --role worker</code>.</p></div>`}
    ${items.length === 0 ? null : html`<div class="scroll" tabindex="0" role="region" aria-label="The processes of the service"><table>
      <thead><tr><th scope="col">Process</th><th scope="col">Role</th><th scope="col" class="number">Running</th>
        <th scope="col" class="number">Parked</th><th scope="col" class="number">Memory in use</th><th scope="col">Version</th>
        <th scope="col">Started</th><th scope="col">Last report</th></tr></thead>
      <tbody>${items.map((worker) => html`<tr key=${worker.id}>
        <th scope="row" class="feature"><code class="nowrap" title=${worker.id}>${shortId(worker.id)}</code></th><td class="nowrap">${ROLES[worker.role] ?? worker.role}</td>
        <td class="number">${number(worker.running)} of ${number(worker.workers)}${worker.alone ? html` <span class="badge warn">one alone</span>` : ""}</td>
        <td class="number">${number(worker.parked)}</td>
        <td class="number nowrap">${bytes(worker.memory_bytes_taken)} of ${bytes(worker.memory_bytes_max)}</td>
        <td title=${worker.revision ?? ""}>${worker.version}</td><td><${Time} at=${worker.started_at} /></td><td><${Time} at=${worker.seen_at} /></td>
      </tr>`)}</tbody></table></div>`}`}<//><//>`;
}
