/** The request behind an action, to copy as a command for curl or as Python. */

import { html } from "../vendor/htm-preact.mjs";
import { useRef, useState } from "../vendor/hooks.mjs";
import { curl, python } from "../service/recipes.mjs";

/** @typedef {import("../service/recipes.mjs").Recipe} Recipe */

/** Two buttons that copy a request. @param {{recipe: Recipe}} props */
export function CopyRecipe({ recipe }) {
  return html`<span class="row no-print">
    <${CopyButton} label="Copy as curl" text=${() => curl(recipe)} />
    <${CopyButton} label="Copy as Python" text=${() => python(recipe)} />
  </span>`;
}

/** The request in full, with the two buttons. @param {{recipe: Recipe, isOpen?: boolean, title?: string}} props */
export function ShowRecipe({ recipe, isOpen = false, title = "The request" }) {
  const [language, setLanguage] = useState("curl");
  const text = language === "curl" ? curl(recipe) : python(recipe);
  return html`<details class="no-print" open=${isOpen}>
    <summary>${title}</summary>
    <div class="stack">
      <div class="row spread">
        <div class="row" role="group" aria-label="Language">
          ${["curl", "Python"].map((name) => html`<button class="small-button" aria-pressed=${language === name}
            onClick=${() => setLanguage(name)}>${name}</button>`)}
        </div>
        <${CopyButton} label=${`Copy as ${language}`} text=${() => text} />
      </div>
      <pre tabindex="0">${text}</pre>
    </div>
  </details>`;
}

/** A button that copies a text and says so. @param {{label: string, text: () => string}} props */
export function CopyButton({ label, text }) {
  const [said, setSaid] = useState("");
  const timer = useRef(0);
  const copy = async () => {
    const isCopied = await copyText(text());
    setSaid(isCopied ? "Copied" : "Copying failed");
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setSaid(""), 2000);
  };
  return html`<button type="button" class="small-button no-print" onClick=${copy}>
    <span aria-live="polite">${said || label}</span></button>`;
}

/** @param {string} text */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers offer the clipboard only to pages with TLS or on the own machine. The older way works on every page.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden-label";
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    return isCopied;
  }
}
