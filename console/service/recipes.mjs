/** A request as a command for curl and as a script for Python. Both send what the console sends, without the key. */

import { key, root, urlOf } from "./requests.mjs";

/**
 * A request with the operation of the API document that answers it.
 * @typedef {import("./requests.mjs").RequestSpec & {operation: string, arguments?: (string|number)[]}} Recipe
 * `arguments` are the parts of the path, such as the id of a job.
 */

/** @param {Recipe} recipe */
export function curl(recipe) {
  const parts = ["curl -sS"];
  const method = recipe.method ?? "GET";
  const hasBody = recipe.json !== undefined || recipe.body !== undefined;
  if (method === "DELETE" || (method === "POST" && !hasBody)) parts.push(`-X ${method}`);
  if (key.value) parts.push('-H "Authorization: Bearer $HALFSPACE_KEY"');
  const headers = { ...recipe.headers };
  if (recipe.json !== undefined) headers["content-type"] = "application/json";
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  parts.push(quoted(urlOf(recipe).href));
  if (recipe.json !== undefined) parts.push(`-d ${quoted(JSON.stringify(recipe.json))}`);
  else if (hasBody) parts.push(`--data-binary ${quoted(`@${recipe.file}`)}`);
  return parts.join(" \\\n  ");
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** @param {Recipe} recipe */
export function python(recipe) {
  const lines = key.value ? ["import os", "", "import halfspace"] : ["import halfspace"];
  const given = (recipe.arguments ?? []).map(literal);
  const mediaType = recipe.headers?.["content-type"] ?? "";
  if (recipe.json !== undefined) given.push(literal(recipe.json));
  else if (recipe.body !== undefined) {
    lines.push("from halfspace.requests import Content");
    const data = `open(${literal(recipe.file)}, "rb").read()`;
    const coding = recipe.headers?.["content-encoding"];
    given.push(`Content(${data}, ${literal(mediaType)}${coding ? `, coding=${literal(coding)}` : ""})`);
  }
  const headers = Object.entries(recipe.headers ?? {}).filter(([name]) => ["prefer", "if-match"].includes(name.toLowerCase()));
  for (const [name, value] of [...Object.entries(recipe.query ?? {}), ...headers]) {
    if (value === null || value === undefined || value === "") continue;
    // The client calls the name of the learner `name` and the name of the job `name_`.
    const isTaken = name === "name" && recipe.operation === "train_learner";
    given.push(`${name.toLowerCase().replaceAll(/[.-]/g, "_")}${isTaken ? "_" : ""}=${literal(value)}`);
  }
  const address = root.href.replace(/\/$/, "");
  const connect = key.value ? `${literal(address)}, key=os.environ["HALFSPACE_KEY"]` : literal(address);
  lines.push("", `client = halfspace.connect(${connect})`, `print(client.${recipe.operation}(${given.join(", ")}))`);
  return lines.join("\n");
}

/** A value as a literal of Python. @param {unknown} value @returns {string} */
function literal(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") {
    const pairs = Object.entries(value).filter(([, part]) => part !== undefined);
    return `{${pairs.map(([name, part]) => `${literal(name)}: ${literal(part)}`).join(", ")}}`;
  }
  return JSON.stringify(value);
}
