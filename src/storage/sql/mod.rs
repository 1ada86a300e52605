//! The store over SQL: its statements and its rows, for SQLite and PostgreSQL alike.
//!
//! A statement stands here once, whichever database it is for. What truly differs is elsewhere:
//! the few words in `database.rs`, connections, migrations and errors in [`super::sqlite`] and
//! [`super::postgres`]. Generics over the driver's databases would need its bounds on every
//! function; two choices at a handful of places need none.
//!
//! This file hands each method to the file that owns its statements.

mod api_keys;
mod callbacks;
pub(super) mod database;
mod datasets;
pub(super) mod errors;
mod events;
mod idempotency;
mod jobs;
pub(super) mod migrations;
mod models;
mod queue;
mod rows;
mod sessions;
#[cfg(test)]
mod tests;
mod usage;

use async_trait::async_trait;

use super::{
    Appended, CallbackClaim, CallbackLease, CancelOutcome, Claim, ClaimTerms, DatasetDeletion,
    DeleteOutcome, Fenced, Heartbeat, JobEnd, JobFilter, KeyLookup, Lease, ModelFilter, Quotas,
    Result, Settlement, Standing, Store, Swept, WorkerId,
};
use crate::records::id::{DatasetKind, JobKind, ModelKind, SessionKind};
use crate::records::session::{SessionAppend, SessionRecord, StoredSession};
use crate::records::{
    ApiKey, ApiKeyId, Dataset, DatasetId, DatasetSummary, Event, Job, JobId, KeyClaim, KeyRecord,
    Model, ModelId, ModelSummary, Owner, Page, Progress, SecretDigest, SessionId, Slice, Timestamp,
};

use database::Database;

/// A store over SQL. [`super::sqlite::open`] and [`super::postgres::open`] make one.
#[derive(Debug)]
pub struct SqlStore {
    pub(super) database: Database,
    quotas: Quotas,
    turn: queue::Turn,
}

impl SqlStore {
    pub(super) fn new(database: Database) -> Self {
        Self {
            database,
            quotas: Quotas::UNLIMITED,
            turn: queue::Turn::default(),
        }
    }

    /// The store, keeping to these limits.
    #[must_use]
    pub fn limited(self, quotas: Quotas) -> Self {
        Self { quotas, ..self }
    }
}

#[async_trait]
impl Store for SqlStore {
    async fn insert_job(&self, job: &Job, key: Option<&KeyClaim>) -> Result<()> {
        jobs::insert_queued(&self.database, &self.quotas, job, key).await
    }

    async fn insert_running_job(
        &self,
        job: &Job,
        worker: &WorkerId,
        lease_seconds: u32,
        key: Option<&KeyClaim>,
    ) -> Result<Lease> {
        jobs::insert_running(
            &self.database,
            &self.quotas,
            job,
            worker,
            lease_seconds,
            key,
        )
        .await
    }

    async fn insert_ended_job(
        &self,
        job: &Job,
        model: Option<&Model>,
        trace: Option<&[u8]>,
        key: Option<&KeyClaim>,
    ) -> Result<()> {
        jobs::insert_ended(&self.database, &self.quotas, job, model, trace, key).await
    }

    async fn job(&self, owner: &Owner, id: JobId) -> Result<Option<Job>> {
        jobs::one(&self.database, owner, id).await
    }

    async fn jobs(
        &self,
        owner: &Owner,
        filter: &JobFilter,
        page: &Page<JobKind>,
    ) -> Result<Slice<Job, JobKind>> {
        jobs::list(&self.database, owner, filter, page).await
    }

    async fn claim_job(
        &self,
        worker: &WorkerId,
        terms: &ClaimTerms,
        now: Timestamp,
    ) -> Result<Option<Claim>> {
        queue::claim(&self.database, &self.turn, worker, terms, now).await
    }

    async fn heartbeat(
        &self,
        lease: &Lease,
        lease_seconds: u32,
        progress: Option<&Progress>,
        now: Timestamp,
    ) -> Result<Heartbeat> {
        queue::heartbeat(&self.database, lease, lease_seconds, progress, now).await
    }

    async fn finish_job(&self, lease: &Lease, end: &JobEnd) -> Result<Fenced> {
        queue::finish(&self.database, lease, end).await
    }

    async fn requeue_job(&self, lease: &Lease, now: Timestamp) -> Result<Fenced> {
        queue::requeue(&self.database, lease, now).await
    }

    async fn release_all_leases(&self, now: Timestamp) -> Result<u64> {
        queue::release_all(&self.database, now).await
    }

    async fn cancel_job(&self, owner: &Owner, id: JobId, now: Timestamp) -> Result<CancelOutcome> {
        queue::cancel(&self.database, owner, id, now).await
    }

    async fn claim_callback(
        &self,
        worker: &WorkerId,
        lease_seconds: u32,
    ) -> Result<Option<CallbackClaim>> {
        callbacks::claim(&self.database, worker, lease_seconds).await
    }

