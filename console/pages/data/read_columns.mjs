/** The columns of a file as the service reads them, and the choice of what each is used for. */

import { html } from "../../vendor/htm-preact.mjs";
import { number } from "../../view/numbers.mjs";
import { Panel, Select, counted } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { Rows } from "../../view/rows.mjs";
import { wholeColumns } from "../../view/whole_columns.mjs";
import { featuresText, valuesText } from "./stored_columns.mjs";
import { kindsQuery, statedKinds } from "./table_options.mjs";

/** @typedef {import("./reading.mjs").FileReading} FileReading */
/** @typedef {NonNullable<FileReading["columns"]>[number]} ReadColumn */

/** The text that names a column in the request: the name, or the number if the file has no names. @param {FileReading} reading  @param {ReadColumn} column */
export function referenceTo(reading, column) {
  return reading.header ? column.name : String(column.index);
}

/** @param {{reading: FileReading, query: URLSearchParams}} props */
export function ReadColumns({ reading, query }) {
  const columns = reading.columns ?? [];
  const encoded = new Map(wholeColumns(reading.table?.columns ?? []).map((column) => [column.index, column]));
  const ignored = new Map((reading.table?.ignored ?? []).map((column) => [column.index, column.why]));
  const stated = statedKinds(query);
  const cut = (reading.column_count ?? 0) - columns.length;
  /** @type {import("../../view/rows.mjs").Column<ReadColumn>[]} */
  const shown = [
    { name: "no.", isNumber: true, cell: (column) => number(column.index) },
    { name: "name", cell: (column) => html`<span title=${column.name}>${column.name || "(no name)"}</span>` },
    { name: "use", cell: (column) => html`<${Use} reading=${reading} column=${column} stated=${stated} />` },
    { name: "distinct", isNumber: true, cell: (column) => number(column.distinct) },
    { name: "missing", isNumber: true, cell: (column) => number(column.missing) },
    { name: "values", label: "values or thresholds", cell: (column) => {
      const text = column.detail ?? ignored.get(column.index) ?? valuesText(encoded.get(column.index) ?? {});
      return html`<span class=${column.detail ? "bad-text" : ""} title=${text}>${text}</span>`;
    } },
    { name: "features", isNumber: true, cell: (column) => featuresText(encoded.get(column.index) ?? {}) },
  ];
  return html`<${Panel} title="Columns" actions=${html`<span class="small muted">Change the use of a column to read the file again.</span>`}>
    <${Rows} columns=${shown} rows=${columns} rowKey=${(/** @type {ReadColumn} */ column) => String(column.index)} caption="Columns of the file" height=${24 * 16} />
    ${cut > 0 && html`<p class="small muted">The first ${number(columns.length)} columns are shown. ${counted(cut, "further column")} follow.</p>`}
  <//>`;
}

/** @type {Record<string, string>} */
const MEANINGS = { boolean: "boolean: one bit", nominal: "nominal: one bit per value", number: "number", thermometer: "number", date: "date: its parts are numbers", text: "text: its words are names", ignored: "ignored" };

/** @param {{reading: FileReading, column: ReadColumn, stated: ReturnType<typeof statedKinds>}} props */
function Use({ reading, column, stated }) {
  const reference = referenceTo(reading, column);
  const kind = stated.get(reference);
  const isLabel = column.role === "label";
  const isWeights = column.role === "weights";
  const kinds = [...new Set([...column.kinds, ...(kind ? [kind] : []), ...(isLabel || isWeights ? /** @type {const} */ (["ignored"]) : [])])];
  const automatic = column.kind ? `automatic: ${column.kind}` : "automatic";
  const change = (/** @type {string} */ use) => {
    const next = new Map(stated);
    next.delete(reference);
    const others = isWeights && use !== "weights" ? { weights: null } : {};
    if (use === "label") return setQuery({ ...kindsQuery(next), ...others, labels: reference, positive: null });
    if (use === "weights") return setQuery({ ...kindsQuery(next), ...(isLabel && { labels: null, positive: null }), weights: reference });
    if (use) next.set(reference, /** @type {import("./table_options.mjs").Kind} */ (use));
    // A label column that becomes something else leaves the file without labels.
    setQuery({ ...kindsQuery(next), ...others, ...(isLabel && { labels: use ? "none" : null, positive: null }) });
  };
  return html`<${Select} label=${`Use of the column ${column.name || column.index}`} value=${isLabel || isWeights ? column.role : (kind ?? "")} onChange=${change}
    options=${[["", kind || isLabel || isWeights ? "automatic" : automatic], ...kinds.map((found) => [found, MEANINGS[found] ?? found]), ["label", "label"], ["weights", "weights"]]} />`;
}
