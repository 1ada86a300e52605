//! The exact margin of f64 weights over the whole sample, compared with an upper bound on every margin.
//!
//! All comparisons use fractions of integers.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, ToPrimitive};

use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::sample::data::DenseFeatures;

use super::alternative::least_products;
use super::examples::{SignedExamples, whole, whole_shift};

/// Largest relative gap between the margin of an optimal result and the proved upper bound on every margin.
pub const RELATIVE_GAP_MAX: f64 = 1e-6;

/// Bits of the largest weight on Boolean examples, so that the scores are machine integers.
const WEIGHT_BITS: i32 = 39;

/// Whether |w| includes the bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// The norm includes all coordinates of the vector.
    WithBias,
    /// The norm excludes the last coordinate, the bias.
    WithoutBias,
}

impl Norm {
    /// The number of coordinates that the norm includes. The bias is the last coordinate of the vector.
    pub fn squared(self, coordinates: usize) -> usize {
        coordinates - usize::from(self == Self::WithoutBias)
    }
}

/// A separating hyperplane, and the gap between its margin and the largest margin.
pub struct Margin {
    /// The weights, the bias last.
    pub weights: Vec<f64>,
    /// The margin of the weights.
    pub value: f64,
    /// Upper bound on the relative excess of the largest margin over `value`.
    pub relative_gap: f64,
    /// The same weights as integers, times some power of two.
    whole: Vec<BigInt>,
    /// min a.w in integers.
    least_product: BigInt,
    /// |w|^2 in integers.
    norm_squared: BigUint,
    /// An upper bound on the square of every margin, times 4^shift.
    upper: Fraction,
}

impl Margin {
    /// Whether we may call the margin optimal, because it is near enough to the largest.
    pub fn is_optimal(&self) -> bool {
        self.relative_gap <= RELATIVE_GAP_MAX
    }

    /// Divides a number by the square of the margin and rounds up. Both are given times 4^shift.
    pub fn ratio_above(&self, numerator: &BigUint) -> f64 {
        let product = self.least_product.magnitude();
        let ratio = quotient(&(numerator * &self.norm_squared), &product.pow(2));
        ratio.next_up()
    }

    /// Other weights with their margin, beside the same upper bound, or `None` if they do not separate the examples.
    ///
    /// # Errors
    /// Returns the interrupt if the run stops.
    pub fn of_other_weights(
        &self,
        examples: &SignedExamples<'_>,
        weights: &[f64],
        norm: Norm,
        run: &Run,
    ) -> Result<Option<Self>, Interrupt> {
        let found = measured(examples, weights, norm, Some(&self.upper), 1, run)?;
        Ok(found.and_then(|found| found.margin))
    }

    /// The examples whose distance from these weights is the margin, with a tolerance of one part in `parts`.
    ///
    /// # Errors
    /// Returns the interrupt if the run stops.
    pub fn nearest(
        &self,
        examples: &SignedExamples<'_>,
        parts: u32,
        run: &Run,
    ) -> Result<Vec<usize>, Interrupt> {
        let limit = &self.least_product * (parts + 1) / parts;
        let mut nearest = Vec::new();
        examples.for_each_product(&self.whole, run, |index, product| {
            if product <= limit {
                nearest.push(index);
            }
        })?;
        Ok(nearest)
    }

    /// The weights as integers, times some power of two.
    pub fn whole(&self) -> &[BigInt] {
        &self.whole
    }
}

/// The margin with the smaller gap.
pub fn nearer(one: Option<Margin>, other: Option<Margin>) -> Option<Margin> {
    match (one, other) {
        (Some(one), Some(other)) if other.relative_gap < one.relative_gap => Some(other),
        (one, other) => one.or(other),
    }
}

/// A fraction of integers.
#[derive(Clone)]
pub struct Fraction {
    pub numerator: BigUint,
    pub denominator: BigUint,
}

/// Proved facts about some weights.
pub struct Proved {
    /// The margin over the whole sample, if the weights separate it.
    pub margin: Option<Margin>,
    /// The examples nearest to the hyperplane.
    pub nearest: Vec<usize>,
}

/// Computes the margin of weights over the whole sample, and at most `most` examples nearest to their hyperplane. The
/// result is `None` if all weights are 0 or the largest is not finite.
///
/// # Errors
/// Returns the interrupt if the run stops.
pub fn proved(
    examples: &SignedExamples<'_>,
    mut values: Vec<f64>,
    norm: Norm,
    upper: Option<&Fraction>,
    most: usize,
    run: &Run,
) -> Result<Option<Proved>, Interrupt> {
    let is_real = matches!(examples.features(), DenseFeatures::Real(_));
    if is_real && norm == Norm::WithoutBias {
        centre_bias(examples, &mut values, run)?;
    }
    measured(examples, &values, norm, upper, most, run)
}

