//! The JSON document of a hypothesis, in responses and in stored models, and its conversion to a hypothesis and back.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use utoipa::ToSchema;

use halfspace_core::bits::BitVector;
use halfspace_core::learners::arithmetic::power_sum::Base;
use halfspace_core::learners::arithmetic::unit::Unit;
use halfspace_core::learners::engine::parameters::factor_json;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::kernel::kernel_winnow;
use halfspace_core::learners::kernel::kernel_winnow_weights::{
    ACTIVE_MAX, KernelWinnowWeights, SupportExample,
};
use halfspace_core::learners::linear::linear_weights::{LinearWeights, Reading};
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::learners::sample::block::RowBits;
use halfspace_core::learners::winnow;
use halfspace_core::learners::winnow::winnow_weights::WinnowWeights;

use super::hypothesis_parts::{
    CountedExample, HypothesisError, add_example, bounded, factor, linear, threshold,
};
use super::kernel_document::{self, KernelDocument, SupportVector};
use super::support_bits;

/// A hypothesis. The member `kind` determines the other members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HypothesisDocument {
    /// Prediction +1 iff the inner product of weights and example, both in {-1, +1}, is >= 0.
    BinaryWeights {
        /// Number of features.
        n: usize,
        /// One character per weight: 1 for +1 and 0 for -1.
        weights: String,
    },
    /// Prediction +1 iff the sum of weights times features, plus the bias, is >= 0.
    Linear {
        /// Number of features.
        n: usize,
        /// One number per feature. Integers are exact.
        #[schema(value_type = Vec<f64>)]
        weights: Vec<Number>,
        /// The bias; null if the hypothesis has none.
        #[schema(value_type = Option<f64>)]
        bias: Option<Number>,
        /// The values of the bits of Boolean examples; null for real-valued examples.
        reading: Option<Reading>,
        /// The unit of the weights and the bias; 1 when absent. Each weight is an integer multiple of the
        /// unit. The sum is computed exactly over these integers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = f64, required = false, nullable = false, exclusive_minimum = 0)]
        unit: Option<Number>,
    },
    /// Prediction +1 iff the sum of alpha^exponent over the active features is >= theta.
    Winnow {
        /// Number of features without the complements.
        n: usize,
        /// The base of the weights, above 1. A string if no double equals the decimal.
        #[schema(value_type = NumberOrDecimal)]
        alpha: Value,
        /// The threshold as a plain decimal.
        theta: String,
        /// One integer per feature. The exponents of complements follow all others.
        exponents: Vec<i32>,
        /// Whether the complement of each feature is a feature too.
        negated_literals: bool,
        /// The weight of a name that the model does not list: 1 when absent, and 0 if the training left names out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false, maximum = 1)]
        unseen_weight: Option<u8>,
    },
    /// Prediction +1 iff the weights of the satisfied conjunctions add up to at least theta.
    ///
    /// The sum is over the nonempty monotone conjunctions that the example satisfies. The weight of a
    /// conjunction is alpha^(p - d). The number p counts the promotions on examples that satisfy the
    /// conjunction, and d counts the demotions.
    KernelWinnow {
        /// Number of features.
        n: usize,
        /// The base of the weights, an integer from 2.
        alpha: u64,
        /// The threshold as a plain decimal.
        theta: String,
        /// The largest number of active features of an example.
        max_active: u64,
        /// The largest number of features in a conjunction; absent for any number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false, minimum = 1)]
        max_literals: Option<u64>,
        /// The weight of a conjunction with a name that the model does not list: 1 when absent, and 0 if the training
        /// left names out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false, maximum = 1)]
        unseen_weight: Option<u8>,
        /// The examples that changed the hypothesis.
        support: Vec<CountedExample>,
    },
    /// Prediction +1 iff the sum of `y K(x, example)` over the support vectors is >= 0. K is the number of
    /// conjunctions that both vectors satisfy.
    Kernel {
        /// Number of features.
        n: usize,
        /// The conjunctions that the kernel counts.
        kernel: KernelDocument,
        /// The mistakes of the training, in their order.
        support: Vec<SupportVector>,
    },
    /// Prediction +1 iff the sum of (weight - inhibition) times feature, divided by n, is at least the
    /// threshold. Bits are read as 0 and 1.
    Bounded {
        /// Number of features.
        n: usize,
        /// One number per feature, from 0 to 1.
        #[schema(value_type = Vec<f64>)]
        weights: Vec<Number>,
        /// The number that is subtracted from every weight.
        #[schema(value_type = f64, minimum = 0)]
        inhibition: Number,
        /// The smallest score of a positive prediction.
        #[schema(value_type = f64, minimum = 0)]
        threshold: Number,
    },
    /// One hypothesis per class of more than two, in the order of the classes. The prediction is the class with the
    /// largest score, or the first among equals.
    Committee {
        /// Number of features.
        n: usize,
        /// The hypothesis of each class, all of one kind.
        #[schema(no_recursion)]
        members: Vec<HypothesisDocument>,
    },
}

