//! Preemption: how a running job yields to a waiting job.
//!
//! A yielding job parks where its run looks at the stop flag. A parked job keeps its lease and lends its permit
//! to another job. A job that stays parked for a slice goes back to the queue with its state.
//!
//! A job under which processes have died runs alone: see [`Solitude`]. The policy is in `records/schedule.rs`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use halfspace_core::learners::engine::run::{Interrupt, Run};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::records::schedule::{self, PROBATION_SECONDS, Rank, slice_seconds};
use crate::storage::{Alone, Fenced, Requeue, history};

use super::checkpoints::ParkOutcome;
use super::lease_renewer::{Hold, LeaseRenewer, progress};
use super::parking::ParkedJob;
use crate::jobs::service::Jobs;

/// How long a lease renewer waits for a run to park before the next heartbeat.
const PARK_TIMEOUT: Duration = Duration::from_millis(100);

/// Interval at which the lease renewer looks at a run that is about to park.
const LOOK: Duration = Duration::from_millis(5);

/// All other permits of the process, for a job that must run alone. The other jobs of the process park. A process has
/// at most one such job, because two would wait for each other's permit.
pub(crate) struct Solitude<'a> {
    jobs: &'a Jobs,
    alone: Alone,
    permits: Option<OwnedSemaphorePermit>,
}

impl<'a> Solitude<'a> {
    /// Asks the other jobs of this process to park. None if another job of this process must run alone.
    pub(crate) fn begin(jobs: &'a Jobs, alone: Alone) -> Option<Self> {
        let is_taken = jobs.has_suspect.swap(true, Ordering::Relaxed);
        // The value lets the other jobs resume when dropped, so it must not exist beside another one.
        (!is_taken).then(|| Self {
            jobs,
            alone,
            permits: None,
        })
    }

    /// Waits until all other jobs of this process are parked or have ended, or until the process stops.
    pub(crate) async fn entered(mut self) -> Self {
        let others = self.jobs.config.workers.saturating_sub(1) as u32;
        let permits = Arc::clone(&self.jobs.permits);
        tokio::select! {
            // The semaphore is never closed.
            taken = permits.acquire_many_owned(others) => self.permits = taken.ok(),
            () = self.jobs.stopping.cancelled() => {}
        }
        self
    }
}

impl Drop for Solitude<'_> {
    fn drop(&mut self) {
        drop(self.permits.take());
        self.jobs.has_suspect.store(false, Ordering::Relaxed);
    }
}

impl Jobs {
    /// The time that a job computes before yielding to another job.
    pub(crate) fn slice(&self, switch_seconds: f64) -> Duration {
        let least = self.config.slice.as_secs_f64();
        Duration::try_from_secs_f64(slice_seconds(least, switch_seconds)).unwrap_or(Duration::MAX)
    }
}

