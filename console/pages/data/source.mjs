/** A new dataset from an object of a bucket, which the service reads itself in a job. */

import { html } from "../../vendor/htm-preact.mjs";
import { useState } from "../../vendor/hooks.mjs";
import { create } from "../../service/requests.mjs";
import { useAction } from "../../service/resource.mjs";
import { Field, Panel, valueOf } from "../../view/parts.mjs";
import { go } from "../../view/place.mjs";
import { Fault } from "../../view/problem.mjs";
import { ShowRecipe } from "../../view/recipe.mjs";

export function BringSource() {
  const [source, setSource] = useState("");
  const [labels, setLabels] = useState("");
  const [name, setName] = useState("");
  const recipe = { operation: "import_dataset", method: /** @type {const} */ ("POST"), path: "v1/datasets/import",
    query: /** @type {Record<string, string>} */ (labels ? { labels } : {}), json: { source, ...(name && { name }) } };
  const importing = useAction(async (abort) => {
    const job = await create(recipe, abort);
    go(`jobs/${job.id}`);
  });
  const start = (/** @type {Event} */ event) => {
    event.preventDefault();
    importing.start();
  };
  return html`<${Panel} title="Take a table from a bucket">
    <form class="stack" onSubmit=${start}>
      <div class="fields">
        <${Field} label="Address of the object" hint="Within a prefix that the operator allows.">${(/** @type {object} */ attributes) => html`<input ...${attributes}
          value=${source} required autocomplete="off" spellcheck=${false} placeholder="s3://bucket/key.parquet" onInput=${(/** @type {Event} */ event) => setSource(valueOf(event))} />`}<//>
        <${Field} label="Label column" hint="By default label, class, target or y.">${(/** @type {object} */ attributes) => html`<input ...${attributes}
          value=${labels} autocomplete="off" spellcheck=${false} onInput=${(/** @type {Event} */ event) => setLabels(valueOf(event))} />`}<//>
        <${Field} label="Name of the dataset">${(/** @type {object} */ attributes) => html`<input ...${attributes}
          value=${name} maxlength="256" autocomplete="off" onInput=${(/** @type {Event} */ event) => setName(valueOf(event))} />`}<//>
      </div>
      <div class="row"><button type="submit" disabled=${importing.isRunning}>${importing.isRunning ? "Starting…" : "Import"}</button></div>
      <${Fault} error=${importing.error} />
      <${ShowRecipe} recipe=${recipe} />
    </form>
  <//>`;
}
