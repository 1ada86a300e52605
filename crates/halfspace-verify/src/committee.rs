//! The rules of a run: one that tells two classes apart, or a committee of one rule per class.

use std::ops::Range;

use halfspace_core::learners::engine::committee::Multiclass;
use serde_json::{Value, json};

use crate::examples::Example;
use crate::learner::{Learner, Setup};
use crate::learners::learner;
use crate::receipt::Receipt;

pub struct Committee {
    /// One rule for two classes, and one per class for more.
    members: Vec<Box<dyn Learner>>,
    /// Whether the rules learn from wrong predictions of the committee.
    is_joint: bool,
    /// Whether there is one rule per class.
    has_classes: bool,
    /// The number of the first rules that are there. Others join with the first examples of their classes.
    joined: usize,
}

/// What an example did to the rules.
#[derive(Default)]
pub struct Learnt {
    /// The places of the rules that learnt, and whether they were mistaken.
    pub lessons: Vec<(usize, bool)>,
    /// The places of the rules that joined.
    pub joined: Range<usize>,
}

impl Committee {
    pub fn new(receipt: &Receipt, setup: &Setup<'_>) -> Result<Self, String> {
        let rule = |_| learner(&receipt.learner, setup);
        let members = receipt.members.len();
        let has_classes = receipt.multiclass.is_some();
        let is_fit = match (has_classes, receipt.open) {
            (false, open) => members == 1 && !open,
            (true, false) => members > 2,
            (true, true) => members > 0,
        };
        if !is_fit {
            let detail = "a receipt has one member for two classes, and multiclass and one member per class for more \
                          or open ones";
            return Err(detail.to_owned());
        }
        Ok(Self {
            members: (0..members).map(rule).collect::<Result<_, _>>()?,
            is_joint: receipt.multiclass == Some(Multiclass::Joint),
            has_classes,
            joined: if receipt.open { 0 } else { members },
        })
    }

    /// The code of the predicted class: that of the largest score, and the first such one. None if no class is known.
    pub fn predict(&self, example: &Example) -> Option<u32> {
        let known = &self.members[..self.joined];
        if !self.has_classes {
            return known
                .first()
                .map(|rule| u32::from(rule.is_positive(example)));
        }
        let scores = (0..).zip(known.iter().map(|rule| rule.score(example)));
        let best = scores.reduce(|best, next| if next.1.is_above(&best.1) { next } else { best });
        best.map(|(class, _)| class)
    }

    /// Tells the rules how many examples were shown so far.
    pub fn shown(&mut self, presented: u64) {
        self.members
            .iter_mut()
            .for_each(|rule| rule.shown(presented));
    }

    /// Learns from an example of this class, for which `predicted` was predicted.
    pub fn learn(&mut self, example: &Example, class: u32, predicted: Option<u32>) -> Learnt {
        let mut learnt = Learnt::default();
        if self.has_classes && class as usize >= self.joined {
            learnt.joined = self.joined..class as usize + 1;
            self.joined = learnt.joined.end;
        }
        // Before the first class was known, nothing was predicted and nothing is learnt jointly.
        let joint = predicted.filter(|_| self.is_joint);
        let loses = joint.and_then(|predicted| self.loses(example, class, predicted));
        for (place, rule) in self.members[..self.joined].iter_mut().enumerate() {
            let code = if self.has_classes { place as u32 } else { 1 };
            let is_own = code == class;
            let (learns, is_mistaken) = match self.is_joint {
                true => {
                    let is_one = loses.is_some_and(|loses| is_own || code == loses);
                    (is_one, predicted != Some(class))
                }
                false => {
                    let is_mistaken = rule.is_positive(example) != is_own;
                    (rule.learns(example, is_own), is_mistaken)
                }
            };
            if learns {
                rule.learn(example, is_own);
                learnt.lessons.push((place, is_mistaken));
            }
        }
        learnt
    }

    /// The class that loses an example of this class if the rules learn jointly: the predicted one, or with thickness
    /// the largest other one if it comes too near.
    fn loses(&self, example: &Example, class: u32, predicted: u32) -> Option<u32> {
        let Some(band) = self.members.first().and_then(|rule| rule.band()) else {
            return (predicted != class).then_some(predicted);
        };
        let score = |code: u32| self.members[code as usize].score(example);
        let others = (0..self.joined as u32).filter(|code| *code != class);
        let rival = others.map(|code| (code, score(code)));
        let (code, rival) = rival.reduce(|best, next| match next.1.is_above(&best.1) {
            true => next,
            false => best,
        })?;
        let own = score(class);
        // In a tie the first class wins, so an earlier one comes nearer.
        let is_near = match code < class {
            true => band.teaches(&rival.minus(&own), false),
            false => band.teaches(&own.minus(&rival), true),
        };
        is_near.then_some(code)
    }

    /// Turns the states into the hypothesis of the answer. A class that never joined has its first one.
    pub fn finish(&mut self) {
        self.joined = self.members.len();
        self.members.iter_mut().for_each(|rule| rule.finish());
    }

    /// The JSON document of the hypothesis.
    pub fn hypothesis(&self) -> Value {
        match self.members.as_slice() {
            [rule] if !self.has_classes => rule.hypothesis(),
            members => {
                let members: Vec<Value> = members.iter().map(|rule| rule.hypothesis()).collect();
                json!({"kind": "committee", "n": members[0]["n"], "members": members})
            }
        }
    }
}
