//! The interface between a run and its owner: limits, stop flag, counts, progress cells and checkpoints.
//!
//! A run has no clock. Its owner has one, and raises the stop flag when the time is over.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::memory;

use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};

/// A reason to end a run from outside. A greater value is more urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interrupt {
    /// The time limit of the request is reached. The run keeps everything learnt so far.
    TimeLimit = 2,
    /// A client cancelled the run. The run keeps everything learnt so far.
    Cancelled = 3,
    /// The process must stop the run, which is resumed later or starts again from the beginning.
    Suspended = 4,
    /// The examples could not be read to their end, so every result of the run is useless.
    Unreadable = 5,
    /// The next allocation of the run does not fit its memory grant.
    Memory = 6,
}

/// Seats for threads that help runs. Their owner decides how many helpers there are at any moment.
pub trait HelperSeats: fmt::Debug + Send + Sync {
    /// Takes a seat. Returns false if no seat is free.
    fn enter(&self) -> bool;

    /// Whether a helper may compute another piece. If not, it has left its seat with this call.
    fn stay(&self) -> bool;

    /// Leaves a seat.
    fn leave(&self);

    /// Words of work from which a run asks for helpers.
    fn words_min(&self) -> u64;
}

/// The flag that stops or pauses a run, which polls it at least once per 2^24 words of work. Clones share one flag.
///
/// A paused run waits when it next polls the flag. A pause is less urgent than any interrupt.
///
/// The flag also names the threads that may help the run: see [`crate::learners::engine::shared_work`].
#[derive(Clone, Debug, Default)]
pub struct StopFlag {
    flag: Arc<Flag>,
    /// Seats for helper threads. None for a run on one thread.
    seats: Option<Arc<dyn HelperSeats>>,
    /// Whether a helper polls the flag. A helper never waits.
    is_helper: bool,
}

#[derive(Debug, Default)]
struct Flag {
    /// One of [`RUNS`], [`PAUSED`] and the values of [`Interrupt`].
    state: AtomicU8,
    /// Whether a run waits for the end of the pause.
    is_parked: Mutex<bool>,
    resumed: Condvar,
}

const RUNS: u8 = 0;
const PAUSED: u8 = 1;

impl StopFlag {
    /// A flag whose run may use helpers in these seats.
    pub fn with_helpers(seats: Arc<dyn HelperSeats>) -> Self {
        Self {
            seats: Some(seats),
            ..Self::default()
        }
    }

    /// The seats for helpers.
    pub(super) fn seats(&self) -> Option<&Arc<dyn HelperSeats>> {
        self.seats.as_ref()
    }

    /// The same flag without helpers, for the run itself or for a helper.
    pub(super) fn alone(&self, is_helper: bool) -> Self {
        Self {
            flag: Arc::clone(&self.flag),
            seats: None,
            is_helper,
        }
    }

    /// Whether the run is asked to wait.
    pub(super) fn is_paused(&self) -> bool {
        self.flag.state.load(Ordering::Relaxed) == PAUSED
    }

    /// Asks the run to stop. A more urgent reason replaces a less urgent one.
    pub fn raise(&self, interrupt: Interrupt) {
        self.flag
            .state
            .fetch_max(interrupt as u8, Ordering::Relaxed);
        self.flag.wake();
    }

    /// Asks the run to wait when it next polls the flag.
    pub fn pause(&self) {
        let _ = self.swap(RUNS, PAUSED);
    }

    /// Ends a pause.
    pub fn resume(&self) {
        let _ = self.swap(PAUSED, RUNS);
        self.flag.wake();
    }

    /// Whether the run waits for the end of a pause.
    pub fn is_parked(&self) -> bool {
        *self.flag.lock()
    }

    /// The reason to stop, if there is one. Waits while the run is paused, and compares the memory of the run with
    /// its grant.
    pub fn raised(&self) -> Option<Interrupt> {
        if self.is_paused() && !self.is_helper {
            self.flag.park();
        }
        if memory::check().is_err() {
            self.raise(Interrupt::Memory);
        }
        self.look()
    }

    /// The reason to stop, if there is one. Unlike [`Self::raised`] it never waits, so that observers of the run can
    /// call it.
    #[inline]
    pub fn look(&self) -> Option<Interrupt> {
        match self.flag.state.load(Ordering::Relaxed) {
            RUNS | PAUSED => None,
            2 => Some(Interrupt::TimeLimit),
            3 => Some(Interrupt::Cancelled),
            4 => Some(Interrupt::Suspended),
            5 => Some(Interrupt::Unreadable),
            _ => Some(Interrupt::Memory),
        }
    }

