/**
 * The data of a run as a dataset of the service. Equal recipes use the same idempotency key, so a link that many
 * people open makes its dataset only once.
 */

import { Problem, call, delay, freshKey, patiently, send } from "../../service/requests.mjs";
import { paramsOf, textsIn } from "../../view/schema_form.mjs";
import { generatedOf } from "../train/generated.mjs";
import { SEED, dataKindIn } from "./wanted.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {import("../../service/requests.mjs").RequestSpec} RequestSpec */

/** Names that are tried for one recipe. A name whose dataset was deleted answers nothing for a day. */
const NAMES_MAX = 8;

/** Bits with a label, such as `10110,1`. */
const BITS = /^([01]{2,})[\s,;]+([+-]?[01])$/;

/** The request that stores typed rows. The service reads the rows as CSV, unless the rows are bits or JSON. @param {string} text @returns {RequestSpec} */
function rowsRequest(text) {
  const lines = text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  const bits = lines.map((line) => BITS.exec(line));
  const isJson = lines.every((line) => line.startsWith("{"));
  const body = bits.every(Boolean) ? bits.map((found) => JSON.stringify({ x: found?.[1], y: Number(found?.[2]) })).join("\n") : lines.join("\n");
  const isLines = isJson || bits.every(Boolean);
  return { method: "POST", path: "v1/datasets", query: { name: "Typed rows", ...(!isLines && { labels: "last" }) }, body: `${body}\n`,
    headers: { "content-type": isLines ? "application/x-ndjson" : "text/csv" } };
}

/** The request that draws data. @param {URLSearchParams} query @returns {RequestSpec} */
function generatedRequest(query) {
  const { seed, ...texts } = textsIn(query, "g.");
  return { method: "POST", path: "v1/datasets", json: { name: "Drawn for the playground", data: { generated: generatedOf({ count: "1000", ...texts }) },
    seed: Number(seed || SEED) } };
}

/**
 * The dataset that the query asks for, stored if the service lacks the data.
 * @param {URLSearchParams} query  @param {AbortSignal} abort  @returns {Promise<Schemas["Dataset"]>}
 */
export async function datasetOf(query, abort) {
  const kind = dataKindIn(query);
  if (kind === "dataset") return await patiently(() => call({ path: `v1/datasets/${encodeURIComponent(query.get("dataset") ?? "")}` }, abort), abort);
  if (kind === "rows") return await store(rowsRequest(query.get("rows") ?? ""), abort);
  if (kind === "generated") return await store(generatedRequest(query), abort);
  return await store(await sampleRequest(query, abort), abort);
}

/** @param {URLSearchParams} query  @param {AbortSignal} abort @returns {Promise<RequestSpec>} */
async function sampleRequest(query, abort) {
  const name = query.get("sample") ?? "";
  const samples = await patiently(() => call({ path: "v1/samples" }, abort), abort);
  const sample = samples.items.find((/** @type {Schemas["Sample"]} */ found) => found.name === name);
  if (!sample) throw new Error(`The service has no sample named ${name}. Choose another sample in the set-up.`);
  const given = paramsOf(sample.parameters, textsIn(query, "s."));
  const table = await patiently(async () => (await send({ path: `v1/samples/${encodeURIComponent(name)}`, query: given }, abort)).text(), abort);
  return tableRequest(sample.title, table);
}

/** @typedef {{title: string, recipe: Recipe, content?: string}} DataRecipe  `content`: the file of the recipe. */
/** @typedef {import("../../service/recipes.mjs").Recipe} Recipe */

/** The requests that store the data of the query. A stored dataset needs none. @param {URLSearchParams} query  @returns {DataRecipe[]} */
export function dataRecipes(query) {
  const kind = dataKindIn(query);
  const title = "The request that stores the data";
  if (kind === "generated") return [{ title, recipe: { ...generatedRequest(query), operation: "create_dataset" } }];
  if (kind === "rows") {
    const request = rowsRequest(query.get("rows") ?? "");
    const file = request.headers?.["content-type"] === "text/csv" ? "rows.csv" : "rows.ndjson";
    return [{ title, recipe: { ...request, operation: "create_dataset", file }, content: String(request.body) }];
  }
  if (kind !== "sample") return [];
  const name = query.get("sample") ?? "";
  return [{ title: "The request that reads the sample", recipe: { path: `v1/samples/${encodeURIComponent(name)}`, query: textsIn(query, "s."), operation: "get_sample", arguments: [name] } },
    { title, recipe: { ...tableRequest(name, ""), operation: "create_dataset", file: `${name}.csv` } }];
}

/** @param {string} name  @param {string} table @returns {RequestSpec} */
function tableRequest(name, table) {
  return { method: "POST", path: "v1/datasets", query: { name }, body: table, headers: { "content-type": "text/csv" } };
}

/** @param {RequestSpec} request  @param {AbortSignal} abort */
async function store(request, abort) {
  const name = `console-data-${digest(JSON.stringify([request.query, request.json, request.body]))}`;
  for (let attempt = 0; ; attempt++) {
    const key = attempt === 0 ? name : attempt < NAMES_MAX ? `${name}-${attempt}` : freshKey();
    try {
      return await patiently(() => call({ ...request, headers: { ...request.headers, "idempotency-key": key } }, abort), abort);
    } catch (error) {
      const code = error instanceof Problem ? error.document.code : "";
      if (!code.startsWith("idempotency") || attempt > NAMES_MAX) throw error;
      // Another tab stores the same data at this moment.
      if (code === "idempotency-in-flight") await delay(500, abort);
    }
  }
}

/** A short name for a text. The service compares the requests behind equal names, so a collision is harmless. @param {string} text */
export function digest(text) {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}
