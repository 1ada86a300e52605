/**
 * The place in the console: path and query behind `#`. It holds the state of a page, so a link or the back button
 * restores the page. What is behind `#` needs no rule of a server or proxy and appears in no log.
 */

import { signal } from "../vendor/signals.mjs";

/** @typedef {{path: string[], query: URLSearchParams}} Place */
/** @typedef {Record<string, string|number|boolean|null|undefined>} Query */

/** @returns {Place} */
function current() {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const parts = path.split("/").filter(Boolean).map(decode);
  return { path: parts, query: new URLSearchParams(query) };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The current place. */
export const place = signal(current());

addEventListener("hashchange", () => { place.value = current(); });
addEventListener("popstate", () => { place.value = current(); });

/**
 * The address of a place, for links.
 * @param {string} path  Such as `jobs/job_1`.  @param {Query} [query]  Empty values are left out.
 */
export function href(path, query = {}) {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "" && value !== false) pairs.set(name, String(value));
  }
  const text = pairs.toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

/** Goes to a place. @param {string} path  @param {Query} [query] */
export function go(path, query) {
  location.hash = href(path, query);
}

/**
 * Changes parts of the query of the current place, without a new entry in the history by default.
 * @param {Query} changes  @param {{push?: boolean}} [options]
 */
export function setQuery(changes, options = {}) {
  const { path, query } = place.value;
  const next = href(path.map(encodeURIComponent).join("/"), { ...Object.fromEntries(query), ...changes });
  if (next === location.hash) return;
  history[options.push ? "pushState" : "replaceState"](null, "", next);
  place.value = current();
}

/** Parts of the query that choose a view of the same content: open tables, and the form of weights. */
export const VIEW_STATE = ["table", "weights"];

/**
 * A choice of the view that stands in the query. One part holds all of its choices.
 * @param {string} part  @param {string} name  @returns {[isOn: boolean, change: (isOn: boolean) => void]}
 */
export function viewChoice(part, name) {
  const names = (query = place.value.query) => (query.get(part) ?? "").split(",").filter(Boolean);
  return [names().includes(name), (isOn) => setQuery({ [part]: [...names().filter((other) => other !== name), ...(isOn ? [name] : [])].join(",") })];
}

/** The whole URL of a place, to send to others. @param {string} path  @param {Query} [query] */
export function linkTo(path, query) {
  return new URL(href(path, query), location.href).href;
}
