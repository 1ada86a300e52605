//! The store over SQL: its statements and rows, for SQLite and PostgreSQL alike.
//!
//! Each statement is written once for both databases. The differences are elsewhere: a few words in
//! `database.rs`, and the connections, migrations and errors in [`super::sqlite`] and [`super::postgres`].
//! Generics over the databases of the driver would put bounds on every function, while a choice between two
//! variants at a few places needs no bounds.
//!
//! This file passes each method to the file of its statements.

mod api_keys;
mod callbacks;
pub mod check;
mod checkpoints;
mod claims;
pub(super) mod database;
mod datasets;
mod digests;
pub(super) mod errors;
mod events;
mod idempotency;
mod identity;
mod jobs;
pub(super) mod migrations;
mod models;
mod parts;
mod queue;
mod rows;
mod service_time;
mod sessions;
mod shares;
#[cfg(test)]
mod tests;
mod usage;

use std::time::Duration;

use async_trait::async_trait;

use super::history::{self, Call, Facts};
use super::reserve::Reserve;
use super::{
    Appended, Beat, BusyReceivers, CallbackClaim, CallbackLease, CancelOutcome, Claim, ClaimTerms,
    DatasetDeletion, DeleteOutcome, DeliveryOutcome, Fenced, Heartbeat, JobEnd, JobFilter,
    KeyLookup, Lease, ModelFilter, Quotas, ReleaseTerms, Requeue, Result, Standing, Store,
    StoreError, Swept, TimeNote, WorkerId,
};
use crate::records::id::{DatasetKind, JobKind, ModelKind, SessionKind};
use crate::records::session::{SessionAppend, SessionRecord, StoredSession};
use crate::records::{
    ApiKey, ApiKeyId, Dataset, DatasetId, DatasetSummary, Event, Job, JobId, KeyClaim, KeyRecord,
    Line, Model, ModelId, ModelSummary, Owner, Page, PartOutcome, SecretDigest, SessionId, Slice,
    Timestamp,
};

use database::{Database, statement};

/// A store over SQL. [`super::sqlite::open`] and [`super::postgres::open`] open one.
#[derive(Debug)]
pub struct SqlStore {
    pub(super) database: Database,
    /// Reserved disk space of an embedded database.
    reserve: Option<Reserve>,
    quotas: Quotas,
}

/// Pauses between the attempts of a write that must succeed. Other writers may soon release the space that
/// they have taken.
const PAUSES: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(50),
    Duration::from_millis(200),
];

/// Number of free pages from which an embedded database accepts rows although the disk is full.
const FREE_PAGES_MIN: u64 = 1_024;

impl SqlStore {
    pub(super) fn new(database: Database, reserve: Option<Reserve>) -> Self {
        Self {
            database,
            reserve,
            quotas: Quotas::UNLIMITED,
        }
    }

    /// The store with these limits.
    #[must_use]
    pub fn limited(self, quotas: Quotas) -> Self {
        Self { quotas, ..self }
    }

    /// Runs a write that frees space, or a small write that must succeed. If the disk is full, releases the
    /// reserve and retries.
    async fn by_reserve<T, F: Future<Output = Result<T>>>(
        &self,
        write: impl Fn() -> F,
    ) -> Result<T> {
        for pause in PAUSES {
            match write().await {
                Err(StoreError::Full(_)) if self.reserve.as_ref().is_some_and(Reserve::release) => {
                    tokio::time::sleep(pause).await;
                }
                outcome => return outcome,
            }
        }
        write().await
    }

    /// Like [`Store::ensure_space`], but for rows. Deleted rows leave free pages, which also provide space for
    /// rows.
    async fn demand_room_for_rows(&self) -> Result<()> {
        let Err(refusal) = self.ensure_space().await else {
            return Ok(());
        };
        let free = self
            .database
            .one(statement("PRAGMA freelist_count"))
            .await?;
        if rows::unsigned(&free, "freelist_count")? >= FREE_PAGES_MIN {
            return Ok(());
        }
        Err(refusal)
    }
}

#[async_trait]
impl Store for SqlStore {
    async fn insert_job(&self, job: &Job, key: Option<&KeyClaim>) -> Result<()> {
        self.demand_room_for_rows().await?;
        let call = Call::of(|| Facts::of_insert(job));
        call.answered(jobs::insert_queued(&self.database, &self.quotas, job, key).await)
    }

    async fn insert_parts(
        &self,
        parent: &Job,
        parts: &[Job],
        key: Option<&KeyClaim>,
    ) -> Result<()> {
        self.demand_room_for_rows().await?;
        let calls = history::calls_of(parent, parts);
        parts::insert(&self.database, &self.quotas, parent, parts, key).await?;
        calls.into_iter().try_for_each(|call| call.answered(Ok(())))
    }

