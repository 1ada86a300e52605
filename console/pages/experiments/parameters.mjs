/** The form of an experiment: its parameters, the seed and the name of the job. The URL holds all of them. */

import { html } from "../../vendor/htm-preact.mjs";
import { create } from "../../service/requests.mjs";
import { useAction, useConstant } from "../../service/resource.mjs";
import { Field, valueOf } from "../../view/parts.mjs";
import { go, setQuery } from "../../view/place.mjs";
import { Fault, Loaded } from "../../view/problem.mjs";
import { ShowRecipe } from "../../view/recipe.mjs";
import { SchemaForm, isComplete, queryOf, textsIn } from "../../view/schema_form.mjs";
import { paramsFrom, schemaOf, withDefaults } from "./schemas.mjs";

/** @typedef {import("./schemas.mjs").Schema} Schema */
/** @typedef {import("../../service/recipes.mjs").Recipe} Recipe */
/** The fields that a person changes most often. */
const FIRST_FIELDS = ["n", "dimensions", "learners", "runs"];

/** @typedef {{params: Record<string, any>, seed: number|null, name: string}} Asked */

/**
 * @param {{query: URLSearchParams, schemaName: string, defaults?: Record<string, unknown>, label: string, recipeOf: (asked: Asked) => Recipe}} props
 * `defaults`: values that hold for empty fields. `label`: the text of the button.
 */
export function ExperimentForm({ query, schemaName, defaults = {}, label, recipeOf }) {
  const document = useConstant("openapi.json");
  return html`<${Loaded} resource=${document}>${(/** @type {any} */ value) => html`<${Form} query=${query} label=${label} recipeOf=${recipeOf}
    schema=${withDefaults(schemaOf(value, schemaName), defaults, FIRST_FIELDS)} />`}<//>`;
}

/** @param {{query: URLSearchParams, schema: Schema, label: string, recipeOf: (asked: Asked) => Recipe}} props */
function Form({ query, schema, label, recipeOf }) {
  const texts = textsIn(query);
  const [seed, name] = [query.get("seed") ?? "", query.get("name") ?? ""];
  const isSeed = seed === "" || (/^\d+$/.test(seed) && Number.isSafeInteger(Number(seed)));
  const isReady = isSeed && isComplete(schema, texts);
  const recipe = recipeOf({ params: isReady ? paramsFrom(schema, texts) : {}, seed: seed !== "" && isSeed ? Number(seed) : null, name });
  const running = useAction((abort) => startJob(recipe, abort));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (isReady) running.start();
  };
  return html`<form class="stack" onSubmit=${submit}>
    <p class="small muted">An empty field has its default. A list is written as in 3, 5, 7.</p>
    <${SchemaForm} schema=${schema} texts=${texts} onChange=${(/** @type {import("./schemas.mjs").Texts} */ next) => setQuery(queryOf(query, next))} />
    <div class="fields">
      <${Field} label="seed" hint="The same seed repeats the numbers exactly. An empty field draws one." fault=${isSeed ? undefined : "The value must be a whole number from 0 to 9007199254740991."}>
        ${(/** @type {object} */ attributes) => html`<input ...${attributes} value=${seed} placeholder="drawn" inputmode="numeric" autocomplete="off"
          onInput=${(/** @type {Event} */ event) => setQuery({ seed: valueOf(event).trim() })} />`}<//>
      <${Field} label="name of the job">${(/** @type {object} */ attributes) => html`<input ...${attributes} value=${name} maxlength="256" autocomplete="off"
        onInput=${(/** @type {Event} */ event) => setQuery({ name: valueOf(event) })} />`}<//>
    </div>
    <div class="row"><button class="primary" type="submit" disabled=${!isReady || running.isRunning}>${running.isRunning ? "Starting…" : label}</button>
      <span class="small muted">The job shows its progress, the seconds left and the figure so far. You can cancel it at any time.</span></div>
    <${Fault} error=${running.error} />
    <${ShowRecipe} recipe=${recipe} />
  </form>`;
}

/** Starts a job and goes to its page. @param {Recipe} recipe  @param {AbortSignal} abort */
export async function startJob(recipe, abort) {
  const job = await create({ ...recipe, headers: { prefer: "wait=0" } }, abort);
  go(`jobs/${job.id}`);
}
