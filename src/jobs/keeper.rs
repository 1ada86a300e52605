//! Keeps one lease: shows progress, learns of a cancel, and knows when the lease is lost.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, timeout_at};

use crate::learners::run::{Counts, Interrupt, Run};
use crate::records::{Job, Lineage, Progress};
use crate::storage::{Heartbeat, Lease, StoreError};

use super::service::Jobs;

/// A lease is renewed at least so often, however long it is: the answer tells of a cancel that
/// another process took.
const RENEWAL_MAX: Duration = Duration::from_secs(1);

/// Renews one lease.
pub(super) struct Keeper<'a> {
    pub(super) jobs: &'a Jobs,
    pub(super) job: &'a Job,
    pub(super) lease: &'a Lease,
    planned: Option<u64>,
    /// The counts last stored; none before the first beat, which so always takes place and learns
    /// at once of a cancel that came while the job was prepared.
    shown: Option<Counts>,
    /// The lease is held for its length from here on, or longer.
    renewed: Instant,
    tick: Interval,
    is_lost: bool,
}

impl<'a> Keeper<'a> {
    /// A keeper of a lease that began at `leased_at` or later.
    pub(super) fn new(jobs: &'a Jobs, job: &'a Job, lease: &'a Lease, leased_at: Instant) -> Self {
        let interval = jobs.config.progress_interval;
        let mut tick = tokio::time::interval_at(Instant::now() + interval, interval);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            jobs,
            job,
            lease,
            planned: None,
            shown: None,
            renewed: leased_at,
            tick,
            is_lost: false,
        }
    }

    /// From now on there are counts to be shown, of so many examples if that is known.
    pub(super) fn show(&mut self, planned: Option<u64>) {
        self.planned = planned;
        self.shown = None;
    }

    /// Whether the job is, or may be, another worker's.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Waits for some work, renewing the lease meanwhile; raises the flag of the run when the work
    /// is no longer wanted.
    pub(super) async fn keep_while<T>(&mut self, run: &Run, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = self.tick.tick() => {
                    if let Some(interrupt) = self.beat(run.progress.counts()).await {
                        run.stop.raise(interrupt);
                    }
                }
            }
        }
    }

    /// Shows progress when there is any, and renews the lease in time; why the computation must
    /// stop, if it must.
    async fn beat(&mut self, counts: Counts) -> Option<Interrupt> {
        if self.is_lost {
            return None;
        }
        let lease_seconds = self.jobs.config.lease_seconds;
        let moved = self.shown != Some(counts);
        let lease = Duration::from_secs(lease_seconds.into());
        if !moved && self.renewed.elapsed() < RENEWAL_MAX.min(lease / 3) {
            return None;
        }
        // What a job with parts shows, they have counted.
        let counts_itself = !matches!(self.job.lineage, Lineage::Parent { .. });
        let progress = (moved && counts_itself).then(|| progress(&counts, self.planned));
        let now = self.jobs.ids.now();
        let asked_at = Instant::now();
        let beat = self
            .jobs
            .store
            .heartbeat(self.lease, lease_seconds, progress.as_ref(), now);
        // Not waited for beyond the lease: by its end another worker may have the job.
        let beat = timeout_at(self.renewed + lease, beat).await;
        match beat.unwrap_or_else(|elapsed| Err(StoreError::unavailable(elapsed))) {
            Ok(Heartbeat::Held { cancel_requested }) => {
                self.renewed = asked_at;
                self.shown = Some(counts);
                self.jobs.hub.changed(self.job.id);
                cancel_requested.then_some(Interrupt::Cancelled)
            }
            Ok(Heartbeat::Lost) => {
                self.is_lost = true;
                Some(Interrupt::Suspended)
            }
            Err(error) => {
                tracing::warn!(job = %self.job.id, %error, "the lease is not renewed");
                // Slow is not dead, and unheard is not held.
                let is_over = self.renewed.elapsed() >= lease;
                self.is_lost = is_over;
                is_over.then_some(Interrupt::Suspended)
            }
        }
    }
}

/// What a client is shown of the counts.
pub(super) fn progress(counts: &Counts, planned: Option<u64>) -> Progress {
    let fraction = planned.map(|planned| counts.examples as f64 / planned.max(1) as f64);
    Progress {
        examples: counts.examples,
        mistakes: counts.mistakes,
        passes: counts.passes,
        fraction: fraction.map(|fraction| fraction.min(1.0)),
        seconds_left: None,
    }
}
