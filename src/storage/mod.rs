//! Persistent storage: the [`Store`] trait over the two databases, and blobs beside the database.
//!
//! Storage knows records, SQL and files. It decides nothing about learning or HTTP, and it starts no work of
//! its own: the module `jobs` claims jobs, renews leases and sweeps. All SQL of the program is below this
//! module.
//!
//! - [`Store`] is the contract. `tests/it/store_contract.rs` tests the contract on every backend.
//! - [`sql`] is the only implementation. Its statements serve both databases.
//! - [`sqlite`] opens the embedded database and [`postgres`] the shared one. [`database_url`] selects between
//!   them.
//! - [`data_dir`] is the directory of the embedded database and of local blobs.
//! - [`backup`] copies an embedded store while the server uses the store.
//! - `reserve` keeps disk space free for cancels and deletions beside an embedded database.
//! - [`blobs`] stores packed data, which are too large for rows.
//! - [`quota`] defines the limits of owners.
//! - [`lease`] defines the leases on jobs, [`delivery`] the leases on callbacks, and [`error`] the errors.
//! - [`history`] records the operations on leases for the tests.
//!
//! A new method of the store takes one line in [`Store`], one line in [`sql`], and a statement in the file of
//! its subject below [`sql`].

pub mod backup;
pub mod blobs;
pub mod data_dir;
pub mod database_url;
pub mod delivery;
pub mod error;
pub mod history;
pub mod lease;
pub mod postgres;
pub mod quota;
mod reserve;
pub mod sql;
pub mod sqlite;

use async_trait::async_trait;

pub use blobs::url::{BlobPlace, BlobUrl};
pub use blobs::{Blob, Blobs, Hidden, S3Access};
pub use data_dir::{DataDir, Scratch};
pub use database_url::{DatabaseUrl, Place};
pub use delivery::{
    BusyReceivers, CALLBACK_CLAIMS_MAX, CallbackClaim, CallbackLease, DeliveryOutcome,
};
pub use error::StoreError;
pub use lease::{
    Alone, Beat, CancelOutcome, Claim, DatasetDeletion, DeleteOutcome, Fenced, Heartbeat, JobEnd,
    Lease, Requeue, Spent, Swept, WorkerId,
};
pub use postgres::PostgresUrl;
pub use quota::{Limit, OverQuota, Quotas, Standing, Usage};
pub use sql::SqlStore;
pub use sql::check::{CheckedStore, ReadSession, Table};

use crate::records::id::{DatasetKind, JobKind, ModelKind, SessionKind};
use crate::records::session::{SessionAppend, SessionRecord, StoredSession};
use crate::records::{
    ApiKey, ApiKeyId, Dataset, DatasetId, DatasetSummary, Event, Job, JobId, KeyClaim, KeyRecord,
    Line, Model, ModelId, ModelSummary, Owner, Page, PartOutcome, SecretDigest, SessionId, Slice,
    Status, Timestamp,
};

/// Result of a store method.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Filter of a list of jobs. An absent field matches every job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    pub status: Option<Status>,
    pub task: Option<String>,
    pub learner: Option<String>,
    /// The parent whose parts are listed. Without a parent, the list has only jobs that are no parts.
    pub parent: Option<JobId>,
}

/// Filter of a list of models. An absent field matches every model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelFilter {
    pub learner: Option<String>,
    pub kind: Option<String>,
}

/// Terms of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimTerms {
    /// The lease expires after so many seconds without a heartbeat. Another worker may then take the job.
    pub lease_seconds: u32,
    /// A claim passes over jobs that need more memory.
    pub memory_bytes_max: u64,
}

/// Terms on which the jobs of dead workers return to the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReleaseTerms {
    /// A job fails as `poisoned` after so many deaths of processes that ran the job alone.
    pub deaths_max: u32,
    /// The pause after the first death. Each further death doubles the pause, up to 60 times the first.
    pub pause_seconds: f64,
}

