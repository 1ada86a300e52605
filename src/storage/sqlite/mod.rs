//! The embedded backend: one SQLite file.
//!
//! Write-ahead log, `synchronous=FULL` (a commit is on disk when it is acknowledged), one
//! connection that writes, four that read. Every writer begins with `BEGIN IMMEDIATE`: a deferred
//! transaction that turns writer fails at once with a stale snapshot, whatever the timeout. Several
//! processes may open one file on one machine.
//!
//! This file opens the store and hands each method to the file that owns its statements.

pub(super) mod backup;
mod connect;
mod datasets;
mod errors;
mod events;
mod jobs;
mod migrate;
mod models;
mod queue;
mod rows;
mod sessions;

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::SqlitePool;

use super::{
    Appended, CancelOutcome, Claim, ClaimTerms, DatasetDeletion, DeleteOutcome, Fenced, Heartbeat,
    JobEnd, JobFilter, Lease, ModelFilter, Result, Store, StoreError, Swept, WorkerId,
};
use crate::records::id::{DatasetKind, JobKind, ModelKind, SessionKind};
use crate::records::session::{SessionAppend, SessionRecord, StoredSession};
use crate::records::{
    Dataset, DatasetId, DatasetSummary, Event, Job, JobId, Model, ModelId, ModelSummary, Owner,
    Page, Progress, SessionId, Slice, Timestamp,
};

/// How long a method may take, waiting for a connection and for other processes included.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A transaction that holds the write lock from its beginning.
type Transaction = sqlx::Transaction<'static, sqlx::Sqlite>;

/// The embedded store.
#[derive(Debug)]
pub struct SqliteStore {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl SqliteStore {
    /// Opens the store in the file `path`, makes it when there is none, and brings its schema up to
    /// date.
    ///
    /// # Errors
    /// [`StoreError::Newer`] when a newer program wrote it; [`StoreError::Corrupt`] when it is no
    /// such store; [`StoreError::Unavailable`] or [`StoreError::Full`] when the file cannot be
    /// opened or written.
    pub async fn open(path: &Path) -> Result<Self> {
        // Held until the schema is there: of two that turn on the write-ahead log at once, one
        // fails without waiting.
        let _opening = connect::lock_for_opening(path.to_owned()).await?;
        let writer = connect::writer(path).await?;
        timed(migrate::run(&writer)).await?;
        Ok(Self {
            writer,
            readers: connect::readers(path),
        })
    }

