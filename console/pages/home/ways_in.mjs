/** The ways into the console: a sample, a file, an id that somebody sent, and tours of the other pages. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useId, useState } from "../../vendor/hooks.mjs";
import { handedFile } from "../../service/handed_file.mjs";
import { useAction, useResource } from "../../service/resource.mjs";
import { sampleAsCurl, sampleAsPython, trainSample } from "../../service/samples.mjs";
import { Field, Panel, counted, valueOf } from "../../view/parts.mjs";
import { go, href, place } from "../../view/place.mjs";
import { Fault, Loaded } from "../../view/problem.mjs";
import { CopyButton } from "../../view/recipe.mjs";

/** @typedef {import("#api").components["schemas"]["Sample"]} Sample */

export function TrySample() {
  const samples = useResource({ path: "v1/samples" });
  return html`<${Panel} title="Try a sample">
    <p class="muted">One click stores the table and trains the learner that suits it.</p>
    <${Loaded} resource=${samples}>${(/** @type {{items: Sample[]}} */ list) => html`<ul class="entries">
      ${list.items.map((sample) => html`<${SampleEntry} key=${sample.name} sample=${sample} />`)}</ul>`}<//>
  <//>`;
}

/** @param {{sample: Sample}} props */
function SampleEntry({ sample }) {
  const training = useAction(async (abort) => {
    const job = await trainSample(sample, abort);
    go(`jobs/${job.id}`);
  });
  const title = useId();
  return html`<li>
    <div class="entry">
      <div class="stack tight">
        <h3 id=${title}>${sample.title}</h3>
        <p class="small muted">${counted(sample.rows, "row")}, ${counted(sample.columns.length - 1, "column")} and the class</p>
      </div>
      <button aria-describedby=${title} disabled=${training.isRunning} onClick=${training.start}>
        ${training.isRunning ? "Starting…" : "Train"}</button>
    </div>
    <details class="small"><summary>About these data</summary>
      <div class="stack">
        <p>${sample.description}</p>
        <p class="muted">${sample.source}</p>
        <div class="row">
          <${CopyButton} label="Copy as curl" text=${() => sampleAsCurl(sample)} />
          <${CopyButton} label="Copy as Python" text=${() => sampleAsPython(sample)} />
        </div>
      </div>
    </details>
    <${Fault} error=${training.error} onRetry=${training.start} />
  </li>`;
}

/** Hands a file to the page that reads files. @param {File|undefined|null} file */
function hand(file) {
  if (!file) return;
  handedFile.value = file;
  // The address of that page may already hold choices for the file.
  if (place.value.path.join("/") !== "data/new") go("data/new");
}

/** Takes a file that is dropped anywhere on the page, and tells whether one is over the page. */
export function useDroppedFile() {
  const [isOver, setIsOver] = useState(false);
  useEffect(() => {
    const holdsFile = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files") ?? false;
    const over = (/** @type {DragEvent} */ event) => {
      if (!holdsFile(event)) return;
      event.preventDefault();
      setIsOver(true);
    };
    const leave = (/** @type {DragEvent} */ event) => { if (!event.relatedTarget) setIsOver(false); };
    const drop = (/** @type {DragEvent} */ event) => {
      if (!holdsFile(event)) return;
      event.preventDefault();
      setIsOver(false);
      hand(event.dataTransfer?.files[0]);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, []);
  return isOver;
}

/** @param {{isOver: boolean}} props */
export function BringFile({ isOver }) {
  const id = useId();
  return html`<${Panel} title="Bring a file">
    <div class=${`drop ${isOver ? "over" : ""}`}>
      <label for=${id}>${isOver ? "Release the file here" : "Drop a file anywhere on this page, or choose one:"}</label>
      <input id=${id} type="file" onChange=${(/** @type {Event} */ event) =>
        hand(/** @type {HTMLInputElement} */ (event.target).files?.[0])} />
    </div>
    <p class="small muted">CSV, TSV, XLSX, Parquet, LIBSVM, ARFF, npy or NDJSON, also packed with gzip or zstd. You see how the
      columns are read before the service stores anything.</p>
  <//>`;
}

/** Pages by the beginning of an id. @type {Record<string, string>} */
const PAGES = { job: "jobs", ds: "data", mdl: "models" };

/** A field for an id or a link. */
export function OpenJob() {
  const [text, setText] = useState("");
  const [fault, setFault] = useState("");
  const open = (/** @type {Event} */ event) => {
    event.preventDefault();
    const [id, kind = ""] = /\b(job|ds|mdl)_\w+/.exec(text) ?? [];
    if (id) go(`${PAGES[kind]}/${id}`);
    else setFault("This text contains no id. An id begins with job_, ds_ or mdl_.");
  };
  return html`<${Panel} title="Open a job">
    <form class="stack" onSubmit=${open}>
      <${Field} label="Id or link of a job, a dataset or a model" fault=${fault}>
        ${(/** @type {object} */ attributes) => html`<div class="row nowrap-row">
          <input ...${attributes} value=${text} autocomplete="off" spellcheck=${false} required placeholder="job_…"
            onInput=${(/** @type {Event} */ event) => { setText(valueOf(event)); setFault(""); }} />
          <button type="submit">Open</button></div>`}<//>
    </form>
  <//>`;
}

/** Links to the pages whose purpose their names do not tell. */
export function Tours() {
  return html`<${Panel} title="Look around"><ul class="links">
    <li><a href=${href("playground")}>Watch a learner</a> predict and learn one example at a time.</li>
    <li><a href=${href("train", { task: "compare" })}>Compare learners</a> on the same splits of your data.</li>
    <li><a href=${href("experiments")}>Reproduce the tables and figures</a> of the papers.</li>
    <li><a href=${href("models")}>Use a model</a>: explain, predict, evaluate, export as a program.</li>
  </ul><//>`;
}
