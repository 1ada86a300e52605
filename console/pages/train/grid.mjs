/**
 * A grid: the values that the service tries for fields of a training. You write those of a field with commas in
 * between.
 */

import { html } from "../../vendor/htm-preact.mjs";
import { counted, Panel } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { SchemaForm, fieldsOf, queryOf, textsIn } from "../../view/schema_form.mjs";

/** @typedef {import("../../view/schema_form.mjs").Schema} Schema */

const PREFIX = "over.";

/** Fields of a training that a grid varies for every learner. */
const COMMON = { seed: "Seeds", holdout: "Hold-outs", minimum_count: "Examples per name", discard: "Names to drop", multiclass: "More than two classes", class_weight: "Weights of classes", "learner.name": "Learners", "stop.max_passes": "Limits of passes", "stop.max_mistakes": "Limits of mistakes",
  "stop.max_examples": "Limits of examples read" };

/**
 * The fields with their titles. A link may name more fields than the form proposes.
 * @param {import("./request.mjs").Learner|null} learner  @param {Record<string, string>} texts  @returns {[name: string, title: string][]}
 */
function fieldsFor(learner, texts) {
  const parameters = fieldsOf(/** @type {Schema} */ (learner?.parameters ?? {})).map(([name, { title = name }]) => (
    /** @type {[string, string]} */ ([`learner.params.${name}`, `${title} of ${learner?.name}`])));
  const proposed = [...parameters, ...Object.entries(COMMON)];
  const others = Object.keys(texts).filter((name) => !proposed.some(([known]) => known === name));
  return [...proposed, ...others.map((name) => /** @type {[string, string]} */ ([name, name]))];
}

/** The values of a text. Texts in JSON stay what they are, such as `[1, 2]` or `true`. @param {string} text @returns {any[]} */
export function valuesOf(text) {
  try {
    return JSON.parse(`[${text}]`);
  } catch {
    return text.split(",").map((part) => part.trim()).filter(Boolean).map((part) => (Number.isFinite(Number(part)) ? Number(part) : part));
  }
}

/**
 * The lists of values by field.
 * @param {URLSearchParams} query  @param {import("./request.mjs").Learner|null} learner  @returns {Record<string, any[]>}
 */
export function overOf(query, learner) {
  const texts = textsIn(query, PREFIX);
  return Object.fromEntries(fieldsFor(learner, texts).flatMap(([name]) => {
    const values = valuesOf(texts[name] ?? "");
    return values.length > 0 ? [[name, values]] : [];
  }));
}

/** @param {{learner: import("./request.mjs").Learner|null, query: URLSearchParams, faults: Record<string, string>}} props */
export function Values({ learner, query, faults }) {
  const texts = textsIn(query, PREFIX);
  const lists = Object.values(overOf(query, learner));
  const count = lists.reduce((product, values) => product * values.length, 1);
  // The form has flat names, because each text stands for a list.
  const schema = { properties: Object.fromEntries(fieldsFor(learner, texts).map(([name, title]) => [name, { title, type: "string", default: "not varied" }])) };
  return html`<${Panel} title="4. Values to try" actions=${html`<span class="small muted" role="status">${lists.length > 0 ? counted(count, "training") : ""}</span>`}>
    <p class="muted">Write the values with commas between them, such as 1, 2, 5. The service trains with every combination.</p>
    <${SchemaForm} schema=${schema} texts=${texts} faults=${faults}
      onChange=${(/** @type {Record<string, string>} */ next) => setQuery(queryOf(query, next, PREFIX))} />
  <//>`;
}