/// Does the same as [`proved`], but leaves the bias as it is.
fn measured(
    examples: &SignedExamples<'_>,
    values: &[f64],
    norm: Norm,
    upper: Option<&Fraction>,
    most: usize,
    run: &Run,
) -> Result<Option<Proved>, Interrupt> {
    let Some((weights, whole)) = fractions(examples, values) else {
        return Ok(None);
    };
    let nearest = least_products(examples, &whole, most, run, |_, _| true)?;
    let margin = match (upper, nearest.first()) {
        (Some(upper), Some((least, _))) if least.sign() == Sign::Plus => {
            Some(margin(examples, weights, whole, least, norm, upper))
        }
        _ => None,
    };
    let nearest = nearest.into_iter().map(|(_, index)| index).collect();
    Ok(Some(Proved { margin, nearest }))
}

/// Computes the margin of weights with a positive least product, and the gap to an upper bound on all
/// margins.
fn margin(
    examples: &SignedExamples<'_>,
    weights: Vec<f64>,
    whole: Vec<BigInt>,
    least_product: &BigInt,
    norm: Norm,
    upper: &Fraction,
) -> Margin {
    let squared = norm.squared(whole.len());
    let squares = whole[..squared].iter().map(|w| w.magnitude().pow(2));
    let norm_squared: BigUint = squares.sum();
    let product_squared = least_product.magnitude().pow(2);
    // (lower / upper)^2. The powers of two cancel.
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
        upper: upper.clone(),
    }
}

/// The weights as f64 and as the same numbers in integers, times one power of two. On Boolean examples the weights
/// are rounded slightly first.
fn fractions(examples: &SignedExamples<'_>, values: &[f64]) -> Option<(Vec<f64>, Vec<BigInt>)> {
    let largest = values
        .iter()
        .fold(0.0_f64, |largest, x| largest.max(x.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return None;
    }
    let weights: Vec<f64> = match examples.features() {
        DenseFeatures::Real(_) => values.to_vec(),
        DenseFeatures::Boolean(_) => {
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

/// Chooses the bias so that the examples of both labels are equally far. On real values this needs a further pass,
/// because a bias that was rounded separately may miss the middle.
fn centre_bias(
    examples: &SignedExamples<'_>,
    weights: &mut [f64],
    run: &Run,
) -> Result<(), Interrupt> {
    let last = weights.len() - 1;
    weights[last] = 0.0;
    if weights.iter().any(|weight| !weight.is_finite()) {
        return Ok(());
    }
    let shift = whole_shift(weights);
    let numbers: Vec<BigInt> = weights.iter().map(|&w| whole(w, shift)).collect();
    let mut least: [Option<BigInt>; 2] = [None, None];
    examples.for_each_product(&numbers, run, |index, product| {
        let least = &mut least[usize::from(examples.is_negative(index))];
        if least.as_ref().is_none_or(|least| product < *least) {
            *least = Some(product);
        }
    })?;
    if let [Some(positive), Some(negative)] = least {
        let twice = negative - positive;
        let unit = BigUint::one() << (examples.shift() + shift + 1);
        let magnitude = quotient(twice.magnitude(), &unit);
        weights[last] = if twice.sign() == Sign::Minus {
            -magnitude
        } else {
            magnitude
        };
    }
    Ok(())
}

/// The quotient of two integers, which is below the exact quotient by at most the precision of f64.
pub fn quotient(numerator: &BigUint, denominator: &BigUint) -> f64 {
    let (digits, places) = leading_digits(numerator, denominator);
    libm::scalbn(digits, places)
}

/// The square root of a quotient of integers, divided by 2^shift.
pub fn root(numerator: &BigUint, denominator: &BigUint, shift: u32) -> f64 {
    let (digits, places) = leading_digits(numerator, denominator);
    let odd = places.rem_euclid(2);
    let root = libm::sqrt(libm::scalbn(digits, odd));
    libm::scalbn(root, (places - odd) / 2 - shift as i32)
}

/// About 66 leading binary digits of a quotient, and the power of two of the last digit.
fn leading_digits(numerator: &BigUint, denominator: &BigUint) -> (f64, i32) {
    let places = 66 + denominator.bits() as i64 - numerator.bits() as i64;
    let digits = match u64::try_from(places) {
        Ok(left) => (numerator << left) / denominator,
        Err(_) => numerator / (denominator << places.unsigned_abs()),
    };
    (digits.to_f64().unwrap_or(f64::INFINITY), -(places as i32))
}
