//! Finds the hyperplane of maximum margin by a quadratic program on a growing set of examples, with proved bounds.
//!
//! The program minimises |w|^2 / 2 subject to a_i.w >= 1. Most examples are irrelevant to the optimum, so the solver
//! starts with those nearest to a given separating hyperplane, and each round adds those nearest to the solver's own
//! hyperplane. If the result is too far from the optimum, the exact method follows ([`super::exact_nearest_point`]). If
//! no limit stops it, hardly more than the rounding of the weights to f64 then separates the result from the optimum.
//!
//! Both bounds on the margin are fractions of integers:
//!
//! - *lower*: min a_i.w / |w| over the whole sample. The f64 weights w count as the exact fractions that they
//!   represent.
//! - *upper*: for any lambda >= 0, the margin of any w is at most |sum lambda_i a_i| / sum lambda_i. If the norm
//!   excludes the bias, the lambda of each label are first scaled to sum 1, which cancels the bias. The margin is then
//!   at most half the length of sum lambda_i a_i.

use std::collections::HashSet;

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::Zero;

use crate::learners::engine::run::{Interrupt, Run};

use super::alternative::least_products;
use super::decision::SOLVER_COORDINATES_MAX;
use super::exact_nearest_point::{Nearness, nearest_hull_point};
use super::examples::{SignedExamples, look};
use super::interior_point::{Constraint, minimise};
use super::proved_margin::{Fraction, Margin, Norm, Proved, nearer, proved, quotient};
use super::solver_units::SolverUnits;
use super::undecided::Undecided;

/// Largest number of rounds of the program.
const ROUNDS_MAX: usize = 60;

/// Largest number of examples in the program.
const PROGRAM_EXAMPLES_MAX: usize = 8192;

/// Number of scales, from 1 to 2, at which the exact optimum is rounded until one result is near enough. At each
/// scale the last place of f64 rounds differently.
const ROUNDINGS_MAX: u32 = 16;

/// Relative gap at which further rounds are not worth their time.
const RELATIVE_GAP_GOOD: f64 = 1e-9;

/// Result of the program.
pub enum Solved {
    /// A hyperplane with a proved bound on the distance to the optimum.
    Margin(Margin),
    /// The program found no hyperplane.
    Undecided(Undecided),
}

/// Finds the hyperplane of largest margin. `separator` is any separating hyperplane.
///
/// # Errors
/// Returns the interrupt if the run stops.
pub fn largest_margin(
    examples: &SignedExamples<'_>,
    separator: &[BigInt],
    norm: Norm,
    run: &Run,
) -> Result<Solved, Interrupt> {
    let coordinates = examples.coordinates();
    if coordinates > SOLVER_COORDINATES_MAX {
        return Ok(Solved::Undecided(Undecided::TooWideForMargin {
            coordinates,
            coordinates_max: SOLVER_COORDINATES_MAX,
        }));
    }
    let mut best = solved_in_f64(examples, separator, norm, run)?;
    if !best.as_ref().is_some_and(Margin::is_optimal) {
        best = nearer(best, solved_exactly(examples, separator, norm, run)?);
    }
    Ok(best.map_or(Solved::Undecided(Undecided::NoMargin), Solved::Margin))
}

/// The best hyperplane of the f64 solver.
fn solved_in_f64(
    examples: &SignedExamples<'_>,
    separator: &[BigInt],
    norm: Norm,
    run: &Run,
) -> Result<Option<Margin>, Interrupt> {
    let coordinates = examples.coordinates();
    let batch = coordinates.max(32);
    let mut working = first_examples(examples, separator, batch, run)?;
    let mut known: HashSet<usize> = working.iter().copied().collect();
    let mut best: Option<Margin> = None;
    for _ in 0..ROUNDS_MAX {
        let units = SolverUnits::new(examples, &working, norm);
        let constraints: Vec<Constraint> = working
            .iter()
            .map(|&index| units.constraint(examples, index))
            .collect();
        let is_finite = |constraint: &Constraint| constraint.values.iter().all(|x| x.is_finite());
        if !constraints.iter().all(is_finite) {
            break;
        }
        let squared = norm.squared(coordinates);
        let Some(proposal) = minimise(squared, &vec![0.0; coordinates], &constraints, run)? else {
            break;
        };
        let upper = upper_bound(examples, &working, &proposal.multipliers, norm, run)?;
        let values = units.undo(&proposal.variables);
        let Some(Proved { margin, nearest }) =
            proved(examples, values, norm, upper.as_ref(), batch, run)?
        else {
            break;
        };
        best = nearer(best, margin);
        let is_good = |margin: &Margin| margin.relative_gap <= RELATIVE_GAP_GOOD;
        let before = working.len();
        working.extend(nearest.into_iter().filter(|i| known.insert(*i)));
        let is_full = working.len() == before || working.len() > PROGRAM_EXAMPLES_MAX;
        if best.as_ref().is_some_and(is_good) || is_full {
            break;
        }
    }
    Ok(best)
}