/// A process's observation of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeNote {
    /// Service time in milliseconds, as far as the process knows.
    pub observed_ms: u64,
    /// The earliest time of day that the process has used since its last note.
    pub earliest: Timestamp,
    /// Clock readings that are older may be deleted, in milliseconds of service time.
    pub kept_ms: u64,
}

/// Upper bound of leases and callback delays, in seconds. A longer one results from a clock jump.
pub const SECONDS_AHEAD_MAX: u32 = 2 * 86_400;

/// Outcome of an append to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The examples are on disk.
    Done,
    /// The session is at another position. Nothing was written.
    Elsewhere { position: u64 },
    /// The owner has no such session.
    NotFound,
    /// The appends of one call together exceed a limit of their owner. Nothing was written.
    OverQuota(OverQuota),
}

/// Maximum number of API keys, revoked keys included.
pub const API_KEYS_MAX: u32 = 10_000;

/// Result of looking up the secret of an API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyLookup {
    /// No key was ever created, so no secret is needed.
    NoKeys,
    /// No valid key has this secret.
    Unknown,
    /// The secret belongs to this valid key.
    Known(ApiKey),
}

/// Stores jobs with their events and traces, models, datasets and sessions.
///
/// Every write is one transaction, which is on disk when the method returns. The writes of a worker are
/// fenced by their [`Lease`]. Other writes may be repeated after [`StoreError::Unavailable`], with three
/// exceptions: a repeated `pay` may add seconds twice, and a repeated `insert_session` or `insert_api_key`
/// fails if the first call has stored the row. Leases use the clock of the database, which all replicas
/// share. The times in records (`now`) come from the caller.
///
/// An insert may carry an idempotency key, which the same transaction stores. If the owner has created
/// another thing under that key, nothing is stored and the error is [`StoreError::KeyTaken`]. A key that
/// belongs to the same thing is accepted.
///
/// Every insert respects the quotas of the store, also among concurrent inserts. Otherwise nothing is stored
/// and the error is [`StoreError::OverQuota`]. The module [`quota`] lists the counted quantities.
#[async_trait]
pub trait Store: Send + Sync {
    /// Stores a queued job with its first event. If the id is already stored, nothing changes.
    ///
    /// # Errors
    /// [`StoreError::DatasetMissing`] when the owner has no such dataset. From the insert until its end, a
    /// job pins its dataset.
    async fn insert_job(&self, job: &Job, key: Option<&KeyClaim>) -> Result<()>;

    /// Stores a job with its parts, all queued, each with its first event. The parts are numbered from 0, and
    /// their ids have the same order.
    ///
    /// Workers can claim the parts at once and the parent only after all parts have ended. Each part
    /// decrements the parent's count in the transaction that ends the part. A part that fails also fails the
    /// parent and makes the other parts unwanted.
    ///
    /// # Errors
    /// Those of [`Store::insert_job`].
    async fn insert_parts(&self, parent: &Job, parts: &[Job], key: Option<&KeyClaim>)
    -> Result<()>;

