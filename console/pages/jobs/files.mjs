/** The files of a model: its code in a language, and the receipt of its training. */

import { html } from "../../vendor/htm-preact.mjs";
import { send } from "../../service/requests.mjs";
import { useAction } from "../../service/resource.mjs";
import { download } from "../../view/download.mjs";
import { Fault } from "../../view/problem.mjs";
import { Panel, Select } from "../../view/parts.mjs";
import { place, setQuery } from "../../view/place.mjs";
import { CopyRecipe } from "../../view/recipe.mjs";
import { LANGUAGES, codeOf, languageIn, receiptOf } from "../models/words.mjs";

/** @param {{model: string, hasReceipt?: boolean}} props */
export function ModelFiles({ model, hasReceipt = true }) {
  const [language, , ending] = languageIn(place.value.query);
  const [code, receipt] = [codeOf(model, language), receiptOf(model)];
  const save = useAction(async (abort) => {
    const answer = await send(code, abort);
    download(`${model}.${ending}`, "text/plain", await answer.text());
  });
  const saveReceipt = useAction(async (abort) => {
    const answer = await send(receipt, abort);
    download(`${model}-receipt.json`, "application/json", await answer.text());
  });
  return html`<div class="no-print"><${Panel} title="Files of the model">
    <div class="row spread">
      <div class="row"><span>The hypothesis as a program:</span>
        <${Select} label="Language of the program" value=${language} onChange=${(/** @type {string} */ language) => setQuery({ language })} options=${LANGUAGES.map(([name, label]) => [name, label])} />
        <button type="button" disabled=${save.isRunning} onClick=${save.start}>Download program</button></div>
      <${CopyRecipe} recipe=${code} />
    </div>
    <${Fault} error=${save.error} />
    ${hasReceipt && html`<div class="row spread">
      <div class="row"><span>The mistaken examples that reproduce the training:</span>
        <button type="button" disabled=${saveReceipt.isRunning} onClick=${saveReceipt.start}>Download receipt</button></div>
      <${CopyRecipe} recipe=${receipt} />
    </div>`}
    <${Fault} error=${saveReceipt.error} />
  <//></div>`;
}
