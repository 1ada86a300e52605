//! [`Queue`]: the jobs of a store, from the record of a new job to the answer about its end.
//!
//! - [`subjobs`] stores a job with subjobs.
//! - [`upkeep`] frees the jobs of dead workers, charges owners for computing time and measures the queue.
//! - [`place`] explains to clients why a job waits.

mod place;
pub(super) mod subjobs;
pub(super) mod upkeep;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use halfspace_core::learners::engine::run::Interrupt;
use tokio::sync::broadcast;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::records::task::JobSpec;
use crate::records::{Job, JobId, KeyClaim, Names, Owner};
use crate::storage::{CancelOutcome, DeleteOutcome, Store, StoreError, Usage};
use crate::traces;

use super::datasets::Datasets;
use super::datasets::store::KeptSample;
use super::datasets::stored::forget_data;
use super::error::JobsError;
use super::hub::{self, Hub};
use super::ids::Ids;
use super::tasks::checked::CheckedTask;

/// Interval at which a waiter polls the store, because other processes change the store too.
const POLL: Duration = Duration::from_millis(500);

/// A failed insert is repeated only if the store failed within this time. A slow failure is not repeated, because
/// the client must get an answer within two seconds.
const ASKED_AGAIN_WITHIN: Duration = Duration::from_millis(500);

/// A job before it is stored.
#[derive(Clone, Debug)]
pub struct NewJob {
    pub job: Job,
    pub work: Arc<CheckedTask>,
    /// The names of the data, which are stored with a sample of the request.
    pub names: Names,
    /// The idempotency key of the request.
    pub key: Option<KeyClaim>,
}

impl NewJob {
    /// A job without name, data, callback and key. Its trace continues that of the request that is being answered.
    pub fn new(ids: &Ids, owner: Owner, spec: &JobSpec, seed: u64, work: CheckedTask) -> Self {
        let task = spec.task.name();
        let job = Job {
            learner: spec.task.learner().map(str::to_owned),
            demand: work.demand,
            trace_parent: traces::current(),
            ..Job::queued(ids.id(), owner, task, spec.to_json(), seed, ids.now())
        };
        Self {
            job,
            work: Arc::new(work),
            names: spec.data.names.clone(),
            key: None,
        }
    }
}

/// The queue of jobs, as one process sees it.
pub struct Queue {
    pub(super) store: Arc<Store>,
    pub(super) ids: Arc<Ids>,
    pub(super) hub: Arc<Hub>,
    datasets: Arc<Datasets>,
    pub(super) stopping: CancellationToken,
    /// Computed seconds of waited jobs, by owner, that the shares have not paid yet.
    unpaid: Mutex<HashMap<Owner, f64>>,
}

impl Queue {
    pub(super) fn new(
        store: &Arc<Store>,
        ids: &Arc<Ids>,
        hub: &Arc<Hub>,
        datasets: &Arc<Datasets>,
        stopping: &CancellationToken,
    ) -> Self {
        Self {
            store: Arc::clone(store),
            ids: Arc::clone(ids),
            hub: Arc::clone(hub),
            datasets: Arc::clone(datasets),
            stopping: stopping.clone(),
            unpaid: Mutex::default(),
        }
    }

    /// The owner's job.
    ///
    /// # Errors
    /// [`JobsError::NotFound`], or errors of the store.
    pub async fn job(&self, owner: &Owner, id: JobId) -> Result<Job, JobsError> {
        let job = self.store.find(owner, id).await?;
        job.ok_or(JobsError::NotFound)
    }

    /// Waits until the owner's job has ended, for at most `timeout`, and returns the job as it is then.
    ///
    /// # Errors
    /// [`JobsError::NotFound`], or errors of the store.
    pub async fn wait(
        &self,
        owner: &Owner,
        id: JobId,
        timeout: Duration,
    ) -> Result<Job, JobsError> {
        // Subscribing before the first look ensures that no change between look and wait is missed.
        let mut changes = self.hub.subscribe();
        let deadline = Instant::now() + timeout;
        loop {
            let job = self.job(owner, id).await?;
            let left = deadline.saturating_duration_since(Instant::now());
            if job.status.is_ended() || left.is_zero() || self.stopping.is_cancelled() {
                return Ok(job);
            }
            // A waiting request holds no memory of the job, whose table and result may be megabytes.
            drop(job);
            tokio::select! {
                () = hub::changed(&mut changes, id) => {}
                () = tokio::time::sleep(left.min(POLL)) => {}
                () = self.stopping.cancelled() => {}
            }
        }
    }

    /// Waits until the job may have changed, or for one polling interval.
    pub async fn changed(&self, changes: &mut broadcast::Receiver<JobId>, id: JobId) {
        tokio::select! {
            () = hub::changed(changes, id) => {}
            () = tokio::time::sleep(POLL) => {}
            () = self.stopping.cancelled() => {}
        }
    }

    /// Subscribes to changes of jobs from now on, for [`Self::changed`].
    pub fn subscribe(&self) -> broadcast::Receiver<JobId> {
        self.hub.subscribe()
    }

