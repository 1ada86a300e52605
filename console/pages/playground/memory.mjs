/**
 * The sessions of this tab, so that a reload resumes the session that ran. The storage belongs to the tab. A copied
 * tab has a copy of the storage and therefore the same session.
 */

/** @typedef {{session: string, history: import("./history.mjs").Kept, before: any, beforeAt: number}} KeptRun */
/** @typedef {{at: number, runs: KeptRun[]}} KeptPlay  `at`: the position in the URL when the entry was made. */

const PLACE = "halfspace.playground";

/** Runs that stay. Browsers bound the storage of a tab. */
const RUNS_MAX = 4;
/** Characters of an entry at most. A longer run is replayed instead. */
const LENGTH_MAX = 1_000_000;

/** @returns {[string, KeptPlay][]} */
function all() {
  try {
    const found = JSON.parse(sessionStorage.getItem(PLACE) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

/** @param {string} name @returns {KeptPlay|null} */
export function recall(name) {
  return all().find(([known]) => known === name)?.[1] ?? null;
}

/** @param {string} name  @param {KeptPlay|null} play  Null forgets the run. */
export function remember(name, play) {
  const others = all().filter(([known]) => known !== name);
  const isSmall = play !== null && JSON.stringify(play).length <= LENGTH_MAX;
  const next = isSmall ? [[name, play], ...others].slice(0, RUNS_MAX) : others;
  try {
    sessionStorage.setItem(PLACE, JSON.stringify(next));
  } catch {
    // The storage is full. The run is then replayed after a reload.
    sessionStorage.removeItem(PLACE);
  }
}
