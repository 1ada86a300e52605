//! Helper threads, which share the work of a run.
//!
//! A run divides a part of its work into pieces and calls [`map`] or [`for_each`]. The calling thread takes one piece
//! after another, and helpers do the same, at most as many as the owner of the run allows at the moment
//! ([`HelperSeats`]). The results come back in the order of the pieces and callers combine them in that order, so the
//! number of threads changes no result.
//!
//! A helper leaves after its present piece if the owner wants its seat back or the run is paused. Pieces are therefore
//! short: a piece processes about [`PIECE_WORDS_MAX`] machine words at most, which takes milliseconds. If a helper
//! panics, so does the calling thread.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::learners::engine::run::{HelperSeats, StopFlag};
use crate::memory::{self, SharedGrant};

/// The most words of work of a piece, which take some milliseconds. A helper that is to leave finishes its piece
/// first.
pub const PIECE_WORDS_MAX: u64 = 1 << 24;

/// Words of work from which helpers are faster than one thread, about 2 ms. On a busy machine it takes some tenths of
/// a millisecond to start a thread.
pub const WORDS_MIN: u64 = 1 << 23;

/// Whether helpers may help with `words` words of work.
pub fn are_worthwhile(stop: &StopFlag, words: u64) -> bool {
    stop.seats().is_some_and(|seats| words >= seats.words_min())
}

/// Computes `piece(index, stop)` for each index below `count`, shared with helpers, and returns the results in order.
/// Each thread must poll the flag that its piece receives.
///
/// # Panics
/// Panics if a piece panics.
pub fn map<T: Send>(
    stop: &StopFlag,
    count: usize,
    piece: impl Fn(usize, &StopFlag) -> T + Sync,
) -> Vec<T> {
    let mut results = Vec::with_capacity(count);
    for_each(stop, count, count, piece, |result| {
        results.push(result);
        ControlFlow::Continue(())
    });
    results
}

/// Like [`map`], but passes each result in order to `see` on the calling thread. At most `ahead` pieces are taken and
/// wait for their turn, besides the one that `see` reads. When `see` breaks, pieces that have begun are still
/// computed to their end.
///
/// # Panics
/// Panics if a piece panics.
pub fn for_each<T: Send>(
    stop: &StopFlag,
    count: usize,
    ahead: usize,
    piece: impl Fn(usize, &StopFlag) -> T + Sync,
    mut see: impl FnMut(T) -> ControlFlow<()>,
) {
    let Some(seats) = stop.seats().filter(|_| count > 1) else {
        let _ = (0..count).try_for_each(|index| see(piece(index, stop)));
        return;
    };
    let queue = Queue::new(count, ahead);
    let (own, helper) = (stop.alone(false), stop.alone(true));
    let shared = SharedGrant::of_this_thread();
    let help = |seat: Seat<'_>| {
        shared.help(|hand_over| {
            while !helper.is_paused() && seat.stays() {
                let Some(index) = queue.take() else { break };
                let result = piece(index, &helper);
                hand_over();
                queue.put(index, result);
            }
        });
    };
    thread::scope(|scope| {
        // If a piece panics on this thread, no helper computes in vain.
        let _close = Close(&queue);
        loop {
            for _ in 0..queue.vacancies() {
                let Some(seat) = Seat::enter(&**seats) else {
                    break;
                };
                let (help, hired) = (&help, Hired::new(&queue));
                let work = move || {
                    let _hired = hired;
                    help(seat);
                };
                // The new thread frees the memory of its creation. The run continues without a thread that the system
                // refuses.
                memory::foreign(|| drop(thread::Builder::new().spawn_scoped(scope, work)));
            }
            match queue.step() {
                Some(Step::Compute(index)) => queue.put(index, piece(index, &own)),
                Some(Step::See(result)) => {
                    shared.adopt();
                    if see(result).is_break() {
                        break;
                    }
                }
                None => break,
            }
        }
    });
    shared.finish();
}

/// The pieces of a run, in order.
struct Queue<T> {
    state: Mutex<State<T>>,
    /// Notified when the result that the calling thread waits for arrives, or never will.
    changed: Condvar,
}

struct State<T> {
    count: usize,
    ahead: usize,
    /// The first piece that nobody has taken.
    next: usize,
    /// The results of the taken pieces that were not seen yet.
    results: VecDeque<Option<T>>,
    /// The number of helpers that were hired and have not left.
    helpers: usize,
    is_closed: bool,
}

/// The next step of the calling thread.
enum Step<T> {
    See(T),
    Compute(usize),
}

