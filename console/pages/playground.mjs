/** The page Playground: one or two on-line sessions of the service, followed example by example. */

import { html } from "../vendor/htm-preact.mjs";
import { useEffect, useMemo, useState } from "../vendor/hooks.mjs";
import { key } from "../service/requests.mjs";
import { useResource } from "../service/resource.mjs";
import { PageHead } from "../view/parts.mjs";
import { href, linkTo } from "../view/place.mjs";
import { Fault, Loaded } from "../view/problem.mjs";
import { CopyButton } from "../view/recipe.mjs";
import { datasetOf } from "./playground/data.mjs";
import { forgetOthers } from "./playground/memory.mjs";
import { Presets, SetUp } from "./playground/setup.mjs";
import { Stage } from "./playground/stage.mjs";
import { dataKindIn, isRight, nameOfRun, unknownIn, wantedIn } from "./playground/wanted.mjs";

/** @typedef {import("./playground/wanted.mjs").Learner} Learner */

/** @param {{query: URLSearchParams}} props */
export function PlaygroundPage({ query }) {
  const catalogue = useResource({ path: "v1/learners" });
  return html`<div class="page">${!catalogue.value && html`<${PageHead} title="Playground" />`}<${Loaded} resource=${catalogue}>${(/** @type {{items: Learner[]}} */ { items }) => {
    const wanted = wantedIn(query, items);
    const unknown = unknownIn(query, items);
    const isChosen = wanted[0]?.slot.learner === "learner" && dataKindIn(query) !== null;
    const isReady = isChosen && !unknown && isRight(query, wanted) && !query.get("setup");
    return isReady ? html`<${Loading} key=${`${nameOfRun(query)} ${key.value}`} query=${query} wanted=${wanted} />`
      : html`<${PageHead} title="Playground" />
        <p>An on-line learner predicts the label of each example before seeing the label. A wrong prediction changes the hypothesis.</p>
        ${unknown && html`<${Unknown} ...${unknown} query=${query} catalogue=${items} />`}
        ${!isChosen && !unknown && html`<${Start} />`}<${SetUp} query=${query} catalogue=${items} />`;
  }}<//></div>`;
}

/** The start of another run. The session of the last run ends. */
function Start() {
  useEffect(() => forgetOthers(""), []);
  return html`<${Presets} />`;
}

/** A link with a learner that no session can have, and the learners to choose from. @param {{slot: import("./playground/wanted.mjs").Slot, name: string, query: URLSearchParams, catalogue: Learner[]}} props */
function Unknown({ slot, name, query, catalogue }) {
  const isBatch = catalogue.some((learner) => learner.name === name);
  const { setup: _, ...rest } = Object.fromEntries([...query].filter(([part]) => !part.startsWith(slot.params) && !part.startsWith(slot.stop)));
  const choice = (/** @type {string|null} */ learner) => href("playground", { ...rest, [slot.learner]: learner });
  return html`<div class="notice warn" role="alert">
    <p><strong>${isBatch ? `The learner ${name} learns from a whole sample, not example by example.` : `The service has no learner named ${name}.`}</strong> Choose an on-line learner:</p>
    <ul class="row plain-list">${catalogue.filter(({ mode }) => mode === "on-line").map((learner) => html`<li key=${learner.name}><a href=${choice(learner.name)}>${learner.title}</a></li>`)}
      ${slot.learner === "with" && html`<li><a href=${choice(null)}>no second learner</a></li>`}</ul>
  </div>`;
}

/** Stores the data if the service lacks them, then shows the run. @param {{query: URLSearchParams, wanted: import("./playground/wanted.mjs").Wanted[]}} props */
function Loading({ query, wanted }) {
  const name = nameOfRun(query);
  const [dataset, setDataset] = useState(/** @type {import("#api").components["schemas"]["Dataset"]|null} */ (null));
  const [error, setError] = useState(/** @type {Error|null} */ (null));
  const [round, setRound] = useState(0);
  // The position changes while a run plays, but the sessions that the run asks for stay the same.
  const fixed = useMemo(() => wanted, [name]);
  useEffect(() => {
    const abort = new AbortController();
    setError(null);
    datasetOf(query, abort.signal).then(setDataset, (/** @type {Error} */ fault) => { if (!abort.signal.aborted) setError(fault); });
    return () => abort.abort();
  }, [name, round]);
  const rest = Object.fromEntries(query);
  const fault = error ?? (dataset && faultOf(dataset));
  return html`<${PageHead} title=${`Playground: ${wanted.map(({ learner }) => learner.title).join(" and ")}`}>
      <a class="button small-button" href=${href("playground", { ...rest, setup: 1 })}>Change the set-up</a>
      <a class="button small-button" href=${href("playground")}>Other examples</a>
      <${CopyButton} label="Copy link" text=${() => linkTo("playground", Object.fromEntries(new URLSearchParams(location.hash.split("?")[1] ?? "")))} />
    <//>
    ${fault ? html`<${Fault} error=${fault} onRetry=${error ? () => setRound(round + 1) : undefined} />`
      : dataset ? html`<${Stage} name=${name} query=${query} wanted=${fixed} dataset=${dataset} />` : html`<p class="loading" role="status">Preparing the data…</p>`}`;
}

/** The reason why sessions cannot learn these data. @param {import("#api").components["schemas"]["Dataset"]} dataset */
function faultOf(dataset) {
  if (dataset.kind === "unlabelled") return new Error("These examples have no labels, so a session cannot learn from them. Choose other data in the set-up.");
  return dataset.examples === 0 ? new Error("This dataset has no examples. Choose other data in the set-up.") : null;
}
