//! Where records are kept: one trait over the databases, blobs beside it.
//!
//! Storage knows records, SQL and files. It decides nothing about learning and nothing about HTTP,
//! and it starts no work of its own: who claims, beats and sweeps is `jobs`. All SQL of the program
//! is below this module.
//!
//! - [`Store`] is the contract; `tests/it/store_contract.rs` is its test, for every backend.
//! - [`sql`] is its one implementation: the statements, the same for both databases.
//! - [`sqlite`] opens the embedded database, [`postgres`] the shared one; [`database_url`] says which.
//! - [`data_dir`] is the directory of the embedded database and of local blobs.
//! - [`backup`] copies an embedded store while it is used.
//! - `reserve` keeps room on the disk for cancels and deletions beside an embedded database.
//! - [`blobs`] keeps packed data, which are too large for rows.
//! - [`quota`] says what owners may have.
//! - [`lease`] says how workers hold jobs, [`delivery`] how callbacks; [`error`] what can go wrong.
//! - [`history`] records the operations on leases, for the tests.
//!
//! A further method of the store is a line in [`Store`], one in [`sql`], and a statement there, in the
//! file of its subject.

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
pub use delivery::{BusyReceivers, CALLBACK_CLAIMS_MAX, CallbackClaim, CallbackLease, Settlement};
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

/// The result of a store's method.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Which jobs to list. What is left out does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    pub status: Option<Status>,
    pub task: Option<String>,
    pub learner: Option<String>,
    /// The parts of this job; without it, jobs that are no parts.
    pub parent: Option<JobId>,
}

/// Which models to list. What is left out does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelFilter {
    pub learner: Option<String>,
    pub kind: Option<String>,
}

/// How claims are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimTerms {
    /// After so many seconds without a heartbeat the job is another's to take.
    pub lease_seconds: u32,
    /// Jobs that need more memory are passed over.
    pub memory_bytes_max: u64,
}

/// How the jobs of dead workers go back to the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReleaseTerms {
    /// A job fails as `poisoned` after so many deaths of processes in which it ran alone.
    pub deaths_max: u32,
    /// The pause after the first death. It doubles with each further death, to 60 times as much.
    pub pause_seconds: f64,
}

/// A process's observation of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeNote {
    /// Service time in milliseconds, as far as the process knows.
    pub observed_ms: u64,
    /// The earliest time of day that the process has used since the last note.
    pub earliest: Timestamp,
    /// Readings older than so many milliseconds of service time may be deleted.
    pub kept_ms: u64,
}

/// No lease and no callback delay is longer, in seconds. A longer one results from a clock jump.
pub const SECONDS_AHEAD_MAX: u32 = 2 * 86_400;

/// What became of an attempt to remember what a session has learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is on disk.
    Done,
    /// The session stands at another position: nothing was written.
    Elsewhere { position: u64 },
    /// There is no such session, or it is another owner's.
    NotFound,
    /// Nothing was written: there is no room for all that comes in for its owner at once.
    OverQuota(OverQuota),
}

/// API keys that there can be, revoked ones among them.
pub const API_KEYS_MAX: u32 = 10_000;

/// What a secret opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyLookup {
    /// No key was ever made: no secret is needed.
    NoKeys,
    /// It is the secret of no key that is in force.
    Unknown,
    /// It is the secret of this key, which is in force.
    Known(ApiKey),
}

/// Keeps jobs, their events and traces, models, datasets and sessions.
///
/// Every write is one transaction that is on disk when the method returns. Writes of workers are
/// fenced by their [`Lease`]; the others may be repeated after [`StoreError::Unavailable`]. Leases
/// run by the database's clock, which all replicas share; the times in records (`now`) are the
/// caller's.
///
/// What is inserted may come with an idempotency key, which is then kept in the same transaction.
/// Where the owner made another thing under that key nothing is stored, and the error is
/// [`StoreError::KeyTaken`]; the key of the very same thing is no obstacle.
///
/// What is inserted keeps to the quotas of the store, whoever inserts at the same time; else nothing
/// is stored, and the error is [`StoreError::OverQuota`]. See [`quota`] for what counts.
#[async_trait]
pub trait Store: Send + Sync {
    /// Stores a queued job, with its first event. A job whose id is stored already is left as it
    /// is.
    ///
    /// # Errors
    /// [`StoreError::DatasetMissing`] when its dataset is not there or not its owner's. From then
    /// on until it has ended, a job pins its dataset.
    async fn insert_job(&self, job: &Job, key: Option<&KeyClaim>) -> Result<()>;

