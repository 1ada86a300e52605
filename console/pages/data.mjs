/** The page Data: the stored datasets, a new file, or one dataset. */

import { html } from "../vendor/htm-preact.mjs";
import { DatasetPage } from "./data/dataset.mjs";
import { DataList } from "./data/list.mjs";
import { NewData } from "./data/new.mjs";

/** @param {{path: string[], query: URLSearchParams}} props */
export function DataPage({ path: [id], query }) {
  if (id === undefined) return html`<${DataList} query=${query} />`;
  return id === "new" ? html`<${NewData} query=${query} />` : html`<${DatasetPage} id=${id} query=${query} />`;
}
