/** What a session claims about its hypothesis: live certificates, and the run length of the stop rule. */

import { html } from "../../vendor/htm-preact.mjs";
import { Certificates } from "../../view/learning.mjs";
import { confidence, number } from "../../view/numbers.mjs";
import { Facts, Panel, counted } from "../../view/parts.mjs";
import { href, place } from "../../view/place.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */

/** @param {{run: import("./run.mjs").Run, isOne?: boolean, version: number}} props */
export function TrustPanel({ run, isOne }) {
  const session = /** @type {Schemas["Session"]} */ (run.session);
  const rule = session.stop_rule;
  const threshold = rule?.threshold ?? null;
  const { setup: _, ...rest } = Object.fromEntries(place.value.query);
  return html`<${Panel} title=${isOne ? "Counts and certificates" : `Counts and certificates of ${run.wanted.learner.title}`}>
    <${Facts} of=${[["Examples", html`<strong>${number(session.examples)}</strong>`], ["Mistakes", html`<strong>${number(session.mistakes)}</strong>`],
      ["Updates", html`<strong>${number(session.updates)}</strong>`], ["Run length", html`<strong>${number(session.run_length)}</strong>`]]} />
    ${rule && html`<div class="stack tight"><p>Stop rule <strong>${rule.rule}</strong> with confidence ${confidence(rule.confidence)}: ${counted(session.run_length, "consistent example")} in a row${threshold === null ? ". No run is long enough for this confidence" : ` of ${number(threshold)}`}.</p>
      ${threshold !== null && html`<progress max=${threshold} value=${Math.min(threshold, session.run_length)} aria-label=${`Run length against the threshold of ${threshold}`}></progress>`}</div>`}
    ${!rule && !session.termination && html`<p class="small muted">No confidence ends this session. The field confidence of the stop conditions asks for one, for examples of a declared origin.</p>`}
    ${session.confidence_detail && html`<p class="small muted">${session.confidence_detail}.</p>`}
    <${Certificates} certificates=${session.certificates ?? []} withheld=${session.certificates_withheld ?? []} />
    ${!session.assume && html`<p class="small">Are the examples fresh and independent draws? <a href=${href("playground", { ...rest, setup: 1 })}>Declare their origin in the set-up</a>.</p>`}
  <//>`;
}
