//! Renews one lease beside the computation of the job.
//!
//! While it extends the lease, it stores progress, receives cancellations and notices a lost lease. It also takes
//! checkpoints (see `checkpoints.rs`) and makes the job yield to other jobs (see `yielding.rs`).

use std::sync::Arc;
use std::time::Duration;

use halfspace_core::learners::engine::run::{Counts, Interrupt, Run};
use tokio::time::{Instant, Interval, MissedTickBehavior, sleep_until, timeout_at};

use crate::records::{JobTree, Progress};
use crate::storage::{Beat, Heartbeat, Spent, StoreError};

use super::checkpoints::{Checkpointing, StateCell};
use super::held::HeldJob;
use super::parking::Stance;
use super::solitude::Solitude;
use crate::jobs::tasks::checked::CheckedTask;

/// Longest interval between two renewals, even for a long lease. The answer to a renewal tells whether another
/// process has cancelled the job.
const RENEWAL_MAX: Duration = Duration::from_secs(1);

pub(crate) struct LeaseRenewer<'a> {
    pub(super) held: HeldJob<'a>,
    pub(crate) planned: Option<u64>,
    /// Bytes of the object that the job reads, if it is an import.
    source_bytes: Option<u64>,
    /// The counts stored last, or `None` before the first heartbeat. `None` makes the first heartbeat due at
    /// once, so the lease renewer learns of a cancellation that arrived while the job was prepared.
    shown: Option<Counts>,
    /// The lease is valid at least for its length from this moment.
    renewed: Instant,
    tick: Interval,
    pub(crate) hold: Hold,
    pub(crate) stance: Stance,
    /// The computation, once it has started.
    pub(crate) computing: Option<LeasedComputation>,
    /// The other permits of the process, if the job must run alone.
    pub(crate) solitude: Option<Solitude<'a>>,
}

/// Whether this worker still holds the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Held,
    /// The job belongs to another worker, or may belong to one.
    Lost,
    /// The job went back to the queue with its state.
    Requeued,
}

/// The data of a computation that its lease renewer needs.
pub(crate) struct LeasedComputation {
    pub states: Arc<StateCell>,
    pub checkpointing: Checkpointing,
    /// Whether the state of the computation can be stored.
    pub has_state: bool,
    /// The computed seconds that the owner's share has paid.
    paid_seconds: f64,
}

impl<'a> LeaseRenewer<'a> {
    /// Creates the lease renewer of a lease that began at `leased_at` or later.
    pub(super) fn new(held: HeldJob<'a>, leased_at: Instant, stance: Stance) -> Self {
        let interval = held.worker.config.progress_interval;
        let mut tick = tokio::time::interval_at(Instant::now() + interval, interval);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Self {
            held,
            planned: None,
            source_bytes: None,
            shown: None,
            renewed: leased_at,
            tick,
            hold: Hold::Held,
            stance,
            computing: None,
            solitude: None,
        }
    }

    /// Announces a computation that has started. Its counts and states are stored from now on.
    pub(crate) fn show(&mut self, work: &CheckedTask, states: &Arc<StateCell>) {
        self.planned = work.examples_planned;
        self.source_bytes = work.source_bytes;
        self.shown = None;
        let every = self.held.worker.config.checkpoint_every;
        self.computing = Some(LeasedComputation {
            checkpointing: Checkpointing::new(Arc::clone(states), every),
            has_state: work.has_state,
            paid_seconds: states.stopwatch.seconds(),
            states: Arc::clone(states),
        });
    }

    /// Waits for `work` and renews the lease meanwhile. Raises the stop flag of the run when nobody wants the result
    /// any more, and makes the run yield to other jobs.
    pub(crate) async fn keep_while<T>(&mut self, run: &Run, work: impl Future<Output = T>) -> T {
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
                // Slow is not dead, and unconfirmed is not held. The lease may end before the next heartbeat.
                () = sleep_until(lease_end), if self.hold == Hold::Held => {
                    self.hold = Hold::Lost;
                    run.stop.raise(Interrupt::Suspended);
                }
            }
        }
    }

    fn lease_length(&self) -> Duration {
        Duration::from_secs(self.held.worker.config.lease_seconds.into())
    }

    /// Takes a checkpoint if one is due. The time limit of the write leaves time for the next heartbeats and
    /// never exceeds the lease.
    async fn keep_state(&mut self) {
        if let Some(computing) = &mut self.computing
            && self.hold == Hold::Held
            && !self.stance.is_parked()
        {
            let HeldJob { worker, job, lease } = self.held;
            let length = Duration::from_secs(worker.config.lease_seconds.into());
            let left = (self.renewed + length).saturating_duration_since(Instant::now());
            let timeout = left.min(length / 3);
            computing
                .checkpointing
                .tick(&worker.store, job, lease, timeout)
                .await;
        }
    }

    /// The computed seconds. A job with subjobs has none of its own.
    pub(crate) fn spent(&self) -> Spent {
        match &self.computing {
            Some(computing) if !self.gathers() => {
                let seconds = computing.states.stopwatch.seconds();
                Spent {
                    seconds,
                    unpaid_seconds: (seconds - computing.paid_seconds).max(0.0),
                    level: self.held.job.demand.level(seconds),
                }
            }
            _ => Spent::default(),
        }
    }

    /// The progress of the job at these counts.
    pub(super) fn progress(&self, counts: &Counts) -> Progress {
        match self.source_bytes {
            Some(bytes) => Progress::of_source(counts, self.planned, bytes),
            None => Progress::of(counts, self.planned),
        }
    }

    fn gathers(&self) -> bool {
        matches!(self.held.job.lineage, JobTree::Parent { .. })
    }

    /// Stores new progress and renews the lease in time. Returns the reason to stop the computation, if there
    /// is one.
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

    /// Sends a heartbeat even if none is due: see [`Self::beat`].
    pub(crate) async fn beat_now(
        &mut self,
        counts: Counts,
        is_acquitted: bool,
    ) -> Option<Interrupt> {
        if self.hold != Hold::Held {
            return None;
        }
        // A job with subjobs shows no counts of its own, because the subjobs count them.
        let moved = self.shown != Some(counts) && !self.gathers();
        let progress = moved.then(|| self.progress(&counts));
        let spent = self.spent();
        let beat = Beat {
            lease_seconds: self.held.worker.config.lease_seconds,
            progress: progress.as_ref(),
            spent,
            is_parked: self.stance.is_parked(),
            is_acquitted,
        };
        let HeldJob { worker, job, lease } = self.held;
        let now = worker.ids.now();
        let asked_at = Instant::now();
        let beat = worker.store.heartbeat(lease, &beat, now);
        // The heartbeat is not awaited beyond the end of the lease, because another worker may have the job by
        // then.
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
                worker.hub.changed(job.id);
                cancel_requested.then_some(Interrupt::Cancelled)
            }
            Ok(Heartbeat::Lost) => {
                self.hold = Hold::Lost;
                Some(Interrupt::Suspended)
            }
            Err(error) => {
                tracing::warn!(job = %job.id, %error, "the lease cannot be renewed at the \
                                                            moment");
                None
            }
        }
    }
}
