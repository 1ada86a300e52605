/** The table of a stored dataset under other options, as a new dataset. */

import { html } from "../../vendor/htm-preact.mjs";
import { useState } from "../../vendor/hooks.mjs";
import { create } from "../../service/requests.mjs";
import { useAction } from "../../service/resource.mjs";
import { Field, Panel, valueOf } from "../../view/parts.mjs";
import { go } from "../../view/place.mjs";
import { Fault } from "../../view/problem.mjs";
import { ShowRecipe } from "../../view/recipe.mjs";
import { SchemaForm, isComplete } from "../../view/schema_form.mjs";
import { FIELDS } from "./settings.mjs";

/** @typedef {import("../../view/schema_form.mjs").Texts} Texts */
/** @typedef {import("../../view/schema_form.mjs").Schema} Schema */

/** @param {Texts} texts @returns {Schema} */
function schemaOf(texts) {
  const names = ["numbers", texts.numbers === "thermometer" ? "bins" : "scale", "missing", "missing_values", "vocabulary"];
  const fields = names.map((name) => [name, FIELDS[name] ?? {}]);
  return { properties: {
    ...Object.fromEntries(fields),
    labels: { title: "Label column", type: "string", default: "as now", description: "Another column by name or number, or none." },
    ignore: { title: "Columns left out", type: "string", default: "none", description: "Names or numbers, separated by commas." },
    kinds: { title: "Kinds of columns", type: "string", default: "as the cells show", description: "Such as age:number,zip:nominal." },
  } };
}

/** @param {{dataset: import("#api").components["schemas"]["Dataset"]}} props */
export function EncodeAgain({ dataset }) {
  const [texts, setTexts] = useState(/** @type {Texts} */ ({}));
  const [name, setName] = useState("");
  const schema = schemaOf(texts);
  const stated = Object.entries(texts).filter(([option]) => schema.properties?.[option]);
  const query = /** @type {Record<string, string>} */ ({ ...Object.fromEntries(stated), ...(name && { name }) });
  const recipe = { operation: "encode_dataset", arguments: [dataset.id], method: /** @type {const} */ ("POST"), path: `v1/datasets/${dataset.id}/encode`, query };
  const encoding = useAction(async (abort) => {
    const made = await create(recipe, abort);
    go(`data/${made.id}`);
  });
  const start = (/** @type {Event} */ event) => {
    event.preventDefault();
    encoding.start();
  };
  return html`<${Panel} title="Read the table in another way">
    <form class="stack" onSubmit=${start}>
      <p class="muted">The cells of the table are kept, so a new dataset needs no second upload. An empty field means the default.</p>
      <${SchemaForm} schema=${schema} texts=${texts} onChange=${setTexts} />
      <div class="fields"><${Field} label="Name of the new dataset">${(/** @type {object} */ attributes) => html`<input ...${attributes}
        value=${name} maxlength="256" autocomplete="off" onInput=${(/** @type {Event} */ event) => setName(valueOf(event))} />`}<//></div>
      <div class="row"><button type="submit" disabled=${encoding.isRunning || !isComplete(schema, texts)}>${encoding.isRunning ? "Reading…" : "Store as a new dataset"}</button></div>
      <${Fault} error=${encoding.error} />
      <${ShowRecipe} recipe=${recipe} />
    </form>
  <//>`;
}
