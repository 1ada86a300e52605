/** An upload with progress. It uses XMLHttpRequest, because `fetch` reports no progress of a body. */

import { Unreachable, errorOf, headersOf, isAway, key, urlOf } from "./requests.mjs";

/**
 * Sends a body and reports the bytes sent. The browser reads a file in pieces, so a large file needs no memory.
 * @param {import("./requests.mjs").RequestSpec} spec  @param {(sent: number, total: number) => void} report
 * @param {AbortSignal} abort
 * @returns {Promise<any>}  The JSON of the answer.
 * @throws {import("./requests.mjs").Problem|Unreachable}
 */
export function upload(spec, report, abort) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const sentKey = key.value;
    request.open(spec.method ?? "POST", urlOf(spec));
    for (const [name, value] of Object.entries(headersOf(spec))) request.setRequestHeader(name, value);
    request.responseType = "json";
    request.upload.onprogress = (event) => report(event.loaded, event.lengthComputable ? event.total : 0);
    request.onload = () => {
      if (request.status < 400) {
        isAway.value = false;
        return resolve(request.response);
      }
      const header = (/** @type {string} */ name) => request.getResponseHeader(name) ?? "";
      const headers = new Headers({ "content-type": header("content-type"), "retry-after": header("retry-after") });
      reject(errorOf(request.status, request.statusText, headers, request.response, sentKey));
    };
    request.onerror = async () => {
      if (!await isReadable(spec.body)) return reject(new Error("The file changed or went away after you chose it. Choose the file again."));
      isAway.value = true;
      reject(new Unreachable());
    };
    request.onabort = () => reject(abort.reason);
    abort.addEventListener("abort", () => request.abort(), { once: true });
    request.send(/** @type {XMLHttpRequestBodyInit} */ (spec.json !== undefined ? JSON.stringify(spec.json) : spec.body));
  });
}

/** Whether the browser can still read a body. A browser refuses a file that changed since the person chose the file. @param {unknown} body */
async function isReadable(body) {
  return !(body instanceof Blob) || await body.slice(0, 1).arrayBuffer().then(() => true, () => false);
}
