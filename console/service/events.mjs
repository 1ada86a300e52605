/**
 * The events of a job. The browser's own EventSource sends no key, so this module reads the stream itself. If the
 * stream breaks, it continues after the last event that arrived.
 */

import { Problem, delay, isAway, send } from "./requests.mjs";
import { piecesOf } from "./text_stream.mjs";

/** @typedef {{id: string, event: string, data: any}} JobEvent */

/** Seconds without a byte after which a stream counts as broken. The service sends a heartbeat more often. */
const SILENCE_SECONDS_MAX = 45;

/**
 * Calls `handle` for each event of a job, from the first event to the result.
 * @param {string} job  @param {(event: JobEvent) => void} handle  @param {AbortSignal} abort
 * @throws {Problem}  An error that another attempt cannot mend.
 */
export async function followJob(job, handle, abort) {
  let last = "";
  for (let failures = 0; !abort.aborted; failures++) {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    abort.addEventListener("abort", stop, { once: true });
    try {
      /** @type {Record<string, string>} */
      const headers = { accept: "text/event-stream" };
      if (last) headers["last-event-id"] = last;
      const response = await send({ path: `v1/jobs/${encodeURIComponent(job)}/events`, headers }, attempt.signal);
      for await (const block of piecesOf(response, /\r?\n\r?\n/, { isRestCut: true, silenceSeconds: SILENCE_SECONDS_MAX, onSilence: stop })) {
        const event = parse(block);
        if (!event) continue;
        failures = 0;
        if (event.id) last = event.id;
        handle(event);
        if (event.event === "result") return;
      }
    } catch (error) {
      if (abort.aborted) return;
      const isFinal = error instanceof Problem && error.status < 500 && error.status !== 429;
      if (isFinal) throw error;
      if (!(error instanceof Problem)) isAway.value = true;
    } finally {
      abort.removeEventListener("abort", stop);
    }
    await delay(Math.min(5000, 250 * 2 ** Math.min(failures, 5)), abort).catch(() => {});
  }
}

/** @param {string} block  @returns {JobEvent|null} */
function parse(block) {
  const found = { id: "", event: "message", data: "" };
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === "id" || name === "event") found[name] = value ?? "";
    if (name === "data") found.data += value;
  }
  return found.data ? { ...found, data: JSON.parse(found.data) } : null;
}
