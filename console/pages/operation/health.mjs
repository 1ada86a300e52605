/** The health of the service: whether it is alive and ready, and which release runs. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useState } from "../../vendor/hooks.mjs";
import { Problem, call, isAway } from "../../service/requests.mjs";
import { useResource } from "../../service/resource.mjs";
import { Facts, Panel } from "../../view/parts.mjs";

/** Seconds between two looks. */
const EVERY = 3;

/** @typedef {{tone: string, word: string, detail: string}} Finding */

/** @type {Finding} */
const AWAY = { tone: "bad", word: "no answer", detail: "" };

/** Asks a probe again and again. A probe that fails is an answer, so this hook repeats nothing by itself. @param {string} path */
function useProbe(path) {
  const [found, setFound] = useState(/** @type {Finding|null} */ (null));
  useEffect(() => {
    const abort = new AbortController();
    const look = () => call({ path }, abort.signal).then(
      () => setFound({ tone: "good", word: "yes", detail: "" }),
      (error) => {
        if (abort.signal.aborted) return;
        setFound(error instanceof Problem ? { tone: "warn", word: "no", detail: error.message } : AWAY);
      },
    );
    look();
    const timer = setInterval(() => { if (document.visibilityState === "visible") look(); }, EVERY * 1000);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, [path]);
  return isAway.value ? AWAY : found;
}

export function Health() {
  const alive = useProbe("livez");
  const ready = useProbe("readyz");
  const version = useResource({ path: "version" }, { every: 30 });
  return html`<${Panel} title="Health">
    <${Facts} of=${[
      ["Alive", html`<${Answer} of=${alive} />`],
      ["Ready for work", html`<${Answer} of=${ready} />`],
      ["Version", version.value?.version ?? "…"],
      ["Revision", version.value && (version.value.revision ?? "unknown")],
    ]} />
    ${ready?.detail && html`<p class="small">${ready.detail}</p>`}
    <p class="small muted">A service that is ready answers requests, and its database answers too.</p>
  <//>`;
}

/** @param {{of: Finding|null}} props */
function Answer({ of }) {
  return of ? html`<span class=${`badge ${of.tone}`}>${of.word}</span>` : "…";
}
