/** The table of learners: the concept that each learns, its guarantee, and whether it fits the data. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useRef } from "../../vendor/hooks.mjs";
import { Panel, counted } from "../../view/parts.mjs";
import { queryOf, textsIn } from "../../view/schema_form.mjs";
import { setQuery } from "../../view/place.mjs";
import { comparedIn, comparedText } from "./request.mjs";

/** @typedef {import("./request.mjs").Learner} Learner */

/** Learners that fit stand first. @param {Learner[]} learners */
function ordered(learners) {
  return [...learners].sort((one, other) => Number(one.fits === false) - Number(other.fits === false));
}

/**
 * @param {{learners: Learner[], chosen: Learner|null, isSeveral: boolean, query: URLSearchParams, fault?: string}} props
 */
export function LearnerChoice({ learners, chosen, isSeveral, query, fault }) {
  const isKnown = learners.some(({ fits }) => typeof fits === "boolean");
  const written = comparedIn(query);
  const compared = written.map(({ name }) => name);
  const withParams = written.filter(({ params }) => Object.keys(params ?? {}).length > 0);
  const count = learners.filter(({ fits }) => fits).length;
  const pick = (/** @type {Learner} */ learner) => setQuery({ ...queryOf(query, {}), ...(textsIn(query, "stop.").rule && { "stop.rule": null }), learner: learner.name });
  const tick = (/** @type {Learner} */ learner, /** @type {boolean} */ isTicked) => setQuery({
    learners: comparedText(learners.flatMap(({ name }) => (name !== learner.name ? written.filter((other) => other.name === name) : isTicked ? [{ name }] : []))) });
  const holder = useRef(/** @type {HTMLElement|null} */ (null));
  // The learner of a link is in view from the start.
  useEffect(() => {
    const row = /** @type {HTMLElement|null|undefined} */ (holder.current?.querySelector("tr.chosen"));
    if (holder.current && row) holder.current.scrollTop = row.offsetTop - holder.current.clientHeight / 3;
  }, [isKnown]);
  return html`<${Panel} title=${isSeveral ? "2. Learners" : "2. Learner"} actions=${html`<span class="small muted">
      ${isSeveral ? `${compared.length === 0 ? "Without a tick, all learners that fit are compared" : counted(compared.length, "learner")}. ` : ""}${isKnown ? `${count} of ${learners.length} fit these data.` : ""}</span>`}>
    ${fault && html`<p class="bad-text">${fault}</p>`}
    ${isSeveral && withParams.length > 0 && html`<p class="small">With parameters: ${withParams.map(({ name, params }) => `${name} ${JSON.stringify(params)}`).join("; ")}.
      ${" "}A tick taken away takes the parameters of the learner away.</p>`}
    <div class="scroll tall" tabindex="0" role="region" aria-label="Learners" ref=${holder}>
      <table class="choices"><caption class="hidden-label">Learners</caption>
        <thead><tr><th scope="col">learner</th><th scope="col">learns</th><th scope="col">guarantee</th><th scope="col">mode</th>
          <th scope="col">${isKnown ? "fits these data" : "accepts"}</th></tr></thead>
        <tbody>${ordered(learners).map((learner) => {
          const isChosen = isSeveral ? compared.includes(learner.name) : chosen?.name === learner.name;
          return html`<tr key=${learner.name} class=${isChosen ? "chosen" : ""}>
            <th scope="row"><label class="check"><input type=${isSeveral ? "checkbox" : "radio"} name="learner" checked=${isChosen}
              onChange=${(/** @type {Event} */ event) => (isSeveral ? tick(learner, /** @type {HTMLInputElement} */ (event.target).checked) : pick(learner))} />
              <span>${learner.title}<code class="muted">${learner.name}</code></span></label></th>
            <td class="prose">${learner.learns}</td>
            <td>${learner.guarantee.theorem}</td>
            <td class="nowrap">${learner.mode}</td>
            <td>${fitOf(learner, isKnown)}</td></tr>`;
        })}</tbody>
      </table>
    </div>
    ${chosen && !isSeveral && html`<div class="notice">
      <p><strong>${chosen.title}.</strong> ${chosen.guarantee.bound}</p>
      <p class="small">${chosen.guarantee.theorem}. Source: ${chosen.source}.</p></div>`}
  <//>`;
}

/** @param {Learner} learner  @param {boolean} isKnown */
function fitOf(learner, isKnown) {
  if (!isKnown) return learner.data.join(", ");
  return learner.fits ? html`<span class="badge good">fits</span>` : html`<span class="small"><span class="badge">no</span> ${learner.unfit}</span>`;
}
