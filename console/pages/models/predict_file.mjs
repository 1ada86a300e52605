/**
 * Predictions on a file. The answer arrives in lines, and the page stops reading after the first thousand. Of a large
 * file only the beginning is sent, because a browser reads no answer before it has sent the whole body.
 */

import { html } from "../../vendor/htm-preact.mjs";
import { useState } from "../../vendor/hooks.mjs";
import { send } from "../../service/requests.mjs";
import { useAction } from "../../service/resource.mjs";
import { piecesOf } from "../../service/text_stream.mjs";
import { CSV_TYPE, csvOf, download, nameOfFile } from "../../view/download.mjs";
import { Field, Panel, Select, valueOf } from "../../view/parts.mjs";
import { setQuery } from "../../view/place.mjs";
import { Fault } from "../../view/problem.mjs";
import { number } from "../../view/numbers.mjs";
import { ShowRecipe } from "../../view/recipe.mjs";
import { Rows } from "../../view/rows.mjs";
import { FORMATS, beginningOf } from "../../service/file_format.mjs";
import { ChooseDataFile, headersOf } from "../../view/data_file.mjs";
import { className } from "./words.mjs";

/** @typedef {import("./words.mjs").Model} Model */
/** @typedef {import("../../view/data_file.mjs").DataFile} DataFile */
/** @typedef {{row: number, prediction: number, predicted_class?: string|null, score?: number|string|null, unseen?: number}} Line */
/** @typedef {{lines: Line[], isCut: boolean, fault: string|null}} Answers  `isCut`: the file has more rows. */

/** Answers that the page reads. */
const LINES_MAX = 1000;
const NDJSON = "application/x-ndjson";

/** @param {{model: Model, query: URLSearchParams}} props */
export function PredictFile({ model, query }) {
  const [data, setData] = useState(/** @type {DataFile|null} */ (null));
  const [answers, setAnswers] = useState(/** @type {Answers|null} */ (null));
  const unknown = query.get("unknown") === "zero" ? "zero" : "";
  const isText = FORMATS[data?.format ?? "csv"]?.isLines ?? false;
  const charset = (isText && query.get("charset")) || "";
  const predicting = useAction(async (abort) => {
    if (data) setAnswers(await predict(model, data, { unknown, charset }, abort));
  });
  const choose = (/** @type {DataFile} */ chosen) => {
    setAnswers(null);
    setData(chosen);
  };
  const recipe = { operation: "predict_model", arguments: [model.id], method: /** @type {const} */ ("POST"), path: `v1/models/${model.id}/predict`,
    query: { unknown, charset }, headers: { ...headersOf(data?.format ?? "csv", data?.coding ?? null), accept: NDJSON }, body: "", file: data?.file.name ?? "data.csv" };
  return html`<${Panel} title="Predict a file">
    <p class="muted">${model.table ? "The file has the columns of the training table. A label column may be absent."
      : model.vocabulary === "open" ? "The examples of the file have names, which may be new." : "The file has the features of the training data, in the same order."}</p>
    <${ChooseDataFile} label="Drop a file here, or choose one:" data=${data} onData=${choose} />
    ${model.table && html`<div class="fields"><${Field} label="Unknown values" hint="Values that the training table did not have.">
      ${(/** @type {object} */ attributes) => html`<${Select} attributes=${attributes} value=${unknown} options=${[["", "refuse the row"], ["zero", "set no feature"]]}
        onChange=${(/** @type {string} */ value) => setQuery({ unknown: value })} />`}<//></div>`}
    ${isText && html`<div class="fields"><${Field} label="Charset" hint="Such as windows-1252, if the file is not UTF-8.">
      ${(/** @type {object} */ attributes) => html`<input ...${attributes} value=${charset} placeholder="default: UTF-8" spellcheck=${false} autocomplete="off"
        onInput=${(/** @type {Event} */ event) => setQuery({ charset: valueOf(event).trim() })} />`}<//></div>`}
    <div class="row"><button class="primary" disabled=${!data || predicting.isRunning} onClick=${predicting.start}>
      ${predicting.isRunning ? "Predicting…" : "Predict"}</button></div>
    <${Fault} error=${predicting.error} />
    ${answers && html`<${AnswerTable} model=${model} answers=${answers} />`}
    <${ShowRecipe} title="The request for the whole file" recipe=${recipe} />
  <//>`;
}

