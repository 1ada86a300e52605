/**
 * A form for parameters that a JSON Schema of the service describes. Its values are texts by dotted name, such as
 * `kernel.conjunctions`, so that the URL can hold them. An empty value means the default.
 */

import { html } from "../vendor/htm-preact.mjs";
import { Field, Select, valueOf } from "./parts.mjs";

/** @typedef {{type?: string|string[], title?: string, default?: any, enum?: string[], description?: string, minimum?: number, maximum?: number,
 *   exclusiveMinimum?: number, exclusiveMaximum?: number, pattern?: string, oneOf?: Schema[], properties?: Record<string, Schema>, required?: string[]}} Schema */
/** @typedef {Record<string, string>} Texts */

/**
 * @param {{schema: Schema, texts: Texts, onChange: (texts: Texts) => void, faults?: Record<string, string>, except?: string[]}} props
 */
export function SchemaForm({ schema, texts, onChange, faults = {}, except = [] }) {
  const fields = fieldsOf(schema).filter(([name]) => !except.includes(name));
  if (fields.length === 0) return html`<p class="muted">No parameters.</p>`;
  const set = (/** @type {string} */ name, /** @type {string} */ text) => {
    const { [name]: _, ...rest } = texts;
    onChange(text === "" ? rest : { ...rest, [name]: text });
  };
  return html`<div class="fields">${fields.map(([name, field]) => html`<${Field} key=${name} label=${field.title ?? name} hint=${field.description}
      fault=${faults[name] ?? faultOf(field, texts[name] ?? "")}>
    ${(/** @type {object} */ attributes) => control(field, texts[name] ?? "", attributes, (text) => set(name, text))}
  <//>`)}</div>`;
}

/** @param {Schema} field  @param {string} text  @param {object} attributes  @param {(text: string) => void} onChange */
function control(field, text, attributes, onChange) {
  const words = wordsOf(field);
  const shownDefault = field.default === undefined ? "default" : `default: ${typeof field.default === "object" ? JSON.stringify(field.default) : field.default}`;
  if (words) return html`<${Select} attributes=${attributes} value=${text} onChange=${onChange}
    options=${[["", shownDefault], ...words.map((word) => [word, word])]} />`;
  return html`<input ...${attributes} value=${text} placeholder=${shownDefault} spellcheck=${false} autocomplete="off"
    inputmode=${isNumber(field) ? "decimal" : "text"} onInput=${(/** @type {Event} */ event) => onChange(valueOf(event).trim())} />`;
}

/** The fields of a schema with their dotted names. @param {Schema} schema  @param {string} [prefix] @returns {[string, Schema][]} */
export function fieldsOf(schema, prefix = "") {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    (field.properties ? fieldsOf(field, `${prefix}${name}.`) : [/** @type {[string, Schema]} */ ([prefix + name, field])]));
}

/** @param {Schema} field */
function typesOf(field) {
  return [field.type ?? [], field.oneOf?.map((choice) => choice.type ?? []) ?? []].flat(3);
}

/** @param {Schema} field */
function isNumber(field) {
  return typesOf(field).some((type) => type === "number" || type === "integer");
}

/** @param {Schema} field @returns {string[]|null} */
function wordsOf(field) {
  if (field.enum) return field.enum.filter((word) => word !== null);
  const choices = field.oneOf?.flatMap((choice) => choice.enum ?? []) ?? [];
  if (choices.length > 0) return choices;
  return typesOf(field).includes("boolean") ? ["true", "false"] : null;
}

/** A fault that needs no request. @param {Schema} field  @param {string} text */
function faultOf(field, text) {
  if (text === "" || wordsOf(field)) return undefined;
  const types = typesOf(field);
  const value = Number(text);
  if (types.includes("array") && /^\s*\[/.test(text)) {
    try {
      JSON.parse(text);
    } catch {
      return "The list must be written as in [1, 2, 3].";
    }
    return undefined;
  }
  if (!isNumber(field)) return field.pattern && !new RegExp(field.pattern).test(text) ? `The value must match ${field.pattern}.` : undefined;
  if (!Number.isFinite(value)) return "The value must be a number.";
  if (!types.includes("number") && !types.includes("string") && !Number.isInteger(value)) return "The value must be a whole number.";
  if (!types.includes("number") && !types.includes("string") && !Number.isSafeInteger(value)) return "The value has too many digits.";
  const bounds = field.oneOf?.find((choice) => choice.type !== "array") ?? field;
  if (bounds.minimum !== undefined && value < bounds.minimum) return `The value must be at least ${bounds.minimum}.`;
  if (bounds.exclusiveMinimum !== undefined && value <= bounds.exclusiveMinimum) return `The value must be above ${bounds.exclusiveMinimum}.`;
  if (bounds.exclusiveMaximum !== undefined && value >= bounds.exclusiveMaximum) return `The value must be below ${bounds.exclusiveMaximum}.`;
  if (bounds.maximum !== undefined && value > bounds.maximum) return `The value must be at most ${bounds.maximum}.`;
  return undefined;
}

/** Whether every text of a form has the right form. @param {Schema} schema  @param {Texts} texts */
export function isComplete(schema, texts) {
  return fieldsOf(schema).every(([name, field]) => faultOf(field, texts[name] ?? "") === undefined);
}

/**
 * The parameters as JSON. A decimal of more digits than a double holds stays a text if the schema allows a text.
 * @param {Schema} schema  @param {Texts} texts  @returns {Record<string, any>}
 */
export function paramsOf(schema, texts) {
  /** @type {Record<string, any>} */
  const params = {};
  for (const [name, field] of fieldsOf(schema)) {
    const text = texts[name];
    if (text === undefined || text === "") continue;
    const path = name.split(".");
    const last = path.pop() ?? "";
    let inside = params;
    for (const part of path) inside = inside[part] ??= {};
    inside[last] = parsed(field, text);
  }
  return params;
}

/** @param {Schema} field  @param {string} text */
function parsed(field, text) {
  const types = typesOf(field);
  if (types.includes("boolean")) return text === "true";
  if (types.includes("array") && text.startsWith("[")) return JSON.parse(text);
  const value = Number(text);
  if (isNumber(field) && Number.isFinite(value) && (String(value) === text || !types.includes("string"))) return value;
  return text;
}

/** The texts of a form in the query of the place, and the other way. Another form on the same page has another prefix. */
const PREFIX = "p.";

/** @param {URLSearchParams} query  @param {string} [prefix]  @returns {Texts} */
export function textsIn(query, prefix = PREFIX) {
  return Object.fromEntries([...query].filter(([name]) => name.startsWith(prefix)).map(([name, text]) => [name.slice(prefix.length), text]));
}

/** The changes of the query that store these texts. @param {URLSearchParams} query  @param {Texts} texts  @param {string} [prefix] */
export function queryOf(query, texts, prefix = PREFIX) {
  const gone = [...query.keys()].filter((name) => name.startsWith(prefix)).map((name) => [name, null]);
  return Object.fromEntries([...gone, ...Object.entries(texts).map(([name, text]) => [prefix + name, text])]);
}