    /// The outcomes of at most `limit` parts of a job, in their order, after the part `after`.
    async fn parts(
        &self,
        parent: JobId,
        after: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<PartOutcome>>;

    /// Stores a job that `worker` already computes (status `running`, attempt 1) with the events `queued` and
    /// `running`, and gives the worker its lease.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when the id is already stored, except by an earlier call of the same worker;
    /// [`StoreError::DatasetMissing`] as for a queued job.
    async fn insert_running_job(
        &self,
        job: &Job,
        worker: &WorkerId,
        lease_seconds: u32,
        key: Option<&KeyClaim>,
    ) -> Result<Lease>;

    /// Stores a job that ended before any client knew its id, with its model, trace and all four events, in
    /// one transaction. If the id is already stored, nothing changes.
    async fn insert_ended_job(
        &self,
        job: &Job,
        model: Option<&Model>,
        trace: Option<&[u8]>,
        key: Option<&KeyClaim>,
    ) -> Result<()>;

    /// The owner's job with this id.
    async fn job(&self, owner: &Owner, id: JobId) -> Result<Option<Job>>;

    /// A page of the owner's jobs, newest first.
    async fn jobs(
        &self,
        owner: &Owner,
        filter: &JobFilter,
        page: &Page<JobKind>,
    ) -> Result<Slice<Job, JobKind>>;

    /// Takes the first job of the active owner with the least virtual seconds among the owners with a
    /// claimable job. One of [`CLAIMS_BETWEEN_OLDEST`](crate::records::schedule::CLAIMS_BETWEEN_OLDEST)
    /// claims of an owner takes the oldest job instead. A job with a damaged row fails as `data-corrupt`, and
    /// the claim takes the next job.
    async fn claim_job(
        &self,
        worker: &WorkerId,
        terms: &ClaimTerms,
        now: Timestamp,
    ) -> Result<Option<Claim>>;

    /// The jobs that could go before a job of the owner, among jobs that need at most `memory_bytes_max`.
    async fn line(&self, owner: &Owner, memory_bytes_max: u64) -> Result<Line>;

    /// Whether a queued job needs more than `free` bytes of memory and at most `max`. Jobs of at most 1 MiB
    /// do not count.
    async fn passes_over(&self, free: u64, max: u64) -> Result<bool>;

    /// Number of queued jobs of the same owner before a queued job, counted up to `limit`.
    async fn jobs_ahead(&self, job: &Job, limit: u32) -> Result<u32>;

    /// Returns the jobs with expired leases to the queue and returns their number.
    ///
    /// Each expired lease counts as the death of a process. The job pauses, and from the second death in a
    /// row the job is a suspect, which runs alone. No death is charged to a parked job, nor to a job whose
    /// lease expired more than an hour ago: the clock has jumped then. A job with a requested cancel is
    /// cancelled at once, unless it has a checkpoint or parts: the next worker then ends the job with its
    /// result so far.
    async fn release_expired(&self, terms: &ReleaseTerms, now: Timestamp) -> Result<u64>;

    /// Adds computed seconds of waited jobs to the shares of their owners.
    async fn pay(&self, spent: &[(Owner, f64)]) -> Result<()>;

    /// Corrects the set of active owners, which are the owners of jobs that have not ended. Programs older
    /// than the scheduler do not maintain this set.
    async fn tend_shares(&self) -> Result<()>;

    /// For each task, the number of jobs that wait for a worker and the creation time of the oldest.
    async fn queue_depths(&self) -> Result<Vec<(String, u64, Timestamp)>>;

    /// Extends the lease.
    async fn heartbeat(&self, lease: &Lease, beat: &Beat<'_>, now: Timestamp) -> Result<Heartbeat>;

    /// Stores the state of a running job for the next claim, in place of the previous checkpoint. The
    /// checkpoint is deleted when the job ends.
    async fn save_checkpoint(&self, lease: &Lease, body: &[u8]) -> Result<Fenced>;

    /// The latest checkpoint of a job that has not ended.
    async fn checkpoint(&self, job: JobId) -> Result<Option<Vec<u8>>>;

    /// Ends the job with its model, its trace and its last two events. A job may still succeed after a client
    /// has requested its cancel.
    async fn finish_job(&self, lease: &Lease, end: &JobEnd) -> Result<Fenced>;

    /// Returns the job to the queue. The attempt does not count unless `requeue` says so. The same
    /// transaction stores state, seconds and counts. A job whose cancel was requested meanwhile is cancelled
    /// at once, unless it has a checkpoint or parts.
    async fn requeue_job(
        &self,
        lease: &Lease,
        requeue: &Requeue<'_>,
        now: Timestamp,
    ) -> Result<Fenced>;

    /// Returns every running job to the queue, on the terms of [`Store::release_expired`], and makes every
    /// leased callback due at once. Returns the number of jobs. Only a process that knows to be the only one
    /// on this store may call this.
    async fn release_all_leases(&self, terms: &ReleaseTerms, now: Timestamp) -> Result<u64>;

    /// Requests the end of the owner's job and of all its parts. A part alone cannot be cancelled. Queued
    /// parts end at once. If some parts have begun, a worker then gathers their results.
    async fn cancel_job(&self, owner: &Owner, id: JobId, now: Timestamp) -> Result<CancelOutcome>;

    /// Takes the callback of an ended job that has been due for longest, for `lease_seconds`. After this time
    /// the callback is due again.
    ///
    /// The claim passes over the owners and hosts that are `busy`. A callback that was claimed more than
    /// [`CALLBACK_CLAIMS_MAX`] times is given up. A job that names a callback is owed this callback from the
    /// transaction in which the job ends.
    async fn claim_callback(
        &self,
        worker: &WorkerId,
        lease_seconds: u32,
        busy: &BusyReceivers,
    ) -> Result<Option<CallbackClaim>>;

    /// Stores the outcome of a delivery.
    async fn settle_callback(
        &self,
        lease: &CallbackLease,
        settlement: &DeliveryOutcome,
    ) -> Result<Fenced>;

    /// Deletes an ended job with its events, trace, parts and callback, delivered or not. The model stays.
    async fn delete_job(&self, owner: &Owner, id: JobId) -> Result<DeleteOutcome>;

    /// At most `limit` events of a job after number `after_sequence`, in order; 0 begins at the first event.
    /// With an owner, only events of that owner's job.
    async fn events(
        &self,
        owner: Option<&Owner>,
        id: JobId,
        after_sequence: i64,
        limit: u32,
    ) -> Result<Vec<Event>>;

    /// The trace of the owner's job, if any.
    async fn trace(&self, owner: &Owner, id: JobId) -> Result<Option<Vec<u8>>>;

    /// Deletes at most `limit` jobs of all owners that ended before `ended_before`, oldest first. Parts are
    /// deleted with their parent and count towards the limit.
    async fn sweep_jobs(&self, ended_before: Timestamp, limit: u32) -> Result<Swept>;

    /// Usage and limits of the owner and of all owners together.
    async fn usage(&self, owner: &Owner) -> Result<Standing>;

    /// The keys of the blobs of datasets and of jobs that have not ended: at most `limit`, in order, after
    /// the key `after`. A blob is stored before its record. A blob that is not listed here is therefore an
    /// orphan only when it is old.
    async fn data_keys_in_use(&self, after: Option<&str>, limit: u32) -> Result<Vec<String>>;

    /// Stores a model. If the id is already stored, nothing changes.
    async fn insert_model(&self, model: &Model, key: Option<&KeyClaim>) -> Result<()>;

    /// The owner's model with this id.
    async fn model(&self, owner: &Owner, id: ModelId) -> Result<Option<Model>>;

    /// A page of the owner's models without their documents, newest first.
    async fn models(
        &self,
        owner: &Owner,
        filter: &ModelFilter,
        page: &Page<ModelKind>,
    ) -> Result<Slice<ModelSummary, ModelKind>>;

    /// Deletes the owner's model. Returns whether the model existed.
    async fn delete_model(&self, owner: &Owner, id: ModelId) -> Result<bool>;

    /// Stores a dataset whose blob is already stored. If the id is already stored, nothing changes.
    async fn insert_dataset(&self, dataset: &Dataset, key: Option<&KeyClaim>) -> Result<()>;

    /// The owner's dataset with this id.
    async fn dataset(&self, owner: &Owner, id: DatasetId) -> Result<Option<Dataset>>;

    /// A page of the owner's datasets without the names of features and classes, newest first.
    async fn datasets(
        &self,
        owner: &Owner,
        page: &Page<DatasetKind>,
    ) -> Result<Slice<DatasetSummary, DatasetKind>>;

    /// Deletes the owner's dataset, unless a job that has not ended reads the dataset.
    async fn delete_dataset(&self, owner: &Owner, id: DatasetId) -> Result<DatasetDeletion>;

    /// Stores a session that has learnt no examples yet.
    async fn insert_session(&self, session: &SessionRecord, key: Option<&KeyClaim>) -> Result<()>;

    /// The owner's session with this id, without its state.
    async fn session(&self, owner: &Owner, id: SessionId) -> Result<Option<SessionRecord>>;

    /// The owner's session with this id and its state, as of one moment.
    async fn session_state(&self, owner: &Owner, id: SessionId) -> Result<Option<StoredSession>>;

    /// A page of the owner's sessions without their states, newest first.
    async fn sessions(
        &self,
        owner: &Owner,
        page: &Page<SessionKind>,
    ) -> Result<Slice<SessionRecord, SessionKind>>;

    /// Appends examples to sessions of one owner. Each append succeeds only if its session is at the stated
    /// position. The outcomes have the order of the appends, and successful appends are on disk when this
    /// returns. Appends of different owners need separate calls, because an error concerns every append of a
    /// call.
    async fn append_examples(
        &self,
        owner: &Owner,
        appends: &[SessionAppend],
    ) -> Result<Vec<Appended>>;

    /// Deletes the owner's session. Returns whether the session existed.
    async fn delete_session(&self, owner: &Owner, id: SessionId) -> Result<bool>;

    /// The record of this idempotency key of the owner, if the key is still stored.
    async fn idempotency_key(&self, owner: &Owner, key: &str) -> Result<Option<KeyRecord>>;

    /// Deletes at most `limit` idempotency keys of all owners that were created before `created_before`,
    /// oldest first. Returns their number.
    async fn sweep_idempotency_keys(&self, created_before: Timestamp, limit: u32) -> Result<u64>;

    /// Stores the service time and the earliest clock reading of the present hour of service. Returns the
    /// greatest service time that any process has stored.
    async fn note_time(&self, note: &TimeNote) -> Result<u64>;

    /// The stored service time in milliseconds.
    async fn observed_time(&self) -> Result<u64>;

    /// The earliest clock reading of any process in the last `within_ms` of service time, extended to whole
    /// hours. `None` if the service has not run for so long.
    async fn earliest_reading(&self, within_ms: u64) -> Result<Option<Timestamp>>;

    /// Shortens leases and callback delays of more than [`SECONDS_AHEAD_MAX`] to `lease_seconds`, and returns
    /// their number. The clock of the database had jumped when they were written.
    async fn shorten_leases(&self, lease_seconds: u32) -> Result<u64>;

    /// Checks whether the store accepts new data such as a blob. Inserts check this themselves.
    ///
    /// # Errors
    /// [`StoreError::Full`] while the remaining disk space is reserved for small writes that must succeed:
    /// cancels, deletions and the ends of jobs.
    async fn ensure_space(&self) -> Result<()>;

    /// The name of this database. A database without a name gets the name `fresh`.
    async fn database_name(&self, fresh: &str) -> Result<String>;

    /// The recorded blob place of this database, if any.
    async fn blob_place(&self) -> Result<Option<String>>;

    /// Records the blob place of this database unless one is recorded, and returns the recorded place. The
    /// database must already have a name.
    async fn record_blob_place(&self, place: &str) -> Result<String>;

    /// Stores an API key. A key with `adopts` becomes the owner of all things of [`Owner::anonymous`].
    ///
    /// # Errors
    /// [`StoreError::Other`] when [`API_KEYS_MAX`] keys exist.
    async fn insert_api_key(&self, key: &ApiKey, digest: &SecretDigest, adopts: bool)
    -> Result<()>;

    /// All API keys, revoked keys included, oldest first.
    async fn api_keys(&self) -> Result<Vec<ApiKey>>;

    /// Revokes an API key. Returns whether the key exists.
    async fn revoke_api_key(&self, id: ApiKeyId, now: Timestamp) -> Result<bool>;

    /// Looks up the API key with this digest of its secret. Without a digest, only tells whether keys exist.
    async fn find_api_key(&self, digest: Option<&SecretDigest>) -> Result<KeyLookup>;

    /// Checks whether the database answers.
    async fn ping(&self) -> Result<()>;

    /// Closes all connections. Every later call returns [`StoreError::Unavailable`].
    async fn close(&self);
}
