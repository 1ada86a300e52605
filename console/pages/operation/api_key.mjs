/** The key of this tab, and how much it uses of the limits that the service sets for it. */

import { html } from "../../vendor/htm-preact.mjs";
import { useState } from "../../vendor/hooks.mjs";
import { key, needsKey, setKey } from "../../service/requests.mjs";
import { useResource } from "../../service/resource.mjs";
import { Panel } from "../../view/parts.mjs";
import { bytes, number, percent } from "../../view/numbers.mjs";
import { Fault, KeyForm } from "../../view/problem.mjs";

/** @typedef {import("#api").components["schemas"]["LimitsAnswer"]} LimitsAnswer */
/** @typedef {import("#api").components["schemas"]["Use"]} Use */

/** Share of a limit from which the page warns. */
const NEARLY_FULL = 0.9;

export function ApiKey() {
  const limits = useResource({ path: "v1/limits" }, { every: 5 });
  const queue = useResource(key.value ? { path: "v1/queue" } : null);
  const own = /** @type {LimitsAnswer["own"]|undefined} */ (limits.value?.own);
  const isOpen = key.value ? isAnonymous(queue.value) : own !== undefined;
  return html`<${Panel} title="Key and use">
    ${isOpen && html`<${OpenService} />`}
    ${key.value ? html`<${KeyInUse} isAccepted=${own !== undefined} />`
      : needsKey.value && html`<p>The service needs a key. Enter the key at the top of this page.</p>`}
    ${own && html`<ul class="entries">
      <${UseOf} name="Waiting jobs" use=${own.jobs_queued} write=${number} />
      <${UseOf} name="Stored data" use=${own.stored_bytes} write=${bytes} />
      <${UseOf} name="Sessions" use=${own.sessions} write=${number} />
    </ul>`}
    ${limits.error && !needsKey.value && html`<${Fault} error=${limits.error} onRetry=${limits.reload} />`}
  <//>`;
}

/** Whether the queue names the caller as the owner of an open service. @param {import("#api").components["schemas"]["Queue"]|null} queue */
function isAnonymous(queue) {
  return queue?.owners?.some((owner) => owner.own && owner.owner === "anonymous") ?? false;
}

function OpenService() {
  return html`<div class="notice warn">
    <p><strong>This service is open to everybody.</strong> Everybody who reaches the address may read, change and delete
      everything. Before you open the service to a network, create a key on the machine of the service:</p>
    <pre tabindex="0">halfspace keys create --name ada --adopt-anonymous</pre>
    <p class="small">From the first key on, each request needs a key. The option gives the present data to the new key.</p>
  </div>`;
}

/** @param {{isAccepted: boolean}} props */
function KeyInUse({ isAccepted }) {
  const [isChanging, setIsChanging] = useState(false);
  const status = needsKey.value ? "The service refused the key of this tab." : isAccepted ? "The service accepts the key of this tab."
    : "This tab has a key.";
  return html`<p>${status} The key stays in this tab until you close the tab, and no address contains the key.</p>
    <div class="row">
      <button onClick=${() => setKey("")}>Forget the key</button>
      ${!needsKey.value && html`<button aria-expanded=${isChanging} onClick=${() => setIsChanging(!isChanging)}>Use another key</button>`}
    </div>
    ${isChanging && !needsKey.value && html`<${KeyForm} isReplacement />`}`;
}

/** @param {{name: string, use: Use, write: (value: number) => string}} props */
function UseOf({ name, use, write }) {
  const share = use.max > 0 ? use.used / use.max : 1;
  const isNearlyFull = share >= NEARLY_FULL;
  return html`<li>
    <div class="entry"><span>${name}</span><span class="number">${write(use.used)} of ${write(use.max)}</span></div>
    <progress aria-label=${name} max="1" value=${Math.min(1, share)}></progress>
    ${isNearlyFull && html`<p class="small"><span class="badge warn">${percent(share, 0)} used</span> At the limit the service refuses
      new work of this key. Delete what you no longer need, or wait until jobs end.</p>`}
  </li>`;
}
