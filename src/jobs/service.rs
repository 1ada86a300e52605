//! [`Jobs`]: the job service of one process, with the settings, the start and the shutdown.
//!
//! This module also reads, awaits, cancels and deletes the jobs of an owner.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use halfspace_core::learners::engine::helpers::WORDS_MIN;
use halfspace_core::learners::engine::run::{Interrupt, StopFlag};
use halfspace_core::memory::{MemoryBudget, NoMemory};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::callbacks::CallbackClient;
use crate::records::schedule::{ANSWER_SECONDS_DEFAULT, SECONDS_DEFAULT, SLICE_SECONDS_MIN};
use crate::records::{Job, JobId, KeyRecord, Owner, Role};
use crate::storage::{
    Blobs, CancelOutcome, DeleteOutcome, OverQuota, QuotaStanding, Store, StoreError, Usage,
    WorkerId,
};

use super::data::reservations::Reservations;
use super::ids::Ids;
use super::models::cache::ModelCache;
use super::queue::compute::ComputeThreads;
use super::queue::free_permits::FreePermits;
use super::queue::hub::{self, Hub};
use super::queue::parking::ParkedJobs;
use super::service_clock::ServiceClock;
use super::sessions::Sessions;
use super::sweep::Orphans;

/// Interval at which a waiter polls the store, because other processes change the store too.
const POLL: Duration = Duration::from_millis(500);

/// Time limit for deleting a blob after its record. A client waits for the deletion, and the sweep removes a
/// blob that stays.
const FORGET_TIMEOUT: Duration = Duration::from_secs(2);

/// The settings of the jobs of a process.
#[derive(Clone, Debug)]
pub struct JobsConfig {
    /// The role of the process.
    pub role: Role,
    /// Jobs computed at once. 0 if other processes compute.
    pub workers: usize,
    /// Seconds without a heartbeat after which another worker may take a job.
    pub lease_seconds: u32,
    /// A job fails as `poisoned` after this number of deaths of processes in which it ran alone. A job fails as
    /// `data-missing` after this number of attempts to read its data.
    pub attempts_max: u32,
    /// Time limit, in seconds of computing, for a job that names none.
    pub seconds_default: f64,
    /// Time limit, in seconds, for the examples of one request to a session.
    pub answer_seconds_max: f64,
    /// Largest stored data, in bytes, that a job holds in memory as a whole. Larger data are read in parts.
    pub resident_bytes_max: u64,
    /// How long ended jobs are kept.
    pub retention_days: u32,
    /// Time between two checkpoints of a job while checkpoints are cheap.
    pub checkpoint_every: Duration,
    /// A waited job that takes longer than this is stored while it runs.
    pub adopt_after: Duration,
    /// Time between two stored progress events of a job.
    pub progress_interval: Duration,
    /// Pause in the queue of a job whose data could not be read.
    pub unread_pause: Duration,
    /// The shortest time that a job computes before it yields to another job.
    pub slice: Duration,
    /// The memory for jobs and requests.
    pub memory: MemoryBudget,
    /// How long other jobs may precede a job that needs more memory than is free.
    pub passed_over_max: Duration,
    /// Words of work from which free workers help a running job.
    pub helped_words_min: u64,
}

impl Default for JobsConfig {
    fn default() -> Self {
        Self {
            role: Role::All,
            workers: 1,
            lease_seconds: 15,
            attempts_max: 5,
            seconds_default: SECONDS_DEFAULT,
            answer_seconds_max: ANSWER_SECONDS_DEFAULT,
            resident_bytes_max: 64 << 20,
            retention_days: 30,
            checkpoint_every: Duration::from_secs(30),
            adopt_after: Duration::from_millis(200),
            progress_interval: Duration::from_millis(500),
            unread_pause: Duration::from_secs(30),
            slice: Duration::from_secs_f64(SLICE_SECONDS_MIN),
            memory: MemoryBudget::unlimited(),
            passed_over_max: Duration::from_secs(5),
            helped_words_min: WORDS_MIN,
        }
    }
}

