/**
 * Documents of the service as hooks: loaded, kept up to date, and cancelled with the part of the page that shows
 * them.
 */

import { useCallback, useEffect, useRef, useState } from "../vendor/hooks.mjs";
import { onDeletion } from "./deletions.mjs";
import { call, key, patiently } from "./requests.mjs";

/** @typedef {import("./requests.mjs").RequestSpec} RequestSpec */

/**
 * @template T
 * @typedef {object} Resource
 * @property {T|null} value
 * @property {Error|null} error
 * @property {boolean} isLoading
 * @property {() => void} reload
 */

/** @typedef {number|((value: any) => number)} Every  Seconds between two loads, or these seconds by the loaded value; 0 for none. */

/**
 * Calls `again` at intervals while the page is visible and the last load has ended, and when a hidden page is shown again.
 * @param {number|undefined} seconds  No repetition if 0 or undefined.  @param {{current: boolean}} isBusy  @param {() => void} again
 */
export function useRepetition(seconds, isBusy, again) {
  useEffect(() => {
    if (!seconds) return;
    const look = () => {
      if (document.visibilityState === "visible" && !isBusy.current) again();
    };
    const timer = setInterval(look, seconds * 1000);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [seconds]);
}

/** A repetition waits for this many times as long as the last load took, so that a long answer does not load the service without end. */
const REST = 4;

/**
 * Loads a value, and loads the value again when the name or the key changes. While the service is away, the load is
 * repeated and the last value stays.
 * @template T
 * @param {string} name  Names the value; empty to load nothing.
 * @param {(abort: AbortSignal, before: T|null, isAgain: boolean) => Promise<(before: T|null) => T>} load  Gives the value by the value
 * before.
 * @param {{every?: Every, again?: string}} [options]  A changed `again` loads the value anew, with `isAgain`.
 * @returns {Resource<T> & {set: (change: (before: T) => T, error?: Error|null) => void}}  `set` changes a loaded value.
 */
export function useLoader(name, load, { every = 0, again = "" } = {}) {
  const [state, setState] = useState(/** @type {{value: T|null, error: Error|null, of: string}} */ ({ value: null, error: null, of: "" }));
  const [round, setRound] = useState(0);
  // Another key owns other things, so nothing stays of those that the last key showed.
  const wanted = name && `${name} ${key.value}`;
  const latest = useRef({ load, state, again });
  latest.current.load = load;
  latest.current.state = state;
  const isBusy = useRef(false);
  const restsUntil = useRef(0);
  const put = (/** @type {(before: T|null) => T|null} */ change, /** @type {Error|null} */ error) =>
    setState((before) => ({ value: change(before.of === wanted ? before.value : null), error, of: wanted }));
  const set = (/** @type {(before: T) => T} */ change, /** @type {Error|null} */ error = null) =>
    setState((before) => (before.of === wanted && before.value !== null ? { value: change(before.value), error, of: wanted } : before));
  useEffect(() => {
    if (!wanted) return;
    const abort = new AbortController();
    const { load, state, again: loadedFor } = latest.current;
    const before = state.of === wanted ? state.value : null;
    isBusy.current = true;
    const start = performance.now();
    patiently(() => load(abort.signal, before, again !== loadedFor), abort.signal).then(
      (change) => {
        if (abort.signal.aborted) return;
        latest.current.again = again;
        put(change, null);
      },
      (error) => { if (!abort.signal.aborted) put((before) => before, error); },
    ).finally(() => {
      if (abort.signal.aborted) return;
      isBusy.current = false;
      restsUntil.current = performance.now() + REST * (performance.now() - start);
    });
    return () => abort.abort();
  }, [wanted, again, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const isCurrent = state.of === wanted && wanted !== "";
  const value = isCurrent ? state.value : null;
  useRepetition(wanted ? (typeof every === "number" ? every : value === null ? 0 : every(value)) : 0, isBusy,
    () => { if (performance.now() >= restsUntil.current) reload(); });
  return { value, error: isCurrent ? state.error : null, isLoading: wanted !== "" && !isCurrent, reload, set };
}

/**
 * Loads a document, and loads the document again when the request or the key changes. A null request loads nothing.
 * @param {RequestSpec|null} spec  @param {{every?: Every, until?: (value: any) => boolean, again?: string}} [options]  `until`: whether a
 * document is final, so that no further load is needed. A changed `again` loads the document anew.
 * @returns {Resource<any>}
 */
export function useResource(spec, { every = 0, until, again } = {}) {
  const seconds = (/** @type {any} */ value) => (until?.(value) ? 0 : typeof every === "number" ? every : every(value));
  return useLoader(spec ? JSON.stringify(spec) : "", async (abort) => {
    const document = await call(/** @type {RequestSpec} */ (spec), abort);
    return () => document;
  }, { every: until ? seconds : every, ...(again !== undefined && { again }) });
}

/** Documents that stay the same while the page is open, by path. @type {Map<string, Promise<any>>} */
const constants = new Map();

/**
 * A document that stays the same while the page is open, such as the API document. All parts of the page share one load.
 * @param {string} path  @returns {Resource<any>}
 */
export function useConstant(path) {
  return useLoader(path, async () => {
    const loading = constants.get(path) ?? call({ path });
    constants.set(path, loading);
    const document = await loading.catch((error) => {
      constants.delete(path);
      throw error;
    });
    return () => document;
  });
}

/**
 * A list of the service that grows page by page. A repetition reads the newest page.
 * @param {RequestSpec|null} spec  @param {{every?: (number|((items: any[]) => number)), again?: string}} [options]  A changed `again` reads
 * all pages anew.
 */
export function useList(spec, { every = 0, again } = {}) {
  const request = (/** @type {string|null} */ cursor) => ({ ...spec, path: spec?.path ?? "", query: { limit: 100, ...spec?.query, cursor } });
  const list = useLoader(spec ? JSON.stringify(spec) : "", async (abort, /** @type {Pages|null} */ before, isAgain) => {
    const page = await call(request(null), abort);
    let [items, cursor] = [page.items, page.next_cursor];
    if (!isAgain) return (before) => merged(before, page);
    while (cursor && items.length < (before?.items.length ?? 0)) {
      const next = await patiently(() => call(request(cursor), abort), abort);
      [items, cursor] = [[...items, ...next.items], next.next_cursor];
    }
    return () => ({ items, cursor });
  }, { every: typeof every === "number" ? every : ({ items }) => every(items), ...(again !== undefined && { again }) });
  const { items = [], cursor = null } = list.value ?? {};
  const latest = useRef({ list, request, cursor, isBusy: false });
  Object.assign(latest.current, { list, request, cursor });
  const above = `${spec?.path}/`;
  useEffect(() => onDeletion((path) => {
    const id = path.startsWith(above) ? path.slice(above.length) : "";
    if (id) latest.current.list.set((before) => ({ ...before, items: before.items.filter((item) => item.id !== id) }));
  }), [above]);
  const leaving = useRef(new AbortController());
  useEffect(() => {
    leaving.current = new AbortController();
    return () => leaving.current.abort();
  }, [JSON.stringify(spec), key.value]);
  const more = useCallback(async () => {
    const { list, request, cursor, isBusy } = latest.current;
    if (!cursor || isBusy) return;
    latest.current.isBusy = true;
    const abort = leaving.current.signal;
    try {
      const page = await patiently(() => call(request(cursor), abort), abort);
      // The list may have been read anew in the meantime.
      list.set((before) => (before.cursor === cursor ? { items: [...before.items, ...page.items], cursor: page.next_cursor } : before));
    } catch (error) {
      if (!abort.aborted) list.set((before) => before, /** @type {Error} */ (error));
    } finally {
      latest.current.isBusy = false;
    }
  }, []);
  return { items, error: list.error, isLoading: list.isLoading, hasMore: cursor !== null, more, reload: list.reload };
}

/** @typedef {{items: any[], cursor: string|null}} Pages */

/**
 * A list with its newest page read again. Only entries behind the newest page stay: an entry that the page lacks was deleted.
 * @param {Pages|null} before  @param {{items: any[], next_cursor: string|null}} page  @returns {Pages}
 */
function merged(before, page) {
  const last = page.items.at(-1)?.id ?? "";
  const kept = page.next_cursor ? (before?.items ?? []).filter((item) => item.id < last) : [];
  return { items: [...page.items, ...kept], cursor: kept.length > 0 ? (before?.cursor ?? null) : page.next_cursor };
}

/**
 * The state of one action that a person starts, such as a button.
 * @template T
 * @param {(abort: AbortSignal) => Promise<T>} action
 */
export function useAction(action) {
  const [state, setState] = useState(/** @type {{isRunning: boolean, error: Error|null}} */ ({ isRunning: false, error: null }));
  const running = useRef(/** @type {AbortController|null} */ (null));
  useEffect(() => () => running.current?.abort(), []);
  const start = async () => {
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    setState({ isRunning: true, error: null });
    try {
      const value = await action(abort.signal);
      if (!abort.signal.aborted) setState({ isRunning: false, error: null });
      return value;
    } catch (error) {
      if (!abort.signal.aborted) setState({ isRunning: false, error: /** @type {Error} */ (error) });
      return undefined;
    }
  };
  const stop = () => {
    running.current?.abort();
    setState({ isRunning: false, error: null });
  };
  return { ...state, start, stop };
}
