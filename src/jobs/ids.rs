//! The source of ids, seeds, times and random numbers, with the clock and the random generator as parameters.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use halfspace_core::learners::engine::random::SEED_MAX;
use rand::Rng;
use rand::rngs::StdRng;

use crate::records::id::{Id, Kind};
use crate::records::{Clock, Timestamp};

pub struct Ids {
    clock: Arc<dyn Clock>,
    /// The earliest time that was read since the last call of [`Ids::take_earliest`].
    earliest: AtomicI64,
    generator: Mutex<StdRng>,
}

impl Ids {
    /// The generator must be a cryptographic one, so that the random bits of visible ids do not reveal later ones.
    pub fn new(clock: Arc<dyn Clock>, generator: StdRng) -> Self {
        Self {
            clock,
            earliest: AtomicI64::new(i64::MAX),
            generator: Mutex::new(generator),
        }
    }

    /// The present time of day.
    pub fn now(&self) -> Timestamp {
        let now = self.clock.now();
        self.see(now);
        now
    }

    /// How long the process has run, or somewhat less. The value never decreases and never jumps.
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// The earliest time read since the last call, among those that a record may bear.
    pub(super) fn take_earliest(&self) -> Timestamp {
        self.now();
        let earliest = self.earliest.swap(i64::MAX, Ordering::SeqCst);
        Timestamp::from_milliseconds(earliest)
    }

    /// Notes a time that a record may bear.
    pub(super) fn see(&self, time: Timestamp) {
        let time = time.milliseconds();
        self.earliest.fetch_min(time, Ordering::SeqCst);
    }

    pub fn id<K: Kind>(&self) -> Id<K> {
        let mut random = [0; 10];
        self.with(|generator| generator.fill_bytes(&mut random));
        Id::new(self.now(), random)
    }

    /// A seed for a request that names none.
    pub fn seed(&self) -> u64 {
        self.with(|generator| generator.next_u64() & SEED_MAX)
    }

    pub fn random(&self) -> u64 {
        self.with(Rng::next_u64)
    }

    /// A unique random name with this prefix.
    pub fn name(&self, prefix: &str) -> String {
        let (high, low) = self.with(|generator| (generator.next_u64(), generator.next_u64()));
        format!("{prefix}_{high:016x}{low:016x}")
    }

    /// A random pause between three and five quarters of `pause`, so that processes that started together do
    /// not poll together.
    pub fn about(&self, pause: Duration) -> Duration {
        let share = self.with(|generator| f64::from(generator.next_u32()) / f64::from(u32::MAX));
        pause.mul_f64(0.75 + share / 2.0)
    }

    fn with<T>(&self, draw: impl FnOnce(&mut StdRng) -> T) -> T {
        // A generator stays valid when its holder panics.
        draw(
            &mut self
                .generator
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}
