//! The effect of examples on a rule.

use crate::learners::engine::thickness::Lesson;
use crate::learners::sample::block::Block;
use crate::learners::sample::classes::BlockCodes;

/// The effect of a mistake or of a batch on the hypothesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// The hypothesis changed.
    Changed,
    /// The hypothesis did not change.
    Unchanged,
    /// A batch rule needs further examples first.
    Awaiting,
    /// The update cannot be applied. The text names the limit of the rule that was reached.
    Refused(&'static str),
}

/// The effect of several examples on an on-line rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// The row after the last example that was read.
    pub end: usize,
    /// Whether the rows were tested before they were learnt. A batch consumes rows untested.
    pub is_tested: bool,
    /// The mask of the rows that were mistakes.
    pub mistaken: u64,
    /// The mask of the rows that changed the hypothesis. A rule may also learn from a row that was no mistake.
    pub updated: u64,
    /// The classes that were predicted. None with two classes, because the label and the mistake tell which was
    /// predicted.
    pub predicted: Option<BlockCodes>,
    /// The mask of the rows before which no class was known. They are mistakes without a prediction.
    pub unpredicted: u64,
    /// The masks of the rows that were mistakes of members of a committee, with the codes of these members. Empty with
    /// two classes.
    pub members: Vec<(u32, u64)>,
    /// The effect of the last row that the rule learnt from. [`Update::Unchanged`] if there was none.
    pub last: Update,
}

impl Learnt {
    /// No mistake before row `end`.
    pub fn nothing(end: usize) -> Self {
        Self {
            end,
            is_tested: true,
            mistaken: 0,
            updated: 0,
            predicted: None,
            unpredicted: 0,
            members: Vec::new(),
            last: Update::Unchanged,
        }
    }

    /// Notes a lesson with this effect.
    pub fn note(&mut self, lesson: Lesson, update: Update) {
        let row = lesson.row;
        self.mistaken |= u64::from(lesson.is_mistake) << row;
        self.updated |= u64::from(update == Update::Changed) << row;
        self.last = update;
    }

    /// The mask of the rows after which the hypothesis may be another: the mistakes, and the updates by other rows.
    pub fn changed(&self) -> u64 {
        self.mistaken | self.updated
    }

    /// The code of the class that was predicted for a row of `block`. None for an untested row, and for one before
    /// which no class was known.
    pub fn predicted(&self, block: &Block<'_>, row: usize) -> Option<u32> {
        let is_mistake = self.mistaken >> row & 1 == 1;
        let code = match &self.predicted {
            Some(codes) => codes.get(row),
            None => u32::from(block.own_label(row) != is_mistake),
        };
        let is_predicted = self.unpredicted >> row & 1 == 0;
        (self.is_tested && is_predicted).then_some(code)
    }
}
