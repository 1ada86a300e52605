//! Runs a job alone in its process after two or more processes in a row have died while they computed it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::OwnedSemaphorePermit;

use crate::storage::Alone;

use super::Worker;

/// All other permits of the process, for a job that must run alone while the other jobs park. A process has at most
/// one such job, because two would wait for each other's permit.
pub(crate) struct Solitude<'a> {
    worker: &'a Worker,
    pub(super) alone: Alone,
    permits: Option<OwnedSemaphorePermit>,
}

impl<'a> Solitude<'a> {
    /// Asks the other jobs of this process to park. `None` if another one of them must run alone.
    pub(crate) fn begin(worker: &'a Worker, alone: Alone) -> Option<Self> {
        let is_taken = worker.has_suspect.swap(true, Ordering::Relaxed);
        // The value lets the other jobs resume when dropped, so it must not exist beside another one.
        (!is_taken).then(|| Self {
            worker,
            alone,
            permits: None,
        })
    }

    /// Waits until all other jobs of this process are parked or have ended, or until the process stops.
    pub(crate) async fn entered(mut self) -> Self {
        let others = self.worker.config.workers.saturating_sub(1) as u32;
        let permits = Arc::clone(&self.worker.permits);
        tokio::select! {
            // The semaphore is never closed.
            taken = permits.acquire_many_owned(others) => self.permits = taken.ok(),
            () = self.worker.stopping.cancelled() => {}
        }
        self
    }
}

impl Drop for Solitude<'_> {
    fn drop(&mut self) {
        drop(self.permits.take());
        self.worker.has_suspect.store(false, Ordering::Relaxed);
    }
}
