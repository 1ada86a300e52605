/**
 * The answers of a session by position, in a form that stays small for a million examples. Those that another tab
 * received are missing, but the count of mistakes after them is known.
 */

/** @typedef {import("#api").components["schemas"]["ExampleAnswer"]} Answer */
/** @typedef {{position: number, prediction: number|null, isMistake: boolean}} Past */
/** @typedef {{codes: string, known: [position: number, mistakes: number][]}} Kept */

/** One character per answer, from this one on: twice the prediction, or -2 without one, and 1 more for a mistake. */
const FIRST = 0x44;
const NONE = -2;
const MISSING = "?";

/** The prediction of an answer, null without one. @param {string|undefined} code */
function predictionIn(code) {
  if (!code || code === MISSING) return null;
  const prediction = code.charCodeAt(0) - FIRST >> 1;
  return prediction === NONE ? null : prediction;
}

export class History {
  constructor() {
    /** @type {string[]} */
    this.codes = [];
    /** Mistakes after each position, NaN where answers are missing. @type {number[]} */
    this.mistakes = [];
    /** Counts after missing answers. @type {[number, number][]} */
    this.known = [];
  }

  get position() {
    return this.codes.length;
  }

  get missing() {
    return this.known.length === 0 ? 0 : this.codes.filter((code) => code === MISSING).length;
  }

  /** @param {Answer} answer */
  add(answer) {
    this.push(String.fromCharCode(FIRST + 2 * (answer.prediction ?? NONE) + Number(answer.mistake)));
  }

  /** @param {string} code */
  push(code) {
    const before = this.mistakes.at(-1) ?? 0;
    this.codes.push(code);
    this.mistakes.push(code === MISSING ? NaN : before + (code.charCodeAt(0) - FIRST & 1));
  }

  /** Leaves a gap up to a position whose count of mistakes is known. @param {number} position  @param {number} mistakes */
  skipTo(position, mistakes) {
    while (this.position < position) this.push(MISSING);
    this.mistakes[position - 1] = mistakes;
    this.known.push([position, mistakes]);
  }

  /** The answer that led to a position. @param {number} position @returns {Past|null} */
  at(position) {
    const code = this.codes[position - 1];
    if (!code || code === MISSING) return null;
    return { position, prediction: predictionIn(code), isMistake: (code.charCodeAt(0) - FIRST & 1) === 1 };
  }

  /** Whether both predictions that led to a position are known and differ. @param {History} other  @param {number} position */
  differs(other, position) {
    const [left, right] = [predictionIn(this.codes[position - 1]), predictionIn(other.codes[position - 1])];
    return left !== null && right !== null && left !== right;
  }

  /** The mistakes between two positions, null if answers are missing. @param {number} from  @param {number} to @returns {number|null} */
  between(from, to) {
    const count = (this.mistakes[to - 1] ?? NaN) - (from === 0 ? 0 : this.mistakes[from - 1] ?? NaN);
    return Number.isNaN(count) ? null : count;
  }

  /** The curve of the mistakes with a bounded number of points. @param {number} pointsMax */
  curve(pointsMax) {
    const step = Math.max(1, Math.ceil(this.position / pointsMax));
    const points = [{ x: 0, y: 0 }];
    for (let position = step; position < this.position; position += step) {
      const y = this.mistakes[position - 1] ?? NaN;
      if (!Number.isNaN(y)) points.push({ x: position, y });
    }
    const last = this.mistakes.at(-1);
    if (last !== undefined && !Number.isNaN(last)) points.push({ x: this.position, y: last });
    return points;
  }

  /** @returns {Kept} */
  kept() {
    return { codes: this.codes.join(""), known: this.known };
  }

  /** @param {Kept} kept */
  static from(kept) {
    const history = new History();
    const known = new Map(kept.known);
    for (const code of kept.codes) {
      history.push(code);
      const count = known.get(history.position);
      if (count !== undefined) history.mistakes[history.position - 1] = count;
    }
    history.known = kept.known;
    return history;
  }
}
