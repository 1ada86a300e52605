/** A dataset by its name, for pages that know only the id. */

import { html } from "../vendor/htm-preact.mjs";
import { useDatasetName } from "../service/dataset_names.mjs";
import { href } from "./place.mjs";

/** A short name for a dataset without a name: the end of the id differs between datasets of one minute. @param {string} id */
export function unnamed(id) {
  return `unnamed …${id.slice(-6)}`;
}

/** @param {{id: string}} props */
export function DatasetLink({ id }) {
  const name = useDatasetName(id);
  if (name === null) return html`<span class="muted" title=${id}>deleted …${id.slice(-6)}</span>`;
  return html`<a class="clip" href=${href(`data/${id}`)} title=${name ? `${name}, ${id}` : id}>${name || (name === "" ? unnamed(id) : `…${id.slice(-6)}`)}</a>`;
}
