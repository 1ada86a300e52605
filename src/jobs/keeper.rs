//! Keeps one lease: shows progress, learns of a cancel, and knows when the lease is lost.

use std::sync::Arc;
use std::time::Duration;

use halfspace_core::learners::run::{Counts, Interrupt, Run};
use tokio::time::{Instant, Interval, MissedTickBehavior, sleep_until, timeout_at};

use crate::records::{Job, Lineage, Progress};
use crate::storage::{Beat, Heartbeat, Lease, Spent, StoreError};

use super::checkpoints::{Checkpointing, StateCell};
use super::parking::Stance;
use super::service::Jobs;
use super::work::Work;
use super::yielding::Solitude;

/// A lease is renewed at least so often, however long it is: the answer tells of a cancel that
/// another process took.
const RENEWAL_MAX: Duration = Duration::from_secs(1);

/// Renews one lease.
pub(super) struct Keeper<'a> {
    pub(super) jobs: &'a Jobs,
    pub(super) job: &'a Job,
    pub(super) lease: &'a Lease,
    pub(super) planned: Option<u64>,
    /// The counts last stored; none before the first beat, which so always takes place and learns
    /// at once of a cancel that came while the job was prepared.
    shown: Option<Counts>,
    /// The lease is held for its length from here on, or longer.
    renewed: Instant,
    tick: Interval,
    pub(super) hold: Hold,
    pub(super) stance: Stance,
    /// What is computed, once it is.
    pub(super) computing: Option<Computing>,
    /// The other permits of the process, where the job must run alone.
    pub(super) solitude: Option<Solitude<'a>>,
}

/// Whether the job is this worker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    Held,
    /// It is, or may be, another worker's.
    Lost,
    /// It went back to the queue with its state.
    Requeued,
}

/// A computation as its keeper sees it.
pub(super) struct Computing {
    pub states: Arc<StateCell>,
    pub checkpointing: Checkpointing,
    /// Whether its state can be stored.
    pub has_state: bool,
    /// The computed seconds that the owner's share has paid.
    paid_seconds: f64,
}

impl<'a> Keeper<'a> {
    /// A keeper of a lease that began at `leased_at` or later.
    pub(super) fn new(
        jobs: &'a Jobs,
        job: &'a Job,
        lease: &'a Lease,
        leased_at: Instant,
        stance: Stance,
    ) -> Self {
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
            hold: Hold::Held,
            stance,
            computing: None,
            solitude: None,
        }
    }

    /// From now on there are counts to be shown, and states to be kept.
    pub(super) fn show(&mut self, work: &Work, states: &Arc<StateCell>) {
        self.planned = work.examples_planned();
        self.shown = None;
        let every = self.jobs.config.checkpoint_every;
        self.computing = Some(Computing {
            checkpointing: Checkpointing::new(Arc::clone(states), every),
            has_state: work.has_state(),
            paid_seconds: states.stopwatch.seconds(),
            states: Arc::clone(states),
        });
    }

    /// Waits for some work, renewing the lease meanwhile; raises the flag of the run when the work
    /// is no longer wanted, and has the run yield to others.
    pub(super) async fn keep_while<T>(&mut self, run: &Run, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            let lease_end = self.renewed + self.lease_length();
            tokio::select! {
                done = &mut work => return done,
                permit = self.stance.resumed() => self.resume(run, Some(permit)),
                _ = self.tick.tick() => {
                    if let Some(interrupt) = self.beat(run.progress.counts()).await {
                        run.stop.raise(interrupt);
                    }
                    self.keep_state().await;
                    self.give_way(run).await;
                }
                // Slow is not dead, and unheard is not held. The next beat may come later than that.
                () = sleep_until(lease_end), if self.hold == Hold::Held => {
                    self.hold = Hold::Lost;
                    run.stop.raise(Interrupt::Suspended);
                }
            }
        }
    }

    fn lease_length(&self) -> Duration {
        Duration::from_secs(self.jobs.config.lease_seconds.into())
    }

    /// Keeps the state of the computation when it is time. What that may take leaves time for the
    /// next beats, and is over when the lease is.
    async fn keep_state(&mut self) {
        if let Some(computing) = &mut self.computing
            && self.hold == Hold::Held
            && !self.stance.is_parked()
        {
            let (jobs, job, lease) = (self.jobs, self.job, self.lease);
            let length = Duration::from_secs(jobs.config.lease_seconds.into());
            let left = (self.renewed + length).saturating_duration_since(Instant::now());
            let patience = left.min(length / 3);
            computing
                .checkpointing
                .tick(jobs, job, lease, patience)
                .await;
        }
    }

    /// The computed seconds. A job with parts counts none of its own.
    pub(super) fn spent(&self) -> Spent {
        match &self.computing {
            Some(computing) if !self.gathers() => {
                let seconds = computing.states.stopwatch.seconds();
                Spent {
                    seconds,
                    unpaid_seconds: (seconds - computing.paid_seconds).max(0.0),
                    level: self.job.demand.level(seconds),
                }
            }
            _ => Spent::default(),
        }
    }

    fn gathers(&self) -> bool {
        matches!(self.job.lineage, Lineage::Parent { .. })
    }

    /// Shows progress when there is any, and renews the lease in time; why the computation must
    /// stop, if it must.
    async fn beat(&mut self, counts: Counts) -> Option<Interrupt> {
        let lease = self.lease_length();
        let moved = self.shown != Some(counts);
        let is_acquitted = self.is_acquitted();
        let is_due = moved || is_acquitted || self.renewed.elapsed() >= RENEWAL_MAX.min(lease / 3);
        match is_due {
            true => self.beat_now(counts, is_acquitted).await,
            false => None,
        }
    }

    /// As [`Self::beat`], whether it is due or not.
    pub(super) async fn beat_now(
        &mut self,
        counts: Counts,
        is_acquitted: bool,
    ) -> Option<Interrupt> {
        if self.hold != Hold::Held {
            return None;
        }
        // What a job with parts shows, they have counted.
        let moved = self.shown != Some(counts) && !self.gathers();
        let progress = moved.then(|| progress(&counts, self.planned));
        let spent = self.spent();
        let beat = Beat {
            lease_seconds: self.jobs.config.lease_seconds,
            progress: progress.as_ref(),
            spent,
            is_parked: self.stance.is_parked(),
            is_acquitted,
        };
        let now = self.jobs.ids.now();
        let asked_at = Instant::now();
        let beat = self.jobs.store.heartbeat(self.lease, &beat, now);
        // Not waited for beyond the lease: by its end another worker may have the job.
        let beat = timeout_at(self.renewed + self.lease_length(), beat).await;
        match beat.unwrap_or_else(|elapsed| Err(StoreError::unavailable(elapsed))) {
            Ok(Heartbeat::Held { cancel_requested }) => {
                self.renewed = asked_at;
                self.shown = Some(counts);
                if let Some(computing) = &mut self.computing {
                    computing.paid_seconds += spent.unpaid_seconds;
                }
                if is_acquitted {
                    self.solitude = None;
                }
                self.jobs.hub.changed(self.job.id);
                cancel_requested.then_some(Interrupt::Cancelled)
            }
            Ok(Heartbeat::Lost) => {
                self.hold = Hold::Lost;
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
