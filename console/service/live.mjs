/** Answers that follow what you type, and answers that are text. */

import { useEffect, useRef, useState } from "../vendor/hooks.mjs";
import { send } from "./requests.mjs";
import { useLoader, useResource } from "./resource.mjs";

/** @typedef {import("./requests.mjs").RequestSpec} RequestSpec */

/** Milliseconds without a change after which a request is sent. */
const PAUSE = 200;

/**
 * The answer to a request that changes while a person types. The last answer stays until the next one arrives. The
 * request must change nothing in the service.
 * @param {RequestSpec|null} spec  @returns {import("./resource.mjs").Resource<any>}
 */
export function useLive(spec) {
  const wanted = spec ? JSON.stringify(spec) : "";
  const [settled, setSettled] = useState(wanted);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(wanted), PAUSE);
    return () => clearTimeout(timer);
  }, [wanted]);
  const resource = useResource(settled && wanted ? JSON.parse(settled) : null);
  const last = useRef(/** @type {any} */ (null));
  if (resource.value !== null) last.current = resource.value;
  if (resource.error || !wanted) last.current = null;
  return { ...resource, value: last.current, isLoading: resource.isLoading || settled !== wanted };
}

/**
 * A document that is text, such as a program.
 * @param {RequestSpec} spec  @returns {import("./resource.mjs").Resource<string>}
 */
export function useText(spec) {
  return useLoader(`text ${JSON.stringify(spec)}`, async (abort) => {
    const text = await (await send(spec, abort)).text();
    return () => text;
  });
}
