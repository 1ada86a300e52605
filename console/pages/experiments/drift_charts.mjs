/** The exact figures of Directed Drift by the Hamming distance of the start from the target. */

import { html } from "../../vendor/htm-preact.mjs";
import { useMemo } from "../../vendor/hooks.mjs";
import { Figure } from "../../view/figure.mjs";
import { Panel } from "../../view/parts.mjs";

/** @typedef {import("#api").components["schemas"]["DirectedDriftAnalysis"]} Analysis */
/** @typedef {import("../../view/figure.mjs").FigureSpec} FigureSpec */

const DISTANCE = { label: "Hamming distance of the start", isWhole: true, min: 0 };

/** @param {{analysis: Analysis, n: number}} props */
export function DriftCharts({ analysis, n }) {
  const [runs, stops] = useMemo(() => /** @type {[FigureSpec, FigureSpec]} */ ([{
    title: `Directed Drift until the target, n = ${n}`, x: DISTANCE, y: { label: "expected number", isLog: true },
    series: [seriesOf("mistakes", analysis.expected_mistakes.by_distance), seriesOf("examples", analysis.expected_examples.by_distance)],
  }, {
    title: `False stops of Directed Drift, n = ${n}`, x: DISTANCE, y: { label: "probability", isLog: true },
    series: [seriesOf(`per-hypothesis, run of ${analysis.per_hypothesis.run_length}`, analysis.per_hypothesis.false_stop_probability_by_distance),
      seriesOf(`exact, run of ${analysis.exact.run_length}`, analysis.exact.false_stop_probability_by_distance)],
  }]), [analysis, n]);
  return html`<${Panel} title="By the distance of the start"><${Figure} spec=${runs} /><${Figure} spec=${stops} /><//>`;
}

/** The values from distance 1. At distance 0 every figure is 0, which a logarithmic axis does not show. @param {string} label  @param {number[]} values */
function seriesOf(label, values) {
  return { label, points: values.map((y, x) => ({ x, y })).filter(({ y }) => y > 0) };
}