/// A number, or a decimal string in place of a number that readers would round.
#[derive(ToSchema)]
#[serde(untagged)]
pub enum NumberOrDecimal {
    Number(f64),
    Decimal(String),
}

impl HypothesisDocument {
    /// The name of the kind, as in the member `kind`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BinaryWeights { .. } => "binary-weights",
            Self::Linear { .. } => "linear",
            Self::Winnow { .. } => winnow::KIND,
            Self::KernelWinnow { .. } => kernel_winnow::KIND,
            Self::Kernel { .. } => "kernel",
            Self::Bounded { .. } => "bounded",
            Self::Committee { .. } => "committee",
        }
    }

    /// Number of features.
    pub fn n(&self) -> usize {
        match self {
            Self::BinaryWeights { n, .. }
            | Self::Linear { n, .. }
            | Self::Winnow { n, .. }
            | Self::KernelWinnow { n, .. }
            | Self::Kernel { n, .. }
            | Self::Bounded { n, .. }
            | Self::Committee { n, .. } => *n,
        }
    }
}

impl From<&Predictor> for HypothesisDocument {
    fn from(predictor: &Predictor) -> Self {
        match predictor {
            Predictor::One(hypothesis) => hypothesis.into(),
            Predictor::Committee(members) => Self::Committee {
                n: predictor.n(),
                members: members.iter().map(Self::from).collect(),
            },
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
            Hypothesis::Linear(LinearWeights::Integer(weights)) => {
                let unit = Some(weights.unit()).filter(|unit| *unit != Unit::ONE);
                let number = |count: i64| match unit {
                    Some(unit) => real_number(unit.times(count)),
                    None => count.into(),
                };
                Self::Linear {
                    n: weights.weights().len(),
                    weights: weights.weights().iter().map(|&w| number(w)).collect(),
                    bias: weights.bias().map(number),
                    reading: Some(weights.reading()),
                    unit: unit.map(|unit| real_number(unit.value())),
                }
            }
            Hypothesis::Linear(LinearWeights::Real(weights)) => Self::Linear {
                n: weights.weights().len(),
                weights: weights.weights().iter().map(|&w| real_number(w)).collect(),
                bias: weights.bias().map(real_number),
                reading: weights.reading(),
                unit: None,
            },
            Hypothesis::Winnow(weights) => Self::Winnow {
                n: weights.n(),
                alpha: factor_json(weights.base()),
                theta: weights.theta().to_string(),
                exponents: weights.exponents().to_vec(),
                negated_literals: weights.has_complements(),
                unseen_weight: weights.is_closed().then_some(0),
            },
            Hypothesis::KernelWinnow(weights) => Self::KernelWinnow {
                n: weights.n(),
                alpha: weights.base().value() as u64,
                theta: weights.theta().to_string(),
                max_active: weights.active_max(),
                max_literals: weights.max_literals(),
                unseen_weight: weights.is_closed().then_some(0),
                support: weights
                    .support()
                    .iter()
                    .map(|example| counted_example(weights.n(), example))
                    .collect(),
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

fn counted_example(n: usize, example: &SupportExample) -> CountedExample {
    let (x, ones) = support_bits::write(n, RowBits::Listed(&example.active));
    CountedExample {
        x,
        ones,
        y: if example.net > 0 { 1 } else { -1 },
        count: example.net.unsigned_abs(),
    }
}

/// Converts a weight. Weights are finite, because a learner rejects an update that would leave the range of
/// f64.
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
                unit,
            } => {
                let read = linear(*n, weights, bias.as_ref(), *reading, unit.as_ref());
                read.map(Self::Linear)
            }
            HypothesisDocument::Winnow {
                n,
                alpha,
                theta,
                exponents,
                negated_literals,
                unseen_weight,
            } => {
                let base = factor(alpha).ok_or_else(bad_alpha)?;
                let features = if *negated_literals { 2 * n } else { *n };
                check_exponents(base, exponents, features)?;
                let exponents = exponents.clone();
                let weights = WinnowWeights::new(base, threshold(theta)?, *n, exponents);
                Ok(Self::Winnow(weights.closed(is_closed(*unseen_weight)?)))
            }
            HypothesisDocument::KernelWinnow {
                n,
                alpha,
                theta,
                max_active,
                max_literals,
                unseen_weight,
                support,
            } => {
                let base = Base::new(*alpha as f64).ok_or_else(bad_alpha)?;
                if !(1..=ACTIVE_MAX).contains(max_active) || *n == 0 {
                    return wrong(format!("max_active is {max_active}, n is {n}"));
                }
                if *max_literals == Some(0) {
                    return wrong(
                        "max_literals is 0; it is at least 1, or absent for any number".to_owned(),
                    );
                }
                let weights = KernelWinnowWeights::new(base, threshold(theta)?, *n, *max_active);
                let mut weights = weights
                    .with_max_literals(*max_literals)
                    .closed(is_closed(*unseen_weight)?);
                for example in support {
                    add_example(&mut weights, example)?;
                }
                Ok(Self::KernelWinnow(weights))
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
            } => bounded(*n, weights, inhibition, threshold).map(Self::Bounded),
            HypothesisDocument::Committee { .. } => {
                wrong("a member of a committee is no committee".to_owned())
            }
        }
    }
}

