/** The list of models, with its filters in the URL, and the import of a model file. */

import { html } from "../../vendor/htm-preact.mjs";
import { useList, useResource } from "../../service/resource.mjs";
import { Field, PageHead, Panel, Select, Time } from "../../view/parts.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { number } from "../../view/numbers.mjs";
import { CopyRecipe } from "../../view/recipe.mjs";
import { ListTable } from "../../view/rows.mjs";
import { ImportModel } from "./import.mjs";
import { KINDS, kindName, titleOf } from "./words.mjs";

/** @typedef {import("./words.mjs").Schemas["ModelItem"]} ModelItem */

/** @type {import("../../view/rows.mjs").Column<ModelItem>[]} */
const COLUMNS = [
  { name: "model", cell: (model) => html`<a class="title-link" href=${href(`models/${model.id}`)} title=${titleOf(model)}>${titleOf(model)}</a>` },
  { name: "learner", cell: (model) => model.learner },
  { name: "hypothesis", cell: (model) => kindName(model.kind) },
  { name: "features", isNumber: true, cell: (model) => number(model.n) },
  { name: "made", cell: (model) => html`<${Time} at=${model.created_at} />` },
  { name: "from", cell: (model) => (model.job ? html`<a href=${href(`jobs/${model.job}`)}>job …${model.job.slice(-8)}</a>` : html`<span class="muted">file or session</span>`) },
];

/** @param {{query: URLSearchParams}} props */
export function ModelList({ query }) {
  const [learner, kind] = [query.get("learner") ?? "", query.get("kind") ?? ""];
  const request = { path: "v1/models", query: { learner, kind } };
  const list = useList(request, { every: 10 });
  const learners = useResource({ path: "v1/learners" });
  /** @type {string[]} */
  const names = (learners.value?.items ?? []).map((/** @type {{name: string}} */ entry) => entry.name);
  const known = learner && !names.includes(learner) ? [learner, ...names] : names;
  const set = (/** @type {Record<string, string>} */ changes) => setQuery(changes, { push: true });
  const isFiltered = Boolean(learner || kind);
  const empty = isFiltered ? html`No model matches. <a href=${href("models")}>Show all models</a>`
    : html`No model yet. Each training leaves one: <a href=${href("train")}>train a learner</a>, or <a href=${href("")}>try a sample</a>.`;
  return html`<div class="page">
    <${PageHead} title="Models"><a class="button primary" href=${href("train")}>Train a learner</a><//>
    <${Panel} title="All models" actions=${html`<${CopyRecipe} recipe=${{ operation: "list_models", ...request }} />`}>
      <div class="fields">
        <${Field} label="Learner">${(/** @type {object} */ attributes) => html`<${Select} attributes=${attributes} value=${learner}
          onChange=${(/** @type {string} */ value) => set({ learner: value })} options=${[["", "all"], ...known.map((name) => [name, name])]} />`}<//>
        <${Field} label="Hypothesis">${(/** @type {object} */ attributes) => html`<${Select} attributes=${attributes} value=${kind}
          onChange=${(/** @type {string} */ value) => set({ kind: value })} options=${[["", "all"], ...Object.entries(KINDS)]} />`}<//>
      </div>
      <${ListTable} list=${list} columns=${COLUMNS} caption="Models, newest first" empty=${empty} />
    <//>
    <${ImportModel} />
  </div>`;
}