impl<T> Queue<T> {
    fn new(count: usize, ahead: usize) -> Self {
        Self {
            state: Mutex::new(State {
                count,
                ahead: ahead.max(1),
                next: 0,
                results: VecDeque::new(),
                helpers: 0,
                is_closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of further helpers that could take a piece now. Zero while more than half of `ahead` results wait,
    /// because a new helper would soon leave again.
    fn vacancies(&self) -> usize {
        let state = self.state();
        match state.results.len() <= state.ahead / 2 {
            true => state.takeable().saturating_sub(1 + state.helpers),
            false => 0,
        }
    }

    /// The next piece for a helper. None if all pieces are taken or `ahead` results wait. The helper then leaves, and
    /// the calling thread hires another one later.
    fn take(&self) -> Option<usize> {
        self.state().take()
    }

    fn put(&self, index: usize, result: T) {
        let mut state = self.state();
        let place = index - (state.next - state.results.len());
        state.results[place] = Some(result);
        if place == 0 {
            self.changed.notify_one();
        }
    }

    /// From now on, no thread takes another piece.
    fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_one();
    }

    /// Waits for the next step of the calling thread. None after the last result, or after a helper panicked.
    fn step(&self) -> Option<Step<T>> {
        let mut state = self.state();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(Some(_)) = state.results.front() {
                return state.results.pop_front().flatten().map(Step::See);
            }
            if let Some(index) = state.take() {
                return Some(Step::Compute(index));
            }
            if state.results.is_empty() {
                return None;
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T> State<T> {
    /// The number of pieces that threads may take now.
    fn takeable(&self) -> usize {
        match self.is_closed {
            true => 0,
            false => (self.count - self.next).min(self.ahead - self.results.len()),
        }
    }

    fn take(&mut self) -> Option<usize> {
        (self.takeable() > 0).then(|| {
            self.results.push_back(None);
            self.next += 1;
            self.next - 1
        })
    }
}

/// Closes the queue when dropped.
struct Close<'a, T>(&'a Queue<T>);

impl<T> Drop for Close<'_, T> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Counts a helper until dropped. If the helper panics, this closes the queue, because the calling thread would wait
/// for its result for ever.
struct Hired<'a, T>(&'a Queue<T>);

impl<'a, T> Hired<'a, T> {
    fn new(queue: &'a Queue<T>) -> Self {
        queue.state().helpers += 1;
        Self(queue)
    }
}

impl<T> Drop for Hired<'_, T> {
    fn drop(&mut self) {
        self.0.state().helpers -= 1;
        if thread::panicking() {
            self.0.close();
        }
    }
}

/// A taken seat.
struct Seat<'a> {
    seats: &'a dyn HelperSeats,
    has_left: Cell<bool>,
}

impl<'a> Seat<'a> {
    fn enter(seats: &'a dyn HelperSeats) -> Option<Self> {
        // The value leaves its seat when dropped, so it must not exist without a seat.
        seats.enter().then(|| Self {
            seats,
            has_left: Cell::new(false),
        })
    }

    fn stays(&self) -> bool {
        if !self.has_left.get() && !self.seats.stay() {
            self.has_left.set(true);
        }
        !self.has_left.get()
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if !self.has_left.get() {
            self.seats.leave();
        }
    }
}

/// A fixed number of seats, for programs that have their cores to themselves.
#[derive(Debug)]
pub struct FixedSeats {
    free: AtomicUsize,
    words_min: u64,
    entered: AtomicUsize,
}

impl FixedSeats {
    /// Creates `count` seats for work of at least `words_min` words.
    pub fn new(count: usize, words_min: u64) -> Self {
        Self {
            free: AtomicUsize::new(count),
            words_min,
            entered: AtomicUsize::new(0),
        }
    }

    /// How often a helper took a seat.
    pub fn entered(&self) -> usize {
        self.entered.load(Ordering::Relaxed)
    }
}

impl HelperSeats for FixedSeats {
    fn enter(&self) -> bool {
        let taken = self
            .free
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| {
                free.checked_sub(1)
            });
        self.entered
            .fetch_add(usize::from(taken.is_ok()), Ordering::Relaxed);
        taken.is_ok()
    }

    fn stay(&self) -> bool {
        true
    }

    fn leave(&self) {
        self.free.fetch_add(1, Ordering::Relaxed);
    }

    fn words_min(&self) -> u64 {
        self.words_min
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::{Arc, Barrier};

    use super::*;
    use crate::learners::engine::run::Interrupt;
    use crate::memory::MemoryBudget;

    fn flag(seats: &Arc<FixedSeats>) -> StopFlag {
        StopFlag::with_helpers(Arc::clone(seats) as Arc<dyn HelperSeats>)
    }

    #[test]
    fn helpers_compute_pieces_at_the_same_time_and_in_order() {
        let seats = Arc::new(FixedSeats::new(2, 0));
        // Three pieces wait for each other, so three threads compute them.
        let barrier = Barrier::new(3);
        let squares = map(&flag(&seats), 9, |index, _| {
            barrier.wait();
            index * index
        });
        assert_eq!(squares, [0, 1, 4, 9, 16, 25, 36, 49, 64]);
        assert_eq!(
            (seats.entered(), seats.free.load(Ordering::Relaxed)),
            (2, 2)
        );
    }

    #[test]
    fn for_each_sees_results_in_order_and_computes_few_ahead() {
        for threads in 0..3 {
            let seats = Arc::new(FixedSeats::new(threads, 0));
            let (seen, ahead) = (AtomicUsize::new(0), 4);
            let piece = |index: usize, _: &StopFlag| {
                assert!(index <= seen.load(Ordering::SeqCst) + ahead);
                index
            };
            let mut results = Vec::new();
            for_each(&flag(&seats), 500, ahead, piece, |index| {
                results.push(index);
                seen.store(results.len(), Ordering::SeqCst);
                match index {
                    399 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            });
            assert!(results.into_iter().eq(0..400));
            assert_eq!(seats.free.load(Ordering::Relaxed), threads);
        }
    }

    #[test]
    fn hired_threads_leave_few_bytes_to_the_run() {
        let (budget, seats) = (MemoryBudget::new(1 << 30), Arc::new(FixedSeats::new(1, 0)));
        let grant = budget.try_take(0).unwrap();
        grant.within(|| {
            for _ in 0..2_000 {
                map(&flag(&seats), 2, |index, _| index);
            }
        });
        assert!(seats.entered() > 1_000);
        assert!(grant.peak() < 128 << 10, "{}", grant.peak());
    }

    #[test]
    fn helpers_of_helpers_are_not_asked() {
        let seats = Arc::new(FixedSeats::new(3, 0));
        let sums = map(&flag(&seats), 4, |index, stop| {
            assert!(stop.seats().is_none());
            map(stop, 4, |inner, _| index * inner)
                .into_iter()
                .sum::<usize>()
        });
        assert_eq!(sums, [0, 6, 12, 18]);
    }

    /// One seat. A helper leaves the seat before its second piece.
    #[derive(Debug, Default)]
    struct BriefSeat {
        is_taken: AtomicBool,
        has_computed: AtomicBool,
        left: AtomicUsize,
    }

    impl HelperSeats for BriefSeat {
        fn enter(&self) -> bool {
            !self.is_taken.swap(true, Ordering::SeqCst)
        }

        fn stay(&self) -> bool {
            let is_over = self.has_computed.swap(true, Ordering::SeqCst);
            if is_over {
                self.leave();
            }
            !is_over
        }

        fn leave(&self) {
            self.has_computed.store(false, Ordering::SeqCst);
            self.left.fetch_add(1, Ordering::SeqCst);
            self.is_taken.store(false, Ordering::SeqCst);
        }

        fn words_min(&self) -> u64 {
            0
        }
    }

    #[test]
    fn a_helper_that_leaves_is_replaced() {
        let seat = Arc::new(BriefSeat::default());
        let stop = StopFlag::with_helpers(Arc::clone(&seat) as Arc<dyn HelperSeats>);
        let (owner, own) = (thread::current().id(), AtomicUsize::new(0));
        map(&stop, 100, |_, _| {
            if thread::current().id() != owner {
                return;
            }
            // The owner has nothing to do until its next helper has left.
            let helpers = own.fetch_add(1, Ordering::SeqCst) + 1;
            while helpers <= 5 && seat.left.load(Ordering::SeqCst) < helpers {
                thread::yield_now();
            }
        });
        assert!(seat.left.load(Ordering::SeqCst) >= 5);
    }

    #[test]
    #[should_panic(expected = "panicked")]
    fn a_panic_of_a_helper_is_a_panic_of_the_run() {
        let seats = Arc::new(FixedSeats::new(1, 0));
        let (barrier, owner) = (Barrier::new(2), thread::current().id());
        map(&flag(&seats), 2, |_, _| {
            barrier.wait();
            assert_eq!(thread::current().id(), owner, "the helper fails");
        });
    }

    #[test]
    fn a_helper_leaves_and_never_waits_while_the_run_is_paused() {
        let seats = Arc::new(FixedSeats::new(1, 0));
        let stop = flag(&seats);
        let (barrier, owner) = (Barrier::new(2), thread::current().id());
        let threads = map(&stop, 8, |index, polled| {
            let is_owner = thread::current().id() == owner;
            if index < 2 {
                barrier.wait();
            }
            match (index < 2, is_owner) {
                (true, false) => {
                    stop.pause();
                    assert_eq!(polled.raised(), None);
                }
                (true, true) => {
                    while !stop.is_paused() || seats.free.load(Ordering::Relaxed) == 0 {
                        thread::yield_now();
                    }
                    stop.resume();
                }
                (false, _) => {}
            }
            thread::current().id()
        });
        // The helper that saw the pause computed no other piece.
        let helper = *threads[..2].iter().find(|id| **id != owner).unwrap();
        assert!(!threads[2..].contains(&helper), "{threads:?}");
        stop.raise(Interrupt::Cancelled);
        let raised = map(&stop, 3, |_, polled| polled.raised());
        assert_eq!(raised, [Some(Interrupt::Cancelled); 3]);
    }
}
