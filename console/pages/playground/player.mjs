/** The controls of a run: one or two sessions that learn the same examples, step by step or at a speed. */

import { signal } from "../../vendor/signals.mjs";
import { Problem, delay } from "../../service/requests.mjs";
import { Examples } from "./examples.mjs";
import { forgetOthers, recall, remember } from "./memory.mjs";
import { Run } from "./run.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */

/** Requests per second at a bounded speed. Faster speeds send several examples in one request. */
const REQUESTS_PER_SECOND = 5;

/** Examples per second by the name of the speed in the URL. Null means as many as the service learns. */
export const SPEEDS = /** @type {Record<string, number|null>} */ ({ 1: 1, 5: 5, 25: 25, 100: 100, full: null });

/** The last position. A browser holds the answers of a million examples. */
export const POSITION_MAX = 1_000_000;

/** @typedef {"opening"|"paused"|"playing"|"working"} Mode  `working`: one action runs, such as a step or a replay. */

export class Player {
  /**
   * @param {string} name  Text that is equal for equal runs.
   * @param {Schemas["Dataset"]} dataset  @param {import("./wanted.mjs").Wanted[]} wanted
   */
  constructor(name, dataset, wanted) {
    this.name = name;
    this.leaving = new AbortController();
    this.examples = new Examples(dataset, this.leaving.signal);
    this.runs = wanted.map((one) => new Run(one, this.examples, this.leaving.signal));
    /** @type {Mode} */
    this.mode = "opening";
    /** @type {Error|null} */
    this.fault = null;
    this.speed = "5";
    /** Whether the run plays on at the end of the data. */
    this.isEndless = false;
    /** The goal of an action of many examples. @type {{done: number, goal: number}|null} */
    this.progress = null;
    /** The position that an action did not reach, because the data ended. @type {number|null} */
    this.beyond = null;
    /** The link that the run goes to. @type {object|null} */
    this.followed = null;
    /** Counts the changes, so that the page shows each of them. */
    this.version = signal(0);
    this.stopping = new AbortController();
    /** The action that runs. @type {Promise<void>|null} */
    this.action = null;
  }

  get position() {
    return Math.max(0, ...this.runs.map((run) => run.position));
  }

  get hasEnded() {
    return this.runs.every((run) => run.hasEnded);
  }

  /** Whether the run can learn another example. */
  get isDone() {
    return this.hasEnded || this.position >= POSITION_MAX;
  }

  get isOpen() {
    return this.runs.every((run) => run.session);
  }

  /** Whether an action runs that takes long enough to be stopped. */
  get isStoppable() {
    return this.mode === "opening" || this.mode === "playing" || this.progress !== null;
  }

  /** The pass over the data to which a position belongs. @param {number} position */
  passOf(position) {
    return Math.max(1, Math.ceil(position / this.examples.dataset.examples));
  }

  /** The position where the pass of the next example ends. */
  get passEnd() {
    return this.passOf(this.position + 1) * this.examples.dataset.examples;
  }

  changed() {
    this.version.value += 1;
  }

  /** @param {number} position  The position in the URL.  @param {number} pass  The pass in the URL. */
  open(position, pass) {
    return this.act("opening", async () => {
      const kept = recall(this.name, position);
      /** @type {number[]} */
      const reached = [];
      if (kept?.runs.length === this.runs.length) {
        const keptOf = (/** @type {number} */ index) => /** @type {import("./memory.mjs").KeptRun} */ (kept.runs[index]);
        await this.inEach(this.runs, async (run, index) => void reached.push(await run.resume(keptOf(index))));
      }
      forgetOthers(this.name);
      await this.replayThose((run) => run.session === null, Math.max(this.within(position, pass), ...reached));
      await this.advance(0);
    });
  }

  /**
   * The part of a goal that lies within a pass. The rest waits until the person goes on.
   * @param {number} position  @param {number} pass
   */
  within(position, pass) {
    const end = pass * this.examples.dataset.examples;
    this.beyond = position > end ? position : null;
    return Math.min(position, end);
  }

  step() {
    return this.act("working", () => this.advance(1));
  }

  /**
   * Replays the run up to a position, or learns on to a later one.
   * @param {number} position  @param {number} pass  The last pass over the data that the run enters.
   */
  goTo(position, pass) {
    return this.act("working", async () => {
      const goal = this.within(position, pass);
      if (goal < this.position || this.runs.some((run) => run.history.missing > 0)) return await this.replayThose(() => true, goal);
      if (goal - this.position > 1) await this.advance(goal - this.position - 1);
      await this.advance(goal - this.position);
    });
  }

  /** Goes to a position that a person typed. The run stops at the end of the data. @param {number} position */
  jump(position) {
    const isOn = position > this.position && !this.isEndless;
    return this.goTo(position, this.passOf(isOn ? this.position + 1 : position));
  }

