/** The list of the stored datasets, beside the ways to add new ones. */

import { html } from "../../vendor/htm-preact.mjs";
import { useList } from "../../service/resource.mjs";
import { unnamed } from "../../view/dataset_link.mjs";
import { bytes, number } from "../../view/numbers.mjs";
import { PageHead, Panel, Time } from "../../view/parts.mjs";
import { href } from "../../view/place.mjs";
import { ListTable } from "../../view/rows.mjs";
import { BringFile, useDroppedFile } from "../home/ways_in.mjs";
import { balanceText } from "../../view/balance.mjs";
import { Samples } from "./samples.mjs";

/** @typedef {import("#api").components["schemas"]["DatasetItem"]} DatasetItem */

/** @param {DatasetItem} item */
function nameOf(item) {
  return item.name || unnamed(item.id);
}

/** @type {import("../../view/rows.mjs").Column<DatasetItem>[]} */
export const COLUMNS = [
  { name: "name", most: 12, cell: (item) => html`<a href=${href(`data/${item.id}`)} title=${nameOf(item)}>${nameOf(item)}</a>` },
  { name: "examples", isNumber: true, cell: (item) => number(item.examples) },
  { name: "features", isNumber: true, cell: (item) => number(item.n) },
  { name: "values", cell: (item) => item.values },
  { name: "labels", cell: balanceText },
  { name: "size", isNumber: true, cell: (item) => bytes(item.bytes) },
  { name: "stored", cell: (item) => html`<${Time} at=${item.created_at} />` },
];

/** @type {import("../../view/rows.mjs").Column<DatasetItem>} */
const ACTION = { name: "action", label: html`<span class="hidden-label">action</span>`,
  cell: (item) => html`<a class="button small-button" href=${href("train", { dataset: item.id })}
    aria-label=${`Train on ${nameOf(item)}`}>Train</a>` };

/** @param {{query: URLSearchParams}} props */
export function DataList({ query }) {
  const isOver = useDroppedFile();
  const list = useList({ path: "v1/datasets" }, { every: 15 });
  return html`<div class="page">
    <${PageHead} title="Data" />
    <${BringFile} isOver=${isOver} />
    <${Panel} title="Stored datasets">
      <${ListTable} list=${list} columns=${[...COLUMNS, ACTION]} caption="Stored datasets" height=${24 * 16}
        empty="No dataset is stored yet. Bring a file, or store one of the samples below." />
    <//>
    <${Samples} query=${query} />
  </div>`;
}