    async fn parts(
        &self,
        parent: JobId,
        after: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<PartOutcome>> {
        parts::outcomes(&self.database, parent, after, limit).await
    }

    async fn insert_running_job(
        &self,
        job: &Job,
        worker: &WorkerId,
        lease_seconds: u32,
        key: Option<&KeyClaim>,
    ) -> Result<Lease> {
        self.demand_room_for_rows().await?;
        let call = Call::of(|| Facts {
            worker: Some(worker),
            seconds: Some(lease_seconds),
            ..Facts::of_insert(job)
        });
        let (database, quotas) = (&self.database, &self.quotas);
        call.answered(jobs::insert_running(database, quotas, job, worker, lease_seconds, key).await)
    }

    async fn insert_ended_job(
        &self,
        job: &Job,
        model: Option<&Model>,
        trace: Option<&[u8]>,
        key: Option<&KeyClaim>,
    ) -> Result<()> {
        self.demand_room_for_rows().await?;
        let call = Call::of(|| Facts::of_insert(job));
        let (database, quotas) = (&self.database, &self.quotas);
        call.answered(jobs::insert_ended(database, quotas, job, model, trace, key).await)
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
        self.demand_room_for_rows().await?;
        let call = Call::of(|| Facts::of_claim(worker, terms.lease_seconds));
        call.answered(claims::claim(&self.database, worker, terms, now).await)
    }

    async fn line(&self, owner: &Owner, memory_bytes_max: u64) -> Result<Line> {
        claims::line(&self.database, owner, memory_bytes_max).await
    }

    async fn jobs_ahead(&self, job: &Job, limit: u32) -> Result<u32> {
        claims::ahead(&self.database, job, limit).await
    }

    async fn release_expired(&self, terms: &ReleaseTerms, now: Timestamp) -> Result<u64> {
        let call = Call::of(|| Facts::of("release-expired"));
        let write = || queue::release_expired(&self.database, terms, now);
        call.answered(self.by_reserve(write).await)
    }

    async fn pay(&self, spent: &[(Owner, f64)]) -> Result<()> {
        self.by_reserve(|| shares::pay_all(&self.database, spent))
            .await
    }

    async fn tend_shares(&self) -> Result<()> {
        self.by_reserve(|| shares::tend(&self.database)).await
    }

    async fn passes_over(&self, free: u64, max: u64) -> Result<bool> {
        claims::passes_over(&self.database, free, max).await
    }

    async fn queue_depths(&self) -> Result<Vec<(String, u64, Timestamp)>> {
        claims::depths(&self.database).await
    }

    async fn heartbeat(&self, lease: &Lease, beat: &Beat<'_>, now: Timestamp) -> Result<Heartbeat> {
        let call = Call::of(|| Facts {
            seconds: Some(beat.lease_seconds),
            ..Facts::of_lease("heartbeat", lease)
        });
        call.answered(
            match queue::heartbeat(&self.database, lease, beat, now).await {
                // The lease matters more than the progress, which would add an event.
                Err(StoreError::Full(_)) => {
                    let beat = Beat {
                        progress: None,
                        ..*beat
                    };
                    self.by_reserve(|| queue::heartbeat(&self.database, lease, &beat, now))
                        .await
                }
                outcome => outcome,
            },
        )
    }

    async fn save_checkpoint(&self, lease: &Lease, body: &[u8]) -> Result<Fenced> {
        self.demand_room_for_rows().await?;
        let call = Call::of(|| Facts::of_checkpoint("save", lease, body));
        call.answered(checkpoints::save(&self.database, lease, body).await)
    }

    async fn checkpoint(&self, job: JobId) -> Result<Option<Vec<u8>>> {
        let call = Call::of(|| Facts::of_job("checkpoint", job));
        call.answered(checkpoints::of(&self.database, job).await)
    }

    async fn finish_job(&self, lease: &Lease, end: &JobEnd) -> Result<Fenced> {
        let call = Call::of(|| Facts::of_end(lease, end));
        let write = || queue::finish(&self.database, lease, end);
        call.answered(self.by_reserve(write).await)
    }

    async fn requeue_job(
        &self,
        lease: &Lease,
        requeue: &Requeue<'_>,
        now: Timestamp,
    ) -> Result<Fenced> {
        if let Some(body) = requeue.checkpoint {
            // A checkpoint only saves time and may be large, so it does not use the reserve.
            self.demand_room_for_rows().await?;
            let call = Call::of(|| Facts::of_checkpoint("preempt", lease, body));
            return call.answered(queue::requeue(&self.database, lease, requeue, now).await);
        }
        let call = Call::of(|| Facts::of_lease("requeue", lease));
        let write = || queue::requeue(&self.database, lease, requeue, now);
        call.answered(self.by_reserve(write).await)
    }

    async fn release_all_leases(&self, terms: &ReleaseTerms, now: Timestamp) -> Result<u64> {
        let call = Call::of(|| Facts::of("release-all"));
        let write = || queue::release_all(&self.database, terms, now);
        call.answered(self.by_reserve(write).await)
    }

    async fn cancel_job(&self, owner: &Owner, id: JobId, now: Timestamp) -> Result<CancelOutcome> {
        let call = Call::of(|| Facts::of_job("cancel", id));
        let write = || queue::cancel(&self.database, owner, id, now);
        call.answered(self.by_reserve(write).await)
    }

    async fn claim_callback(
        &self,
        worker: &WorkerId,
        lease_seconds: u32,
        busy: &BusyReceivers,
    ) -> Result<Option<CallbackClaim>> {
        callbacks::claim(&self.database, worker, lease_seconds, busy).await
    }

    async fn settle_callback(
        &self,
        lease: &CallbackLease,
        settlement: &DeliveryOutcome,
    ) -> Result<Fenced> {
        self.by_reserve(|| callbacks::settle(&self.database, lease, settlement))
            .await
    }

    async fn delete_job(&self, owner: &Owner, id: JobId) -> Result<DeleteOutcome> {
        let call = Call::of(|| Facts::of_job("delete", id));
        let write = || jobs::delete(&self.database, owner, id);
        call.answered(self.by_reserve(write).await)
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
        let call = Call::of(|| Facts::of("sweep"));
        let write = || jobs::sweep(&self.database, ended_before, limit);
        call.answered(self.by_reserve(write).await)
    }

    async fn usage(&self, owner: &Owner) -> Result<Standing> {
        usage::one(&self.database, &self.quotas, owner).await
    }

    async fn data_keys_in_use(&self, after: Option<&str>, limit: u32) -> Result<Vec<String>> {
        jobs::data_keys(&self.database, after, limit).await
    }

    async fn insert_model(&self, model: &Model, key: Option<&KeyClaim>) -> Result<()> {
        self.demand_room_for_rows().await?;
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
        self.by_reserve(|| models::delete(&self.database, owner, id))
            .await
    }

    async fn insert_dataset(&self, dataset: &Dataset, key: Option<&KeyClaim>) -> Result<()> {
        self.demand_room_for_rows().await?;
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
        self.by_reserve(|| datasets::delete(&self.database, owner, id))
            .await
    }

    async fn insert_session(&self, session: &SessionRecord, key: Option<&KeyClaim>) -> Result<()> {
        self.demand_room_for_rows().await?;
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

    async fn append_examples(
        &self,
        owner: &Owner,
        appends: &[SessionAppend],
    ) -> Result<Vec<Appended>> {
        self.demand_room_for_rows().await?;
        sessions::append(&self.database, &self.quotas, owner, appends).await
    }

    async fn delete_session(&self, owner: &Owner, id: SessionId) -> Result<bool> {
        self.by_reserve(|| sessions::delete(&self.database, owner, id))
            .await
    }

    async fn idempotency_key(&self, owner: &Owner, key: &str) -> Result<Option<KeyRecord>> {
        idempotency::one(&self.database, owner, key).await
    }

    async fn sweep_idempotency_keys(&self, created_before: Timestamp, limit: u32) -> Result<u64> {
        self.by_reserve(|| idempotency::sweep(&self.database, created_before, limit))
            .await
    }

    async fn note_time(&self, note: &TimeNote) -> Result<u64> {
        self.by_reserve(|| service_time::note(&self.database, note))
            .await
    }

    async fn observed_time(&self) -> Result<u64> {
        service_time::observed(&self.database).await
    }

    async fn earliest_reading(&self, within_ms: u64) -> Result<Option<Timestamp>> {
        service_time::earliest_reading(&self.database, within_ms).await
    }

    async fn shorten_leases(&self, lease_seconds: u32) -> Result<u64> {
        let call = Call::of(|| Facts {
            seconds: Some(lease_seconds),
            ..Facts::of("shorten-leases")
        });
        let write = || service_time::shorten_leases(&self.database, lease_seconds);
        call.answered(self.by_reserve(write).await)
    }

    async fn ensure_space(&self) -> Result<()> {
        match &self.reserve {
            Some(reserve) if !reserve.is_kept() => Err(Reserve::refusal()),
            _ => Ok(()),
        }
    }

    async fn database_name(&self, fresh: &str) -> Result<String> {
        identity::name(&self.database, fresh).await
    }

    async fn blob_place(&self) -> Result<Option<String>> {
        identity::blob_place(&self.database).await
    }

    async fn record_blob_place(&self, place: &str) -> Result<String> {
        identity::record_blob_place(&self.database, place).await
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
