/** The tables that the service offers to try: stores one, and trains its suggested learner. */

import { curl, python } from "./recipes.mjs";
import { Problem, call, create, freshKey, root, send } from "./requests.mjs";

/** @typedef {import("#api").components["schemas"]["Sample"]} Sample */
/** @typedef {import("./requests.mjs").RequestSpec} RequestSpec */

const CSV = { "content-type": "text/csv" };

/** Each sample is stored once per tab, so that repeated trainings share a dataset. @type {Map<string, string>} */
const storedUnder = new Map();

/**
 * Stores a sample as a dataset.
 * @param {Sample} sample  @param {AbortSignal} [abort]  @param {RequestSpec["query"]} [parameters]
 * @returns {Promise<import("#api").components["schemas"]["Dataset"]>}
 */
export async function storeSample(sample, abort, parameters = {}) {
  const table = await (await send({ path: `v1/samples/${encodeURIComponent(sample.name)}`, query: parameters }, abort)).blob();
  const same = JSON.stringify([sample.name, parameters]);
  const store = (/** @type {string} */ name) => {
    storedUnder.set(same, name);
    return call({ ...storing(sample), body: table, headers: { ...CSV, "idempotency-key": name } }, abort);
  };
  try {
    return await store(storedUnder.get(same) ?? freshKey());
  } catch (error) {
    // The dataset was deleted since, or the service computes another table.
    if (error instanceof Problem && [410, 422].includes(error.status)) return await store(freshKey());
    throw error;
  }
}

/**
 * Stores a sample and starts its suggested training.
 * @param {Sample} sample  @param {AbortSignal} [abort]  @param {RequestSpec["query"]} [parameters]
 * @returns {Promise<import("#api").components["schemas"]["Job"]>}
 */
export async function trainSample(sample, abort, parameters = {}) {
  const dataset = await storeSample(sample, abort, parameters);
  const { query, ...spec } = training(sample);
  // The dataset was read with the options.
  const own = Object.fromEntries(Object.entries(query).filter(([name]) => !Object.hasOwn(sample.options, name)));
  return await create({ ...spec, query: own, json: { dataset: dataset.id }, headers: { prefer: "wait=0" } }, abort);
}

/** The suggested training without data, of a table that is sent along. @param {Sample} sample */
function training(sample) {
  const url = new URL(sample.train.replace(/^\//, ""), root);
  const query = { ...Object.fromEntries(url.searchParams), trace: true, name: sample.title };
  return { method: /** @type {const} */ ("POST"), path: url.href.slice(root.href.length).split("?")[0] ?? "", query };
}

/** The download and the storage as one command. @param {Sample} sample  @param {RequestSpec["query"]} [parameters] */
export function storingAsCurl(sample, parameters = {}) {
  const table = curl({ path: `v1/samples/${sample.name}`, query: parameters, operation: "get_sample" });
  return `${table} |\n${curl({ ...storing(sample), operation: "create_dataset", body: "", file: "-" })}`;
}

/** The download and the storage as a script. @param {Sample} sample  @param {RequestSpec["query"]} [parameters] */
export function storingAsPython(sample, parameters = {}) {
  return withSample(python({ ...storing(sample), operation: "create_dataset", body: "", file: sample.name }), sample, parameters);
}

/** The storage without data. @param {Sample} sample */
function storing(sample) {
  return { method: /** @type {const} */ ("POST"), path: "v1/datasets", query: { .../** @type {Record<string, string>} */ (sample.options), name: sample.title }, headers: CSV };
}

/** A script that reads the sample from the service and no file. @param {string} script  @param {Sample} sample  @param {RequestSpec["query"]} parameters */
function withSample(script, sample, parameters = {}) {
  const given = Object.entries(parameters).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return script.replace(/open\("[^"]*", "rb"\)\.read\(\)/, `client.get_sample(${[JSON.stringify(sample.name), ...given].join(", ")})`);
}

/** The download and the training as one command. @param {Sample} sample  @param {RequestSpec["query"]} [parameters] */
export function sampleAsCurl(sample, parameters = {}) {
  const table = curl({ path: `v1/samples/${sample.name}`, query: parameters, operation: "get_sample" });
  return `${table} |\n${curl({ ...training(sample), operation: "train_learner", headers: CSV, body: "", file: "-" })}`;
}

/** The download and the training as a script. @param {Sample} sample  @param {RequestSpec["query"]} [parameters] */
export function sampleAsPython(sample, parameters = {}) {
  const spec = training(sample);
  const learner = spec.path.split("/").at(-2) ?? "";
  return withSample(python({ ...spec, operation: "train_learner", arguments: [learner], headers: CSV, body: "", file: sample.name }), sample, parameters);
}
