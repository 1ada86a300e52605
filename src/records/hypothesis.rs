//! A hypothesis as a document: what answers show and models store.

use serde::{Deserialize, Serialize};
use serde_json::Number;
use utoipa::ToSchema;

use crate::bits::BitVector;
use crate::learners::bounded::BoundedWeights;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::linear::{
    INTEGER_WEIGHT_MAX, IntegerWeights, LinearWeights, Reading, RealWeights,
};

use super::kernel_document::{self, KernelDocument, SupportVector};

/// A hypothesis, by its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HypothesisDocument {
    /// Prediction +1 iff the inner product of weights and example, both in {-1, +1}, is >= 0.
    BinaryWeights {
        /// Features an example.
        n: usize,
        /// One character a weight: 1 for +1, 0 for -1.
        weights: String,
    },
    /// Prediction +1 iff the sum of weights times features, plus the bias, is >= 0.
    Linear {
        /// Features an example.
        n: usize,
        /// One number a feature; whole numbers are exact.
        #[schema(value_type = Vec<f64>)]
        weights: Vec<Number>,
        /// The bias; null when there is none.
        #[schema(value_type = Option<f64>)]
        bias: Option<Number>,
        /// How Boolean examples are read; null for real-valued ones.
        reading: Option<ReadingName>,
    },
    /// Prediction +1 iff the sum of `y K(x, example)` over the support vectors is >= 0, K being
    /// the number of conjunctions that both satisfy.
    Kernel {
        /// Features an example.
        n: usize,
        /// Which conjunctions count.
        kernel: KernelDocument,
        /// The examples that were got wrong, in the order in which they were.
        support: Vec<SupportVector>,
    },
    /// Prediction +1 iff the sum of (weight - inhibition) times feature, divided by n and less the
    /// threshold, is >= 0. Bits are read as 0 and 1.
    Bounded {
        /// Features an example.
        n: usize,
        /// One number a feature, from 0 to 1.
        #[schema(value_type = Vec<f64>)]
        weights: Vec<Number>,
        /// What is subtracted from every weight.
        #[schema(value_type = f64, minimum = 0)]
        inhibition: Number,
        /// What the score must reach.
        #[schema(value_type = f64, minimum = 0)]
        threshold: Number,
    },
}

/// How a Boolean example is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadingName {
    /// Bit 1 is +1 and bit 0 is -1.
    Signed,
    /// Bit 1 is 1 and bit 0 is 0.
    Unsigned,
}

/// A document that is no hypothesis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HypothesisError(String);

impl HypothesisDocument {
    /// The name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BinaryWeights { .. } => "binary-weights",
            Self::Linear { .. } => "linear",
            Self::Kernel { .. } => "kernel",
            Self::Bounded { .. } => "bounded",
        }
    }

    /// Features an example.
    pub fn n(&self) -> usize {
        match self {
            Self::BinaryWeights { n, .. }
            | Self::Linear { n, .. }
            | Self::Kernel { n, .. }
            | Self::Bounded { n, .. } => *n,
        }
    }
}

impl From<&Hypothesis> for HypothesisDocument {
    fn from(hypothesis: &Hypothesis) -> Self {
        match hypothesis {
            Hypothesis::BinaryWeights(weights) => Self::BinaryWeights {
                n: weights.n(),
                weights: weights.to_bit_string(),
            },
            Hypothesis::Linear(LinearWeights::Integer(weights)) => Self::Linear {
                n: weights.weights().len(),
                weights: weights.weights().iter().map(|&w| w.into()).collect(),
                bias: weights.bias().map(Number::from),
                reading: Some(weights.reading().into()),
            },
            Hypothesis::Linear(LinearWeights::Real(weights)) => Self::Linear {
                n: weights.weights().len(),
                weights: weights.weights().iter().map(|&w| real_number(w)).collect(),
                bias: weights.bias().map(real_number),
                reading: weights.reading().map(ReadingName::from),
            },
            Hypothesis::Kernel(expansion) => Self::Kernel {
                n: expansion.kernel().n(),
                kernel: kernel_document::kernel_document(expansion),
                support: kernel_document::support_document(expansion),
            },
            Hypothesis::Bounded(weights) => Self::Bounded {
                n: weights.weights().len(),
                weights: weights.weights().iter().map(|&w| real_number(w)).collect(),
                inhibition: real_number(weights.inhibition()),
                threshold: real_number(weights.threshold()),
            },
        }
    }
}

