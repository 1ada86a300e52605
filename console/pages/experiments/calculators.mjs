/**
 * The theory calculators: the operation, the question, the formula with its source, and the numbers of the answer in
 * words.
 */

import { html } from "../../vendor/htm-preact.mjs";
import { confidence, number, percent } from "../../view/numbers.mjs";

/**
 * @typedef {object} Calculator
 * @property {string} name  The last part of the path.
 * @property {string} operation
 * @property {string} title
 * @property {string} question
 * @property {string} formula
 * @property {string} source
 * @property {string} [note]  A condition of the answer.
 * @property {(answer: any) => [string, any][]} facts  The first fact is the answer.
 */

/** @param {unknown} value @returns {any} */
const strong = (value) => html`<strong>${value}</strong>`;

/** A bound that may be beyond the range of doubles. @param {{mistakes_at_most?: number|null, log2_mistakes_at_most: number}} bound */
function mistakesOf(bound) {
  return typeof bound.mistakes_at_most === "number" ? number(bound.mistakes_at_most, 6) : `2^${number(bound.log2_mistakes_at_most)}`;
}

/** A probability as it stands in a sentence. @param {number} value */
function probability(value) {
  return value < 1e-4 ? number(value, 3) : percent(value, 4);
}

/** A decimal string of any length, cut. @param {string} digits */
function digitsOf(digits) {
  return digits.length > 60 ? `${number(digits.slice(0, 12))}… (${number(digits.length)} digits)` : number(digits);
}

