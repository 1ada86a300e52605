//! Requests and results of three questions about a sample: separability, maximum margin and version space.

use num_bigint::BigInt;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use utoipa::ToSchema;

use halfspace_core::certificates::Certificates;
use halfspace_core::learners::engine::random::SEED_MAX;
use halfspace_core::learners::linear::linear_weights::Reading;
use halfspace_core::separability::decision::Convention;
use halfspace_core::separability::version_space::LIST_MAX;

use super::hypothesis::{HypothesisDocument, NumberOrDecimal};
use super::id::ModelId;
use super::train::{BoundDocument, Seconds, Share};

/// Decides whether a hyperplane separates the examples, with a certificate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SeparabilityRequest)]
pub struct SeparabilitySpec {
    /// Whether the hyperplane may miss the origin.
    #[serde(default = "yes")]
    pub bias: bool,
    /// Numbers that the bits stand for; `signed` when absent. Real-valued data stay unchanged.
    pub reading: Option<Reading>,
    /// Condition for an example to be on the right side of the hyperplane.
    #[serde(default)]
    pub convention: Convention,
    /// Seconds of computing; 600 when absent.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0)]
    pub max_seconds: Option<Seconds>,
}

fn yes() -> bool {
    true
}

/// Finds the hyperplane with the largest margin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MaximumMarginRequest)]
pub struct MaximumMarginSpec {
    /// Whether the hyperplane may miss the origin.
    #[serde(default = "yes")]
    pub bias: bool,
    /// Numbers that the bits stand for; `signed` when absent. Real-valued data stay unchanged.
    pub reading: Option<Reading>,
    /// The confidence of the certificate; 0.95 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, exclusive_minimum = 0, exclusive_maximum = 1)]
    pub confidence: Option<Share>,
    /// Seconds of computing; 600 when absent.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0)]
    pub max_seconds: Option<Seconds>,
}

/// The parameters that a model of the maximum margin keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaximumMarginParams {
    /// Whether the hyperplane may miss the origin.
    pub bias: bool,
    /// The values of the bits; signed when absent.
    pub reading: Option<Reading>,
}

/// Finds all weights in {-1, +1} that agree with the examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = VersionSpaceRequest)]
pub struct VersionSpaceSpec {
    /// Largest number of weight vectors in the result; 100 when absent.
    #[schema(value_type = Option<u32>, maximum = 10000)]
    pub list: Option<ListLength>,
    /// Seconds of computing; 600 when absent.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0)]
    pub max_seconds: Option<Seconds>,
}

/// Number of hypotheses to list, at most 10,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32")]
pub struct ListLength(u32);

impl ListLength {
    /// The number.
    pub fn get(self) -> usize {
        self.0 as usize
    }
}

impl Default for ListLength {
    fn default() -> Self {
        Self(100)
    }
}

impl TryFrom<u32> for ListLength {
    type Error = String;

    fn try_from(length: u32) -> Result<Self, String> {
        if length as usize <= LIST_MAX {
            Ok(Self(length))
        } else {
            Err(format!(
                "{length} is not a whole number from 0 to {LIST_MAX}"
            ))
        }
    }
}

/// Whether a hyperplane separates the examples. The certificate was checked in integers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SeparabilityResult {
    /// Null if a limit ended the computation.
    pub separable: Option<bool>,
    /// The proof; null if undecided.
    pub certificate: Option<CertificateDocument>,
    /// The convention of the request.
    pub convention: Convention,
    /// The reason why the question is undecided, or the basis of the proof.
    pub detail: Option<String>,
    /// Seconds of computing.
    pub seconds: f64,
}

