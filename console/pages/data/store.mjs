/** The upload of a whole file into a dataset, with progress and a way to cancel. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useRef, useState } from "../../vendor/hooks.mjs";
import { freshKey } from "../../service/requests.mjs";
import { useAction } from "../../service/resource.mjs";
import { upload } from "../../service/upload.mjs";
import { bytes, percent } from "../../view/numbers.mjs";
import { Field, Panel, valueOf } from "../../view/parts.mjs";
import { go, setQuery } from "../../view/place.mjs";
import { Fault } from "../../view/problem.mjs";
import { ShowRecipe } from "../../view/recipe.mjs";
import { Refusal, isRefusal } from "./refusal.mjs";

/**
 * @param {{file: File, format: import("../../service/file_format.mjs").Format, coding: string|null, options: Record<string, string>, name: string,
 *   isRefused: boolean}} props
 */
export function Store({ file, format, coding, options, name, isRefused }) {
  const [sent, setSent] = useState(0);
  // A repeated upload of the same request must not store the data twice.
  const once = useRef({ of: "", key: "" });
  const [refused, setRefused] = useState("");
  const query = { name: name || plainName(file.name), ...options };
  /** @type {Record<string, string>} */
  const headers = { "content-type": format.mediaType, ...(coding && { "content-encoding": coding }) };
  const recipe = { operation: "create_dataset", method: /** @type {const} */ ("POST"), path: "v1/datasets", query, headers, body: file, file: file.name };
  const of = JSON.stringify([query, headers]);
  const storing = useAction(async (abort) => {
    setSent(0);
    if (once.current.of !== of) once.current = { of, key: freshKey() };
    const dataset = await upload({ ...recipe, headers: { ...headers, "idempotency-key": once.current.key } }, setSent, abort).catch((error) => {
      if (isRefusal(error)) setRefused(of);
      throw error;
    });
    go(`data/${dataset.id}`);
  });
  useStay(storing.isRunning);
  const whole = Math.max(1, file.size);
  return html`<${Panel} title="Store">
    <div class="fields"><${Field} label="Name of the dataset">${(/** @type {object} */ attributes) => html`<input ...${attributes} value=${name} maxlength="256"
      autocomplete="off" placeholder=${plainName(file.name)} disabled=${storing.isRunning} onInput=${(/** @type {Event} */ event) => setQuery({ name: valueOf(event) })} />`}<//></div>
    <${ShowRecipe} recipe=${recipe} />
  <//>
  <div class="action-bar no-print">
    ${isRefusal(storing.error) ? refused === of && html`<${Refusal} of=${storing.error.document} />` : html`<${Fault} error=${storing.error} onRetry=${storing.start} />`}
    ${storing.isRunning ? html`<div class="stack">
        <progress aria-label="Upload" max="1" value=${sent < file.size ? sent / whole : undefined}></progress>
        <p>${sent < file.size ? `${bytes(sent)} of ${bytes(file.size)} sent (${percent(sent / whole, 0)})` : `All ${bytes(file.size)} are sent. The service reads and stores the examples.`}</p>
        <div><button onClick=${storing.stop}>Cancel the upload</button></div>
      </div>`
      : html`<div class="row">
        <button class="primary" onClick=${storing.start} disabled=${isRefused || refused === of}>Store ${bytes(file.size)}</button>
        <span class="small muted" role="status">${isRefused || refused === of ? "The service refuses the file like this. The notice tells why." : ""}</span>
      </div>`}
  </div>`;
}

/** The name of a file without its endings. @param {string} name */
function plainName(name) {
  return (name.replace(/(\.[a-z0-9]{1,6}){1,2}$/i, "") || name).slice(0, 256);
}

/** Lets the browser ask before the page closes. @param {boolean} isNeeded */
function useStay(isNeeded) {
  useEffect(() => {
    if (!isNeeded) return;
    const stay = (/** @type {Event} */ event) => event.preventDefault();
    addEventListener("beforeunload", stay);
    return () => removeEventListener("beforeunload", stay);
  }, [isNeeded]);
}
