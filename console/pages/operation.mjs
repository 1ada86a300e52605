/** The page Operation: the health of the service, the queue, the key and its use, sessions and limits. */

import { html } from "../vendor/htm-preact.mjs";
import { root } from "../service/requests.mjs";
import { PageHead, Tabs } from "../view/parts.mjs";
import { Health } from "./operation/health.mjs";
import { ApiKey } from "./operation/api_key.mjs";
import { Limits } from "./operation/limits.mjs";
import { Queue, Waiting, Workers } from "./operation/queue.mjs";
import { Sessions } from "./operation/sessions.mjs";

/** @type {[string, string][]} */
const TABS = [["state", "State"], ["sessions", "Sessions"], ["limits", "Limits"]];

/** @param {{query: URLSearchParams}} props */
export function OperationPage({ query }) {
  const tab = query.get("tab") ?? "state";
  return html`<div class="page">
    <${PageHead} title="Operation">
      <a class="button small-button" href=${new URL("metrics", root).href} target="_blank" rel="noopener">Metrics</a>
      <a class="button small-button" href=${new URL("docs/", root).href} target="_blank" rel="noopener">API reference</a>
    <//>
    <${Tabs} path="operation" current=${tab} tabs=${TABS} />
    ${tab === "sessions" ? html`<${Sessions} />` : tab === "limits" ? html`<${Limits} search=${query.get("search") ?? ""} />` : html`
      <div class="columns">
        <div class="stack wide-gaps"><${Health} /><${Queue} /><${Waiting} /></div>
        <${ApiKey} />
      </div>
      <${Workers} />`}
  </div>`;
}
