/**
 * The labels of the playground. A session of two classes learns 1 and -1, and a session of more learns names. A code is
 * what a session predicts: 1 or -1, or the number of the class.
 */

import { signOf } from "../../service/labels.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {Schemas["Dataset"]} Dataset */

/** Whether the examples have more than two classes. @param {Dataset} dataset */
export function hasManyClasses(dataset) {
  return (dataset.classes?.length ?? 2) > 2;
}

/** An example as a session learns it. @param {Schemas["ExampleItem"]} example  @param {Dataset} dataset @returns {Schemas["ExampleItem"]} */
export function learntAs(example, dataset) {
  if (dataset.kind !== "labelled") return example;
  return { ...example, y: hasManyClasses(dataset) ? String(example.y) : signOf(example.y, dataset) };
}

/** The right prediction for an example that a session learns. Those of a half-space are positive. @param {Schemas["ExampleItem"]} example  @param {Dataset} dataset */
export function codeOf(example, dataset) {
  if (dataset.kind === "half-space") return 1;
  return hasManyClasses(dataset) ? dataset.classes?.indexOf(String(example.y)) ?? -1 : Number(example.y);
}

/** A code as a sign, or as the name of a class if there are more than two. @param {number|null|undefined} code  @param {Dataset} dataset */
export function labelText(code, dataset) {
  if (code === null || code === undefined) return "nothing";
  return hasManyClasses(dataset) ? classOf(code, dataset) ?? String(code) : code > 0 ? "+1" : "−1";
}

/** The name of the class of a code, if it has one. @param {number|null} code  @param {Dataset} dataset */
export function classOf(code, dataset) {
  if (code === null) return null;
  return dataset.classes?.[hasManyClasses(dataset) ? code : Number(code > 0)] ?? null;
}

/** A code with the name of its class. @param {number|null} code  @param {Dataset} dataset */
export function named(code, dataset) {
  const name = hasManyClasses(dataset) ? null : classOf(code, dataset);
  return name ? `${labelText(code, dataset)} (${name})` : labelText(code, dataset);
}

/** Whether too few classes have joined for predictions without labels. @param {import("#api").components["schemas"]["Session"]|null} session */
export function isWaiting(session) {
  return Boolean(session?.open) && (session?.classes?.length ?? 0) <= 2;
}
