//! Uniqueness: a vector of binary weights that is consistent with enough uniform examples is the target.
//!
//! A target of n binary weights labelled m independent examples. A vector that differs from it in d weights errs with a
//! probability e_d, computed below, so the probability that another vector is consistent too is at most
//! `sum over d = 1..n of C(n, d) (1 - e_d)^m`.
//!
//! # The error at distance d
//!
//! Let A and B be sums of d and n - d fair signs, g = P(|A| > |B|), t = P(|A| = |B|, A not 0), and z = P(A = B = 0).
//! For odd n, `e_d = g`. For even n it depends on the sampling: `g + t/2` on uniform examples, `g + t/4` on reflected
//! ones, and `(g + t/2) / (1 + c)` on uniform positive ones, where c = P(A + B = 0).
//!
//! These numbers have a closed form. Write `u(k)` for the probability that k fair signs add up to 0. Then move one
//! sign s from B to A. `F = g + t/2 + z/2` is the mean of a function of |A| and |B| that is 1, 1/2 or 0. Given the
//! sums of the other signs, its mean over s stays the same except where both sums are as small as their parities
//! allow. Hence for odd n, F grows from d to d + 1 by `u(d) u(n - 1 - d)` if d is even, and does not grow if d is
//! odd. For even n it grows by `u(d) u(n - d) / 2` if d is even, and by `u(d + 1) u(n - d - 1) / 2` if d is odd. F
//! begins at z / 2, and `t = 2 c - 2 z`.
//!
//! All terms are positive. `1 - e_d` comes from the error at the complement, so it is a sum of positive terms too.

use crate::learners::arithmetic::smallest_count::RUN_LENGTH_MAX;
use crate::learners::arithmetic::smallest_count::smallest_count;
use crate::learners::engine::run::{Interrupt, StopFlag};
use crate::learners::engine::stopping::Sampling;

use super::binomial::ln_choose;

pub const SOURCE: &str = "the union bound over all vectors of binary weights";

/// The largest number of features for which the bound is computed.
pub const N_MAX: u64 = 1 << 24;

/// The doubt in uniqueness as a function of the number of examples, for one n and one sampling.
pub struct Doubt {
    /// ln C(n, d) and ln(1 - e_d) for d = 1..n.
    terms: Vec<(f64, f64)>,
}

impl Doubt {
    /// Computes the terms in time proportional to `n >= 1`.
    pub fn new(n: usize, sampling: Sampling) -> Self {
        let returns = return_probabilities(n);
        let right = right_at_distance(n, sampling, &returns);
        let term = |d: usize| (ln_choose(n as u64, d as u64), libm::log(right(d)));
        Self {
            terms: Vec::from_iter((1..=n).map(term)),
        }
    }

    /// ln of the bound on the probability that another vector is consistent with all of `examples` examples.
    pub fn ln_after(&self, examples: u64) -> f64 {
        let m = examples as f64;
        // A vector that is never right is refuted by the first example.
        let ln = |&(ln_ways, ln_right): &(f64, f64)| match m > 0.0 {
            true => ln_ways + m * ln_right,
            false => ln_ways,
        };
        let largest = self.terms.iter().map(ln).fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            return largest;
        }
        let sum: f64 = self
            .terms
            .iter()
            .map(|term| libm::exp(ln(term) - largest))
            .sum();
        largest + libm::log(sum)
    }

    /// The smallest number of examples whose doubt is at most `exp(ln_doubt)`. Every example shrinks the doubt by a
    /// share that depends on n alone, so this number is far below the limit of the search.
    ///
    /// # Errors
    /// The interrupt if the computation was told to stop. For the largest n it takes about a second.
    pub fn examples(&self, ln_doubt: f64, stop: &StopFlag) -> Result<u64, Interrupt> {
        let suffices = |examples| stop.look().is_some() || self.ln_after(examples) <= ln_doubt;
        let examples = smallest_count(RUN_LENGTH_MAX, suffices).unwrap_or(RUN_LENGTH_MAX);
        stop.look().map_or(Ok(examples), Err)
    }
}

/// u(k) for even k = 0, 2, .., at index k / 2: the probability that k fair signs add up to 0.
fn return_probabilities(n: usize) -> Vec<f64> {
    let mut last = 1.0;
    let next = |i: usize| {
        if i > 0 {
            last *= (2 * i - 1) as f64 / (2 * i) as f64;
        }
        last
    };
    (0..=n / 2).map(next).collect()
}

/// 1 - e_d as a function of d.
fn right_at_distance(n: usize, sampling: Sampling, returns: &[f64]) -> impl Fn(usize) -> f64 {
    let u = |k: usize| match k % 2 {
        0 => returns[k / 2],
        _ => 0.0,
    };
    let is_odd = n % 2 == 1;
    let growth = |d: usize| match (is_odd, d % 2) {
        (true, _) => u(d) * u(n - 1 - d),
        (false, 0) => u(d) * u(n - d) / 2.0,
        (false, _) => u(d + 1) * u(n - d - 1) / 2.0,
    };
    let z: Vec<f64> = (0..=n).map(|d| u(d) * u(n - d)).collect();
    let mut sum = z[0] / 2.0;
    let mut sums = vec![sum];
    for d in 0..n {
        sum += growth(d);
        sums.push(sum);
    }
    let c = u(n);
    move |d| match (is_odd, sampling) {
        // The complement is right where the vector is wrong.
        (true, _) => sums[n - d],
        (false, Sampling::Uniform) => sums[n - d] + z[d] / 2.0,
        (false, Sampling::Reflected) => sums[n - d] + c / 2.0,
        (false, Sampling::UniformPositive) => (sums[n - d] + c + z[d] / 2.0) / (1.0 + c),
    }
}
