/** The frame around every page: menu, state of the connection, theme and key. */

import { html } from "../vendor/htm-preact.mjs";
import { useEffect, useState } from "../vendor/hooks.mjs";
import { call, isAway, key, needsKey, root, setKey } from "../service/requests.mjs";
import { useResource } from "../service/resource.mjs";
import { KeyForm } from "./problem.mjs";
import { href, place } from "./place.mjs";
import { theme, toggleTheme } from "./theme.mjs";

/** @type {[path: string, label: string][]} */
const MENU = [["", "Home"], ["data", "Data"], ["train", "Train"], ["jobs", "Jobs"], ["compare", "Compare"], ["models", "Models"],
  ["playground", "Playground"], ["experiments", "Experiments"], ["operation", "Operation"]];

/** @param {{children: any}} props */
export function Layout({ children }) {
  const [isOpen, setIsOpen] = useState(false);
  const section = place.value.path[0] ?? "";
  useEffect(() => setIsOpen(false), [place.value]);
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <div class="frame">
      <header class=${`side ${isOpen ? "open" : ""}`}>
        <div class="side-top">
          <a class="brand" href=${href("")}><img src="console/icon.svg" alt="" />halfspace</a>
          <button class="menu-button" aria-expanded=${isOpen} aria-controls="menu" onClick=${() => setIsOpen(!isOpen)}>Menu</button>
        </div>
        <nav aria-label="Pages" id="menu"><ul class="menu">${MENU.map(([path, label]) => html`<li key=${path}>
          <a href=${href(path)} aria-current=${section === path ? "page" : undefined}>${label}</a></li>`)}</ul></nav>
        <${Foot} />
      </header>
      <main class="main" id="main" tabindex="-1">
        <${Away} />
        ${needsKey.value && html`<${KeyForm} reason=${key.value ? "The key is unknown or revoked." : ""} />`}
        ${children}
      </main>
    </div>`;
}

/** Moves the focus without a change of the place. @param {Event} event */
function skip(event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Foot() {
  const version = useResource({ path: "version" });
  return html`<div class="side-foot">
    <a href=${new URL("docs/", root).href}>API reference</a>
    <button class="small-button" onClick=${toggleTheme}>${theme.value === "dark" ? "Light" : "Dark"} theme</button>
    ${key.value && html`<button class="small-button" onClick=${() => setKey("")}>Forget the key</button>`}
    ${version.value && html`<span class="muted">Version ${version.value.version}</span>`}
  </div>`;
}

/** Says that the service is away, also on a page that sends no requests, and looks for the return of the service. */
function Away() {
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") call({ path: "livez" }).catch(() => {});
    }, isAway.value ? 1000 : 5000);
    return () => clearInterval(timer);
  }, [isAway.value]);
  if (!isAway.value) return null;
  return html`<div class="notice warn away" role="alert"><p><strong>The service does not answer.</strong>${" "}
    The page shows the last state and continues as soon as the service is back.</p></div>`;
}
