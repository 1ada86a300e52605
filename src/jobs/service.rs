//! The jobs of this process: what it needs, how it starts, waits and stops.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use halfspace_core::learners::run::Interrupt;
use halfspace_core::memory::{Budget, NoMemory};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::callbacks::CallbackClient;
use crate::records::schedule::SLICE_SECONDS_MIN;
use crate::records::{Job, JobId, KeyRecord, Owner};
use crate::storage::{
    Blobs, CancelOutcome, DeleteOutcome, OverQuota, Standing, Store, StoreError, Usage, WorkerId,
};

use super::hub::{self, Hub};
use super::ids::Ids;
use super::model_cache::ModelCache;
use super::parking::ParkedJobs;
use super::reservations::Reservations;
use super::service_clock::ServiceClock;
use super::sessions::Sessions;
use super::stored_data::KnownCrcs;
use super::sweep::Orphans;

/// How often a waiter looks at the store, since other processes change it too.
const POLL: Duration = Duration::from_millis(500);

/// How long the deletion of a blob may take whose record is gone: a client waits for it, and the sweep
/// takes what stays.
const FORGET_PATIENCE: Duration = Duration::from_secs(2);

/// What can be set of the jobs of a process.
#[derive(Clone, Debug)]
pub struct JobsConfig {
    /// Jobs computed at once; 0 where other processes compute.
    pub workers: usize,
    /// After so many seconds without a heartbeat a job is another worker's to take.
    pub lease_seconds: u32,
    /// A job fails as `poisoned` after so many deaths of processes in which it ran alone, and as
    /// `data-missing` after so many attempts to read its data.
    pub attempts_max: u32,
    /// Seconds of computing of a job that names none.
    pub seconds_default: f64,
    /// Bytes of stored data that a job holds in memory as a whole; of more it reads parts.
    pub resident_bytes_max: u64,
    /// How long ended jobs are kept.
    pub retention_days: u32,
    /// Time between two checkpoints of a job, where they are cheap.
    pub checkpoint_every: Duration,
    /// A waited job that takes longer than this is stored while it runs.
    pub adopt_after: Duration,
    /// Time between two stored progress events of a job.
    pub progress_interval: Duration,
    /// How long a job waits in the queue whose data could not be read.
    pub unread_pause: Duration,
    /// The shortest time that a job computes before it yields to another.
    pub slice: Duration,
    /// The memory that jobs and requests take.
    pub memory: Budget,
    /// How long jobs may go before a job that needs more memory than is free.
    pub passed_over_max: Duration,
}

impl Default for JobsConfig {
    fn default() -> Self {
        Self {
            workers: 1,
            lease_seconds: 15,
            attempts_max: 5,
            seconds_default: 600.0,
            resident_bytes_max: 64 << 20,
            retention_days: 30,
            checkpoint_every: Duration::from_secs(30),
            adopt_after: Duration::from_millis(200),
            progress_interval: Duration::from_millis(500),
            unread_pause: Duration::from_secs(30),
            slice: Duration::from_secs_f64(SLICE_SECONDS_MIN),
            memory: Budget::unlimited(),
            passed_over_max: Duration::from_secs(5),
        }
    }
}