  /**
   * Stops the present action and goes to the position of a link. A later link replaces this one.
   * @param {number} position  @param {number} pass
   */
  async follow(position, pass) {
    const link = {};
    this.followed = link;
    this.pause();
    await this.action;
    if (this.followed === link) await this.goTo(position, pass);
    if (this.followed === link) this.followed = null;
  }

  /** Makes new sessions at the present position, such as after someone deleted a session. */
  renew() {
    const { position } = this;
    return this.act("working", () => this.replayThose(() => true, position));
  }

  async play() {
    if (this.mode !== "paused" || this.isDone) return;
    await this.act("playing", async () => {
      const end = Math.min(POSITION_MAX, this.isEndless ? POSITION_MAX : this.passEnd);
      while (!this.stopping.signal.aborted && !this.hasEnded && this.position < end) {
        const rate = SPEEDS[this.speed] ?? null;
        const batch = rate === null ? this.examples.batchMax : Math.max(1, Math.round(rate / REQUESTS_PER_SECOND));
        const began = performance.now();
        await this.advance(Math.min(batch, this.examples.batchMax, end - this.position));
        if (this.runs.some((run) => run.moved)) break;
        if (batch === 1) await this.predict();
        this.changed();
        const pause = rate === null ? 0 : (batch / rate) * 1000 - (performance.now() - began);
        await delay(Math.max(0, pause), this.stopping.signal).catch(() => {});
      }
    });
  }

  /** Stops the action that runs, after the request under way. */
  pause() {
    this.stopping.abort();
  }

  /** Ends the work of this player, because the page leaves the run. */
  leave() {
    this.pause();
    this.leaving.abort();
  }

  /** @param {Mode} mode  @param {() => Promise<any>} action */
  async act(mode, action) {
    if (this.action) return;
    this.action = this.perform(mode, action);
    await this.action;
  }

  /** @param {Mode} mode  @param {() => Promise<any>} action */
  async perform(mode, action) {
    this.mode = mode;
    this.fault = null;
    this.beyond = null;
    this.stopping = new AbortController();
    const until = AbortSignal.any([this.leaving.signal, this.stopping.signal]);
    for (const run of this.runs) run.until = until;
    this.changed();
    try {
      await action();
      await this.predict();
    } catch (error) {
      if (this.leaving.signal.aborted) return;
      // A stop by a person may end an attempt in the middle, which tells nothing.
      const isStop = error instanceof DOMException && error.name === "AbortError";
      if (!isStop) this.fault = /** @type {Error} */ (error);
    }
    this.mode = "paused";
    this.action = null;
    this.progress = null;
    this.changed();
  }

  /**
   * Does the same in several sessions. It ends after all of them have ended, so that no late answer meets the next
   * action. An error in one session stops the others, and this throws what stopped them first.
   * @param {Run[]} runs  @param {(run: Run, index: number) => Promise<void>} work
   */
  async inEach(runs, work) {
    const { signal: stop } = this.stopping;
    const ends = await Promise.allSettled(runs.map((run, index) => work(run, index).catch((error) => {
      this.stopping.abort(error);
      throw error;
    })));
    if (ends.some((end) => end.status === "rejected")) throw stop.reason;
  }

  /** Teaches all sessions the next examples, or brings the one that is behind up to the other. @param {number} count */
  async advance(count) {
    const isLevel = this.runs.every((run) => run.position === this.position || run.hasEnded);
    const goal = Math.min(POSITION_MAX, this.position + (isLevel ? count : 0));
    if (count > 1) this.report(this.position, goal);
    await this.inEach(this.runs, (run) => this.bring(run, goal));
    // A session that someone else taught is ahead now. The other session follows.
    await this.inEach(this.runs, (run) => this.bring(run, this.position));
  }

  /** @param {Run} run  @param {number} goal */
  async bring(run, goal) {
    while (run.position < goal && !run.hasEnded && !run.until.aborted) {
      await run.learn(goal - run.position, (done) => this.report(done, goal));
      if (run.moved) return;
      if (run.position < goal) this.report(run.position, goal);
    }
  }

  /** @param {(run: Run) => boolean} isMeant  @param {number} position */
  async replayThose(isMeant, position) {
    if (position > 1) this.report(0, position);
    await this.inEach(this.runs.filter(isMeant), (run) => run.replay(position, (done) => this.report(done, position)));
  }

  /** @param {number} done  @param {number} goal */
  report(done, goal) {
    this.progress = { done, goal };
    this.changed();
  }

  async predict() {
    if (!this.isOpen) return;
    await this.inEach(this.runs, (run) => run.predict());
  }

  /** Stores the runs for a reload. @param {number} at  The position in the URL. */
  keep(at) {
    const kept = this.runs.map((run) => run.kept());
    if (kept.every((run) => run !== null)) remember(this.name, { at, runs: kept });
  }

  /** Deletes the sessions. */
  async remove() {
    await Promise.all(this.runs.map(async (run) => {
      if (run.session) await run.remove().catch((error) => { if (!(error instanceof Problem && error.status === 404)) throw error; });
    }));
    forgetOthers("");
  }
}
