/**
 * Rows that you type into a form, which follows the encoding of the model's table. The service predicts them while
 * you type, and the URL holds them.
 */

import { html } from "../../vendor/htm-preact.mjs";
import { useId, useState } from "../../vendor/hooks.mjs";
import { useLive } from "../../service/live.mjs";
import { Field, Panel, Select, valueOf } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { Fault } from "../../view/problem.mjs";
import { number } from "../../view/numbers.mjs";
import { CopyRecipe } from "../../view/recipe.mjs";
import { wholeColumns } from "../../view/whole_columns.mjs";
import { Answer } from "./answer.mjs";
import { Why } from "./why.mjs";

/** @typedef {import("./words.mjs").Schemas} Schemas */
/** @typedef {import("./words.mjs").Model} Model */
/** @typedef {import("../../view/whole_columns.mjs").WholeColumn} Column */
/** @typedef {Record<string, string|null>} Row  The text of each column; null for a missing cell. */

/** Rows of the form. More rows belong in a file. */
const ROWS_MAX = 10;
/** Columns of the form at first. */
const COLUMNS_SHOWN = 48;
/** Values that fit into a list to choose from. */
const CHOICES_MAX = 200;
/** Characters of rows that the URL holds. */
const URL_MAX = 8000;
/** The choice for a missing cell. No value of a table begins with this character. */
const MISSING = "\u0000missing";

/** @param {{model: Model, table: Schemas["TableEncoding"], query: URLSearchParams}} props */
export function TypedRows({ model, table, query }) {
  const [long, setLong] = useState(/** @type {Row[]|null} */ (null));
  const columns = wholeColumns(table.columns);
  const rows = long ?? rowsIn(query, columns);
  const set = (/** @type {Row[]} */ next) => {
    const changed = JSON.stringify(next.map((row) => changesOf(row, columns)));
    setLong(changed.length > URL_MAX ? next : null);
    setQuery({ rows: changed.length > URL_MAX || changed === "[{}]" ? null : changed });
  };
  const request = { method: /** @type {const} */ ("POST"), path: `v1/models/${model.id}/predict`, json: { rows: rows.map((row) => bodyOf(row, columns)) } };
  const answer = useLive(request);
  const recipe = { operation: "predict_model", arguments: [model.id], ...request };
  return html`<${Panel} title="Predict typed rows" actions=${html`<${CopyRecipe} recipe=${recipe} />`}>
    <p class="muted">Change a value: the prediction follows. The address of this page holds the rows, so you can send them as a link.</p>
    ${rows.map((row, index) => html`<${RowForm} key=${index} title=${rows.length > 1 ? `Row ${index + 1}` : "The row"} columns=${columns} row=${row}
      answer=${html`<${Answer} model=${model} predictions=${answer.value} index=${index} isOld=${answer.isLoading} />`}
      why=${model.vocabulary === "open" ? () => html`<${Why} model=${model} json=${{ rows: [bodyOf(row, columns)] }} />` : null}
      onChange=${(/** @type {Row} */ next) => set(rows.map((old, at) => (at === index ? next : old)))}
      onRemove=${rows.length > 1 ? () => set(rows.filter((_, at) => at !== index)) : null} />`)}
    <${Fault} error=${answer.error} onRetry=${answer.reload} />
    <div class="row"><button disabled=${rows.length >= ROWS_MAX} onClick=${() => set([...rows, rows.at(-1) ?? startOf(columns)])}>Add a row</button>
      <span class="small muted">The new row is a copy of the last one.${rows.length >= ROWS_MAX && ` The form takes ${ROWS_MAX} rows. Use a file for more.`}</span></div>
  <//>`;
}

/**
 * @param {{title: string, columns: Column[], row: Row, answer: any, why: (() => any)|null, onChange: (row: Row) => void, onRemove: (() => void)|null}} props
 */
function RowForm({ title, columns, row, answer, why, onChange, onRemove }) {
  const [shown, setShown] = useState(COLUMNS_SHOWN);
  const [isAsked, setAsked] = useState(false);
  const id = useId();
  const left = columns.length - shown;
  return html`<section class="typed-row" aria-labelledby=${id}>
    <div class="row spread"><h3 id=${id}>${title}</h3>${answer}</div>
    <div class="fields small-fields">${columns.slice(0, shown).map((column) => html`<${Cell} key=${column.index} column=${column} value=${row[column.name] ?? null}
      onChange=${(/** @type {string|null} */ value) => onChange({ ...row, [column.name]: value })} />`)}</div>
    ${why && isAsked && why()}
    ${(left > 0 || why || onRemove) && html`<div class="row">
      ${why && html`<button class="small-button" aria-expanded=${isAsked} onClick=${() => setAsked(!isAsked)}>Why?</button>`}
      ${left > 0 && html`<button class="small-button" onClick=${() => setShown(shown + 100)}>Show ${number(Math.min(left, 100))} more of ${number(columns.length)} columns</button>`}
      ${onRemove && html`<button class="small-button" onClick=${onRemove}>Remove ${title.toLowerCase()}</button>`}</div>`}
  </section>`;
}

