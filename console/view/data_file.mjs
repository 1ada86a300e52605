/** A file with examples and its format, as the body of a request. */

import { html } from "../vendor/htm-preact.mjs";
import { FORMATS, formatOf } from "../service/file_format.mjs";
import { DropFile } from "./drop_file.mjs";
import { Field, Select } from "./parts.mjs";

/** @typedef {{file: File, format: string, coding: string|null}} DataFile */

/** @param {{label: string, data: DataFile|null, onData: (data: DataFile) => void}} props */
export function ChooseDataFile({ label, data, onData }) {
  const choose = (/** @type {File} */ file) => {
    const { format, coding } = formatOf(file.name);
    onData({ file, format: format ?? "csv", coding });
  };
  const isGuessed = data && formatOf(data.file.name).format === null;
  return html`<${DropFile} label=${label} file=${data?.file ?? null} onFile=${choose} />
    ${data && html`<div class="fields"><${Field} label="Format of the file" hint=${isGuessed ? "The name does not tell the format." : null}>
      ${(/** @type {object} */ attributes) => html`<${Select} attributes=${attributes} value=${data.format}
        onChange=${(/** @type {string} */ format) => onData({ ...data, format })}
        options=${Object.entries(FORMATS).map(([name, format]) => [name, format.label])} />`}<//></div>`}`;
}

/** The headers of a body with these data. @param {string} format  @param {string|null} coding @returns {Record<string, string>} */
export function headersOf(format, coding) {
  return { "content-type": FORMATS[format]?.mediaType ?? "text/csv", ...(coding && { "content-encoding": coding }) };
}