impl LeaseRenewer<'_> {
    /// Whether a suspect job has computed far enough beyond the last point of death.
    pub(crate) fn is_acquitted(&self) -> bool {
        let solitude = self.solitude.as_ref();
        solitude.is_some_and(|solitude| {
            self.spent().seconds > solitude.alone.death_seconds + PROBATION_SECONDS
        })
    }

    /// Parks the job if a waiting job goes first. A job that has been parked for a slice is stored.
    pub(crate) async fn give_way(&mut self, run: &Run) {
        if self.hold != Hold::Held {
            return;
        }
        if self.stance.is_parked() {
            match run.stop.look() {
                Some(_) => self.resume(run, None),
                None if self.stance.has_had_its_slice() => self.store(run).await,
                None => {}
            }
        } else if run.stop.is_parked() {
            // The run was paused earlier and has looked at the flag only now.
            self.park(run).await;
        } else if self.is_to_yield().await {
            run.stop.pause();
            let deadline = Instant::now() + PARK_TIMEOUT;
            while !run.stop.is_parked() && Instant::now() < deadline {
                tokio::time::sleep(LOOK).await;
            }
            if run.stop.is_parked() {
                self.park(run).await;
            }
        }
    }

    /// Ends a pause. The run gets a permit unless another interrupt has ended the run.
    pub(crate) fn resume(&mut self, run: &Run, permit: Option<OwnedSemaphorePermit>) {
        if permit.is_some() && run.stop.look().is_none() {
            history::resumed(self.lease);
        }
        if let Some(computing) = &self.computing {
            computing.checkpointing.forgo();
            computing.states.stopwatch.start();
        }
        self.stance.unpark(permit);
        run.stop.resume();
    }

    /// Whether a waiting job goes first. While a permit is free, every waiting job gets one.
    async fn is_to_yield(&self) -> bool {
        let jobs = self.jobs;
        if self.solitude.is_some() {
            return false;
        }
        if jobs.has_suspect.load(Ordering::Relaxed) {
            return true;
        }
        let is_idle = jobs.permits.available_permits() > 0;
        if is_idle || !self.stance.has_had_its_slice() {
            return false;
        }
        // A job without a storable state stays parked and keeps the memory.
        let freed = match self.has_state() {
            true => self.job.demand.memory_bytes,
            false => 0,
        };
        let owner = &self.job.owner;
        let Ok(line) = jobs.line(owner, freed).await else {
            return false;
        };
        let parked = jobs.parked_places(Some(owner)).await;
        let places: Vec<_> = parked.into_iter().map(|(_, place)| place).collect();
        schedule::yields(line, &self.rank(), &places, jobs.config.workers)
    }

    /// Whether the state of the job can be stored.
    fn has_state(&self) -> bool {
        let computing = self.computing.as_ref();
        computing.is_some_and(|computing| computing.has_state)
    }

    fn rank(&self) -> Rank {
        let level = self.job.demand.level(self.spent().seconds);
        Rank::new(self.job.priority, level, self.job.id)
    }

    /// Releases the permit of a run that is parked.
    async fn park(&mut self, run: &Run) {
        history::parked(self.lease);
        if let Some(computing) = &self.computing {
            computing.states.stopwatch.stop();
        }
        let job = self.job;
        let parked = ParkedJob {
            job: job.id,
            owner: job.owner.clone(),
            rank: self.rank(),
            has_state: self.has_state(),
        };
        self.stance.park(&self.jobs.parked, parked);
        metrics::counter!("halfspace_jobs_parked_total").increment(1);
        tracing::debug!(job = %job.id, "the job is parked, and a waiting job runs first");
        if let Some(interrupt) = self.beat_now(run.progress.counts(), false).await {
            run.stop.raise(interrupt);
        }
        self.jobs.hub.work.notify_one();
    }

    /// Puts a parked job back into the queue with its state, in one transaction. A job without a storable state
    /// stays parked, as does a job whose state could not be written.
    async fn store(&mut self, run: &Run) {
        self.stance.wait_on();
        let Some(computing) = &mut self.computing else {
            return;
        };
        if !computing.has_state {
            return;
        }
        let begun = self.stance.begun();
        let held = computing.checkpointing.hold(run, self.job, begun).await;
        let (state, cost) = match held {
            ParkOutcome::State { state, cost } => (state, cost),
            ParkOutcome::NotYet => return,
            ParkOutcome::TooLarge => {
                computing.has_state = false;
                self.jobs.parked.keep(self.job.id);
                return;
            }
        };
        let progress = progress(&run.progress.counts(), self.planned);
        let requeue = Requeue {
            spent: self.spent(),
            checkpoint: Some(&state),
            progress: Some(&progress),
            switch_seconds: Some(cost.as_secs_f64()),
            ..Requeue::default()
        };
        let jobs = self.jobs;
        let requeued = jobs.store.requeue_job(self.lease, &requeue, jobs.ids.now());
        match requeued.await {
            Ok(fenced) => {
                self.hold = match fenced {
                    Fenced::Done => Hold::Requeued,
                    Fenced::Lost => Hold::Lost,
                };
                metrics::counter!("halfspace_preemptions_total").increment(1);
                tracing::debug!(job = %self.job.id, "the job returned to the queue with its state");
                run.stop.raise(Interrupt::Suspended);
                jobs.hub.changed(self.job.id);
            }
            // The job keeps the lease. The lease renewer tries again after the next slice.
            Err(error) => tracing::warn!(job = %self.job.id, %error, "the job stays parked"),
        }
    }
}
