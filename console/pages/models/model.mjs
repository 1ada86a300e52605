/** The page of one model: its card, predictions, evaluation and export, one tab each. */

import { html } from "../../vendor/htm-preact.mjs";
import { call } from "../../service/requests.mjs";
import { useAction, useResource } from "../../service/resource.mjs";
import { ConfirmButton, PageHead, Tabs } from "../../view/parts.mjs";
import { go, href } from "../../view/place.mjs";
import { Fault, Loaded } from "../../view/problem.mjs";
import { ModelCard } from "./card.mjs";
import { EvaluateTab } from "./evaluate.mjs";
import { ExportTab } from "./export.mjs";
import { PredictTab } from "./predict.mjs";
import { deleting, titleOf } from "./words.mjs";

/** @typedef {import("./words.mjs").Model} Model */

/** @type {[tab: string, label: string][]} */
const TABS = [["card", "Model card"], ["predict", "Predict"], ["evaluate", "Evaluate"], ["export", "Export"]];

/** @type {Record<string, (props: {model: Model, query: URLSearchParams}) => any>} */
const CONTENTS = { card: ModelCard, predict: PredictTab, evaluate: EvaluateTab, export: ExportTab };

/** @param {{id: string, query: URLSearchParams}} props */
export function ModelPage({ id, query }) {
  const model = useResource({ path: `v1/models/${encodeURIComponent(id)}` });
  const wanted = query.get("tab") ?? "card";
  const tab = Object.hasOwn(CONTENTS, wanted) ? wanted : "card";
  const Content = CONTENTS[tab];
  const above = html`<a href=${href("models")}>Models</a> / <code>${id}</code>`;
  return html`<div class="page">
    <${PageHead} title=${model.value ? titleOf(model.value) : "Model"} above=${above}>
      ${model.value && html`${model.value.job && html`<a class="button" href=${href(`jobs/${model.value.job}`)}>The training</a>`}
        <${DeleteModel} id=${model.value.id} />`}
    <//>
    <${Tabs} path=${`models/${encodeURIComponent(id)}`} current=${tab} tabs=${TABS} />
    <${Loaded} resource=${model}>${(/** @type {Model} */ value) => html`<${Content} model=${value} query=${query} />`}<//>
  </div>`;
}

/** @param {{id: string}} props */
function DeleteModel({ id }) {
  const action = useAction(async (abort) => {
    await call(deleting(id), abort);
    go("models");
  });
  return html`<${ConfirmButton} label=${action.isRunning ? "Deleting…" : "Delete model"} disabled=${action.isRunning} onConfirm=${action.start}
      question="Delete this model? Jobs that wait to use the model will fail. The job that trained the model stays." />
    <${Fault} error=${action.error} />`;
}
