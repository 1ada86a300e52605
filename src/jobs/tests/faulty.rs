//! A store that reports errors for some writes, whether they were made or not.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use async_trait::async_trait;

use crate::records::id::{DatasetKind, JobKind, ModelKind, SessionKind};
use crate::records::session::{SessionAppend, SessionRecord, StoredSession};
use crate::records::{
    ApiKey, ApiKeyId, Dataset, DatasetId, DatasetSummary, Event, Job, JobId, KeyClaim, KeyRecord,
    Line, Model, ModelId, ModelSummary, Owner, Page, PartOutcome, SecretDigest, SessionId, Slice,
    Timestamp,
};
use crate::storage::{
    Appended, Beat, BusyReceivers, CallbackClaim, CallbackLease, CancelOutcome, Claim, ClaimTerms,
    DatasetDeletion, DeleteOutcome, DeliveryOutcome, Fenced, Heartbeat, JobEnd, JobFilter,
    KeyLookup, Lease, ModelFilter, ReleaseTerms, Requeue, Result, SqlStore, Standing, Store,
    StoreError, Swept, TimeNote, WorkerId,
};

/// Fails as many of the next writes as `faults` says. Saved checkpoints and requeued jobs fail before the
/// write. Inserts of queued jobs and datasets, ends of jobs, settlements, deletions of datasets and appends are
/// made, and only their answers are missing.
pub struct Faulty {
    pub inner: SqlStore,
    pub faults: AtomicU32,
    /// Whether the last of the faults is a refusal instead of a missing answer.
    pub ends_full: AtomicBool,
    /// Whether checkpoints can be written but not read.
    pub forgets_checkpoints: AtomicBool,
}

impl Faulty {
    fn fault(&self) -> Result<()> {
        let less = |faults: u32| faults.checked_sub(1);
        match self
            .faults
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        {
            Ok(1) if self.ends_full.load(Ordering::SeqCst) => {
                Err(StoreError::Full("no room".into()))
            }
            Ok(_) => Err(StoreError::unavailable("no answer")),
            Err(_) => Ok(()),
        }
    }
}