/// Weights are finite: an update that would leave the range of f64 is refused.
fn real_number(value: f64) -> Number {
    Number::from_f64(value).expect("weights are finite")
}

impl TryFrom<&HypothesisDocument> for Hypothesis {
    type Error = HypothesisError;

    fn try_from(document: &HypothesisDocument) -> Result<Self, HypothesisError> {
        let wrong = |what: String| Err(HypothesisError(what));
        match document {
            HypothesisDocument::BinaryWeights { n, weights } => {
                match BitVector::from_bit_string(weights.as_bytes()) {
                    Ok(bits) if bits.n() == *n && *n > 0 => Ok(Self::BinaryWeights(bits)),
                    Ok(bits) => wrong(format!("{} weights, but n is {n}", bits.n())),
                    Err(at) => wrong(format!("weight {} is neither 0 nor 1", at + 1)),
                }
            }
            HypothesisDocument::Linear {
                n,
                weights,
                bias,
                reading,
            } => {
                if weights.len() != *n || *n == 0 {
                    return wrong(format!("{} weights, but n is {n}", weights.len()));
                }
                linear(weights, bias.as_ref(), *reading).map(Self::Linear)
            }
            HypothesisDocument::Kernel { n, kernel, support } => {
                let expansion = kernel_document::expansion(*n, kernel, support);
                expansion.map(Self::Kernel).map_err(HypothesisError)
            }
            HypothesisDocument::Bounded {
                n,
                weights,
                inhibition,
                threshold,
            } => {
                if weights.len() != *n {
                    return wrong(format!("{} weights, but n is {n}", weights.len()));
                }
                bounded(weights, inhibition, threshold).map(Self::Bounded)
            }
        }
    }
}

fn bounded(
    weights: &[Number],
    inhibition: &Number,
    threshold: &Number,
) -> Result<BoundedWeights, HypothesisError> {
    let numbers: Option<Vec<f64>> = weights.iter().map(Number::as_f64).collect();
    let made =
        (|| BoundedWeights::from_numbers(numbers?, inhibition.as_f64()?, threshold.as_f64()?))();
    made.ok_or_else(|| {
        let detail = "weights lie in [0, 1], inhibition and threshold are not negative";
        HypothesisError(detail.to_owned())
    })
}

/// Whole numbers over Boolean data are integer weights, anything else real ones.
fn linear(
    weights: &[Number],
    bias: Option<&Number>,
    reading: Option<ReadingName>,
) -> Result<LinearWeights, HypothesisError> {
    let all = || weights.iter().chain(bias);
    let is_integer = |number: &Number| {
        let whole = number.as_i64();
        whole.is_some_and(|whole| whole.abs() <= INTEGER_WEIGHT_MAX)
    };
    if let Some(reading) = reading.filter(|_| all().all(is_integer)) {
        let weights = weights.iter().filter_map(Number::as_i64).collect();
        let bias = bias.and_then(Number::as_i64);
        let weights = IntegerWeights::new(reading.into(), weights, bias);
        return Ok(LinearWeights::Integer(weights));
    }
    let is_finite = |number: &Number| number.as_f64().is_some_and(f64::is_finite);
    if !all().all(is_finite) {
        return Err(HypothesisError("a weight is no finite number".to_owned()));
    }
    let weights = weights.iter().filter_map(Number::as_f64).collect();
    let bias = bias.and_then(Number::as_f64);
    let weights = RealWeights::new(reading.map(Reading::from), weights, bias);
    Ok(LinearWeights::Real(weights))
}

