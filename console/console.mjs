/** The console: one page for each first part of the place. It uses only the public API of the service. */

import { Component, html, render } from "./vendor/htm-preact.mjs";
import { useEffect, useRef, useState } from "./vendor/hooks.mjs";
import "./vendor/signals.mjs";
import { Unreachable, patiently } from "./service/requests.mjs";
import { Layout } from "./view/layout.mjs";
import { Fault } from "./view/problem.mjs";
import { PageHead } from "./view/parts.mjs";
import { href, place } from "./view/place.mjs";
/** @typedef {(props: {path: string[], query: URLSearchParams}) => any} PageComponent */

/**
 * The pages. A page is loaded when it is first opened, so that the first load stays small.
 * @type {Record<string, () => Promise<PageComponent>>}
 */
const PAGES = {
  "": () => import("./pages/home.mjs").then((page) => page.HomePage),
  compare: () => import("./pages/compare.mjs").then((page) => page.ComparePage),
  data: () => import("./pages/data.mjs").then((page) => page.DataPage),
  experiments: () => import("./pages/experiments.mjs").then((page) => page.ExperimentsPage),
  jobs: () => import("./pages/jobs.mjs").then((page) => page.JobsPage),
  models: () => import("./pages/models.mjs").then((page) => page.ModelsPage),
  operation: () => import("./pages/operation.mjs").then((page) => page.OperationPage),
  playground: () => import("./pages/playground.mjs").then((page) => page.PlaygroundPage),
  train: () => import("./pages/train.mjs").then((page) => page.TrainPage),
};

/**
 * Loads a page. While the service is away, the page is asked for again.
 * @param {string} section  @returns {PageComponent|null}
 */
function usePage(section) {
  const [loaded, setLoaded] = useState(/** @type {{section: string, Page: PageComponent|null}} */ ({ section: "", Page: null }));
  useEffect(() => {
    const abort = new AbortController();
    const load = () => PAGES[section]?.().catch(() => Promise.reject(new Unreachable()));
    patiently(async () => load(), abort.signal).then(
      (Page) => { if (!abort.signal.aborted) setLoaded({ section, Page: Page ?? null }); }, () => {});
    return () => abort.abort();
  }, [section]);
  return loaded.section === section ? loaded.Page : null;
}

/** Shows the fault of a page instead of the page. */
class Boundary extends Component {
  /** @param {Error} error */
  static getDerivedStateFromError(error) {
    return { error };
  }

  render() {
    const { error } = /** @type {{error?: Error}} */ (this.state);
    return error ? html`<div class="page"><h1>This page failed</h1><${Fault} error=${error} /></div>` : this.props.children;
  }
}

function Console() {
  const { path, query } = place.value;
  const [section = "", ...rest] = path;
  const isKnown = Object.hasOwn(PAGES, section);
  const Page = usePage(section);
  const at = path.join("/");
  const last = useRef(at);
  const isReady = Page !== null || !isKnown;
  // A new page begins at its heading, for the keyboard and for screen readers.
  useEffect(() => {
    if (last.current === at || !isReady) return;
    last.current = at;
    scrollTo(0, 0);
    document.querySelector("h1")?.focus({ preventScroll: true });
  }, [at, isReady]);
  const missing = html`<div class="page"><${PageHead} title="There is no such page" /><p><a href=${href("")}>Home</a></p></div>`;
  const loading = html`<p class="loading" role="status">Loading…</p>`;
  return html`<${Layout}><${Boundary} key=${at}>${!isKnown ? missing : Page ? html`<${Page} path=${rest} query=${query} />` : loading}<//><//>`;
}

render(html`<${Console} />`, /** @type {HTMLElement} */ (document.getElementById("console")));
