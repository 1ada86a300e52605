/** The sessions behind a run: ids and requests, the answers as a file, the hypothesis as a model, and the deletion. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useState } from "../../vendor/hooks.mjs";
import { call, freshKey } from "../../service/requests.mjs";
import { useAction } from "../../service/resource.mjs";
import { CSV_TYPE, csvOf, download } from "../../view/download.mjs";
import { ConfirmButton, Facts, Field, Panel, Time, valueOf } from "../../view/parts.mjs";
import { go, href } from "../../view/place.mjs";
import { Fault } from "../../view/problem.mjs";
import { CopyRecipe, ShowRecipe } from "../../view/recipe.mjs";
import { dataRecipes } from "./data.mjs";
import { classOf } from "./labels.mjs";

/** @typedef {import("./player.mjs").Player} Player */
/** @typedef {import("./run.mjs").Run} Run */

/** Features of an example that a recipe writes out. */
const RECIPE_FEATURES_MAX = 2000;

/** @param {{player: Player, query: URLSearchParams, version: number}} props */
export function SessionPanel({ player, query }) {
  const removal = useAction(async () => {
    player.pause();
    await player.remove();
    go("playground");
  });
  const isSeveral = player.runs.length > 1;
  return html`<${Panel} title=${isSeveral ? "Sessions" : "Session"} actions=${html`<div class="row no-print">
      <button class="small-button" onClick=${() => download(`answers-${player.runs.map((run) => run.wanted.learner.name).join("-")}.csv`, CSV_TYPE, csvOf(rowsOf(player)))}>Download answers as CSV</button>
      <${ConfirmButton} label=${isSeveral ? "End sessions" : "End session"} disabled=${removal.isRunning} onConfirm=${removal.start}
        question="End and delete on the service? Saved models stay. The link of this page still makes the same run again." /></div>`}>
    <${Fault} error=${removal.error} onRetry=${removal.start} />
    ${player.runs.map((run) => html`<${OneSession} key=${run.wanted.slot.learner} run=${run} isSeveral=${isSeveral} />`)}
    ${dataRecipes(query).map((found) => html`<${DataRequest} key=${found.title} of=${found} />`)}
  <//>`;
}

/** @param {{of: import("./data.mjs").DataRecipe}} props */
function DataRequest({ of }) {
  const { title, recipe, content } = of;
  return html`<${ShowRecipe} title=${title} recipe=${recipe} />
    ${content && html`<div class="no-print"><button class="small-button" onClick=${() => download(String(recipe.file), String(recipe.headers?.["content-type"]), content)}>Download ${recipe.file}</button></div>`}`;
}

/** The answers as rows. A missing answer has no row. @param {Player} player @returns {(string|number)[][]} */
function rowsOf(player) {
  const rows = player.runs.flatMap((run) => run.history.codes.flatMap((_, index) => {
    const past = run.history.at(index + 1);
    return past ? [[run.wanted.learner.name, past.position, past.prediction ?? "", classOf(past.prediction, player.examples.dataset) ?? "", String(past.isMistake)]] : [];
  }));
  return [["learner", "position", "prediction", "class", "mistake"], ...rows];
}

/** @param {{run: Run, isSeveral: boolean}} props */
function OneSession({ run, isSeveral }) {
  const session = /** @type {import("#api").components["schemas"]["Session"]} */ (run.session);
  const { dataset } = run.examples;
  return html`<div class="stack">
    ${isSeveral && html`<h3>${run.wanted.learner.title}</h3>`}
    <${Facts} of=${[["Session", html`<code>${session.id}</code>`], ["Opened", html`<${Time} at=${session.created_at} />`], ["Seed", session.seed],
      ["Data", html`<a href=${href(`data/${dataset.id}`)}>${dataset.name || dataset.id}</a>`], ["Declared origin", session.assume ?? "none"]]} />
    <${Saving} run=${run} />
    <${Recipes} run=${run} />
  </div>`;
}

/** @param {{run: Run}} props */
function Saving({ run }) {
  const id = String(run.session?.id);
  const [name, setName] = useState("");
  const [model, setModel] = useState("");
  const recipe = { method: /** @type {const} */ ("POST"), path: `v1/sessions/${id}/model`, query: { name: name.trim() || null }, operation: "save_session_model", arguments: [id] };
  const saving = useAction(async (abort) => {
    setModel("");
    const { operation: _, arguments: __, ...request } = recipe;
    setModel((await call({ ...request, headers: { "idempotency-key": freshKey() } }, abort)).id);
  });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    saving.start();
  };
  return html`<form class="row row-end no-print" onSubmit=${submit}>
      <${Field} label=${`Save the hypothesis of ${run.wanted.learner.title} as a model`}>${(/** @type {object} */ attributes) => html`<input ...${attributes} maxlength="256" placeholder="name (optional)" value=${name}
        onInput=${(/** @type {Event} */ event) => setName(valueOf(event))} />`}<//>
      <button type="submit" disabled=${saving.isRunning}>Save as a model</button>
      <${CopyRecipe} recipe=${recipe} />
    </form>
    ${model && html`<p role="status">Saved: <a href=${href(`models/${model}`)}>open the model</a>.</p>`}
    <${Fault} error=${saving.error} />`;
}

/** @param {{run: Run}} props */
function Recipes({ run }) {
  const id = String(run.session?.id);
  const { dataset } = run.examples;
  const { position } = run;
  const [next, setNext] = useState(/** @type {import("./examples.mjs").Example|null} */ (null));
  useEffect(() => {
    let isOver = false;
    run.examples.from(position, 1).then(([found]) => { if (!isOver) setNext(found ?? null); }, () => {});
    return () => { isOver = true; };
  }, [position]);
  const json = dataset.kind === "half-space" ? { half_space: { examples: [next?.x] } } : { labelled: { examples: [next] } };
  const path = `v1/sessions/${id}/examples`;
  const headers = { "If-Match": `"${position}"` };
  return html`
    <${ShowRecipe} title="The request that opens this session" recipe=${{ method: "POST", path: "v1/sessions", json: run.request, operation: "create_session" }} />
    ${next && dataset.n <= RECIPE_FEATURES_MAX && html`<${ShowRecipe} title="The request that teaches the next example" recipe=${{ method: "POST", path, json, headers, operation: "learn_session_examples", arguments: [id] }} />`}
    <${ShowRecipe} title="The request that teaches many examples, one per line" recipe=${{ method: "POST", path, body: "", file: "examples.ndjson", headers: { ...headers, "content-type": "application/x-ndjson" },
      operation: "learn_session_examples", arguments: [id] }} />
    <${ShowRecipe} title="The request that reads the examples as such lines" recipe=${{ path: `v1/datasets/${dataset.id}/examples`, query: { format: "ndjson", offset: position % dataset.examples, limit: 1000 }, operation: "list_dataset_examples", arguments: [dataset.id] }} />
    <${ShowRecipe} title="The request that ends this session" recipe=${{ method: "DELETE", path: `v1/sessions/${id}`, operation: "delete_session", arguments: [id] }} />`;
}
