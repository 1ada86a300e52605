//! Helping threads: a run computes independent pieces on several threads.
//!
//! A run divides a part of its work into pieces and calls [`map`]. The calling thread takes one piece after another.
//! Helpers do the same while seats are free. The results come back in the order of the pieces, so the number of
//! threads changes no result: a caller combines the results in that order.
//!
//! A helper leaves after its present piece if its seat is wanted or if the run is paused. Pieces are therefore short:
//! about 2^24 words of work at most. A helper that panics lets the caller of [`map`] panic.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::learners::engine::run::StopFlag;
use crate::memory::SharedGrant;

/// Words of work from which helpers are faster than one thread, about 2 ms. On a busy machine a thread starts in some
/// tenths of a millisecond.
pub const WORDS_MIN: u64 = 1 << 23;

/// Seats for threads that help runs. The owner of the seats decides how many helpers there are at any moment.
pub trait HelperSeats: fmt::Debug + Send + Sync {
    /// Takes a seat. Returns false if no seat is free.
    fn enter(&self) -> bool;

    /// Whether a helper may compute another piece. The helper has left its seat if not.
    fn stay(&self) -> bool;

    /// Leaves a seat.
    fn leave(&self);

    /// Words of work from which a run asks for helpers.
    fn words_min(&self) -> u64;
}

/// Whether helpers may help with `words` words of work.
pub fn are_worthwhile(stop: &StopFlag, words: u64) -> bool {
    stop.seats().is_some_and(|seats| words >= seats.words_min())
}

/// Computes `piece(index, stop)` for each index below `count` and returns the results in order. Helpers share the
/// pieces. Each thread must poll the flag that its piece receives.
///
/// # Panics
/// Panics if a piece panics.
pub fn map<T: Send + Sync>(
    stop: &StopFlag,
    count: usize,
    piece: impl Fn(usize, &StopFlag) -> T + Sync,
) -> Vec<T> {
    let Some(seats) = stop.seats().filter(|_| count > 1) else {
        return (0..count).map(|index| piece(index, stop)).collect();
    };
    let (next, results) = (AtomicUsize::new(0), Results::new(count));
    let take = |stop: &StopFlag, stays: &dyn Fn() -> bool| {
        while stays() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                break;
            }
            results.put(index, piece(index, stop));
        }
    };
    let (own, helper) = (stop.alone(false), stop.alone(true));
    let shared = SharedGrant::of_this_thread();
    let help = |seat: Seat<'_>| {
        shared.help(|| take(&helper, &|| !helper.is_paused() && seat.stays()));
    };
    thread::scope(|scope| {
        for _ in 1..count {
            let Some(seat) = Seat::enter(&**seats) else {
                break;
            };
            let help = &help;
            // The run continues without a thread that the system refuses.
            let _ = thread::Builder::new().spawn_scoped(scope, move || help(seat));
        }
        take(&own, &|| true);
    });
    shared.adopt();
    results.into_vec()
}

/// The results of the pieces.
struct Results<T>(Vec<OnceLock<T>>);

impl<T> Results<T> {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| OnceLock::new()).collect())
    }

    fn put(&self, index: usize, result: T) {
        // Each index is taken once.
        let _ = self.0[index].set(result);
    }

    fn into_vec(self) -> Vec<T> {
        let results = self.0.into_iter();
        let result = |slot: OnceLock<T>| slot.into_inner().expect("each piece was computed");
        results.map(result).collect()
    }
}

/// A taken seat.
struct Seat<'a> {
    seats: &'a dyn HelperSeats,
    has_left: std::cell::Cell<bool>,
}

impl<'a> Seat<'a> {
    fn enter(seats: &'a dyn HelperSeats) -> Option<Self> {
        // The value leaves its seat when dropped, so it must not exist without a seat.
        seats.enter().then(|| Self {
            seats,
            has_left: std::cell::Cell::new(false),
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
    use std::sync::{Arc, Barrier};

    use super::*;
    use crate::learners::engine::run::Interrupt;

    fn flag(seats: &Arc<FixedSeats>) -> StopFlag {
        StopFlag::with_helpers(Arc::clone(seats) as Arc<dyn HelperSeats>)
    }

    #[test]
    fn pieces_run_at_the_same_time_and_come_back_in_order() {
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
    fn helpers_of_helpers_are_not_asked() {
        let seats = Arc::new(FixedSeats::new(3, 0));
        let sums = map(&flag(&seats), 4, |index, stop| {
            map(stop, 4, |inner, _| index * inner)
                .into_iter()
                .sum::<usize>()
        });
        assert_eq!(sums, [0, 6, 12, 18]);
        assert!(seats.entered() <= 3);
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
        let by_owner = map(&stop, 8, |index, polled| {
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
            is_owner
        });
        assert_eq!(
            by_owner.iter().filter(|own| !**own).count(),
            1,
            "{by_owner:?}"
        );
        stop.raise(Interrupt::Cancelled);
        let raised = map(&stop, 3, |_, polled| polled.raised());
        assert_eq!(raised, [Some(Interrupt::Cancelled); 3]);
    }
}
