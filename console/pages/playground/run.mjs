/**
 * One session of the service with its answers. Each request names the position that the session must have, so that no
 * example is learnt twice.
 */

import { Problem, Unreachable, call, freshKey, patiently, send } from "../../service/requests.mjs";
import { piecesOf } from "../../service/text_stream.mjs";
import { History } from "./history.mjs";
import { hasManyClasses, isWaiting } from "./labels.mjs";
import { end, own } from "./memory.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {import("./examples.mjs").Examples} Examples */

/** Characters of a hypothesis that is kept for the next reload. */
const KEPT_HYPOTHESIS_MAX = 60_000;

/** Examples of the first request. */
const BATCH_FIRST = 64;
/** Milliseconds that a request should take, so that a person can pause at once and sees the progress. */
const [REQUEST_MIN, REQUEST_MAX] = [80, 250];

export class Run {
  /** @param {import("./wanted.mjs").Wanted} wanted  @param {Examples} examples  @param {AbortSignal} abort  Ends the run with the page. */
  constructor(wanted, examples, abort) {
    this.wanted = wanted;
    this.examples = examples;
    this.abort = abort;
    /** Ends the present action after the request under way. */
    this.until = abort;
    this.batch = Math.min(BATCH_FIRST, examples.batchMax);
    /** Whether the session may have learnt examples whose answers did not arrive. */
    this.isUnsure = false;
    this.history = new History();
    /** @type {Schemas["Session"]|null} */
    this.session = null;
    /** The hypothesis at an earlier position. @type {Schemas["HypothesisDocument"]|null} */
    this.before = null;
    this.beforeAt = 0;
    /** The prediction of the session for the next example. @type {{position: number, prediction: number|null, score: any}|null} */
    this.next = null;
    /** Examples that someone else taught this session. @type {{from: number, to: number}|null} */
    this.moved = null;
  }

  get position() {
    return this.session?.position ?? 0;
  }

  get hasEnded() {
    return Boolean(this.session?.termination);
  }

  /** The request that opens a session. */
  get request() {
    const { dataset } = this.examples;
    const { multiclass, classes, ...request } = this.wanted.request;
    const isMany = hasManyClasses(dataset);
    // With the encoding of a table, a saved model knows the names of features and classes. Classes that join are not known.
    const isEncoded = dataset.table && !(isMany && classes);
    return { ...request, ...(isEncoded ? { encoding: dataset.id } : { n: dataset.n, values: dataset.values, ...(isMany && { classes: classes ?? dataset.classes }) }),
      ...(isMany && multiclass && { multiclass }) };
  }

  /**
   * Resumes a session of this tab, if the session is there and all of its answers are known.
   * @param {import("./memory.mjs").KeptRun} kept  @returns {Promise<number>}  The position of the session, 0 if the session is gone.
   */
  async resume(kept) {
    try {
      const session = await this.get(kept.session);
      const history = History.from(kept.history);
      // The last answers are unknown if the page went away in the middle of a request. A replay gives all answers.
      if (history.position === session.position) Object.assign(this, { session, history, before: kept.before, beforeAt: kept.beforeAt });
      else end(session.id);
      return session.position;
    } catch (error) {
      if (error instanceof Problem && error.status === 404) return 0;
      throw error;
    }
  }

  /**
   * Opens a new session and teaches it the first examples again. The same request and examples give the same session.
   * @param {number} position  @param {(done: number) => void} report
   */
  async replay(position, report) {
    const old = this.session;
    const headers = { "idempotency-key": freshKey() };
    // The request outlives the page, because the session of an aborted request would stay behind.
    const session = await patiently(() => call({ method: "POST", path: "v1/sessions", json: this.request, headers }), this.until);
    own.add(session.id);
    if (old) end(old.id);
    if (this.abort.aborted) end(session.id);
    this.abort.throwIfAborted();
    Object.assign(this, { session, history: new History(), before: null, beforeAt: 0, next: null, moved: null, isUnsure: false });
    while (this.position < position && !this.hasEnded && !this.until.aborted) {
      // The last example comes alone, so that the hypothesis before it is known.
      await this.learn(Math.max(1, position - 1 - this.position), report);
      report(this.position);
    }
  }

