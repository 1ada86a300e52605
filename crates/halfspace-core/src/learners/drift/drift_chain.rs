//! The Markov chain of Directed Drift (algorithm D) on fresh uniform-positive examples.
//!
//! This file holds the transition probabilities and the run length of the confidence rule `exact`. Everything else that
//! follows from the chain is in `theory`.
//!
//! Without loss of generality the target is (1, .., 1). By symmetry, the future of a hypothesis depends only on its
//! Hamming distance d to the target, which each mistake changes by one. An example that is negative in a of the d
//! wrong coordinates and in b of the n - d right ones
//!
//! - is possible iff n - 2 (a + b) >= 0, and then has weight C(d, a) C(n - d, b);
//! - is a mistake iff n - 2 d - 2 b + 2 a < 0;
//! - in that case differs from the hypothesis in d - a + b coordinates, of which d - a are wrong, so that the
//!   flip goes towards the target with probability (d - a) / (d - a + b).
//!
//! Every number is a sum or quotient of positive terms. We never subtract a probability from 1, which would lose
//! precision. The scaled binomials stay in the range of `f64` up to [`N_MAX`].

use crate::learners::arithmetic::smallest_count::RUN_LENGTH_MAX;
use crate::learners::arithmetic::smallest_count::smallest_count;

/// The largest n of the chain. Up to here the scaled binomials stay far inside the range of `f64` and the sums take
/// milliseconds.
pub const N_MAX: usize = 512;

/// The chain for one n.
#[derive(Clone, Debug)]
pub struct DriftChain {
    /// Steps by distance to the target, from 0 to n.
    steps: Vec<Step>,
}

/// Transition probabilities of a hypothesis at one distance.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Probability that an example is a mistake. Only the target has the error 0.
    pub error: f64,
    /// ln of the probability that an example is consistent. Minus infinity if every example is a mistake.
    pub ln_survival: f64,
    /// Probability that the flip of a mistake goes towards the target.
    pub good: f64,
    /// Probability that the flip of a mistake goes away from the target.
    pub bad: f64,
}

impl Step {
    /// The probability that `run_length` consecutive examples are consistent, and that of the opposite.
    pub fn survival(&self, run_length: u64) -> (f64, f64) {
        let ln = run_length as f64 * self.ln_survival;
        (libm::exp(ln), -libm::expm1(ln))
    }
}

impl DriftChain {
    /// Creates the chain for `n` from 1 to [`N_MAX`].
    pub fn new(n: usize) -> Self {
        assert!((1..=N_MAX).contains(&n));
        let rows = scaled_binomials(n);
        let steps = (0..=n).map(|d| step(&rows[d], &rows[n - d])).collect();
        Self { steps }
    }

    /// Number of features per example.
    pub fn n(&self) -> usize {
        self.steps.len() - 1
    }

    /// Steps by distance, from 0 to n.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns, for each distance of the first hypothesis, the probability that the run ends at a wrong one. The run
    /// ends after `run_length >= 1` consecutive consistent examples.
    ///
    /// For a start at distance d, F is the probability of such an end before distance d - 1 is reached, and G that of
    /// reaching distance d - 1. Both follow from F at distance d + 1. The result accumulates F and G from the target
    /// outwards.
    pub fn false_stops(&self, run_length: u64) -> Vec<f64> {
        let mut outer = 0.0;
        let mut ends: Vec<(f64, f64)> = Vec::with_capacity(self.steps.len());
        for step in self.steps[1..].iter().rev() {
            let (stop, mistake) = step.survival(run_length);
            let leaves = step.good + step.bad * (stop + mistake * outer);
            outer = (stop + mistake * step.bad * outer) / leaves;
            ends.push((outer, mistake * step.good / leaves));
        }
        let mut probability = 0.0;
        let mut by_distance = vec![probability];
        for (stops, returns) in ends.into_iter().rev() {
            probability = stops + returns * probability;
            by_distance.push(probability);
        }
        by_distance
    }

