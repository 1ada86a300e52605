/** Why a model predicts a class for one example: the terms that are true for it, with their weights. */

import { html } from "../../vendor/htm-preact.mjs";
import { useLive } from "../../service/live.mjs";
import { counted } from "../../view/parts.mjs";
import { Loaded } from "../../view/problem.mjs";
import { CopyRecipe } from "../../view/recipe.mjs";
import { Terms } from "./explanation.mjs";

/** @typedef {import("./words.mjs").Schemas["ExampleExplanation"]} ExampleExplanation */

/** Terms of an example. */
const TOP = "10";

/** @param {{model: import("./words.mjs").Model, json: unknown}} props  `json`: the body of a prediction with this example alone. */
export function Why({ model, json }) {
  const request = { method: /** @type {const} */ ("POST"), path: `v1/models/${model.id}/explanation`, query: { top: TOP }, json };
  const explanation = useLive(request);
  const recipe = { operation: "explain_model_example", arguments: [model.id], ...request };
  return html`<section class="stack" aria-label="Why this prediction">
    <${Loaded} resource=${explanation}>${(/** @type {ExampleExplanation} */ value) => html`
      <${Terms} explanation=${value} classes=${classesOf(model, value)} />
      ${value.unseen > 0 && html`<p class="small muted">${counted(value.unseen, "name")} of the example ${value.unseen > 1 ? "are" : "is"} unknown to the model.</p>`}`}<//>
    <div class="row"><${CopyRecipe} recipe=${recipe} /></div></section>`;
}

/** The classes for which a bar to the left and one to the right speak. @param {import("./words.mjs").Model} model  @param {ExampleExplanation} found */
function classesOf({ classes }, found) {
  return (classes?.length ?? 2) > 2 ? ["the other classes", found.predicted_class ?? ""] : classes ?? null;
}