impl TryFrom<&HypothesisDocument> for Predictor {
    type Error = HypothesisError;

    /// Checks a document and reads its hypothesis or committee.
    ///
    /// # Errors
    /// The first member that contradicts the definition of a hypothesis or another member.
    fn try_from(document: &HypothesisDocument) -> Result<Self, HypothesisError> {
        let HypothesisDocument::Committee { n, members } = document else {
            return Hypothesis::try_from(document).map(Self::One);
        };
        let members: Vec<_> = members
            .iter()
            .map(Hypothesis::try_from)
            .collect::<Result<_, _>>()?;
        let is_of_n = members.first().is_some_and(|first| first.n() == *n);
        Self::committee(members).filter(|_| is_of_n).ok_or_else(|| {
            let detail = "a committee has three members or more, all of one kind, n and scale";
            HypothesisError(detail.to_owned())
        })
    }
}

/// Checks that Winnow has one exponent per feature, each within its range.
fn check_exponents(base: Base, exponents: &[i32], features: usize) -> Result<(), HypothesisError> {
    let most = base.exponent_max();
    let far = exponents.iter().find(|e| !(-most..=most).contains(*e));
    let detail = match (exponents.len(), far) {
        (0, _) => "there are no features".to_owned(),
        (given, _) if given != features => {
            format!("{given} exponents, but there are {features} features")
        }
        (_, Some(far)) => format!("exponent {far} is not from -{most} to {most}"),
        (_, None) => return Ok(()),
    };
    Err(HypothesisError(detail))
}

