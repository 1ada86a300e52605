/** Errors, put the way people read them: the problem, the place, and how to go on. */

import { html } from "../vendor/htm-preact.mjs";
import { useEffect, useId, useRef, useState } from "../vendor/hooks.mjs";
import { Problem, Unreachable, key, root, setKey } from "../service/requests.mjs";
import { number } from "./numbers.mjs";

/**
 * An error with its remedy. `onRetry` offers a button to try again.
 * @param {{error: Error|null|undefined, onRetry?: () => void}} props
 */
export function Fault({ error, onRetry }) {
  if (!error) return null;
  if (error instanceof Unreachable) return html`<div class="notice warn" role="alert">
    <p><strong>The service does not answer.</strong> Check that the service runs and that your network reaches it.
      The console repeats reads by itself. Nothing that the service acknowledged is lost.</p>
    ${onRetry && html`<div><button onClick=${onRetry}>Try again</button></div>`}
  </div>`;
  if (!(error instanceof Problem)) return html`<div class="notice bad" role="alert"><p>${error.message}</p></div>`;
  const { document, status } = error;
  // The frame of the page shows the form for the key.
  if (status === 401) return html`<p class="muted">The service shows this part only with an API key.</p>`;
  return html`<div class="notice bad" role="alert">
    <p><strong>${document.title}.</strong> ${document.detail}</p>
    ${!isToldBy(document) && html`<ul>${document.errors.map((found) => html`<li>
      ${placeOf(found) && html`<strong>${placeOf(found)}</strong>: `}${found.detail}</li>`)}</ul>`}
    ${error.retryAfter !== null && html`<p>You can try again in ${number(error.retryAfter)} s.</p>`}
    <p class="small">${remedy(document)} ${document.code && html`<a href=${new URL(`problems/${encodeURIComponent(document.code)}`, root).href}
      target="_blank" rel="noopener">About the code ${document.code}</a>.`}
      ${document.request_id && html` Request <code>${document.request_id}</code>.`}</p>
    ${onRetry && canPass(status) && html`<div><button onClick=${onRetry}>Try again</button></div>`}
  </div>`;
}

/** Whether another attempt can succeed without a change of the request. @param {number} status */
function canPass(status) {
  return status >= 500 || [408, 409, 425, 429].includes(status);
}

/** Whether the description of a problem already contains its errors. @param {import("#api").components["schemas"]["Problem"]} document */
function isToldBy({ detail, errors }) {
  return errors.every((found) => detail.includes(found.detail) && [found.pointer, found.parameter].every((name) => !name || detail.includes(name)));
}

/** @param {import("#api").components["schemas"]["FieldError"]} found */
function placeOf(found) {
  const parts = [found.pointer ? `at ${found.pointer}` : "", found.parameter ? `parameter ${found.parameter}` : "",
    found.line ? `line ${number(found.line)}` : "", found.row ? `row ${number(found.row)}` : "",
    found.column ? `column ${number(found.column)}` : ""];
  return parts.filter(Boolean).join(", ");
}

/**
 * The errors of fields, by the place that names the field in the request.
 * @param {Error|null|undefined} error  @param {"pointer"|"parameter"} place  @returns {Record<string, string>}
 */
export function faultsBy(error, place) {
  const found = error instanceof Problem ? error.document.errors : [];
  return Object.fromEntries(found.flatMap((fault) => (fault[place] ? [[fault[place], fault.detail]] : [])));
}

/** Refusals with status 429 that pass by themselves. Every other one is a quota. */
const BRIEF = ["too-many-at-once"];

/** @param {import("#api").components["schemas"]["Problem"]} document */
function remedy({ status, code }) {
  if (status === 404) return key.value ? "Check the id. A key reaches only its own things, so another key may own this id."
    : "Check the id. Someone may have deleted the resource.";
  if (status === 403) return "Use a key or an address that may do this.";
  if (status === 413) return "Send less at once. An operator can raise the limit, and the page Operation lists all limits.";
  if (status === 429 && BRIEF.includes(code)) return "Other requests of yours are under way. Try again when they end.";
  if (status === 429) return "A quota of your key is used up. Delete what you no longer need, or wait until your jobs end.";
  if (status === 503) return "The service is busy or starts. Try again shortly.";
  if (status === 507) return "The disk of the service is full. Deleting jobs, datasets and models still works.";
  return "";
}

/** The form for the API key. @param {{isReplacement?: boolean, reason?: string}} props */
export function KeyForm({ isReplacement = false, reason }) {
  const id = useId();
  const [text, setText] = useState("");
  const input = useRef(/** @type {HTMLInputElement|null} */ (null));
  // The form comes back after a wrong key, and the focus comes back with the form.
  useEffect(() => { if (key.value) input.current?.focus(); }, []);
  const use = (/** @type {Event} */ event) => {
    event.preventDefault();
    setKey(text.trim());
  };
  return html`<form class=${`notice ${isReplacement ? "" : "warn"}`} onSubmit=${use}>
    <p><strong>${isReplacement ? "Another key replaces the present one." : "This service needs an API key."}</strong> ${reason}</p>
    <p class="small">The key stays in this browser tab and is sent as a header. Your operator makes keys
      with <code>halfspace keys create</code>.</p>
    <div class="row">
      <label class="hidden-label" for=${id}>API key</label>
      <input id=${id} ref=${input} type="password" autocomplete="off" placeholder="hsk_…" required value=${text}
        onInput=${(/** @type {InputEvent} */ event) => setText(/** @type {HTMLInputElement} */ (event.target).value)} />
      <button class="primary" type="submit">Use the key</button>
      ${key.value && !isReplacement && html`<button type="button" onClick=${() => setKey("")}>Forget the present key</button>`}
    </div>
  </form>`;
}

/**
 * A loaded document, or the reason why there is none.
 * @param {{resource: import("../service/resource.mjs").Resource<any>, children: (value: any) => any}} props
 */
export function Loaded({ resource, children }) {
  if (resource.value === null && resource.error) return html`<${Fault} error=${resource.error} onRetry=${resource.reload} />`;
  if (resource.value === null) return html`<p class="loading" role="status">Loading…</p>`;
  return html`${resource.error && html`<${Fault} error=${resource.error} onRetry=${resource.reload} />`}${children(resource.value)}`;
}
