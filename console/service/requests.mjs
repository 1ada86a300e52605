/**
 * Requests to the service. This module knows the rules of HTTP that every page needs: the base of all paths, the key,
 * problems, repeated requests and the state of the connection. It knows no resource.
 */

import { signal } from "../vendor/signals.mjs";
import { announce } from "./deletions.mjs";

/**
 * A request as it is sent, and as the recipes for curl and Python show it.
 * @typedef {object} RequestSpec
 * @property {"GET"|"POST"|"DELETE"} [method]
 * @property {string} path  Path from the root of the service, such as `v1/jobs`.
 * @property {Record<string, string|number|boolean|null|undefined>} [query]  Null and undefined are left out.
 * @property {unknown} [json]  Body that is sent as JSON.
 * @property {BodyInit} [body]  Body in another format.
 * @property {Record<string, string>} [headers]
 * @property {string} [file]  Name of the file in `body`. A recipe with a body needs the name.
 */

/** @typedef {import("#api").components["schemas"]["Problem"]} ProblemDocument */

/** An answer of the service that reports an error. */
export class Problem extends Error {
  /** @param {ProblemDocument} document  @param {Headers} [headers] */
  constructor(document, headers) {
    super(document.detail);
    this.name = "Problem";
    this.document = document;
    const seconds = Number(headers?.get("retry-after") || NaN);
    this.retryAfter = Number.isFinite(seconds) ? seconds : null;
  }

  get status() {
    return this.document.status;
  }
}

/** The service did not answer. */
export class Unreachable extends Error {
  constructor() {
    super("The service does not answer.");
    this.name = "Unreachable";
  }
}

/** The root of the service. The page lies at the root, also below a path of a proxy. */
export const root = new URL(".", location.href);

const KEY = "halfspace.key";

/** The API key. The key stays in this tab and never enters a URL. */
export const key = signal(sessionStorage.getItem(KEY) ?? "");

/** Whether the latest request got no answer from the service. */
export const isAway = signal(false);

/** Whether the service asked for a key that this tab does not have. */
export const needsKey = signal(false);

/** @param {string} secret */
export function setKey(secret) {
  if (secret) sessionStorage.setItem(KEY, secret);
  else sessionStorage.removeItem(KEY);
  key.value = secret;
  needsKey.value = false;
}

/** Asks for a key, unless the person entered another key since the request. @param {string} sentKey */
function askForKey(sentKey) {
  if (sentKey === key.value) needsKey.value = true;
}

/** @param {Pick<RequestSpec, "path"|"query">} spec */
export function urlOf(spec) {
  const url = new URL(spec.path, root);
  for (const [name, value] of Object.entries(spec.query ?? {})) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, String(value));
  }
  return url;
}

/** The headers of a request, with the key. @param {RequestSpec} spec */
export function headersOf(spec) {
  /** @type {Record<string, string>} */
  const headers = { ...spec.headers };
  if (spec.json !== undefined) headers["content-type"] = "application/json";
  if (key.value) headers.authorization = `Bearer ${key.value}`;
  return headers;
}

/** A name for a request that may be repeated but must act once. */
export function freshKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/**
 * Sends a request and returns the answer after its head.
 * @param {RequestSpec} spec  @param {AbortSignal} [abort]
 * @throws {Problem|Unreachable}
 */
export async function send(spec, abort) {
  const method = spec.method ?? "GET";
  const sentKey = key.value;
  const body = spec.json !== undefined ? JSON.stringify(spec.json) : (spec.body ?? null);
  let response;
  try {
    response = await fetch(urlOf(spec), { method, headers: headersOf(spec), body, signal: abort ?? null, cache: "no-store" });
  } catch (error) {
    if (abort?.aborted) throw error;
    isAway.value = true;
    throw new Unreachable();
  }
  if (response.ok) {
    isAway.value = false;
    if (method === "DELETE") announce(spec.path);
    return response;
  }
  const { status, statusText, headers } = response;
  throw errorOf(status, statusText, headers, isProblem(headers) ? await response.json() : null, sentKey);
}

