/** The import of a model file, as `GET /v1/models/{id}` writes it. */

import { html } from "../../vendor/htm-preact.mjs";
import { useRef, useState } from "../../vendor/hooks.mjs";
import { freshKey } from "../../service/requests.mjs";
import { useAction } from "../../service/resource.mjs";
import { curl, python } from "../../service/recipes.mjs";
import { upload } from "../../service/upload.mjs";
import { Panel } from "../../view/parts.mjs";
import { go } from "../../view/place.mjs";
import { Fault } from "../../view/problem.mjs";
import { CopyButton } from "../../view/recipe.mjs";
import { DropFile } from "../../view/drop_file.mjs";

/** The place of the file in the script for Python. */
const FILE_MARK = "the content of the file";

const JSON_TYPE = { "content-type": "application/json" };

export function ImportModel() {
  const [file, setFile] = useState(/** @type {File|null} */ (null));
  const name = useRef("");
  const importing = useAction(async (abort) => {
    if (!file) return;
    const request = { method: /** @type {const} */ ("POST"), path: "v1/models", body: file, headers: { ...JSON_TYPE, "idempotency-key": name.current } };
    const model = await upload(request, () => {}, abort);
    go(`models/${model.id}`);
  });
  const choose = (/** @type {File} */ chosen) => {
    // Another attempt with the same file imports once.
    name.current = freshKey();
    setFile(chosen);
  };
  const example = file?.name ?? "model.json";
  return html`<${Panel} title="Import a model" actions=${html`<span class="row no-print">
      <${CopyButton} label="Copy as curl" text=${() => curl({ operation: "import_model", method: "POST", path: "v1/models", headers: JSON_TYPE, body: "", file: example })} />
      <${CopyButton} label="Copy as Python" text=${() => importAsPython(example)} /></span>`}>
    <p class="muted">A model file comes from the tab Export of a model, also of another service. The service refuses a file
      that was altered after the export. The digest is not a signature, so import only files from sources that you trust.</p>
    <${DropFile} label="Drop a model file here, or choose one:" accept=".json,application/json" file=${file} onFile=${choose} />
    <div class="row"><button class="primary" disabled=${!file || importing.isRunning} onClick=${importing.start}>
      ${importing.isRunning ? "Importing…" : "Import"}</button></div>
    <${Fault} error=${importing.error} />
  <//>`;
}

/** The import takes the parsed file. @param {string} name */
function importAsPython(name) {
  const script = python({ operation: "import_model", method: "POST", path: "v1/models", json: FILE_MARK });
  return `import json\n${script.replace(JSON.stringify(FILE_MARK), `json.load(open(${JSON.stringify(name)}))`)}`;
}
