//! The scheduler of a process: gives permits to parked jobs and to newly claimed jobs.
//!
//! The same module maintains the queue. Maintenance releases expired leases, charges owners for waited jobs,
//! corrects shares of owners, measures the queue and reports the process. The policy is in `records/schedule.rs`.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use halfspace_core::memory::SMALL_BYTES_MAX;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tracing::Instrument;

use crate::records::schedule::{self, JobsAhead, ParkedPlace};
use crate::records::{JobId, Owner};
use crate::storage::{ClaimTerms, ReleaseTerms, StoreError};

use super::compute::computing_span;
use crate::jobs::service::Jobs;

/// Approximate interval at which an idle scheduler polls the store. A poll finds jobs that another process
/// queued or left behind, and a store that is available again. The queue is maintained at the same interval.
const POLL: Duration = Duration::from_millis(500);

/// Number of maintenance rounds per correction of the owners' shares.
const ROUNDS_BETWEEN_SHARES: u32 = 4;

/// Number of maintenance rounds per report of the process.
const ROUNDS_BETWEEN_REPORTS: u32 = 10;

/// Number of maintenance rounds per measurement of the queue depths.
const ROUNDS_BETWEEN_DEPTHS: u32 = 20;

/// The pause of a job after the first death of a process that computed the job.
const DEATH_PAUSE_SECONDS: f64 = 1.0;

