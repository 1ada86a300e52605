/**
 * The explanation of a model, on its own page and on that of its training: the rule in words and the heaviest terms,
 * as a table with bars, as SVG and as CSV.
 */

import { html } from "../../vendor/htm-preact.mjs";
import { send } from "../../service/requests.mjs";
import { useAction } from "../../service/resource.mjs";
import { useLive } from "../../service/live.mjs";
import { CSV_TYPE, csvOf, download, nameOfFile } from "../../view/download.mjs";
import { SVG_TYPE } from "../../view/picture.mjs";
import { Bar } from "../../view/learning.mjs";
import { Panel, Select } from "../../view/parts.mjs";
import { place, setQuery } from "../../view/place.mjs";
import { Fault, Loaded } from "../../view/problem.mjs";
import { number, percent } from "../../view/numbers.mjs";
import { CopyRecipe } from "../../view/recipe.mjs";

/** @typedef {import("./words.mjs").Schemas["Explanation"]} Explanation */
/** @typedef {import("./words.mjs").Schemas["ExplanationTerm"]} Term */

const TOPS = ["5", "10", "20", "50", "100"];

/**
 * @param {{model: string, name: string, classes: string[]|null, title?: string}} props  `model`: the id. `name`: for names of files.
 * `classes`: the names of the labels −1 and +1.
 */
export function ExplanationPanel({ model, name, classes, title = "Explanation" }) {
  const wanted = place.value.query.get("top") ?? "20";
  const top = /^\d+$/.test(wanted) ? wanted : "20";
  const isMany = (classes?.length ?? 2) > 2;
  const asked = place.value.query.get("class") ?? "";
  const chosen = isMany ? (classes?.includes(asked) ? asked : classes?.[0] ?? "") : null;
  const path = `v1/models/${model}/explanation`;
  const query = chosen === null ? { top } : { top, class: chosen };
  const explanation = useLive({ path, query });
  const recipe = { operation: "get_model_explanation", arguments: [model], path, query };
  const file = `${nameOfFile(name)}-explanation`;
  const saving = useAction(async (abort) => {
    const answer = await send({ path, query: { ...query, format: "svg" } }, abort);
    download(`${file}.svg`, SVG_TYPE, await answer.text());
  });
  const save = () => download(`${file}.csv`, CSV_TYPE, csvOf(rowsOf(explanation.value)));
  const tops = TOPS.includes(top) ? TOPS : [top, ...TOPS];
  const actions = html`<div class="row no-print">
    ${chosen !== null && html`<label class="row small">Class <${Select} label="Class to explain" value=${chosen} onChange=${(/** @type {string} */ value) => setQuery({ class: value })}
      options=${(classes ?? []).map((name) => [name, name])} /></label>`}
    <label class="row small">Terms <${Select} label="Terms to show" value=${top} onChange=${(/** @type {string} */ value) => setQuery({ top: value })}
      options=${tops.map((count) => [count, count])} /></label>
    <button class="small-button" disabled=${saving.isRunning} onClick=${saving.start}>SVG</button>
    <button class="small-button" disabled=${!explanation.value} onClick=${save}>CSV</button>
    <${CopyRecipe} recipe=${recipe} /></div>`;
  return html`<${Panel} title=${title} actions=${actions}>
    <${Fault} error=${saving.error} />
    <${Loaded} resource=${explanation}>${(/** @type {Explanation} */ value) => html`<${Terms} explanation=${value} classes=${chosen === null ? classes : ["the other classes", chosen]} />`}<//>
  <//>`;
}

/** The beginning of each rule of the service. */
const RULE_BEGIN = "The prediction is 1 if ";

/** The rule with the names of the classes. @param {{rule: string, classes: string[]|null}} props */
function Rule({ rule, classes }) {
  const [negative, positive] = classes ?? [];
  // The rule of one class of many names its class itself.
  if (positive === undefined || rule.startsWith("The class ")) return html`<p class="rule">${rule}</p>`;
  if (!rule.startsWith(RULE_BEGIN)) return html`<p class="rule">${rule} Here 1 means <strong>${positive}</strong>.</p>`;
  const [first = "", ...rest] = rule.slice(RULE_BEGIN.length).split(/(?<=\.) /);
  return html`<p class="rule">Predicts <strong>${positive}</strong> if ${first.replace(/\.$/, "")}, and <strong>${negative}</strong> otherwise. ${rest.join(" ")}</p>`;
}

