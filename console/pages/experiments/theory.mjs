/** The theory calculators: the service answers while you type, and the URL holds the inputs. */

import { html } from "../../vendor/htm-preact.mjs";
import { useLive } from "../../service/live.mjs";
import { useConstant } from "../../service/resource.mjs";
import { Facts, Panel } from "../../view/parts.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { Loaded } from "../../view/problem.mjs";
import { CopyRecipe } from "../../view/recipe.mjs";
import { SchemaForm, isComplete, paramsOf, queryOf, textsIn } from "../../view/schema_form.mjs";
import { CALCULATORS } from "./calculators.mjs";
import { CoverChart } from "./cover_chart.mjs";
import { DriftCharts } from "./drift_charts.mjs";
import { resolved } from "./schemas.mjs";

/** @typedef {import("./schemas.mjs").Schema} Schema */
/** @typedef {import("./calculators.mjs").Calculator} Calculator */

/** @param {{query: URLSearchParams}} props */
export function Theory({ query }) {
  const document = useConstant("openapi.json");
  const chosen = CALCULATORS.find(({ name }) => name === query.get("of")) ?? /** @type {Calculator} */ (CALCULATORS[0]);
  return html`<div class="with-choice">
    <nav class="no-print" aria-label="Calculators"><ul class="choice-links">${CALCULATORS.map(({ name, title }) => html`<li key=${name}>
      <a href=${href("experiments", { tab: "theory", of: name })} aria-current=${name === chosen.name ? "true" : undefined}>${title}</a></li>`)}</ul></nav>
    <${Loaded} resource=${document}>${(/** @type {any} */ value) => html`<${Calculation} key=${chosen.name} calculator=${chosen} schema=${schemaOf(value, chosen)} query=${query} />`}<//>
  </div>`;
}

/** The parameters of an operation as the schema of a form. An example stands for an empty required field. @param {any} document  @param {Calculator} calculator @returns {Schema} */
function schemaOf(document, { name }) {
  /** @type {{name: string, required?: boolean, description?: string, example?: any, schema: Schema}[]} */
  const parameters = document.paths[`/v1/theory/${name}`].get.parameters;
  return { properties: Object.fromEntries(parameters.map(({ name, required, description, example, schema }) => {
    const field = resolved(document, schema);
    const start = field.default ?? (required ? example : undefined);
    return [name, { ...field, ...(description && { description }), ...(start !== undefined && { default: start }) }];
  })), required: parameters.filter(({ required }) => required).map(({ name }) => name) };
}

/** @param {{calculator: Calculator, schema: Schema, query: URLSearchParams}} props */
function Calculation({ calculator, schema, query }) {
  const texts = textsIn(query);
  const isReady = isComplete(schema, texts);
  const starts = Object.fromEntries((schema.required ?? []).map((name) => [name, schema.properties?.[name]?.default]));
  const asked = { ...starts, ...(isReady ? paramsOf(schema, texts) : {}) };
  const request = { path: `v1/theory/${calculator.name}`, query: asked };
  const answer = useLive(isReady ? request : null);
  return html`<div class="stack wide-gaps"><${Panel} title=${calculator.title} actions=${html`<${CopyRecipe} recipe=${{ operation: calculator.operation, ...request }} />`}>
      <p>${calculator.question}</p>
      <${SchemaForm} schema=${schema} texts=${texts} onChange=${(/** @type {import("./schemas.mjs").Texts} */ next) => setQuery(queryOf(query, next))} />
      <div class="answer-box" aria-live="polite" aria-busy=${answer.isLoading}>
        ${isReady ? html`<${Loaded} resource=${answer}>${(/** @type {any} */ found) => html`<${Facts} of=${calculator.facts(found)} />`}<//>`
          : html`<p class="muted">The answer follows as soon as every value is right.</p>`}</div>
      ${calculator.note && html`<p class="small">${calculator.note}</p>`}
      <div class="stack tight small"><p class="formula">${calculator.formula}.</p><p class="muted">${calculator.source}.</p></div>
    <//>
    ${calculator.name === "directed-drift" && answer.value && html`<${DriftCharts} analysis=${answer.value} n=${Number(asked.n)} />`}
    ${calculator.name === "cover" && isReady && html`<${CoverChart} dimension=${Number(asked.dimension)} isShown=${query.get("chart") === "1"} />`}
  </div>`;
}
