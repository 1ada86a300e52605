/** The tables that the service offers to try, as cards. A card stores its table, or stores it and trains at once. */

import { html } from "../../vendor/htm-preact.mjs";
import { useId } from "../../vendor/hooks.mjs";
import { useAction, useResource } from "../../service/resource.mjs";
import { sampleAsCurl, sampleAsPython, storeSample, trainSample } from "../../service/samples.mjs";
import { Panel, counted } from "../../view/parts.mjs";
import { go, setQuery } from "../../view/place.mjs";
import { Fault, Loaded } from "../../view/problem.mjs";
import { CopyButton } from "../../view/recipe.mjs";
import { SchemaForm, isComplete, paramsOf, queryOf, textsIn } from "../../view/schema_form.mjs";

/** @typedef {import("#api").components["schemas"]["Sample"]} Sample */

/** @param {{query: URLSearchParams}} props */
export function Samples({ query }) {
  const samples = useResource({ path: "v1/samples" });
  return html`<${Panel} title="Samples to try">
    <p class="muted">The service makes these tables from their definitions. <strong>Train</strong> stores the table and starts
      the learner that suits it.</p>
    <${Loaded} resource=${samples}>${(/** @type {{items: Sample[]}} */ list) => html`<ul class="cards plain-list">
      ${list.items.map((sample) => html`<${Card} key=${sample.name} sample=${sample} query=${query} />`)}</ul>`}<//>
  <//>`;
}

/** @param {{sample: Sample, query: URLSearchParams}} props */
function Card({ sample, query }) {
  const title = useId();
  const isOpen = query.get("sample") === sample.name;
  const schema = /** @type {import("../../view/schema_form.mjs").Schema} */ (sample.parameters);
  // The texts in the URL belong to the open card.
  const texts = isOpen ? textsIn(query) : {};
  const parameters = isComplete(schema, texts) ? paramsOf(schema, texts) : null;
  const training = useAction(async (abort) => {
    const job = await trainSample(sample, abort, parameters ?? {});
    go(`jobs/${job.id}`);
  });
  const storing = useAction(async (abort) => {
    const dataset = await storeSample(sample, abort, parameters ?? {});
    go(`data/${dataset.id}`);
  });
  const isBusy = training.isRunning || storing.isRunning || parameters === null;
  const toggle = (/** @type {Event} */ event) => {
    const isNowOpen = /** @type {HTMLDetailsElement} */ (event.currentTarget).open;
    if (isNowOpen !== isOpen) setQuery({ ...queryOf(query, {}), sample: isNowOpen ? sample.name : null });
  };
  return html`<li class="card">
    <h3 id=${title}>${sample.title}</h3>
    <p class="small muted">${counted(sample.rows, "row")}, ${counted(sample.columns.length - 1, "column")} and the class</p>
    <p class="small">${sample.description}</p>
    <details class="small" open=${isOpen} onToggle=${toggle}><summary>Parameters and source</summary>
      ${isOpen && html`<div class="stack">
        <${SchemaForm} schema=${schema} texts=${texts} onChange=${(/** @type {Record<string, string>} */ next) => setQuery(queryOf(query, next))} />
        <p class="muted">${sample.source}</p>
        <div class="row">
          <${CopyButton} label="Copy as curl" text=${() => sampleAsCurl(sample, parameters ?? {})} />
          <${CopyButton} label="Copy as Python" text=${() => sampleAsPython(sample, parameters ?? {})} />
        </div>
      </div>`}
    </details>
    <div class="row card-actions">
      <button aria-describedby=${title} disabled=${isBusy} onClick=${training.start}>${training.isRunning ? "Starting…" : "Train"}</button>
      <button aria-describedby=${title} disabled=${isBusy} onClick=${storing.start}>${storing.isRunning ? "Storing…" : "Store"}</button>
    </div>
    <${Fault} error=${training.error ?? storing.error} />
  </li>`;
}
