/** The page Jobs: the list of all jobs, and one job at `jobs/<id>`. */

import { html } from "../vendor/htm-preact.mjs";
import { JobPage } from "./jobs/job.mjs";
import { JobList } from "./jobs/list.mjs";

/** @param {{path: string[], query: URLSearchParams}} props */
export function JobsPage({ path: [id], query }) {
  return id ? html`<${JobPage} id=${id} query=${query} />` : html`<${JobList} query=${query} />`;
}
