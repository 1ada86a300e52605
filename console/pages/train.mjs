/** The page Train: a task, its data, its learner and its settings become one request for a job. The URL holds them all. */

import { html } from "../vendor/htm-preact.mjs";
import { useEffect, useRef } from "../vendor/hooks.mjs";
import { create } from "../service/requests.mjs";
import { useAction, useResource } from "../service/resource.mjs";
import { PageHead, Tabs } from "../view/parts.mjs";
import { go } from "../view/place.mjs";
import { Loaded } from "../view/problem.mjs";
import { DataChoice } from "./train/data_choice.mjs";
import { Values } from "./train/grid.mjs";
import { LearnerChoice } from "./train/learner_choice.mjs";
import { comparedIn, faultsBelow, faultsOf, requestOf } from "./train/request.mjs";
import { ModelChoice, Parameters, Settings } from "./train/settings.mjs";
import { Submit } from "./train/submit.mjs";
import { TASKS, pointerOf, taskOf } from "./train/tasks.mjs";

/** @typedef {import("./train/request.mjs").Learner} Learner */

/** @param {{path: string[], query: URLSearchParams}} props */
export function TrainPage({ query }) {
  const task = taskOf(query);
  const id = query.get("dataset");
  const dataset = useResource(id ? { path: `v1/datasets/${encodeURIComponent(id)}` } : null);
  const learners = useLearners(id);
  const list = /** @type {Learner[]} */ (learners.value?.items ?? []);
  const learner = task.learners === "one" ? chosenOf(list, query.get("learner")) : null;
  const { request, missing } = requestOf(query, learner);
  const submission = useSubmission(request);
  const faults = faultsOf(submission.error, submission.refused, request);
  const at = pointerOf(task);
  return html`<div class="page">
    <${PageHead} title="Train" />
    <div class="stack tight">
      <${Tabs} path="train" name="task" current=${task.name} query=${Object.fromEntries(query)} tabs=${TASKS.map(({ name, title }) => [name, title])} />
      <p class="muted task-question">${task.question}</p>
    </div>
    <${DataChoice} query=${query} dataset=${dataset} faults=${faultsBelow(faults, `${at}/data/generated`)} dataFault=${faults[`${at}/data`] ?? faults[`${at}/data/dataset`]} />
    ${task.learners !== "none" && html`<${Loaded} resource=${learners}>${() => html`<${LearnerChoice} learners=${list} chosen=${learner}
      isSeveral=${task.learners === "several"} query=${query} fault=${faults[`${at}/learner`] ?? faults[`${at}/learner/name`] ?? faults[`${at}/learners`]} />`}<//>`}
    ${task.needsModel && html`<${ModelChoice} query=${query} fault=${faults[`${at}/model`]} />`}
    ${learner && html`<${Parameters} learner=${learner} query=${query} faults=${faultsBelow(faults, `${at}/learner/params`)} />`}
    ${task.name === "grid" && html`<${Values} learner=${learner} query=${query} faults=${overFaults(faults)} />`}
    <${Settings} task=${task} learners=${trained(task, list, learner, query)} query=${query} faults=${faults} />
    <${Submit} task=${task} request=${request} missing=${missing} submission=${submission} subject=${learner?.title ?? ""} />
  </div>`;
}

/**
 * The learners with their fit to a dataset. The table stays usable if the service cannot tell the fit, such as for a dataset
 * that somebody deleted.
 * @param {string|null} dataset
 */
function useLearners(dataset) {
  const fitting = useResource(dataset ? { path: "v1/learners", query: { dataset } } : null);
  const plain = useResource(!dataset || fitting.error ? { path: "v1/learners" } : null);
  return fitting.value ? fitting : plain;
}

/** The learners that the task trains. @param {import("./train/tasks.mjs").Task} task  @param {Learner[]} list  @param {Learner|null} learner  @param {URLSearchParams} query */
function trained(task, list, learner, query) {
  if (task.learners !== "several") return learner ? [learner] : [];
  const compared = comparedIn(query).map(({ name }) => name);
  return list.filter(({ name, fits }) => (compared.length > 0 ? compared.includes(name) : fits !== false));
}

/** The learner that the URL names, or the one that most people try first. @param {Learner[]} list  @param {string|null} name */
function chosenOf(list, name) {
  const fits = (/** @type {Learner} */ learner) => learner.fits !== false;
  return list.find((learner) => learner.name === name)
    ?? list.find((learner) => learner.name === "perceptron" && fits(learner)) ?? list.find(fits) ?? list[0] ?? null;
}

/**
 * The faults of the values of a grid by field. The pointer of a fault may name one value of the list.
 * @param {Record<string, string>} faults
 */
function overFaults(faults) {
  return Object.fromEntries(Object.entries(faults).filter(([at]) => at.startsWith("/grid/over/")).map(([at, detail]) => [at.split("/")[3] ?? "", detail]));
}

/** The submission of the request. A repeated attempt after a lost answer starts no second job. @param {object|null} request */
function useSubmission(request) {
  const refused = useRef(/** @type {object|null} */ (null));
  const action = useAction(async (abort) => {
    refused.current = request;
    const job = await create({ method: "POST", path: "v1/jobs", json: request }, abort);
    go(`jobs/${job.id}`);
  });
  // The first fault of an answer gets the focus, so that a keyboard continues where the request must change.
  useEffect(() => {
    if (action.error) /** @type {HTMLElement|null} */ (document.querySelector("[aria-invalid=true]"))?.focus();
  }, [action.error]);
  return { ...action, refused: refused.current };
}

/** @typedef {ReturnType<typeof useSubmission>} Submission */
