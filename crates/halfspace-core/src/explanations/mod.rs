//! Hypotheses in words: the heaviest terms of a hypothesis with names and exact weights.
//!
//! | hypothesis | term | weight | uses |
//! |---|---|---|---|
//! | binary weights | feature | 1 or -1 | unknown |
//! | linear | feature | the weight | unknown |
//! | Winnow | feature or its complement | alpha^e | unknown |
//! | kernel | conjunction | sum of the labels of the satisfying support vectors | these vectors |
//! | kernel Winnow | conjunction | alpha^e | net promotions and demotions of the satisfying examples |
//! | bounded | feature | the weight minus the inhibition | unknown |
//!
//! The uses of a term are the updates that changed its weight. Only the kernels keep the examples of their
//! updates. Terms stand in the order of their magnitudes, and powers in the order of their values. Ties go to
//! the term of fewer literals, and then to the earlier features. Terms of weight 0 are left out.

mod conjunctions;
mod kinds;
mod text;

use num_bigint::BigUint;
use num_integer::Integer;
use serde::Serialize;
use serde_json::Number;

use crate::learners::engine::bound::ratio;
use crate::learners::engine::run::{Interrupt, StopFlag};
use crate::learners::hypothesis::Hypothesis;

pub use conjunctions::LITERALS_MAX;

/// The most terms of an explanation.
pub const TERMS_MAX: usize = 100;

/// The most characters of a name in an explanation.
pub const NAME_CHARACTERS_MAX: usize = 200;

/// Words of work that every supported machine does in a second.
pub const WORDS_PER_SECOND: f64 = (1 << 28) as f64;

/// The subject and the limits of an explanation.
#[derive(Clone, Copy, Debug)]
pub struct ExplanationRequest<'a> {
    /// The names of the features. Features without names are called x1, x2 and so on.
    pub names: Option<&'a [String]>,
    /// Terms to show.
    pub top: usize,
    /// Words of work. See [`WORDS_PER_SECOND`].
    pub words_max: u64,
}

/// The heaviest terms of a hypothesis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Explanation {
    /// The decision rule in words.
    rule: String,
    /// The heaviest terms.
    terms: Vec<Term>,
    /// The constant of the sum; null if the hypothesis has none.
    bias: Option<TermWeight>,
    /// The most literals of the compared conjunctions; null if the terms are features.
    max_literals: Option<usize>,
    /// The squared weights of the shown terms in relation to the squared weights of all terms without the
    /// bias. For `kernel`, the latter is the sum of `y_i y_j K(x_i, x_j)` over the support vectors. Null if the
    /// weights are not integers, if all weights are 0, or for the reason in `detail`.
    share: Option<Share>,
    /// Why conjunctions of more literals or the share are missing.
    detail: Option<String>,
}

/// A term of a sum: a feature or a conjunction.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = ExplanationTerm))]
pub struct Term {
    /// The literals of the conjunction. The empty conjunction is always true.
    literals: Vec<Literal>,
    weight: TermWeight,
    /// Updates of the training that changed the weight: the support vectors that satisfy the conjunction. Null
    /// if the hypothesis does not keep them.
    uses: Option<u64>,
}

/// A feature or its complement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = ExplanationLiteral))]
pub struct Literal {
    /// Number of the feature, from 1.
    #[cfg_attr(feature = "schema", schema(minimum = 1))]
    feature: usize,
    /// Name of the feature, or `x1`, `x2` and so on. A name is cut after 200 characters.
    name: String,
    /// Whether the literal is true if the feature is 0.
    negated: bool,
}

/// The weight of a term.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum TermWeight {
    /// An exact integer, or a double. A double is real by definition, or the double nearest to a multiple of
    /// the learning rate.
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    Number(Number),
    /// A power such as `2^5`.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    Power(Power),
}

impl From<i64> for TermWeight {
    fn from(weight: i64) -> Self {
        Self::Number(weight.into())
    }
}

impl From<f64> for TermWeight {
    fn from(weight: f64) -> Self {
        Self::Number(Number::from_f64(weight).expect("weights are finite"))
    }
}

/// A power of a base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Power {
    /// The exact base as a decimal.
    base: String,
    exponent: i64,
}

impl From<Power> for String {
    fn from(Power { base, exponent }: Power) -> Self {
        format!("{base}^{exponent}")
    }
}

/// A share of squared weights.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = ExplanationShare))]
pub struct Share {
    /// The exact fraction in lowest terms, such as `2/3`.
    fraction: String,
    /// The fraction as a number.
    decimal: f64,
}

impl Share {
    /// The share of `shown` in `all`. None if `all` is 0.
    fn new(shown: &BigUint, all: &BigUint) -> Option<Self> {
        if *all == BigUint::ZERO {
            return None;
        }
        let divisor = shown.gcd(all);
        Some(Self {
            fraction: format!("{}/{}", shown / &divisor, all / &divisor),
            decimal: ratio(shown, all).0?,
        })
    }
}

/// The sum of the squares of some integers.
fn squares(weights: impl IntoIterator<Item = i64>) -> BigUint {
    let squares = weights
        .into_iter()
        .map(|weight| u128::from(weight.unsigned_abs()).pow(2));
    squares.map(BigUint::from).sum()
}

/// Explains a hypothesis. The answer depends only on the arguments, unless a time limit is raised. A kernel
/// compares conjunctions of fewer literals if the work would exceed the limit, or at a time limit.
///
/// # Errors
/// The interrupt that stopped the work.
pub fn explain(
    hypothesis: &Hypothesis,
    request: ExplanationRequest<'_>,
    stop: &StopFlag,
) -> Result<Explanation, Interrupt> {
    match hypothesis {
        Hypothesis::BinaryWeights(weights) => Ok(kinds::binary(weights, request)),
        Hypothesis::Linear(weights) => Ok(kinds::linear(weights, request)),
        Hypothesis::Winnow(weights) => Ok(kinds::winnow(weights, request)),
        Hypothesis::KernelWinnow(weights) => kinds::kernel_winnow(weights, request, stop),
        Hypothesis::Kernel(expansion) => kinds::kernel(expansion, request, stop),
        Hypothesis::Bounded(weights) => Ok(kinds::bounded(weights, request)),
    }
}

impl ExplanationRequest<'_> {
    /// The literal of a feature, counted from 0.
    fn literal(&self, feature: usize, negated: bool) -> Literal {
        let name = match self.names.and_then(|names| names.get(feature)) {
            Some(name) => name.chars().take(NAME_CHARACTERS_MAX).collect(),
            None => format!("x{}", feature + 1),
        };
        Literal {
            feature: feature + 1,
            name,
            negated,
        }
    }
}

#[cfg(test)]
mod tests;
