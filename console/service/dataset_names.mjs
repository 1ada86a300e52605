/**
 * The names of datasets by id, for documents that hold only the id. They come from the list of datasets, because
 * asking for a dataset that was deleted would be an error.
 */

import { useEffect } from "../vendor/hooks.mjs";
import { signal } from "../vendor/signals.mjs";
import { onDeletion } from "./deletions.mjs";
import { call, key, patiently } from "./requests.mjs";

/** Pages of the list that are read at most for the names that a page shows. */
const PAGES_MAX = 20;

/** The names, or null for a dataset that was deleted, and the key that reaches them. */
const known = signal({ names: /** @type {Map<string, string|null>} */ (new Map()), of: key.value });

/** @type {Set<string>} */
const wanted = new Set();
let isLoading = false;

/**
 * The name of a dataset: undefined until it is known, empty if the dataset has no name, and null if the dataset is gone.
 * @param {string|null} id  @returns {string|null|undefined}
 */
export function useDatasetName(id) {
  const { names, of } = known.value;
  const name = id && of === key.value ? names.get(id) : undefined;
  useEffect(() => {
    if (!id || name !== undefined) return;
    wanted.add(id);
    load();
  }, [id, name === undefined, key.value]);
  return name;
}

onDeletion((path) => {
  const id = path.startsWith("v1/datasets/") ? path.slice("v1/datasets/".length) : "";
  if (known.value.names.has(id)) known.value = { ...known.value, names: new Map(known.value.names).set(id, null) };
});

async function load() {
  if (isLoading) return;
  isLoading = true;
  // The names of all parts of the page that are drawn now are looked for at once.
  await Promise.resolve();
  const of = key.value;
  const names = new Map(known.value.of === of ? known.value.names : []);
  const looked = new Set(wanted);
  wanted.clear();
  try {
    await look(looked, names);
    if (of === key.value) known.value = { names, of };
  } catch {
    // The page shows the id instead of the name.
  } finally {
    isLoading = false;
    if (wanted.size > 0) load();
  }
}

/**
 * Reads the list until each dataset is found or passed. Ids grow with the time, and the newest dataset stands first.
 * @param {Set<string>} looked  @param {Map<string, string|null>} names
 */
async function look(looked, names) {
  const left = new Set(looked);
  let cursor = /** @type {string|null} */ (null);
  for (let pages = 0; pages < PAGES_MAX && left.size > 0; pages++) {
    const page = await patiently(() => call({ path: "v1/datasets", query: { limit: 100, cursor } }));
    for (const { id, name } of page.items) {
      names.set(id, name ?? "");
      left.delete(id);
    }
    cursor = page.next_cursor;
    const last = page.items.at(-1)?.id ?? "";
    for (const id of left) {
      if (cursor && id < last) continue;
      names.set(id, null);
      left.delete(id);
    }
    if (!cursor) break;
  }
}
