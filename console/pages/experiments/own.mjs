/** Own experiments: one form for each kind in the API document. */

import { html } from "../../vendor/htm-preact.mjs";
import { Panel } from "../../view/parts.mjs";
import { href } from "../../view/place.mjs";
import { ExperimentForm } from "./parameters.mjs";
import { KINDS } from "./words.mjs";

/** @typedef {import("./parameters.mjs").Asked} Asked */

/** @param {{query: URLSearchParams}} props */
export function OwnExperiment({ query }) {
  const wanted = query.get("kind") ?? "";
  const kind = Object.hasOwn(KINDS, wanted) ? wanted : "mistake-bound-sweep";
  const [title = "", question = "", schemaName = ""] = KINDS[kind] ?? [];
  const recipeOf = (/** @type {Asked} */ { params, seed, name }) => ({ operation: "create_job", method: /** @type {const} */ ("POST"), path: "v1/jobs",
    json: { name: name || title, experiment: { name: kind, params, ...(seed !== null && { seed }) } } });
  return html`<${Panel} title="The question">
      <ul class="choice-links">${Object.entries(KINDS).map(([name, [label, text]]) => html`<li key=${name}>
        <a href=${href("experiments", { tab: "own", kind: name })} aria-current=${name === kind ? "true" : undefined}><strong>${label}</strong>
          <span class="small">${text}</span></a></li>`)}</ul>
    <//>
    <${Panel} title=${title}>
      <p class="muted">${question}</p>
      <${ExperimentForm} key=${kind} query=${query} schemaName=${schemaName} label="Run the experiment" recipeOf=${recipeOf} />
    <//>`;
}
