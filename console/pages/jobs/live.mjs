/**
 * One job, kept up to date by its events. Its status comes from the service's document alone; the events add the
 * progress between two documents and the points of the mistake curve.
 */

import { useCallback, useEffect, useState } from "../../vendor/hooks.mjs";
import { followJob } from "../../service/events.mjs";
import { call, key, patiently } from "../../service/requests.mjs";
import { isEnded } from "./words.mjs";

/** @typedef {import("./words.mjs").Job} Job */
/** @typedef {import("../../view/figure.mjs").Point} Point */

/** Points of the live curve. A longer curve loses every second point. */
const CURVE_POINTS_MAX = 8000;

/** Milliseconds between two pictures of a running job. */
const SHOW_EVERY = 150;

/** Seconds between two documents of a queued job, because the place in the queue has no events. */
const QUEUE_SECONDS = 2;

/** @typedef {{job: Job|null, error: Error|null, curve: Point[], of: string}} JobState  `of`: the key that owns the job. */

/**
 * @param {string} id
 * @returns {{job: Job|null, error: Error|null, curve: Point[], reload: () => void}}
 */
export function useJob(id) {
  const secret = key.value;
  /** @type {JobState} */
  const empty = { job: null, error: null, curve: [], of: secret };
  const [state, setState] = useState(empty);
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const follower = new Follower(id, abort.signal, (job, curve) => setState({ job, curve, error: null, of: secret }));
    follower.run().catch((error) => {
      if (!abort.signal.aborted) setState((before) => ({ ...(before.of === secret ? before : empty), error }));
    });
    return () => {
      abort.abort();
      follower.stop();
    };
  }, [id, round, secret]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  // Another key owns other jobs, so nothing stays of a job that the last key showed.
  return { ...(state.of === secret ? state : empty), reload };
}

/** Reads the document and the events of a job, and shows both at a bounded rate. */
class Follower {
  /** @param {string} id  @param {AbortSignal} abort  @param {(job: Job, curve: Point[]) => void} show */
  constructor(id, abort, show) {
    this.id = id;
    this.abort = abort;
    this.show = show;
    /** @type {Job|null} */
    this.job = null;
    this.curve = new Curve();
    this.timer = 0;
    this.isShown = false;
    this.queueTimer = 0;
    // A new stream begins with old events. The document is newer until the events reach its progress.
    this.isCaughtUp = false;
  }

  async run() {
    const job = await this.read();
    if (isEnded(job)) return;
    this.queueTimer = window.setInterval(() => {
      if (this.job?.status === "queued" && document.visibilityState === "visible") this.refresh();
    }, QUEUE_SECONDS * 1000);
    await followJob(this.id, (event) => this.handle(event), this.abort);
    if (!this.abort.aborted) await this.read();
    this.stop();
  }

  stop() {
    clearTimeout(this.timer);
    clearInterval(this.queueTimer);
    this.timer = 0;
    if (this.job && !this.abort.aborted) this.show(this.job, this.curve.points.slice());
  }

  async read() {
    const job = /** @type {Job} */ (await patiently(() => call({ path: `v1/jobs/${encodeURIComponent(this.id)}` }, this.abort), this.abort));
    this.job = job;
    this.soon();
    return job;
  }

  /** Reads the document again. The events report an error that stays. */
  refresh() {
    this.read().catch(() => {});
  }

  /** @param {import("../../service/events.mjs").JobEvent} event */
  handle({ event, data }) {
    if (!this.job) return;
    if (event === "status" && data.status !== this.job.status) this.refresh();
    if (event === "progress") {
      this.curve.add(data.examples, data.mistakes);
      this.isCaughtUp ||= data.examples >= this.job.progress.examples && (data.fraction ?? 0) >= (this.job.progress.fraction ?? 0);
      if (this.isCaughtUp) this.job = { ...this.job, progress: data };
      this.soon();
    }
  }

  soon() {
    this.timer ||= window.setTimeout(() => {
      this.timer = 0;
      this.isShown = true;
      if (this.job && !this.abort.aborted) this.show(this.job, this.curve.points.slice());
    }, this.isShown ? SHOW_EVERY : 0);
  }
}

/** The mistakes by the examples read, as the events report them. */
class Curve {
  constructor() {
    /** @type {Point[]} */
    this.points = [];
    this.stride = 1;
    this.seen = 0;
    // Whether the last point only marks the present end of the curve.
    this.isEndLoose = false;
  }

  /** @param {number} x  @param {number} y */
  add(x, y) {
    if (x === 0) return;
    if (this.isEndLoose) this.points.pop();
    // A run that resumes from a checkpoint reads the last examples once more.
    while ((this.points.at(-1)?.x ?? 0) >= x) this.points.pop();
    this.points.push({ x, y });
    this.seen += 1;
    this.isEndLoose = this.seen % this.stride !== 0;
    if (this.points.length > CURVE_POINTS_MAX) {
      this.points = this.points.filter((_, index) => index % 2 === 0);
      this.stride *= 2;
    }
  }
}