/** @param {{explanation: Explanation, classes: string[]|null}} props  `classes`: for which a bar to the left and one to the right speak. */
export function Terms({ explanation, classes }) {
  const { terms, share, bias, detail } = explanation;
  const sizes = terms.map(({ weight, value }) => (typeof value === "number" ? sizeOf(Number(weight) * value) : sizeOf(weight)));
  const most = sizes.reduce((high, { log2 }) => Math.max(high, log2), -Infinity);
  const hasUses = terms.some((term) => typeof term.uses === "number");
  const hasValues = terms.some((term) => typeof term.value === "number");
  const isTwoSided = sizes.some(({ sign }) => sign < 0);
  return html`<div class="stack">
    <${Rule} rule=${explanation.rule} classes=${classes} />
    ${terms.length === 0 ? html`<p class="muted">No term has a weight.</p>`
      : html`<div class=${`scroll ${terms.length > 20 ? "tall" : ""}`} tabindex="0" role="region" aria-label="Heaviest terms"><table class="terms">
        <caption>The ${number(terms.length)} heaviest terms${bias !== null && bias !== undefined && html`; the constant is ${number(bias)}`}</caption>
        <thead><tr><th scope="col">${explanation.max_literals ? "conjunction" : "feature"}</th><th scope="col" class="number">weight</th>
          ${hasValues && html`<th scope="col" class="number">value</th>`}${hasUses && html`<th scope="col" class="number">updates</th>`}<th scope="col" class="bar"><span class="hidden-label">bar</span></th></tr></thead>
        <tbody>${terms.map((term, index) => html`<tr key=${index}><th scope="row" class="feature">${nameOf(term)}
            <span class="bar-below"><${Bar} share=${shareOf(sizes[index], most)} /></span></th>
          <td class="number">${number(term.weight)}</td>${hasValues && html`<td class="number">${number(term.value)}</td>`}${hasUses && html`<td class="number">${number(term.uses)}</td>`}
          <td class="bar"><${Bar} share=${shareOf(sizes[index], most)} /></td></tr>`)}</tbody>
      </table></div>`}
    ${classes && terms.length > 0 && html`<p class="small muted">A bar to the right speaks for <strong>${classes[1]}</strong>${isTwoSided && html`, and a bar
      to the left for <strong>${classes[0]}</strong>`}.</p>`}
    <p class="small muted">${hasUses && html`The column “updates” counts the updates of the training that changed the weight. `}
      ${share && html`These terms hold ${percent(share.decimal)} of the squared weights. `}
      ${explanation.max_literals && html`The service compared conjunctions of at most ${number(explanation.max_literals)} literals. `}${detail}</p>
  </div>`;
}

/** @param {Term} term */
function nameOf({ literals }) {
  return literals.length === 0 ? "always true" : literals.map(({ name, negated }) => (negated ? `not ${name}` : name)).join(" and ");
}

/**
 * The sign and the binary logarithm of a weight. A weight may be a power beyond the range of doubles.
 * @param {Term["weight"]} weight
 */
function sizeOf(weight) {
  const [, base, exponent] = /^(\d+)\^(-?\d+)$/.exec(String(weight)) ?? [];
  if (base && exponent) return { sign: 1, log2: Number(exponent) * Math.log2(Number(base)) };
  return { sign: Math.sign(Number(weight)), log2: Math.log2(Math.abs(Number(weight))) };
}

/** @param {{sign: number, log2: number}|undefined} size  @param {number} most */
function shareOf(size, most) {
  return size && Number.isFinite(size.log2) && Number.isFinite(most) ? size.sign * 2 ** (size.log2 - most) : 0;
}

/** @param {Explanation} explanation */
function rowsOf(explanation) {
  return [["term", "weight", "updates"], ...explanation.terms.map((term) => [nameOf(term), term.weight, term.uses ?? ""])];
}
