/** The constructions of the papers: sequences of examples, which the service stores as a dataset, and a formula. */

import { html } from "../../vendor/htm-preact.mjs";
import { useState } from "../../vendor/hooks.mjs";
import { call, create } from "../../service/requests.mjs";
import { useAction, useConstant } from "../../service/resource.mjs";
import { Facts, Panel } from "../../view/parts.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { Fault, Loaded } from "../../view/problem.mjs";
import { number } from "../../view/numbers.mjs";
import { CopyButton, CopyRecipe } from "../../view/recipe.mjs";
import { SchemaForm, isComplete, queryOf, textsIn } from "../../view/schema_form.mjs";
import { paramsFrom, schemaOf, withDefaults } from "./schemas.mjs";

/** @typedef {import("./words.mjs").Schemas} Schemas */

/**
 * @typedef {object} Construction
 * @property {string} name  The last part of the path.
 * @property {string} operation
 * @property {string} schema
 * @property {string} title
 * @property {string} purpose
 * @property {Record<string, unknown>} starts  Values for empty required fields.
 * @property {string[]} order  The first fields of the form.
 * @property {boolean} isStored
 * @property {(answer: any, asked: Record<string, any>) => any} view
 */

/** @type {Construction[]} */
const CONSTRUCTIONS = [
  { name: "kernel-perceptron-adversary", operation: "construct_kernel_perceptron_adversary", schema: "AdversaryRequest", isStored: true,
    title: "Adversary of the kernel perceptron", starts: { n: 40, size: 4 }, order: ["n", "size", "seed"],
    purpose: "A sequence on which the kernel perceptron with monotone conjunctions errs at every example, although a short disjunction labels it (Theorem 4).",
    view: (/** @type {Schemas["AdversaryAnswer"]} */ found) => html`<${Facts} of=${[["Examples, each a mistake", html`<strong>${number(found.examples)}</strong>`], ["Seed", String(found.seed)]]} />
      <${Next} dataset=${found.data.dataset} learner="kernel-perceptron" query=${{ "p.kernel.conjunctions": "monotone", "stop.max_passes": 1 }} />` },
  { name: "winnow-counting", operation: "construct_winnow_counting", schema: "CountingRequest", isStored: true,
    title: "Counting by Winnow", starts: { variables: 3, clauses: [[1, 2], [2, 3]], at_least: 3 },
    order: ["variables", "clauses", "at_least"],
    purpose: "A sequence after which kernel Winnow predicts +1 on a query if and only if a formula has at least K satisfying assignments (Theorem 7).",
    view: (/** @type {Schemas["CountingAnswer"]} */ found) => html`<${Facts} of=${[["Examples", html`<strong>${number(found.examples)}</strong>`], ["Active bits at most", number(found.active)],
        ["Update factor alpha", number(found.alpha)], ["Digits of theta", number(found.theta.length)], ["Bits of the query", number(found.query.length)]]} />
      <div class="row"><span class="small">The prediction on the query answers the question.</span><${CopyButton} label="Copy the query" text=${() => found.query} /></div>
      <${Next} dataset=${found.data.dataset} learner="kernel-winnow" query=${{ "p.alpha": found.alpha, "p.max_active": found.active, "stop.max_passes": 1 }} />` },
  { name: "monotone-cnf", operation: "construct_monotone_cnf", schema: "CnfRequest", isStored: false,
    title: "A formula with a given count", starts: { variables: 6, satisfying: 17 }, order: ["variables"],
    purpose: "A monotone CNF with two variables per clause that has exactly the given number of satisfying assignments (Lemma 8).",
    view: (/** @type {Schemas["CnfAnswer"]} */ found, asked) => html`<${Formula} clauses=${found.clauses} asked=${asked} />` },
];

/** Variables that the construction of a count takes. */
const COUNTED_VARIABLES_MAX = 8;
/** Clauses that the page writes. */
const CLAUSES_MAX = 200;