/// Why a request about a job was not met.
#[derive(Debug, thiserror::Error)]
pub enum JobsError {
    /// The store did not do it.
    #[error(transparent)]
    Store(StoreError),
    /// No such job.
    #[error("there is no such job")]
    NotFound,
    /// The job has ended, so it cannot be cancelled.
    #[error("the job has already ended as {}", .0.status)]
    Ended(Box<Job>),
    /// The job has not ended, so it cannot be deleted.
    #[error("the job has not ended; cancel it first")]
    NotEnded,
    /// It ends and goes with another.
    #[error("the job is a part of {parent}, and is cancelled and deleted with it alone")]
    PartOf { parent: JobId },
    /// No such dataset.
    #[error("there is no such dataset")]
    DatasetMissing,
    /// The dataset cannot be deleted yet.
    #[error(
        "the dataset is in use: {job} reads it and has not ended; cancel the job, or wait for its \
         end, and delete then"
    )]
    DatasetPinned { job: JobId },
    /// No such model.
    #[error("there is no such model")]
    ModelMissing,
    /// The owner made another thing under this idempotency key.
    #[error("another thing was made under this idempotency key")]
    KeyTaken(Box<KeyRecord>),
    /// There is no room for it within a limit.
    #[error(transparent)]
    OverQuota(OverQuota),
    /// The process never has so much memory.
    #[error(transparent)]
    NoMemory(NoMemory),
    /// The process is about to stop.
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
    pub(super) store: Arc<dyn Store>,
    pub(super) blobs: Blobs,
    pub(super) ids: Arc<Ids>,
    pub(super) hub: Hub,
    pub(super) worker: WorkerId,
    pub(super) permits: Arc<Semaphore>,
    pub(super) parked: ParkedJobs,
    /// Since when a job has been passed over that needs more memory than is free.
    pub(super) passing_since: Mutex<Option<Instant>>,
    /// Whether a job of this process runs alone, or is about to.
    pub(super) has_suspect: AtomicBool,
    /// The computed seconds of waited jobs by owner, until the shares have paid them.
    pub(super) unpaid: Mutex<HashMap<Owner, f64>>,
    /// The tasks that the gauges of the queue have shown.
    pub(super) tasks_seen: Mutex<BTreeSet<String>>,
    pub(super) config: JobsConfig,
    pub(super) stopping: CancellationToken,
    pub(super) tasks: TaskTracker,
    pub(super) sessions: Sessions,
    pub(super) models: ModelCache,
    pub(super) known_crcs: KnownCrcs,
    pub(super) service_clock: ServiceClock,
    pub(super) orphans: Orphans,
    pub(super) callbacks: Option<Arc<CallbackClient>>,
    pub(super) reservations: Arc<Reservations>,
}

