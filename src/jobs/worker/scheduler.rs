//! The scheduler of a process, which gives permits to parked jobs and to newly claimed ones. The policy is in
//! `records/schedule.rs`.

use std::sync::Arc;
use std::time::Duration;

use halfspace_core::memory::SMALL_BYTES_MAX;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tracing::Instrument;

use crate::records::schedule;
use crate::storage::{ClaimTerms, StoreError};

use super::Worker;
use super::compute::computing_span;

/// Approximate interval at which an idle scheduler polls the store. A poll finds jobs that another process
/// queued or left behind, and a store that is available again.
const POLL: Duration = Duration::from_millis(500);

/// The scheduler of a worker.
pub(in crate::jobs) struct Scheduler {
    worker: Arc<Worker>,
    /// The time since when a job has been passed over for lack of memory.
    passing_since: Option<Instant>,
}

impl Scheduler {
    pub(in crate::jobs) fn new(worker: Arc<Worker>) -> Self {
        Self {
            worker,
            passing_since: None,
        }
    }

    /// Claims and resumes jobs until the process stops. A process without permits claims nothing.
    pub(in crate::jobs) async fn run(mut self) {
        let worker = Arc::clone(&self.worker);
        // Only the first error is a warning, because a store may be unavailable or full for hours.
        let mut is_told = false;
        loop {
            let permit = tokio::select! {
                permit = Arc::clone(&worker.permits).acquire_owned() => permit,
                () = worker.stopping.cancelled() => return,
            };
            let Ok(permit) = permit else { return };
            if worker.stopping.is_cancelled() {
                return;
            }
            match self.next(permit).await {
                Ok(true) => {
                    is_told = false;
                    continue;
                }
                Ok(false) => is_told = false,
                Err(error) if is_told => tracing::debug!(%error, "jobs still cannot be claimed"),
                Err(error) => {
                    tracing::warn!(%error, "jobs cannot be claimed at the moment");
                    is_told = true;
                }
            }
            tokio::select! {
                () = worker.hub.work.notified() => {}
                () = tokio::time::sleep(worker.ids.about(POLL)) => {}
                () = worker.stopping.cancelled() => return,
            }
        }
    }

    /// Gives the permit to the first parked job or to a newly claimed job. Returns false if there is no such
    /// job.
    async fn next(&mut self, permit: OwnedSemaphorePermit) -> Result<bool, StoreError> {
        let worker = Arc::clone(&self.worker);
        let parked = worker.parked_places(None).await;
        let places: Vec<_> = parked.iter().map(|(_, place)| *place).collect();
        let mut permit = permit;
        if let Some(first) = schedule::resumes(&places, worker.config.workers) {
            match worker.parked.resume(parked[first].0, permit) {
                Ok(()) => return Ok(true),
                Err(back) => permit = back,
            }
        }
        let terms = ClaimTerms {
            lease_seconds: worker.config.lease_seconds,
            memory_bytes_max: self.claimable_bytes().await?,
        };
        // The lease begins after this moment.
        let leased_at = Instant::now();
        let claimed = worker.store.claim_job(&worker.id, &terms, worker.ids.now());
        let claim = match (claimed.await, schedule::first_parked(&places)) {
            (Ok(Some(claim)), _) => claim,
            (Ok(None) | Err(_), Some((first, _))) => {
                return Ok(worker.parked.resume(parked[first].0, permit).is_ok());
            }
            (Ok(None), None) => return Ok(false),
            (Err(error), None) => return Err(error),
        };
        let waited = worker.ids.now().milliseconds() - claim.job.created_at.milliseconds();
        metrics::histogram!("halfspace_job_wait_seconds").record(waited.max(0) as f64 / 1_000.0);
        let span = computing_span(&claim.job);
        let tasks = worker.tasks.clone();
        let computed = async move { worker.run_claim(claim, leased_at, permit).await };
        tasks.spawn(computed.instrument(span));
        Ok(true)
    }

    /// The largest memory bound with which a job can be claimed now. When a job has been passed over for too
    /// long, only small jobs are claimed before that job.
    async fn claimable_bytes(&mut self) -> Result<u64, StoreError> {
        let (store, config) = (&self.worker.store, &self.worker.config);
        let memory = &config.memory;
        let (available, max) = (memory.available(), memory.bytes_max());
        let is_passing = available < max && store.passes_over(available, max).await?;
        if !is_passing {
            self.passing_since = None;
            return Ok(available);
        }
        let since = self.passing_since.get_or_insert_with(Instant::now);
        Ok(match since.elapsed() < config.passed_over_max {
            true => available,
            false => available.min(SMALL_BYTES_MAX),
        })
    }
}
