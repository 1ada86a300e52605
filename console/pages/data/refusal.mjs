/**
 * Why the service refuses a file. Instead of a parameter of the API, the text names the control that sets it on this
 * page.
 */

import { html } from "../../vendor/htm-preact.mjs";
import { Problem, root } from "../../service/requests.mjs";
import { counted } from "../../view/parts.mjs";
import { place, setQuery } from "../../view/place.mjs";
import { FIELDS } from "./settings.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {Pick<Schemas["Problem"], "code"|"detail"|"errors">} Refused */

/** The parameters that are lists. A repair adds to them and replaces any other. */
const LISTS = ["ignore", "kinds", "missing_values"];

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
export function Refusal({ of }) {
  return of.errors.some(({ repairs }) => repairs?.length) ? html`<${Repairs} of=${of} />` : html`<${Hint} of=${of} />`;
}

/** The faults with a button for each repair. @param {{of: Refused}} props */
function Repairs({ of: { code, errors } }) {
  const firsts = errors.flatMap(({ repairs }) => repairs?.slice(0, 1) ?? []);
  const isWhole = firsts.length === errors.length;
  return html`<div class="notice warn" role="alert">
    <p><strong>The service cannot read the file like this.</strong>${" "}${errors.length === 1 ? "One click mends it:" : `${errors.length} things stand in the way.`}</p>
    ${errors.map((error) => html`<${Choices} key=${error.detail} of=${error} />`)}
    ${errors.length > 1 && isWhole && html`<div><button type="button" onClick=${() => mend(firsts)}>Take the first choice of each</button></div>`}
    <${AboutCode} code=${code} />
  </div>`;
}

/** A fault and a button for each of its repairs. @param {{of: Schemas["FieldError"]}} props */
function Choices({ of: { detail, line, repairs = [] } }) {
  return html`<div class="stack">
    <p>${line ? `Line ${line}: ` : ""}${Words(detail)}</p>
    <div class="row">${repairs.map((repair) => html`<button type="button" class="small-button" key=${repair.query} title=${repair.query}
      onClick=${() => mend([repair])}>${repair.sentence.replace(/\.$/, "").replace(/`([^`]*)`/g, "“$1”")}${repair.shape && html` <span class="muted">→ ${shapeOf(repair.shape)}</span>`}</button>`)}</div>
    ${repairs.length === 0 && html`<p class="small">No option mends this; change the file.</p>`}</div>`;
}

/** What to change in a file that the service can read. @param {{of: Schemas["FieldError"][]}} props */
export function Advice({ of }) {
  return of.length > 0 && html`<div class="notice">${of.map((error) => html`<${Choices} key=${error.detail} of=${error} />`)}</div>`;
}

/** @param {Schemas["DataShape"]} shape */
function shapeOf({ examples, n, classes }) {
  return `${counted(examples, "row")}, ${counted(n, "feature")}, ${classes ? `${classes} classes` : "no labels"}`;
}

/** Puts repairs into the query of the page, which is that of the request. @param {Schemas["Repair"][]} repairs */
function mend(repairs) {
  /** @type {Record<string, string>} */
  const changes = {};
  for (const [name, value] of repairs.flatMap(({ query }) => [...new URLSearchParams(query)])) {
    const before = changes[name] ?? place.value.query.get(name);
    changes[name] = before && LISTS.includes(name) ? `${before},${value}` : value;
  }
  setQuery(changes);
}

/** A message whose options are named as controls. @param {string} detail */
function Words(detail) {
  return (detail.charAt(0).toUpperCase() + detail.slice(1)).split("`").map((part, index) => (index % 2 === 1 ? inWords(part) : part));
}

/** @param {{code: string}} props */
function AboutCode({ code }) {
  return html`<p class="small"><a href=${new URL(`problems/${encodeURIComponent(code)}`, root).href} target="_blank" rel="noopener">About the code ${code}</a>.</p>`;
}

/** The control that may mend a fault for which the service proposes nothing. @param {{of: Refused}} props */
function Hint({ of: { code, detail } }) {
  const named = new Set(detail.split("`").flatMap((part, index) => {
    const control = index % 2 === 1 ? CONTROLS[part.split("=")[0] ?? ""] : undefined;
    return control ? [control] : [];
  }));
  return html`<div class="notice warn" role="alert">
    <p><strong>The service cannot read the file like this.</strong>${" "}${Words(detail)}</p>
    ${named.size === 0 && html`<p>Check that the format is that of the file, or take another file.</p>`}
    <div class="row">${(named.size > 0 ? [...named] : ["Format", "Take another file"]).map((control) => html`<button type="button" class="small-button" key=${control}
      onClick=${() => goTo(control)}>Go to “${control}”</button>`)}</div>
    <${AboutCode} code=${code} />
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
