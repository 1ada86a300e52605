/** The page Experiments: ready-made figures, past runs, own experiments, theory calculators and constructions. */

import { html } from "../vendor/htm-preact.mjs";
import { PageHead, Tabs } from "../view/parts.mjs";
import { Constructions } from "./experiments/constructions.mjs";
import { Figures } from "./experiments/figures.mjs";
import { Gallery } from "./experiments/gallery.mjs";
import { OwnExperiment } from "./experiments/own.mjs";
import { Theory } from "./experiments/theory.mjs";

/** @type {[tab: string, label: string][]} */
const TABS = [["figures", "Figures of the papers"], ["runs", "Past runs"], ["own", "Own experiment"], ["theory", "Theory"], ["constructions", "Constructions"]];

/** @type {Record<string, (props: {query: URLSearchParams}) => any>} */
const CONTENTS = { figures: Figures, runs: Gallery, own: OwnExperiment, theory: Theory, constructions: Constructions };

/** @param {{query: URLSearchParams}} props */
export function ExperimentsPage({ query }) {
  const wanted = query.get("tab") ?? "figures";
  const tab = Object.hasOwn(CONTENTS, wanted) ? wanted : "figures";
  return html`<div class="page">
    <${PageHead} title="Experiments" />
    <${Tabs} path="experiments" current=${tab} tabs=${TABS} />
    <${CONTENTS[tab]} query=${query} />
  </div>`;
}
