//! The submission of jobs: a job is queued, or computed at once for a waiting client.
//!
//! If a client waits for a short job, it is computed first and then stored together with its end. Should it take
//! longer than expected, it is stored as running and from then on treated like any other job.

use std::sync::Arc;
use std::time::Duration;

use halfspace_core::learners::engine::run::Interrupt;
use halfspace_core::learners::sample::examples::Examples;
use halfspace_core::memory::{Grant, NoMemory};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;
use tracing::Instrument;

use crate::records::{Job, Status};
use crate::storage::{JobEnd, Lease};

use super::Worker;
use super::checkpoints::StartState;
use super::claimed::attend;
use super::compute::{Computation, Computed, computing_span};
use super::held::HeldJob;
use super::lease_renewer::LeaseRenewer;
use super::parking::{PermitSlot, Stance};
use crate::jobs::error::JobsError;
use crate::jobs::queue::NewJob;

/// Longest expected time of a waited job that is computed before it is stored.
const WAITED_SECONDS_MAX: f64 = 0.2;

/// Largest data of a waited job that is computed before it is stored.
const WAITED_BYTES_MAX: u64 = 16 << 20;

impl Worker {
    /// Creates a job and waits for its end, for at most `timeout`. The job is on disk when this returns. Before the
    /// wait, as soon as none of its data is left in memory, `stored` is called.
    ///
    /// # Errors
    /// - [`JobsError::OverQuota`] or [`JobsError::NoMemory`] if the job exceeds a quota or the memory of the process.
    /// - [`JobsError::Stopping`] if the process is stopping.
    /// - [`JobsError::DatasetMissing`] if the dataset was deleted meanwhile.
    /// - [`JobsError::KeyTaken`] if another request has used the idempotency key.
    /// - Errors of the store.
    ///
    /// After an error there is no job, except that after [`Unavailable`](crate::storage::StoreError::Unavailable) one
    /// with an unknown id may exist and run.
    pub async fn submit(
        self: &Arc<Self>,
        new: NewJob,
        timeout: Duration,
        stored: impl FnOnce(),
    ) -> Result<Job, JobsError> {
        if self.stopping.is_cancelled() {
            return Err(JobsError::Stopping);
        }
        let begun = Instant::now();
        let owner = new.job.owner.clone();
        let job = self.acknowledge(new, timeout).await?;
        let left = timeout.saturating_sub(begun.elapsed());
        if job.status.is_ended() || left.is_zero() {
            return Ok(job);
        }
        let id = job.id;
        // As in `wait`: the job is read again at its end.
        drop(job);
        stored();
        self.queue.wait(&owner, id, left).await
    }

    /// Stores the job: ended, running or queued.
    async fn acknowledge(
        self: &Arc<Self>,
        new: NewJob,
        timeout: Duration,
    ) -> Result<Job, JobsError> {
        if let Some(count) = new.work.subjobs {
            return self.queue.enqueue_subjobs(new, count).await;
        }
        let (asked, memory) = (new.job.demand.memory_bytes, &self.config.memory);
        if asked > memory.bytes_max() {
            return Err(JobsError::NoMemory(NoMemory {
                asked,
                free: memory.available(),
                max: memory.bytes_max(),
            }));
        }
        let permit = if timeout.is_zero() || !is_small(&new) {
            None
        } else {
            Arc::clone(&self.permits).try_acquire_owned().ok()
        };
        let taken = permit.and_then(|permit| Some((permit, memory.try_take(asked).ok()?)));
        let Some((permit, memory)) = taken else {
            return self.queue.enqueue(new).await;
        };
        // In a task of its own, because the computation continues when the client leaves.
        let (sender, receiver) = oneshot::channel();
        let adopt_after = timeout.min(self.config.adopt_after);
        let this = Arc::clone(self);
        let span = computing_span(&new.job);
        let computed = async move {
            let run = Waited { new, sender };
            run.compute(&this, permit, memory, adopt_after).await;
        };
        self.tasks.spawn(computed.instrument(span));
        receiver.await.unwrap_or(Err(JobsError::Stopping))
    }
}

