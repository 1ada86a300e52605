/** The learners of a comparison or the trainings of a grid, also while the job runs. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useMemo } from "../../vendor/hooks.mjs";
import { useList, useResource } from "../../service/resource.mjs";
import { Empty, Panel, counted } from "../../view/parts.mjs";
import { Fault } from "../../view/problem.mjs";
import { href } from "../../view/place.mjs";
import { number, percent } from "../../view/numbers.mjs";
import { ServiceFigure } from "../jobs/service_figure.mjs";
import { TrainView } from "../jobs/training.mjs";
import { isEnded, listOf, shortId, tiedWith } from "../jobs/words.mjs";
import { ErrorChart, NAMES_FIRST, chartedIn } from "./charts.mjs";
import { entryOfLearner, entryOfPart, entryOfTraining, labelsOf, shareOf, textOf } from "./entries.mjs";
import { CompareTable } from "./table.mjs";

/** @typedef {import("../jobs/words.mjs").Schemas} Schemas */
/** @typedef {import("../jobs/words.mjs").Job} Job */
/** @typedef {import("./entries.mjs").Entry} Entry */

/** Seconds between two readings of a running job. */
const LIVE_SECONDS = 4;

/** Parts that the live table of a grid reads. The result has all. */
const LIVE_PARTS_MAX = 500;

/** The parts are read again while the job runs, and once more at its end. @param {Job} job */
function liveOf(job) {
  return { every: isEnded(job) ? 0 : LIVE_SECONDS, again: job.status };
}

/** @param {{job: Job, query: URLSearchParams}} props */
export function Comparison({ job, query }) {
  return job.task === "grid" ? html`<${Grid} job=${job} query=${query} />` : html`<${Learners} job=${job} query=${query} />`;
}

/** @param {{job: Job, query: URLSearchParams}} props */
function Learners({ job, query }) {
  const figure = useResource(job.result ? null : { path: `v1/jobs/${job.id}/figure`, query: { format: "json" } }, liveOf(job));
  const result = /** @type {Schemas["CompareResult"]|null} */ (job.result ?? figure.value);
  const entries = useMemo(() => (result?.learners ?? []).map((learner, index) => entryOfLearner(learner, index, result?.intervals)), [result]);
  const best = typeof result?.best === "number" ? (result.learners[result.best] ?? null) : null;
  const tied = tiedWith(result?.learners ?? [], result?.best);
  if (figure.error && !result && job.status !== "failed") return html`<${Fault} error=${figure.error} onRetry=${figure.reload} />`;
  return html`
    ${best && html`<${Best} names=${tied.map((place) => result?.learners[place]?.name ?? "")} chosen=${best.name} model=${result?.model ?? null}
      text=${`rong on ${number(best.errors)} of ${number(best.examples)} judged examples (${percent(best.error_rate)}), the smallest share of ${counted(entries.filter((entry) => entry.judged).length, "learner")}`} />`}
    <${Body} job=${job} entries=${entries} query=${query} best=${tied.map(String)} caption="Learners" noun="learner"
      statement=${result?.intervals?.statement ?? ""} />
    ${result?.training && html`<h2>The model, trained on all of the data</h2><${TrainView} job=${{ ...job, parent: job.id }} result=${result.training} />`}`;
}

/**
 * @param {{names: string[], chosen: string, model?: string|null, job?: string|null, text: string}} props  `names`: all that tie.
 * `chosen`: the one that the service took.
 */
function Best({ names, chosen, model, job, text }) {
  const isTie = names.length > 1;
  return html`<div class="notice good"><p><strong>${isTie ? `Tie for best: ${listOf(names)}.` : `Best: ${chosen}.`}</strong>
      ${text && ` ${isTie ? "Each is w" : "W"}${text}.`}</p>
    ${isTie && html`<p class="small">Fewer mistakes while learning decide between equal shares, then the order of the request:
      ${" "}${model ? "the model" : "the link"} below is of ${chosen}.</p>`}
    ${(model || job) && html`<p>${model && html`<a href=${href(`models/${model}`)}>Model ${shortId(model)}</a>`}
      ${job && html`<a href=${href(`jobs/${job}`)}>Job ${shortId(job)}</a>`}</p>`}</div>`;
}

/** @param {{job: Job, query: URLSearchParams}} props */
function Grid({ job, query }) {
  const result = /** @type {Schemas["GridResult"]|null} */ (job.result ?? null);
  const parts = useList(result ? null : { path: "v1/jobs", query: { parent: job.id, status: "succeeded" } }, liveOf(job));
  useEffect(() => {
    if (parts.hasMore && parts.items.length < LIVE_PARTS_MAX) parts.more();
  }, [parts.items.length, parts.hasMore]);
  const entries = useMemo(() => (result ? result.trainings.map((training, index) => entryOfTraining(training, index, result.intervals))
    : parts.items.map(entryOfPart).sort((a, b) => (a.id < b.id ? -1 : 1))), [result, parts.items]);
  const best = result && typeof result.best === "number" ? result.trainings[result.best] : null;
  const count = best?.holdout ?? best?.training ?? null;
  const tied = tiedWith((result?.trainings ?? []).map(({ holdout, training }) => holdout ?? training), result?.best);
  const nameOf = (/** @type {number} */ place) => Object.entries(result?.trainings[place]?.over ?? {})
    .map(([name, value]) => `${name} ${textOf(value)}`).join(", ") || `training ${number(place + 1)}`;
  return html`
    ${best && html`<${Best} names=${tied.map(nameOf)} chosen=${nameOf(Number(result?.best))} job=${best.job}
      text=${count ? `rong on ${number(count.errors)} of ${number(count.examples)} ${best.holdout ? "held-out" : "training"} examples (${percent(shareOf(count))}), the smallest share of ${counted(entries.length, "training")}` : ""} />`}
    ${!result && parts.items.length >= LIVE_PARTS_MAX && html`<p class="small muted">The live table shows ${number(LIVE_PARTS_MAX)} ended parts.</p>`}
    <${Body} job=${job} entries=${entries} query=${query} best=${tied.map(String)} caption="Trainings of the grid" noun="training"
      statement=${result ? (result.intervals?.statement ?? "") : "The intervals come with the result of the grid. They hold for all of its trainings at once."} />`;
}

/** @param {{job: Job, entries: Entry[], query: URLSearchParams, best: string[], caption: string, noun: string, statement: string}} props */
function Body({ job, entries, query, best, caption, noun, statement }) {
  const labels = useMemo(() => labelsOf(entries), [entries]);
  const charted = chartedIn(entries, query, NAMES_FIRST, best.slice(0, NAMES_FIRST));
  if (entries.length === 0) return isEnded(job) ? null : html`<${Panel} title=${caption}><${Empty}>No part has ended yet.<//><//>`;
  return html`<${ErrorChart} entries=${entries} labels=${labels} charted=${charted} query=${query} noun=${noun} statement=${statement}>${job.task === "compare" && html`<${ServiceFigure} job=${job} />`}<//>
    <${Panel} title=${caption}><${CompareTable} entries=${entries} labels=${labels} query=${query} best=${best} charted=${charted} caption=${caption} /><//>`;
}