    fn swap(&self, from: u8, to: u8) -> Result<u8, u8> {
        let state = &self.flag.state;
        state.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
    }
}

/// Cancels a run when dropped. Whoever waits for the run holds this guard.
#[derive(Debug, Default)]
pub struct CancelOnDrop(StopFlag);

impl CancelOnDrop {
    /// Guards the run with this stop flag.
    pub fn new(flag: StopFlag) -> Self {
        Self(flag)
    }

    /// The stop flag of the run.
    pub fn flag(&self) -> StopFlag {
        self.0.clone()
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.raise(Interrupt::Cancelled);
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

    /// Wakes a parked run, which then reads the state again. Thanks to the lock, the run cannot be between its look
    /// at the state and its wait.
    fn wake(&self) {
        let is_parked = self.lock();
        // Without a waiter, the notification would still be a call of the kernel.
        if *is_parked {
            self.resumed.notify_all();
        }
    }
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Examples read: tested, or consumed by a batch.
    pub examples: u64,
    /// Failed tests of the hypothesis: by one example, or by the whole sample for a search.
    pub mistakes: u64,
    /// Changes of the hypothesis. Some rules also change it on examples that are no mistakes.
    pub updates: u64,
    /// Passes that have begun, including the last one without a mistake.
    pub passes: u64,
}

impl Counts {
    /// Writes the four counts.
    pub fn write(&self, snapshot: &mut SnapshotWriter) {
        snapshot.numbers([self.examples, self.mistakes, self.updates, self.passes]);
    }

    /// Reads the counts that [`Self::write`] wrote.
    ///
    /// # Errors
    /// An error if the bytes end too early.
    pub fn read(snapshot: &mut SnapshotReader<'_>) -> Result<Self, SnapshotError> {
        Ok(Self {
            examples: snapshot.number()?,
            mistakes: snapshot.number()?,
            updates: snapshot.number()?,
            passes: snapshot.number()?,
        })
    }
}

/// Receives the states of a run, from which another run can resume. The implementor owns the clock and knows what a
/// state costs.
pub trait Checkpoints: fmt::Debug + Send + Sync {
    /// Whether a state is wanted now. The run asks often.
    fn is_wanted(&self) -> bool;

    /// Receives a state and the counts in it. `write` returns the bytes of the state, or none if they are too many.
    /// Call it at most once; the run waits meanwhile.
    fn take(&self, counts: &Counts, write: &mut dyn FnMut() -> Option<Vec<u8>>);

    /// Called if the state to resume from does not belong to this run, which then starts from the beginning.
    fn refused(&self);
}

/// The progress of a run, readable from other threads while the run is under way. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct ProgressCells(Arc<Cells>);

#[derive(Debug, Default)]
struct Cells {
    examples: AtomicU64,
    mistakes: AtomicU64,
    updates: AtomicU64,
    passes: AtomicU64,
}

impl ProgressCells {
    /// Publishes new counts.
    pub fn show(&self, counts: &Counts) {
        let cells = &self.0;
        cells.examples.store(counts.examples, Ordering::Relaxed);
        cells.mistakes.store(counts.mistakes, Ordering::Relaxed);
        cells.updates.store(counts.updates, Ordering::Relaxed);
        cells.passes.store(counts.passes, Ordering::Relaxed);
    }

    /// The counts that were published last.
    pub fn counts(&self) -> Counts {
        Counts {
            examples: self.0.examples.load(Ordering::Relaxed),
            mistakes: self.0.mistakes.load(Ordering::Relaxed),
            updates: self.0.updates.load(Ordering::Relaxed),
            passes: self.0.passes.load(Ordering::Relaxed),
        }
    }
}

/// The controls by which the owner stops and observes a run.
#[derive(Debug, Default)]
pub struct Run {
    /// Stops or pauses the run.
    pub stop: StopFlag,
    /// Publishes the progress of the run.
    pub progress: ProgressCells,
    /// Receives checkpoints of the run, if the run is worth resuming.
    pub checkpoints: Option<Arc<dyn Checkpoints>>,
}

/// Limits that end a run, each after the update that reaches it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunLimits {
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
    fn stop_flag_keeps_the_most_urgent_interrupt() {
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
    fn pause_keeps_the_interrupt_of_a_stop_flag() {
        let flag = StopFlag::default();
        flag.raise(Interrupt::TimeLimit);
        flag.pause();
        assert_eq!(flag.raised(), Some(Interrupt::TimeLimit));
        flag.resume();
        assert_eq!(flag.raised(), Some(Interrupt::TimeLimit));
    }
}
