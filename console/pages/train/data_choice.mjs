/** The choice of the data: a stored dataset, a sample, a file, or data that the service draws. */

import { html } from "../../vendor/htm-preact.mjs";
import { useAction, useList, useResource } from "../../service/resource.mjs";
import { storeSample, storingAsCurl, storingAsPython } from "../../service/samples.mjs";
import { unnamed } from "../../view/dataset_link.mjs";
import { number } from "../../view/numbers.mjs";
import { Facts, Field, Panel, Select, Tabs, counted } from "../../view/parts.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { Fault, Loaded } from "../../view/problem.mjs";
import { CopyButton } from "../../view/recipe.mjs";
import { SchemaForm, queryOf, textsIn } from "../../view/schema_form.mjs";
import { ListTable } from "../../view/rows.mjs";
import { Balance, classesOf } from "../../view/balance.mjs";
import { COLUMNS } from "../data/list.mjs";
import { PROPOSED, TARGETS, generatedSchema, targetOf } from "./generated.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */

/** @param {{query: URLSearchParams, dataset: import("../../service/resource.mjs").Resource<Schemas["Dataset"]>, faults: Record<string, string>,
 *   dataFault?: string}} props */
export function DataChoice({ query, dataset, faults, dataFault }) {
  const id = query.get("dataset");
  const from = query.get("from") ?? "stored";
  const { dataset: _, ...rest } = Object.fromEntries(query);
  if (id) return html`<${Panel} title="1. Data" actions=${html`<a href=${href("train", rest)}>Choose other data</a>`}>
    <${Loaded} resource=${dataset}>${(/** @type {Schemas["Dataset"]} */ found) => html`<${Chosen} dataset=${found} />`}<//>
    ${dataFault && html`<p class="bad-text">${dataFault}</p>`}
  <//>`;
  return html`<${Panel} title="1. Data">
    <${Tabs} path="train" name="from" current=${from} query=${{ ...rest, ...PROPOSED, ...generatedIn(query) }}
      tabs=${[["stored", "Stored"], ["sample", "Sample"], ["generated", "Generated"], ["file", "File"]]} />
    ${from === "sample" ? html`<${SampleChoice} />`
      : from === "generated" ? html`<${Generated} query=${query} faults=${faults} />`
        : from === "file" ? html`<p>A file is stored as a dataset first, so that you see how its columns are read.</p>
          <div><a class="button primary" href=${href("data/new")}>Bring a file</a></div>`
          : html`<${StoredChoice} />`}
    ${dataFault && html`<p class="bad-text">${dataFault}</p>`}
  <//>`;
}

/** The texts for generated data with their names in the query. @param {URLSearchParams} query */
function generatedIn(query) {
  return Object.fromEntries([...query].filter(([name]) => name.startsWith("g.")));
}

/** @param {{dataset: Schemas["Dataset"]}} props */
function Chosen({ dataset }) {
  const name = dataset.name || unnamed(dataset.id);
  return html`<p><a class="title-link clip" href=${href(`data/${dataset.id}`)} title=${`${name}, ${dataset.id}`}>${name}</a></p>
    <${Facts} of=${[
      ["Examples", html`<strong>${number(dataset.examples)}</strong>`],
      [dataset.vocabulary === "open" ? "Names of features" : "Features", html`<strong>${number(dataset.n)}</strong>`],
      ["Values", dataset.values],
      ["Declared origin", dataset.assume ?? "none"],
    ]} />
    <${Balance} of=${dataset} classes=${classesOf(dataset.classes, dataset.table)} />`;
}

function StoredChoice() {
  const list = useList({ path: "v1/datasets" }, { every: 10 });
  const choose = { name: "action", label: html`<span class="hidden-label">action</span>`,
    cell: (/** @type {Schemas["DatasetItem"]} */ item) => html`<button class="small-button" aria-label=${`Use ${item.name || item.id}`}
      onClick=${() => setQuery({ dataset: item.id, from: null }, { push: true })}>Use</button>` };
  return html`<${ListTable} list=${list} columns=${[choose, ...COLUMNS]} caption="Stored datasets" height=${18 * 16}
    empty=${html`No dataset is stored yet. Take a sample, <a href=${href("data/new")}>bring a file</a>, or let the service draw data.`} />`;
}

function SampleChoice() {
  const samples = useResource({ path: "v1/samples" });
  return html`<${Loaded} resource=${samples}>${(/** @type {{items: Schemas["Sample"][]}} */ list) => html`<ul class="entries">
      ${list.items.map((sample) => html`<${SampleEntry} key=${sample.name} sample=${sample} />`)}</ul>
    <p class="small muted">The page <a href=${href("data")}>Data</a> changes the parameters of a sample.</p>`}<//>`;
}

/** @param {{sample: Schemas["Sample"]}} props */
function SampleEntry({ sample }) {
  const storing = useAction(async (abort) => {
    const dataset = await storeSample(sample, abort);
    setQuery({ dataset: dataset.id, from: null }, { push: true });
  });
  return html`<li>
    <div class="entry">
      <div class="stack tight"><h3>${sample.title}</h3>
        <p class="small muted">${counted(sample.rows, "row")}, ${counted(sample.columns.length - 1, "column")} and the class. ${sample.description}</p></div>
      <div class="row"><${CopyButton} label="Copy as curl" text=${() => storingAsCurl(sample)} /><${CopyButton} label="Copy as Python" text=${() => storingAsPython(sample)} />
      <button class="small-button" aria-label=${`Use ${sample.title}`} disabled=${storing.isRunning} onClick=${storing.start}>${storing.isRunning ? "Storing…" : "Use"}</button></div>
    </div>
    <${Fault} error=${storing.error} onRetry=${storing.start} />
  </li>`;
}

/** @param {{query: URLSearchParams, faults: Record<string, string>}} props */
function Generated({ query, faults }) {
  const texts = textsIn(query, "g.");
  const target = targetOf(texts);
  const schema = generatedSchema(target, texts.sampling || PROPOSED["g.sampling"]);
  // Another concept has other parts.
  const rename = (/** @type {string} */ next) => setQuery(queryOf(query, { ...Object.fromEntries(Object.entries(texts)
    .filter(([name]) => !name.startsWith("target."))), target: next }, "g."));
  return html`<${Field} label="Hidden concept" hint="The labels of the examples come from this concept. The seed draws the parts that you leave open.">${(/** @type {object} */ attributes) =>
      html`<${Select} attributes=${attributes} value=${target} onChange=${rename} options=${Object.entries(TARGETS).map(([name, { title }]) => [name, title])} />`}<//>
    <${SchemaForm} schema=${schema} texts=${texts} faults=${faults}
      onChange=${(/** @type {Record<string, string>} */ next) => setQuery(queryOf(query, next, "g."))} />`;
}