/** @param {{query: URLSearchParams}} props */
export function Constructions({ query }) {
  const document = useConstant("openapi.json");
  const chosen = CONSTRUCTIONS.find(({ name }) => name === query.get("of")) ?? /** @type {Construction} */ (CONSTRUCTIONS[0]);
  return html`<div class="with-choice">
    <nav class="no-print" aria-label="Constructions"><ul class="choice-links">${CONSTRUCTIONS.map(({ name, title }) => html`<li key=${name}>
      <a href=${href("experiments", { tab: "constructions", of: name })} aria-current=${name === chosen.name ? "true" : undefined}>${title}</a></li>`)}</ul></nav>
    <${Loaded} resource=${document}>${(/** @type {any} */ value) => html`<${Form} key=${chosen.name} construction=${chosen} document=${value} query=${query} />`}<//>
  </div>`;
}

/** @param {{construction: Construction, document: any, query: URLSearchParams}} props */
function Form({ construction, document, query }) {
  const { name, operation, title, purpose, starts, order, isStored, view } = construction;
  const [answer, setAnswer] = useState(/** @type {{found: any, asked: Record<string, any>}|null} */ (null));
  const schema = withDefaults(schemaOf(document, construction.schema), starts, order);
  const texts = textsIn(query);
  const isReady = isComplete(schema, texts);
  const asked = { ...starts, ...(isReady ? paramsFrom(schema, texts) : {}), ...(isStored && { store: true }) };
  const request = { method: /** @type {const} */ ("POST"), path: `v1/constructions/${name}`, json: asked };
  const building = useAction(async (abort) => {
    setAnswer(null);
    const found = await (isStored ? create : call)(request, abort);
    setAnswer({ found, asked });
  });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (isReady) building.start();
  };
  return html`<${Panel} title=${title} actions=${html`<${CopyRecipe} recipe=${{ operation, ...request }} />`}>
    <p>${purpose}</p>
    <p class="small muted">Khardon, Roth and Servedio, Efficiency versus convergence of Boolean kernels for on-line learning algorithms (2005).</p>
    <form class="stack" onSubmit=${submit}>
      <${SchemaForm} schema=${schema} texts=${texts} except=${["store"]} onChange=${(/** @type {import("./schemas.mjs").Texts} */ next) => setQuery(queryOf(query, next))} />
      <div><button class="primary" type="submit" disabled=${!isReady || building.isRunning}>${building.isRunning ? "Building…" : isStored ? "Build and store" : "Build"}</button></div>
    </form>
    <${Fault} error=${building.error} />
    ${answer && html`<div class="notice good" role="status">${view(answer.found, answer.asked)}</div>`}
  <//>`;
}

/** The ways on from a stored dataset. @param {{dataset?: string, learner: string, query: Record<string, string|number>}} props */
function Next({ dataset, learner, query }) {
  if (!dataset) return null;
  return html`<div class="row"><a class="button primary" href=${href("train", { dataset, learner, ...query })}>Train ${learner} on it</a>
    <a class="button" href=${href(`data/${dataset}`)}>Open the dataset</a></div>`;
}

/** @param {{clauses: number[][], asked: Record<string, any>}} props */
function Formula({ clauses, asked }) {
  const shown = clauses.slice(0, CLAUSES_MAX).map((clause) => `(${clause.map((variable) => `v${variable}`).join(" ∨ ")})`).join(" ∧ ");
  const isSmall = asked.variables <= COUNTED_VARIABLES_MAX && clauses.length > 0;
  const counted = { tab: "constructions", of: "winnow-counting", "p.variables": asked.variables, "p.clauses": JSON.stringify(clauses) };
  return html`<p>${number(clauses.length)} clauses over ${number(asked.variables)} variables:</p>
    <p class="formula">${shown}${clauses.length > CLAUSES_MAX && ` ∧ … (${number(clauses.length - CLAUSES_MAX)} more)`}</p>
    <div class="row"><${CopyButton} label="Copy the clauses" text=${() => JSON.stringify(clauses)} />
      ${isSmall && html`<a class="button" href=${href("experiments", counted)}>Count its assignments by Winnow</a>`}</div>`;
}
