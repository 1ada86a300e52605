//! Exact checks of the two kinds of proof: a separating hyperplane, or multipliers that exclude every separating
//! hyperplane.
//!
//! The vectors a_i are the examples times their labels ([`super::examples`]). P. Gordan, "Ueber die Auflösung linearer
//! Gleichungen mit reellen Coefficienten" (1873): either some w has a_i.w > 0 for all i, or some lambda >= 0 other than
//! 0 has sum lambda_i a_i = 0. This is the strict convention.
//!
//! T. S. Motzkin, "Beiträge zur Theorie der linearen Ungleichungen" (1936): either some w has a_i.w >= 0 on the
//! positive and a_i.w > 0 on the negative examples, or there is such a lambda with a positive multiplier on a negative
//! example. This is the convention of the service.

use serde::{Deserialize, Serialize};

use num_bigint::{BigInt, Sign};
use num_traits::{One, Zero};

use crate::learners::engine::run::{Interrupt, Run};

use super::examples::{SignedExamples, look};

/// The scores that count as the right side of a hyperplane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Convention {
    /// Positive examples have positive scores, and negative examples have negative scores.
    #[default]
    Strict,
    /// The same as in predictions: a positive example may have score 0.
    Service,
}

impl Convention {
    /// The name in requests and responses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Service => "service",
        }
    }

    /// The name of the certificate that no separator exists.
    pub fn alternative(self) -> &'static str {
        match self {
            Self::Strict => "gordan",
            Self::Service => "motzkin",
        }
    }

    /// Whether a.w = 0 is wrong on an example. Multipliers with sum 0 exclude every separator only if at least one of
    /// them belongs to such an example.
    pub fn is_strict_on(self, is_negative: bool) -> bool {
        self == Self::Strict || is_negative
    }

    /// Whether the product a.w of an example has the right sign.
    pub fn is_right(self, product: &BigInt, is_negative: bool) -> bool {
        match product.sign() {
            Sign::Plus => true,
            Sign::NoSign => !self.is_strict_on(is_negative),
            Sign::Minus => false,
        }
    }
}

/// A positive integer multiplier of one example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multiplier {
    /// Index of the example, from 0.
    pub example: usize,
    /// The multiplier, above 0.
    pub weight: BigInt,
}

/// The examples with the least products a.w, in ascending order and at most `most` of them. Only examples that pass
/// the filter `counts` take part.
///
/// # Errors
/// Returns the interrupt if the run stops.
pub fn least_products(
    examples: &SignedExamples<'_>,
    weights: &[BigInt],
    most: usize,
    run: &Run,
    counts: impl Fn(&BigInt, bool) -> bool,
) -> Result<Vec<(BigInt, usize)>, Interrupt> {
    let mut kept: Vec<(BigInt, usize)> = Vec::new();
    examples.for_each_product(weights, run, |index, product| {
        if counts(&product, examples.is_negative(index)) {
            kept.push((product, index));
        }
        if kept.len() > 2 * most {
            kept.select_nth_unstable(most);
            kept.truncate(most);
        }
    })?;
    kept.sort_unstable();
    kept.truncate(most);
    Ok(kept)
}

/// The examples that `weights` misclassify, the worst first and at most `most` of them. If there are none, the
/// weights are a separator.
///
/// # Errors
/// Returns the interrupt if the run stops.
pub fn wrong_examples(
    examples: &SignedExamples<'_>,
    weights: &[BigInt],
    convention: Convention,
    most: usize,
    run: &Run,
) -> Result<Vec<usize>, Interrupt> {
    let is_wrong = |product: &BigInt, is_negative| !convention.is_right(product, is_negative);
    let wrong = least_products(examples, weights, most, run, is_wrong)?;
    Ok(wrong.into_iter().map(|(_, index)| index).collect())
}

/// Whether the sum of the multiplied examples excludes every separator.
///
/// # Errors
/// Returns the interrupt if the run stops.
pub fn exclude_separators(
    examples: &SignedExamples<'_>,
    multipliers: &[Multiplier],
    convention: Convention,
    run: &Run,
) -> Result<bool, Interrupt> {
    let mut sum = vec![BigInt::zero(); examples.coordinates()];
    let mut has_strict = false;
    for multiplier in multipliers {
        look(run)?;
        if multiplier.weight.sign() != Sign::Plus || multiplier.example >= examples.count() {
            return Ok(false);
        }
        has_strict |= convention.is_strict_on(examples.is_negative(multiplier.example));
        let column = examples.column(multiplier.example);
        column.add_to(&mut sum, &multiplier.weight);
    }
    Ok(has_strict && sum.iter().all(Zero::is_zero))
}

/// Returns multipliers of 1 for the given examples.
pub fn units(examples: impl IntoIterator<Item = usize>) -> Vec<Multiplier> {
    let unit = |example| Multiplier {
        example,
        weight: BigInt::one(),
    };
    examples.into_iter().map(unit).collect()
}
