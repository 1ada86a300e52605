/** Documents of the service as hooks: loaded, kept up to date and cancelled with the part of the page that shows them. */

import { useCallback, useEffect, useRef, useState } from "../vendor/hooks.mjs";
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

/**
 * Calls `again` at intervals while the page is visible and the last load has ended.
 * @param {number|undefined} seconds  No repetition if 0 or undefined.  @param {{current: boolean}} isBusy  @param {() => void} again
 */
export function useRepetition(seconds, isBusy, again) {
  useEffect(() => {
    if (!seconds) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible" && !isBusy.current) again();
    }, seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
}

/**
 * Loads a document, and loads the document again when the request or the key changes. A null request loads nothing.
 * While the service is away, the request is repeated and the last value stays.
 * @param {RequestSpec|null} spec  @param {{every?: number, until?: (value: any) => boolean}} [options]  `every`: seconds between two loads.
 * `until`: whether a document is final, so that no further load is needed.
 * @returns {Resource<any>}
 */
export function useResource(spec, options = {}) {
  const [state, setState] = useState(/** @type {{value: any, error: Error|null, of: string}} */ ({ value: null, error: null, of: "" }));
  const [round, setRound] = useState(0);
  // Another key owns other things, so nothing stays of those that the last key showed.
  const wanted = spec ? `${JSON.stringify(spec)} ${key.value}` : "";
  const latest = useRef(spec);
  latest.current = spec;
  const isBusy = useRef(false);
  useEffect(() => {
    if (!wanted) return;
    const abort = new AbortController();
    const request = /** @type {RequestSpec} */ (latest.current);
    isBusy.current = true;
    patiently(() => call(request, abort.signal), abort.signal).then(
      (value) => setState({ value, error: null, of: wanted }),
      (error) => {
        if (!abort.signal.aborted) setState((before) => ({ value: before.of === wanted ? before.value : null, error, of: wanted }));
      },
    ).finally(() => { if (!abort.signal.aborted) isBusy.current = false; });
    return () => abort.abort();
  }, [wanted, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const isCurrent = state.of === wanted && wanted !== "";
  const isFinal = isCurrent && state.value !== null && Boolean(options.until?.(state.value));
  useRepetition(wanted && !isFinal ? options.every : 0, isBusy, reload);
  return { value: isCurrent ? state.value : null, error: isCurrent ? state.error : null,
    isLoading: wanted !== "" && !isCurrent, reload };
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
