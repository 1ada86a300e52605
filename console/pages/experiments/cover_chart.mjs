/** Cover's separable share against the number of points, from one request per point of the chart. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useMemo, useState } from "../../vendor/hooks.mjs";
import { call, patiently } from "../../service/requests.mjs";
import { Figure } from "../../view/figure.mjs";
import { Panel } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { Fault } from "../../view/problem.mjs";

/** Requests at a time. */
const REQUESTS_MAX = 4;
/** Points of the chart for each multiple of the dimensions. */
const STEPS = 6;
/** The largest number of points that the service counts. */
const POINTS_MAX = 10_000;

/** @typedef {{points: number, fraction: number}} Share */

/** @param {{dimension: number, isShown: boolean}} props */
export function CoverChart({ dimension, isShown }) {
  if (!isShown) return html`<div><button onClick=${() => setQuery({ chart: 1 })}>Draw the share against the points</button></div>`;
  return html`<${Chart} key=${dimension} dimension=${dimension} />`;
}

/** @param {{dimension: number}} props */
function Chart({ dimension }) {
  const [shares, setShares] = useState(/** @type {Share[]} */ ([]));
  const [error, setError] = useState(/** @type {Error|null} */ (null));
  useEffect(() => {
    const abort = new AbortController();
    const left = pointsFor(dimension);
    const work = async () => {
      for (let points = left.shift(); points !== undefined; points = left.shift()) {
        const request = { path: "v1/theory/cover", query: { points, dimension } };
        const { fraction } = await patiently(() => call(request, abort.signal), abort.signal);
        const share = { points, fraction };
        setShares((before) => [...before, share].sort((a, b) => a.points - b.points));
      }
    };
    Promise.all(Array.from({ length: REQUESTS_MAX }, work)).catch((error) => {
      if (abort.signal.aborted) return;
      setError(error);
      abort.abort();
    });
    return () => abort.abort();
  }, [dimension]);
  const spec = useMemo(() => ({ title: `Separable share of all labellings, N = ${dimension}`, note: "The share is one half at P = 2 N.",
    x: { label: "points P", isWhole: true }, y: { label: "separable share", min: 0, max: 1 },
    series: [{ label: "C(P, N) / 2^P", points: shares.map(({ points, fraction }) => ({ x: points, y: fraction })) }] }), [shares, dimension]);
  return html`<${Panel} title="The share against the points"><${Fault} error=${error} /><${Figure} spec=${spec} /><//>`;
}

/** From half the dimensions to four times as many. @param {number} dimension */
function pointsFor(dimension) {
  const all = Array.from({ length: STEPS * 3.5 + 1 }, (_, step) => Math.round(dimension * (0.5 + step / STEPS)));
  return [...new Set(all)].filter((points) => points >= 1 && points <= POINTS_MAX);
}
