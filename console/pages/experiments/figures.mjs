/** The ready-made figures, which run as they are or with other parameters. */

import { html } from "../../vendor/htm-preact.mjs";
import { useAction, useResource } from "../../service/resource.mjs";
import { Panel } from "../../view/parts.mjs";
import { href } from "../../view/place.mjs";
import { Fault, Loaded } from "../../view/problem.mjs";
import { number } from "../../view/numbers.mjs";
import { CopyRecipe } from "../../view/recipe.mjs";
import { ExperimentForm, startJob } from "./parameters.mjs";
import { FIRST_FIGURE, KINDS, NOTES, kindTitle, runsOf, timeOf } from "./words.mjs";

/** @typedef {import("./words.mjs").ReadyFigure} ReadyFigure */
/** @typedef {import("./parameters.mjs").Asked} Asked */
/** @typedef {import("../../service/recipes.mjs").Recipe} Recipe */

/** Characters of the name of a job. */
const NAME_MAX = 256;

/** @param {{query: URLSearchParams}} props */
export function Figures({ query }) {
  const figures = useResource({ path: "v1/experiments" });
  return html`<${Loaded} resource=${figures}>${(/** @type {{items: ReadyFigure[]}} */ { items }) => {
    const chosen = items.find((figure) => figure.name === query.get("figure"));
    if (chosen) return html`<${Changed} figure=${chosen} query=${query} />`;
    const first = items.find((figure) => figure.name === FIRST_FIGURE);
    const others = items.filter((figure) => figure !== first);
    return html`${first && html`<${Start} figure=${first} />`}
      <${Panel} title=${first ? "All other figures" : "Figures"}>
        <p class="muted">Each figure runs as a job of many parts. The figure grows while the parts end.</p>
        <div class="cards wide-cards">${others.map((figure) => html`<${FigureCard} key=${figure.name} figure=${figure} />`)}</div>
      <//>`;
  }}<//>`;
}

/** The request that runs a figure. @param {ReadyFigure} figure  @param {Asked} [asked] @returns {Recipe} */
function running(figure, asked) {
  const name = asked?.name || figure.title.slice(0, NAME_MAX);
  const params = asked?.params ?? {};
  const json = { name, ...(Object.keys(params).length > 0 && { params }), ...(asked && asked.seed !== null && { seed: asked.seed }) };
  return { operation: "run_figure", arguments: [figure.name], method: "POST", path: `v1/experiments/${figure.name}`, json };
}

/** The figure that a newcomer looks for. @param {{figure: ReadyFigure}} props */
function Start({ figure }) {
  return html`<${Panel} title="Reproduce Table 1 of the paper" actions=${html`<${CopyRecipe} recipe=${running(figure)} />`}>
    <p>${figure.title}.</p>
    <${Cost} figure=${figure} />
    <${RunButton} figure=${figure} label="Reproduce Table 1" isPrimary=${true} />
  <//>`;
}

/** @param {{figure: ReadyFigure}} props */
function FigureCard({ figure }) {
  return html`<article class="card">
    <h3>${figure.title}</h3>
    <p class="small muted">${kindTitle(figure.experiment.name)} · <code>${figure.name}</code></p>
    <${Cost} figure=${figure} />
    <div class="card-actions stack"><${RunButton} figure=${figure} label="Run" />
      <details class="small no-print"><summary>The request</summary><${CopyRecipe} recipe=${running(figure)} /></details></div>
  </article>`;
}

/** @param {{figure: ReadyFigure}} props */
function Cost({ figure }) {
  const runs = runsOf(figure.experiment);
  return html`<p class="small">${runs !== null && `${number(runs)} runs per point. `}Takes ${timeOf(figure.name)} on two cores. ${NOTES[figure.name]}</p>`;
}

/** @param {{figure: ReadyFigure, label: string, isPrimary?: boolean}} props */
function RunButton({ figure, label, isPrimary = false }) {
  const starting = useAction((abort) => startJob(running(figure), abort));
  return html`<div class="row">
      <button class=${isPrimary ? "primary" : ""} aria-label=${isPrimary ? label : `${label}: ${figure.title}`} disabled=${starting.isRunning} onClick=${starting.start}>
        ${starting.isRunning ? "Starting…" : label}</button>
      <a class="button" aria-label=${`Change parameters: ${figure.title}`} href=${href("experiments", { figure: figure.name })}>Change parameters</a>
    </div>
    <${Fault} error=${starting.error} />`;
}

/** @param {{figure: ReadyFigure, query: URLSearchParams}} props */
function Changed({ figure, query }) {
  const kind = figure.experiment.name;
  return html`<p><a href=${href("experiments")}>All figures</a></p>
    <${Panel} title=${figure.title}>
      <p class="small muted">${kindTitle(kind)} · <code>${figure.name}</code></p>
      <${Cost} figure=${figure} />
      <p class="small">Fewer runs end sooner and have wider intervals.</p>
      <${ExperimentForm} query=${query} schemaName=${KINDS[kind]?.[2] ?? ""} defaults=${/** @type {Record<string, unknown>} */ (figure.experiment.params)}
        label="Run the figure" recipeOf=${(/** @type {Asked} */ asked) => running(figure, asked)} />
    <//>`;
}
