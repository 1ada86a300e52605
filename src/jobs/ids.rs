//! Where ids and seeds that nobody gave come from: a clock and a random generator, both handed in.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use halfspace_core::learners::random::SEED_MAX;
use rand::Rng;
use rand::rngs::StdRng;

use crate::records::id::{Id, Kind};
use crate::records::{Clock, Timestamp};

/// Makes ids and seeds.
pub struct Ids {
    clock: Arc<dyn Clock>,
    /// The earliest time that was read since the last call.
    earliest: AtomicI64,
    generator: Mutex<StdRng>,
}

impl Ids {
    /// A source over a clock and a cryptographic generator: what it has shown, in request ids, does
    /// not tell what it will.
    pub fn new(clock: Arc<dyn Clock>, generator: StdRng) -> Self {
        Self {
            clock,
            earliest: AtomicI64::new(i64::MAX),
            generator: Mutex::new(generator),
        }
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        let now = self.clock.now();
        self.see(now);
        now
    }

    /// How long the process has run, or somewhat less. The value never decreases and never jumps.
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// The earliest time that anything here bears since this was last asked.
    pub(super) fn take_earliest(&self) -> Timestamp {
        self.now();
        let earliest = self.earliest.swap(i64::MAX, Ordering::SeqCst);
        Timestamp::from_milliseconds(earliest)
    }

    /// Something may bear this time.
    pub(super) fn see(&self, time: Timestamp) {
        let time = time.milliseconds();
        self.earliest.fetch_min(time, Ordering::SeqCst);
    }

    /// A new id.
    pub fn id<K: Kind>(&self) -> Id<K> {
        let mut random = [0; 10];
        self.with(|generator| generator.fill_bytes(&mut random));
        Id::new(self.now(), random)
    }

    /// A seed for a request that gave none.
    pub fn seed(&self) -> u64 {
        self.with(|generator| generator.next_u64() & SEED_MAX)
    }

    /// A random number.
    pub fn random(&self) -> u64 {
        self.with(Rng::next_u64)
    }

    /// A name that is never used again.
    pub fn name(&self, prefix: &str) -> String {
        let (high, low) = self.with(|generator| (generator.next_u64(), generator.next_u64()));
        format!("{prefix}_{high:016x}{low:016x}")
    }

    /// A pause of about this length, between three and five quarters of it: processes that began
    /// together do not go on asking together.
    pub fn about(&self, pause: Duration) -> Duration {
        let share = self.with(|generator| f64::from(generator.next_u32()) / f64::from(u32::MAX));
        pause.mul_f64(0.75 + share / 2.0)
    }

    fn with<T>(&self, draw: impl FnOnce(&mut StdRng) -> T) -> T {
        // A generator is right whatever its holder was doing when it panicked.
        draw(
            &mut self
                .generator
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}
