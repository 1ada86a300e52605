/** The next example with its predictions, and the outcome of the one before. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useState } from "../../vendor/hooks.mjs";
import { number } from "../../view/numbers.mjs";
import { Panel, counted } from "../../view/parts.mjs";
import { HeatMap, SaveSquares, sideOf } from "./heat_map.mjs";
import { codeOf, named } from "./labels.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {import("./player.mjs").Player} Player */

/** Features that are listed. */
const LISTED_MAX = 200;

/** @param {{player: Player, version: number}} props */
export function ExamplePanel({ player, version }) {
  const { dataset } = player.examples;
  const { position } = player;
  const [shown, setShown] = useState(/** @type {{position: number, next: Schemas["ExampleItem"], last: Schemas["ExampleItem"]|null}|null} */ (null));
  const isFast = player.mode === "playing" && (player.speed === "full" || Number(player.speed) > 5);
  useEffect(() => {
    let isOver = false;
    const first = Math.max(0, position - 1);
    player.examples.from(first, position - first + 1).then((found) => {
      const next = found.at(-1);
      if (!isOver && next) setShown({ position, next, last: position > 0 ? found[0] ?? null : null });
    }, () => {});
    return () => { isOver = true; };
  }, [position, player.mode]);
  const index = position % dataset.examples + 1;
  // The learner predicts without the label, so the label appears after the predictions.
  const isPredicted = player.runs.every((run) => run.next?.position === position);
  return html`<${Panel} title="Next example" actions=${html`<span class="small muted">${number(index)} of ${number(dataset.examples)}</span>`}>
    ${shown?.position === position || (isFast && shown) ? html`<${Features} example=${shown.next} dataset=${dataset} />
      ${player.hasEnded ? html`<p class="muted">The session has ended and learns no more.</p>` : html`<table class="predictions"><caption class="hidden-label">Predictions for the next example</caption>
        <thead><tr><th scope="col">learner</th><th scope="col">predicts</th><th scope="col">label</th></tr></thead>
        <tbody>${player.runs.map((run) => html`<tr key=${run.wanted.slot.learner}><th scope="row" class="feature">${run.wanted.learner.title}</th>
          <td>${run.next?.position === run.position ? html`<strong>${named(run.next.prediction, dataset)}</strong>${typeof run.next.score === "number" && html` <span class="small muted">score ${number(run.next.score)}</span>`}` : html`<span class="muted">…</span>`}</td>
          <td class="muted">${isPredicted ? named(codeOf(shown.next, dataset), dataset) : "…"}</td></tr>`)}</tbody></table>
        <p class="small muted">The prediction comes first, without the label. Step tells the learner the label.</p>`}
      ${shown.last && html`<${Last} player=${player} label=${codeOf(shown.last, dataset)} version=${version} />`}`
      : html`<p class="loading">Loading…</p>`}
  <//>`;
}

/** The outcome of the last example. @param {{player: Player, label: number, version: number}} props */
function Last({ player, label }) {
  const { dataset } = player.examples;
  return html`<h3>Last example</h3><ul class="plain-list stack tight">${player.runs.map((run) => {
    const past = run.history.at(run.position);
    if (!past) return html`<li key=${run.wanted.slot.learner}>${run.wanted.learner.title}: <span class="muted">the answer went elsewhere</span></li>`;
    // A session whose classes join predicts from its second example on.
    const isBatch = past.prediction === null && !past.isMistake;
    return html`<li key=${run.wanted.slot.learner}>${run.wanted.learner.title}: ${isBatch ? "part of a batch, without a prediction" : `predicted ${named(past.prediction, dataset)}, label ${named(label, dataset)}`} ${" "}
      <span class=${`badge ${past.isMistake ? "bad" : isBatch ? "" : "good"}`}>${past.isMistake ? "mistake" : isBatch ? "batch" : "correct"}</span></li>`;
  })}</ul>`;
}

/** @param {{example: Schemas["ExampleItem"], dataset: Schemas["Dataset"]}} props */
function Features({ example, dataset }) {
  // Sessions need a fixed number of features, so these are bits or numbers.
  const x = /** @type {string | number[]} */ (example.x);
  const values = typeof x === "string" ? Array.from(x, Number) : x;
  const isBits = dataset.values === "boolean";
  if (dataset.features && isBits) {
    const active = values.flatMap((value, index) => (value > 0 ? [dataset.features?.[index] ?? ""] : []));
    return html`<ul class="tags" aria-label="Active features">${active.slice(0, LISTED_MAX).map((name, index) => html`<li key=${index}>${name}</li>`)}</ul>
      <p class="small muted">${active.length > LISTED_MAX ? `The first ${LISTED_MAX} of ${number(active.length)} active features` : counted(active.length, "active feature")} of ${number(values.length)}.</p>`;
  }
  const side = sideOf(values.length);
  if (side) return html`<div class="row"><${HeatMap} values=${values} label=${`The example as a square of ${side} by ${side} features`} />
    <${SaveSquares} squares=${[{ name: "value", values }]} name="example" />
    ${isBits && values.length <= 400 && html`<p class="bits small">${String(example.x)}</p>`}</div>`;
  if (isBits) return html`<p class="bits">${values.length > 1000 ? `${String(example.x).slice(0, 1000)}…` : typeof example.x === "string" ? example.x : values.map((value) => (value > 0 ? 1 : 0)).join("")}</p>
    ${values.length > 1000 && html`<p class="small muted">The first 1,000 of ${number(values.length)} bits.</p>`}`;
  return html`<dl class="facts">${values.slice(0, LISTED_MAX).map((value, index) => html`<div key=${index}><dt>${dataset.features?.[index] ?? `x${index + 1}`}</dt><dd>${number(value)}</dd></div>`)}</dl>
    ${values.length > LISTED_MAX && html`<p class="small muted">The first ${LISTED_MAX} of ${number(values.length)} numbers.</p>`}`;
}
