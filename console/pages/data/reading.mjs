/** How the service reads a file. It is asked again whenever a parameter changes, and stores nothing. */

import { useEffect, useRef, useState } from "../../vendor/hooks.mjs";
import { call, key, patiently } from "../../service/requests.mjs";
import { beginningOf } from "../../service/file_format.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {import("./table_options.mjs").Kind} Kind */
/** @typedef {import("../../service/file_format.mjs").Beginning} Beginning */

/**
 * The facts about the examples that an upload of the same bytes would store.
 * @typedef {Pick<Schemas["Dataset"], "n"|"kind"|"values"|"examples"|"class_examples"|"duplicates"|"contradictions"|"classes">} Facts
 */

/**
 * @typedef {object} FileReading
 * @property {Facts|null} [data]  Null if the service would refuse the data.
 * @property {Schemas["TableEncoding"]|null} [table]
 * @property {Pick<Schemas["Problem"], "code"|"detail"|"errors">|null} [refusal]
 * @property {Schemas["FieldError"][]} [advice]
 * @property {string[]} names
 * @property {string[][]} rows
 * @property {boolean|null} [header]
 * @property {number|null} [column_count]
 * @property {number|null} [row_count]
 * @property {{name: string, index: number, role: "feature"|"label"|"weights"|"ignored", kind?: Kind|"thermometer"|null, kinds: Kind[],
 *   distinct?: number|null, missing: number, detail?: string|null}[]|null} [columns]
 * @property {{value: string, rows: number}[]|null} [label_values]
 */

/** Rows of the file that the preview shows. */
const ROWS = 20;

/**
 * The request for a preview, without the file.
 * @param {string} mediaType  @param {string|null} coding  @param {Record<string, string>} options
 */
export function previewOf(mediaType, coding, options) {
  /** @type {Record<string, string>} */
  const headers = { "content-type": mediaType, ...(coding && { "content-encoding": coding }) };
  return { operation: "preview_data", method: /** @type {const} */ ("POST"), path: "v1/previews", query: { ...options, rows: ROWS }, headers };
}

/**
 * The part of the file that is read for the preview.
 * @param {File} file  @param {import("../../service/file_format.mjs").Format|null} format  @param {string|null} coding
 */
export function useBeginning(file, format, coding) {
  const [state, setState] = useState(/** @type {{beginning: Beginning|null, error: Error|null}} */ ({ beginning: null, error: null }));
  useEffect(() => {
    let isGone = false;
    setState({ beginning: null, error: null });
    if (format) beginningOf(file, format, coding).then((beginning) => { if (!isGone) setState({ beginning, error: null }); },
      (error) => { if (!isGone) setState({ beginning: null, error }); });
    return () => { isGone = true; };
  }, [file, format, coding]);
  return state;
}

/**
 * The reading of the beginning of a file. The last reading stays while the next one is on its way.
 * @param {Beginning|null} beginning  @param {string} mediaType  @param {Record<string, string>} options
 */
export function useReading(beginning, mediaType, options) {
  const [state, setState] = useState(/** @type {{reading: FileReading|null, error: Error|null, of: string}} */ ({ reading: null, error: null, of: "" }));
  const [round, setRound] = useState(0);
  const wanted = `${mediaType} ${JSON.stringify(options)} ${key.value}`;
  const blob = useRef(/** @type {Blob|null} */ (null));
  useEffect(() => {
    const body = beginning?.body ?? null;
    // Another file has nothing in common with the last reading.
    if (body !== blob.current) setState({ reading: null, error: null, of: "" });
    blob.current = body;
    if (!beginning || !body) return;
    const abort = new AbortController();
    const spec = { ...previewOf(mediaType, beginning.coding, options), body };
    patiently(() => call(spec, abort.signal), abort.signal).then((reading) => setState({ reading, error: null, of: wanted }),
      (error) => { if (!abort.signal.aborted) setState((before) => ({ ...before, error, of: wanted })); });
    return () => abort.abort();
  }, [beginning, wanted, round]);
  return { reading: state.reading, error: state.of === wanted ? state.error : null,
    isLoading: Boolean(beginning?.body) && state.of !== wanted, reload: () => setRound((before) => before + 1) };
}
