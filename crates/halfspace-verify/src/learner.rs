//! The trait of the learners in a replay, and the facts about a run that a learner begins with.
//!
//! This module does not know which learners exist.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint};
use serde_json::{Map, Value};

use crate::examples::Example;

/// A learner that learns only from mistakes.
pub trait Learner {
    /// Whether the prediction for an example is +1.
    fn is_positive(&self, example: &Example) -> bool;

    /// The score of an example, by which the members of a committee are compared.
    fn score(&self, example: &Example) -> Score;

    /// Learns that `presented` examples were shown so far.
    fn shown(&mut self, _presented: u64) {}

    /// Learns from a mistaken example with this label.
    fn learn(&mut self, example: &Example, is_positive: bool);

    /// Turns the state into the hypothesis of the answer.
    fn finish(&mut self) {}

    /// The JSON document of the hypothesis.
    fn hypothesis(&self) -> Value;
}

/// The number that decides a prediction.
pub enum Score {
    Exact {
        numerator: BigInt,
        denominator: BigUint,
    },
    Real(f64),
}

impl Score {
    pub fn whole(number: impl Into<BigInt>) -> Self {
        Self::Exact {
            numerator: number.into(),
            denominator: BigUint::from(1_u32),
        }
    }

    /// Whether this score is above another one of the same kind.
    pub fn is_above(&self, other: &Self) -> bool {
        let part = |number: &BigUint| BigInt::from(number.clone());
        let order = match (self, other) {
            (Self::Real(own), Self::Real(other)) => own.partial_cmp(other),
            (
                Self::Exact {
                    numerator: own,
                    denominator: of,
                },
                Self::Exact {
                    numerator: other,
                    denominator: of_other,
                },
            ) => Some((own * part(of_other)).cmp(&(other * part(of)))),
            _ => None,
        };
        order == Some(Ordering::Greater)
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

    pub fn number(&self, name: &str) -> Result<f64, String> {
        let value = self.params.get(name).and_then(Value::as_f64);
        value.ok_or_else(|| format!("params.{name} is not a number"))
    }

    pub fn flag(&self, name: &str) -> Result<bool, String> {
        let value = self.params.get(name).and_then(Value::as_bool);
        value.ok_or_else(|| format!("params.{name} is not a flag"))
    }
}
