/** A new dataset from a file: how the service reads the columns, how you change that, and the upload. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useState } from "../../vendor/hooks.mjs";
import { handedFile } from "../../service/handed_file.mjs";
import { bytes } from "../../view/numbers.mjs";
import { Field, PageHead, Panel, Select } from "../../view/parts.mjs";
import { href, setQuery } from "../../view/place.mjs";
import { Fault, faultsBy } from "../../view/problem.mjs";
import { ShowRecipe } from "../../view/recipe.mjs";
import { SchemaForm, fieldsOf } from "../../view/schema_form.mjs";
import { BringFile, useDroppedFile } from "../home/ways_in.mjs";
import { FORMATS, formatOf } from "../../service/file_format.mjs";
import { settingsOf } from "./settings.mjs";
import { BringSource } from "./source.mjs";
import { ReadColumns } from "./read_columns.mjs";
import { FirstRows, LabelChoice, Summary } from "./read_parts.mjs";
import { Advice, Refusal, isRefusal } from "./refusal.mjs";
import { previewOf, useBeginning, useReading } from "./reading.mjs";
import { Store } from "./store.mjs";
import { optionsOf } from "./table_options.mjs";

/** @param {{query: URLSearchParams}} props */
export function NewData({ query }) {
  const isOver = useDroppedFile();
  const [file, setFile] = useState(/** @type {File|null} */ (null));
  const handed = handedFile.value;
  useEffect(() => {
    if (!handed) return;
    handedFile.value = null;
    // The choices for one file do not suit the columns of another. Those of a link apply to the first file.
    const gone = file ? Object.fromEntries([...query.keys()].map((name) => [name, null])) : {};
    setQuery({ ...gone, file: handed.name });
    setFile(handed);
  }, [handed]);
  const above = html`<a href=${href("data")}>Data</a>`;
  const lost = query.get("file");
  if (!file) return html`<div class="page"><${PageHead} title="New data" above=${above} />
    ${lost && html`<div class="notice warn" role="status"><p><strong>Choose the file <code>${lost}</code> again.</strong> A browser lets go of a file
      when a page is loaded anew, and a link holds no file. Your choices for the file are kept.</p></div>`}
    <${BringFile} isOver=${isOver} />
    <${BringSource} />
    ${query.size > 0 && !lost && html`<p class="muted">The address keeps your choices, but not the file. The choices apply to the file that you bring.</p>`}</div>`;
  return html`<div class="page"><${PageHead} title=${file.name} above=${above} /><${Reading} key=${file} file=${file} query=${query} /></div>`;
}

/** @param {{file: File, query: URLSearchParams}} props */
function Reading({ file, query }) {
  const told = formatOf(file.name);
  const name = query.get("format") ?? told.format ?? "";
  const format = (Object.hasOwn(FORMATS, name) && FORMATS[name]) || null;
  const start = useBeginning(file, format, told.coding);
  const options = format ? optionsOf(query, format) : {};
  const { reading, error, isLoading, reload } = useReading(start.beginning, format?.mediaType ?? "", options);
  return html`
    <${Panel} title="The file">
      <div class="fields">
        <${Field} label="Format" hint=${told.coding ? `Packed with ${told.coding}.` : undefined}>${(/** @type {object} */ attributes) => html`<${Select} attributes=${attributes} value=${name}
          options=${[...(format ? [] : [["", "choose the format"]]), ...Object.entries(FORMATS).map(([key, found]) => [key, found.label])]}
          onChange=${(/** @type {string} */ next) => setQuery({ format: next === told.format ? null : next })} />`}<//>
        <div class="field"><span class="label">Size</span><span>${bytes(file.size)}</span></div>
        <${Field} label="Take another file">${(/** @type {object} */ attributes) => html`<input ...${attributes} type="file"
          onChange=${(/** @type {Event} */ event) => { handedFile.value = /** @type {HTMLInputElement} */ (event.target).files?.[0] ?? null; }} />`}<//>
      </div>
      ${!format && html`<p class="notice">The name of the file does not tell the format. Choose the format to see how the service reads the file.</p>`}
      ${start.beginning?.isPart && start.beginning.body && html`<p class="notice">The preview reads only the first lines, up to 1 MiB.
        The reading of the whole file can differ: further values, other kinds of columns, other counts.</p>`}
      ${start.beginning?.why && html`<p class="notice warn">There is no preview. ${start.beginning.why} The service still reads the
        whole file when you store the data.</p>`}
      <${Fault} error=${start.error} />
    <//>
    ${format && html`
      ${isRefusal(error) ? html`<${Refusal} of=${error.document} />` : html`<${Fault} error=${error} onRetry=${reload} />`}
      ${!reading && isLoading && html`<p class="loading" role="status">The service reads the beginning of the file…</p>`}
      ${reading && html`<${Understood} reading=${reading} query=${query} format=${format} isLoading=${isLoading} isPart=${start.beginning?.isPart ?? false}
        recipe=${{ ...previewOf(format.mediaType, told.coding, options), body: file, file: file.name }} />`}
      <${Settings} format=${format} query=${query} error=${error} />
      <${Store} file=${file} format=${format} coding=${told.coding} options=${options} name=${query.get("name") ?? ""} isRefused=${start.error !== null || (isRefusal(error) || Boolean(reading?.refusal)) && !start.beginning?.isPart} />`}`;
}

/** @param {{reading: import("./reading.mjs").FileReading, query: URLSearchParams, format: import("../../service/file_format.mjs").Format, isLoading: boolean, isPart: boolean,
 *   recipe: import("../../service/recipes.mjs").Recipe}} props */
function Understood({ reading, query, format, isLoading, isPart, recipe }) {
  return html`<${Panel} title="How the service reads the file" actions=${html`<span class="small muted" role="status">${isLoading ? "Reading again…" : ""}</span>`}>
      ${reading.refusal && html`<${Refusal} of=${reading.refusal} />`}
      <${Advice} of=${reading.advice ?? []} />
      <${Summary} reading=${reading} isPart=${isPart} />
      ${format.isTable && html`<${LabelChoice} reading=${reading} query=${query} />`}
      <${ShowRecipe} recipe=${recipe} />
    <//>
    ${reading.columns && html`<${ReadColumns} reading=${reading} query=${query} />`}
    <${FirstRows} reading=${reading} />`;
}

/** @param {{format: import("../../service/file_format.mjs").Format, query: URLSearchParams, error: Error|null}} props */
function Settings({ format, query, error }) {
  const schema = settingsOf(format, query);
  const names = fieldsOf(schema).map(([name]) => name);
  const texts = Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, String(query.get(name))]] : [])));
  const faults = faultsBy(error, "parameter");
  const change = (/** @type {Record<string, string>} */ next) => setQuery({ ...Object.fromEntries(names.map((name) => [name, null])), ...next });
  return html`<${Panel} title="Options of the reading"><${SchemaForm} schema=${schema} texts=${texts} onChange=${change} faults=${faults} /><//>`;
}
