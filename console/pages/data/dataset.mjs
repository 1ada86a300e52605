/** One stored dataset: its facts, how its columns were read, its examples, and the tasks that use it. */

import { html } from "../../vendor/htm-preact.mjs";
import { call, Problem } from "../../service/requests.mjs";
import { useAction, useResource } from "../../service/resource.mjs";
import { bytes, number } from "../../view/numbers.mjs";
import { ConfirmButton, Facts, PageHead, Panel, Time, counted } from "../../view/parts.mjs";
import { go, href } from "../../view/place.mjs";
import { Fault, Loaded } from "../../view/problem.mjs";
import { CopyButton, ShowRecipe } from "../../view/recipe.mjs";
import { TASKS } from "../train/tasks.mjs";
import { Balance, classesOf, contradictionText } from "../../view/balance.mjs";
import { EncodeAgain } from "./encode_again.mjs";
import { Examples } from "./examples.mjs";
import { FeatureNames, StoredColumns } from "./stored_columns.mjs";

/** @typedef {import("#api").components["schemas"]["Dataset"]} Dataset */

/** @param {{id: string, query: URLSearchParams}} props */
export function DatasetPage({ id, query }) {
  const dataset = useResource({ path: `v1/datasets/${encodeURIComponent(id)}` });
  const above = html`<a href=${href("data")}>Data</a>`;
  if (dataset.value === null) return html`<div class="page"><${PageHead} title="Dataset" above=${above} /><${Loaded} resource=${dataset} /></div>`;
  return html`<div class="page"><${Shown} dataset=${dataset.value} above=${above} query=${query} />
    <${Fault} error=${dataset.error} onRetry=${dataset.reload} /></div>`;
}

/** @param {{dataset: Dataset, above: any, query: URLSearchParams}} props */
function Shown({ dataset, above, query }) {
  const { table } = dataset;
  return html`<${PageHead} title=${dataset.name || "Dataset without a name"} above=${above}>
      <a class="button primary" href=${href("train", { dataset: dataset.id })}>Train on these data</a>
    <//>
    <div class="columns">
      <${Panel} title="Examples and labels">
        <${Balance} of=${dataset} classes=${classesOf(dataset.classes, table)} />
        <${Facts} of=${[
          ["Examples", html`<strong>${number(dataset.examples)}</strong>`],
          [dataset.vocabulary === "open" ? "Names of features" : "Features", html`<strong>${number(dataset.n)}</strong>`],
          ["Values", dataset.values],
          ["Duplicates", dataset.duplicates === null || dataset.duplicates === undefined ? "not counted" : number(dataset.duplicates)],
          ["Contradictions", typeof dataset.contradictions === "number" ? number(dataset.contradictions) : null],
          ["Label column", table?.label?.column],
          ["Missing cells", table && number(table.missing.cells)],
          ["Rows left out", table && table.missing.rows_dropped > 0 && number(table.missing.rows_dropped)],
          ["Declared origin", dataset.assume],
          ["Seed", dataset.seed !== null && dataset.seed !== undefined && String(dataset.seed)],
          ["Size in the store", dataset.cells_bytes > 0 ? `${bytes(dataset.bytes)}, of which ${bytes(dataset.cells_bytes)} are raw cells` : bytes(dataset.bytes)],
          ["Stored", html`<${Time} at=${dataset.created_at} />`],
        ]} />
        ${(dataset.contradictions ?? 0) > 0 && html`<div class="notice warn"><p>${contradictionText(dataset.contradictions ?? 0)}</p></div>`}
        ${dataset.duplicates_detail && html`<p class="small muted">Duplicates: ${dataset.duplicates_detail}.</p>`}
        <p class="small muted">Id <code>${dataset.id}</code> <${CopyButton} label="Copy the id" text=${() => dataset.id} /></p>
        <p class="small muted">SHA-256 of the rows <code>${dataset.sha256}</code></p>
      <//>
      <${Uses} dataset=${dataset} />
    </div>
    ${table ? html`<${StoredColumns} table=${table} />` : dataset.features && html`<${FeatureNames} names=${dataset.features} />`}
    ${table && html`<${EncodeAgain} dataset=${dataset} />`}
    <${Examples} dataset=${dataset} offset=${Math.max(0, Math.floor(Number(query.get("offset")) || 0))} />
    <${Delete} dataset=${dataset} />`;
}

/** @param {{dataset: Dataset}} props */
function Uses({ dataset }) {
  // A task without labels has nothing to compare with, and questions about hyperplanes need two classes and columns.
  const isOfTwo = (dataset.classes?.length ?? 2) <= 2 && dataset.vocabulary === "fixed";
  const tasks = TASKS.filter(({ name, ofTwoClasses }) => (name === "train" || dataset.kind !== "unlabelled") && (isOfTwo || !ofTwoClasses));
  return html`<${Panel} title="Use these data">
    <ul class="entries">
      ${tasks.map(({ name, title, question }) => html`<li key=${name}>
        <a class="title-link" href=${href("train", { task: name === "train" ? null : name, dataset: dataset.id })}>${title}</a>
        <p class="small muted">${question}</p></li>`)}
      ${dataset.kind !== "unlabelled" && dataset.vocabulary === "fixed" && html`<li><a class="title-link" href=${href("playground", { dataset: dataset.id })}>Playground</a>
        <p class="small muted">See a learner predict and learn one example at a time.</p></li>`}
    </ul>
  <//>`;
}

/** @param {{dataset: Dataset}} props */
function Delete({ dataset }) {
  const path = `v1/datasets/${dataset.id}`;
  const deleting = useAction(async (abort) => {
    await call({ method: "DELETE", path }, abort);
    go("data");
  });
  const { error } = deleting;
  const [job] = (error instanceof Problem && error.status === 409 && /\bjob_[0-9a-f]+/.exec(error.message)) || [];
  return html`<${Panel} title="Delete">
    <p class="muted">Deleting the dataset keeps the models and the results of jobs that used it. A job that has not ended holds its
      dataset.</p>
    <div class="row"><${ConfirmButton} label="Delete the dataset" disabled=${deleting.isRunning} onConfirm=${deleting.start}
      question=${`Delete ${dataset.name ? `the dataset ${dataset.name}` : "this dataset"} with ${counted(dataset.examples, "example")}? Deleting cannot be undone.`} /></div>
    <${Fault} error=${error} />
    ${job && html`<p><a href=${href(`jobs/${job}`)}>Open the job that holds the dataset</a>. Cancel the job, or wait for its end.</p>`}
    <${ShowRecipe} recipe=${{ operation: "delete_dataset", arguments: [dataset.id], method: "DELETE", path }} />
  <//>`;
}