    async fn begin(&self) -> Result<Transaction> {
        Ok(self.writer.begin_with("BEGIN IMMEDIATE").await?)
    }
}

/// The outcome of `work`, or `Unavailable` when it takes too long. What was begun is then rolled
/// back.
async fn timed<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(ANSWER_TIMEOUT, work).await {
        Ok(outcome) => outcome,
        Err(elapsed) => Err(StoreError::unavailable(elapsed)),
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn insert_job(&self, job: &Job) -> Result<()> {
        timed(jobs::insert_queued(self, job)).await
    }

    async fn insert_running_job(
        &self,
        job: &Job,
        worker: &WorkerId,
        lease_seconds: u32,
    ) -> Result<Lease> {
        timed(jobs::insert_running(self, job, worker, lease_seconds)).await
    }

    async fn insert_ended_job(
        &self,
        job: &Job,
        model: Option<&Model>,
        trace: Option<&[u8]>,
    ) -> Result<()> {
        timed(jobs::insert_ended(self, job, model, trace)).await
    }

    async fn job(&self, owner: &Owner, id: JobId) -> Result<Option<Job>> {
        timed(jobs::one(&self.readers, owner, id)).await
    }

    async fn jobs(
        &self,
        owner: &Owner,
        filter: &JobFilter,
        page: &Page<JobKind>,
    ) -> Result<Slice<Job, JobKind>> {
        timed(jobs::list(&self.readers, owner, filter, page)).await
    }

    async fn claim_job(
        &self,
        worker: &WorkerId,
        terms: &ClaimTerms,
        now: Timestamp,
    ) -> Result<Option<Claim>> {
        timed(queue::claim(self, worker, terms, now)).await
    }

    async fn heartbeat(
        &self,
        lease: &Lease,
        lease_seconds: u32,
        progress: Option<&Progress>,
        now: Timestamp,
    ) -> Result<Heartbeat> {
        timed(queue::heartbeat(self, lease, lease_seconds, progress, now)).await
    }

    async fn finish_job(&self, lease: &Lease, end: &JobEnd) -> Result<Fenced> {
        timed(queue::finish(self, lease, end)).await
    }

    async fn requeue_job(&self, lease: &Lease, now: Timestamp) -> Result<Fenced> {
        timed(queue::requeue(self, lease, now)).await
    }

    async fn release_all_leases(&self, now: Timestamp) -> Result<u64> {
        timed(queue::release_all(self, now)).await
    }

    async fn cancel_job(&self, owner: &Owner, id: JobId, now: Timestamp) -> Result<CancelOutcome> {
        timed(queue::cancel(self, owner, id, now)).await
    }

    async fn delete_job(&self, owner: &Owner, id: JobId) -> Result<DeleteOutcome> {
        timed(jobs::delete(self, owner, id)).await
    }

    async fn events(
        &self,
        owner: Option<&Owner>,
        id: JobId,
        after_sequence: i64,
        limit: u32,
    ) -> Result<Vec<Event>> {
        timed(events::after(
            &self.readers,
            owner,
            id,
            after_sequence,
            limit,
        ))
        .await
    }

    async fn trace(&self, owner: &Owner, id: JobId) -> Result<Option<Vec<u8>>> {
        timed(jobs::trace(&self.readers, owner, id)).await
    }

    async fn sweep_jobs(&self, ended_before: Timestamp, limit: u32) -> Result<Swept> {
        timed(jobs::sweep(self, ended_before, limit)).await
    }

    async fn queued_count(&self) -> Result<u64> {
        timed(jobs::queued_count(&self.readers)).await
    }

    async fn data_keys_in_use(&self, after: Option<&str>, limit: u32) -> Result<Vec<String>> {
        timed(jobs::data_keys(&self.readers, after, limit)).await
    }

    async fn insert_model(&self, model: &Model) -> Result<()> {
        timed(models::insert_one(self, model)).await
    }

    async fn model(&self, owner: &Owner, id: ModelId) -> Result<Option<Model>> {
        timed(models::one(&self.readers, owner, id)).await
    }

    async fn models(
        &self,
        owner: &Owner,
        filter: &ModelFilter,
        page: &Page<ModelKind>,
    ) -> Result<Slice<ModelSummary, ModelKind>> {
        timed(models::list(&self.readers, owner, filter, page)).await
    }

    async fn delete_model(&self, owner: &Owner, id: ModelId) -> Result<bool> {
        timed(models::delete(self, owner, id)).await
    }

    async fn insert_dataset(&self, dataset: &Dataset) -> Result<()> {
        timed(datasets::insert(self, dataset)).await
    }

    async fn dataset(&self, owner: &Owner, id: DatasetId) -> Result<Option<Dataset>> {
        timed(datasets::one(&self.readers, owner, id)).await
    }

    async fn datasets(
        &self,
        owner: &Owner,
        page: &Page<DatasetKind>,
    ) -> Result<Slice<DatasetSummary, DatasetKind>> {
        timed(datasets::list(&self.readers, owner, page)).await
    }

    async fn delete_dataset(&self, owner: &Owner, id: DatasetId) -> Result<DatasetDeletion> {
        timed(datasets::delete(self, owner, id)).await
    }

    async fn insert_session(&self, session: &SessionRecord, sessions_max: u64) -> Result<bool> {
        timed(sessions::insert(self, session, sessions_max)).await
    }

    async fn session(&self, owner: &Owner, id: SessionId) -> Result<Option<SessionRecord>> {
        timed(sessions::one(&self.readers, owner, id)).await
    }

    async fn session_state(&self, owner: &Owner, id: SessionId) -> Result<Option<StoredSession>> {
        timed(sessions::whole(&self.readers, owner, id)).await
    }

    async fn sessions(
        &self,
        owner: &Owner,
        page: &Page<SessionKind>,
    ) -> Result<Slice<SessionRecord, SessionKind>> {
        timed(sessions::list(&self.readers, owner, page)).await
    }

    async fn append_examples(&self, appends: &[SessionAppend]) -> Result<Vec<Appended>> {
        timed(sessions::append(self, appends)).await
    }

    async fn delete_session(&self, owner: &Owner, id: SessionId) -> Result<bool> {
        timed(sessions::delete(self, owner, id)).await
    }

    async fn ping(&self) -> Result<()> {
        timed(jobs::ping(&self.readers)).await
    }

    async fn close(&self) {
        // The writer last: the last connection to go folds the log into the file.
        self.readers.close().await;
        self.writer.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Status;
    use sqlx::Row;

    fn job(number: u8) -> Job {
        let at = Timestamp::from_milliseconds(1_700_000_000_000);
        Job {
            id: JobId::new(at, [number; 10]),
            owner: Owner::anonymous(),
            task: "train".into(),
            learner: None,
            name: None,
            status: Status::Queued,
            spec: serde_json::json!({ "filling": "x".repeat(100_000) }),
            data_key: None,
            data_sha256: None,
            dataset: None,
            seed: 0,
            attempt: 0,
            created_at: at,
            started_at: None,
            finished_at: None,
            progress: Progress::default(),
            result: None,
            error: None,
            model: None,
            cancel_requested: false,
            priority: 0,
        }
    }

    async fn number(pool: &SqlitePool, statement: &'static str) -> i64 {
        sqlx::query(statement)
            .fetch_one(pool)
            .await
            .unwrap()
            .try_get(0)
            .unwrap()
    }

    #[tokio::test]
    async fn commits_are_durable_and_readers_do_not_write() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&directory.path().join("db"))
            .await
            .unwrap();
        let mode = sqlx::query("PRAGMA journal_mode")
            .fetch_one(&store.writer)
            .await
            .unwrap();
        assert_eq!(mode.try_get::<String, _>(0).unwrap(), "wal");
        // 2 is FULL.
        assert_eq!(number(&store.writer, "PRAGMA synchronous").await, 2);
        assert_eq!(number(&store.writer, "PRAGMA foreign_keys").await, 1);
        assert_eq!(number(&store.writer, "PRAGMA busy_timeout").await, 5_000);
        let written = sqlx::query("DELETE FROM jobs")
            .execute(&store.readers)
            .await;
        assert!(matches!(
            StoreError::from(written.unwrap_err()),
            StoreError::Unavailable(_)
        ));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn files_are_for_their_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&directory.path().join("db"))
            .await
            .unwrap();
        store.insert_job(&job(1)).await.unwrap();
        let files: Vec<_> = std::fs::read_dir(directory.path())
            .unwrap()
            .flatten()
            .collect();
        assert!(files.len() >= 3, "{files:?}");
        for file in files {
            assert_eq!(
                file.metadata().unwrap().permissions().mode() & 0o777,
                0o600,
                "{file:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_file_of_another_kind_is_corrupt() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        std::fs::write(&path, "no database ".repeat(1_000)).unwrap();
        let opened = SqliteStore::open(&path).await;
        assert!(matches!(opened, Err(StoreError::Corrupt(_))), "{opened:?}");
        let opened = SqliteStore::open(&directory.path().join("missing").join("db")).await;
        assert!(
            matches!(opened, Err(StoreError::Unavailable(_))),
            "{opened:?}"
        );
    }

    #[tokio::test]
    async fn a_full_store_says_so_and_works_again_when_there_is_room() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&directory.path().join("db"))
            .await
            .unwrap();
        store.insert_job(&job(1)).await.unwrap();
        let pages = number(&store.writer, "PRAGMA page_count").await;
        let limit = format!("PRAGMA max_page_count = {pages}");
        sqlx::query(sqlx::AssertSqlSafe(limit))
            .execute(&store.writer)
            .await
            .unwrap();
        let full = store.insert_job(&job(2)).await;
        assert!(matches!(full, Err(StoreError::Full(_))), "{full:?}");
        let owner = Owner::anonymous();
        assert_eq!(store.job(&owner, job(2).id).await.unwrap(), None);
        assert!(store.job(&owner, job(1).id).await.unwrap().is_some());
        // The limit goes with the connection that hit it, as when somebody made room.
        store.insert_job(&job(2)).await.unwrap();
        assert!(store.job(&owner, job(2).id).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn lists_and_claims_search_their_indexes() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&directory.path().join("db"))
            .await
            .unwrap();
        for (statement, step) in [
            (queue::TAKE_NEXT, "SCAN jobs USING INDEX jobs_to_claim"),
            (
                jobs::COUNT_QUEUED,
                "SCAN jobs USING COVERING INDEX jobs_to_claim",
            ),
            (
                jobs::LIST,
                "SEARCH jobs USING INDEX jobs_by_owner (owner=? AND id<?)",
            ),
            (
                jobs::DATA_KEYS,
                "SEARCH jobs USING INDEX jobs_data (data_key>?)",
            ),
            (
                datasets::DATA_KEYS,
                "SEARCH datasets USING COVERING INDEX sqlite_autoindex_datasets_2 (data_key>?)",
            ),
            (
                datasets::PIN,
                "SEARCH jobs USING INDEX jobs_pins (dataset=?)",
            ),
        ] {
            let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
            let rows = sqlx::query(explain)
                .fetch_all(&store.readers)
                .await
                .unwrap();
            let steps: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
            assert!(steps.iter().any(|found| found == step), "{steps:?}");
            assert!(
                !steps.iter().any(|found| found.contains("TEMP B-TREE")),
                "{steps:?}"
            );
        }
    }
}
