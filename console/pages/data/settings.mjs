/** The form with the options of the reading. Each format has those that the service accepts for it. */

/** @typedef {import("../../view/schema_form.mjs").Schema} Schema */

/** @type {Record<string, Schema>} */
export const FIELDS = {
  numbers: { title: "Numbers", type: "string", enum: ["real", "thermometer"], default: "real",
    description: "Real numbers stay numbers. A thermometer makes one bit per threshold, so that every Boolean learner applies." },
  bins: { title: "Thresholds per column", type: "integer", minimum: 1, maximum: 255, default: 8, description: "Largest number of thresholds of a thermometer." },
  scale: { title: "Scale of numbers", type: "string", enum: ["none", "standard", "range"], default: "none",
    description: "standard: mean 0 and standard deviation 1. range: from 0 to 1." },
  missing: { title: "Missing cells", type: "string", enum: ["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"], default: "value",
    description: "A value of its own, rows left out, the table refused, or filled: numbers with the mean or the median, every column with its most frequent value, or numbers with the mean and a feature that tells." },
  missing_values: { title: "Missing words", type: "string", description: "Texts that mean a missing cell beside the usual ones, separated by commas." },
  header: { title: "First row holds names", type: "string", enum: ["true", "false"], default: "automatic" },
  delimiter: { title: "Between the fields", type: "string", enum: [",", ";", "|", "tab", "blank"], default: "automatic" },
  comment: { title: "Mark of comments", type: "string", default: "none", description: "A line that begins with it, such as # or %, is no row." },
  charset: { title: "Charset", type: "string", default: "UTF-8",
    description: "Such as windows-1252 or shift_jis, if the text is not UTF-8. UTF-16 is known by its byte order mark." },
  decimal: { title: "Decimal mark", type: "string", enum: [".", ","], default: "." },
  dates: { title: "Dates such as 1/2/2024", type: "string", enum: ["dmy", "mdy"], default: "refused",
    description: "dmy: the day comes first. mdy: the month does. Dates such as 2024-02-01 need no choice." },
  sheet: { title: "Sheet", type: "string", description: "Name or number. By default the first visible sheet with a value." },
  encoding: { title: "Encoding of", type: "string", pattern: "^(ds|mdl)_[0-9a-f]+$", description: "Id of a dataset or a model whose encoding the table must have." },
  unknown: { title: "Unknown values", type: "string", enum: ["refuse", "zero"], default: "refuse", description: "Values that the encoding does not know." },
  vocabulary: { title: "Names of features", type: "string", enum: ["open"], default: "as the first example has it",
    description: "open: each example lists names, which may be new." },
  words: { title: "Words in a name", type: "string", pattern: "^[1-8](-[1-8])?$", default: "1",
    description: "1, 2, or a range such as 1-2: each sequence of so many words of a text is a name." },
  characters: { title: "Characters in a name", type: "string", pattern: "^[1-8](-[1-8])?$", default: "none",
    description: "A range such as 3-5: each sequence of so many characters of a text is a name." },
  window: { title: "Places around a marked word", type: "integer", minimum: 1, maximum: 50, default: "none",
    description: "The words within so many places of a word marked as [[word]] are names, alone and as patterns with their places." },
  lower_case: { title: "Lower case", type: "string", enum: ["true", "false"], default: "true" },
  occurrences: { title: "Value of a name", type: "string", enum: ["presence", "counts"], default: "presence",
    description: "1, or the number of times that the name occurs in the text." },
  conjunctions: { title: "Names in a conjunction", type: "integer", minimum: 1, maximum: 3, default: 1,
    description: "With 2 or 3 each example also has the conjunctions of so many of its names." },
  n: { title: "Features", type: "integer", minimum: 1, maximum: 1048576, description: "Features per example. By default the service counts them." },
  labels: { title: "Labels", type: "string", description: "A column by its number from 1, or from −1 at the end, or none. By default the last column." },
  weights: { title: "Column of weights", type: "string", default: "none", description: "A column by its name or number. Its numbers, from 0.001 to 1000, say how much each example counts." },
  positive: { title: "Value that means +1", type: "string", description: "Every other value then means −1." },
  label_threshold: { title: "Number from which labels mean +1", type: "number", default: "none", description: "Makes two classes of labels that are numbers." },
  first_index: { title: "First index", type: "string", enum: ["0", "1"], default: "as the file shows" },
  bit_order: { title: "Order of the bits", type: "string", enum: ["big", "little"], default: "big" },
  assume: { title: "Origin of the examples", type: "string", enum: ["independent", "uniform", "uniform-positive", "reflected"], default: "nothing declared",
    description: "Declare an origin only if the examples are fresh, independent draws. Certificates and confidence rules rest on this declaration." },
};

/** The options of texts and of their names. */
export const TEXT = ["words", "characters", "window", "lower_case", "occurrences", "conjunctions"];

/** @param {import("../../service/file_format.mjs").Format} format  @param {URLSearchParams} query  @returns {Schema} */
export function settingsOf(format, query) {
  const { mediaType } = format;
  const names = format.isTable ? ["numbers", query.get("numbers") === "thermometer" ? "bins" : "scale", "missing", "missing_values", "decimal", "dates", "label_threshold", "weights"]
    : mediaType === "text/x-libsvm" ? ["positive", "label_threshold", "first_index", "n"] : mediaType === "text/x-vw" ? ["positive"] : mediaType === "application/x-npy" ? ["labels", "label_threshold", "n"] : ["n", "labels", "bit_order"];
  if (format.hasHeader) names.push("header");
  if (format.hasDelimiter) names.push("delimiter", "comment");
  if (format.isLines) names.push("charset");
  if (format.isWorkbook) names.push("sheet");
  if (format.isTable) names.push("encoding", ...(query.get("encoding") ? ["unknown"] : []));
  if (format.takesNames) names.push("vocabulary");
  if (format.isTable && (format.takesNames || /:text(,|$)/.test(query.get("kinds") ?? ""))) names.push(...TEXT);
  names.push("assume");
  const properties = Object.fromEntries(names.map((name) => [name, FIELDS[name] ?? {}]));
  if (format.needsN) {
    properties.n = { ...FIELDS.n, description: "Features per example. Packed bits need this number." };
    properties.labels = { title: "Labels", type: "string", enum: ["none", "appended"], default: "none", description: "appended: the bit after the features of each row is the label." };
  }
  return { properties };
}
