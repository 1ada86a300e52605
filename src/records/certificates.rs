//! What is asked about a sample as such, and what came of it: separability, maximum margin,
//! version space.

use num_bigint::BigInt;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use utoipa::ToSchema;

use crate::certificates::version_space::LIST_MAX;
use crate::learners::random::SEED_MAX;

use super::hypothesis::{HypothesisDocument, ReadingName};
use super::id::ModelId;
use super::train::{BoundDocument, Seconds};

/// Whether a hyperplane separates the examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeparabilitySpec {
    /// Whether the hyperplane may miss the origin.
    pub bias: bool,
    /// How a bit is read; signed when absent.
    pub reading: Option<ReadingName>,
    /// What it means to be on the right side.
    pub convention: ConventionName,
    /// Seconds of computing.
    pub max_seconds: Option<Seconds>,
}

/// What it means that a hyperplane has an example on the right side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConventionName {
    /// Positive examples have positive scores, negative ones negative scores.
    #[default]
    Strict,
    /// As the service predicts: a positive example may have the score 0.
    Service,
}

/// The hyperplane with the largest margin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MaximumMarginSpec {
    /// Whether the hyperplane may miss the origin.
    pub bias: bool,
    /// How a bit is read; signed when absent.
    pub reading: Option<ReadingName>,
    /// Seconds of computing.
    pub max_seconds: Option<Seconds>,
}

/// All binary weights that agree with the examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionSpaceSpec {
    /// How many are listed.
    pub list: ListLength,
    /// Seconds of computing.
    pub max_seconds: Option<Seconds>,
}

/// How many hypotheses are listed, at most 10,000.
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
            Err(format!("{length} is no whole number from 0 to {LIST_MAX}"))
        }
    }
}

/// Whether a hyperplane separates the examples, with a certificate that was checked in integers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SeparabilityResult {
    /// Null when a limit came first.
    pub separable: Option<bool>,
    /// The proof; null when undecided.
    pub certificate: Option<CertificateDocument>,
    /// What was asked.
    pub convention: ConventionName,
    /// Why it is undecided, or what the proof rests on.
    pub detail: Option<String>,
    /// Seconds of computing.
    pub seconds: f64,
}

/// A proof that a sample is separable, or that it is not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CertificateDocument {
    /// A hyperplane that has every example on its side.
    Separator {
        /// One whole number a feature; a decimal string beyond 2^53.
        #[schema(value_type = Vec<WholeNumber>)]
        weights: Vec<Value>,
        /// The bias; null when none was asked for.
        #[schema(value_type = Option<WholeNumber>)]
        bias: Option<Value>,
    },
    /// Multipliers, all positive, with sum lambda_i y_i x_i = 0: no strict separator (Gordan).
    Gordan {
        /// The multipliers that are not 0.
        multipliers: Vec<MultiplierDocument>,
    },
    /// The same, one of them at least on a negative example: no separator in the service's
    /// convention (Motzkin).
    Motzkin {
        /// The multipliers that are not 0.
        multipliers: Vec<MultiplierDocument>,
    },
}

/// The multiplier of one example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MultiplierDocument {
    /// The example, counted from 0.
    pub example: u64,
    /// A positive whole number in decimal.
    pub weight: String,
}

/// The hyperplane with the largest margin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MaximumMarginResult {
    /// Null when a limit came first.
    pub separable: Option<bool>,
    /// Why there is none; null when there is one.
    pub certificate: Option<CertificateDocument>,
    /// The stored model; null without a hyperplane.
    pub model: Option<ModelId>,
    /// The hyperplane; null when there is none, or it is longer than 256 KiB: then fetch the model.
    pub hypothesis: Option<HypothesisDocument>,
    /// The distance of the nearest examples from the hyperplane, which the hypothesis keeps.
    pub margin: Option<f64>,
    /// A margin that no hyperplane exceeds.
    pub margin_at_most: Option<f64>,
    /// The examples at the margin, counted from 0.
    pub support: Option<Vec<u64>>,
    /// Novikoff's bound from the optimum.
    pub bound: Option<BoundDocument>,
    /// Why there is no hyperplane, or what the figures rest on.
    pub detail: Option<String>,
    /// Seconds of computing.
    pub seconds: f64,
}

/// All binary weights that agree with the examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VersionSpaceResult {
    /// How many there are, in decimal; null when a limit came first.
    pub count: Option<String>,
    /// Whether there is exactly one; null when a limit came first.
    pub unique: Option<bool>,
    /// The first of them, one bit a weight, in ascending order.
    pub hypotheses: Vec<String>,
    /// Why the count is not known.
    pub detail: Option<String>,
    /// Seconds of computing.
    pub seconds: f64,
}

/// A whole number: a decimal string where a JSON number would be rounded.
#[derive(ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "the schema of what whole_number makes")]
pub enum WholeNumber {
    /// At most 2^53 - 1 in magnitude.
    Number(i64),
    /// Beyond.
    Text(String),
}

/// A whole number as JSON: a number where every reader holds it, else a decimal string.
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
    fn a_number_that_readers_would_round_is_text() {
        let limit = BigInt::from(1_u64 << 53);
        assert_eq!(whole_number(&(&limit - 1)), 9_007_199_254_740_991_i64);
        assert_eq!(whole_number(&limit), "9007199254740992");
        assert_eq!(whole_number(&-limit), "-9007199254740992");
    }
}
