//! The sessions in memory: one slot per session, and the choice of those that leave early.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use halfspace_core::memory::SpareMemory;
use tokio::time::Instant;

use crate::records::SessionId;

use super::live::Live;

/// Number of sessions in memory from which the session idle for longest leaves early.
const SLOTS_MAX: usize = 1024;

/// The sessions in memory. While no request computes on a session, its memory is spare, even if a request waits for
/// more examples: the next use restores it from the store.
#[derive(Default)]
pub(super) struct Slots(Mutex<HashMap<SessionId, Arc<Slot>>>);

/// The slot of one session.
pub(super) struct Slot {
    /// The write lock, held by the request that writes.
    pub(super) lock: Arc<tokio::sync::Mutex<()>>,
    /// The session as last seen, or `None` if it must be restored. A request that takes it out puts it back only if
    /// it still equals the stored one.
    pub(super) live: Arc<tokio::sync::Mutex<Option<Live>>>,
    used: Mutex<Instant>,
}

impl Slots {
    /// The slot of a session, which counts as used from now on.
    pub(super) fn slot(&self, id: SessionId) -> Arc<Slot> {
        let mut slots = self.lock();
        if slots.len() >= SLOTS_MAX && !slots.contains_key(&id) {
            let idle = slots.iter().filter(|(_, slot)| slot.is_idle());
            let longest = idle
                .min_by_key(|(_, slot)| slot.used_at())
                .map(|(id, _)| *id);
            longest.map(|id| slots.remove(&id));
        }
        let slot = slots.entry(id).or_insert_with(|| {
            Arc::new(Slot {
                lock: Arc::default(),
                live: Arc::default(),
                used: Mutex::new(Instant::now()),
            })
        });
        slot.use_now();
        Arc::clone(slot)
    }

    /// Removes sessions from memory that have been idle for `idle`.
    pub(super) fn forget_idle(&self, idle: Duration) {
        let now = Instant::now();
        let is_used = |slot: &Arc<Slot>| {
            !slot.is_idle() || now.saturating_duration_since(slot.used_at()) < idle
        };
        self.lock().retain(|_, slot| is_used(slot));
    }

    /// Removes a session from memory.
    pub(super) fn remove(&self, id: SessionId) {
        self.lock().remove(&id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Slot>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slots without the lock on the table, so that no grant is dropped under it.
    fn all(&self) -> Vec<Arc<Slot>> {
        self.lock().values().cloned().collect()
    }
}

impl SpareMemory for Slots {
    fn bytes(&self) -> Vec<u64> {
        self.all()
            .iter()
            .filter_map(|slot| slot.spare_bytes())
            .collect()
    }

    fn give_back(&self, bytes: u64, fits: fn(u64) -> bool) {
        let mut slots = self.all();
        slots.sort_by_key(|slot| slot.used_at());
        let mut given_back = 0;
        for slot in slots {
            if given_back >= bytes {
                return;
            }
            if slot.spare_bytes().is_some_and(fits) {
                given_back += slot.forget();
            }
        }
    }
}

impl Slot {
    /// Whether only the table refers to the slot.
    fn is_idle(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1
    }

    /// The bytes of the session, if one is in memory and no request computes on it.
    fn spare_bytes(&self) -> Option<u64> {
        let live = self.live.try_lock().ok()?;
        live.as_ref().map(|live| live.memory.bytes())
    }

    /// Removes the session from memory, unless a request computes on it now. Returns the bytes that are free again.
    fn forget(&self) -> u64 {
        let live = self.live.try_lock().ok().and_then(|mut live| live.take());
        live.map_or(0, |live| live.memory.bytes())
    }

    pub(super) fn use_now(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn used_at(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
