//! What surrounds a run: its limits, the flag that stops it, the cells that show how far it is.
//!
//! There is no clock here: whoever owns one raises the flag.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::memory;

use super::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};

/// Why a run ends from outside, the more urgent the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interrupt {
    /// The time the request allowed is over; what was learnt is kept.
    TimeLimit = 2,
    /// A client no longer wants the answer; what was learnt is kept.
    Cancelled = 3,
    /// The process must give the run up; somebody goes on with it, or runs it again from the start.
    Suspended = 4,
    /// The examples could not be read to their end: nothing that came of the run is of any use.
    Unreadable = 5,
    /// There is no memory for what the run would allocate next.
    Memory = 6,
}

/// A run looks at its flag at least every 2^24 words of work.
///
/// A run that was paused waits where it looks at the flag. A pause is less urgent than any interrupt.
///
/// A clone is the same flag, for a solver that must own what it looks at between iterations.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    /// [`RUNS`], [`PAUSED`] or an [`Interrupt`].
    state: AtomicU8,
    /// Whether a run waits for the end of the pause.
    is_parked: Mutex<bool>,
    resumed: Condvar,
}

const RUNS: u8 = 0;
const PAUSED: u8 = 1;

impl StopFlag {
    /// Asks the run to stop. A more urgent reason replaces a less urgent one.
    pub fn raise(&self, interrupt: Interrupt) {
        self.0.state.fetch_max(interrupt as u8, Ordering::Relaxed);
        self.0.wake();
    }

    /// Asks the run to wait where it looks at the flag next.
    pub fn pause(&self) {
        let _ = self.swap(RUNS, PAUSED);
    }

    /// Ends a pause.
    pub fn resume(&self) {
        let _ = self.swap(PAUSED, RUNS);
        self.0.wake();
    }

    /// Whether the run waits for the end of a pause.
    pub fn is_parked(&self) -> bool {
        *self.0.lock()
    }

    /// The reason to stop, if there is one. Waits while the run is paused. The run is compared with its
    /// grant of memory here.
    pub fn raised(&self) -> Option<Interrupt> {
        if self.0.state.load(Ordering::Relaxed) == PAUSED {
            self.0.park();
        }
        if memory::check().is_err() {
            self.raise(Interrupt::Memory);
        }
        self.look()
    }

    /// The reason to stop, if there is one, paused or not: for those who wait for the run.
    pub fn look(&self) -> Option<Interrupt> {
        match self.0.state.load(Ordering::Relaxed) {
            RUNS | PAUSED => None,
            2 => Some(Interrupt::TimeLimit),
            3 => Some(Interrupt::Cancelled),
            4 => Some(Interrupt::Suspended),
            5 => Some(Interrupt::Unreadable),
            _ => Some(Interrupt::Memory),
        }
    }

    fn swap(&self, from: u8, to: u8) -> Result<u8, u8> {
        let state = &self.0.state;
        state.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
    }
}

impl Flag {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_parked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn park(&self) {
        let mut is_parked = self.lock();
        *is_parked = true;
        while self.state.load(Ordering::Relaxed) == PAUSED {
            let woken = self.resumed.wait(is_parked);
            is_parked = woken.unwrap_or_else(PoisonError::into_inner);
        }
        *is_parked = false;
    }

    /// Wakes a parked run, which looks at the state again. Under the lock, so that it is not between
    /// its look and its wait.
    fn wake(&self) {
        let _is_parked = self.lock();
        self.resumed.notify_all();
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
    #[test]
    fn a_paused_run_waits_until_it_is_resumed_or_stopped() {
        for interrupt in [None, Some(Interrupt::Cancelled)] {
            let flag = StopFlag::default();
            flag.pause();
            assert_eq!(flag.look(), None);
            let run = std::thread::spawn({
                let flag = flag.clone();
                move || flag.raised()
            });
            while !flag.is_parked() {
                std::thread::yield_now();
            }
            match interrupt {
                None => flag.resume(),
                Some(interrupt) => flag.raise(interrupt),
            }
            assert_eq!(run.join().unwrap(), interrupt);
            assert!(!flag.is_parked());
        }
    }

    #[test]
    fn a_pause_replaces_no_reason_to_stop() {
        let flag = StopFlag::default();
        flag.raise(Interrupt::TimeLimit);
        flag.pause();
        assert_eq!(flag.raised(), Some(Interrupt::TimeLimit));
        flag.resume();
        assert_eq!(flag.raised(), Some(Interrupt::TimeLimit));
    }
}