/** The control of one cell by the kind of its column. @param {{column: Column, value: string|null, onChange: (value: string|null) => void}} props */
function Cell({ column, value, onChange }) {
  const values = column.values ?? [];
  const kind = cellsOf(column);
  if (column.kind === "boolean") return html`<div class="field"><span class="label">${column.name}</span>
    <label class="check"><input type="checkbox" aria-label=${column.name} checked=${value === values[1]}
      onChange=${(/** @type {Event} */ event) => onChange((/** @type {HTMLInputElement} */ (event.target).checked ? values[1] : values[0]) ?? null)} />
      <span>${value === null ? "(missing)" : value}</span></label></div>`;
  if (column.kind === "nominal" && values.length <= CHOICES_MAX) {
    const choices = values.map((text) => /** @type {[string, string]} */ ([text, text]));
    return html`<${Field} label=${column.name}>${(/** @type {object} */ attributes) => html`<${Select} attributes=${attributes} value=${value ?? MISSING}
      options=${column.missing || value === null ? [...choices, [MISSING, "(missing)"]] : choices}
      onChange=${(/** @type {string} */ text) => onChange(text === MISSING ? null : text)} />`}<//>`;
  }
  const type = (/** @type {Event} */ event) => onChange(valueOf(event).trim() === "" ? null : valueOf(event));
  if (kind === "text") return html`<${Field} label=${column.name} hint="A text as it is: the model makes names of its words.">${(/** @type {object} */ attributes) => html`<textarea
    ...${attributes} value=${value ?? ""} onInput=${type}></textarea>`}<//>`;
  const isNumber = isNumeric(column);
  const fault = isNumber && value !== null && !Number.isFinite(Number(value)) ? "The value must be a number." : undefined;
  return html`<${Field} label=${column.name} hint=${hintOf(column)} fault=${fault}>${(/** @type {object} */ attributes) => html`<input ...${attributes}
    value=${value ?? ""} placeholder="(missing)" inputmode=${isNumber ? "decimal" : "text"} autocomplete="off" onInput=${type} />`}<//>`;
}

/** What a cell of a column holds. Columns of names have cells of several kinds. @param {Column} column */
function cellsOf({ kind, cells }) {
  return kind === "names" ? cells : kind;
}

/** @param {Column} column */
function isNumeric(column) {
  return cellsOf(column) === "number" || cellsOf(column) === "thermometer";
}

/** @param {Column} column */
function hintOf(column) {
  const thresholds = column.thresholds ?? [];
  if (column.kind === "nominal") return `One of ${number(column.values?.length ?? 0)} values of the training table.`;
  if (column.kind === "date") return `A date such as 2024-12-31${column.parts?.includes("hour") ? " 18:30" : ""}. The model reads its ${column.parts?.join(", ")}.`;
  if (thresholds.length === 0) return null;
  const shown = thresholds.slice(0, 6).map((threshold) => number(threshold)).join(", ");
  return `Thresholds: ${shown}${thresholds.length > 6 ? ` and ${number(thresholds.length - 6)} more` : ""}.`;
}

/** The row that the form shows first. @param {Column[]} columns @returns {Row} */
function startOf(columns) {
  return Object.fromEntries(columns.map((column) => [column.name, firstOf(column)]));
}

/** @param {Column} column @returns {string|null} */
function firstOf(column) {
  const { thresholds = [], values = [] } = column;
  // A name that an example lacks is a missing cell.
  if (column.kind === "names") return null;
  if (column.kind === "nominal" || column.kind === "boolean") return values[0] ?? "";
  if (column.kind === "date") return "2024-12-31";
  return String(thresholds[Math.floor(thresholds.length / 2)] ?? 0);
}

/** The cells that differ from the first row of the form, for a short URL. @param {Row} row  @param {Column[]} columns @returns {Row} */
function changesOf(row, columns) {
  return Object.fromEntries(columns.filter((column) => row[column.name] !== firstOf(column)).map((column) => [column.name, row[column.name] ?? null]));
}

/** @param {URLSearchParams} query  @param {Column[]} columns @returns {Row[]} */
function rowsIn(query, columns) {
  const start = startOf(columns);
  try {
    const told = JSON.parse(query.get("rows") ?? "[]");
    if (!Array.isArray(told) || told.length === 0) return [start];
    return told.slice(0, ROWS_MAX).map((changes) => Object.fromEntries(columns.map((column) => {
      const told = Object.hasOwn(changes ?? {}, column.name) ? changes[column.name] : start[column.name];
      return [column.name, told === null ? null : String(told)];
    })));
  } catch {
    return [start];
  }
}

/** A row as the service reads it: numbers as numbers, and null for a missing cell. @param {Row} row  @param {Column[]} columns */
function bodyOf(row, columns) {
  return Object.fromEntries(columns.map((column) => {
    const text = row[column.name] ?? null;
    return [column.name, isNumeric(column) && text !== null && Number.isFinite(Number(text)) ? Number(text) : text];
  }));
}