/** @param {Model} model  @param {DataFile} data  @param {Record<string, string>} query  @param {AbortSignal} abort @returns {Promise<Answers>} */
async function predict(model, data, query, abort) {
  const format = FORMATS[data.format] ?? /** @type {import("../../service/file_format.mjs").Format} */ (FORMATS.csv);
  const beginning = await beginningOf(data.file, format, data.coding);
  if (!beginning.body) throw new Error(`${beginning.why} Use the command below for this file.`);
  const enough = new AbortController();
  const stop = () => enough.abort();
  abort.addEventListener("abort", stop, { once: true });
  try {
    const answer = await send({ method: "POST", path: `v1/models/${model.id}/predict`, query, body: beginning.body,
      headers: { ...headersOf(data.format, beginning.coding), accept: NDJSON } }, enough.signal);
    const found = await readLines(answer);
    return { ...found, isCut: found.isCut || beginning.isPart };
  } finally {
    stop();
    abort.removeEventListener("abort", stop);
  }
}

/** Reads the first lines of an answer. @param {Response} answer @returns {Promise<Answers>} */
async function readLines(answer) {
  /** @type {Line[]} */
  const lines = [];
  for await (const piece of piecesOf(answer, "\n")) {
    const line = JSON.parse(piece);
    if (line.error) return { lines, isCut: false, fault: line.error.detail ?? line.error.title };
    if (lines.length === LINES_MAX) return { lines, isCut: true, fault: null };
    lines.push({ row: lines.length + 1, ...line });
  }
  return { lines, isCut: false, fault: null };
}

/** @param {{model: Model, answers: Answers}} props */
function AnswerTable({ model, answers }) {
  const { lines, isCut, fault } = answers;
  const nameOf = (/** @type {Line} */ line) => line.predicted_class ?? className(model, line.prediction);
  const isMany = (model.classes?.length ?? 2) > 2;
  const hasNames = model.vocabulary === "open";
  const labels = isMany ? [...(model.classes ?? []).keys()] : [1, -1];
  const counts = labels.map((label) => `${number(lines.filter((line) => line.prediction === label).length)} × ${className(model, label)}`).join(", ");
  /** @type {import("../../view/rows.mjs").Column<Line>[]} */
  const columns = [
    { name: "row", isNumber: true, cell: (line) => number(line.row) },
    { name: "prediction", cell: nameOf },
    ...(isMany ? [] : [{ name: "label", isNumber: true, cell: (/** @type {Line} */ line) => (line.prediction > 0 ? "+1" : "−1") }]),
    { name: "score", isNumber: true, cell: (line) => number(line.score, 15) },
    ...(hasNames ? [{ name: "unknown names", isNumber: true, cell: (/** @type {Line} */ line) => number(line.unseen) }] : []),
  ];
  const save = () => download(`${nameOfFile(model.name ?? model.learner)}-predictions.csv`, CSV_TYPE, csvOf([["row", "prediction", "class", "score", ...(hasNames ? ["unseen"] : [])],
    ...lines.map((line) => [line.row, line.prediction, nameOf(line), line.score ?? "", ...(hasNames ? [line.unseen ?? ""] : [])])]));
  return html`${fault && html`<div class="notice bad" role="alert"><p><strong>The prediction ended after row ${number(lines.length)}.</strong> ${fault}</p></div>`}
    <div class="row spread"><p role="status">${isCut ? `The first ${number(lines.length)} rows` : `${number(lines.length)} rows`}:
      ${" "}${counts}.
      ${isCut && html` The file has more rows. The command below predicts all.`}</p>
      <button class="small-button" disabled=${lines.length === 0} onClick=${save}>CSV</button></div>
    ${lines.length > 0 && html`<${Rows} columns=${columns} rows=${lines} rowKey=${(/** @type {Line} */ line) => String(line.row)} caption="Predictions of the file" height=${400} />`}`;
}
