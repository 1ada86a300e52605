/** Files that the browser saves, made from data of the page. */

export const CSV_TYPE = "text/csv";

/** Characters of the name of a file, without its ending. */
const NAME_MAX = 80;

/** @param {string} name  @param {string} type  @param {BlobPart} content */
export function download(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** A title as the name of a file, cut before a word. @param {string} title */
export function nameOfFile(title) {
  const words = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-|-$/g, "");
  return (words.length > NAME_MAX ? words.slice(0, NAME_MAX).replace(/-[^-]*$/, "") : words) || "figure";
}

/** Rows as CSV. A text that a spreadsheet would read as a formula gets an apostrophe. @param {unknown[][]} rows */
export function csvOf(rows) {
  const cell = (/** @type {unknown} */ value) => {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
