//! What examples did to a rule.

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// The row after the last example that was read.
    pub end: usize,
    /// The mask of the rows that were mistakes.
    pub mistaken: u64,
    /// The number of updates that changed the hypothesis.
    pub changes: u64,
    /// The effect of the last mistake. [`Update::Unchanged`] if there was none.
    pub last: Update,
}

impl Learnt {
    /// No mistake before row `end`.
    pub fn nothing(end: usize) -> Self {
        Self {
            end,
            mistaken: 0,
            changes: 0,
            last: Update::Unchanged,
        }
    }

    /// Notes a mistake on row `row` with this effect.
    pub fn mistake(&mut self, row: usize, update: Update) {
        self.mistaken |= 1 << row;
        self.changes += u64::from(update == Update::Changed);
        self.last = update;
    }
}
