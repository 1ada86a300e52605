/** The columns of a table of jobs. */

import { html } from "../../vendor/htm-preact.mjs";
import { DatasetLink } from "../../view/dataset_link.mjs";
import { StatusBadge, Time } from "../../view/parts.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { duration } from "../../view/numbers.mjs";
import { outcomeOf, secondsOf, shortId, taskName, titleOf } from "./words.mjs";

/** @typedef {import("./words.mjs").Job} Job */
/** @typedef {import("../../view/rows.mjs").Column<Job>} Column */

/** @param {Job} job */
function taskOf(job) {
  return `${taskName(job.task)}${job.learner ? ` with ${job.learner.name}` : ""}`;
}

/** @type {Column[]} */
export const JOB_COLUMNS = [
  { name: "job", most: 9, cell: (job) => html`<a href=${href(`jobs/${job.id}`)} title=${`${titleOf(job)}, ${job.id}`}>${job.name ?? html`<code>${shortId(job.id)}</code>`}</a>` },
  { name: "status", cell: (job) => html`<${StatusBadge} status=${job.status} />` },
  { name: "task", most: 7.5, cell: (job) => html`<span title=${taskOf(job)}>${job.task === "train" && job.learner ? job.learner.name : taskName(job.task)}</span>` },
  { name: "outcome", most: 11, cell: (job) => html`<span title=${outcomeOf(job)}>${outcomeOf(job) || "–"}</span>` },
  { name: "data", most: 6, cell: (job) => (job.dataset ? html`<${DatasetLink} id=${job.dataset} />` : "–") },
  { name: "submitted", cell: (job) => html`<${Time} at=${job.created_at} />` },
  { name: "ran", isNumber: true, cell: (job) => duration(secondsOf(job)) },
];

/**
 * A column of ticks. The ticks stand in the URL.
 * @param {string[]} ticked  @param {string} [name]  Name in the query. @returns {Column}
 */
export function tickColumn(ticked, name = "ticked") {
  const set = new Set(ticked);
  const change = (/** @type {string} */ id, /** @type {boolean} */ isTicked) =>
    setQuery({ [name]: (isTicked ? [...ticked, id] : ticked.filter((other) => other !== id)).join(",") });
  return { name: "tick", label: html`<span class="hidden-label">tick</span>`, cell: (job) => html`<input type="checkbox" checked=${set.has(job.id)}
    aria-label=${`Tick ${titleOf(job)} ${shortId(job.id)}`}
    onChange=${(/** @type {Event} */ event) => change(job.id, /** @type {HTMLInputElement} */ (event.target).checked)} />` };
}