impl Jobs {
    /// The jobs of a process that calls itself by a name drawn now. Without a client of callbacks
    /// none are delivered here.
    pub fn new(
        store: Arc<dyn Store>,
        blobs: Blobs,
        ids: Arc<Ids>,
        config: JobsConfig,
        callbacks: Option<CallbackClient>,
    ) -> Arc<Self> {
        Arc::new(Self {
            worker: WorkerId::new(ids.name("worker")),
            permits: Arc::new(Semaphore::new(config.workers)),
            parked: ParkedJobs::default(),
            passing_since: Mutex::default(),
            has_suspect: AtomicBool::new(false),
            unpaid: Mutex::default(),
            tasks_seen: Mutex::default(),
            hub: Hub::default(),
            stopping: CancellationToken::new(),
            tasks: TaskTracker::new(),
            sessions: Sessions::new(Arc::clone(&store), config.workers),
            models: ModelCache::default(),
            known_crcs: KnownCrcs::default(),
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

    /// Begins to claim, deliver and sweep. Until then jobs are only accepted.
    pub fn start(self: &Arc<Self>) {
        self.tasks.spawn(Arc::clone(self).schedule());
        self.tasks.spawn(Arc::clone(self).tend_queue());
        self.tasks.spawn(Arc::clone(self).deliver_callbacks());
        self.tasks.spawn(Arc::clone(self).sweep_regularly());
        self.tasks.spawn(Arc::clone(self).forget_idle_sessions());
    }

    /// Stops claiming, gives up what runs without charging the attempt, and waits until all of it
    /// is written, at most `patience`; whether it was.
    pub async fn stop(&self, patience: Duration) -> bool {
        self.stopping.cancel();
        self.hub.stop_all(Interrupt::Suspended);
        self.tasks.close();
        tokio::time::timeout(patience, self.tasks.wait())
            .await
            .is_ok()
    }

    /// Ends when the process begins to stop.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// The settings.
    pub fn config(&self) -> &JobsConfig {
        &self.config
    }

    /// Where records are.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Reads what clients name as the places of callbacks; none where none are sent.
    pub fn callbacks(&self) -> Option<&CallbackClient> {
        self.callbacks.as_deref()
    }

    /// Makes ids, seeds and times.
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// How much the owner, and all owners together, have and may have.
    ///
    /// # Errors
    /// What the store says.
    pub async fn usage(&self, owner: &Owner) -> Result<Standing, JobsError> {
        Ok(self.store.usage(owner).await?)
    }

    /// Whether there is room for so much as of now: so that much is not read or written only to be
    /// refused. When it is stored the store looks again.
    ///
    /// # Errors
    /// [`JobsError::OverQuota`], or what the store says.
    pub async fn check_room(&self, owner: &Owner, asked: &Usage) -> Result<(), JobsError> {
        let standing = self.usage(owner).await?;
        standing.admits(asked).map_err(JobsError::OverQuota)
    }

    /// The owner's job.
    ///
    /// # Errors
    /// [`JobsError::NotFound`], or what the store says.
    pub async fn job(&self, owner: &Owner, id: JobId) -> Result<Job, JobsError> {
        let job = self.store.job(owner, id).await?;
        job.ok_or(JobsError::NotFound)
    }

    /// The owner's job once it has ended, or as it is after `patience`.
    ///
    /// # Errors
    /// [`JobsError::NotFound`], or what the store says.
    pub async fn wait(
        &self,
        owner: &Owner,
        id: JobId,
        patience: Duration,
    ) -> Result<Job, JobsError> {
        // Subscribing comes first: a change between look and wait is then not missed.
        let mut changes = self.hub.subscribe();
        let deadline = Instant::now() + patience;
        loop {
            let job = self.job(owner, id).await?;
            let left = deadline.saturating_duration_since(Instant::now());
            if job.status.is_ended() || left.is_zero() || self.stopping.is_cancelled() {
                return Ok(job);
            }
            tokio::select! {
                () = hub::changed(&mut changes, id) => {}
                () = tokio::time::sleep(left.min(POLL)) => {}
                () = self.stopping.cancelled() => {}
            }
        }
    }

    /// Waits until the job changes, or for a while.
    pub async fn changed(&self, changes: &mut tokio::sync::broadcast::Receiver<JobId>, id: JobId) {
        tokio::select! {
            () = hub::changed(changes, id) => {}
            () = tokio::time::sleep(POLL) => {}
            () = self.stopping.cancelled() => {}
        }
    }

    /// Changes of jobs from now on, for [`Self::changed`].
    pub fn subscribe(&self) -> tokio::sync::broadcast::Receiver<JobId> {
        self.hub.subscribe()
    }

    /// Asks for the end of the owner's job; the job, and whether this was the first time.
    ///
    /// # Errors
    /// [`JobsError::NotFound`], [`JobsError::Ended`], or what the store says.
    pub async fn cancel(&self, owner: &Owner, id: JobId) -> Result<(Job, bool), JobsError> {
        let outcome = self.store.cancel_job(owner, id, self.ids.now()).await?;
        // The run of a job that was asked to end is told at once, not at its next heartbeat. Nobody
        // else's: an id that is not this owner's must stop nothing.
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
            CancelOutcome::PartOf { parent } => Err(JobsError::PartOf { parent }),
            CancelOutcome::Ended(job) => Err(JobsError::Ended(Box::new(job))),
            CancelOutcome::NotFound => Err(JobsError::NotFound),
        }
    }

    /// Deletes the owner's ended job.
    ///
    /// # Errors
    /// [`JobsError::NotFound`], [`JobsError::NotEnded`], or what the store says.
    pub async fn delete(&self, owner: &Owner, id: JobId) -> Result<(), JobsError> {
        match self.store.delete_job(owner, id).await? {
            DeleteOutcome::Deleted { data_key } => {
                self.forget_data(data_key.as_deref()).await;
                Ok(())
            }
            DeleteOutcome::PartOf { parent } => Err(JobsError::PartOf { parent }),
            DeleteOutcome::NotEnded => Err(JobsError::NotEnded),
            DeleteOutcome::NotFound => Err(JobsError::NotFound),
        }
    }

    /// Deletes the data of a job that needs them no more. A blob that stays is swept later.
    pub(super) async fn forget_data(&self, key: Option<&str>) {
        let Some(key) = key else { return };
        let deleted = tokio::time::timeout(FORGET_PATIENCE, self.blobs.delete(key)).await;
        let silent = |_| StoreError::unavailable("it does not answer");
        if let Err(error) = deleted.map_err(silent).flatten() {
            tracing::warn!(key, %error, "data that nobody names stay until they are swept");
        }
    }

    /// Counts a job that this process saw end, and has its callback delivered.
    pub(super) fn has_ended(&self, job: &Job) {
        let learner = job.learner.clone().unwrap_or_default();
        let labels = [
            ("status", job.status.as_str().to_owned()),
            ("learner", learner),
        ];
        metrics::counter!("halfspace_jobs_ended_total", &labels).increment(1);
        if job.callback.is_some() {
            self.hub.callbacks.notify_one();
        }
    }
}
