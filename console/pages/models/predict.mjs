/** Predictions of a model: live on rows that you type, and on a file. */

import { html } from "../../vendor/htm-preact.mjs";
import { isReal } from "./words.mjs";
import { PredictFile } from "./predict_file.mjs";
import { TypedExamples } from "./typed_examples.mjs";
import { TypedRows } from "./typed_rows.mjs";

/** @param {{model: import("./words.mjs").Model, query: URLSearchParams}} props */
export function PredictTab({ model, query }) {
  const { table } = model;
  return html`${table ? html`<${TypedRows} model=${model} table=${table} query=${query} />`
      : html`<${TypedExamples} model=${model} query=${query} isReal=${isReal(model.hypothesis)} />`}
    <${PredictFile} model=${model} query=${query} />`;
}
