//! A proof that no binary weights agree with a sample, for up to [`N_MAX`] features.
//!
//! Let u_i be the half-space examples: the positive examples, and the negative ones reflected. Binary weights w that
//! agree with the sample have w.u_i >= b_i. For odd n, b_i is 1, because the product is odd. For even n, b_i is 2 on
//! a reflected example, which a tie misclassifies, and 0 on a positive one. Now take multipliers y_i >= 0 with
//!
//! ```text
//! sum y_i b_i > | sum y_i u_i |_1
//! ```
//!
//! They exclude every such w, because w.(sum y_i u_i) is at most the right side. This holds for every w in the box from
//! -1 to 1, not only for binary ones. If the right side is 0, they exclude every real separator too (Gordan, Motzkin).
//!
//! A linear program seeks the w in the box that leaves the most room in its tightest constraint w.u_i >= b_i. If even
//! this w violates one, the multipliers of the program are a proof, which is rounded to integers and checked exactly.
//! If the box has a solution, or no rounding passes the check, the question stays open: there may still be no binary
//! weights for the sample.

use num_bigint::BigInt;
use num_traits::{Signed, Zero};

use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::linear::linear_weights::Reading;
use crate::learners::sample::data::Data;

use super::alternative::Multiplier;
use super::examples::{SignedExamples, look};
use super::interior_point::{Constraint, Proposal, minimise};
use super::rounding::{reduce, roundings};

/// Largest n for the linear program, in which the sides of the box are dense rows of the solver.
pub const N_MAX: usize = 512;

/// Multipliers that exclude all binary weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// The multipliers that are not 0.
    pub multipliers: Vec<Multiplier>,
    /// Whether the multipliers exclude every real separator through the origin too.
    pub excludes_real_weights: bool,
}

/// Seeks multipliers that exclude all binary weights. The result is `None` if the box from -1 to 1 has a solution, or
/// if rounding leaves the question open.
///
/// # Errors
/// Returns the interrupt if the run stops.
pub fn exclude_binary_weights(data: &Data, run: &Run) -> Result<Option<Exclusion>, Interrupt> {
    let examples = SignedExamples::new(data, Reading::Signed, false, run)?;
    let most = examples.count().min(4 * examples.coordinates() + 64);
    let mut working: Vec<usize> = (0..most.div_ceil(2)).collect();
    loop {
        let Some(proposal) = proposed(&examples, &working, run)? else {
            return Ok(None);
        };
        let (weights, _) = proposal.variables.split_at(examples.coordinates());
        let multipliers = &proposal.multipliers[..working.len()];
        let multipliers: Vec<f64> = multipliers.iter().map(|value| value.max(0.0)).collect();
        for mut rounded in roundings(&multipliers) {
            reduce(&mut rounded);
            let weighted = working.iter().zip(rounded);
            let weighted = weighted.filter(|(_, weight)| weight.is_positive());
            let multipliers: Vec<_> = weighted
                .map(|(&example, weight)| Multiplier { example, weight })
                .collect();
            if let Some(excludes_real_weights) = excludes(&examples, &multipliers, run)? {
                return Ok(Some(Exclusion {
                    multipliers,
                    excludes_real_weights,
                }));
            }
        }
        let wrong = wrong(&examples, weights, most - working.len(), run)?;
        if wrong.is_empty() {
            return Ok(None);
        }
        working.extend(wrong);
    }
}

/// The least product of binary weights that agree with this example.
fn least(examples: &SignedExamples<'_>, index: usize) -> i8 {
    match examples.coordinates().is_multiple_of(2) {
        false => 1,
        true if examples.is_negative(index) => 2,
        true => 0,
    }
}

/// Solves the program on some examples: maximise t subject to (w.u_i - b_i) / n >= t and -1 <= w_j <= 1.
fn proposed(
    examples: &SignedExamples<'_>,
    working: &[usize],
    run: &Run,
) -> Result<Option<Proposal>, Interrupt> {
    let n = examples.coordinates();
    let mut constraints = Vec::with_capacity(working.len() + 2 * n);
    for &index in working {
        look(run)?;
        let mut values = Vec::new();
        examples.values(index, &mut values);
        values.iter_mut().for_each(|value| *value /= n as f64);
        values.push(-1.0);
        let least = f64::from(least(examples, index)) / n as f64;
        constraints.push(Constraint { values, least });
    }
    for coordinate in 0..n {
        for sign in [1.0, -1.0] {
            let mut values = vec![0.0; n + 1];
            values[coordinate] = sign;
            constraints.push(Constraint {
                values,
                least: -1.0,
            });
        }
    }
    let mut objective = vec![0.0; n];
    objective.push(-1.0);
    minimise(0, &objective, &constraints, run)
}

/// Checks in integers whether the multipliers exclude all binary weights. If so, the answer says whether they exclude
/// all real separators too.
fn excludes(
    examples: &SignedExamples<'_>,
    multipliers: &[Multiplier],
    run: &Run,
) -> Result<Option<bool>, Interrupt> {
    let mut sum = vec![BigInt::zero(); examples.coordinates()];
    let mut least_product = BigInt::zero();
    for Multiplier { example, weight } in multipliers {
        look(run)?;
        examples.column(*example).add_to(&mut sum, weight);
        least_product += weight * least(examples, *example);
    }
    let norm: BigInt = sum.iter().map(Signed::abs).sum();
    Ok((least_product > norm).then(|| norm.is_zero()))
}

/// The examples that `weights` violate, the worst first and at most `most` of them.
fn wrong(
    examples: &SignedExamples<'_>,
    weights: &[f64],
    most: usize,
    run: &Run,
) -> Result<Vec<usize>, Interrupt> {
    let (mut wrong, mut values) = (Vec::new(), Vec::new());
    for index in 0..examples.count() {
        look(run)?;
        examples.values(index, &mut values);
        let product: f64 = values
            .iter()
            .zip(weights)
            .map(|(one, other)| one * other)
            .sum();
        let slack = product - f64::from(least(examples, index));
        if slack < -1e-6 {
            wrong.push((slack, index));
        }
    }
    wrong.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    Ok(wrong
        .into_iter()
        .map(|(_, index)| index)
        .take(most)
        .collect())
}
