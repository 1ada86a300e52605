//! The exact analysis of Directed Drift (algorithm D) on fresh uniform-positive examples, without a
//! simulation: expected counts, the probability that a stopping rule ends a run at a wrong
//! hypothesis, and Theorem 1 of Fang and Venkatesh beside them.
//!
//! All of it follows from the birth-death chain of `learners::drift_chain`. With r the probability
//! that a flip at distance d is bad, the expected mistakes from d to d - 1 are
//! h_d = (1 + r h_(d+1)) / (1 - r); with 1 / e_d, the examples up to a mistake, in place of the 1
//! they are the expected examples. From d to the target it is the sum of h_1 to h_d, and a random
//! start has a binomial distance.

use crate::learners::drift_chain::{DriftChain, N_MAX, scaled_binomials};
use crate::learners::stopping::{
    Sampling, anytime_run_length, ln_survival, per_hypothesis_run_length, smallest_error,
};

use super::{OutOfRange, check_probability, check_whole};

/// The constants of Theorem 1's lower bound, alpha e^(beta n), as printed.
const ALPHA: f64 = 1.771_866_547;
const BETA: f64 = 0.139_232_271;

/// `anytime` is followed until what is left could change its figure by no more than this.
const UNCERTAINTY_GOAL: f64 = 1e-13;

/// Or until so many distances times hypotheses were gone through: a few hundredths of a second.
const DISTANCES_VISITED_MAX: u64 = 1 << 24;

/// What is known of Directed Drift for one n and one allowed error.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// Mistakes until the hypothesis is the target.
    pub expected_mistakes: Expected,
    /// Examples up to and including the last of those mistakes.
    pub expected_examples: Expected,
    /// The smallest error of a wrong hypothesis on uniform-positive examples.
    pub min_error_uniform_positive: f64,
    /// The same on reflected ones, unlabelled.
    pub min_error_reflected: f64,
    /// The paper's bounds.
    pub theorem_1: TheoremOne,
    /// The rule of the paper.
    pub per_hypothesis: FixedRule,
    /// The rule `exact`.
    pub exact: FixedRule,
    /// The rule `anytime`.
    pub anytime: AnytimeRule,
}

/// An expected count.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// From a hypothesis drawn uniformly.
    pub random_start: f64,
    /// From a hypothesis at distance 0 to n.
    pub by_distance: Vec<f64>,
}

/// Theorem 1's bounds on the expected mistakes from any wrong hypothesis, without their O terms,
/// and whether they hold so.
#[derive(Clone, Debug, PartialEq)]
pub struct TheoremOne {
    /// alpha e^(beta n).
    pub lower: f64,
    /// n^n / 2^n; none past f64.
    pub upper: Option<f64>,
    /// The binary logarithm of the upper bound.
    pub log2_upper: f64,
    /// Whether the lower bound is at most the expected mistakes from distance 1.
    pub lower_holds: bool,
    /// Whether the upper bound is at least the expected mistakes from distance n.
    pub upper_holds: bool,
}

/// A rule that ends a run after a fixed number of consecutive consistent examples.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedRule {
    /// That number.
    pub run_length: u64,
    /// The probability that it ends a run at a wrong hypothesis.
    pub false_stop: Expected,
}

impl FixedRule {
    fn new(run_length: u64, chain: &DriftChain, starts: &[f64]) -> Self {
        Self {
            run_length,
            false_stop: Expected::new(chain.false_stops(run_length), starts),
        }
    }

    /// The probability of a false stop from the worst start, the target's complement.
    pub fn worst_start(&self) -> f64 {
        self.false_stop.by_distance.last().copied().unwrap_or(0.0)
    }
}

/// The rule whose run length grows with the number of mistakes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnytimeRule {
    /// The run length that accepts the first hypothesis.
    pub run_length: u64,
    /// The probability that it ends a run from a random start at a wrong hypothesis: at least this,
    pub false_stop_probability: f64,
    /// and more by at most this.
    pub uncertainty: f64,
}

/// Everything about D for `n` from 1 to [`N_MAX`] and an allowed error `delta` in (0, 1).
///
/// # Errors
/// The parameter that is out of range.
pub fn analyse(n: u64, delta: f64) -> Result<Analysis, OutOfRange> {
    check_whole("n", n, ("exact_analysis_n_max", N_MAX as u64))?;
    check_probability("delta", delta)?;
    let n = n as usize;
    let chain = DriftChain::new(n);
    let starts = scaled_binomials(n).pop().unwrap_or_default();
    let rule = |run_length| FixedRule::new(run_length, &chain, &starts);
    let expected_mistakes = expected(&chain, &starts, |_| 1.0);
    Ok(Analysis {
        theorem_1: TheoremOne::new(n, &expected_mistakes),
        expected_mistakes,
        expected_examples: expected_examples(&chain, &starts),
        min_error_uniform_positive: smallest_error(n, Sampling::UniformPositive),
        min_error_reflected: smallest_error(n, Sampling::Reflected),
        per_hypothesis: rule(per_hypothesis_run_length(n, libm::log(delta))),
        exact: rule(chain.exact_run_length(delta)),
        anytime: anytime(&chain, &starts, delta),
    })
}