/// Whether a name that the hypothesis does not list has no weight.
fn is_closed(unseen_weight: Option<u8>) -> Result<bool, HypothesisError> {
    match unseen_weight {
        None | Some(1) => Ok(false),
        Some(0) => Ok(true),
        Some(other) => Err(HypothesisError(format!(
            "unseen_weight is {other}, neither 0 nor 1"
        ))),
    }
}

fn bad_alpha() -> HypothesisError {
    HypothesisError("alpha must be above 1 and at most 2^32".to_owned())
}

#[cfg(test)]
mod tests {
    use halfspace_core::learners::arithmetic::decimal::Decimal;
    use halfspace_core::learners::kernel::conjunction_kernel::{Conjunctions, Kernel};
    use halfspace_core::learners::kernel::kernel_expansion::KernelExpansion;
    use halfspace_core::learners::linear::bounded::BoundedWeights;
    use halfspace_core::learners::linear::linear_weights::{IntegerWeights, RealWeights};

    use super::*;

    #[test]
    fn every_hypothesis_survives_the_round_trip() {
        let bits = BitVector::from_bit_string(b"1011").expect("bits");
        let integer = IntegerWeights::new(Reading::Unsigned, vec![3, -4], Some(1));
        let real = RealWeights::new(None, vec![0.1, -2.0], None);
        let winnow = |alpha: f64, theta: &str, n, exponents| {
            let base = Base::new(alpha).expect("a base");
            let theta = Decimal::parse(theta).expect("plain");
            Hypothesis::Winnow(WinnowWeights::new(base, theta, n, exponents))
        };
        let decimal = Base::of_decimal(&Decimal::parse("1.7").expect("plain"));
        let decimal_winnow =
            WinnowWeights::new(decimal.expect("a base"), Decimal::from(2), 2, vec![1, -3]);
        let decimal_winnow = Hypothesis::Winnow(decimal_winnow);
        let thirds = IntegerWeights::new(Reading::Signed, vec![3, -4, 1 << 40], Some(1));
        let thirds = thirds.of_unit(Unit::new(0.3).expect("positive"));
        let base = Base::new(3.0).expect("a base");
        let mut cube = KernelWinnowWeights::new(base, Decimal::from(u64::MAX), 5, 20);
        cube.add(&[0, 4], 3).expect("room");
        cube.add(&[2], -1).expect("room");
        let bounded = BoundedWeights::new(vec![0.0, 0.25, 1.0], 0.5, 0.01);
        let kernel = Kernel::new(4, Conjunctions::Monotone, Some(3)).expect("a small table");
        let mut expansion = KernelExpansion::new(kernel);
        for (example, is_positive) in [(0b1011, true), (0b1011, true), (0b0110, false)] {
            expansion
                .push(RowBits::Packed(&[example]), is_positive)
                .expect("room");
        }
        let wide = Kernel::new(5_000, Conjunctions::Monotone, None).expect("no table");
        let mut listed = KernelExpansion::new(wide);
        for ones in [[0_u32, 70, 4_999].as_slice(), &[], &[3]] {
            listed.push(RowBits::Listed(ones), true).expect("room");
        }
        let shown = serde_json::to_value(HypothesisDocument::from(&Hypothesis::Kernel(
            listed.clone(),
        )));
        let vector = &shown.expect("JSON")["support"][0];
        assert_eq!(vector, &serde_json::json!({"ones": [0, 70, 4_999], "y": 1}));
        for hypothesis in [
            Hypothesis::Kernel(listed),
            Hypothesis::BinaryWeights(bits),
            Hypothesis::Linear(LinearWeights::Integer(integer)),
            Hypothesis::Linear(LinearWeights::Real(real)),
            winnow(2.0, "1000", 4, vec![0, 3, -100, 7]),
            winnow(1.1, "0.125", 2, vec![0, 3, -100, 7]),
            decimal_winnow,
            Hypothesis::Linear(LinearWeights::Integer(thirds)),
            Hypothesis::KernelWinnow(cube),
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
    fn hypothesis_document_with_contradictory_fields_is_refused() {
        for text in [
            r#"{"kind": "binary-weights", "n": 3, "weights": "1011"}"#,
            r#"{"kind": "binary-weights", "n": 4, "weights": "1012"}"#,
            r#"{"kind": "linear", "n": 2, "weights": [1], "bias": null, "reading": "signed"}"#,
            r#"{"kind": "linear", "n": 0, "weights": [], "bias": null, "reading": null}"#,
            r#"{"kind": "linear", "n": 1, "weights": [0.5], "bias": null, "reading": "signed",
                "unit": 0.3}"#,
            r#"{"kind": "linear", "n": 1, "weights": [0.3], "bias": null, "reading": null,
                "unit": 0.3}"#,
            r#"{"kind": "linear", "n": 1, "weights": [0], "bias": null, "reading": "signed",
                "unit": 0}"#,
            r#"{"kind": "winnow", "n": 1, "alpha": "1", "theta": "2", "exponents": [0],
                "negated_literals": false}"#,
            r#"{"kind": "winnow", "n": 1, "alpha": [2], "theta": "2", "exponents": [0],
                "negated_literals": false}"#,
            r#"{"kind": "winnow", "n": 2, "alpha": 2, "theta": "2", "exponents": [0],
                "negated_literals": false}"#,
            r#"{"kind": "winnow", "n": 2, "alpha": 1, "theta": "2", "exponents": [0, 0],
                "negated_literals": false}"#,
            r#"{"kind": "winnow", "n": 1, "alpha": 2, "theta": "0", "exponents": [0],
                "negated_literals": false}"#,
            r#"{"kind": "winnow", "n": 1, "alpha": 2, "theta": "2", "exponents": [-2000000],
                "negated_literals": false}"#,
            r#"{"kind": "kernel-winnow", "n": 2, "alpha": 1, "theta": "2", "max_active": 20,
                "support": []}"#,
            r#"{"kind": "kernel-winnow", "n": 2, "alpha": 2, "theta": "2", "max_active": 25,
                "support": []}"#,
            r#"{"kind": "kernel-winnow", "n": 2, "alpha": 2, "theta": "2", "max_active": 20,
                "support": [{"x": "101", "y": 1, "count": 1}]}"#,
            r#"{"kind": "kernel-winnow", "n": 2, "alpha": 2, "theta": "2", "max_active": 20,
                "support": [{"x": "10", "y": 0, "count": 1}]}"#,
            r#"{"kind": "kernel-winnow", "n": 2, "alpha": 2, "theta": "2", "max_active": 1,
                "support": [{"x": "11", "y": 1, "count": 1}]}"#,
            r#"{"kind": "kernel-winnow", "n": 2, "alpha": 2, "theta": "2", "max_active": 20,
                "support": [{"x": "10", "y": 1, "count": 4000000}]}"#,
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
            r#"{"kind": "kernel", "n": 2, "kernel": {"conjunctions": "all", "max_literals": null},
                "support": [{"y": 1}]}"#,
            r#"{"kind": "kernel", "n": 2, "kernel": {"conjunctions": "all", "max_literals": null},
                "support": [{"x": "10", "ones": [0], "y": 1}]}"#,
            r#"{"kind": "kernel", "n": 2, "kernel": {"conjunctions": "all", "max_literals": null},
                "support": [{"ones": [2], "y": 1}]}"#,
            r#"{"kind": "kernel", "n": 2, "kernel": {"conjunctions": "all", "max_literals": null},
                "support": [{"ones": [1, 0], "y": 1}]}"#,
            r#"{"kind": "kernel", "n": 1000000, "support": [],
                "kernel": {"conjunctions": "all", "max_literals": 500000}}"#,
        ] {
            let document: HypothesisDocument = serde_json::from_str(text).expect("a document");
            assert!(Hypothesis::try_from(&document).is_err(), "{text}");
        }
    }
}
