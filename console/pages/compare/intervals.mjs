/** Exact intervals of errors. A certificate carries one. The service computes the others, so no bound is computed here. */

import { useMany } from "./lanes.mjs";

/** @typedef {import("./entries.mjs").Entry} Entry */
/** @typedef {import("./entries.mjs").Interval} Interval */

/** Confidence of an interval that no certificate states. */
const CONFIDENCE = 0.95;

/**
 * The entries with the intervals that the service computes from their held-out errors.
 * @param {Entry[]} entries @returns {Entry[]}
 */
export function useIntervals(entries) {
  const nameOf = (/** @type {Entry} */ entry) => (entry.judged && entry.judged.examples > 0 && !entry.interval && entry.isOneSample
    ? `${entry.judged.errors}/${entry.judged.examples}` : "");
  const names = [...new Set(entries.map(nameOf).filter(Boolean))];
  const { values } = useMany(names, (name) => {
    const [errors = "", examples = ""] = name.split("/");
    return { path: "v1/theory/test-set", query: { errors, examples, confidence: CONFIDENCE } };
  }, ({ low, high, confidence }) => /** @type {Interval} */ ({ low, high, confidence, kind: "theory" }));
  return entries.map((entry) => {
    const interval = values.get(nameOf(entry));
    return interval ? { ...entry, interval } : entry;
  });
}
