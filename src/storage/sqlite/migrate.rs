//! The schema of a SQLite file, and its migrations.

use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::{Row, SqliteConnection, SqlitePool};

use crate::storage::sql::migrations;
use crate::storage::{Result, StoreError};

/// How long all migrations may take, including the wait for other processes.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(60);

static MIGRATIONS: Migrator = sqlx_macros::migrate!("migrations/sqlite");

/// Runs all pending migrations under one write lock, so that two processes never run the same migration.
pub(super) async fn run(writer: &SqlitePool) -> Result<()> {
    let migrated = async {
        let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
        let found = version(&mut transaction).await?.unwrap_or(0);
        migrations::refuse_newer(found, &MIGRATIONS)?;
        migrations::apply(&mut *transaction, &MIGRATIONS, None).await?;
        Ok(transaction.commit().await?)
    };
    match tokio::time::timeout(MIGRATION_TIMEOUT, migrated).await {
        Ok(outcome) => outcome,
        Err(elapsed) => Err(StoreError::unavailable(elapsed)),
    }
}

/// The newest schema version that this program knows.
pub(super) fn supported() -> i64 {
    migrations::supported(&MIGRATIONS)
}

/// The version of the newest migration that ran. `None` if no migration ever ran.
pub(super) async fn version(connection: &mut SqliteConnection) -> Result<Option<i64>> {
    let table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '_sqlx_migrations'";
    let table = sqlx::query(table).fetch_optional(&mut *connection).await?;
    if table.is_none() {
        return Ok(None);
    }
    let newest = sqlx::query(migrations::NEWEST).fetch_one(connection);
    Ok(Some(newest.await?.try_get("version")?))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::records::dataset::{DataFacts, DatasetSummary, Repetitions};
    use crate::records::task::{DataSpec, JobSpec, TaskSpec};
    use crate::records::{
        Dataset, DatasetId, Job, JobId, ModelId, Names, Owner, Status, Timestamp,
    };
    use crate::storage::sqlite::connect;
    use crate::storage::{DeleteDatasetOutcome, sqlite};

    /// Rows of a program with schema 1: a queued job, an ended job and a model.
    const ROWS_OF_SCHEMA_1: &str = "
        INSERT INTO jobs (id, owner, task, learner, name, status, spec, data_key, data_sha256, seed,
            attempt, priority, created_at, started_at, finished_at, progress, result, error, model,
            cancel_requested, lease_owner, lease_until, claims, event_sequence)
        VALUES
        ('job_018bcfe568007000b333333333333333', 'anonymous', 'train', 'perceptron', NULL, 'queued',
            '{\"learner\":{\"name\":\"perceptron\",\"params\":{\"eta\":0.1}},\"stop\":{},\"trace\":true,
            \"assume\":null,\"generated\":null}', 'jobs/1/0/data', 'ab', 7, 0, 0, 1700000000000, NULL, NULL,
            '{\"examples\":0,\"mistakes\":0,\"passes\":0,\"fraction\":null}', NULL, NULL, NULL,
            0, NULL, NULL, 0, 1),
        ('job_018bcfe568017000b333333333333333', 'anonymous', 'train', 'perceptron', 'old',
            'succeeded', '{}', NULL, NULL, 8, 1, 0, 1700000000001, 1700000000002, 1700000000003,
            '{\"examples\":9,\"mistakes\":1,\"passes\":3,\"fraction\":1.0}', '{\"mistakes\":1}', NULL,
            'mdl_018bcfe568017000b333333333333333', 0, NULL, NULL, 1, 4);
        INSERT INTO models (id, owner, job, name, learner, kind, n, created_at, document)
        VALUES ('mdl_018bcfe568017000b333333333333333', 'anonymous',
            'job_018bcfe568017000b333333333333333', NULL, 'perceptron', 'linear', 3, 1700000000003,
            '{\"n\":3}');";

    /// Further rows of a program with schema 5: a queued job, an ended job, a dataset, a session with a log
    /// and a session with a snapshot.
    const ROWS_OF_SCHEMA_5: &str = "
        INSERT INTO datasets (id, owner, n, kind, value_kind, zero_bit_value, examples, positives,
            duplicates, sha256, bytes, data_key, created_at)
        VALUES ('ds_1', 'anonymous', 3, 'labelled', 'boolean', 0, 2, 1, 0, 'ab', 900, 'datasets/1', 1);
        INSERT INTO sessions (id, owner, learner, n, position, created_at, spec)
        VALUES ('ses_1', 'anonymous', 'perceptron', 3, 2, 1, '{}'),
            ('ses_2', 'another', 'perceptron', 3, 1, 1, '{}');
        INSERT INTO session_log (session, position, examples)
        VALUES ('ses_1', 0, x'010203'), ('ses_1', 1, x'0405');
        INSERT INTO session_snapshots (session, position, state) VALUES ('ses_2', 1, x'01020304');";

    async fn store_of_schema(version: i64, rows: &'static str, path: &std::path::Path) {
        let _opening = connect::lock_for_opening(path.to_owned()).await.unwrap();
        let writer = connect::writer(path).await.unwrap();
        let mut connection = writer.acquire().await.unwrap();
        let migrated = migrations::apply(&mut *connection, &MIGRATIONS, Some(version));
        migrated.await.unwrap();
        sqlx::raw_sql(rows).execute(&mut *connection).await.unwrap();
        drop(connection);
        writer.close().await;
    }

    fn dataset() -> Dataset {
        let at = Timestamp::from_milliseconds(1_700_000_000_005);
        let id = DatasetId::new(at, [5; 10]);
        Dataset {
            summary: DatasetSummary {
                id,
                owner: Owner::anonymous(),
                name: None,
                facts: DataFacts {
                    n: 3,
                    kind: halfspace_formats::LabelsKind::Labelled,
                    values: halfspace_formats::RowsKind::Boolean,
                    zero_bit_value: 0,
                    assume: None,
                    examples: 2,
                    positives: Some(1),
                    repetitions: Repetitions::Uncounted("too many".to_owned()),
                    sha256: "cd".to_owned(),
                },
                seed: None,
                bytes: 10,
                data_key: format!("datasets/{id}/data"),
                created_at: at,
            },
            names: Names::default(),
        }
    }

    #[tokio::test]
    async fn a_store_of_schema_1_is_brought_forward_with_what_is_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        store_of_schema(1, ROWS_OF_SCHEMA_1, &path).await;
        let store = sqlite::open(&path).await.unwrap();
        let owner = Owner::anonymous();
        let id = |text: &str| text.parse::<JobId>().unwrap();
        let queued = store
            .job(&owner, id("job_018bcfe568007000b333333333333333"))
            .await;
        let queued: Job = queued.unwrap().unwrap();
        assert_eq!((queued.status, queued.seed), (Status::Queued, 7));
        assert_eq!(queued.dataset, None);
        let spec = JobSpec::deserialize(&*queued.spec).unwrap();
        let TaskSpec::Train(train) = spec.task else {
            panic!("schema 1 knew trainings only");
        };
        assert_eq!(train.learner.params["eta"], 0.1);
        assert!(train.trace && spec.data == DataSpec::default());
        let ended = store
            .job(&owner, id("job_018bcfe568017000b333333333333333"))
            .await;
        let ended = ended.unwrap().unwrap();
        assert_eq!(
            (ended.status, ended.progress.examples),
            (Status::Succeeded, 9)
        );
        let model: ModelId = "mdl_018bcfe568017000b333333333333333".parse().unwrap();
        let model = store.model(&owner, model).await.unwrap().unwrap();
        assert_eq!((model.job, model.n), (Some(ended.id), 3));
        // The migration counts existing rows: a queued job, whose data size is unknown, and a model.
        let standing = store.usage(&owner).await.unwrap();
        assert_eq!(
            (standing.own.jobs_queued, standing.own.stored_bytes),
            (1, 7)
        );
        assert_eq!(standing.all, standing.own);
        // The migrated store also supports the features of the new schema.
        let dataset = dataset();
        store.insert_dataset(&dataset, None).await.unwrap();
        let at = Timestamp::from_milliseconds(1_700_000_000_006);
        let reader = Job {
            id: JobId::new(at, [6; 10]),
            dataset: Some(dataset.summary.id),
            data_key: None,
            ..queued
        };
        store.insert_job(&reader, None).await.unwrap();
        let deleted = store
            .delete_dataset(&owner, dataset.summary.id)
            .await
            .unwrap();
        assert_eq!(deleted, DeleteDatasetOutcome::Pinned { job: reader.id });
    }

    #[tokio::test]
    async fn what_a_store_of_schema_5_holds_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        store_of_schema(5, ROWS_OF_SCHEMA_1, &path).await;
        store_of_schema(5, ROWS_OF_SCHEMA_5, &path).await;
        let store = sqlite::open(&path).await.unwrap();
        let own = store.usage(&Owner::anonymous()).await.unwrap().own;
        assert_eq!((own.jobs_queued, own.sessions), (1, 1));
        // The dataset, the log, and the model of seven characters.
        assert_eq!(own.stored_bytes, 900 + 5 + 7);
        let another = store.usage(&Owner::new("another")).await.unwrap();
        assert_eq!((another.own.sessions, another.own.stored_bytes), (1, 4));
        assert_eq!(another.all.stored_bytes, 900 + 5 + 7 + 4);
    }
}
