//! The position of a run in its passes, and what it keeps from one pass to the next.

use crate::learners::engine::reason::Reason;
use crate::learners::engine::run::Counts;
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};

/// The best hypothesis at the end of a pass so far.
#[derive(Clone, Debug)]
pub(crate) struct Best {
    /// The pass that ended with this hypothesis.
    pub pass: u64,
    /// Errors of the hypothesis.
    pub errors: u64,
    /// Examples on which the errors were counted.
    pub examples: u64,
    /// The state of the rule that has this hypothesis.
    pub state: Vec<u8>,
}

/// Position of a run in its passes.
#[derive(Clone, Debug, Default)]
pub enum Phase {
    /// Before the first pass or between two passes.
    #[default]
    Between,
    /// In a pass that learns from each example.
    Learning {
        /// Counts before this pass.
        before: Counts,
        /// Finished rows of the current block.
        rows: usize,
    },
    /// In a pass that evaluates one hypothesis.
    Evaluating {
        /// Mistakes of the hypothesis so far.
        wrong: Wrong,
        /// Finished rows of the current block.
        rows: usize,
    },
    /// After a pass, while the last hypothesis of that pass is evaluated. A resumed run repeats this evaluation from
    /// the first example.
    Judging,
    /// After the last pass.
    Ended(Reason),
}

impl Phase {
    /// Number of finished rows of the current block.
    pub fn rows(&self) -> usize {
        match self {
            Self::Learning { rows, .. } | Self::Evaluating { rows, .. } => *rows,
            Self::Between | Self::Judging | Self::Ended(_) => 0,
        }
    }

    /// Records the number of finished rows of the current block.
    pub fn set_rows(&mut self, done: usize) {
        if let Self::Learning { rows, .. } | Self::Evaluating { rows, .. } = self {
            *rows = done;
        }
    }
}

/// The places of a pass from which a rule would learn: those at which its hypothesis is wrong, and those within its
/// thickness. The bits follow each other without gaps, whatever the sizes
/// of the blocks.
#[derive(Clone, Debug, Default)]
pub struct Wrong {
    /// One bit per place. A set bit marks a lesson.
    pub masks: Vec<u64>,
    /// Number of set bits.
    pub lessons: u64,
    /// Number of mistakes among them, in [parts](crate::learners::sample::weights::Weights::parts).
    pub errors: u64,
    places: usize,
}

impl Wrong {
    /// Appends the mask of the lessons of the next `rows` places, and the number of mistakes among them.
    pub fn push(&mut self, mask: u64, mistakes: u64, rows: usize) {
        let bits = u64::BITS as usize;
        self.lessons += u64::from(mask.count_ones());
        self.errors += mistakes;
        let offset = self.places % bits;
        match self.masks.last_mut() {
            Some(last) if offset > 0 => {
                *last |= mask << offset;
                if offset + rows > bits {
                    self.masks.push(mask >> (bits - offset));
                }
            }
            _ => self.masks.push(mask),
        }
        self.places += rows;
    }

    pub(crate) fn write(&self, snapshot: &mut SnapshotWriter) {
        snapshot.numbers([self.places as u64, self.errors]);
        snapshot.numbers(self.masks.iter().copied());
    }

    pub(crate) fn read(snapshot: &mut SnapshotReader<'_>) -> Result<Self, SnapshotError> {
        let places = usize::try_from(snapshot.number()?).map_err(|_| SnapshotError)?;
        let errors = snapshot.number()?;
        let masks = snapshot.numbers(places.div_ceil(u64::BITS as usize))?;
        let lessons = masks.iter().map(|mask| u64::from(mask.count_ones())).sum();
        Ok(Self {
            masks,
            lessons,
            errors,
            places,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_places_continue_across_blocks_of_any_size() {
        let mut wrong = Wrong::default();
        for (mask, rows) in [(0b101, 3), (u64::MAX, 64), (0, 1), (0b11, 60)] {
            wrong.push(mask, mask & 1, rows);
        }
        assert_eq!(
            (wrong.lessons, wrong.errors, wrong.places, wrong.masks.len()),
            (68, 3, 128, 2)
        );
        let mut snapshot = SnapshotWriter::default();
        wrong.write(&mut snapshot);
        let bytes = snapshot.finish();
        let read = Wrong::read(&mut SnapshotReader::new(&bytes)).expect("what was written");
        assert_eq!(
            (read.masks, read.lessons, read.errors),
            (wrong.masks, wrong.lessons, wrong.errors)
        );
    }
}