/// Whether a waited job is computed before it is stored. Such a job is expected to be short, and its data are
/// small enough to be written only at its end.
fn is_small(new: &NewJob) -> bool {
    let bytes = new
        .work
        .data()
        .map_or(0, |data| data.shape().memory_bytes());
    new.job.demand.seconds <= WAITED_SECONDS_MAX && bytes <= WAITED_BYTES_MAX
}

/// A waited job that is computed before it is stored.
struct Waited {
    new: NewJob,
    sender: oneshot::Sender<Result<Job, JobsError>>,
}

impl Waited {
    async fn compute(
        mut self,
        worker: &Worker,
        permit: OwnedSemaphorePermit,
        memory: Grant,
        adopt_after: Duration,
    ) {
        self.new.job.started_at = Some(worker.ids.now());
        let job = &self.new.job;
        let start_state = StartState::of(job.id, worker.helped_stop_flag());
        let work = Arc::clone(&self.new.work);
        let permit = PermitSlot::new(permit);
        let slot = Arc::clone(&permit);
        let mut computation = worker.threads.compute(job, work, start_state, slot, memory);
        let run = Arc::clone(&computation.run);
        let _registered = worker.hub.register(job.id, job.lineage, run);
        if worker.stopping.is_cancelled() {
            computation.run.stop.raise(Interrupt::Suspended);
        }
        let computed = tokio::select! {
            computed = computation.ended() => computed,
            () = tokio::time::sleep(adopt_after) => {
                return self.adopt(worker, computation, permit).await;
            }
        };
        let answer = match computed {
            // A worker retries data that cannot be read now.
            Computed::Suspended | Computed::Unread(_) => {
                self.new.job.started_at = None;
                worker.queue.enqueue(self.new).await
            }
            Computed::Ended {
                end,
                memory: _memory,
            } => {
                let seconds = computation.checkpoints.stopwatch.seconds();
                worker.queue.owe(&self.new.job.owner, seconds);
                worker.insert_ended(self.new, *end).await
            }
        };
        // Without a receiver the client has left. The job is stored nevertheless.
        let _ = self.sender.send(answer);
    }

    /// Stores a job that takes longer than expected as running, and keeps its lease from then on.
    async fn adopt(mut self, worker: &Worker, computation: Computation, permit: Arc<PermitSlot>) {
        self.new.job.status = Status::Running;
        self.new.job.attempt = 1;
        match worker.insert_running(&mut self.new).await {
            Ok((lease, leased_at)) => {
                let _ = self.sender.send(Ok(self.new.job.clone()));
                let stance = Stance::new(permit, worker.slice(0.0));
                let held = HeldJob {
                    worker,
                    job: &self.new.job,
                    lease: &lease,
                };
                let renewer = LeaseRenewer::new(held, leased_at, stance);
                attend(renewer, &self.new.work, computation).await;
            }
            Err(error) => {
                // The job may be stored in spite of the error. Such a job runs again after the end of the lease
                // and needs its data.
                computation.run.stop.raise(Interrupt::Cancelled);
                let _ = self.sender.send(Err(error));
            }
        }
    }
}

impl Worker {
    /// Stores a job as running in this process, after its data. Returns the lease and its earliest start.
    async fn insert_running(&self, new: &mut NewJob) -> Result<(Lease, Instant), JobsError> {
        self.queue.keep_data(new).await?;
        let leased_at = Instant::now();
        let (job, key) = (&new.job, new.key.as_ref());
        let seconds = self.config.lease_seconds;
        let insert = || self.store.insert_running_job(job, &self.id, seconds, key);
        // An insert that was already written returns the same lease.
        let lease = self.queue.insert(job, insert).await?;
        Ok((lease, leased_at))
    }

    /// Stores an ended job and its model in one transaction, before any client knows of the job.
    async fn insert_ended(&self, new: NewJob, end: JobEnd) -> Result<Job, JobsError> {
        let job = Job {
            status: end.status,
            attempt: 1,
            progress: end.progress,
            result: end.result,
            error: end.error,
            finished_at: Some(end.finished_at),
            model: end.model.as_ref().map(|model| model.summary.id),
            ..new.job
        };
        let (model, trace) = (end.model.as_ref(), end.trace.as_deref());
        self.store
            .insert_ended_job(&job, model, trace, new.key.as_ref())
            .await?;
        self.queue.has_ended(&job);
        Ok(job)
    }
}