/** Whether the body of an answer is a problem of the service. @param {Headers} headers */
function isProblem(headers) {
  return (headers.get("content-type") ?? "").startsWith("application/problem+json");
}

/**
 * The error of an answer with a status from 400. Sets the state of the connection, and asks for a key after a 401.
 * @param {number} status  @param {string} statusText  @param {Headers} headers  @param {Partial<ProblemDocument>|null} found  The body, if
 * the body is a problem.  @param {string} sentKey  The key of the request.  @returns {Problem|Unreachable}
 */
export function errorOf(status, statusText, headers, found, sentKey) {
  // A proxy answers these for a service that is away.
  isAway.value = [502, 504].includes(status) && !isProblem(headers);
  if (isAway.value) return new Unreachable();
  if (status === 401) askForKey(sentKey);
  return new Problem({ type: "", title: statusText || "Error", status, code: "", detail: `The service answered with status ${status}.`,
    instance: "", request_id: "", errors: [], ...found }, headers);
}

/**
 * Sends a request and returns the JSON of the answer.
 * @param {RequestSpec} spec  @param {AbortSignal} [abort]  @returns {Promise<any>}
 */
export async function call(spec, abort) {
  const response = await send(spec, abort);
  return response.status === 204 ? null : await response.json();
}

/** The names of creations without an answer, by their requests. @type {Map<string, string>} */
const unanswered = new Map();

/**
 * Sends a creation that must act once. An attempt after a lost answer has the name of the attempt before.
 * @param {RequestSpec} spec  A request with JSON.  @param {AbortSignal} [abort]  @returns {Promise<any>}
 */
export async function create(spec, abort) {
  const of = JSON.stringify([spec, key.value]);
  const name = unanswered.get(of) ?? freshKey();
  unanswered.set(of, name);
  try {
    const answer = await call({ ...spec, headers: { ...spec.headers, "idempotency-key": name } }, abort);
    unanswered.delete(of);
    return answer;
  } catch (error) {
    // A conflict means that the first attempt still runs. Every other problem is an answer.
    if (error instanceof Problem && error.status !== 409) unanswered.delete(of);
    throw error;
  }
}

/**
 * Repeats an action while the service is away or full, with growing pauses.
 * @template T
 * @param {() => Promise<T>} action  @param {AbortSignal} [abort]  @param {number} [attempts]
 * @returns {Promise<T>}
 */
export async function patiently(action, abort, attempts = Infinity) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await action();
    } catch (error) {
      const isFull = error instanceof Problem && [429, 503].includes(error.status) && error.retryAfter !== null;
      if (!(error instanceof Unreachable || isFull) || attempt >= attempts || abort?.aborted) throw error;
      const pause = isFull ? Number(/** @type {Problem} */ (error).retryAfter) : Math.min(10, 0.5 * 2 ** Math.min(attempt, 5));
      await (isFull ? delay(Math.min(30, pause) * 1000, abort) : delayWhileAway(pause * 1000, abort));
    }
  }
}

/** Milliseconds between two attempts at least, even if other requests succeed in between. */
const PAUSE_MIN = 250;

/** Waits, but at most until another request reaches the service. @param {number} milliseconds  @param {AbortSignal} [abort] */
async function delayWhileAway(milliseconds, abort) {
  await delay(PAUSE_MIN, abort);
  const back = new AbortController();
  const unsubscribe = isAway.subscribe((away) => { if (!away) back.abort(); });
  const stop = () => back.abort();
  abort?.addEventListener("abort", stop, { once: true });
  await delay(milliseconds, back.signal).catch(() => {});
  abort?.removeEventListener("abort", stop);
  unsubscribe();
  abort?.throwIfAborted();
}

/** @param {number} milliseconds  @param {AbortSignal} [abort] */
export function delay(milliseconds, abort) {
  return new Promise((resolve, reject) => {
    const stop = () => reject(abort?.reason);
    if (abort?.aborted) return stop();
    const timer = setTimeout(() => {
      abort?.removeEventListener("abort", stop);
      resolve(undefined);
    }, milliseconds);
    abort?.addEventListener("abort", () => { clearTimeout(timer); stop(); }, { once: true });
  });
}
