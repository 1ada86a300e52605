//! The trait of the learners in a replay, and the facts about a run that a learner begins with.
//!
//! This module does not know which learners exist.

use serde_json::{Map, Value};

use crate::examples::Example;

/// A learner that changes its state only on mistakes.
pub trait Learner {
    /// Whether the prediction for an example is +1.
    fn is_positive(&self, example: &Example) -> bool;

    /// Learns from a mistaken example with this label.
    fn learn(&mut self, example: &Example, is_positive: bool);

    /// Turns the state into the hypothesis of the answer.
    fn finish(&mut self) {}

    /// The JSON document of the hypothesis.
    fn hypothesis(&self) -> Value;
}

/// What a learner needs to know about a run before it begins.
pub struct Setup<'a> {
    pub params: &'a Map<String, Value>,
    pub n: usize,
    pub is_real: bool,
    pub seed: u64,
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