impl From<Reading> for ReadingName {
    fn from(reading: Reading) -> Self {
        match reading {
            Reading::Signed => Self::Signed,
            Reading::Unsigned => Self::Unsigned,
        }
    }
}

impl From<ReadingName> for Reading {
    fn from(reading: ReadingName) -> Self {
        match reading {
            ReadingName::Signed => Self::Signed,
            ReadingName::Unsigned => Self::Unsigned,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::kernel::{Conjunctions, Kernel};
    use crate::learners::kernel_expansion::KernelExpansion;

    #[test]
    fn every_kind_survives_the_round_trip() {
        let bits = BitVector::from_bit_string(b"1011").expect("bits");
        let integer = IntegerWeights::new(Reading::Unsigned, vec![3, -4], Some(1));
        let real = RealWeights::new(None, vec![0.1, -2.0], None);
        let bounded = BoundedWeights::new(vec![0.0, 0.25, 1.0], 0.5, 0.01);
        let kernel = Kernel::new(4, Conjunctions::Monotone, Some(3)).expect("a small table");
        let mut expansion = KernelExpansion::new(kernel);
        for (example, is_positive) in [(0b1011, true), (0b1011, true), (0b0110, false)] {
            expansion.push(&[example], is_positive).expect("room");
        }
        for hypothesis in [
            Hypothesis::BinaryWeights(bits),
            Hypothesis::Linear(LinearWeights::Integer(integer)),
            Hypothesis::Linear(LinearWeights::Real(real)),
            Hypothesis::Kernel(expansion),
            Hypothesis::Bounded(bounded),
        ] {
            let document = HypothesisDocument::from(&hypothesis);
            let text = serde_json::to_string(&document).expect("JSON");
            let read: HypothesisDocument = serde_json::from_str(&text).expect("a document");
            assert_eq!(Hypothesis::try_from(&read), Ok(hypothesis));
        }
    }

    #[test]
    fn a_document_that_does_not_add_up_is_refused() {
        for text in [
            r#"{"kind": "binary-weights", "n": 3, "weights": "1011"}"#,
            r#"{"kind": "binary-weights", "n": 4, "weights": "1012"}"#,
            r#"{"kind": "linear", "n": 2, "weights": [1], "bias": null, "reading": "signed"}"#,
            r#"{"kind": "linear", "n": 0, "weights": [], "bias": null, "reading": null}"#,
            r#"{"kind": "bounded", "n": 0, "weights": [], "inhibition": 0.5, "threshold": 0}"#,
            r#"{"kind": "bounded", "n": 1, "weights": [1.5], "inhibition": 0, "threshold": 0}"#,
            r#"{"kind": "bounded", "n": 1, "weights": [1], "inhibition": -1, "threshold": 0}"#,
            r#"{"kind": "bounded", "n": 2, "weights": [1], "inhibition": 1, "threshold": 0}"#,
            r#"{"kind": "kernel", "n": 2, "kernel": {"conjunctions": "all", "max_literals": 0},
                "support": []}"#,
            r#"{"kind": "kernel", "n": 0, "kernel": {"conjunctions": "all", "max_literals": null},
                "support": []}"#,
            r#"{"kind": "kernel", "n": 2, "kernel": {"conjunctions": "all", "max_literals": null},
                "support": [{"x": "10", "y": 1}, {"x": "101", "y": 1}]}"#,
            r#"{"kind": "kernel", "n": 2, "kernel": {"conjunctions": "all", "max_literals": null},
                "support": [{"x": "12", "y": 1}]}"#,
            r#"{"kind": "kernel", "n": 2, "kernel": {"conjunctions": "all", "max_literals": null},
                "support": [{"x": "10", "y": 0}]}"#,
            r#"{"kind": "kernel", "n": 1000000, "support": [],
                "kernel": {"conjunctions": "all", "max_literals": 500000}}"#,
        ] {
            let document: HypothesisDocument = serde_json::from_str(text).expect("a document");
            assert!(Hypothesis::try_from(&document).is_err(), "{text}");
        }
    }
}
