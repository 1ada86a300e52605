/** The page Models: the list of all models, and one model at `models/<id>`. */

import { html } from "../vendor/htm-preact.mjs";
import { ModelList } from "./models/list.mjs";
import { ModelPage } from "./models/model.mjs";

/** @param {{path: string[], query: URLSearchParams}} props */
export function ModelsPage({ path: [id], query }) {
  return id ? html`<${ModelPage} id=${id} query=${query} />` : html`<${ModelList} query=${query} />`;
}
