/** The words for a model: its title, the name of its kind, and its requests. This module makes no requests itself. */

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {Schemas["Model"]} Model */
/** @typedef {import("../../service/recipes.mjs").Recipe} Recipe */

/** The kinds of hypotheses in words. @type {Record<string, string>} */
export const KINDS = {
  "binary-weights": "Binary weights", bounded: "Bounded weights with inhibition", kernel: "Weights of conjunctions", "kernel-winnow": "Winnow over conjunctions",
  committee: "One hypothesis per class", linear: "Linear weights", winnow: "Winnow weights",
};

/** @param {string} kind */
export function kindName(kind) {
  return KINDS[kind] ?? kind;
}

/** @param {{name?: string|null, learner: string}} model */
export function titleOf(model) {
  return model.name || `Model of ${model.learner}`;
}

/** The name of a label: 1 or -1, or the place of one of more than two classes. @param {{classes?: string[]}} model  @param {number} label */
export function className(model, label) {
  if ((model.classes?.length ?? 2) > 2) return model.classes?.[label] ?? String(label);
  return model.classes?.[label > 0 ? 1 : 0] ?? (label > 0 ? "+1" : "−1");
}

/** @param {string} id @returns {Recipe} */
export function getting(id) {
  return { operation: "get_model", arguments: [id], path: `v1/models/${id}` };
}

/** The languages of programs. @type {[language: string, label: string, ending: string, use: string][]} */
export const LANGUAGES = [
  ["python", "Python", "py", "A module, and a program that reads CSV from standard input and writes one label per row."],
  ["c", "C", "c", "A program that reads CSV from standard input and writes one label per row."],
  ["rust", "Rust", "rs", "A program that reads CSV from standard input and writes one label per row."],
  ["sqlite", "SQLite", "sql", "A query that adds the column predicted to the table rows."],
  ["postgresql", "PostgreSQL", "sql", "A query that adds the column predicted to the table rows."],
  ["excel", "Excel", "txt", "A formula for the second row of a sheet that has the columns of the training file from A."],
];

/** The language that the address names. @param {URLSearchParams} query */
export function languageIn(query) {
  return LANGUAGES.find(([known]) => known === query.get("language")) ?? /** @type {typeof LANGUAGES[number]} */ (LANGUAGES[0]);
}

/** @param {string} id  @param {string} language @returns {Recipe} */
export function codeOf(id, language) {
  return { operation: "get_model_code", arguments: [id], path: `v1/models/${id}/code`, query: { language } };
}

/** @param {string} id @returns {Recipe} */
export function receiptOf(id) {
  return { operation: "get_model_receipt", arguments: [id], path: `v1/models/${id}/receipt` };
}

/** @param {string} id @returns {Recipe} */
export function deleting(id) {
  return { operation: "delete_model", arguments: [id], method: "DELETE", path: `v1/models/${id}` };
}

/**
 * Whether a model reads numbers instead of bits.
 * @param {Schemas["HypothesisDocument"]} hypothesis
 */
export function isReal(hypothesis) {
  return hypothesis.kind === "linear" && (hypothesis.reading === null || hypothesis.reading === undefined);
}
