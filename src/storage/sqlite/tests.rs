//! What is SQLite's own: its file and its settings.

use std::path::Path;

use sqlx::{Row, SqlitePool};

use super::open;
use crate::records::{Job, JobId, Owner, Progress, Status, Timestamp};
use crate::storage::sql::SqlStore;
use crate::storage::sql::database::Database;
use crate::storage::{Store, StoreError};

/// A store in the directory, with its connections: the one that writes, and those that read.
async fn opened(directory: &Path) -> (SqlStore, SqlitePool, SqlitePool) {
    let store = open(&directory.join("db")).await.unwrap();
    let Database::Sqlite { writer, readers } = &store.database else {
        panic!("{store:?}");
    };
    let (writer, readers) = (writer.clone(), readers.clone());
    (store, writer, readers)
}

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
        data_bytes: 0,
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
        callback: None,
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
    let (_store, writer, readers) = opened(directory.path()).await;
    let mode = sqlx::query("PRAGMA journal_mode")
        .fetch_one(&writer)
        .await
        .unwrap();
    assert_eq!(mode.try_get::<String, _>(0).unwrap(), "wal");
    // 2 is FULL.
    assert_eq!(number(&writer, "PRAGMA synchronous").await, 2);
    assert_eq!(number(&writer, "PRAGMA foreign_keys").await, 1);
    assert_eq!(number(&writer, "PRAGMA busy_timeout").await, 5_000);
    let written = sqlx::query("DELETE FROM jobs").execute(&readers).await;
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
    let (store, ..) = opened(directory.path()).await;
    store.insert_job(&job(1), None).await.unwrap();
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
    let opened = open(&path).await;
    assert!(matches!(opened, Err(StoreError::Corrupt(_))), "{opened:?}");
    let opened = open(&directory.path().join("missing").join("db")).await;
    assert!(
        matches!(opened, Err(StoreError::Unavailable(_))),
        "{opened:?}"
    );
}

#[tokio::test]
async fn a_full_store_says_so_and_works_again_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let (store, writer, _) = opened(directory.path()).await;
    store.insert_job(&job(1), None).await.unwrap();
    let pages = number(&writer, "PRAGMA page_count").await;
    let limit = format!("PRAGMA max_page_count = {pages}");
    sqlx::query(sqlx::AssertSqlSafe(limit))
        .execute(&writer)
        .await
        .unwrap();
    let full = store.insert_job(&job(2), None).await;
    assert!(matches!(full, Err(StoreError::Full(_))), "{full:?}");
    let owner = Owner::anonymous();
    assert_eq!(store.job(&owner, job(2).id).await.unwrap(), None);
    assert!(store.job(&owner, job(1).id).await.unwrap().is_some());
    // Somebody makes room; where the connection went with the error, so did the limit.
    sqlx::query("PRAGMA max_page_count = 1000000")
        .execute(&writer)
        .await
        .unwrap();
    store.insert_job(&job(2), None).await.unwrap();
    assert!(store.job(&owner, job(2).id).await.unwrap().is_some());
}
