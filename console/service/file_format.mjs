/** The format of a file by its name, and the part of it that is enough to see how the service reads it. */

/** @typedef {{label: string, mediaType: string, isLines: boolean, isTable: boolean, hasDelimiter?: boolean, hasHeader?: boolean,
 *   isWorkbook?: boolean, needsN?: boolean, takesNames?: boolean}} Format
 * `isLines`: the file is text and can be cut at the end of a line. `isTable`: the file has columns of several kinds. `takesNames`: features may have names that nobody lists. */

/** @type {Record<string, Format>} */
export const FORMATS = {
  csv: { label: "CSV", mediaType: "text/csv", isLines: true, isTable: true, hasDelimiter: true, hasHeader: true },
  tsv: { label: "TSV", mediaType: "text/tab-separated-values", isLines: true, isTable: true, hasDelimiter: true, hasHeader: true },
  xlsx: { label: "Excel workbook (XLSX)", mediaType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", isLines: false,
    isTable: true, hasHeader: true, isWorkbook: true },
  parquet: { label: "Parquet", mediaType: "application/vnd.apache.parquet", isLines: false, isTable: true },
  arff: { label: "ARFF", mediaType: "text/x-arff", isLines: true, isTable: true },
  ndjson: { label: "NDJSON", mediaType: "application/x-ndjson", isLines: true, isTable: true, takesNames: true },
  libsvm: { label: "LIBSVM", mediaType: "text/x-libsvm", isLines: true, isTable: false, takesNames: true },
  vw: { label: "Vowpal Wabbit", mediaType: "text/x-vw", isLines: true, isTable: false, takesNames: true },
  npy: { label: "NumPy (npy)", mediaType: "application/x-npy", isLines: false, isTable: false },
  bin: { label: "Packed bits", mediaType: "application/octet-stream", isLines: false, isTable: false, needsN: true },
};

/** Formats by the ending of the name. @type {Record<string, string>} */
const ENDINGS = { csv: "csv", tsv: "tsv", tab: "tsv", xlsx: "xlsx", parquet: "parquet", arff: "arff", ndjson: "ndjson", jsonl: "ndjson", libsvm: "libsvm", svm: "libsvm", vw: "vw",
  npy: "npy", bin: "bin", txt: "csv", data: "csv" };

/** Names of Content-Encoding by the ending of the name. @type {Record<string, string>} */
const PACKED = { gz: "gzip", zst: "zstd", zstd: "zstd" };

/**
 * The format and the compression that the name of a file tells.
 * @param {string} name  @returns {{format: string|null, coding: string|null}}
 */
export function formatOf(name) {
  const parts = name.toLowerCase().split(".");
  const coding = PACKED[parts.at(-1) ?? ""] ?? null;
  const ending = parts.at(coding ? -2 : -1) ?? "";
  return { format: parts.length > (coding ? 2 : 1) ? (ENDINGS[ending] ?? null) : null, coding };
}

/** Bytes of text that are read for the preview. */
const BEGINNING_BYTES = 1 << 20;
/** The largest file that is sent as a whole for the preview, because its beginning alone cannot be read. */
const WHOLE_BYTES_MAX = 16 << 20;

/**
 * @typedef {object} Beginning
 * @property {Blob|null} body  Null if there is no preview.
 * @property {string|null} coding
 * @property {boolean} isPart
 * @property {string} [why]  The reason why there is no preview.
 */

/**
 * The part of a file that is sent for the preview. The rest of the file is not read.
 * @param {File} file  @param {Format} format  @param {string|null} coding  @returns {Promise<Beginning>}
 */
export async function beginningOf(file, format, coding) {
  if (file.size <= (coding ? 0 : BEGINNING_BYTES)) return { body: file, coding, isPart: false };
  if (format.isLines && coding !== "zstd") return await firstLines(coding ? unpacked(file) : file.stream(), file);
  if (file.size <= WHOLE_BYTES_MAX) return { body: file, coding, isPart: false };
  const why = coding === "zstd" ? "Browsers cannot unpack zstd" : `The beginning of ${coding ? "a packed" : "an"} ${format.label} file alone cannot be read`;
  return { body: null, coding, isPart: true, why: `${why}, and the file is larger than 16 MiB.` };
}

/** @param {File} file */
function unpacked(file) {
  return file.stream().pipeThrough(new DecompressionStream("gzip"));
}

/**
 * The whole lines among the first bytes of a stream.
 * @param {ReadableStream<Uint8Array>} stream  @param {File} file  @returns {Promise<Beginning>}
 */
async function firstLines(stream, file) {
  const reader = stream.getReader();
  const bytes = new Uint8Array(BEGINNING_BYTES);
  let filled = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new Error(`The file ${file.name} cannot be read. The file changed since you chose it, or its compression is damaged.`);
    });
    if (done) return { body: new Blob([bytes.subarray(0, filled)]), coding: null, isPart: false };
    const room = bytes.length - filled;
    bytes.set(value.subarray(0, room), filled);
    filled += Math.min(room, value.length);
    if (value.length > room) break;
  }
  await reader.cancel().catch(() => {});
  const end = endOfLines(bytes);
  if (end === 0) return { body: null, coding: null, isPart: true, why: "The first line is longer than 1 MiB." };
  return { body: new Blob([bytes.subarray(0, end)]), coding: null, isPart: true };
}

/** Where the whole lines end. In UTF-16, which a byte order mark shows, a line feed has two bytes. @param {Uint8Array} bytes */
function endOfLines(bytes) {
  const isLittle = bytes[0] === 0xff && bytes[1] === 0xfe;
  const isBig = bytes[0] === 0xfe && bytes[1] === 0xff;
  for (let at = bytes.length - 1; at >= 0; at -= 1) {
    if (bytes[at] !== 0x0a) continue;
    if (isLittle && at % 2 === 0 && bytes[at + 1] === 0) return at + 2;
    if (isBig && at % 2 === 1 && bytes[at - 1] === 0) return at + 1;
    if (!isLittle && !isBig) return at + 1;
  }
  return 0;
}