    /// The smallest run length that keeps the probability of a false stop at most `delta > 0`. The worst start is the
    /// complement of the target.
    pub fn exact_run_length(&self, delta: f64) -> u64 {
        // A longer run of consistent examples is less likely at every wrong hypothesis. Every wrong
        // hypothesis has a positive error, so the probability decreases to 0, far below the limit of the search.
        let keeps = |run_length| {
            let by_distance = self.false_stops(run_length);
            by_distance.last().is_some_and(|&worst| worst <= delta)
        };
        smallest_count(RUN_LENGTH_MAX, keeps).unwrap_or(RUN_LENGTH_MAX)
    }
}

/// Computes C(m, j) / 2^m for m from 0 to n by Pascal's rule.
pub fn scaled_binomials(n: usize) -> Vec<Vec<f64>> {
    let mut rows = vec![vec![1.0]];
    for m in 1..=n {
        let above = &rows[m - 1];
        let term = |j: usize| above.get(j).copied().unwrap_or(0.0);
        let row = (0..=m).map(|j| (term(j) + j.checked_sub(1).map_or(0.0, term)) / 2.0);
        rows.push(row.collect());
    }
    rows
}

/// Computes the step at distance d from the scaled binomials of d and of n - d.
fn step(wrong: &[f64], right: &[f64]) -> Step {
    let (d, others) = (wrong.len() - 1, right.len() - 1);
    let half = (d + others) / 2;
    let (mut consistent, mut good, mut bad) = (0.0, 0.0, 0.0);
    for (a, of_wrong) in wrong.iter().enumerate().take(half + 1) {
        let b_end = others.min(half - a) + 1;
        // Smallest b of a mistake: 2 b > n - 2 d + 2 a.
        let b_mistake = match (others + 2 * a).checked_sub(d) {
            Some(product) => (product / 2 + 1).min(b_end),
            None => 0,
        };
        consistent += of_wrong * right[..b_mistake].iter().sum::<f64>();
        let differing = (d - a) as f64;
        for (b, of_right) in right.iter().enumerate().take(b_end).skip(b_mistake) {
            let share = of_wrong * of_right / (differing + b as f64);
            good += share * differing;
            bad += share * b as f64;
        }
    }
    let mistakes = good + bad;
    let possible = consistent + mistakes;
    if d == 0 {
        // The target makes no mistake, so no flip happens there.
        let (good, bad) = (1.0, 0.0);
        return Step {
            error: 0.0,
            ln_survival: 0.0,
            good,
            bad,
        };
    }
    Step {
        error: mistakes / possible,
        ln_survival: libm::log(consistent / possible),
        good: good / mistakes,
        bad: bad / mistakes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::engine::stopping::{Sampling, smallest_error};

    #[test]
    fn drift_chain_error_is_smallest_next_to_the_target() {
        for n in [1, 2, 3, 4, 5, 20, 25, 101, 128] {
            let chain = DriftChain::new(n);
            let smallest = smallest_error(n, Sampling::UniformPositive);
            assert!(
                (chain.steps()[1].error / smallest - 1.0).abs() < 1e-12,
                "{n}"
            );
            for pair in chain.steps().windows(2) {
                assert!(pair[0].error < pair[1].error + 1e-15, "{n}");
            }
        }
    }

    #[test]
    fn exact_run_lengths_are_those_of_the_reference() {
        let lengths = [5, 10, 15, 20, 25].map(|n| DriftChain::new(n).exact_run_length(0.05));
        assert_eq!(lengths, [11, 29, 29, 46, 45]);
    }

    #[test]
    fn the_exact_run_length_is_the_smallest_that_keeps_its_probability() {
        for (n, delta) in [(1, 0.5), (2, 0.9), (6, 0.01), (9, 1e-6), (40, 1e-12)] {
            let chain = DriftChain::new(n);
            let length = chain.exact_run_length(delta);
            let worst = |length| *chain.false_stops(length).last().expect("n + 1 of them");
            assert!(worst(length) <= delta, "{n}");
            assert!(length == 1 || worst(length - 1) > delta, "{n}");
        }
    }

    #[test]
    fn the_farthest_start_is_the_worst_and_the_nearest_the_best() {
        let by_distance = DriftChain::new(21).false_stops(20);
        assert_eq!(by_distance[0], 0.0);
        assert!(by_distance.is_sorted());
        assert!(by_distance.iter().all(|&p| (0.0..=1.0).contains(&p)));
    }
}
