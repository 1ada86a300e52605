//! Removes ended jobs and idempotency keys that are old, blobs that no job and no dataset names, and what
//! interrupted uploads have left.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::records::Timestamp;
use crate::records::idempotency::KEPT_MS;
use crate::storage::StoreError;
use crate::storage::blobs::opening::PROBES;

use super::service::Jobs;

/// Time between two sweeps.
const INTERVAL: Duration = Duration::from_secs(600);

/// Jobs removed in one transaction.
const BATCH: u32 = 500;

/// No upload that goes on began, or was last written to, so long ago. A record is written after its
/// blob: a blob this old without one is nobody's.
const UNFINISHED_AGE_MS: i64 = 86_400_000;

impl Jobs {
    /// Sweeps now and then until the process stops.
    pub(super) async fn sweep_regularly(self: Arc<Self>) {
        loop {
            if let Err(error) = self.sweep().await {
                tracing::warn!(%error, "the sweep is put off");
            }
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }

    /// Removes what is old.
    ///
    /// # Errors
    /// What the store says; the rest is left to the next sweep.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        let kept_ms = i64::from(self.config.retention_days) * 86_400_000;
        let before = Timestamp::from_milliseconds(self.ids.now().milliseconds() - kept_ms);
        loop {
            let swept = self.store.sweep_jobs(before, BATCH).await?;
            for key in &swept.data_keys {
                self.forget_data(Some(key)).await;
            }
            if swept.jobs < u64::from(BATCH) {
                break;
            }
        }
        self.sweep_idempotency_keys().await?;
        self.sweep_orphans().await?;
        let before =
            Timestamp::from_milliseconds(self.ids.now().milliseconds() - UNFINISHED_AGE_MS);
        let removed = self.blobs.remove_unfinished(before).await?;
        if removed > 0 {
            tracing::info!(
                removed,
                "unfinished uploads of processes that are gone are removed"
            );
        }
        Ok(())
    }

    async fn sweep_idempotency_keys(&self) -> Result<(), StoreError> {
        let before = Timestamp::from_milliseconds(self.ids.now().milliseconds() - KEPT_MS);
        loop {
            let swept = self.store.sweep_idempotency_keys(before, BATCH).await?;
            if swept < u64::from(BATCH) {
                return Ok(());
            }
        }
    }

    async fn sweep_orphans(&self) -> Result<(), StoreError> {
        // The blobs are listed first: what is stored meanwhile is then in use, not an orphan.
        let mut blobs = self.blobs.list("jobs").await?;
        blobs.extend(self.blobs.list("datasets").await?);
        blobs.extend(self.blobs.list(PROBES).await?);
        let oldest = self.ids.now().milliseconds() - UNFINISHED_AGE_MS;
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
        for blob in blobs {
            if blob.modified_at.milliseconds() < oldest && !used.contains(&blob.key) {
                self.forget_data(Some(&blob.key)).await;
            }
        }
        Ok(())
    }
}
