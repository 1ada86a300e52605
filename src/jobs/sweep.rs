//! The sweep: removes old ended jobs, old idempotency keys, blobs that no record names, and unfinished uploads.
//!
//! Ages are measured in service time: see [`super::service_clock`].

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::records::Timestamp;
use crate::records::idempotency::KEPT_MS;
use crate::storage::blobs::opening::PROBES;
use crate::storage::{Blobs, Store, StoreError};

use super::config::JobsConfig;
use super::datasets::stored::forget_data;
use super::ids::Ids;
use super::service_clock::ServiceClock;

/// Time between two sweeps.
const INTERVAL: Duration = Duration::from_secs(600);

/// Time between two looks at the clock.
const LOOK: Duration = Duration::from_secs(10);

/// Jobs removed in one transaction.
const BATCH: u32 = 500;

/// An upload in progress was begun or written to less than this time ago. The row of a blob is written after
/// the blob, so an older blob without a row is an orphan.
const UNFINISHED_AGE_MS: u64 = 86_400_000;

/// The orphan blobs of the last sweep, each with the monotonic time of its first sighting.
#[derive(Default)]
pub(super) struct Orphans(Mutex<HashMap<String, Duration>>);

impl Orphans {
    /// The orphans to delete. An orphan is deleted if an earlier sweep of this process saw the blob and the
    /// blob is older than `before`. An orphan that this process has seen for a day is deleted in any case.
    fn to_remove(
        &self,
        unnamed: Vec<(String, Timestamp)>,
        before: Option<Timestamp>,
        now: Duration,
    ) -> Vec<String> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = HashMap::new();
        let mut old = Vec::new();
        for (key, modified_at) in unnamed {
            let since = seen.get(&key).copied().unwrap_or(now);
            let seen_for = now.saturating_sub(since);
            let is_old = before.is_some_and(|before| modified_at < before);
            if seen_for >= INTERVAL && is_old
                || seen_for >= Duration::from_millis(UNFINISHED_AGE_MS)
            {
                old.push(key.clone());
            }
            known.insert(key, since);
        }
        *seen = known;
        old
    }
}

/// The sweep of a store by one process.
pub struct Sweep {
    store: Arc<Store>,
    blobs: Blobs,
    ids: Arc<Ids>,
    clock: ServiceClock,
    orphans: Orphans,
    lease_seconds: u32,
    retention_days: u32,
}

impl Sweep {
    pub(super) fn new(
        store: &Arc<Store>,
        blobs: Blobs,
        ids: &Arc<Ids>,
        config: &JobsConfig,
    ) -> Self {
        let retention_days = config.retention_days;
        Self {
            clock: ServiceClock::new(Arc::clone(store), Arc::clone(ids), retention_days),
            orphans: Orphans::default(),
            lease_seconds: config.lease_seconds,
            retention_days,
            store: Arc::clone(store),
            blobs,
            ids: Arc::clone(ids),
        }
    }

    /// Sweeps at regular intervals, and after a jump of the clock, until the process stops.
    pub(super) async fn run(self: Arc<Self>, stopping: CancellationToken) {
        let mut due = Instant::now();
        loop {
            if Instant::now() >= due || self.clock.has_jumped().await {
                if let Err(error) = self.once().await {
                    tracing::warn!(%error, "the sweep failed and is postponed");
                }
                due = Instant::now() + INTERVAL;
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = stopping.cancelled() => return,
            }
        }
    }

    /// Runs one sweep.
    ///
    /// # Errors
    /// Errors of the store. The next sweep continues.
    pub async fn once(&self) -> Result<(), StoreError> {
        self.clock.note().await?;
        let lengthened = self.store.shorten_leases(self.lease_seconds).await?;
        if lengthened > 0 {
            tracing::warn!(
                lengthened,
                "the clock of the database jumped: leases and callbacks were days ahead and are \
                 now due soon"
            );
        }
        // Records with an earlier time are older than the retention.
        let kept_ms = u64::from(self.retention_days) * 86_400_000;
        if let Some(before) = self.store.earliest_reading(kept_ms).await? {
            self.sweep_jobs(before).await?;
        }
        if let Some(before) = self.store.earliest_reading(KEPT_MS).await? {
            self.sweep_idempotency_keys(before).await?;
        }
        let before = self.store.earliest_reading(UNFINISHED_AGE_MS).await?;
        self.sweep_orphans(before).await?;
        let removed = match before {
            Some(before) => self.blobs.remove_unfinished(before).await?,
            None => 0,
        };
        if removed > 0 {
            tracing::info!(removed, "removed unfinished uploads of ended processes");
        }
        Ok(())
    }

    async fn sweep_jobs(&self, before: Timestamp) -> Result<(), StoreError> {
        loop {
            let swept = self.store.sweep_jobs(before, BATCH).await?;
            for key in &swept.data_keys {
                forget_data(&self.blobs, Some(key)).await;
            }
            if swept.jobs < u64::from(BATCH) {
                return Ok(());
            }
        }
    }

    async fn sweep_idempotency_keys(&self, before: Timestamp) -> Result<(), StoreError> {
        loop {
            let swept = self.store.sweep_idempotency_keys(before, BATCH).await?;
            if swept < u64::from(BATCH) {
                return Ok(());
            }
        }
    }

    async fn sweep_orphans(&self, before: Option<Timestamp>) -> Result<(), StoreError> {
        // The blobs are listed before the rows, so that the blob of a new row is not taken for an orphan.
        let mut blobs = self.blobs.list("jobs").await?;
        blobs.extend(self.blobs.list("datasets").await?);
        blobs.extend(self.blobs.list(PROBES).await?);
        let mut used = HashSet::new();
        let mut after: Option<String> = None;
        loop {
            let keys = self.store.data_keys_in_use(after.as_deref(), BATCH).await?;
            let is_last = keys.len() < BATCH as usize;
            after = keys.last().cloned();
            used.extend(keys);
            if is_last {
                break;
            }
        }
        let is_used = |key: &str| used.contains(&*Blobs::key_of_data(key));
        let unnamed = blobs.into_iter().filter(|blob| !is_used(&blob.key));
        let unnamed = unnamed.map(|blob| (blob.key, blob.modified_at)).collect();
        for key in self.orphans.to_remove(unnamed, before, self.ids.elapsed()) {
            forget_data(&self.blobs, Some(&key)).await;
        }
        Ok(())
    }
}
