/**
 * Why the service refuses a file. Instead of a parameter of the API, the text names the control that sets it on this
 * page.
 */

import { html } from "../../vendor/htm-preact.mjs";
import { Problem, root } from "../../service/requests.mjs";
import { FIELDS } from "./settings.mjs";

/** @typedef {Pick<import("#api").components["schemas"]["Problem"], "code"|"detail">} Refused */

/** The control of the use of a column. Each column has one. */
const USE = "Use of the column";

/** The labels of the controls by parameter. @type {Record<string, string>} */
const CONTROLS = { ...Object.fromEntries(Object.entries(FIELDS).map(([name, { title = name }]) => [name, title])),
  labels: "Label column", positive: "Value that means +1", ignore: USE, kinds: USE };

/** Whether an error is about the content of the file, so that the same file with the same options must fail again. @param {Error|null} error  @returns {error is Problem} */
export function isRefusal(error) {
  return error instanceof Problem && [400, 415, 422].includes(error.status);
}

/** @param {{of: Refused}} props */
export function Refusal({ of: { code, detail } }) {
  const parts = (detail.charAt(0).toUpperCase() + detail.slice(1)).split("`");
  const named = new Set(parts.flatMap((part, index) => {
    const control = index % 2 === 1 ? CONTROLS[part.split("=")[0] ?? ""] : undefined;
    return control ? [control] : [];
  }));
  return html`<div class="notice warn" role="alert">
    <p><strong>The service cannot read the file like this.</strong>${" "}${parts.map((part, index) => (index % 2 === 1 ? inWords(part) : part))}</p>
    ${named.size === 0 && html`<p>Check that the format is that of the file, or take another file.</p>`}
    <div class="row">${(named.size > 0 ? [...named] : ["Format", "Take another file"]).map((control) => html`<button type="button" class="small-button" key=${control}
      onClick=${() => goTo(control)}>Go to “${control}”</button>`)}</div>
    <p class="small"><a href=${new URL(`problems/${encodeURIComponent(code)}`, root).href} target="_blank" rel="noopener">About the code ${code}</a>.</p>
  </div>`;
}

/** A quoted part of a message: an option of the API as its control, any other part as it stands. @param {string} part */
function inWords(part) {
  const [, name = "", value] = /^(\w+)(?:=(.*))?$/s.exec(part) ?? [];
  const control = CONTROLS[name];
  if (!control) return html`<code>${part}</code>`;
  if (name === "ignore" && value) return html`<strong>${control} ${value}</strong>: “ignored”`;
  return value === undefined ? html`<strong>${control}</strong>` : html`<strong>${control}</strong>: “${value}”`;
}

/** Moves the focus to a control by its label. @param {string} label */
function goTo(label) {
  const named = [...document.querySelectorAll("label")].find((found) => found.textContent === label)?.control;
  const control = /** @type {HTMLElement|null} */ (named ?? document.querySelector(`[aria-label^="${label}"]`));
  control?.scrollIntoView({ block: "center" });
  control?.focus();
}
