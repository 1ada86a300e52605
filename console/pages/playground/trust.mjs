/** The claims of a session about its hypothesis: live certificates, and the run length of the stop rule. */

import { html } from "../../vendor/htm-preact.mjs";
import { useLive } from "../../service/live.mjs";
import { Certificates } from "../../view/learning.mjs";
import { number } from "../../view/numbers.mjs";
import { Facts, Panel, counted } from "../../view/parts.mjs";
import { href, place } from "../../view/place.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */

/** @param {{run: import("./run.mjs").Run, isOne?: boolean, version: number}} props */
export function TrustPanel({ run, isOne }) {
  const session = /** @type {Schemas["Session"]} */ (run.session);
  const rule = ruleOf(run, session);
  const answer = useLive(rule?.request ?? null);
  const threshold = session.termination?.threshold ?? (rule && answer.value ? rule.read(answer.value) : null);
  const { setup: _, ...rest } = Object.fromEntries(place.value.query);
  return html`<${Panel} title=${isOne ? "Counts and certificates" : `Counts and certificates of ${run.wanted.learner.title}`}>
    <${Facts} of=${[["Examples", html`<strong>${number(session.examples)}</strong>`], ["Mistakes", html`<strong>${number(session.mistakes)}</strong>`],
      ["Updates", html`<strong>${number(session.updates)}</strong>`], ["Run length", html`<strong>${number(session.run_length)}</strong>`]]} />
    ${rule && html`<div class="stack tight"><p>Stop rule <strong>${rule.name}</strong>: ${counted(session.run_length, "consistent example")} in a row${threshold === null ? "" : ` of ${number(threshold)}`}.</p>
      ${threshold !== null && html`<progress max=${threshold} value=${Math.min(threshold, session.run_length)} aria-label=${`Run length against the threshold of ${threshold}`}></progress>`}
      ${threshold === null && answer.error && html`<p class="small muted">The threshold is unknown: ${answer.error.message}</p>`}</div>`}
    ${!rule && !session.termination && html`<p class="small muted">No stop rule. The field confidence of the stop conditions asks for one.</p>`}
    ${session.confidence_detail && html`<p class="small muted">${session.confidence_detail}.</p>`}
    <${Certificates} certificates=${session.certificates ?? []} withheld=${session.certificates_withheld ?? []} />
    ${!session.assume && html`<p class="small">Are the examples fresh and independent draws? <a href=${href("playground", { ...rest, setup: 1 })}>Declare their origin in the set-up</a>.</p>`}
  <//>`;
}

/**
 * The stop rule of a session and the request for its threshold.
 * @param {import("./run.mjs").Run} run  @param {Schemas["Session"]} session
 * @returns {{name: string, request: import("../../service/requests.mjs").RequestSpec|null, read: (answer: any) => number|null}|null}
 */
function ruleOf(run, session) {
  const { confidence, error } = session.stop;
  if (!confidence && !error) return null;
  const name = session.stop.rule ?? (error ? "pac" : run.wanted.learner.confidence_rules[0] ?? "pac");
  const sure = confidence ?? 0.95;
  const hypothesis = session.mistakes + 1;
  if (name === "pac") return { name, request: { path: "v1/theory/survival", query: { error, hypothesis, confidence: sure } }, read: (answer) => answer.run_length ?? null };
  if (!session.assume) return { name, request: null, read: () => null };
  if (name === "exact") return { name, request: { path: "v1/theory/directed-drift", query: { n: session.n, delta: 1 - sure } }, read: (answer) => answer.exact?.run_length ?? null };
  return { name, request: { path: "v1/theory/stopping", query: { n: session.n, confidence: sure, sampling: session.assume, hypothesis } },
    read: (answer) => answer[name.replace("-", "_")]?.run_length ?? null };
}