#[async_trait]
impl Store for Faulty {
    async fn insert_job(&self, job: &Job, key: Option<&KeyClaim>) -> Result<()> {
        let done = self.inner.insert_job(job, key).await;
        self.fault()?;
        done
    }
    async fn insert_parts(
        &self,
        parent: &Job,
        parts: &[Job],
        key: Option<&KeyClaim>,
    ) -> Result<()> {
        let done = self.inner.insert_parts(parent, parts, key).await;
        self.fault()?;
        done
    }
    async fn parts(
        &self,
        parent: JobId,
        after: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<PartOutcome>> {
        self.inner.parts(parent, after, limit).await
    }
    async fn insert_running_job(
        &self,
        job: &Job,
        worker: &WorkerId,
        lease_seconds: u32,
        key: Option<&KeyClaim>,
    ) -> Result<Lease> {
        self.inner
            .insert_running_job(job, worker, lease_seconds, key)
            .await
    }
    async fn insert_ended_job(
        &self,
        job: &Job,
        model: Option<&Model>,
        trace: Option<&[u8]>,
        key: Option<&KeyClaim>,
    ) -> Result<()> {
        self.inner.insert_ended_job(job, model, trace, key).await
    }
    async fn job(&self, owner: &Owner, id: JobId) -> Result<Option<Job>> {
        self.inner.job(owner, id).await
    }
    async fn jobs(
        &self,
        owner: &Owner,
        filter: &JobFilter,
        page: &Page<JobKind>,
    ) -> Result<Slice<Job, JobKind>> {
        self.inner.jobs(owner, filter, page).await
    }
    async fn claim_job(
        &self,
        worker: &WorkerId,
        terms: &ClaimTerms,
        now: Timestamp,
    ) -> Result<Option<Claim>> {
        self.inner.claim_job(worker, terms, now).await
    }
    async fn line(&self, owner: &Owner, memory_bytes_max: u64) -> Result<Line> {
        self.inner.line(owner, memory_bytes_max).await
    }
    async fn jobs_ahead(&self, job: &Job, limit: u32) -> Result<u32> {
        self.inner.jobs_ahead(job, limit).await
    }
    async fn release_expired(&self, terms: &ReleaseTerms, now: Timestamp) -> Result<u64> {
        self.inner.release_expired(terms, now).await
    }
    async fn pay(&self, spent: &[(Owner, f64)]) -> Result<()> {
        self.inner.pay(spent).await
    }
    async fn tend_shares(&self) -> Result<()> {
        self.inner.tend_shares().await
    }
    async fn passes_over(&self, free: u64, max: u64) -> Result<bool> {
        self.inner.passes_over(free, max).await
    }
    async fn queue_depths(&self) -> Result<Vec<(String, u64, Timestamp)>> {
        self.inner.queue_depths().await
    }
    async fn heartbeat(&self, lease: &Lease, beat: &Beat<'_>, now: Timestamp) -> Result<Heartbeat> {
        self.inner.heartbeat(lease, beat, now).await
    }
    async fn save_checkpoint(&self, lease: &Lease, body: &[u8]) -> Result<Fenced> {
        self.fault()?;
        self.inner.save_checkpoint(lease, body).await
    }
    async fn checkpoint(&self, job: JobId) -> Result<Option<Vec<u8>>> {
        if self.forgets_checkpoints.load(Ordering::SeqCst) {
            return Err(StoreError::unavailable("no answer"));
        }
        self.inner.checkpoint(job).await
    }
    async fn finish_job(&self, lease: &Lease, end: &JobEnd) -> Result<Fenced> {
        let done = self.inner.finish_job(lease, end).await;
        self.fault()?;
        done
    }
    async fn requeue_job(
        &self,
        lease: &Lease,
        requeue: &Requeue<'_>,
        now: Timestamp,
    ) -> Result<Fenced> {
        self.fault()?;
        self.inner.requeue_job(lease, requeue, now).await
    }
    async fn release_all_leases(&self, terms: &ReleaseTerms, now: Timestamp) -> Result<u64> {
        self.inner.release_all_leases(terms, now).await
    }
    async fn cancel_job(&self, owner: &Owner, id: JobId, now: Timestamp) -> Result<CancelOutcome> {
        self.inner.cancel_job(owner, id, now).await
    }
    async fn claim_callback(
        &self,
        worker: &WorkerId,
        lease_seconds: u32,
        busy: &BusyReceivers,
    ) -> Result<Option<CallbackClaim>> {
        self.inner.claim_callback(worker, lease_seconds, busy).await
    }
    async fn settle_callback(
        &self,
        lease: &CallbackLease,
        settlement: &DeliveryOutcome,
    ) -> Result<Fenced> {
        let done = self.inner.settle_callback(lease, settlement).await;
        self.fault()?;
        done
    }
    async fn delete_job(&self, owner: &Owner, id: JobId) -> Result<DeleteOutcome> {
        self.inner.delete_job(owner, id).await
    }
    async fn events(
        &self,
        owner: Option<&Owner>,
        id: JobId,
        after_sequence: i64,
        limit: u32,
    ) -> Result<Vec<Event>> {
        self.inner.events(owner, id, after_sequence, limit).await
    }
    async fn trace(&self, owner: &Owner, id: JobId) -> Result<Option<Vec<u8>>> {
        self.inner.trace(owner, id).await
    }
    async fn sweep_jobs(&self, ended_before: Timestamp, limit: u32) -> Result<Swept> {
        self.inner.sweep_jobs(ended_before, limit).await
    }
    async fn usage(&self, owner: &Owner) -> Result<Standing> {
        self.inner.usage(owner).await
    }
    async fn data_keys_in_use(&self, after: Option<&str>, limit: u32) -> Result<Vec<String>> {
        self.inner.data_keys_in_use(after, limit).await
    }
    async fn insert_model(&self, model: &Model, key: Option<&KeyClaim>) -> Result<()> {
        self.inner.insert_model(model, key).await
    }
    async fn model(&self, owner: &Owner, id: ModelId) -> Result<Option<Model>> {
        self.inner.model(owner, id).await
    }
    async fn models(
        &self,
        owner: &Owner,
        filter: &ModelFilter,
        page: &Page<ModelKind>,
    ) -> Result<Slice<ModelSummary, ModelKind>> {
        self.inner.models(owner, filter, page).await
    }
    async fn delete_model(&self, owner: &Owner, id: ModelId) -> Result<bool> {
        self.inner.delete_model(owner, id).await
    }
    async fn insert_dataset(&self, dataset: &Dataset, key: Option<&KeyClaim>) -> Result<()> {
        let done = self.inner.insert_dataset(dataset, key).await;
        self.fault()?;
        done
    }
    async fn dataset(&self, owner: &Owner, id: DatasetId) -> Result<Option<Dataset>> {
        self.inner.dataset(owner, id).await
    }
    async fn datasets(
        &self,
        owner: &Owner,
        page: &Page<DatasetKind>,
    ) -> Result<Slice<DatasetSummary, DatasetKind>> {
        self.inner.datasets(owner, page).await
    }
    async fn delete_dataset(&self, owner: &Owner, id: DatasetId) -> Result<DatasetDeletion> {
        let done = self.inner.delete_dataset(owner, id).await;
        self.fault()?;
        done
    }
    async fn insert_session(&self, session: &SessionRecord, key: Option<&KeyClaim>) -> Result<()> {
        self.inner.insert_session(session, key).await
    }
    async fn session(&self, owner: &Owner, id: SessionId) -> Result<Option<SessionRecord>> {
        self.inner.session(owner, id).await
    }
    async fn session_state(&self, owner: &Owner, id: SessionId) -> Result<Option<StoredSession>> {
        self.inner.session_state(owner, id).await
    }
    async fn sessions(
        &self,
        owner: &Owner,
        page: &Page<SessionKind>,
    ) -> Result<Slice<SessionRecord, SessionKind>> {
        self.inner.sessions(owner, page).await
    }
    async fn append_examples(
        &self,
        owner: &Owner,
        appends: &[SessionAppend],
    ) -> Result<Vec<Appended>> {
        let done = self.inner.append_examples(owner, appends).await;
        self.fault()?;
        done
    }
    async fn delete_session(&self, owner: &Owner, id: SessionId) -> Result<bool> {
        self.inner.delete_session(owner, id).await
    }
    async fn idempotency_key(&self, owner: &Owner, key: &str) -> Result<Option<KeyRecord>> {
        self.inner.idempotency_key(owner, key).await
    }
    async fn sweep_idempotency_keys(&self, created_before: Timestamp, limit: u32) -> Result<u64> {
        self.inner
            .sweep_idempotency_keys(created_before, limit)
            .await
    }
    async fn note_time(&self, note: &TimeNote) -> Result<u64> {
        self.inner.note_time(note).await
    }
    async fn observed_time(&self) -> Result<u64> {
        self.inner.observed_time().await
    }
    async fn earliest_reading(&self, within_ms: u64) -> Result<Option<Timestamp>> {
        self.inner.earliest_reading(within_ms).await
    }
    async fn shorten_leases(&self, lease_seconds: u32) -> Result<u64> {
        self.inner.shorten_leases(lease_seconds).await
    }
    async fn ensure_space(&self) -> Result<()> {
        self.inner.ensure_space().await
    }
    async fn database_name(&self, fresh: &str) -> Result<String> {
        self.inner.database_name(fresh).await
    }
    async fn blob_place(&self) -> Result<Option<String>> {
        self.inner.blob_place().await
    }
    async fn record_blob_place(&self, place: &str) -> Result<String> {
        self.inner.record_blob_place(place).await
    }
    async fn insert_api_key(
        &self,
        key: &ApiKey,
        digest: &SecretDigest,
        adopts: bool,
    ) -> Result<()> {
        self.inner.insert_api_key(key, digest, adopts).await
    }
    async fn api_keys(&self) -> Result<Vec<ApiKey>> {
        self.inner.api_keys().await
    }
    async fn revoke_api_key(&self, id: ApiKeyId, now: Timestamp) -> Result<bool> {
        self.inner.revoke_api_key(id, now).await
    }
    async fn find_api_key(&self, digest: Option<&SecretDigest>) -> Result<KeyLookup> {
        self.inner.find_api_key(digest).await
    }
    async fn ping(&self) -> Result<()> {
        self.inner.ping().await
    }
    async fn close(&self) {
        self.inner.close().await
    }
}
