/** The stored examples, page by page. */

import { html } from "../../vendor/htm-preact.mjs";
import { signOf } from "../../service/labels.mjs";
import { useResource } from "../../service/resource.mjs";
import { number } from "../../view/numbers.mjs";
import { Panel, counted } from "../../view/parts.mjs";
import { href } from "../../view/place.mjs";
import { Loaded } from "../../view/problem.mjs";
import { CopyRecipe } from "../../view/recipe.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {Schemas["Dataset"]} Dataset */

const EXAMPLES_PER_PAGE = 20;
const FEATURES_SHOWN = 40;
/** Values that a page asks for at most. Wide examples come fewer at a time. */
const VALUES_PER_PAGE = 400_000;

/** @param {{dataset: Dataset, offset: number}} props */
export function Examples({ dataset, offset }) {
  // An example with names lists only those that it has.
  const width = dataset.vocabulary === "open" ? 1 : Math.max(1, dataset.n);
  const limit = Math.min(EXAMPLES_PER_PAGE, Math.max(1, Math.floor(VALUES_PER_PAGE / width)));
  const spec = { path: `v1/datasets/${dataset.id}/examples`, query: { offset, limit } };
  const page = useResource(spec);
  const at = (/** @type {number} */ next) => href(`data/${dataset.id}`, { offset: next || null });
  const last = Math.max(0, Math.floor((dataset.examples - 1) / limit) * limit);
  const end = Math.min(dataset.examples, offset + limit);
  return html`<${Panel} title="Examples" actions=${html`<${CopyRecipe} recipe=${{ ...spec, operation: "list_dataset_examples", arguments: [dataset.id] }} />`}>
    <${Loaded} resource=${page}>${(/** @type {Schemas["ExamplePage"]} */ found) => html`
      <${ExampleTable} dataset=${dataset} items=${found.items} offset=${offset} />`}<//>
    <nav class="row spread" aria-label="Pages of examples">
      <span class="small muted">${end > offset ? `${number(offset + 1)} to ${number(end)} of ${number(dataset.examples)}` : `after the last of ${counted(dataset.examples, "example")}`}${dataset.vocabulary === "fixed" && dataset.n > FEATURES_SHOWN && `, the first ${FEATURES_SHOWN} of ${number(dataset.n)} features`}</span>
      <span class="row">
        ${offset > 0 && html`<a href=${at(0)}>First</a><a href=${at(Math.max(0, offset - limit))}>Previous</a>`}
        ${end < dataset.examples && html`<a href=${at(offset + limit)}>Next</a><a href=${at(last)}>Last</a>`}
      </span>
    </nav>
  <//>`;
}

/** The names of an example and its values other than 1. @param {string[] | Record<string, number>} x */
const namesOf = (x) => Array.isArray(x) ? x.join(", ")
  : Object.entries(x).map(([name, value]) => value === 1 ? name : `${name}: ${number(value, 6)}`).join(", ");

/** @param {{dataset: Dataset, items: Schemas["ExampleItem"][], offset: number}} props */
function ExampleTable({ dataset, items, offset }) {
  const hasNames = dataset.vocabulary === "open";
  const shown = hasNames ? 0 : Math.min(dataset.n, FEATURES_SHOWN);
  const places = Array.from({ length: shown }, (_, index) => index);
  const isLabelled = dataset.kind === "labelled";
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Examples">
    <table><caption class="hidden-label">Examples with their features</caption>
      <thead><tr><th scope="col" class="number narrow">no.</th>${isLabelled && html`<th scope="col">${dataset.table?.label?.column ?? "label"}</th>`}
        ${hasNames && html`<th scope="col">names</th>`}${places.map((place) => html`<th scope="col" class="number" key=${place}>${dataset.features?.[place] ?? `x${place + 1}`}</th>`)}</tr></thead>
      <tbody>${items.map(({ x: features, y }, index) => {
        const x = /** @type {any} */ (features);
        return html`<tr key=${index}>
        <td class="number">${number(offset + index + 1)}</td>${isLabelled && html`<td class="nowrap">${labelText(dataset, y)}</td>`}
        ${hasNames && html`<td>${namesOf(x)}</td>`}${places.map((place) => html`<td class="number" key=${place}>${typeof x === "string" ? x[place] : number(x[place], 6)}</td>`)}</tr>`;
      })}</tbody>
    </table>
  </div>`;
}

/** @param {Dataset} dataset  @param {Schemas["ExampleItem"]["y"]} label */
function labelText(dataset, label) {
  if ((dataset.classes?.length ?? 2) > 2) return String(label);
  const isPositive = signOf(label, dataset) > 0;
  const sign = isPositive ? "+1" : "−1";
  const name = dataset.classes?.[isPositive ? 1 : 0];
  return name === undefined ? sign : `${name} (${sign})`;
}
