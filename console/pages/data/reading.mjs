/** How the service reads a file, asked again with every change of the parameters. The service stores nothing for this. */

import { useEffect, useRef, useState } from "../../vendor/hooks.mjs";
import { call, key, patiently } from "../../service/requests.mjs";
import { beginningOf } from "./file_format.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {import("./table_options.mjs").Kind} Kind */

/**
 * @typedef {object} FileReading
 * @property {Schemas["LabelsKind"]|null} [kind]
 * @property {Schemas["RowsKind"]|null} [values]
 * @property {number|null} [n]
 * @property {number|null} [examples]
 * @property {number|null} [positives]
 * @property {number|null} [negatives]
 * @property {number|null} [duplicates]
 * @property {number|null} [contradictions]
 * @property {string[]|null} [classes]
 * @property {Schemas["TableEncoding"]|null} [table]
 * @property {Schemas["Problem"]|null} [refusal]
 * @property {string[]} names
 * @property {string[][]} rows
 * @property {boolean|null} [header]
 * @property {number|null} [column_count]
 * @property {number|null} [row_count]
 * @property {{name: string, index: number, role: "feature"|"label"|"ignored", kind?: string|null, kinds: Kind[], distinct?: number|null,
 *   missing: number, detail?: string|null}[]|null} [columns]
 * @property {{value: string, rows: number}[]|null} [label_values]
 */
/** @typedef {import("./file_format.mjs").Beginning} Beginning */

/** Rows of the file that the preview shows. */
const ROWS = 20;

/**
 * The part of the file that is read for the preview.
 * @param {File} file  @param {import("./file_format.mjs").Format|null} format  @param {string|null} coding
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
    const headers = { "content-type": mediaType, ...(beginning.coding && { "content-encoding": beginning.coding }) };
    const spec = { method: /** @type {const} */ ("POST"), path: "v1/readings", query: { ...options, rows: ROWS }, body, headers };
    patiently(() => call(spec, abort.signal), abort.signal).then((reading) => setState({ reading, error: null, of: wanted }),
      (error) => { if (!abort.signal.aborted) setState((before) => ({ ...before, error, of: wanted })); });
    return () => abort.abort();
  }, [beginning, wanted, round]);
  return { reading: state.reading, error: state.of === wanted ? state.error : null,
    isLoading: Boolean(beginning?.body) && state.of !== wanted, reload: () => setRound((before) => before + 1) };
}
