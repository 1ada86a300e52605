//! The quadratic program of the maximum margin, solved on a growing set of examples, and what of
//! its solution is proved.
//!
//! Minimise |w|^2 / 2 subject to a_i.w >= 1. Most examples never matter, so the solver is given
//! those nearest to the hyperplane, and then those that its answer gets nearest. Lower and upper
//! bounds on the margin are fractions of whole numbers:
//!
//! - *lower*: min a_i.w / |w| over the whole sample, with w the answer taken as the fractions that
//!   f64 are;
//! - *upper*: for any lambda >= 0, the margin of any w is at most |sum lambda_i a_i| / sum
//!   lambda_i. Where the bias is not in the norm, each label's lambda is first scaled to sum 1, so
//!   that the bias falls out, and the margin is at most half the distance of the two points.

use std::collections::HashSet;

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{ToPrimitive, Zero};

use crate::learners::data::Features;
use crate::learners::run::{Interrupt, Run};

use super::alternative::least_products;
use super::examples::{SignedExamples, look, whole, whole_shift};
use super::maximum_margin::RELATIVE_GAP_MAX;
use super::nearest_point::{Constraint, minimise};
use super::separability::SOLVER_COORDINATES_MAX;
use super::undecided::Undecided;

/// Rounds of the program.
const ROUNDS_MAX: usize = 60;

/// Examples in the program.
const PROGRAM_EXAMPLES_MAX: usize = 8192;

/// A gap that more rounds are not worth the time for.
const RELATIVE_GAP_GOOD: f64 = 1e-9;

/// Bits of the largest weight over Boolean examples, so that their scores are machine integers.
const WEIGHT_BITS: i32 = 39;

/// Support: examples farther than the nearest by at most one part in so many.
const SUPPORT_PARTS: u32 = 1_000_000;

/// Whether the bias is part of |w|.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// All coordinates of the vector count.
    WithBias,
    /// The last coordinate, the bias, does not.
    WithoutBias,
}

/// How the program ended.
pub enum Solved {
    /// Near enough to the optimum, proved.
    Margin(Margin),
    /// Not near enough.
    Undecided(Undecided),
}

/// A hyperplane whose margin is near the largest.
pub struct Margin {
    /// The weights, the bias last.
    pub weights: Vec<f64>,
    /// The margin that they have.
    pub value: f64,
    /// By how much the largest margin may exceed it, relatively.
    pub relative_gap: f64,
    /// The same weights as whole numbers, times some power of two.
    whole: Vec<BigInt>,
    /// min a.w, in whole numbers.
    least_product: BigInt,
    /// |w|^2, in whole numbers.
    norm_squared: BigUint,
}

impl Margin {
    /// A number over the square of the margin, both times 4^shift, rounded up.
    pub fn ratio_above(&self, numerator: &BigUint) -> f64 {
        let product = self.least_product.magnitude();
        let ratio = quotient(&(numerator * &self.norm_squared), &product.pow(2));
        ratio.next_up()
    }

    /// The examples whose distance is the margin, to one part in [`SUPPORT_PARTS`].
    ///
    /// # Errors
    /// The interrupt that cut it short.
    pub fn support(
        &self,
        examples: &SignedExamples<'_>,
        run: &Run,
    ) -> Result<Vec<usize>, Interrupt> {
        let limit = &self.least_product * (SUPPORT_PARTS + 1) / SUPPORT_PARTS;
        let mut support = Vec::new();
        examples.for_each_product(&self.whole, run, |index, product| {
            if product <= limit {
                support.push(index);
            }
        })?;
        Ok(support)
    }
}

/// The hyperplane of largest margin, given one of any margin.
///
/// # Errors
/// The interrupt that cut it short.
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
    let batch = coordinates.max(32);
    let squared = coordinates - usize::from(norm == Norm::WithoutBias);
    let mut working = first_examples(examples, separator, batch, run)?;
    let mut known: HashSet<usize> = working.iter().copied().collect();
    let mut best: Option<Margin> = None;
    for _ in 0..ROUNDS_MAX {
        let constraints: Vec<Constraint> =
            working.iter().map(|&i| constraint(examples, i)).collect();
        let Some(proposal) = minimise(squared, &vec![0.0; coordinates], &constraints, run)? else {
            break;
        };
        let upper = upper_bound(examples, &working, &proposal.multipliers, norm, run)?;
        let Some((weights, whole)) = fractions(examples, &proposal.variables) else {
            break;
        };
        let nearest = least_products(examples, &whole, batch, run, |_, _| true)?;
        if let (Some(upper), Some((least, _))) = (upper, nearest.first())
            && least.sign() == Sign::Plus
        {
            let margin = proved(examples, weights, whole, least, squared, &upper);
            if best
                .as_ref()
                .is_none_or(|best| margin.relative_gap < best.relative_gap)
            {
                best = Some(margin);
            }
        }
        let is_good = |margin: &Margin| margin.relative_gap <= RELATIVE_GAP_GOOD;
        let before = working.len();
        working.extend(
            nearest
                .into_iter()
                .map(|(_, i)| i)
                .filter(|i| known.insert(*i)),
        );
        let is_full = working.len() == before || working.len() > PROGRAM_EXAMPLES_MAX;
        if best.as_ref().is_some_and(is_good) || is_full {
            break;
        }
    }
    let relative_gap = best
        .as_ref()
        .map_or(f64::INFINITY, |best| best.relative_gap);
    Ok(match best {
        Some(margin) if relative_gap <= RELATIVE_GAP_MAX => Solved::Margin(margin),
        _ => Solved::Undecided(Undecided::Inaccurate { relative_gap }),
    })
}

