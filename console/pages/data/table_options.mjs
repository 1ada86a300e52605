/**
 * The parameters that say how a file is read, as the query of the place holds them. They have the names of the API,
 * so the query of the page is the query of the request.
 */

import { TEXT } from "./settings.mjs";

/** The parameters by group. The service refuses a parameter that does not belong to the format, so each group is sent only where it applies. */
const COMMON = ["labels", "positive", "label_threshold", "assume"];
const TABLE = ["weights", "ignore", "kinds", "numbers", "bins", "scale", "missing", "missing_values", "decimal", "dates", "encoding", "unknown", ...TEXT];

/**
 * The parameters that the request carries.
 * @param {URLSearchParams} query  @param {import("../../service/file_format.mjs").Format} format  @returns {Record<string, string>}
 */
export function optionsOf(query, format) {
  const names = [...COMMON, ...(format.isTable ? TABLE : []), ...(format.hasDelimiter ? ["delimiter", "comment"] : []),
    ...(format.hasHeader ? ["header"] : []), ...(format.isLines ? ["charset"] : []), ...(format.isWorkbook ? ["sheet"] : []), ...(format.isTable || format.mediaType === "text/x-vw" ? [] : ["n"]), ...(format.mediaType === "text/x-libsvm" ? ["first_index"] : []), ...(format.needsN ? ["bit_order"] : []), ...(format.takesNames ? ["vocabulary"] : [])]
    .filter((name) => !(["text/x-libsvm", "text/x-vw"].includes(format.mediaType) && name === "labels"));
  return Object.fromEntries(names.flatMap((name) => {
    const text = query.get(name);
    return text ? [[name, text]] : [];
  }));
}

/** The name of a column in a list of the API. A name with a comma or a quote stands in quotes. @param {string} name */
function quoted(name) {
  return /[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}

/** The entries of a list with commas outside quotes. @param {string} text @returns {string[]} */
function entriesOf(text) {
  return text.match(/(?:"(?:[^"]|"")*"|[^,"])+/g) ?? [];
}

/** @param {string} entry */
function unquoted(entry) {
  return entry.startsWith('"') ? entry.slice(1, entry.lastIndexOf('"')).replaceAll('""', '"') : entry;
}

/** @typedef {"boolean"|"nominal"|"number"|"date"|"text"|"ignored"} Kind */

/**
 * The kinds that the request states, by the name of the column.
 * @param {URLSearchParams} query  @returns {Map<string, Kind>}
 */
export function statedKinds(query) {
  const ignored = entriesOf(query.get("ignore") ?? "").map((entry) => /** @type {[string, Kind]} */ ([unquoted(entry.trim()), "ignored"]));
  const kinds = entriesOf(query.get("kinds") ?? "").map((entry) => {
    const colon = entry.lastIndexOf(":");
    return /** @type {[string, Kind]} */ ([unquoted(entry.slice(0, colon).trim()), entry.slice(colon + 1).trim()]);
  });
  return new Map([...ignored, ...kinds]);
}

/**
 * The changes of the query that state these kinds.
 * @param {Map<string, Kind>} kinds
 */
export function kindsQuery(kinds) {
  const entries = [...kinds];
  return {
    ignore: entries.filter(([, kind]) => kind === "ignored").map(([name]) => quoted(name)).join(","),
    kinds: entries.filter(([, kind]) => kind !== "ignored").map(([name, kind]) => `${quoted(name)}:${kind}`).join(","),
  };
}
