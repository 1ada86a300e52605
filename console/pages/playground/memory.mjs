/**
 * Remembers the run of this tab, so that a reload resumes its session, and ends sessions that nobody needs any more.
 * The storage belongs to the tab. If the tab is copied, so is the storage and with it the session; a page therefore
 * ends only sessions of its own.
 */

import { call } from "../../service/requests.mjs";

/** @typedef {{session: string, history: import("./history.mjs").Kept, before: any, beforeAt: number}} KeptRun */
/** @typedef {{at: number, runs: KeptRun[]}} KeptPlay  `at`: the position in the URL when the entry was made. */

const PLACE = "halfspace.playground";

/** Characters of an entry at most. A longer run is replayed instead. */
const LENGTH_MAX = 1_000_000;

/** @returns {[name: string, play: KeptPlay]|null} */
function stored() {
  try {
    const found = JSON.parse(sessionStorage.getItem(PLACE) ?? "null");
    return Array.isArray(found) && Array.isArray(found[1]?.runs) ? /** @type {[string, KeptPlay]} */ (found) : null;
  } catch {
    return null;
  }
}

/** Sessions that this page opened, or opened before a reload. @type {Set<string>} */
export const own = new Set();
const [navigation] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
if (navigation && navigation.type !== "navigate") stored()?.[1].runs.forEach(({ session }) => own.add(session));

/** Sessions that this page has left. The page remembers them no more. @type {Set<string>} */
const left = new Set();

/** Ends a session of this page. A session that the request does not reach stays in the list of the page Operation. @param {string} session */
export function end(session) {
  left.add(session);
  if (own.delete(session)) call({ method: "DELETE", path: `v1/sessions/${session}` }).catch(() => {});
}

/** Whether the next run is the first after a reload. */
let isReload = navigation?.type === "reload";

/**
 * The run with this name at this position. The URL of a reload may be older than the entry, so the position is free then.
 * @param {string} name  @param {number} at  @returns {KeptPlay|null}
 */
export function recall(name, at) {
  const found = stored();
  const isFree = isReload;
  isReload = false;
  return found?.[0] === name && (isFree || found[1].at === at) ? found[1] : null;
}

/** @param {string} name  @param {KeptPlay} play */
export function remember(name, play) {
  if (play.runs.some(({ session }) => left.has(session))) return;
  const bare = { at: play.at, runs: play.runs.map((run) => ({ ...run, history: { codes: "", known: [] }, before: null })) };
  const whole = JSON.stringify([name, play]);
  try {
    sessionStorage.setItem(PLACE, whole.length <= LENGTH_MAX ? whole : JSON.stringify([name, bare]));
  } catch {
    // The storage is full. The run is then replayed after a reload.
    sessionStorage.removeItem(PLACE);
  }
}

/** Ends the sessions of another run, because the person starts anew. @param {string} name  The run that stays. */
export function forgetOthers(name) {
  const found = stored();
  if (!found || found[0] === name) return;
  sessionStorage.removeItem(PLACE);
  found[1].runs.forEach(({ session }) => end(session));
}
