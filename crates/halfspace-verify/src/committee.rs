//! The rules of a run: one that tells two classes apart, or a committee of one rule per class.

use halfspace_core::learners::engine::committee::Multiclass;
use serde_json::{Value, json};

use crate::examples::Example;
use crate::learner::{Learner, Setup};
use crate::learners::{is_average, learner};
use crate::receipt::Receipt;

pub struct Committee {
    /// One rule for two classes, and one per class for more.
    members: Vec<Box<dyn Learner>>,
    /// Whether the rules learn from wrong predictions of the committee. So does the only rule of two classes.
    is_joint: bool,
}

impl Committee {
    pub fn new(receipt: &Receipt, setup: &Setup<'_>) -> Result<Self, String> {
        let rule = |_| learner(&receipt.learner, setup);
        let members = receipt.members.len();
        if (members > 1) != receipt.multiclass.is_some() || [0, 2].contains(&members) {
            let detail = "a receipt has one member for two classes, and multiclass and one member per class for more";
            return Err(detail.to_owned());
        }
        if is_average(&receipt.learner) != receipt.presented.is_some() {
            return Err("presented belongs to an average, and every average has it".to_owned());
        }
        Ok(Self {
            members: (0..members).map(rule).collect::<Result<_, _>>()?,
            is_joint: receipt.multiclass != Some(Multiclass::OneVsRest),
        })
    }

    /// The code of the predicted class: that of the largest score, and the first such one.
    pub fn predict(&self, example: &Example) -> u32 {
        if let [rule] = self.members.as_slice() {
            return u32::from(rule.is_positive(example));
        }
        let scores = (0..).zip(self.members.iter().map(|rule| rule.score(example)));
        let best = scores.reduce(|best, next| if next.1.is_above(&best.1) { next } else { best });
        best.map_or(0, |(class, _)| class)
    }

    /// Tells the rules how many examples were shown so far.
    pub fn shown(&mut self, presented: u64) {
        self.members
            .iter_mut()
            .for_each(|rule| rule.shown(presented));
    }

    /// Learns from an example of this class, for which `predicted` was predicted. Returns the places of the rules that
    /// were mistaken.
    pub fn learn(&mut self, example: &Example, class: u32, predicted: u32) -> Vec<usize> {
        let is_alone = self.members.len() == 1;
        let mut mistaken = Vec::new();
        for (place, rule) in self.members.iter_mut().enumerate() {
            let code = if is_alone { 1 } else { place as u32 };
            let is_own = code == class;
            let is_mistaken = match self.is_joint {
                true => predicted != class && (is_own || code == predicted),
                false => rule.is_positive(example) != is_own,
            };
            if is_mistaken {
                rule.learn(example, is_own);
                mistaken.push(place);
            }
        }
        mistaken
    }

    /// Turns the states into the hypothesis of the answer.
    pub fn finish(&mut self) {
        self.members.iter_mut().for_each(|rule| rule.finish());
    }

    /// The JSON document of the hypothesis.
    pub fn hypothesis(&self) -> Value {
        match self.members.as_slice() {
            [rule] => rule.hypothesis(),
            members => {
                let members: Vec<Value> = members.iter().map(|rule| rule.hypothesis()).collect();
                json!({"kind": "committee", "n": members[0]["n"], "members": members})
            }
        }
    }
}
