//! Weights in f64, and the margin that they have over the whole sample beside an upper bound on
//! every margin, in fractions of whole numbers.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, ToPrimitive};

use crate::learners::data::Features;
use crate::learners::run::{Interrupt, Run};

use super::alternative::least_products;
use super::examples::{SignedExamples, whole, whole_shift};
use super::maximum_margin::RELATIVE_GAP_MAX;

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

impl Norm {
    /// How many coordinates of a vector count, the bias being its last.
    pub fn squared(self, coordinates: usize) -> usize {
        coordinates - usize::from(self == Self::WithoutBias)
    }
}

/// A hyperplane that separates, and how near its margin is to the largest.
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
    /// Whether it is near enough to the largest to be called so.
    pub fn is_optimal(&self) -> bool {
        self.relative_gap <= RELATIVE_GAP_MAX
    }

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

/// The margin of the lesser gap.
pub fn nearer(one: Option<Margin>, other: Option<Margin>) -> Option<Margin> {
    match (one, other) {
        (Some(one), Some(other)) if other.relative_gap < one.relative_gap => Some(other),
        (one, other) => one.or(other),
    }
}

/// A fraction of whole numbers.
pub struct Fraction {
    pub numerator: BigUint,
    pub denominator: BigUint,
}

/// What is proved of some weights.
pub struct Proved {
    /// Their margin over the whole sample, if they separate it.
    pub margin: Option<Margin>,
    /// The examples nearest to their hyperplane.
    pub nearest: Vec<usize>,
}

/// The margin of weights over the whole sample, and the examples nearest to their hyperplane, at
/// most `most`. None when they are not numbers.
///
/// # Errors
/// The interrupt that cut it short.
pub fn proved(
    examples: &SignedExamples<'_>,
    mut values: Vec<f64>,
    norm: Norm,
    upper: Option<&Fraction>,
    most: usize,
    run: &Run,
) -> Result<Option<Proved>, Interrupt> {
    let is_real = matches!(examples.data().features(), Features::Real(_));
    if is_real && norm == Norm::WithoutBias {
        centre_bias(examples, &mut values, run)?;
    }
    let Some((weights, whole)) = fractions(examples, &values) else {
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

/// The margin of weights with a least product above 0, beside an upper bound on all margins.
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

/// The bias, given the other weights, that is as far from one label's examples as from the other's:
/// over real values it is worth another pass, as a bias rounded apart from them may miss the middle.
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

/// The quotient of two whole numbers, to the precision of f64 and never less than it by more.
pub fn quotient(numerator: &BigUint, denominator: &BigUint) -> f64 {
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