    /// Stores a job with its parts, all queued, each with its first event. The parts are in their
    /// order, numbered from 0, and so are their ids. They can be claimed, and their parent only when
    /// all of them have ended: each counts itself off in the transaction that ends it. One that fails
    /// fails its parent, and no other is wanted then.
    ///
    /// # Errors
    /// As for [`Store::insert_job`].
    async fn insert_parts(&self, parent: &Job, parts: &[Job], key: Option<&KeyClaim>)
    -> Result<()>;

    /// What came of at most `limit` parts of a job, in their order, after the part `after`.
    async fn parts(
        &self,
        parent: JobId,
        after: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<PartOutcome>>;

    /// Stores a job that `worker` already computes (status `running`, attempt 1), with the events
    /// `queued` and `running`, and gives the worker its lease.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when another holds a job of this id;
    /// [`StoreError::DatasetMissing`] as for a queued one.
    async fn insert_running_job(
        &self,
        job: &Job,
        worker: &WorkerId,
        lease_seconds: u32,
        key: Option<&KeyClaim>,
    ) -> Result<Lease>;

    /// Stores a job that ended before anybody was told of it, with its model, trace and all four
    /// events, in one transaction. A job whose id is stored already is left as it is.
    async fn insert_ended_job(
        &self,
        job: &Job,
        model: Option<&Model>,
        trace: Option<&[u8]>,
        key: Option<&KeyClaim>,
    ) -> Result<()>;

    /// The owner's job of this id.
    async fn job(&self, owner: &Owner, id: JobId) -> Result<Option<Job>>;

    /// A page of the owner's jobs, newest first.
    async fn jobs(
        &self,
        owner: &Owner,
        filter: &JobFilter,
        page: &Page<JobKind>,
    ) -> Result<Slice<Job, JobKind>>;

    /// Takes the first job of the active owner with the least virtual seconds who has a claimable job;
    /// every [`CLAIMS_BETWEEN_OLDEST`](crate::records::schedule::CLAIMS_BETWEEN_OLDEST) claims of an
    /// owner, the oldest. A job whose row is damaged fails as `data-corrupt` on the way.
    async fn claim_job(
        &self,
        worker: &WorkerId,
        terms: &ClaimTerms,
        now: Timestamp,
    ) -> Result<Option<Claim>>;

    /// The jobs that could go before a job of the owner, among those that need at most
    /// `memory_bytes_max`.
    async fn line(&self, owner: &Owner, memory_bytes_max: u64) -> Result<Line>;

    /// Whether a queued job needs more than `free` bytes of memory, and at most `max`.
    async fn passes_over(&self, free: u64, max: u64) -> Result<bool>;

    /// The queued jobs of the same owner before a queued job, counted to `limit`.
    async fn jobs_ahead(&self, job: &Job, limit: u32) -> Result<u32>;

    /// Queues the jobs whose leases ran out; returns their number. Each has cost its process: it
    /// pauses, and from the second death in a row it is a suspect, which runs alone. Not charged is a
    /// job that was parked, or whose lease ran out more than an hour ago: the clock jumped. A job that
    /// was to be cancelled is cancelled.
    async fn release_expired(&self, terms: &ReleaseTerms, now: Timestamp) -> Result<u64>;

    /// Adds computed seconds of waited jobs to the shares of their owners.
    async fn pay(&self, spent: &[(Owner, f64)]) -> Result<()>;

    /// Corrects which owners are active: those who have jobs that have not ended. Programs before the
    /// scheduler do not say so.
    async fn tend_shares(&self) -> Result<()>;

    /// How many jobs of each task wait for a worker, and when the oldest of them was made.
    async fn queue_depths(&self) -> Result<Vec<(String, u64, Timestamp)>>;

    /// Extends the lease.
    async fn heartbeat(&self, lease: &Lease, beat: &Beat<'_>, now: Timestamp) -> Result<Heartbeat>;

    /// Keeps the state of a running job for the next claim, in the place of the one kept before. It
    /// goes when the job ends.
    async fn save_checkpoint(&self, lease: &Lease, body: &[u8]) -> Result<Fenced>;

    /// The state that was kept last of a job which has not ended.
    async fn checkpoint(&self, job: JobId) -> Result<Option<Vec<u8>>>;

    /// Ends the job, with its model, trace and last two events. A job whose end a client asked for
    /// may still succeed.
    async fn finish_job(&self, lease: &Lease, end: &JobEnd) -> Result<Fenced>;

    /// Hands the job back, as a rule without cost: its attempt does not count. State, seconds and counts are
    /// stored in the same transaction. If a client asked for its end meanwhile, it is cancelled
    /// instead of waiting for a worker that would only cancel it.
    async fn requeue_job(
        &self,
        lease: &Lease,
        requeue: &Requeue<'_>,
        now: Timestamp,
    ) -> Result<Fenced>;

    /// Queues every running job at once, on the terms of [`Store::release_expired`]. Callbacks that
    /// somebody delivers are due at once. Only for a process that knows that no other works on this
    /// store. Returns how many jobs there were.
    async fn release_all_leases(&self, terms: &ReleaseTerms, now: Timestamp) -> Result<u64>;

    /// Asks for the end of the owner's job, and of all its parts; a part alone does not end. Parts
    /// that wait in the queue end at once. When some have begun, a worker gathers what they came to.
    async fn cancel_job(&self, owner: &Owner, id: JobId, now: Timestamp) -> Result<CancelOutcome>;

    /// Takes the callback that has been due for longest, of a job that has ended, for `lease_seconds`:
    /// after these it is due again. Those of owners and hosts that are `busy` are passed over. One that
    /// was taken too often ([`CALLBACK_CLAIMS_MAX`]) is given up on the way. A job is owed its
    /// callback, if it names one, from the transaction in which it ends.
    async fn claim_callback(
        &self,
        worker: &WorkerId,
        lease_seconds: u32,
        busy: &BusyReceivers,
    ) -> Result<Option<CallbackClaim>>;

    /// Writes what came of a delivery.
    async fn settle_callback(
        &self,
        lease: &CallbackLease,
        settlement: &Settlement,
    ) -> Result<Fenced>;

    /// Removes an ended job with its events, trace, parts and callback, delivered or not. Its model
    /// stays.
    async fn delete_job(&self, owner: &Owner, id: JobId) -> Result<DeleteOutcome>;

    /// The events of a job after number `after_sequence` (0: from the first), at most `limit`, in
    /// order. With an owner, only if the job is theirs.
    async fn events(
        &self,
        owner: Option<&Owner>,
        id: JobId,
        after_sequence: i64,
        limit: u32,
    ) -> Result<Vec<Event>>;

    /// The trace of the owner's job, where it has one.
    async fn trace(&self, owner: &Owner, id: JobId) -> Result<Option<Vec<u8>>>;

    /// Removes at most `limit` jobs, of all owners, that ended before `ended_before`, the oldest
    /// first. Parts go with their parent, and count.
    async fn sweep_jobs(&self, ended_before: Timestamp, limit: u32) -> Result<Swept>;

    /// How much the owner, and all owners together, have and may have.
    async fn usage(&self, owner: &Owner) -> Result<Standing>;

    /// The keys of the blobs that datasets, and jobs which have not ended, refer to, at most `limit`
    /// in order, after the key `after`. A blob is stored before its record, so a blob that is not
    /// among them is an orphan only when it is old.
    async fn data_keys_in_use(&self, after: Option<&str>, limit: u32) -> Result<Vec<String>>;

    /// Stores a model. A model whose id is stored already is left as it is.
    async fn insert_model(&self, model: &Model, key: Option<&KeyClaim>) -> Result<()>;

    /// The owner's model of this id.
    async fn model(&self, owner: &Owner, id: ModelId) -> Result<Option<Model>>;

    /// A page of the owner's models, without their documents, newest first.
    async fn models(
        &self,
        owner: &Owner,
        filter: &ModelFilter,
        page: &Page<ModelKind>,
    ) -> Result<Slice<ModelSummary, ModelKind>>;

    /// Removes the owner's model; whether there was one.
    async fn delete_model(&self, owner: &Owner, id: ModelId) -> Result<bool>;

    /// Stores a dataset, its blob being there. One whose id is stored already is left as it is.
    async fn insert_dataset(&self, dataset: &Dataset, key: Option<&KeyClaim>) -> Result<()>;

    /// The owner's dataset of this id.
    async fn dataset(&self, owner: &Owner, id: DatasetId) -> Result<Option<Dataset>>;

    /// A page of the owner's datasets, without names of features and classes, newest first.
    async fn datasets(
        &self,
        owner: &Owner,
        page: &Page<DatasetKind>,
    ) -> Result<Slice<DatasetSummary, DatasetKind>>;

    /// Removes the owner's dataset, unless a job that has not ended reads it.
    async fn delete_dataset(&self, owner: &Owner, id: DatasetId) -> Result<DatasetDeletion>;

    /// Stores a session that has learnt nothing yet.
    async fn insert_session(&self, session: &SessionRecord, key: Option<&KeyClaim>) -> Result<()>;

    /// The owner's session of this id, without its state.
    async fn session(&self, owner: &Owner, id: SessionId) -> Result<Option<SessionRecord>>;

    /// The owner's session of this id with its state, all of one moment.
    async fn session_state(&self, owner: &Owner, id: SessionId) -> Result<Option<StoredSession>>;

    /// A page of the owner's sessions, without their states, newest first.
    async fn sessions(
        &self,
        owner: &Owner,
        page: &Page<SessionKind>,
    ) -> Result<Slice<SessionRecord, SessionKind>>;

    /// Remembers what sessions of one owner have learnt, each if it stands where the append says;
    /// the outcomes in the same order. All that is done is on disk when this returns. Those of
    /// several owners are for several calls: an error is about all of one.
    async fn append_examples(
        &self,
        owner: &Owner,
        appends: &[SessionAppend],
    ) -> Result<Vec<Appended>>;

    /// Removes the owner's session; whether there was one.
    async fn delete_session(&self, owner: &Owner, id: SessionId) -> Result<bool>;

    /// What the owner made under this idempotency key, if the key is kept still.
    async fn idempotency_key(&self, owner: &Owner, key: &str) -> Result<Option<KeyRecord>>;

    /// Forgets at most `limit` idempotency keys, of all owners, of things made before
    /// `created_before`, the oldest first; how many.
    async fn sweep_idempotency_keys(&self, created_before: Timestamp, limit: u32) -> Result<u64>;

    /// Stores the service time, and the earliest clock reading of the present hour of service. Returns
    /// the greatest service time that any process has stored.
    async fn note_time(&self, note: &TimeNote) -> Result<u64>;

    /// The stored service time in milliseconds.
    async fn observed_time(&self) -> Result<u64>;

    /// The earliest clock reading of any process in the last `within_ms` of service time, extended to
    /// whole hours; `None` if the service has not run for so long.
    async fn earliest_reading(&self, within_ms: u64) -> Result<Option<Timestamp>>;

    /// Lets leases and callbacks that are due more than [`SECONDS_AHEAD_MAX`] from now be due in
    /// `lease_seconds`; returns their number. The database's clock had jumped when they were written.
    async fn shorten_leases(&self, lease_seconds: u32) -> Result<u64>;

    /// Whether there is room to take in something new, a blob for instance. Inserts ask by
    /// themselves.
    ///
    /// # Errors
    /// [`StoreError::Full`] while what is left of the disk is kept for what needs little and has to
    /// work: cancels, deletions, the ends of jobs.
    async fn demand_room(&self) -> Result<()>;

    /// The name of this database; `fresh` from now on if it had none.
    async fn database_name(&self, fresh: &str) -> Result<String>;

    /// The place of this database's blobs, if one is recorded.
    async fn blob_place(&self) -> Result<Option<String>>;

    /// Records the place of this database's blobs, unless one is recorded; the one that is then. The
    /// database has its name already.
    async fn record_blob_place(&self, place: &str) -> Result<String>;

    /// Stores an API key. One that adopts owns from then on all that is nobody's, which means all of
    /// [`Owner::anonymous`].
    ///
    /// # Errors
    /// [`StoreError::Other`] where there are [`API_KEYS_MAX`].
    async fn insert_api_key(&self, key: &ApiKey, digest: &SecretDigest, adopts: bool)
    -> Result<()>;

    /// All API keys, revoked ones among them, oldest first.
    async fn api_keys(&self) -> Result<Vec<ApiKey>>;

    /// Ends an API key's force; whether there is such a key.
    async fn revoke_api_key(&self, id: ApiKeyId, now: Timestamp) -> Result<bool>;

    /// What a secret of this digest opens, or no secret at all.
    async fn find_api_key(&self, digest: Option<&SecretDigest>) -> Result<KeyLookup>;

    /// Whether the database answers.
    async fn ping(&self) -> Result<()>;

    /// Ends all connections. Every later call is [`StoreError::Unavailable`].
    async fn close(&self);
}
