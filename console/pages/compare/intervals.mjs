/**
 * Exact intervals of the errors of jobs that ran alone. If a job has a certificate, that carries one; the others come
 * from the service, with its default confidence, so that no bound is computed here. The results of comparisons and
 * grids carry their own.
 */

import { useMany } from "./lanes.mjs";

/** @typedef {import("./entries.mjs").Entry} Entry */
/** @typedef {import("./entries.mjs").Interval} Interval */

/**
 * The entries with the intervals that the service computes from their held-out errors.
 * @param {Entry[]} entries @returns {Entry[]}
 */
export function useIntervals(entries) {
  const nameOf = (/** @type {Entry} */ entry) => (entry.judged && entry.judged.examples > 0 && !entry.interval && entry.isAlone
    ? `${entry.judged.errors}/${entry.judged.examples}` : "");
  const names = [...new Set(entries.map(nameOf).filter(Boolean))];
  const { values } = useMany(names, (name) => {
    const [errors = "", examples = ""] = name.split("/");
    return { path: "v1/theory/test-set", query: { errors, examples } };
  }, ({ low, high, confidence }) => /** @type {Interval} */ ({ low, high, confidence, kind: "theory" }));
  return entries.map((entry) => {
    const interval = values.get(nameOf(entry));
    return interval ? { ...entry, interval } : entry;
  });
}
