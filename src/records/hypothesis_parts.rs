//! The parts of the document of a hypothesis, and their conversion with all checks.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use utoipa::ToSchema;

use halfspace_core::learners::arithmetic::decimal::Decimal;
use halfspace_core::learners::arithmetic::power_sum::Base;
use halfspace_core::learners::arithmetic::unit::INTEGER_WEIGHT_MAX;
use halfspace_core::learners::arithmetic::unit::Unit;
use halfspace_core::learners::kernel::kernel_winnow_weights::KernelWinnowWeights;
use halfspace_core::learners::linear::bounded::BoundedWeights;
use halfspace_core::learners::linear::linear_weights::{
    IntegerWeights, LinearWeights, Reading, RealWeights,
};

use super::support_bits;

/// An example that changed the hypothesis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CountedExample {
    /// The bits of the example, one character per feature. Absent if `ones` lists them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, pattern = "^[01]+$")]
    pub x: Option<String>,
    /// The numbers of the features that are 1, from 0 and ascending, if they are few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub ones: Option<Vec<u32>>,
    /// 1 if the example was promoted more often than demoted, otherwise -1.
    pub y: i8,
    /// The difference between promotions and demotions; 1 when absent.
    #[serde(default = "one")]
    pub count: u32,
}

fn one() -> u32 {
    1
}

/// The reason why a document is not a hypothesis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HypothesisError(pub(super) String);

/// Reads the base of the weights. A number means a double, and a string means a decimal.
pub(super) fn factor(alpha: &Value) -> Option<Base> {
    match alpha {
        Value::String(text) => Base::of_decimal(&Decimal::parse(text).ok()?),
        number => number.as_f64().and_then(Base::new),
    }
}

pub(super) fn threshold(theta: &str) -> Result<Decimal, HypothesisError> {
    match Decimal::parse(theta) {
        Ok(theta) if !theta.is_zero() => Ok(theta),
        Ok(_) => Err(HypothesisError("theta is 0".to_owned())),
        Err(detail) => Err(HypothesisError(format!("theta: {detail}"))),
    }
}

pub(super) fn add_example(
    weights: &mut KernelWinnowWeights,
    example: &CountedExample,
) -> Result<(), HypothesisError> {
    let wrong = |what: String| Err(HypothesisError(what));
    let bits = support_bits::read(weights.n(), example.x.as_deref(), example.ones.as_deref());
    let bits = bits.map_err(|fault| HypothesisError(fault.into_owned()))?;
    let mut active = Vec::new();
    let active = bits.as_bits().listed(&mut active);
    let most = weights.active_max();
    if active.len() as u64 > most || active.is_empty() {
        let count = active.len();
        return wrong(format!("{count} active features, not from 1 to {most}"));
    }
    let by = match (example.y, i32::try_from(example.count)) {
        (1, Ok(count @ 1..)) => count,
        (-1, Ok(count @ 1..)) => -count,
        (y, _) => return wrong(format!("y is {y}, count is {}", example.count)),
    };
    let added = weights.add(active, by);
    added.map_err(|full| HypothesisError(full.to_string()))
}

pub(super) fn bounded(
    n: usize,
    weights: &[Number],
    inhibition: &Number,
    threshold: &Number,
) -> Result<BoundedWeights, HypothesisError> {
    if weights.len() != n {
        return Err(HypothesisError(format!(
            "{} weights, but n is {n}",
            weights.len()
        )));
    }
    let numbers: Option<Vec<f64>> = weights.iter().map(Number::as_f64).collect();
    let made =
        (|| BoundedWeights::from_numbers(numbers?, inhibition.as_f64()?, threshold.as_f64()?))();
    made.ok_or_else(|| {
        let detail =
            "weights must lie in [0, 1], and inhibition and threshold must not be negative";
        HypothesisError(detail.to_owned())
    })
}

/// Reads weights that are integer multiples of a unit, over Boolean data.
fn multiples(
    weights: &[Number],
    bias: Option<&Number>,
    reading: Option<Reading>,
    unit: &Number,
) -> Result<LinearWeights, HypothesisError> {
    let made = || {
        let unit = Unit::new(unit.as_f64()?)?;
        let all: Option<Vec<f64>> = weights.iter().chain(bias).map(Number::as_f64).collect();
        let mut counts = unit.counts(&all?)?;
        let bias = bias.and_then(|_| counts.pop());
        let weights = IntegerWeights::new(reading?, counts, bias);
        Some(LinearWeights::Integer(weights.of_unit(unit)))
    };
    made().ok_or_else(|| {
        let detail = "over Boolean examples, every weight must be a whole multiple of the unit, at \
                      most 2^40 times";
        HypothesisError(detail.to_owned())
    })
}

/// Reads linear weights. Over Boolean data, integers and integer multiples of a unit become integer weights.
/// Everything else becomes real weights.
pub(super) fn linear(
    n: usize,
    weights: &[Number],
    bias: Option<&Number>,
    reading: Option<Reading>,
    unit: Option<&Number>,
) -> Result<LinearWeights, HypothesisError> {
    if weights.len() != n || n == 0 {
        return Err(HypothesisError(format!(
            "{} weights, but n is {n}",
            weights.len()
        )));
    }
    if let Some(unit) = unit {
        return multiples(weights, bias, reading, unit);
    }
    let all = || weights.iter().chain(bias);
    let is_integer = |number: &Number| {
        let whole = number.as_i64();
        whole.is_some_and(|whole| whole.unsigned_abs() <= INTEGER_WEIGHT_MAX.unsigned_abs())
    };
    if let Some(reading) = reading.filter(|_| all().all(is_integer)) {
        let weights = weights.iter().filter_map(Number::as_i64).collect();
        let bias = bias.and_then(Number::as_i64);
        let weights = IntegerWeights::new(reading, weights, bias);
        return Ok(LinearWeights::Integer(weights));
    }
    let is_finite = |number: &Number| number.as_f64().is_some_and(f64::is_finite);
    if !all().all(is_finite) {
        return Err(HypothesisError(
            "a weight is not a finite number".to_owned(),
        ));
    }
    let weights = weights.iter().filter_map(Number::as_f64).collect();
    let bias = bias.and_then(Number::as_f64);
    let weights = RealWeights::new(reading, weights, bias);
    Ok(LinearWeights::Real(weights))
}