    /// Requests the cancellation of the owner's job. Returns the job, and whether this was the first request.
    ///
    /// # Errors
    /// [`JobsError::NotFound`], [`JobsError::Ended`], [`JobsError::SubjobOf`], or errors of the store.
    pub async fn cancel(&self, owner: &Owner, id: JobId) -> Result<(Job, bool), JobsError> {
        let outcome = self.store.cancel_job(owner, id, self.ids.now()).await?;
        // The run is stopped at once, not at the next heartbeat. Other outcomes stop nothing, because the id
        // may belong to another owner.
        if let CancelOutcome::Requested(_) | CancelOutcome::AlreadyRequested(_) = &outcome {
            self.hub.stop(id, Interrupt::Cancelled);
        }
        self.hub.changed(id);
        match outcome {
            CancelOutcome::Cancelled(job) => {
                self.has_ended(&job);
                forget_data(&self.datasets.blobs, job.data_key.as_deref()).await;
                Ok((job, true))
            }
            CancelOutcome::Requested(job) => Ok((job, true)),
            CancelOutcome::AlreadyRequested(job) => Ok((job, false)),
            CancelOutcome::SubjobOf { parent } => Err(JobsError::SubjobOf { parent }),
            CancelOutcome::Ended(job) => Err(JobsError::Ended(Box::new(job))),
            CancelOutcome::NotFound => Err(JobsError::NotFound),
        }
    }

    /// Deletes the owner's ended job.
    ///
    /// # Errors
    /// [`JobsError::NotFound`], [`JobsError::NotEnded`], [`JobsError::SubjobOf`], or errors of the store.
    pub async fn delete(&self, owner: &Owner, id: JobId) -> Result<(), JobsError> {
        match self.store.delete_job(owner, id).await? {
            DeleteOutcome::Deleted { data_key } => {
                forget_data(&self.datasets.blobs, data_key.as_deref()).await;
                Ok(())
            }
            DeleteOutcome::SubjobOf { parent } => Err(JobsError::SubjobOf { parent }),
            DeleteOutcome::NotEnded => Err(JobsError::NotEnded),
            DeleteOutcome::NotFound => Err(JobsError::NotFound),
        }
    }

    /// Checks early whether the quota of the owner leaves room for so many queued jobs, so that no data are
    /// written only to be refused. The store checks again when the rows are written.
    async fn check_quota(&self, owner: &Owner, jobs_queued: u64) -> Result<(), JobsError> {
        let asked = Usage {
            jobs_queued,
            ..Usage::default()
        };
        let standing = self.store.usage(owner).await?;
        standing.admits(&asked).map_err(JobsError::OverQuota)
    }

    /// Stores a queued job after its data.
    pub(super) async fn enqueue(&self, mut new: NewJob) -> Result<Job, JobsError> {
        self.check_quota(&new.job.owner, 1).await?;
        self.keep_data(&mut new).await?;
        // The store leaves a job that is already stored unchanged.
        let insert = || self.store.insert_job(&new.job, new.key.as_ref());
        self.insert(&new.job, insert).await?;
        self.hub.work.notify_one();
        Ok(new.job)
    }

    /// Stores the sample that a request brought, and names the blob in the record of the job.
    pub(super) async fn keep_data(&self, new: &mut NewJob) -> Result<(), JobsError> {
        let job = &mut new.job;
        if job.dataset.is_none()
            && let Some(data) = new.work.data()
        {
            let sample = KeptSample {
                data: Arc::clone(data),
                names: new.names.clone(),
                weights: new.work.weights(),
                cells: new.work.raw_cells(),
            };
            let kept = self.datasets.keep(&job.owner, job.id, sample);
            let (key, bytes) = kept.await?;
            (job.data_key, job.data_bytes) = (Some(key), bytes);
        }
        Ok(())
    }

    /// Inserts a job. If only the answer may have got lost, it tries once more; if the job is certainly not stored,
    /// it deletes the data.
    ///
    /// That is certain if another job has the key, or if the only attempt was refused for lack of space or quota.
    /// After any other error the job may exist and need its data, and if it does not, the sweep removes them.
    pub(super) async fn insert<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        record: &Job,
        insert: impl Fn() -> F,
    ) -> Result<T, StoreError> {
        let asked_at = Instant::now();
        let mut stored = insert().await;
        let is_repeated = matches!(stored, Err(StoreError::Unavailable(_)))
            && asked_at.elapsed() < ASKED_AGAIN_WITHIN;
        if is_repeated {
            stored = insert().await;
        }
        let is_missing = match &stored {
            Err(StoreError::KeyTaken(_)) => true,
            Err(StoreError::Full(_) | StoreError::OverQuota(_)) => !is_repeated,
            _ => false,
        };
        if is_missing {
            forget_data(&self.datasets.blobs, record.data_key.as_deref()).await;
        }
        stored
    }

    /// Counts a job that ended in this process, and triggers the delivery of its callback.
    pub(super) fn has_ended(&self, job: &Job) {
        let learner = job.learner.clone().unwrap_or_default();
        let labels = [
            ("status", job.status.as_str().to_owned()),
            ("learner", learner),
        ];
        metrics::counter!("halfspace_jobs_ended_total", &labels).increment(1);
        tracing::Span::current().record("halfspace.job.status", job.status.as_str());
        if job.callback.is_some() {
            self.hub.callbacks.notify_one();
        }
    }

    /// Records the seconds of a job that was computed for a waiting client and never had a lease.
    pub(super) fn owe(&self, owner: &Owner, seconds: f64) {
        *self.unpaid().entry(owner.clone()).or_default() += seconds;
    }

    fn unpaid(&self) -> MutexGuard<'_, HashMap<Owner, f64>> {
        self.unpaid.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
