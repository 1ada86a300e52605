//! Bytes of uploads in progress, counted against quotas before they are stored.
//!
//! A transaction sees stored rows, but not the spools and blobs of concurrent uploads. Each upload therefore reserves
//! the bytes of its growing stored form, so that all uploads of an owner in this process together stay within the
//! quota. Other processes do not see the reservations; the transaction at the end enforces the quota exactly, over
//! all processes.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;

use crate::records::Owner;
use crate::storage::{OverQuota, QuotaStanding, Store, Usage};

use crate::jobs::error::JobsError;

/// Reservations grow in steps of this size, so that most rows need no call.
const STEP_BYTES: u64 = 64 << 10;

/// Growth of a reservation after which the owner's usage is read again.
const STANDING_BYTES: u64 = 16 << 20;

pub struct Reservations {
    store: Arc<Store>,
    reserved: Mutex<Reserved>,
}

#[derive(Default)]
struct Reserved {
    of_owner: HashMap<Owner, u64>,
    of_all: u64,
}

/// Bytes reserved for one upload. Clones share the reservation; dropping the last clone releases it.
#[derive(Clone)]
pub struct Reservation(Arc<Mutex<ReservedBytes>>);

struct ReservedBytes {
    reservations: Arc<Reservations>,
    owner: Owner,
    bytes: u64,
    /// Usage and limits as last read from the store, without this reservation.
    standing: Arc<Mutex<QuotaStanding>>,
    /// Bytes reserved at that time.
    standing_bytes: u64,
    refusal: Option<OverQuota>,
}

impl Reservations {
    pub(super) fn new(store: Arc<Store>) -> Self {
        let reserved = Mutex::default();
        Self { store, reserved }
    }

    /// Reserves bytes of the owner's quota and of the quota of all owners.
    ///
    /// # Errors
    /// [`JobsError::OverQuota`], or errors of the store.
    pub async fn reserve(
        self: &Arc<Self>,
        owner: &Owner,
        bytes: u64,
    ) -> Result<Reservation, JobsError> {
        let held = ReservedBytes {
            reservations: Arc::clone(self),
            owner: owner.clone(),
            bytes: 0,
            standing: Arc::new(Mutex::new(self.store.usage(owner).await?)),
            standing_bytes: 0,
            refusal: None,
        };
        let reservation = Reservation(Arc::new(Mutex::new(held)));
        let grown = reservation.grow_to(bytes);
        grown.map_err(JobsError::OverQuota)?;
        Ok(reservation)
    }
}

impl Reservation {
    /// Grows to at least `bytes` and returns the bytes reserved.
    ///
    /// # Errors
    /// The limit that the bytes would exceed. The reservation is then released.
    pub fn grow_to(&self, bytes: u64) -> Result<u64, OverQuota> {
        let mut held = lock(&self.0);
        if bytes > held.bytes {
            let grown = held.grow_to(bytes);
            held.refusal = grown.err();
            grown?;
        }
        Ok(held.bytes)
    }

    /// Reserves exactly `bytes`.
    ///
    /// # Errors
    /// The limit that the bytes would exceed. The reservation is then released.
    pub fn set(&self, bytes: u64) -> Result<(), OverQuota> {
        self.grow_to(bytes)?;
        lock(&self.0).become_exactly(bytes);
        Ok(())
    }

    /// The error of the last attempt to grow.
    pub fn refusal(&self) -> Option<OverQuota> {
        lock(&self.0).refusal
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reservation({})", lock(&self.0).bytes)
    }
}

impl ReservedBytes {
    fn grow_to(&mut self, bytes: u64) -> Result<(), OverQuota> {
        if bytes.saturating_sub(self.standing_bytes) > STANDING_BYTES {
            self.standing_bytes = bytes;
            self.ask_again();
        }
        let asked = |stored_bytes| Usage {
            stored_bytes,
            ..Usage::default()
        };
        let reservations = Arc::clone(&self.reservations);
        let mut reserved = lock(&reservations.reserved);
        let of_owner = reserved.of_owner.get(&self.owner).copied().unwrap_or(0);
        let mut standing = *lock(&self.standing);
        standing.own.stored_bytes += of_owner - self.bytes;
        standing.all.stored_bytes += reserved.of_all - self.bytes;
        let admitted = standing.admits(&asked(bytes));
        let step = bytes.next_multiple_of(STEP_BYTES);
        let granted = match admitted {
            Ok(()) => standing.admits(&asked(step)).map_or(bytes, |()| step),
            // A refused upload releases its bytes, so that one of two uploads that do not fit together can
            // finish.
            Err(_) => 0,
        };
        reserved.change(&self.owner, self.bytes, granted);
        self.bytes = granted;
        admitted
    }

    fn become_exactly(&mut self, bytes: u64) {
        let mut reserved = lock(&self.reservations.reserved);
        reserved.change(&self.owner, self.bytes, bytes);
        self.bytes = bytes;
    }

    /// Reads the usage from the store in the background. If the read fails, the last usage stays.
    fn ask_again(&self) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (reservations, owner) = (Arc::clone(&self.reservations), self.owner.clone());
        let standing = Arc::clone(&self.standing);
        runtime.spawn(async move {
            if let Ok(found) = reservations.store.usage(&owner).await {
                *lock(&standing) = found;
            }
        });
    }
}

impl Drop for ReservedBytes {
    fn drop(&mut self) {
        self.become_exactly(0);
    }
}

impl Reserved {
    /// Changes one reservation of an owner.
    fn change(&mut self, owner: &Owner, from: u64, to: u64) {
        self.of_all = self.of_all - from + to;
        let of_owner = self.of_owner.get(owner).copied().unwrap_or(0) - from + to;
        if of_owner == 0 {
            self.of_owner.remove(owner);
        } else {
            self.of_owner.insert(owner.clone(), of_owner);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
