/** Parts of the page that shows how a file is read: the counts, the choice of the label, and the first rows. */

import { html } from "../../vendor/htm-preact.mjs";
import { number } from "../../view/numbers.mjs";
import { Facts, Field, Panel, Select, counted, valueOf } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { Balance, classesOf, contradictionText } from "../../view/balance.mjs";
import { referenceTo } from "./read_columns.mjs";
import { kindsQuery, statedKinds } from "./table_options.mjs";

/** @typedef {import("./reading.mjs").FileReading} FileReading */

/** @param {{reading: FileReading, isPart: boolean}} props */
export function Summary({ reading, isPart }) {
  const { data, table } = reading;
  const read = isPart ? " in the part that was read" : "";
  const contradictions = data?.contradictions ?? 0;
  return html`
    ${data && html`<${Balance} of=${data} classes=${classesOf(data.classes, table)} />`}
    <${Facts} of=${[
      [`Examples${read}`, data && html`<strong>${number(data.examples)}</strong>`],
      ["Features", data && html`<strong>${number(data.n)}</strong>`],
      ["Rows", !data && typeof reading.row_count === "number" && number(reading.row_count)],
      ["Columns", typeof reading.column_count === "number" && number(reading.column_count)],
      ["Values", data?.values],
      ["Duplicates", typeof data?.duplicates === "number" && number(data.duplicates)],
      ["Contradictions", typeof data?.contradictions === "number" && number(data.contradictions)],
      ["Missing cells", table && number(table.missing.cells)],
      ["Rows left out", table && table.missing.rows_dropped > 0 && number(table.missing.rows_dropped)],
    ]} />
    ${contradictions > 0 && html`<p class="small muted">${contradictionText(contradictions)}</p>`}`;
}

/** The label column and the value that means +1. @param {{reading: FileReading, query: URLSearchParams}} props */
export function LabelChoice({ reading, query }) {
  const columns = reading.columns ?? [];
  const label = columns.find((column) => column.role === "label");
  const stated = query.get("labels") ?? "";
  const values = reading.label_values;
  const choose = (/** @type {string} */ labels) => {
    const kinds = statedKinds(query);
    kinds.delete(labels);
    setQuery({ ...kindsQuery(kinds), labels, positive: null });
  };
  const isListed = ["", "none", "first", "last"].includes(stated) || columns.some((column) => referenceTo(reading, column) === stated);
  const positive = query.get("positive") ?? "";
  const found = reading.table?.label?.classes;
  const automatic = found && (found.length > 2 ? `${number(found.length)} classes` : found[1]);
  return html`<div class="fields">
    <${Field} label="Label column" hint="The column that the learner predicts.">${(/** @type {object} */ attributes) => html`<${Select} attributes=${attributes}
      value=${stated} onChange=${choose} options=${[["", !stated && label ? `automatic: ${label.name}` : "automatic"],
        ...(isListed ? [] : [[stated, stated]]),
        ...columns.map((column) => [referenceTo(reading, column), column.name || `column ${column.index}`]),
        ["first", "the first column"], ["last", "the last column"], ["none", "no labels: all examples are positive"]]} />`}<//>
    ${stated !== "none" && (label || values) && html`<${Field} label="Value that means +1" hint="Every other value means −1. More than two values are classes of their own unless you choose one.">${(/** @type {object} */ attributes) => (values
      ? html`<${Select} attributes=${attributes} value=${positive} onChange=${(/** @type {string} */ value) => setQuery({ positive: value })}
        options=${[["", automatic && !positive ? `automatic: ${automatic}` : "automatic"],
          ...(positive && !values.some(({ value }) => value === positive) ? [[positive, positive]] : []),
          ...values.map(({ value, rows }) => [value, `${value} (${counted(rows, "row")})`])]} />`
      : html`<input ...${attributes} value=${positive} autocomplete="off" onChange=${(/** @type {Event} */ event) => setQuery({ positive: valueOf(event) })} />`)}<//>`}
  </div>`;
}

/** Columns of the file that the preview of the rows shows. */
const COLUMNS_SHOWN = 50;

/** @param {{reading: FileReading}} props */
export function FirstRows({ reading }) {
  const names = reading.names ?? [];
  const rows = reading.rows ?? [];
  if (rows.length === 0) return null;
  const shown = names.slice(0, COLUMNS_SHOWN);
  const role = (/** @type {number} */ at) => reading.columns?.[at]?.role ?? "feature";
  return html`<${Panel} title="First rows" actions=${names.length > shown.length && html`<span class="small muted">${`The first ${shown.length} of ${number(Math.max(names.length, reading.column_count ?? 0))} columns`}</span>`}>
    <div class="scroll tall" tabindex="0" role="region" aria-label="First rows of the file">
      <table><caption class="hidden-label">First rows as they stand in the file</caption>
        <thead><tr><th scope="col" class="number narrow">row</th>${shown.map((name, at) => html`<th scope="col" key=${at}>${name || "(no name)"}${role(at) !== "feature" && html` <span class=${`badge ${role(at) === "label" ? "note" : ""}`}>${role(at)}</span>`}</th>`)}</tr></thead>
        <tbody>${rows.map((cells, row) => html`<tr key=${row}><td class="number">${row + 1}</td>
          ${shown.map((_, at) => html`<td key=${at} class=${`nowrap ${role(at) === "ignored" ? "muted" : ""}`}>${cells[at]}</td>`)}</tr>`)}</tbody>
      </table>
    </div>
  <//>`;
}