/// The rounded optimum of the exact method, or the best point so far if the method reaches a limit.
fn solved_exactly(
    examples: &SignedExamples<'_>,
    separator: &[BigInt],
    norm: Norm,
    run: &Run,
) -> Result<Option<Margin>, Interrupt> {
    let nearest = nearest_hull_point(examples, separator, norm, Nearness::Enough, run)?;
    // A vertex is one example or the sum of two, and each example has a product of 1 with the scaled optimum.
    let ones: u32 = match norm {
        Norm::WithBias => 1,
        Norm::WithoutBias => 2,
    };
    let squares = nearest.point.iter().map(|x| x.magnitude().pow(2));
    let upper = Fraction {
        numerator: squares.sum(),
        denominator: (nearest.total.magnitude() * ones).pow(2),
    };
    let mut best = None;
    let denominator = nearest.least_product.magnitude() * ROUNDINGS_MAX;
    for part in 0..ROUNDINGS_MAX {
        let length = (BigUint::from(ones) * (ROUNDINGS_MAX + part)) << examples.shift();
        let rounded = |x: &BigInt| {
            let magnitude = quotient(&(x.magnitude() * &length), &denominator);
            if x.sign() == Sign::Minus {
                -magnitude
            } else {
                magnitude
            }
        };
        let mut values: Vec<f64> = nearest.direction.iter().map(rounded).collect();
        values.resize(examples.coordinates(), 0.0);
        let judged = proved(examples, values, norm, Some(&upper), 1, run)?;
        best = nearer(best, judged.and_then(|proved| proved.margin));
        if best.as_ref().is_some_and(Margin::is_optimal) {
            break;
        }
    }
    Ok(best)
}

/// The examples nearest to a separator, from each label.
fn first_examples(
    examples: &SignedExamples<'_>,
    separator: &[BigInt],
    batch: usize,
    run: &Run,
) -> Result<Vec<usize>, Interrupt> {
    let mut indices = Vec::new();
    for label in [false, true] {
        let of_label = |_: &BigInt, is_negative| is_negative == label;
        let nearest = least_products(examples, separator, batch, run, of_label)?;
        indices.extend(nearest.into_iter().map(|(_, index)| index));
    }
    Ok(indices)
}

/// The square of an upper bound on every margin, times 4^shift, from the multipliers of the working examples. It is
/// `None` if they give no bound.
///
/// # Errors
/// Returns the interrupt if the run stops.
fn upper_bound(
    examples: &SignedExamples<'_>,
    working: &[usize],
    multipliers: &[f64],
    norm: Norm,
    run: &Run,
) -> Result<Option<Fraction>, Interrupt> {
    let largest = multipliers
        .iter()
        .fold(0.0_f64, |largest, &x| largest.max(x));
    let step = largest * libm::exp2(-52.0);
    let coordinates = examples.coordinates();
    // The point of the positive examples, then that of the negative ones.
    let mut points = [
        vec![BigInt::zero(); coordinates],
        vec![BigInt::zero(); coordinates],
    ];
    let mut sums = [BigInt::zero(), BigInt::zero()];
    for (&index, &multiplier) in working.iter().zip(multipliers) {
        look(run)?;
        // Any multipliers of at least 0 give a valid bound, so rounding is allowed.
        let amount = BigInt::from(libm::round(multiplier.max(0.0) / step) as u64);
        if !amount.is_zero() {
            let label = usize::from(examples.is_negative(index));
            examples.column(index).add_to(&mut points[label], &amount);
            sums[label] += amount;
        }
    }
    let [positive, negative] = points;
    let squares = |point: &mut dyn Iterator<Item = BigInt>| -> BigUint {
        point.map(|x| x.magnitude().pow(2)).sum()
    };
    let pairs = positive.iter().zip(&negative);
    let (numerator, denominator) = match norm {
        Norm::WithBias => {
            let total = (&sums[0] + &sums[1]).magnitude().pow(2);
            (squares(&mut pairs.map(|(p, q)| p + q)), total)
        }
        Norm::WithoutBias => {
            let pairs = pairs.take(coordinates - 1);
            let point = &mut pairs.map(|(p, q)| p * &sums[1] + q * &sums[0]);
            let total = (&sums[0] * &sums[1]).magnitude().pow(2) * 4_u32;
            (squares(point), total)
        }
    };
    let says_something = !denominator.is_zero() && !numerator.is_zero();
    Ok(says_something.then_some(Fraction {
        numerator,
        denominator,
    }))
}
