/** The state of a job without a result: its wait in the queue, its progress, or the reason why it failed. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useState } from "../../vendor/hooks.mjs";
import { key, root, send } from "../../service/requests.mjs";
import { useResource } from "../../service/resource.mjs";
import { Figure } from "../../view/figure.mjs";
import { Facts, Panel, Time, counted } from "../../view/parts.mjs";
import { href } from "../../view/place.mjs";
import { bytes, duration, number, percent } from "../../view/numbers.mjs";
import { againHref } from "./again.mjs";

/** @typedef {import("./words.mjs").Schemas} Schemas */
/** @typedef {import("./words.mjs").Job} Job */

/**
 * The reasons why a queued job has not started. The words are those of `queue.waits_for`.
 * @type {Record<string, string>}
 */
const REASONS = {
  "worker": "All workers are busy. The job starts when a worker is free.",
  "other-jobs": "Other jobs go first.",
  "memory": "No process has enough free memory now. The job starts when other jobs end.",
  "back-off": "An earlier attempt broke off without an answer. The service waits before the next attempt.",
  "no-worker": "No worker process is alive. Ask your operator to start a worker.",
  "newer-worker": "No live worker knows the form of this job. Ask your operator to update the workers.",
  "storage-full": "The disk of the service is full. Ask your operator to make room.",
  "about-to-start": "A worker is free. The job is about to start.",
};

/** @param {{job: Job}} props */
export function Queued({ job }) {
  const { queue } = job;
  const workers = useResource({ path: "v1/workers" }, { every: 3 });
  const processes = /** @type {Schemas["WorkerList"]|null} */ (workers.value)?.items ?? [];
  const busy = processes.reduce((sum, process) => sum + process.running, 0);
  const all = processes.reduce((sum, process) => sum + process.workers, 0);
  const ahead = queue?.ahead ?? null;
  const reason = queue && (REASONS[queue.waits_for] ?? queue.waits_for);
  const place = ahead === null ? "The job waits in the queue." : ahead === 0 ? key.value ? "The job is the next of your jobs." : "The job is the next."
    : `${ahead >= 1000 ? "At least 1,000 jobs" : counted(ahead, "job")} ${key.value ? "of your key " : ""}${ahead === 1 ? "runs" : "run"} before this job.`;
  return html`<${Panel} title="In the queue">
    <p><strong>${place}</strong></p>
    ${reason && html`<p>${reason}${queue?.waits_for === "other-jobs" && busy > 0 && ` ${number(busy)} of ${counted(all, "worker")} ${busy === 1 ? "is" : "are"} busy now.`}</p>`}
    <${Facts} of=${[["Jobs ahead", ahead === null ? null : number(ahead)], ["Busy workers", all > 0 && `${number(busy)} of ${number(all)}`], ["Priority", number(job.priority)],
      ["Not before", queue?.not_before && html`<${Time} at=${queue.not_before} />`], ["Attempts so far", job.attempt > 0 && number(job.attempt)]]} />
    <p class="small muted"><a href=${href("operation")}>Operation</a> shows the whole queue and the workers.</p>
  <//>`;
}

/** @param {{job: Job, curve: import("../../view/figure.mjs").Point[]}} props */
export function Running({ job, curve }) {
  const { fraction, seconds_left: left, examples, mistakes, passes, bytes: read, bytes_total: whole } = job.progress;
  const share = typeof fraction === "number" ? fraction : null;
  return html`<${Panel} title="Progress">
    <progress aria-label="Progress of the job" max="1" value=${share ?? undefined}></progress>
    <${Facts} of=${[
      ["Done", share !== null && html`<strong>${percent(share, 1)}</strong>`],
      ["Read", typeof read === "number" && html`<strong>${bytes(read)}</strong> of ${bytes(whole)}`],
      ["Time left", typeof left === "number" && html`<strong>${duration(left)}</strong>`],
      ["Parts ended", job.parts && html`<strong>${number(job.parts.total - job.parts.left)}</strong> of ${number(job.parts.total)}`],
      ["Examples", examples > 0 && html`<strong>${number(examples)}</strong>`],
      ["Mistakes", examples > 0 && html`<strong>${number(mistakes)}</strong>`],
      ["Passes", passes > 0 && html`<strong>${number(passes)}</strong>`],
      ["Attempt", html`<strong>${number(Math.max(1, job.attempt))}</strong>`],
      ["Started", html`<${Time} at=${job.started_at} />`]]} />
    ${job.attempt > 1 && html`<p class="small muted">${counted(job.attempt - 1, "earlier attempt")} broke off.
      This attempt resumed from the last checkpoint if there was one.</p>`}
    ${job.task === "train" && html`<${Figure} spec=${{ title: "Mistakes so far", x: { label: "examples read", min: 0 }, y: { label: "mistakes", min: 0, isWhole: true },
      series: [{ label: "", points: curve.length > 0 ? [{ x: 0, y: 0 }, ...curve] : [] }] }} />`}
  <//>`;
}

/**
 * Ways to proceed after a failure, by the code of the error.
 * @type {Record<string, string>}
 */
const REMEDIES = {
  "memory": "Run the job again when fewer jobs run, or send fewer examples. An operator can raise --memory-bytes-max.",
  "poisoned": "Every attempt ended with the process of its worker. Tell your operator the id of the job, and try smaller data.",
  "model-missing": "The model was deleted before the job read it. Import the model or train it again.",
  "data-missing": "The stored data of the job are gone. Send the data again.",
  "data-corrupt": "The stored data of the job are damaged. Send the data again and tell your operator.",
  "time-limit": "Request fewer runs or smaller points, or a longer time for an import.",
  "source-changed": "The object changed after the request. Import it again.",
  "source-missing": "The object is gone from its bucket. Put it there and import it again.",
  "source-refused": "The service may not read the object. Ask your operator for the prefix or the access.",
  "bad-data": "Mend the object, or change the options of the reading, and import it again.",
  "quota-full": "Delete datasets, models or sessions, and import the object again.",
  "internal": "The fault is in the service. Tell your operator the id of the job.",
};

/** @param {{job: Job, error: import("#api").components["schemas"]["JobError"]}} props */
export function Failed({ job, error }) {
  const hasPage = useProblemPage(error.code);
  const again = againHref(job);
  return html`<div class="notice bad" role="alert">
    <p><strong>The job failed.</strong> ${error.detail}</p>
    ${REMEDIES[error.code] && html`<p>${REMEDIES[error.code]}</p>`}
    <p class="small">Code ${hasPage ? html`<a href=${new URL(`problems/${error.code}`, root).href} target="_blank" rel="noopener">${error.code}</a>`
      : html`<code>${error.code}</code>`}, after ${counted(job.attempt, "attempt")}.
      ${again && html` <a href=${again}>Edit and run again</a>`}</p>
  </div>`;
}

/** Whether the service has a page about a code. Some codes of jobs have none. @param {string} code */
function useProblemPage(code) {
  const [hasPage, setHasPage] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    send({ path: "problems" }, abort.signal).then((answer) => answer.text())
      .then((list) => setHasPage(list.includes(`"problems/${code}"`)), () => {});
    return () => abort.abort();
  }, [code]);
  return hasPage;
}