/// A proof that a sample is separable or that it is not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CertificateDocument {
    /// A hyperplane with every example on the right side.
    Separator {
        /// One integer per feature, as a decimal string from 2^53 on.
        #[schema(value_type = Vec<NumberOrDecimal>)]
        weights: Vec<Value>,
        /// The bias; null if the request asked for none.
        #[schema(value_type = Option<NumberOrDecimal>)]
        bias: Option<Value>,
    },
    /// Positive multipliers with sum lambda_i y_i x_i = 0. No strict separator exists (Gordan).
    Gordan {
        /// The multipliers that are not 0.
        multipliers: Vec<MultiplierDocument>,
    },
    /// The same sum with a positive multiplier on a negative example. No separator exists in the service's
    /// convention (Motzkin).
    Motzkin {
        /// The multipliers that are not 0.
        multipliers: Vec<MultiplierDocument>,
    },
}

/// A proof that no binary weights agree with the examples.
///
/// Let u_i be example i with the bits as -1 and +1, and negated if the label is negative. Let b_i be 1 for odd n. For
/// even n, b_i is 2 for a negative example and 0 for a positive one. Binary weights w that agree with the examples have
/// w.u_i >= b_i. The multipliers y_i have sum y_i b_i > |sum y_i u_i|_1, so there is no such w.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = WeightsExclusion)]
pub struct ExclusionDocument {
    /// The multipliers that are not 0.
    pub multipliers: Vec<MultiplierDocument>,
    /// Whether the right side is 0. The proof then excludes every hyperplane through the origin too.
    pub excludes_real_weights: bool,
}

/// The multiplier of one example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MultiplierDocument {
    /// Index of the example, from 0.
    pub example: u64,
    /// A positive integer in decimal.
    pub weight: String,
}

/// The hyperplane with the largest margin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MaximumMarginResult {
    /// Null if a limit ended the computation.
    pub separable: Option<bool>,
    /// The proof that no hyperplane separates the examples; null otherwise.
    pub certificate: Option<CertificateDocument>,
    /// The stored model; null without a hyperplane.
    pub model: Option<ModelId>,
    /// The hyperplane. Null if there is none or if it is longer than 256 KiB; then fetch the model.
    pub hypothesis: Option<HypothesisDocument>,
    /// The proved distance of the nearest examples from the hyperplane.
    pub margin: Option<f64>,
    /// An upper bound on the margin of every hyperplane.
    pub margin_at_most: Option<f64>,
    /// The indices of all examples at the margin, from 0: of the exact optimum, or as `detail` says.
    pub support: Option<Vec<u64>>,
    /// The certificate of the hyperplane, or the reason why there is none.
    #[serde(flatten)]
    pub certified: Certificates,
    /// Novikoff's bound from the optimal margin.
    pub bound: Option<BoundDocument>,
    /// The reason why there is no hyperplane, or the basis of the figures.
    pub detail: Option<String>,
    /// Seconds of computing.
    pub seconds: f64,
}

/// All binary weights that agree with the examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VersionSpaceResult {
    /// The number of weight vectors, in decimal; null if the number is unknown.
    pub count: Option<String>,
    /// Whether there is exactly one weight vector; null if the number is unknown.
    pub unique: Option<bool>,
    /// The first weight vectors in ascending order, one bit per weight.
    pub hypotheses: Vec<String>,
    /// The proof that there is no weight vector; for more than 32 features only.
    #[serde(default)]
    pub exclusion: Option<ExclusionDocument>,
    /// The reason why the count is unknown.
    pub detail: Option<String>,
    /// Seconds of computing.
    pub seconds: f64,
}

/// Writes an integer as JSON: a number if every reader can represent it exactly, otherwise a decimal string.
pub fn whole_number(number: &BigInt) -> Value {
    let safe = i64::try_from(number)
        .ok()
        .filter(|small| small.unsigned_abs() <= SEED_MAX);
    match safe {
        Some(small) => Value::Number(Number::from(small)),
        None => Value::String(number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_from_2_to_the_53_are_text() {
        let limit = BigInt::from(1_u64 << 53);
        assert_eq!(whole_number(&(&limit - 1)), 9_007_199_254_740_991_i64);
        assert_eq!(whole_number(&limit), "9007199254740992");
        assert_eq!(whole_number(&-limit), "-9007199254740992");
    }
}
