/** The schemas of the API document in the form that forms read: without references, and with other defaults. */

import { fieldsOf, paramsOf } from "../../view/schema_form.mjs";

/** @typedef {import("../../view/schema_form.mjs").Schema & {$ref?: string, example?: any, items?: Schema}} Schema */
/** @typedef {import("../../view/schema_form.mjs").Texts} Texts */

/** Levels of references that a form follows. */
const DEPTH_MAX = 4;

/**
 * A schema whose references are replaced by their targets.
 * @param {any} document  @param {Schema} schema  @param {number} [depth]  @returns {Schema}
 */
export function resolved(document, schema, depth = 0) {
  if (depth > DEPTH_MAX) return schema;
  const { $ref, ...rest } = schema;
  const target = $ref ? document.components.schemas[$ref.split("/").at(-1) ?? ""] : {};
  /** @type {Schema} */
  const whole = { ...target, ...rest };
  if (whole.oneOf) whole.oneOf = whole.oneOf.map((choice) => resolved(document, choice, depth + 1));
  if (whole.properties) whole.properties = Object.fromEntries(Object.entries(whole.properties).map(([name, field]) => [name, resolved(document, field, depth + 1)]));
  return whole;
}

/** @param {any} document  @param {string} name */
export function schemaOf(document, name) {
  return resolved(document, { $ref: `#/components/schemas/${name}` });
}

/**
 * The schema with these values as defaults, and with these fields first. The hint of a list tells its default in full.
 * @param {Schema} schema  @param {Record<string, unknown>} values  @param {string[]} [order]  @returns {Schema}
 */
export function withDefaults(schema, values, order = []) {
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => /** @type {[string, Schema]} */ (
    [name, withListHint(Object.hasOwn(values, name) ? { ...field, default: values[name] ?? undefined } : field)]));
  const rank = (/** @type {string} */ name) => (order.includes(name) ? order.indexOf(name) : order.length);
  return { ...schema, properties: Object.fromEntries(fields.sort(([a], [b]) => rank(a) - rank(b))) };
}

/** A description ends with the default where the schema cannot state a default, as for a list of learners. */
const TOLD_DEFAULT = /\s*Default: `(\[.*\])`\.$/s;

/** @param {Schema} field @returns {Schema} */
function withListHint(field) {
  const told = TOLD_DEFAULT.exec(field.description ?? "")?.[1];
  const list = field.default ?? (told ? JSON.parse(told) : undefined);
  if (!Array.isArray(list)) return field;
  const words = list.map((value) => (typeof value === "object" && !Array.isArray(value) ? nameOf(value) : JSON.stringify(value).replaceAll('"', "")));
  const description = `${(field.description ?? "").replace(TOLD_DEFAULT, "")} Default: ${words.join(", ")}.`;
  return { ...field, description, default: list.length > 3 ? `${words.slice(0, 3).join(", ")}, …` : words.join(", ") };
}

/** @param {{name?: string, params?: object}} learner */
function nameOf({ name, params }) {
  return `${name}${params && Object.keys(params).length > 0 ? ` ${JSON.stringify(params)}` : ""}`;
}

/**
 * The parameters as JSON. A list may also be written as in `3, 5, 7`, and learners by their names.
 * @param {Schema} schema  @param {Texts} texts
 */
export function paramsFrom(schema, texts) {
  const lists = new Map(fieldsOf(schema).filter(([, field]) => [field.type].flat().includes("array")));
  const entries = Object.entries(texts).map(([name, text]) => {
    const list = /** @type {Schema|undefined} */ (lists.get(name));
    return [name, list && !text.startsWith("[") ? listOf(text, list.items?.$ref?.endsWith("/LearnerSpec") ?? false) : text];
  });
  return paramsOf(schema, Object.fromEntries(entries));
}

/** @param {string} text  @param {boolean} isLearners */
function listOf(text, isLearners) {
  const parts = text.split(/[\s,;]+/).filter(Boolean);
  return JSON.stringify(parts.map((part) => (isLearners ? { name: part } : Number.isFinite(Number(part)) ? Number(part) : part)));
}
