/**
 * The state of the page in the URL: learners with their parameters, seed, origin, data and position. Equal states give
 * equal runs, because a session is determined by its request and its examples.
 */

import { paramsOf, textsIn } from "../../view/schema_form.mjs";
import { stopSchema } from "../train/tasks.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {import("../train/request.mjs").Learner} Learner */
/** @typedef {import("../../view/schema_form.mjs").Schema} Schema */

/** The two places for a learner, with the names of their parts in the query. */
export const SLOTS = /** @type {const} */ ([
  { learner: "learner", params: "p.", stop: "stop.", title: "Learner" },
  { learner: "with", params: "q.", stop: "qstop.", title: "Second learner" },
]);

/** @typedef {typeof SLOTS[number]} Slot */

/** The seed of a link without a seed. A drawn seed would show each reader another run. */
export const SEED = 1;

/** Parts of the query that change no answer of a session. */
const OUTSIDE = ["at", "speed", "setup", "bound"];

/** Stop conditions that concern jobs only. */
export const NOT_FOR_SESSIONS = ["max_passes", "max_seconds"];

/** @typedef {{slot: Slot, learner: Learner, request: Schemas["SessionRequest"] & {learner: {name: string, params: any}}}} Wanted */

/**
 * The sessions that the query asks for, without the number of features.
 * @param {URLSearchParams} query  @param {Learner[]} catalogue  @returns {Wanted[]}
 */
export function wantedIn(query, catalogue) {
  return SLOTS.flatMap((slot) => {
    const learner = catalogue.find(({ name, mode }) => name === query.get(slot.learner) && mode === "on-line");
    if (!learner) return [];
    const params = paramsOf(/** @type {Schema} */ (learner.parameters), textsIn(query, slot.params));
    const stop = paramsOf(stopSchema(learner.confidence_rules), textsIn(query, slot.stop));
    const assume = query.get("assume");
    return [{ slot, learner, request: /** @type {any} */ ({ learner: { name: learner.name, params }, seed: seedIn(query),
      ...(assume && { assume }), ...(Object.keys(stop).length > 0 && { stop }) }) }];
  });
}

/** @param {URLSearchParams} query */
function seedIn(query) {
  const text = query.get("seed") ?? "";
  return /^\d{1,16}$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : SEED;
}

/** The position that the query asks for. @param {URLSearchParams} query */
export function positionIn(query) {
  const position = Number(query.get("at") ?? 0);
  return Number.isInteger(position) && position > 0 ? position : 0;
}

/** A text that is equal for equal runs. @param {URLSearchParams} query */
export function nameOfRun(query) {
  return JSON.stringify([...query].filter(([name]) => !OUTSIDE.includes(name)).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The kind of data that the query names. @param {URLSearchParams} query @returns {"dataset"|"sample"|"rows"|"generated"|null} */
export function dataKindIn(query) {
  if (query.get("dataset")) return "dataset";
  if (query.get("sample")) return "sample";
  if (query.get("rows")) return "rows";
  return query.get("from") === "generated" ? "generated" : null;
}

/** The query without the choice of the data. @param {URLSearchParams} query @returns {Record<string, null>} */
export function withoutData(query) {
  const names = [...query.keys()].filter((name) => /^(g|s)\./.test(name) || ["dataset", "sample", "rows", "from", "at"].includes(name));
  return Object.fromEntries(names.map((name) => [name, null]));
}