  /**
   * Teaches the next examples, as many as one short request takes.
   * @param {number} most  @param {(done: number) => void} report  Progress of a replay, if answers were lost.
   */
  async learn(most, report) {
    const from = this.position;
    const id = /** @type {Schemas["Session"]} */ (this.session).id;
    const before = this.session?.hypothesis ?? null;
    const count = Math.min(most, this.batch);
    const lines = (await this.examples.from(from, count, this.until)).map((example) => JSON.stringify(example));
    const began = performance.now();
    await this.send(id, from, lines);
    const session = await this.get(id);
    if (count === this.batch) this.pace(performance.now() - began);
    const { isUnsure } = this;
    Object.assign(this, { session, before, beforeAt: from, next: null, moved: null, isUnsure: false });
    if (session.position <= this.history.position) return;
    // Answers of this tab that a broken connection swallowed come back by a replay. Others belong to another tab.
    if (isUnsure) return await this.replay(session.position, report);
    this.moved = { from: this.history.position, to: session.position };
    this.before = null;
    this.history.skipTo(session.position, session.mistakes);
  }

  /** Fits the size of a request to the time of the last one. @param {number} milliseconds */
  pace(milliseconds) {
    if (milliseconds > REQUEST_MAX) this.batch = Math.ceil(this.batch / 2);
    if (milliseconds < REQUEST_MIN) this.batch = Math.min(2 * this.batch, this.examples.batchMax);
  }

  /** @param {string} id  @param {number} from  @param {string[]} lines */
  async send(id, from, lines) {
    const request = { method: /** @type {const} */ ("POST"), path: `v1/sessions/${id}/examples`, body: `${lines.join("\n")}\n`,
      headers: { "content-type": "application/x-ndjson", "if-match": `"${from}"` } };
    const attempt = () => send(request, this.abort).catch((error) => {
      if (error instanceof Unreachable) this.isUnsure = true;
      throw error;
    });
    try {
      const response = await patiently(attempt, this.until);
      for await (const line of piecesOf(response, "\n")) this.take(JSON.parse(line));
    } catch (error) {
      this.abort.throwIfAborted();
      const isTold = error instanceof Problem && (error.status === 412 || error.document.code === "wrong-state");
      if (error instanceof Problem && !isTold) throw error;
      if (!isTold) this.isUnsure = true;
    }
  }

  /** @param {any} line  An answer, or the error that ended the request. */
  take(line) {
    if (line.error) throw new Problem(line.error);
    if (line.position === this.history.position + 1) this.history.add({ ...line, prediction: this.codeOf(line.prediction, line.predicted_class) });
  }

  /** A prediction as a code of the dataset. Classes that join are numbered as they do. @param {number|null} prediction  @param {string|null|undefined} name */
  codeOf(prediction, name) {
    const { dataset } = this.examples;
    return hasManyClasses(dataset) && name ? dataset.classes?.indexOf(name) ?? prediction : prediction;
  }

  /** Asks the session for its prediction of the next example. */
  async predict() {
    if (this.next?.position === this.position || this.hasEnded) return;
    const { position } = this;
    if (isWaiting(this.session)) {
      this.next = { position, prediction: null, score: null };
      return;
    }
    const [example] = await this.examples.from(position, 1, this.until);
    const request = { method: /** @type {const} */ ("POST"), path: `v1/sessions/${this.session?.id}/predict`, json: { unlabelled: { examples: [example?.x] } } };
    const found = await patiently(() => call(request, this.abort), this.until);
    this.next = { position, prediction: this.codeOf(found.predictions[0], found.predicted_classes?.[0]), score: found.scores?.[0] ?? null };
  }

  /** Deletes the session. */
  async remove() {
    const id = String(this.session?.id);
    await call({ method: "DELETE", path: `v1/sessions/${id}` }, this.abort);
    own.delete(id);
    this.session = null;
    this.history = new History();
  }

  /** @param {string} id @returns {Promise<Schemas["Session"]>} */
  get(id) {
    return patiently(() => call({ path: `v1/sessions/${id}` }, this.abort), this.until);
  }

  /** @returns {import("./memory.mjs").KeptRun|null} */
  kept() {
    if (!this.session) return null;
    const isSmall = JSON.stringify(this.before ?? null).length <= KEPT_HYPOTHESIS_MAX;
    return { session: this.session.id, history: this.history.kept(), before: isSmall ? this.before : null, beforeAt: this.beforeAt };
  }
}
