/** The columns of a table as people see them: dates have several entries in an encoding, one for each of their parts. */

/** @typedef {import("#api").components["schemas"]["ColumnEncoding"]} ColumnEncoding */
/** @typedef {Omit<ColumnEncoding, "kind"> & {kind: ColumnEncoding["kind"] | "date", parts?: string[]}} WholeColumn */

/**
 * One entry per column, with the features of all its parts.
 * @param {ColumnEncoding[]} columns @returns {WholeColumn[]}
 */
export function wholeColumns(columns) {
  /** @type {WholeColumn[]} */
  const whole = [];
  for (const { part, ...column } of columns) {
    const last = whole.at(-1);
    if (part && last?.index === column.index) {
      last.features = [last.features[0] ?? 0, column.features[1] ?? 0];
      last.parts?.push(part);
    } else if (part) {
      const { thresholds, ...rest } = column;
      whole.push({ ...rest, kind: "date", parts: [part] });
    } else whole.push(column);
  }
  return whole;
}
