/** Data that the service draws: a hidden concept, a distribution and a number of examples. */

/** @typedef {import("../../view/schema_form.mjs").Schema} Schema */

import { paramsOf } from "../../view/schema_form.mjs";

/** @type {Record<string, {title: string, fields: Record<string, Schema>}>} */
export const TARGETS = {
  binary_weights: { title: "Binary weights: a majority of features, some negated",
    fields: { weights: { title: "Weights", type: "string", pattern: "^[01]+$", default: "drawn", description: "n characters. 1 means +1, and 0 means −1." } } },
  disjunction: { title: "Disjunction of few literals", fields: {
    size: { title: "Literals", type: "integer", minimum: 1, default: "drawn" },
    variables: { title: "Variables", type: "array", default: "drawn", description: "A list such as [1, -4]. A negated literal has a minus sign." } } },
  dnf: { title: "DNF: a disjunction of conjunctions", fields: {
    terms_count: { title: "Terms", type: "integer", minimum: 1, default: "drawn" },
    size: { title: "Literals per term", type: "integer", minimum: 1, default: "drawn" } } },
  threshold: { title: "Threshold of integer weights", fields: {
    theta: { title: "Threshold", type: "integer", default: "drawn" },
    weights: { title: "Weights", type: "array", default: "drawn", description: "A list of n integers." } } },
  parity: { title: "Parity of some variables", fields: {
    size: { title: "Variables of the parity", type: "integer", minimum: 1, default: "drawn" },
    variables: { title: "Variables", type: "array", default: "drawn", description: "A list such as [1, 4]." } } },
};

/** Proposed values for generated data. Without a count, the data would be a stream without an end. */
export const PROPOSED = { "g.n": 101, "g.target": "binary_weights", "g.sampling": "uniform", "g.count": 1000 };

/** @param {string} target  @param {string} sampling  @returns {Schema} */
export function generatedSchema(target, sampling) {
  return { properties: {
    n: { title: "Features", type: "integer", minimum: 1, maximum: 1048576, default: PROPOSED["g.n"] },
    count: { title: "Examples", type: "integer", minimum: 1, default: "no end", description: "Without a number the stream has no end, and a stop condition ends the run." },
    sampling: { title: "Distribution", type: "string", enum: ["uniform", "uniform-positive", "reflected"], default: PROPOSED["g.sampling"],
      description: "All points, the points of the positive half-space, or all points with negative ones negated." },
    noise: { title: "Noise", type: "number", minimum: 0, maximum: 0.5, default: 0, description: "Probability of a flipped label." },
    ...(sampling === "uniform" && { density: { title: "Density", type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1, default: 0.5, description: "Probability of a 1." } }),
    target: { properties: { [target]: { properties: TARGETS[target]?.fields ?? {} } } },
  } };
}

/** The target that the texts name. @param {Record<string, string>} texts */
export function targetOf(texts) {
  return texts.target && Object.hasOwn(TARGETS, texts.target) ? texts.target : PROPOSED["g.target"];
}

/** The data of the request. @param {Record<string, string>} texts */
export function generatedOf(texts) {
  const target = targetOf(texts);
  const sampling = texts.sampling || PROPOSED["g.sampling"];
  const { target: given, ...rest } = paramsOf(generatedSchema(target, sampling), texts);
  return { n: PROPOSED["g.n"], sampling, ...rest, target: { [target]: {}, ...given } };
}
