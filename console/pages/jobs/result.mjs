/** The result of a job by task. */

import { html } from "../../vendor/htm-preact.mjs";
import { Panel } from "../../view/parts.mjs";
import { Comparison } from "../compare/comparison.mjs";
import { EvaluateView } from "./evaluation.mjs";
import { ImportView } from "./import.mjs";
import { ExperimentView, PartView } from "./experiment.mjs";
import { MaximumMarginView, SeparabilityView, VersionSpaceView } from "./exact.mjs";
import { TrainView } from "./training.mjs";

/** @typedef {import("./words.mjs").Job} Job */

/** @param {{job: Job, query: URLSearchParams}} props */
export function Result({ job, query }) {
  const { result } = job;
  // Experiments and comparisons have a figure of the parts that have ended.
  if (job.task === "experiment") return html`<${ExperimentView} job=${job} />`;
  if (job.task === "compare" || job.task === "grid") return html`<${Comparison} job=${job} query=${query} />`;
  switch (result?.task) {
    case "train": return html`<${TrainView} job=${job} result=${result} />`;
    case "evaluate": return html`<${EvaluateView} result=${result} />`;
    case "separability": return html`<${SeparabilityView} result=${result} />`;
    case "maximum_margin": return html`<${MaximumMarginView} job=${job} result=${result} />`;
    case "version_space": return html`<${VersionSpaceView} result=${result} />`;
    case "import": return html`<${ImportView} result=${result} />`;
    case "experiment_part": return html`<${PartView} result=${result} />`;
    default: return result ? html`<${Panel} title="Result"><pre tabindex="0">${JSON.stringify(result, null, 2)}</pre><//>` : null;
  }
}
