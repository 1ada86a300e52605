//! The upkeep of the queue, which every process does: requeues the jobs of dead workers, charges owners for jobs that
//! were computed for a waiting client, corrects shares, measures the queue and reports the process.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::records::Owner;
use crate::storage::{ReleaseTerms, StoreError};

use super::Queue;
use crate::jobs::processes::Processes;

/// Approximate time between two rounds.
const PAUSE: Duration = Duration::from_millis(500);

/// Number of rounds per correction of the owners' shares.
const ROUNDS_BETWEEN_SHARES: u32 = 4;

/// Number of rounds per report of the process.
const ROUNDS_BETWEEN_REPORTS: u32 = 10;

/// Number of rounds per measurement of the queue depths.
const ROUNDS_BETWEEN_DEPTHS: u32 = 20;

/// The pause of a job after the first death of a process that computed the job.
const DEATH_PAUSE_SECONDS: f64 = 1.0;

/// The terms on which the jobs of dead workers return to the queue.
#[must_use]
pub fn release_terms(deaths_max: u32) -> ReleaseTerms {
    ReleaseTerms {
        deaths_max,
        pause_seconds: DEATH_PAUSE_SECONDS,
    }
}

/// The upkeep of the queue by this process.
pub(in crate::jobs) struct Upkeep {
    queue: Arc<Queue>,
    processes: Arc<Processes>,
    /// A job fails as `poisoned` after this number of deaths of processes in which it ran alone.
    deaths_max: u32,
    /// The tasks that the gauges of the queue have shown.
    tasks_seen: BTreeSet<String>,
}

impl Upkeep {
    pub(in crate::jobs) fn new(
        queue: Arc<Queue>,
        processes: Arc<Processes>,
        deaths_max: u32,
    ) -> Self {
        Self {
            queue,
            processes,
            deaths_max,
            tasks_seen: BTreeSet::new(),
        }
    }

    /// Keeps up the queue until the process stops.
    pub(in crate::jobs) async fn run(mut self) {
        let queue = Arc::clone(&self.queue);
        for round in 0_u32.. {
            tokio::select! {
                () = tokio::time::sleep(queue.ids.about(PAUSE)) => {}
                () = queue.stopping.cancelled() => break,
            }
            if let Err(error) = self.round(round).await {
                tracing::debug!(%error, "the maintenance of the queue failed");
            }
        }
        if let Err(error) = self.processes.forget().await {
            tracing::debug!(%error, "the process remains listed for a minute");
        }
    }

    async fn round(&mut self, round: u32) -> Result<(), StoreError> {
        let queue = Arc::clone(&self.queue);
        let terms = release_terms(self.deaths_max);
        let released = queue.store.release_expired(&terms, queue.ids.now());
        if released.await? > 0 {
            queue.hub.work.notify_one();
        }
        if round.is_multiple_of(ROUNDS_BETWEEN_REPORTS) {
            self.processes.report().await?;
        }
        let spent: Vec<_> = queue.unpaid().drain().collect();
        if !spent.is_empty()
            && let Err(error) = queue.store.pay(&spent).await
        {
            // The next round tries again.
            for (owner, seconds) in &spent {
                queue.owe(owner, *seconds);
            }
            return Err(error);
        }
        if round.is_multiple_of(ROUNDS_BETWEEN_SHARES) {
            queue.store.tend_shares().await?;
        }
        if round.is_multiple_of(ROUNDS_BETWEEN_DEPTHS) {
            self.measure().await?;
        }
        Ok(())
    }

    /// Exports the number of waiting jobs and the age of the oldest one per task, and the number of sessions. A task
    /// that was exported before is reset to zero when no job of the task waits.
    async fn measure(&mut self) -> Result<(), StoreError> {
        let depths = self.queue.store.queue_depths().await?;
        let usage = self.queue.store.usage(&Owner::anonymous()).await?.all;
        metrics::gauge!("halfspace_sessions").set(usage.sessions as f64);
        metrics::gauge!("halfspace_stored_bytes").set(usage.stored_bytes as f64);
        let now = self.queue.ids.now().milliseconds();
        for task in &self.tasks_seen {
            let labels = [("task", task.clone())];
            metrics::gauge!("halfspace_queue_depth", &labels).set(0.0);
            metrics::gauge!("halfspace_queue_age_seconds", &labels).set(0.0);
        }
        for (task, depth, oldest) in depths {
            let age_ms = (now - oldest.milliseconds()).max(0);
            let labels = [("task", task.clone())];
            metrics::gauge!("halfspace_queue_depth", &labels).set(depth as f64);
            metrics::gauge!("halfspace_queue_age_seconds", &labels).set(age_ms as f64 / 1_000.0);
            self.tasks_seen.insert(task);
        }
        Ok(())
    }
}
