//! Preemption: how a running job yields to a waiting job.
//!
//! A yielding job parks where its run looks at the stop flag. It keeps its lease and lends its permit to another job.
//! If it stays parked for the length of a slice, two seconds or more, it goes back to the queue with its state.
//!
//! A job under which processes have died runs alone: see `solitude.rs`. The policy is in `records/schedule.rs`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use halfspace_core::learners::engine::run::{Interrupt, Run};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::records::schedule::{self, PROBATION_SECONDS, Rank};
use crate::storage::{Fenced, Requeue, history};

use super::checkpoints::ParkOutcome;
use super::lease_renewer::{Hold, LeaseRenewer};
use super::parking::ParkedJob;

/// How long a lease renewer waits for a run to park before the next heartbeat.
const PARK_TIMEOUT: Duration = Duration::from_millis(100);

/// Interval at which the lease renewer looks at a run that is about to park.
const LOOK: Duration = Duration::from_millis(5);

impl LeaseRenewer<'_> {
    /// Whether a suspect job has computed far enough beyond the last point of death.
    pub(crate) fn is_acquitted(&self) -> bool {
        let solitude = self.solitude.as_ref();
        solitude.is_some_and(|solitude| {
            self.spent().seconds > solitude.alone.death_seconds + PROBATION_SECONDS
        })
    }

    /// Parks the job if a waiting job goes first. Once it has been parked for a slice, it goes back to the queue with
    /// its state.
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

    /// Ends a pause. The run gets a permit, unless another interrupt has ended it.
    pub(crate) fn resume(&mut self, run: &Run, permit: Option<OwnedSemaphorePermit>) {
        if permit.is_some() && run.stop.look().is_none() {
            history::resumed(self.held.lease);
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
        let worker = self.held.worker;
        if self.solitude.is_some() {
            return false;
        }
        if worker.has_suspect.load(Ordering::Relaxed) {
            return true;
        }
        let is_idle = worker.permits.available_permits() > 0;
        if is_idle || !self.stance.has_had_its_slice() {
            return false;
        }
        // A job without a storable state stays parked and keeps the memory.
        let freed = match self.has_state() {
            true => self.held.job.demand.memory_bytes,
            false => 0,
        };
        let owner = &self.held.job.owner;
        let Ok(line) = worker.line(owner, freed).await else {
            return false;
        };
        let parked = worker.parked_places(Some(owner)).await;
        let places: Vec<_> = parked.into_iter().map(|(_, place)| place).collect();
        schedule::yields(line, &self.rank(), &places, worker.config.workers)
    }

    /// Whether the state of the job can be stored.
    fn has_state(&self) -> bool {
        let computing = self.computing.as_ref();
        computing.is_some_and(|computing| computing.has_state)
    }

    fn rank(&self) -> Rank {
        let job = self.held.job;
        let level = job.demand.level(self.spent().seconds);
        Rank::new(job.priority, level, job.id)
    }

    /// Releases the permit of a run that is parked.
    async fn park(&mut self, run: &Run) {
        history::parked(self.held.lease);
        if let Some(computing) = &self.computing {
            computing.states.stopwatch.stop();
        }
        let (worker, job) = (self.held.worker, self.held.job);
        let parked = ParkedJob {
            job: job.id,
            owner: job.owner.clone(),
            rank: self.rank(),
            has_state: self.has_state(),
        };
        self.stance.park(&worker.parked, parked);
        tracing::debug!(job = %job.id, "the job is parked, and a waiting job runs first");
        if let Some(interrupt) = self.beat_now(run.progress.counts(), false).await {
            run.stop.raise(interrupt);
        }
        worker.hub.work.notify_one();
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
        let held = computing
            .checkpointing
            .hold(run, self.held.job, begun)
            .await;
        let (state, cost) = match held {
            ParkOutcome::State { state, cost } => (state, cost),
            ParkOutcome::NotYet => return,
            ParkOutcome::TooLarge => {
                computing.has_state = false;
                self.held.worker.parked.keep(self.held.job.id);
                return;
            }
        };
        let progress = self.progress(&run.progress.counts());
        let requeue = Requeue {
            spent: self.spent(),
            checkpoint: Some(&state),
            progress: Some(&progress),
            switch_seconds: Some(cost.as_secs_f64()),
            ..Requeue::default()
        };
        let (worker, job) = (self.held.worker, self.held.job);
        let now = worker.ids.now();
        let requeued = worker.store.requeue_job(self.held.lease, &requeue, now);
        match requeued.await {
            Ok(fenced) => {
                self.hold = match fenced {
                    Fenced::Done => Hold::Requeued,
                    Fenced::Lost => Hold::Lost,
                };
                metrics::counter!("halfspace_preemptions_total").increment(1);
                tracing::debug!(job = %job.id, "the job returned to the queue with its state");
                run.stop.raise(Interrupt::Suspended);
                worker.hub.changed(job.id);
            }
            // The job keeps the lease. The lease renewer tries again after the next slice.
            Err(error) => tracing::warn!(job = %job.id, %error, "the job stays parked"),
        }
    }
}
