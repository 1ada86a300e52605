/** Small parts of pages: heads, facts, states, fields and confirmations. */

import { html } from "../vendor/htm-preact.mjs";
import { useEffect, useId, useRef, useState } from "../vendor/hooks.mjs";
import { number, time } from "./numbers.mjs";
import { href } from "./place.mjs";

/**
 * The head of a page. The title is also the title of the window.
 * @param {{title: string, above?: any, children?: any}} props  `children`: actions.
 */
export function PageHead({ title, above, children }) {
  const heading = useRef(/** @type {HTMLHeadingElement|null} */ (null));
  useEffect(() => { document.title = `${title} · halfspace`; }, [title]);
  return html`<header class="page-head">
    <div>${above && html`<p class="small">${above}</p>`}<h1 ref=${heading} tabindex="-1">${title}</h1></div>
    ${children && html`<div class="row no-print">${children}</div>`}
  </header>`;
}

/** @param {{title: string, actions?: any, children?: any}} props */
export function Panel({ title, actions, children }) {
  const id = useId();
  return html`<section class="panel" aria-labelledby=${id}>
    <div class="panel-head"><h2 id=${id}>${title}</h2>${actions}</div>
    ${children}
  </section>`;
}

/** Pairs of a name and a value. Pairs without a value are left out. @param {{of: [string, any][]}} props */
export function Facts({ of }) {
  const known = of.filter(([, value]) => value !== null && value !== undefined && value !== false);
  return html`<dl class="facts">${known.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

const TONES = { succeeded: "good", failed: "bad", cancelled: "warn", running: "note", queued: "" };

/** The status of a job. @param {{status: keyof typeof TONES}} props */
export function StatusBadge({ status }) {
  return html`<span class=${`badge ${TONES[status] ?? ""} ${status === "running" ? "live" : ""}`}>${status}</span>`;
}

/** @param {{at: string|null|undefined}} props */
export function Time({ at }) {
  return at ? html`<time class="nowrap" datetime=${at} title=${at}>${time(at)}</time>` : "–";
}

/** A count with its noun. @param {number} count  @param {string} noun */
export function counted(count, noun) {
  return `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** A message for a list without entries. @param {{children: any}} props */
export function Empty({ children }) {
  return html`<div class="empty"><p>${children}</p></div>`;
}

/**
 * A labelled control. The control is made by the caller and gets the id and the id of its description.
 * @param {{label: string, hint?: any, fault?: string, children: (attributes: {id: string, "aria-describedby"?: string,
 *   "aria-invalid"?: boolean}) => any}} props
 */
export function Field({ label, hint, fault, children }) {
  const id = useId();
  const described = hint || fault ? `${id}-hint` : undefined;
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${children({ id, ...(described && { "aria-describedby": described }), ...(fault && { "aria-invalid": true }) })}
    ${described && html`<div id=${described}>
      ${fault && html`<p class="fault">${fault}</p>`}${hint && html`<p class="hint">${hint}</p>`}</div>`}
  </div>`;
}

/** @param {{label: any, checked: boolean, onChange: (checked: boolean) => void, disabled?: boolean}} props */
export function Check({ label, checked, onChange, disabled }) {
  return html`<label class="check"><input type="checkbox" checked=${checked} disabled=${disabled}
    onChange=${(/** @type {Event} */ event) => onChange(/** @type {HTMLInputElement} */ (event.target).checked)} />
    <span>${label}</span></label>`;
}

/** @param {{attributes?: object, value: string, options: [value: string, label: string][], onChange: (value: string) => void, label?: string}} props */
export function Select({ attributes = {}, value, options, onChange, label }) {
  return html`<select ...${attributes} aria-label=${label} value=${value}
    onChange=${(/** @type {Event} */ event) => onChange(/** @type {HTMLSelectElement} */ (event.target).value)}>
    ${options.map(([option, text]) => html`<option key=${option} value=${option} selected=${option === value}>${text}</option>`)}
  </select>`;
}

/** The value of the input behind an event. @param {Event} event */
export function valueOf(event) {
  return /** @type {HTMLInputElement} */ (event.target).value;
}

/** Links between the tabs of a page. The tab stands in the URL. @param {{path: string, name?: string, current: string, tabs: [string, string][], query?: object}} props */
export function Tabs({ path, name = "tab", current, tabs, query = {} }) {
  return html`<nav class="tabs" aria-label="Parts of the page">${tabs.map(([tab, label], index) => html`<a key=${tab}
    href=${href(path, { ...query, [name]: index === 0 ? null : tab })} aria-current=${tab === current ? "true" : undefined}>${label}</a>`)}</nav>`;
}

/**
 * A button whose action destroys something. The first click asks.
 * @param {{label: string, question: string, onConfirm: () => void, disabled?: boolean, children?: any}} props  `children` stand below the
 * question, such as the request.
 */
export function ConfirmButton({ label, question, onConfirm, disabled, children }) {
  const [isAsking, setIsAsking] = useState(false);
  const dialog = useRef(/** @type {HTMLDialogElement|null} */ (null));
  const id = useId();
  useEffect(() => {
    if (isAsking) dialog.current?.showModal();
  }, [isAsking]);
  // A click may come between the end of the last question and its event.
  const ask = () => { setIsAsking(true); dialog.current?.showModal(); };
  return html`<button type="button" class="danger" disabled=${disabled} onClick=${ask}>${label}</button>
    ${isAsking && html`<dialog ref=${dialog} aria-labelledby=${id} onClose=${() => setIsAsking(dialog.current?.open ?? false)}>
      <div class="stack"><p id=${id}>${question}</p>${children}
      <div class="row">
        <button type="button" class="danger" onClick=${() => { dialog.current?.close(); onConfirm(); }}>${label}</button>
        <button type="button" autofocus onClick=${() => dialog.current?.close()}>Keep</button>
      </div></div>
    </dialog>`}`;
}
