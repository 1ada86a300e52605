/**
 * The state of the page in the URL: learners with their parameters, seed, origin, data and position. Equal states
 * give equal runs, because its request and its examples determine a session.
 */

import { number } from "../../view/numbers.mjs";
import { isComplete, paramsOf, textsIn } from "../../view/schema_form.mjs";
import { VIEW_STATE } from "../../view/place.mjs";
import { PROPOSED, generatedSchema, targetOf } from "../train/generated.mjs";
import { stopSchema } from "../train/tasks.mjs";
import { POSITION_MAX } from "./player.mjs";

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
const OUTSIDE = ["at", "pass", "passes", "speed", "setup", "bound", ...VIEW_STATE];

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
    const stop = paramsOf(stopSchema([learner]), textsIn(query, slot.stop));
    const assume = query.get("assume");
    return [{ slot, learner, request: /** @type {any} */ ({ learner: { name: learner.name, params }, seed: seedIn(query),
      ...(assume && { assume }), ...(query.get("multiclass") === "joint" && { multiclass: "joint" }), ...(query.get("classes") === "open" && { classes: "open" }),
      ...(Object.keys(stop).length > 0 && { stop }) }) }];
  });
}

/** @param {URLSearchParams} query */
function seedIn(query) {
  const text = query.get("seed") ?? "";
  return /^\d{1,16}$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : SEED;
}

/** Why a text is no position, or null. @param {string} text */
export function faultOfPosition(text) {
  if (text === "") return `Type a position from 0 to ${number(POSITION_MAX)}.`;
  if (!/^\d+$/.test(text)) return `A position is a whole number from 0 to ${number(POSITION_MAX)}, in digits.`;
  return Number(text) > POSITION_MAX ? `The position must be at most ${number(POSITION_MAX)}.` : null;
}

/** The position that the query asks for, 0 if the query has no right one. @param {URLSearchParams} query */
export function positionIn(query) {
  const text = query.get("at") ?? "";
  return faultOfPosition(text) === null ? Number(text) : 0;
}

/** The pass over the data to which the position of the query belongs. @param {URLSearchParams} query */
export function passIn(query) {
  const text = query.get("pass") ?? "";
  return /^[1-9]\d{0,6}$/.test(text) ? Number(text) : 1;
}

/** The learner that the query names and a session cannot have, as a slot with the name. @param {URLSearchParams} query  @param {Learner[]} catalogue */
export function unknownIn(query, catalogue) {
  return SLOTS.map((slot) => ({ slot, name: query.get(slot.learner) ?? "" }))
    .find(({ name }) => name !== "" && !catalogue.some((learner) => learner.name === name && learner.mode === "on-line")) ?? null;
}

/** Whether every parameter of the query has the right form. @param {URLSearchParams} query  @param {Wanted[]} wanted */
export function isRight(query, wanted) {
  const drawn = textsIn(query, "g.");
  return wanted.every(({ slot, learner }) => isComplete(/** @type {Schema} */ (learner.parameters), textsIn(query, slot.params))
      && isComplete(stopSchema([learner]), textsIn(query, slot.stop)))
    && (dataKindIn(query) !== "generated" || isComplete(generatedSchema(targetOf(drawn), drawn.sampling || String(PROPOSED["g.sampling"])), drawn));
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
  const names = [...query.keys()].filter((name) => /^(g|s)\./.test(name) || ["dataset", "sample", "rows", "from", "at", "pass"].includes(name));
  return Object.fromEntries(names.map((name) => [name, null]));
}
