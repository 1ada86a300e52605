/** The controls of a run: one or two sessions that learn the same examples, step by step or at a speed. */

import { signal } from "../../vendor/signals.mjs";
import { Problem, delay } from "../../service/requests.mjs";
import { Examples } from "./examples.mjs";
import { recall, remember } from "./memory.mjs";
import { Run } from "./run.mjs";

/** @typedef {import("#api").components["schemas"]} Schemas */

/** Requests per second at a bounded speed. Faster speeds send several examples in one request. */
const REQUESTS_PER_SECOND = 5;

/** Examples per second by the name of the speed in the URL. Null means as many as the service learns. */
export const SPEEDS = /** @type {Record<string, number|null>} */ ({ 1: 1, 5: 5, 25: 25, 100: 100, full: null });

/** @typedef {"opening"|"paused"|"playing"|"working"} Mode  `working`: one action runs, such as a step or a replay. */

export class Player {
  /**
   * @param {string} name  Text that is equal for equal runs.
   * @param {Schemas["Dataset"]} dataset  @param {import("./wanted.mjs").Wanted[]} wanted
   */
  constructor(name, dataset, wanted) {
    this.name = name;
    this.leaving = new AbortController();
    this.examples = new Examples(dataset);
    this.runs = wanted.map((one) => new Run(one, this.examples, this.leaving.signal));
    /** @type {Mode} */
    this.mode = "opening";
    /** @type {Error|null} */
    this.fault = null;
    this.speed = "5";
    /** The goal of a replay. @type {{done: number, goal: number}|null} */
    this.progress = null;
    /** Counts the changes, so that the page shows each of them. */
    this.version = signal(0);
    this.pausing = new AbortController();
  }

  get position() {
    return Math.max(0, ...this.runs.map((run) => run.position));
  }

  get hasEnded() {
    return this.runs.every((run) => run.hasEnded);
  }

  changed() {
    this.version.value += 1;
  }

  /** @param {number} position  The position in the URL. */
  open(position) {
    return this.act("opening", async () => {
      const kept = recall(this.name);
      const isKept = kept?.at === position && kept.runs.length === this.runs.length;
      const reached = isKept ? await Promise.all(this.runs.map((run, index) => run.resume(/** @type {import("./memory.mjs").KeptRun} */ (kept.runs[index])))) : [];
      await this.replayThose((run) => run.session === null, Math.max(position, ...reached));
      await this.advance(0);
    });
  }

  step() {
    return this.act("working", () => this.advance(1));
  }

  /** Replays the run up to a position, or learns on to a later one. @param {number} position */
  goTo(position) {
    return this.act("working", async () => {
      if (position < this.position || this.runs.some((run) => run.history.missing > 0)) return await this.replayThose(() => true, position);
      const isFar = position - this.position > 1;
      if (isFar) await this.advance(position - this.position - 1);
      await this.advance(position - this.position);
    });
  }

  /** Makes new sessions at the present position, such as after someone deleted a session. */
  renew() {
    const { position } = this;
    return this.act("working", () => this.replayThose(() => true, position));
  }

  async play() {
    if (this.mode !== "paused" || this.hasEnded) return;
    this.pausing = new AbortController();
    await this.act("playing", async () => {
      while (!this.pausing.signal.aborted && !this.hasEnded) {
        const rate = SPEEDS[this.speed] ?? null;
        const batch = rate === null ? this.examples.batchMax : Math.max(1, Math.round(rate / REQUESTS_PER_SECOND));
        const began = performance.now();
        await this.advance(Math.min(batch, this.examples.batchMax));
        if (this.runs.some((run) => run.moved)) break;
        if (batch === 1) await this.predict();
        this.changed();
        const pause = rate === null ? 0 : (batch / rate) * 1000 - (performance.now() - began);
        await delay(Math.max(0, pause), this.pausing.signal).catch(() => {});
      }
    });
  }

  pause() {
    this.pausing.abort();
  }

  /** Ends the work of this player, because the page leaves the run. */
  leave() {
    this.pause();
    this.leaving.abort();
  }

  /** @param {Mode} mode  @param {() => Promise<any>} action */
  async act(mode, action) {
    if (this.mode !== "paused" && this.mode !== "opening") return;
    this.mode = mode;
    this.fault = null;
    this.changed();
    try {
      await action();
      await this.predict();
    } catch (error) {
      if (this.leaving.signal.aborted) return;
      this.fault = /** @type {Error} */ (error);
    }
    this.mode = "paused";
    this.progress = null;
    this.changed();
  }

  /** Teaches all sessions the next examples, or brings the one that is behind up to the other. @param {number} count */
  async advance(count) {
    const isLevel = this.runs.every((run) => run.position === this.position || run.hasEnded);
    const goal = this.position + (isLevel ? count : 0);
    await Promise.all(this.runs.map((run) => this.bring(run, goal)));
    // A session that someone else taught is ahead now. The other session follows.
    await Promise.all(this.runs.map((run) => this.bring(run, this.position)));
  }

  /** @param {Run} run  @param {number} goal */
  async bring(run, goal) {
    while (run.position < goal && !run.hasEnded) {
      await run.learn(Math.min(goal - run.position, this.examples.batchMax), (done) => this.report(done, goal));
      if (run.moved) return;
      if (run.position < goal) this.report(run.position, goal);
    }
  }

  /** @param {(run: Run) => boolean} isMeant  @param {number} position */
  async replayThose(isMeant, position) {
    await Promise.all(this.runs.filter(isMeant).map((run) => run.replay(position, (done) => this.report(done, position))));
  }

  /** @param {number} done  @param {number} goal */
  report(done, goal) {
    this.progress = { done, goal };
    this.changed();
  }

  async predict() {
    await Promise.all(this.runs.map((run) => run.predict()));
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
    remember(this.name, null);
  }
}