/** @type {Calculator[]} */
export const CALCULATORS = [
  { name: "directed-drift", operation: "analyse_directed_drift", title: "Directed Drift, exactly",
    question: "How many mistakes does Directed Drift make on fresh examples until it finds the target, and how often does a stopping rule end the run too early?",
    formula: "h(d) = (1 + r(d) h(d+1)) / (1 − r(d)): the expected mistakes from Hamming distance d to d − 1, where r(d) is the probability of a bad flip",
    source: "The birth-death chain of algorithm D; bounds of Theorem 1 of Fang and Venkatesh",
    note: "Theorem 1 concerns algorithm D only. Without their O terms, both of its bounds hold from n = 4 on.",
    facts: (found) => [
      ["Expected mistakes, random start", strong(number(found.expected_mistakes.random_start, 6))],
      ["Expected examples, random start", strong(number(found.expected_examples.random_start, 6))],
      ["Smallest error of a wrong hypothesis", probability(found.min_error.uniform_positive)],
      ["Theorem 1 for D, lower bound", `${number(found.theorem_1.lower)}${found.theorem_1.lower_holds ? "" : " (does not hold at this n)"}`],
      ["Theorem 1 for D, upper bound", `${typeof found.theorem_1.upper === "number" ? number(found.theorem_1.upper) : `2^${number(found.theorem_1.log2_upper)}`}${found.theorem_1.upper_holds ? "" : " (does not hold at this n)"}`],
      ["Rule per-hypothesis", `run of ${number(found.per_hypothesis.run_length)}, false stops ${probability(found.per_hypothesis.false_stop_probability)}`],
      ["Rule exact", `run of ${number(found.exact.run_length)}, false stops ${probability(found.exact.false_stop_probability)}`],
      ["Rule anytime", `first run of ${number(found.anytime.run_length)}, false stops ${probability(found.anytime.false_stop_probability)}`],
    ] },
  { name: "stopping", operation: "get_stopping_threshold", title: "Stopping thresholds",
    question: "How many examples in a row must a hypothesis classify correctly before the learner may stop?",
    formula: "(1 − e)^r ≤ δ with the smallest error e of a wrong hypothesis; anytime gives hypothesis k the share δ / (k (k + 1))",
    source: "Rule per-hypothesis: Fang and Venkatesh. Rule anytime: a union bound over the hypotheses of a run",
    facts: (found) => [["Run length, anytime", strong(number(found.anytime.run_length))], ["Run length, per-hypothesis", strong(number(found.per_hypothesis.run_length))],
      ["Smallest error of a wrong hypothesis", probability(found.min_error)]] },
  { name: "cover", operation: "count_dichotomies", title: "Cover's count",
    question: "How many labellings of P points in general position does a hyperplane through the origin separate?",
    formula: "C(P, N) = 2 Σ (P − 1 choose k) over k = 0 … N − 1; exactly half of the 2^P labellings at P = 2 N",
    source: "T. M. Cover, Geometrical and statistical properties of systems of linear inequalities (1965)",
    facts: (found) => [["Separable share", strong(found.fraction > 0 ? probability(found.fraction) : `2^${number(found.log2_fraction)}`)],
      ["Separable dichotomies", strong(digitsOf(found.dichotomies))], ["log₂ of the count", number(found.log2, 6)]] },
  { name: "uniqueness", operation: "bound_other_targets", title: "Uniqueness",
    question: "How many examples make a consistent vector of binary weights the only one?",
    formula: "P(another vector is consistent) ≤ Σ (n choose d) (1 − e(d))^m over d = 1 … n, where e(d) is the error at Hamming distance d",
    source: "A union bound over all other vectors, with exact errors e(d)",
    facts: (found) => [["Examples", strong(number(found.examples))], ["Confidence", strong(confidence(found.confidence))], ["log₁₀ of the doubt", number(found.log10_doubt)]] },
  { name: "survival", operation: "bound_surviving_error", title: "Survival",
    question: "How small is the error of a hypothesis that classified r fresh examples in a row correctly?",
    formula: "err(h_k) ≤ 1 − δ_k^(1/r) with δ_k = δ / (k (k + 1)), for all hypotheses k at once",
    source: "N. Littlestone (1989); N. Cesa-Bianchi, A. Conconi and C. Gentile (2004)",
    facts: (found) => [["Error at most", strong(probability(found.error_at_most))], ["Run length", strong(number(found.run_length))], ["Hypothesis", number(found.hypothesis)],
      ["Confidence", confidence(found.confidence)]] },
  { name: "progressive", operation: "bound_mean_error", title: "Progressive validation",
    question: "How small is the mean error of the hypotheses of a run that predicted each example before it learnt?",
    formula: "Σ w_j exp(−λ_j M) (1 − c_j p)^(−T) < 1 / δ with c_j = 1 − exp(−λ_j), for all T at once",
    source: "S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, Time-uniform Chernoff bounds (2020)",
    facts: (found) => [["Mean error at most", strong(probability(found.mean_error_at_most))], ["Confidence", confidence(found.confidence)]] },
  { name: "test-set", operation: "bound_test_set_error", title: "Test set",
    question: "Which errors are compatible with the wrong predictions on a test set?",
    formula: "The limits invert the tails of the binomial distribution",
    source: "C. J. Clopper and E. S. Pearson (1934); J. Langford, Tutorial on practical prediction theory (2005)",
    facts: (found) => [["Error at most", strong(probability(found.at_most))], ["Two-sided interval", strong(`${probability(found.low)} to ${probability(found.high)}`)],
      ["Share of wrong predictions", probability(found.error_rate)], ["Confidence", confidence(found.confidence)]] },
  { name: "compression", operation: "bound_compressed_error", title: "Sample compression",
    question: "How small is the error of a hypothesis that k of its m examples reproduce?",
    formula: "The Clopper-Pearson limit for the errors on the other m − k examples at level δ / (m (m choose k))",
    source: "N. Littlestone and M. K. Warmuth, Relating data compression and learnability (1986)",
    facts: (found) => [["Error at most", strong(probability(found.error_at_most))], ["Confidence", confidence(found.confidence)]] },
  { name: "winnow", operation: "bound_winnow_mistakes", title: "Winnow's bound",
    question: "How many mistakes does Winnow make at most on examples that a disjunction of k literals labels?",
    formula: "α / (α − 1) · N / θ + k (α + 1) (1 + log_α θ)",
    source: "Theorem 2 of Khardon, Roth and Servedio; N. Littlestone (1988)",
    facts: (found) => [["Mistakes at most", strong(mistakesOf(found))], ["log₂ of the bound", number(found.log2_mistakes_at_most)]] },
  { name: "novikoff", operation: "bound_perceptron_mistakes", title: "Novikoff's bound",
    question: "How many mistakes does the perceptron make at most on examples with a margin?",
    formula: "R² |u|² / ξ²",
    source: "A. B. J. Novikoff, On convergence proofs on perceptrons (1962)",
    facts: (found) => [["Mistakes at most", strong(mistakesOf(found))], ["log₂ of the bound", number(found.log2_mistakes_at_most)]] },
];
