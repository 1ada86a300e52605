/** The columns of a stored table, and the features that they became. */

import { html } from "../../vendor/htm-preact.mjs";
import { labelText } from "../../view/balance.mjs";
import { number } from "../../view/numbers.mjs";
import { Panel, counted } from "../../view/parts.mjs";
import { Rows } from "../../view/rows.mjs";
import { wholeColumns } from "../../view/whole_columns.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {import("../../view/whole_columns.mjs").WholeColumn} ColumnEncoding */

const VALUES_SHOWN = 12;

/** The values or thresholds of a column in one line. @param {Partial<ColumnEncoding>} column */
export function valuesText(column) {
  const fitted = [column.scale && `(x − ${number(column.scale.offset)}) / ${number(column.scale.divisor)}`, column.fill !== undefined && `missing: ${column.fill}`].filter(Boolean);
  const all = fitted.length > 0 && !column.values && !column.thresholds ? fitted : column.parts ?? column.thresholds?.map((threshold) => `≥ ${number(threshold, 6)}`) ?? column.values ?? [];
  const shown = all.slice(0, VALUES_SHOWN).join(", ");
  return all.length > VALUES_SHOWN ? `${shown} and ${number(all.length - VALUES_SHOWN)} more` : shown || "–";
}

/** The features of a column, numbered from 1. @param {Partial<ColumnEncoding>} column */
export function featuresText({ features }) {
  const [from = 0, to = 0] = features ?? [];
  if (to <= from) return "–";
  return to - from === 1 ? number(to) : `${number(from + 1)}–${number(to)}`;
}

/** @type {import("../../view/rows.mjs").Column<ColumnEncoding & {use: string, why?: string}>[]} */
const COLUMNS = [
  { name: "column", isNumber: true, label: "no.", cell: (column) => number(column.index) },
  { name: "name", cell: (column) => column.name || "(no name)" },
  { name: "use", cell: (column) => column.use },
  { name: "values", label: "values or thresholds", cell: (column) => column.why ?? html`<span title=${valuesText(column)}>${valuesText(column)}</span>` },
  { name: "features", isNumber: true, cell: featuresText },
];

/** @param {{table: Schemas["TableEncoding"]}} props */
export function StoredColumns({ table }) {
  const { label } = table;
  const labelRow = label && { name: label.column, index: label.index, use: "label",
    why: labelText(label) };
  const rows = [
    ...wholeColumns(table.columns).map((column) => ({ ...column, use: [column.kind, column.missing && "with missing cells", column.scale && "scaled"].filter(Boolean).join(", ") })),
    ...table.ignored.map((found) => ({ name: found.column, index: found.index, use: "ignored", why: found.why })),
    ...(labelRow ? [labelRow] : []),
  ].sort((one, other) => one.index - other.index);
  return html`<${Panel} title="How the columns were read" actions=${html`<span class="small muted">${`${counted(rows.length, "column")}, ${
    counted(table.columns.at(-1)?.features[1] ?? 0, "feature")}`}</span>`}>
    <${Rows} columns=${COLUMNS} rows=${rows} rowKey=${(/** @type {{index: number}} */ row) => String(row.index)} caption="Columns of the table"
      height=${20 * 16} />
  <//>`;
}

/** @type {import("../../view/rows.mjs").Column<string>[]} */
const NAMES = [
  { name: "no.", isNumber: true, cell: (_, index) => number(index + 1) },
  { name: "feature", cell: (name) => name },
];

/** @param {{names: string[]}} props */
export function FeatureNames({ names }) {
  return html`<${Panel} title="Features">
    <${Rows} columns=${NAMES} rows=${names} rowKey=${(/** @type {string} */ _, /** @type {number} */ index) => String(index)} caption="Names of the features"
      height=${20 * 16} />
  <//>`;
}
