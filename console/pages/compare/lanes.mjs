/** Requests of a comparison: a few at a time, with each answer kept. */

import { useEffect, useRef, useState } from "../../vendor/hooks.mjs";
import { call, key, patiently } from "../../service/requests.mjs";

/** @typedef {import("../../service/requests.mjs").RequestSpec} RequestSpec */

/** Requests at once. Browsers open six connections to one host, and events need one of them. */
const LANES = 4;

/** Milliseconds between two pictures while answers arrive. */
const SHOW_EVERY = 100;

/** Documents from which on lists are read first, and found documents that make the next page of a list worth a request. */
const LISTED_MIN = 20;

/**
 * Reads a list page by page as long as the pages hold enough of the wanted documents.
 * @param {RequestSpec} list  @param {Set<string>} wanted  @param {AbortSignal} abort  @param {(document: any) => void} use
 */
async function eachListed(list, wanted, abort, use) {
  let cursor = null;
  do {
    const query = /** @type {RequestSpec["query"]} */ ({ ...list.query, limit: 100, cursor });
    const page = await patiently(() => call({ ...list, query }, abort), abort);
    const found = page.items.filter((/** @type {{id: string}} */ document) => wanted.delete(document.id));
    found.forEach(use);
    cursor = found.length >= LISTED_MIN ? page.next_cursor : null;
  } while (cursor && wanted.size > 0);
}

/**
 * Loads documents by name. A document stays loaded while its name is wanted.
 * @template T
 * @param {string[]} names  @param {(name: string) => RequestSpec} specOf  @param {(document: any) => T} keep  The part to keep.
 * @param {{again?: string, isStale?: (kept: T) => boolean, list?: RequestSpec}} [options]  A changed `again` loads the names for which
 * `isStale` holds. `list` lists documents with the name as `id`, so that one request loads many.
 * @returns {{values: Map<string, T>, errors: Map<string, Error>, left: number}}
 */
export function useMany(names, specOf, keep, { again = "", isStale = () => false, list } = {}) {
  const secret = key.value;
  const empty = { values: /** @type {Map<string, T>} */ (new Map()), errors: /** @type {Map<string, Error>} */ (new Map()), left: names.length, of: secret };
  const [state, setState] = useState(empty);
  const known = useRef(empty);
  // Another key owns other documents, so nothing stays of those that the last key showed.
  if (known.current.of !== secret) known.current = empty;
  useEffect(() => {
    const abort = new AbortController();
    const { values, errors } = known.current;
    let waiting = names.filter((name) => (values.has(name) ? isStale(/** @type {T} */ (values.get(name))) : true));
    let left = waiting.filter((name) => !values.has(name)).length;
    let timer = 0;
    const show = () => {
      timer = 0;
      if (!abort.signal.aborted) setState({ values: new Map(values), errors: new Map(errors), left, of: secret });
    };
    const lane = async () => {
      for (let name = waiting.shift(); name !== undefined && !abort.signal.aborted; name = waiting.shift()) {
        const isNew = !values.has(name);
        const wanted = name;
        try {
          const document = await patiently(() => call(specOf(wanted), abort.signal), abort.signal);
          values.set(wanted, keep(document));
          errors.delete(wanted);
        } catch (error) {
          if (abort.signal.aborted) return;
          errors.set(wanted, /** @type {Error} */ (error));
        }
        if (isNew) left -= 1;
        timer ||= window.setTimeout(show, SHOW_EVERY);
      }
    };
    const load = async () => {
      if (list && left >= LISTED_MIN) {
        const wanted = new Set(waiting.filter((name) => !values.has(name)));
        await eachListed(list, wanted, abort.signal, (document) => {
          values.set(document.id, keep(document));
          left -= 1;
          timer ||= window.setTimeout(show, SHOW_EVERY);
        }).catch(() => {}); // The requests for single documents report an error that stays.
        waiting = waiting.filter((name) => !values.has(name));
      }
      await Promise.all(Array.from({ length: LANES }, lane));
      show();
    };
    load();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [names.join(","), again, secret]);
  return state.of === secret ? state : known.current;
}