/// The binary logarithm of the expected examples of D from a random start, up to and including its
/// last mistake, where the chain reaches: for `n` from 1 to [`N_MAX`].
pub fn expected_examples_log2(n: usize) -> Option<f64> {
    if !(1..=N_MAX).contains(&n) {
        return None;
    }
    let starts = scaled_binomials(n).pop().unwrap_or_default();
    let examples = expected_examples(&DriftChain::new(n), &starts);
    Some(libm::log2(examples.random_start))
}

fn expected_examples(chain: &DriftChain, starts: &[f64]) -> Expected {
    expected(chain, starts, |error| 1.0 / error)
}

/// What a mistake at some error costs, added up until the target is reached.
fn expected(chain: &DriftChain, starts: &[f64], cost: impl Fn(f64) -> f64) -> Expected {
    let mut one_nearer = 0.0;
    let mut costs = Vec::with_capacity(starts.len());
    for step in chain.steps()[1..].iter().rev() {
        one_nearer = (cost(step.error) + step.bad * one_nearer) / step.good;
        costs.push(one_nearer);
    }
    let mut sum = 0.0;
    let mut by_distance = vec![sum];
    for cost in costs.into_iter().rev() {
        sum += cost;
        by_distance.push(sum);
    }
    Expected::new(by_distance, starts)
}

impl Expected {
    fn new(by_distance: Vec<f64>, starts: &[f64]) -> Self {
        let terms = by_distance.iter().zip(starts).map(|(value, p)| value * p);
        Self {
            random_start: terms.sum(),
            by_distance,
        }
    }
}

impl TheoremOne {
    fn new(n: usize, mistakes: &Expected) -> Self {
        let half = n as f64 / 2.0;
        let lower = ALPHA * libm::exp(BETA * n as f64);
        let upper = libm::pow(half, n as f64);
        let from = |distance: usize| mistakes.by_distance[distance];
        Self {
            lower,
            upper: Some(upper).filter(|upper| upper.is_finite()),
            log2_upper: n as f64 * libm::log2(half),
            lower_holds: lower <= from(1),
            upper_holds: from(n) <= upper,
        }
    }
}

/// Carries the probability of being at each distance when hypothesis k begins its run forward over
/// k. What is wrong at k + 1 is accepted from there on with probability at most the rest of the
/// shares, delta / (k + 1): with that the figure is known to within a bound wherever one stops.
fn anytime(chain: &DriftChain, starts: &[f64], delta: f64) -> AnytimeRule {
    let n = chain.n();
    let ln_delta = libm::log(delta);
    let ln_survival = ln_survival(n, Sampling::UniformPositive);
    let run_length = |hypothesis| anytime_run_length(ln_delta, ln_survival, hypothesis);
    // An entry more at the far end, which stays 0, spares the ends a case of their own.
    let mut here = [starts, &[0.0]].concat();
    let mut next = here.clone();
    let mut moves = Moves::new(chain, run_length(1));
    let (mut stopped, mut uncertainty) = (0.0, 1.0);
    let mut visited = 0;
    for hypothesis in 1.. {
        let length = run_length(hypothesis);
        if length != moves.run_length {
            moves = Moves::new(chain, length);
        }
        here[0] = 0.0; // The target is never left, and is accepted rightly.
        let mut left = 0.0;
        for d in 1..=n {
            stopped += here[d] * moves.stop[d];
            next[d] = here[d - 1] * moves.out[d - 1] + here[d + 1] * moves.back[d + 1];
            left += next[d];
        }
        std::mem::swap(&mut here, &mut next);
        uncertainty = left * delta / (hypothesis + 1) as f64;
        visited += n as u64;
        if uncertainty <= UNCERTAINTY_GOAL || visited >= DISTANCES_VISITED_MAX {
            break;
        }
    }
    AnytimeRule {
        run_length: run_length(1),
        false_stop_probability: stopped,
        uncertainty,
    }
}

/// What becomes of a hypothesis at each distance under one run length; an entry more at the far
/// end, which nothing reaches.
struct Moves {
    run_length: u64,
    /// It is accepted.
    stop: Vec<f64>,
    /// It makes a mistake, and goes one away from the target.
    out: Vec<f64>,
    /// It makes a mistake, and goes one towards it.
    back: Vec<f64>,
}

impl Moves {
    fn new(chain: &DriftChain, run_length: u64) -> Self {
        let mut moves = Self {
            run_length,
            stop: Vec::new(),
            out: Vec::new(),
            back: Vec::new(),
        };
        for step in chain.steps() {
            let (stop, go_on) = step.survival(run_length);
            moves.stop.push(stop);
            moves.out.push(go_on * step.bad);
            moves.back.push(go_on * step.good);
        }
        moves.back.push(0.0);
        moves
    }
}

#[cfg(test)]
mod tests;
