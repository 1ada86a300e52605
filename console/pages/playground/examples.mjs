/** The examples of a dataset by position. After the last one the data begin again, so every position has an example. */

import { call, patiently } from "../../service/requests.mjs";
import { learntAs } from "./labels.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {Schemas["ExampleItem"]} Example */

/** Examples of one request at most, for the data and for the sessions. */
const BATCH_MAX = 500;
/** Features of one request at most, so that a request with long examples stays small. */
const FEATURES_MAX = 1_000_000;
/** Pages that stay in memory. */
const PAGES_KEPT = 8;

export class Examples {
  /** @param {Schemas["Dataset"]} dataset  @param {AbortSignal} abort */
  constructor(dataset, abort) {
    this.dataset = dataset;
    this.abort = abort;
    this.batchMax = Math.max(1, Math.min(BATCH_MAX, Math.floor(FEATURES_MAX / dataset.n)));
    /** @type {Map<number, Promise<Example[]>>} */
    this.pages = new Map();
  }

  /** The examples from a position on. @param {number} position  @param {number} count  @param {AbortSignal} [until]  Ends the repetitions. */
  async from(position, count, until = this.abort) {
    /** @type {Example[]} */
    const found = [];
    while (found.length < count) {
      const index = (position + found.length) % this.dataset.examples;
      const page = await this.page(Math.floor(index / this.batchMax), until);
      const inside = index % this.batchMax;
      if (page.length <= inside) throw new Error(`The dataset ${this.dataset.id} has no example ${index + 1}.`);
      found.push(...page.slice(inside, inside + count - found.length));
    }
    return found;
  }

  /** @param {number} number  @param {AbortSignal} until @returns {Promise<Example[]>} */
  page(number, until) {
    const known = this.pages.get(number);
    if (known) return known;
    const request = { path: `v1/datasets/${this.dataset.id}/examples`, query: { offset: number * this.batchMax, limit: this.batchMax } };
    const page = patiently(() => call(request, this.abort), until).then((/** @type {{items: Example[]}} */ { items }) => (
      items.map((item) => learntAs(item, this.dataset))));
    this.pages.set(number, page);
    page.catch(() => this.pages.delete(number));
    for (const old of this.pages.keys()) {
      if (this.pages.size <= PAGES_KEPT) break;
      this.pages.delete(old);
    }
    return page;
  }
}
