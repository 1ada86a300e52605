/** A place for a file: drop a file there, or choose one. */

import { html } from "../vendor/htm-preact.mjs";
import { useId, useState } from "../vendor/hooks.mjs";
import { bytes } from "./numbers.mjs";

/** @param {{label: string, accept?: string, file: File|null, onFile: (file: File) => void}} props */
export function DropFile({ label, accept, file, onFile }) {
  const id = useId();
  const [isOver, setIsOver] = useState(false);
  const take = (/** @type {File|undefined|null} */ taken) => { if (taken) onFile(taken); };
  const over = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setIsOver(true);
  };
  const drop = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setIsOver(false);
    take(event.dataTransfer?.files[0]);
  };
  const choose = (/** @type {Event} */ event) => take(/** @type {HTMLInputElement} */ (event.target).files?.[0]);
  // The same file may be chosen again after a change.
  const forget = (/** @type {Event} */ event) => { /** @type {HTMLInputElement} */ (event.target).value = ""; };
  return html`<div class=${`drop ${isOver ? "over" : ""}`} onDragOver=${over} onDragLeave=${() => setIsOver(false)} onDrop=${drop}>
    <label for=${id}>${isOver ? "Release the file here" : label}</label>
    <input id=${id} type="file" accept=${accept} onClick=${forget} onChange=${choose} />
    ${file && html`<p class="small" role="status">Chosen: <strong>${file.name}</strong>, ${bytes(file.size)}</p>`}
  </div>`;
}
