/** The console: one page per first part of the place. The console uses only the public API of the service. */

import { Component, html, render } from "./vendor/htm-preact.mjs";
import { useEffect, useRef } from "./vendor/hooks.mjs";
import "./vendor/signals.mjs";
import { Layout } from "./view/layout.mjs";
import { Fault } from "./view/problem.mjs";
import { PageHead } from "./view/parts.mjs";
import { href, place } from "./view/place.mjs";
import { ComparePage } from "./pages/compare.mjs";
import { DataPage } from "./pages/data.mjs";
import { ExperimentsPage } from "./pages/experiments.mjs";
import { HomePage } from "./pages/home.mjs";
import { JobsPage } from "./pages/jobs.mjs";
import { ModelsPage } from "./pages/models.mjs";
import { OperationPage } from "./pages/operation.mjs";
import { PlaygroundPage } from "./pages/playground.mjs";
import { TrainPage } from "./pages/train.mjs";

/** @type {Record<string, (props: {path: string[], query: URLSearchParams}) => any>} */
const PAGES = { "": HomePage, compare: ComparePage, data: DataPage, experiments: ExperimentsPage, jobs: JobsPage, models: ModelsPage,
  operation: OperationPage, playground: PlaygroundPage, train: TrainPage };

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
  const Page = Object.hasOwn(PAGES, section) ? PAGES[section] : null;
  const at = path.join("/");
  const last = useRef(at);
  // A new page begins at its heading, for the keyboard and for screen readers.
  useEffect(() => {
    if (last.current === at) return;
    last.current = at;
    scrollTo(0, 0);
    document.querySelector("h1")?.focus({ preventScroll: true });
  }, [at]);
  return html`<${Layout}><${Boundary} key=${at}>${Page ? html`<${Page} path=${rest} query=${query} />`
    : html`<div class="page"><${PageHead} title="There is no such page" /><p><a href=${href("")}>Home</a></p></div>`}<//><//>`;
}

render(html`<${Console} />`, /** @type {HTMLElement} */ (document.getElementById("console")));
