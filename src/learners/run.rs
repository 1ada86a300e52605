//! What surrounds a run: its limits, the flag that stops it, the cells that show how far it is.
//!
//! There is no clock here: whoever owns one raises the flag.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use super::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};

/// Why a run ends from outside, the more urgent the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interrupt {
    /// The time the request allowed is over; what was learnt is kept.
    TimeLimit = 1,
    /// A client no longer wants the answer; what was learnt is kept.
    Cancelled = 2,
    /// The process must give the run up; somebody goes on with it, or runs it again from the start.
    Suspended = 3,
    /// The examples could not be read to their end: nothing that came of the run is of any use.
    Unreadable = 4,
}

/// A run looks at its flag at least every 2^24 words of work.
///
/// A clone is the same flag, for a solver that must own what it looks at between iterations.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicU8>);

impl StopFlag {
    /// Asks the run to stop. A more urgent reason replaces a less urgent one.
    pub fn raise(&self, interrupt: Interrupt) {
        self.0.fetch_max(interrupt as u8, Ordering::Relaxed);
    }

    /// The reason to stop, if there is one.
    pub fn raised(&self) -> Option<Interrupt> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(Interrupt::TimeLimit),
            2 => Some(Interrupt::Cancelled),
            3 => Some(Interrupt::Suspended),
            _ => Some(Interrupt::Unreadable),
        }
    }
}

/// What a run has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Examples read: tested, or consumed by a batch.
    pub examples: u64,
    /// Tests of the current hypothesis that it failed.
    pub mistakes: u64,
    /// Mistakes that changed the hypothesis.
    pub updates: u64,
    /// Passes begun, the clean one included.
    pub passes: u64,
}

impl Counts {
    /// Writes them.
    pub fn write(&self, snapshot: &mut SnapshotWriter) {
        snapshot.numbers([self.examples, self.mistakes, self.updates, self.passes]);
    }

    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    /// When it is cut off.
    pub fn read(snapshot: &mut SnapshotReader<'_>) -> Result<Self, SnapshotError> {
        Ok(Self {
            examples: snapshot.number()?,
            mistakes: snapshot.number()?,
            updates: snapshot.number()?,
            passes: snapshot.number()?,
        })
    }
}

/// Whom a run hands its state to, for another run to go on from. There is no clock here either:
/// the owner knows when it wants one, and what it costs.
pub trait Checkpoints: fmt::Debug + Send + Sync {
    /// Whether a state is wanted now. Asked often.
    fn is_wanted(&self) -> bool;

    /// Takes the state in which these were the counts. `write` makes its bytes, none where they are
    /// too many; it is called once at most, and the run waits meanwhile.
    fn take(&self, counts: &Counts, write: &mut dyn FnMut() -> Option<Vec<u8>>);

    /// Told that the state to begin from is none of this run's, which begins from the beginning.
    fn refused(&self);
}

/// How far a run is, for others to read while it runs.
#[derive(Debug, Default)]
pub struct ProgressCells {
    examples: AtomicU64,
    mistakes: AtomicU64,
    updates: AtomicU64,
    passes: AtomicU64,
}

impl ProgressCells {
    /// Shows new counts.
    pub fn show(&self, counts: &Counts) {
        self.examples.store(counts.examples, Ordering::Relaxed);
        self.mistakes.store(counts.mistakes, Ordering::Relaxed);
        self.updates.store(counts.updates, Ordering::Relaxed);
        self.passes.store(counts.passes, Ordering::Relaxed);
    }

    /// The counts last shown.
    pub fn counts(&self) -> Counts {
        Counts {
            examples: self.examples.load(Ordering::Relaxed),
            mistakes: self.mistakes.load(Ordering::Relaxed),
            updates: self.updates.load(Ordering::Relaxed),
            passes: self.passes.load(Ordering::Relaxed),
        }
    }
}

/// The outside of a run.
#[derive(Debug, Default)]
pub struct Run {
    /// Stops the run.
    pub stop: StopFlag,
    /// Shows how far it is.
    pub progress: ProgressCells,
    /// Takes its states, where it is worth going on from one.
    pub checkpoints: Option<Arc<dyn Checkpoints>>,
}

/// Limits that end a run, each acting after the update that reaches it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Passes over the data.
    pub max_passes: Option<u64>,
    /// Mistakes.
    pub max_mistakes: Option<u64>,
    /// Examples read.
    pub max_examples: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_more_urgent_reason_to_stop_replaces_a_less_urgent_one() {
        let flag = StopFlag::default();
        assert_eq!(flag.raised(), None);
        flag.raise(Interrupt::Cancelled);
        flag.raise(Interrupt::TimeLimit);
        assert_eq!(flag.raised(), Some(Interrupt::Cancelled));
        flag.raise(Interrupt::Suspended);
        assert_eq!(flag.raised(), Some(Interrupt::Suspended));
    }
}