/// The examples nearest to a separator, of both labels where there are two.
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

fn constraint(examples: &SignedExamples<'_>, index: usize) -> Constraint {
    let mut values = Vec::new();
    examples.values(index, &mut values);
    Constraint { values, least: 1.0 }
}

/// Weights as f64 and, times one power of two, as the same whole numbers. Over Boolean examples
/// they are rounded a little first.
fn fractions(examples: &SignedExamples<'_>, values: &[f64]) -> Option<(Vec<f64>, Vec<BigInt>)> {
    let largest = values
        .iter()
        .fold(0.0_f64, |largest, x| largest.max(x.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return None;
    }
    let weights: Vec<f64> = match examples.data().features() {
        Features::Real(_) => values.to_vec(),
        Features::Boolean(_) => {
            let step = libm::exp2(libm::ceil(libm::log2(largest)) - f64::from(WEIGHT_BITS));
            values
                .iter()
                .map(|x| libm::round(x / step) * step)
                .collect()
        }
    };
    let shift = whole_shift(&weights);
    let numbers = weights.iter().map(|&weight| whole(weight, shift)).collect();
    Some((weights, numbers))
}

/// The margin of weights over the whole sample, beside an upper bound on all margins.
fn proved(
    examples: &SignedExamples<'_>,
    weights: Vec<f64>,
    whole: Vec<BigInt>,
    least_product: &BigInt,
    squared: usize,
    upper: &Fraction,
) -> Margin {
    let squares = whole[..squared].iter().map(|w| w.magnitude().pow(2));
    let norm_squared: BigUint = squares.sum();
    let product_squared = least_product.magnitude().pow(2);
    // (lower / upper)^2; the powers of two in both cancel.
    let ratio = quotient(
        &(&product_squared * &upper.denominator),
        &(&norm_squared * &upper.numerator),
    );
    Margin {
        value: root(&product_squared, &norm_squared, examples.shift()),
        relative_gap: (1.0 / libm::sqrt(ratio) - 1.0).max(0.0),
        weights,
        whole,
        least_product: least_product.clone(),
        norm_squared,
    }
}

/// A fraction of whole numbers.
struct Fraction {
    numerator: BigUint,
    denominator: BigUint,
}

/// The square of an upper bound on every margin, times 4^shift, from multipliers of the examples
/// at hand; none when they say nothing.
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
    // Of positive examples first, then of negative ones.
    let mut points = [
        vec![BigInt::zero(); coordinates],
        vec![BigInt::zero(); coordinates],
    ];
    let mut sums = [BigInt::zero(), BigInt::zero()];
    for (&index, &multiplier) in working.iter().zip(multipliers) {
        look(run)?;
        // Any weights at least 0 will do, so these are rounded.
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

/// The quotient of two whole numbers, to the precision of f64 and never less than it by more.
fn quotient(numerator: &BigUint, denominator: &BigUint) -> f64 {
    let (digits, places) = leading_digits(numerator, denominator);
    libm::scalbn(digits, places)
}

/// The square root of a quotient of whole numbers, over 2^shift.
pub fn root(numerator: &BigUint, denominator: &BigUint, shift: u32) -> f64 {
    let (digits, places) = leading_digits(numerator, denominator);
    let odd = places.rem_euclid(2);
    let root = libm::sqrt(libm::scalbn(digits, odd));
    libm::scalbn(root, (places - odd) / 2 - shift as i32)
}

/// A quotient as its first 66 binary digits or so, and the power of two that they count.
fn leading_digits(numerator: &BigUint, denominator: &BigUint) -> (f64, i32) {
    let places = 66 + denominator.bits() as i64 - numerator.bits() as i64;
    let digits = match u64::try_from(places) {
        Ok(left) => (numerator << left) / denominator,
        Err(_) => numerator / (denominator << places.unsigned_abs()),
    };
    (digits.to_f64().unwrap_or(f64::INFINITY), -(places as i32))
}