/// Errors of requests about jobs, datasets and models.
#[derive(Debug, thiserror::Error)]
pub enum JobsError {
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
    /// No such job.
    #[error("no such job")]
    NotFound,
    /// The job has ended, so it cannot be cancelled.
    #[error("the job has already ended as {}", .0.status)]
    Ended(Box<Job>),
    /// The job has not ended, so it cannot be deleted.
    #[error("the job has not ended; cancel it first")]
    NotEnded,
    /// A subjob is cancelled and deleted only with its parent.
    #[error("the job is a part of {parent}; cancel or delete {parent} instead")]
    SubjobOf { parent: JobId },
    /// No such dataset.
    #[error("no such dataset")]
    DatasetMissing,
    /// A job that has not ended reads the dataset, so it cannot be deleted yet.
    #[error(
        "the dataset is in use by the job {job}, which has not ended; cancel the job or wait for \
         its end, then delete the dataset"
    )]
    DatasetPinned { job: JobId },
    /// No such model.
    #[error("no such model")]
    ModelMissing,
    /// The owner has used the idempotency key for another request.
    #[error("another request created something under this idempotency key")]
    KeyTaken(Box<KeyRecord>),
    /// A quota would be exceeded.
    #[error(transparent)]
    OverQuota(OverQuota),
    /// The job needs more memory than the process ever has.
    #[error(transparent)]
    NoMemory(NoMemory),
    /// The process is stopping.
    #[error("the service is stopping")]
    Stopping,
}

impl From<StoreError> for JobsError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::DatasetMissing(_) => Self::DatasetMissing,
            StoreError::KeyTaken(record) => Self::KeyTaken(record),
            StoreError::OverQuota(over) => Self::OverQuota(over),
            error => Self::Store(error),
        }
    }
}

/// The jobs of this process.
pub struct Jobs {
    pub(super) store: Arc<Store>,
    pub(super) blobs: Blobs,
    pub(super) ids: Arc<Ids>,
    pub(super) hub: Hub,
    pub(super) worker: WorkerId,
    pub(super) permits: Arc<Semaphore>,
    /// The permits that no job uses, for threads that help a job.
    pub(super) free_permits: Arc<FreePermits>,
    pub(super) compute_threads: ComputeThreads,
    pub(super) parked: ParkedJobs,
    /// The time since when a job has been passed over for lack of memory.
    pub(super) passing_since: Mutex<Option<Instant>>,
    /// Whether a job of this process runs alone or is about to.
    pub(super) has_suspect: AtomicBool,
    /// Computed seconds of waited jobs, by owner, that the shares have not paid yet.
    pub(super) unpaid: Mutex<HashMap<Owner, f64>>,
    /// The tasks that the gauges of the queue have shown.
    pub(super) tasks_seen: Mutex<BTreeSet<String>>,
    pub(super) config: JobsConfig,
    pub(super) stopping: CancellationToken,
    pub(super) tasks: TaskTracker,
    pub(super) sessions: Sessions,
    pub(super) models: ModelCache,
    pub(super) service_clock: ServiceClock,
    pub(super) orphans: Orphans,
    pub(super) callbacks: Option<Arc<CallbackClient>>,
    pub(super) reservations: Arc<Reservations>,
}

