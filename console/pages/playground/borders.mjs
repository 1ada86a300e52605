/** Where the decision of a hypothesis over two features changes: lines, and segments between several classes. */

/** @typedef {import("#api").components["schemas"]["HypothesisDocument"]} Hypothesis */
/** @typedef {{a: number, b: number, c: number}} Line  The score of a point is a x1 + b x2 + c. */
/** @typedef {[from: {x: number, y: number}, to: {x: number, y: number}, of?: [number, number]]} Segment  `of`: the classes on both sides. */
/** @typedef {{left: number, bottom: number, right: number, top: number, scale: number}} Frame */

/** The most classes whose borders are drawn. */
export const CLASSES_MAX = 32;

/** The coefficients of a line. @param {Hypothesis|null|undefined} hypothesis @returns {Line|null} */
export function lineOf(hypothesis) {
  if (hypothesis?.kind === "linear") return { a: hypothesis.weights[0] ?? 0, b: hypothesis.weights[1] ?? 0, c: hypothesis.bias ?? 0 };
  if (hypothesis?.kind === "bounded") return { a: (hypothesis.weights[0] ?? 0) - hypothesis.inhibition, b: (hypothesis.weights[1] ?? 0) - hypothesis.inhibition, c: -2 * hypothesis.threshold };
  return null;
}

/**
 * The borders of a hypothesis within the frame: one line, or one segment for each two classes whose scores are
 * the largest ones on both sides.
 * @param {Hypothesis|null} hypothesis  @param {Frame} frame @returns {Segment[]}
 */
export function bordersOf(hypothesis, frame) {
  if (hypothesis?.kind !== "committee") {
    const border = borderOf(lineOf(hypothesis), [], frame);
    return border ? [border] : [];
  }
  if (hypothesis.members.length > CLASSES_MAX) return [];
  const lines = hypothesis.members.map(lineOf);
  const less = (/** @type {Line|null|undefined} */ one, /** @type {Line|null|undefined} */ other) => (
    one && other ? { a: one.a - other.a, b: one.b - other.b, c: one.c - other.c } : null);
  return lines.flatMap((one, index) => lines.slice(index + 1).flatMap((other, place) => {
    const others = lines.filter((_, third) => third !== index && third !== index + 1 + place);
    const border = borderOf(less(one, other), others.map((third) => less(one, third)), frame);
    return border ? [/** @type {Segment} */ ([border[0], border[1], [index, index + 1 + place]])] : [];
  }));
}

/**
 * The part of a line where none of the conditions is negative, or null if there is none.
 * @param {Line|null} line  @param {(Line|null)[]} conditions  @param {Frame} frame @returns {Segment|null}
 */
function borderOf(line, conditions, frame) {
  if (!line || (line.a === 0 && line.b === 0)) return null;
  const { a, b, c } = line;
  const size = a * a + b * b;
  // The point of the line that is nearest to the middle of the frame, and the direction of the line.
  const [middleX, middleY] = [(frame.left + frame.right) / 2, (frame.bottom + frame.top) / 2];
  const off = (a * middleX + b * middleY + c) / size;
  const at = (/** @type {number} */ way) => ({ x: middleX - a * off - b * way, y: middleY - b * off + a * way });
  let [from, to] = [-Infinity, Infinity];
  const inside = [{ a: 1, b: 0, c: -frame.left }, { a: -1, b: 0, c: frame.right }, { a: 0, b: 1, c: -frame.bottom }, { a: 0, b: -1, c: frame.top }];
  for (const condition of [...inside, ...conditions]) {
    if (!condition) continue;
    const [start, end] = [at(0), at(1)].map(({ x, y }) => condition.a * x + condition.b * y + condition.c);
    const slope = (end ?? 0) - (start ?? 0);
    if (slope === 0 && (start ?? 0) < 0) return null;
    if (slope > 0) from = Math.max(from, -(start ?? 0) / slope);
    if (slope < 0) to = Math.min(to, -(start ?? 0) / slope);
  }
  return from < to ? [at(from), at(to)] : null;
}
