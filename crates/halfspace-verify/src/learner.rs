//! The trait of the learners in a replay, and the facts about a run that a learner begins with.
//!
//! This module does not know which learners exist.

use num_bigint::{BigInt, BigUint};
use serde_json::{Map, Value};

use crate::examples::Example;

/// A learner that learns only from mistakes, and from scores within its band.
pub trait Learner {
    /// Whether the prediction for an example is +1.
    fn is_positive(&self, example: &Example) -> bool;

    /// The score of an example, by which the members of a committee are compared.
    fn score(&self, example: &Example) -> Score;

    /// The scores from which the learner learns although its decision is correct. None without thickness.
    fn band(&self) -> Option<&Band> {
        None
    }

    /// Whether the learner learns from an example with this label.
    fn learns(&self, example: &Example, is_positive: bool) -> bool {
        match self.band() {
            None => self.is_positive(example) != is_positive,
            Some(band) => band.teaches(&self.score(example), is_positive),
        }
    }

    /// Learns that `presented` examples were shown so far.
    fn shown(&mut self, _presented: u64) {}

    /// Learns from an example with this label.
    fn learn(&mut self, example: &Example, is_positive: bool);

    /// Turns the state into the hypothesis of the answer.
    fn finish(&mut self) {}

    /// The JSON document of the hypothesis.
    fn hypothesis(&self) -> Value;
}

/// The number that decides a prediction.
#[derive(Clone)]
pub enum Score {
    Exact {
        numerator: BigInt,
        denominator: BigUint,
    },
    Real(f64),
}

/// The threshold of a learner, less its thickness and more by it.
#[derive(Clone)]
pub struct Band {
    pub below: Score,
    pub above: Score,
}

impl Band {
    pub fn teaches(&self, score: &Score, is_positive: bool) -> bool {
        match is_positive {
            true => self.above.is_above(score),
            false => !self.below.is_above(score),
        }
    }
}

/// A number as the quotient of its shortest decimal.
pub fn quotient(number: f64) -> (BigInt, BigUint) {
    let text = format!("{number:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let places = mantissa.split_once('.').map_or(0, |(_, part)| part.len());
    let digits: BigInt = mantissa.replace('.', "").parse().unwrap_or_default();
    let exponent = exponent.parse::<i64>().unwrap_or_default() - places as i64;
    let power = BigUint::from(10_u32).pow(exponent.unsigned_abs() as u32);
    match exponent < 0 {
        true => (digits, power),
        false => (digits * BigInt::from(power), 1_u32.into()),
    }
}

impl Score {
    pub fn whole(number: impl Into<BigInt>) -> Self {
        Self::Exact {
            numerator: number.into(),
            denominator: BigUint::from(1_u32),
        }
    }

    /// The difference from another score of the same kind.
    pub fn minus(&self, other: &Self) -> Self {
        match (self, other) {
            (
                Self::Exact {
                    numerator: own,
                    denominator: of,
                },
                Self::Exact {
                    numerator: other,
                    denominator: of_other,
                },
            ) => Self::Exact {
                numerator: own * BigInt::from(of_other.clone()) - other * BigInt::from(of.clone()),
                denominator: of * of_other,
            },
            (Self::Real(own), Self::Real(other)) => Self::Real(own - other),
            _ => Self::Real(f64::NAN),
        }
    }

    /// Whether this score is above another one of the same kind.
    pub fn is_above(&self, other: &Self) -> bool {
        match self.minus(other) {
            Self::Exact { numerator, .. } => numerator > BigInt::ZERO,
            Self::Real(difference) => difference > 0.0,
        }
    }
}

/// What a learner needs to know about a run before it begins.
pub struct Setup<'a> {
    pub params: &'a Map<String, Value>,
    pub n: usize,
    pub is_real: bool,
    pub seed: u64,
    /// The largest number of active features in an example that the learner was shown, if features have names.
    pub active_max: Option<u64>,
}

impl Setup<'_> {
    /// Checks that the first hypothesis is the learner's own one.
    pub fn check_initial(&self, default: Option<f64>) -> Result<(), String> {
        let initial = self.params.get("initial");
        if initial.map(Value::as_f64) == default.map(Some) {
            return Ok(());
        }
        Err("params.initial is not the default of the learner".to_owned())
    }

    /// The thickness on both sides of 0 for whole scores in this unit. None if it is 0.
    pub fn band_of_units(&self, unit: f64) -> Result<Option<Band>, String> {
        let tau = self.number("thickness")?;
        let ((own, of), (unit, of_unit)) = (quotient(tau), quotient(unit));
        let side = |sign: i32| Score::Exact {
            numerator: &own * BigInt::from(of_unit.clone()) * sign,
            denominator: &of * unit.magnitude(),
        };
        Ok((tau != 0.0).then(|| Band {
            below: side(-1),
            above: side(1),
        }))
    }

    pub fn number(&self, name: &str) -> Result<f64, String> {
        let value = self.params.get(name).and_then(Value::as_f64);
        value.ok_or_else(|| format!("params.{name} is not a number"))
    }

    pub fn flag(&self, name: &str) -> Result<bool, String> {
        let value = self.params.get(name).and_then(Value::as_bool);
        value.ok_or_else(|| format!("params.{name} is not a flag"))
    }
}