impl Jobs {
    /// Creates the job service under a random worker name. Without a callback client this process delivers no
    /// callbacks.
    pub fn new(
        store: Arc<Store>,
        blobs: Blobs,
        ids: Arc<Ids>,
        config: JobsConfig,
        callbacks: Option<CallbackClient>,
    ) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(config.workers));
        let sessions = Sessions::new(Arc::clone(&store), config.workers);
        config.memory.take_back_from(sessions.spare());
        Arc::new(Self {
            worker: WorkerId::new(ids.name("worker")),
            free_permits: FreePermits::new(Arc::clone(&permits), config.helped_words_min),
            permits,
            compute_threads: ComputeThreads::default(),
            parked: ParkedJobs::default(),
            passing_since: Mutex::default(),
            has_suspect: AtomicBool::new(false),
            unpaid: Mutex::default(),
            tasks_seen: Mutex::default(),
            hub: Hub::default(),
            stopping: CancellationToken::new(),
            tasks: TaskTracker::new(),
            sessions,
            models: ModelCache::default(),
            service_clock: ServiceClock::default(),
            orphans: Orphans::default(),
            callbacks: callbacks.map(Arc::new),
            reservations: Arc::default(),
            store,
            blobs,
            ids,
            config,
        })
    }

    /// A stop flag for a run that free workers of this process help.
    pub fn helped_stop_flag(&self) -> StopFlag {
        StopFlag::with_helpers(Arc::clone(&self.free_permits) as _)
    }

    /// Starts to claim jobs, deliver callbacks and sweep. Before the start, jobs are only accepted.
    pub fn start(self: &Arc<Self>) {
        // An alert compares the number with 0, so the number exists before the first computation.
        metrics::gauge!("halfspace_computations_running").increment(0.0);
        self.tasks.spawn(Arc::clone(self).schedule());
        self.tasks.spawn(Arc::clone(self).tend_queue());
        self.tasks.spawn(Arc::clone(self).deliver_callbacks());
        self.tasks.spawn(Arc::clone(self).sweep_regularly());
        self.tasks.spawn(Arc::clone(self).forget_idle_sessions());
    }

    /// Stops claiming and suspends the running jobs, which are not charged for the attempt. Waits at most
    /// `timeout` for the last writes, and returns whether all were made.
    pub async fn stop(&self, timeout: Duration) -> bool {
        self.stopping.cancel();
        self.hub.stop_all(Interrupt::Suspended);
        self.tasks.close();
        tokio::time::timeout(timeout, self.tasks.wait())
            .await
            .is_ok()
    }

    /// Cancelled when the process begins to stop.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// The settings.
    pub fn config(&self) -> &JobsConfig {
        &self.config
    }

    /// The store of records.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The client that checks callback URLs, if this service sends callbacks.
    pub fn callbacks(&self) -> Option<&CallbackClient> {
        self.callbacks.as_deref()
    }

    /// The source of ids, seeds and times.
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// The usage and the limits of the owner, and of all owners together.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn usage(&self, owner: &Owner) -> Result<QuotaStanding, JobsError> {
        Ok(self.store.usage(owner).await?)
    }

    /// Checks early whether `asked` fits the quotas, so that no data are read or written only to be refused.
    /// The store checks again when the rows are written.
    ///
    /// # Errors
    /// [`JobsError::OverQuota`], or errors of the store.
    pub async fn check_quota(&self, owner: &Owner, asked: &Usage) -> Result<(), JobsError> {
        let standing = self.usage(owner).await?;
        standing.admits(asked).map_err(JobsError::OverQuota)
    }

    /// The owner's job.
    ///
    /// # Errors
    /// [`JobsError::NotFound`], or errors of the store.
    pub async fn job(&self, owner: &Owner, id: JobId) -> Result<Job, JobsError> {
        let job = self.store.find(owner, id).await?;
        job.ok_or(JobsError::NotFound)
    }

    /// Waits until the owner's job has ended, at most for `timeout`. Returns the job as it is then.
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
    pub async fn changed(&self, changes: &mut tokio::sync::broadcast::Receiver<JobId>, id: JobId) {
        tokio::select! {
            () = hub::changed(changes, id) => {}
            () = tokio::time::sleep(POLL) => {}
            () = self.stopping.cancelled() => {}
        }
    }

    /// Subscribes to changes of jobs from now on, for [`Self::changed`].
    pub fn subscribe(&self) -> tokio::sync::broadcast::Receiver<JobId> {
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
                self.forget_data(job.data_key.as_deref()).await;
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
                self.forget_data(data_key.as_deref()).await;
                Ok(())
            }
            DeleteOutcome::SubjobOf { parent } => Err(JobsError::SubjobOf { parent }),
            DeleteOutcome::NotEnded => Err(JobsError::NotEnded),
            DeleteOutcome::NotFound => Err(JobsError::NotFound),
        }
    }

    /// Deletes the data of a job that no longer needs them. The sweep removes a blob that stays.
    pub(super) async fn forget_data(&self, key: Option<&str>) {
        let Some(key) = key else { return };
        let deleted = tokio::time::timeout(FORGET_TIMEOUT, self.blobs.delete(key)).await;
        let silent = |_| StoreError::unavailable("the store does not respond");
        if let Err(error) = deleted.map_err(silent).flatten() {
            tracing::warn!(key, %error, "unused data remain until the next sweep");
        }
    }

    /// Counts a job that this process saw end, and triggers the delivery of the callback.
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
}
