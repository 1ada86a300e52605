/**
 * The request that the state of the page stands for, and the faults in an answer, each under the field that it
 * concerns.
 */

import { faultsBy } from "../../view/problem.mjs";
import { isComplete, paramsOf, textsIn } from "../../view/schema_form.mjs";
import { generatedOf, generatedSchema, targetOf } from "./generated.mjs";
import { overOf } from "./grid.mjs";
import { JOB, stopSchema, taskOf } from "./tasks.mjs";

/** @typedef {import("#api").components["schemas"]["Learner"] & {fits?: boolean|null, unfit?: string|null}} Learner */
/** @typedef {import("../../view/schema_form.mjs").Schema} Schema */

/** The texts of the fields whose names stand in the query without a prefix. @param {URLSearchParams} query  @param {Schema} schema */
export function plainTexts(query, schema) {
  return Object.fromEntries(Object.keys(schema.properties ?? {}).flatMap((name) => (query.get(name) ? [[name, String(query.get(name))]] : [])));
}

/** Whether the data are drawn by the service. @param {URLSearchParams} query */
export function isGenerated(query) {
  return query.get("from") === "generated" && !query.get("dataset");
}

/**
 * The learners that a comparison names. The query holds their names, or JSON if a learner has parameters.
 * @param {URLSearchParams} query  @returns {{name: string, params?: object}[]}
 */
export function comparedIn(query) {
  const text = query.get("learners") ?? "";
  if (!text.startsWith("[")) return text.split(",").filter(Boolean).map((name) => ({ name }));
  try {
    return JSON.parse(text).filter((/** @type {any} */ compared) => typeof compared?.name === "string");
  } catch {
    return [];
  }
}

/** The learners of a comparison as a text of the query. @param {{name: string, params?: object}[]} compared */
export function comparedText(compared) {
  const hasParams = compared.some(({ params }) => Object.keys(params ?? {}).length > 0);
  return hasParams ? JSON.stringify(compared) : compared.map(({ name }) => name).join(",");
}

/**
 * The request, or what the person must still choose.
 * @param {URLSearchParams} query  @param {Learner|null} learner  @returns {{request: Record<string, any>|null, missing: string}}
 */
export function requestOf(query, learner) {
  const task = taskOf(query);
  const dataset = query.get("dataset");
  const generated = textsIn(query, "g.");
  if (!dataset && !isGenerated(query)) return { request: null, missing: "Choose the data." };
  if (task.learners === "one" && !learner) return { request: null, missing: "Choose a learner." };
  if (task.needsModel && !query.get("model")) return { request: null, missing: "Choose the model to evaluate." };
  const stops = stopSchema(learner ? [learner] : []);
  const forms = /** @type {[Schema, Record<string, string>][]} */ ([
    [{ properties: task.fields }, plainTexts(query, { properties: task.fields })], [JOB, plainTexts(query, JOB)],
    ...(task.learners === "one" ? [[learner?.parameters ?? {}, textsIn(query)]] : []),
    ...(task.learners !== "none" ? [[stops, textsIn(query, "stop.")]] : []),
    ...(dataset ? [] : [[generatedSchema(targetOf(generated), generated.sampling || "uniform"), generated]]),
  ]);
  if (!forms.every(([schema, texts]) => isComplete(schema, texts))) return { request: null, missing: "Correct the marked fields." };
  const [fields, job] = forms.slice(0, 2).map(([schema, texts]) => paramsOf(schema, texts));
  const stop = task.learners === "none" ? {} : paramsOf(stops, textsIn(query, "stop."));
  /** @type {Record<string, any>} */
  const body = { data: dataset ? { dataset } : { generated: generatedOf(generated) } };
  if (task.learners === "one" && learner) {
    body.learner = { name: learner.name, params: paramsOf(/** @type {Schema} */ (learner.parameters), textsIn(query)) };
    if (task.name === "train" && query.get("warm_start")) body.warm_start = query.get("warm_start");
    if (task.name === "train" && query.get("trace") !== "off") body.trace = true;
  }
  const compared = comparedIn(query);
  if (task.learners === "several" && compared.length > 0) body.learners = compared;
  if (task.needsModel) body.model = query.get("model");
  if (Object.keys(stop).length > 0) body.stop = stop;
  if (task.name !== "grid") return { request: { [task.name]: { ...body, ...fields }, ...job }, missing: "" };
  const over = overOf(query, learner);
  if (Object.keys(over).length === 0) return { request: null, missing: "Write the values to try." };
  return { request: { grid: { train: { ...body, ...fields }, over }, ...job }, missing: "" };
}

/** The value at a JSON pointer. @param {any} document  @param {string} pointer */
function valueAt(document, pointer) {
  return pointer.split("/").slice(1).reduce((inside, part) => inside?.[part.replaceAll("~1", "/").replaceAll("~0", "~")], document);
}

/**
 * The faults of an answer by JSON pointer. A fault goes as soon as its value differs from the refused one.
 * @param {Error|null} error  @param {object|null} refused  @param {object|null} request
 * @returns {Record<string, string>}
 */
export function faultsOf(error, refused, request) {
  const isSame = (/** @type {string} */ pointer) => JSON.stringify(valueAt(refused, pointer)) === JSON.stringify(valueAt(request ?? refused, pointer));
  return Object.fromEntries(Object.entries(faultsBy(error, "pointer")).filter(([pointer]) => isSame(pointer)));
}

/** The faults of one form: by dotted names below the pointer. @param {Record<string, string>} faults  @param {string} pointer */
export function faultsBelow(faults, pointer) {
  return Object.fromEntries(Object.entries(faults).filter(([at]) => at.startsWith(`${pointer}/`))
    .map(([at, detail]) => [at.slice(pointer.length + 1).replaceAll("/", "."), detail]));
}
