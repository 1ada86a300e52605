//! Keeps one lease: shows progress, learns of a cancel, and knows when the lease is lost.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, sleep_until, timeout_at};

use crate::learners::run::{Counts, Interrupt, Run};
use crate::records::{Job, Lineage, Progress};
use crate::storage::{Heartbeat, Lease, StoreError};

use super::checkpoints::{Checkpointing, StateCell};
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
    checkpointing: Option<Checkpointing>,
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
            checkpointing: None,
        }
    }

    /// From now on there are counts to be shown, of so many examples if that is known, and states to
    /// be kept.
    pub(super) fn show(&mut self, planned: Option<u64>, states: &Arc<StateCell>) {
        self.planned = planned;
        self.shown = None;
        let every = self.jobs.config.checkpoint_every;
        self.checkpointing = Some(Checkpointing::new(Arc::clone(states), every));
    }

    /// Keeps what the computation left when it was suspended.
    pub(super) async fn keep_last(&mut self) {
        if let Some(checkpointing) = &mut self.checkpointing {
            let (jobs, job, lease) = (self.jobs, self.job, self.lease);
            checkpointing.write_last(jobs, job, lease).await;
        }
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
            let lease_end = self.renewed + self.lease_length();
            tokio::select! {
                done = &mut work => return done,
                _ = self.tick.tick() => {
                    if let Some(interrupt) = self.beat(run.progress.counts()).await {
                        run.stop.raise(interrupt);
                    }
                    self.keep_state().await;
                }
                // Slow is not dead, and unheard is not held. The next beat may come later than that.
                () = sleep_until(lease_end), if !self.is_lost => {
                    self.is_lost = true;
                    run.stop.raise(Interrupt::Suspended);
                }
            }
        }
    }

    fn lease_length(&self) -> Duration {
        Duration::from_secs(self.jobs.config.lease_seconds.into())
    }

    /// Keeps the state of the computation when it is time. What that may take leaves time for the
    /// next beats.
    async fn keep_state(&mut self) {
        if let Some(checkpointing) = &mut self.checkpointing
            && !self.is_lost
        {
            let (jobs, job, lease) = (self.jobs, self.job, self.lease);
            let patience = Duration::from_secs(jobs.config.lease_seconds.into()) / 3;
            checkpointing.tick(jobs, job, lease, patience).await;
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
        let lease = self.lease_length();
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
                None
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
