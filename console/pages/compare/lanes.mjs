/** Requests of a comparison: few at once, each answer kept. */

import { useEffect, useRef, useState } from "../../vendor/hooks.mjs";
import { call, key, patiently } from "../../service/requests.mjs";

/** @typedef {import("../../service/requests.mjs").RequestSpec} RequestSpec */

/** Requests at once. Browsers open six connections to one host, and events need one of them. */
const LANES = 4;

/** Milliseconds between two pictures while answers arrive. */
const SHOW_EVERY = 100;

/**
 * Loads documents by name. A document stays loaded while its name is wanted.
 * @template T
 * @param {string[]} names  @param {(name: string) => RequestSpec} specOf  @param {(document: any) => T} keep  The part to keep.
 * @param {string} [again]  A changed text loads the names for which `isStale` holds.
 * @param {(kept: T) => boolean} [isStale]
 * @returns {{values: Map<string, T>, errors: Map<string, Error>, left: number}}
 */
export function useMany(names, specOf, keep, again = "", isStale = () => false) {
  const [state, setState] = useState(/** @type {{values: Map<string, T>, errors: Map<string, Error>, left: number}} */ ({ values: new Map(), errors: new Map(), left: names.length }));
  const known = useRef({ values: /** @type {Map<string, T>} */ (new Map()), errors: /** @type {Map<string, Error>} */ (new Map()) });
  const secret = key.value;
  useEffect(() => {
    const abort = new AbortController();
    const { values, errors } = known.current;
    const waiting = names.filter((name) => (values.has(name) ? isStale(/** @type {T} */ (values.get(name))) : true));
    let left = waiting.filter((name) => !values.has(name)).length;
    let timer = 0;
    const show = () => {
      timer = 0;
      if (!abort.signal.aborted) setState({ values: new Map(values), errors: new Map(errors), left });
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
    Promise.all(Array.from({ length: LANES }, lane)).then(show);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [names.join(","), again, secret]);
  return state;
}