impl Jobs {
    /// Claims and resumes jobs until the process stops. A process without permits claims nothing.
    pub(crate) async fn schedule(self: Arc<Self>) {
        // Only the first error is a warning, because a store may be unavailable or full for hours.
        let mut is_told = false;
        loop {
            let permit = tokio::select! {
                permit = Arc::clone(&self.permits).acquire_owned() => permit,
                () = self.stopping.cancelled() => return,
            };
            let Ok(permit) = permit else { return };
            if self.stopping.is_cancelled() {
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
                () = self.hub.work.notified() => {}
                () = tokio::time::sleep(self.ids.about(POLL)) => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }

    /// Gives the permit to the first parked job or to a newly claimed job. Returns false if there is no such
    /// job.
    async fn next(self: &Arc<Self>, permit: OwnedSemaphorePermit) -> Result<bool, StoreError> {
        let parked = self.parked_places(None).await;
        let places: Vec<_> = parked.iter().map(|(_, place)| *place).collect();
        let mut permit = permit;
        if let Some(first) = schedule::resumes(&places, self.config.workers) {
            match self.parked.resume(parked[first].0, permit) {
                Ok(()) => return Ok(true),
                Err(back) => permit = back,
            }
        }
        let terms = ClaimTerms {
            lease_seconds: self.config.lease_seconds,
            memory_bytes_max: self.claimable_bytes().await?,
        };
        // The lease begins after this moment.
        let leased_at = Instant::now();
        let claimed = self.store.claim_job(&self.worker, &terms, self.ids.now());
        let claim = match (claimed.await, schedule::first_parked(&places)) {
            (Ok(Some(claim)), _) => claim,
            (Ok(None) | Err(_), Some((first, _))) => {
                return Ok(self.parked.resume(parked[first].0, permit).is_ok());
            }
            (Ok(None), None) => return Ok(false),
            (Err(error), None) => return Err(error),
        };
        let waited = self.ids.now().milliseconds() - claim.job.created_at.milliseconds();
        metrics::histogram!("halfspace_job_wait_seconds").record(waited.max(0) as f64 / 1_000.0);
        let this = Arc::clone(self);
        let span = computing_span(&claim.job);
        let computed = async move { this.run_claim(claim, leased_at, permit).await };
        self.tasks.spawn(computed.instrument(span));
        Ok(true)
    }

    /// The parked jobs of this process, from the view of a running job of this owner. While the store does not
    /// answer, no claimable job precedes them.
    pub(crate) async fn parked_places(&self, owner: Option<&Owner>) -> Vec<(JobId, ParkedPlace)> {
        let mut places = Vec::new();
        for parked in self.parked.list() {
            let place = ParkedPlace {
                line: self.line(&parked.owner, 0).await.unwrap_or_default(),
                rank: parked.rank,
                is_own: owner == Some(&parked.owner),
                has_state: parked.has_state,
            };
            places.push((parked.job, place));
        }
        places
    }

    /// The jobs that could precede a job of this owner. `freed` is the memory that this job would free.
    pub(crate) async fn line(&self, owner: &Owner, freed: u64) -> Result<JobsAhead, StoreError> {
        let available = self.config.memory.available().saturating_add(freed);
        self.store.line(owner, available).await
    }

    /// The largest memory bound with which a job can be claimed now. When a job has been passed over for too
    /// long, only small jobs are claimed before that job.
    async fn claimable_bytes(&self) -> Result<u64, StoreError> {
        let memory = &self.config.memory;
        let (available, max) = (memory.available(), memory.bytes_max());
        let is_passing = available < max && self.store.passes_over(available, max).await?;
        let mut since = self
            .passing_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !is_passing {
            *since = None;
            return Ok(available);
        }
        let since = since.get_or_insert_with(Instant::now);
        Ok(match since.elapsed() < self.config.passed_over_max {
            true => available,
            false => available.min(SMALL_BYTES_MAX),
        })
    }

    /// The terms on which the jobs of dead workers return to the queue.
    #[must_use]
    pub fn release_terms(deaths_max: u32) -> ReleaseTerms {
        ReleaseTerms {
            deaths_max,
            pause_seconds: DEATH_PAUSE_SECONDS,
        }
    }

    /// Maintains the queue until the process stops: requeues jobs of dead workers, charges owners for waited
    /// jobs, corrects shares, measures the queue and reports the process.
    pub(crate) async fn tend_queue(self: Arc<Self>) {
        for round in 0_u32.. {
            tokio::select! {
                () = tokio::time::sleep(self.ids.about(POLL)) => {}
                () = self.stopping.cancelled() => break,
            }
            if let Err(error) = self.tend_round(round).await {
                tracing::debug!(%error, "the maintenance of the queue failed");
            }
        }
        if let Err(error) = self.store.forget_process(&self.worker).await {
            tracing::debug!(%error, "the process remains listed for a minute");
        }
    }

    async fn tend_round(&self, round: u32) -> Result<(), StoreError> {
        let terms = Self::release_terms(self.config.attempts_max);
        if self.store.release_expired(&terms, self.ids.now()).await? > 0 {
            self.hub.work.notify_one();
        }
        if round.is_multiple_of(ROUNDS_BETWEEN_REPORTS) {
            self.report().await?;
        }
        let spent: Vec<_> = self.unpaid().drain().collect();
        if !spent.is_empty()
            && let Err(error) = self.store.pay(&spent).await
        {
            // The next round tries again.
            for (owner, seconds) in &spent {
                self.owe(owner, *seconds);
            }
            return Err(error);
        }
        if round.is_multiple_of(ROUNDS_BETWEEN_SHARES) {
            self.store.tend_shares().await?;
        }
        if round.is_multiple_of(ROUNDS_BETWEEN_DEPTHS) {
            self.measure_store().await?;
        }
        Ok(())
    }

    /// Exports the number of waiting jobs and the age of the oldest one per task, and the number of sessions. A task
    /// that was exported before is reset to zero when no job of the task waits.
    async fn measure_store(&self) -> Result<(), StoreError> {
        let depths = self.store.queue_depths().await?;
        let usage = self.store.usage(&Owner::anonymous()).await?.all;
        metrics::gauge!("halfspace_sessions").set(usage.sessions as f64);
        metrics::gauge!("halfspace_stored_bytes").set(usage.stored_bytes as f64);
        let now = self.ids.now().milliseconds();
        let mut seen = self
            .tasks_seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for task in &*seen {
            let labels = [("task", task.clone())];
            metrics::gauge!("halfspace_queue_depth", &labels).set(0.0);
            metrics::gauge!("halfspace_queue_age_seconds", &labels).set(0.0);
        }
        for (task, depth, oldest) in depths {
            let age_ms = (now - oldest.milliseconds()).max(0);
            let labels = [("task", task.clone())];
            metrics::gauge!("halfspace_queue_depth", &labels).set(depth as f64);
            metrics::gauge!("halfspace_queue_age_seconds", &labels).set(age_ms as f64 / 1_000.0);
            seen.insert(task);
        }
        Ok(())
    }

    /// Records the computed seconds of a waited job that never had a lease.
    pub(crate) fn owe(&self, owner: &Owner, seconds: f64) {
        *self.unpaid().entry(owner.clone()).or_default() += seconds;
    }

    fn unpaid(&self) -> MutexGuard<'_, HashMap<Owner, f64>> {
        self.unpaid.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