    async fn settle_callback(
        &self,
        lease: &CallbackLease,
        settlement: &Settlement,
    ) -> Result<Fenced> {
        callbacks::settle(&self.database, lease, settlement).await
    }

    async fn delete_job(&self, owner: &Owner, id: JobId) -> Result<DeleteOutcome> {
        jobs::delete(&self.database, owner, id).await
    }

    async fn events(
        &self,
        owner: Option<&Owner>,
        id: JobId,
        after_sequence: i64,
        limit: u32,
    ) -> Result<Vec<Event>> {
        events::after(&self.database, owner, id, after_sequence, limit).await
    }

    async fn trace(&self, owner: &Owner, id: JobId) -> Result<Option<Vec<u8>>> {
        jobs::trace(&self.database, owner, id).await
    }

    async fn sweep_jobs(&self, ended_before: Timestamp, limit: u32) -> Result<Swept> {
        jobs::sweep(&self.database, ended_before, limit).await
    }

    async fn usage(&self, owner: &Owner) -> Result<Standing> {
        usage::one(&self.database, &self.quotas, owner).await
    }

    async fn data_keys_in_use(&self, after: Option<&str>, limit: u32) -> Result<Vec<String>> {
        jobs::data_keys(&self.database, after, limit).await
    }

    async fn insert_model(&self, model: &Model, key: Option<&KeyClaim>) -> Result<()> {
        models::insert_one(&self.database, &self.quotas, model, key).await
    }

    async fn model(&self, owner: &Owner, id: ModelId) -> Result<Option<Model>> {
        models::one(&self.database, owner, id).await
    }

    async fn models(
        &self,
        owner: &Owner,
        filter: &ModelFilter,
        page: &Page<ModelKind>,
    ) -> Result<Slice<ModelSummary, ModelKind>> {
        models::list(&self.database, owner, filter, page).await
    }

    async fn delete_model(&self, owner: &Owner, id: ModelId) -> Result<bool> {
        models::delete(&self.database, owner, id).await
    }

    async fn insert_dataset(&self, dataset: &Dataset, key: Option<&KeyClaim>) -> Result<()> {
        datasets::insert(&self.database, &self.quotas, dataset, key).await
    }

    async fn dataset(&self, owner: &Owner, id: DatasetId) -> Result<Option<Dataset>> {
        datasets::one(&self.database, owner, id).await
    }

    async fn datasets(
        &self,
        owner: &Owner,
        page: &Page<DatasetKind>,
    ) -> Result<Slice<DatasetSummary, DatasetKind>> {
        datasets::list(&self.database, owner, page).await
    }

    async fn delete_dataset(&self, owner: &Owner, id: DatasetId) -> Result<DatasetDeletion> {
        datasets::delete(&self.database, owner, id).await
    }

    async fn insert_session(&self, session: &SessionRecord, key: Option<&KeyClaim>) -> Result<()> {
        sessions::insert(&self.database, &self.quotas, session, key).await
    }

    async fn session(&self, owner: &Owner, id: SessionId) -> Result<Option<SessionRecord>> {
        sessions::one(&self.database, owner, id).await
    }

    async fn session_state(&self, owner: &Owner, id: SessionId) -> Result<Option<StoredSession>> {
        sessions::whole(&self.database, owner, id).await
    }

    async fn sessions(
        &self,
        owner: &Owner,
        page: &Page<SessionKind>,
    ) -> Result<Slice<SessionRecord, SessionKind>> {
        sessions::list(&self.database, owner, page).await
    }

    async fn append_examples(&self, appends: &[SessionAppend]) -> Result<Vec<Appended>> {
        sessions::append(&self.database, &self.quotas, appends).await
    }

    async fn delete_session(&self, owner: &Owner, id: SessionId) -> Result<bool> {
        sessions::delete(&self.database, owner, id).await
    }

    async fn idempotency_key(&self, owner: &Owner, key: &str) -> Result<Option<KeyRecord>> {
        idempotency::one(&self.database, owner, key).await
    }

    async fn sweep_idempotency_keys(&self, created_before: Timestamp, limit: u32) -> Result<u64> {
        idempotency::sweep(&self.database, created_before, limit).await
    }

    async fn insert_api_key(
        &self,
        key: &ApiKey,
        digest: &SecretDigest,
        adopts: bool,
    ) -> Result<()> {
        api_keys::insert(&self.database, key, digest, adopts).await
    }

    async fn api_keys(&self) -> Result<Vec<ApiKey>> {
        api_keys::list(&self.database).await
    }

    async fn revoke_api_key(&self, id: ApiKeyId, now: Timestamp) -> Result<bool> {
        api_keys::revoke(&self.database, id, now).await
    }

    async fn find_api_key(&self, digest: Option<&SecretDigest>) -> Result<KeyLookup> {
        api_keys::find(&self.database, digest).await
    }

    async fn ping(&self) -> Result<()> {
        jobs::ping(&self.database).await
    }

    async fn close(&self) {
        self.database.close().await;
    }
}
