/** Deletions in all tabs of the browser: what is deleted disappears from the lists and names in the other tabs, too. */

const NAME = "halfspace.deletions";

/** @type {Set<(path: string) => void>} */
const listeners = new Set();

/** @param {string} path */
function tell(path) {
  for (const listener of listeners) listener(path);
}

const channel = new BroadcastChannel(NAME);
channel.addEventListener("message", ({ data }) => { if (typeof data === "string") tell(data); });

/** Tells this tab and the others that the thing at this path is gone, such as `v1/jobs/job_1`. @param {string} path */
export function announce(path) {
  tell(path);
  channel.postMessage(path);
}

/** Calls `use` with the path of each thing that is deleted. @param {(path: string) => void} use  @returns {() => void} The end of it. */
export function onDeletion(use) {
  listeners.add(use);
  return () => listeners.delete(use);
}
