//! Lets further threads help a running computation while permits of the process are free.
//!
//! A helper holds no permit. It computes only while at least as many permits are free as helpers compute, and checks
//! this before each short piece of work. A job that takes a permit therefore starts at once, and a helper stops soon
//! after. The policy of claims, yielding and parking knows nothing of helpers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use halfspace_core::learners::engine::run::HelperSeats;
use tokio::sync::Semaphore;

/// One seat per free permit.
#[derive(Debug)]
pub(crate) struct FreePermits {
    permits: Arc<Semaphore>,
    /// Helpers that compute now.
    helpers: AtomicUsize,
    words_min: u64,
}

impl FreePermits {
    /// Seats for work of at least `words_min` words.
    pub(crate) fn new(permits: Arc<Semaphore>, words_min: u64) -> Arc<Self> {
        Arc::new(Self {
            permits,
            helpers: AtomicUsize::new(0),
            words_min,
        })
    }

    pub(crate) fn helpers(&self) -> usize {
        self.helpers.load(Ordering::Relaxed)
    }

    /// Changes the number of helpers. Returns false if `change` returns `None`.
    fn change(&self, change: impl FnMut(usize) -> Option<usize>) -> bool {
        let order = Ordering::Relaxed;
        self.helpers.fetch_update(order, order, change).is_ok()
    }
}

impl HelperSeats for FreePermits {
    fn enter(&self) -> bool {
        let free = self.permits.available_permits();
        self.change(|helpers| (helpers < free).then_some(helpers + 1))
    }

    fn stay(&self) -> bool {
        let free = self.permits.available_permits();
        if self.helpers() <= free {
            return true;
        }
        // Only as many helpers leave as permits lack.
        !self.change(|helpers| (helpers > free).then(|| helpers - 1))
    }

    fn leave(&self) {
        self.change(|helpers| helpers.checked_sub(1));
    }

    fn words_min(&self) -> u64 {
        self.words_min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_has_a_seat_only_while_a_permit_is_free() {
        let permits = Arc::new(Semaphore::new(3));
        let seats = FreePermits::new(Arc::clone(&permits), 0);
        let take = || Arc::clone(&permits).try_acquire_owned().unwrap();
        let first = take();
        assert!(seats.enter() && seats.enter() && !seats.enter());
        assert!(seats.stay());
        let second = take();
        // One of the two helpers leaves for the permit.
        assert!(!seats.stay());
        assert!(seats.stay());
        let third = take();
        assert!(!seats.stay() && !seats.enter());
        assert_eq!(seats.helpers(), 0);
        drop((first, second, third));
        assert!(seats.enter());
        seats.leave();
        assert_eq!(seats.helpers(), 0);
    }
}
