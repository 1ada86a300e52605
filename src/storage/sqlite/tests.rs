//! Tests of properties that only SQLite has: its file and its settings.

use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Row, SqlitePool};

use super::open;
use crate::records::{Job, JobId, Owner, Timestamp};
use crate::storage::sql::database::Database;
use crate::storage::{CancelOutcome, DeleteOutcome, Store, StoreError};

/// A store in the directory, with its writing pool and its reading pool.
async fn opened(directory: &Path) -> (Store, SqlitePool, SqlitePool) {
    let store = open(&directory.join("db")).await.unwrap();
    let Database::Sqlite { writer, readers } = &store.database else {
        panic!("{store:?}");
    };
    let (writer, readers) = (writer.clone(), readers.clone());
    (store, writer, readers)
}

fn job(number: u8) -> Job {
    let at = Timestamp::from_milliseconds(1_700_000_000_000);
    Job::queued(
        JobId::new(at, [number; 10]),
        Owner::anonymous(),
        "train",
        serde_json::json!({ "filling": "x".repeat(100_000) }),
        0,
        at,
    )
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
async fn sqlite_file_of_another_program_is_refused_unchanged() {
    for statement in [
        "CREATE TABLE notes (text TEXT)",
        "CREATE TABLE jobs (id TEXT)",
        "CREATE VIEW numbers AS SELECT 1",
        "CREATE TABLE _sqlx_migrations (version BIGINT, checksum BLOB); CREATE TABLE jobs (id TEXT)",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let made = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true);
        let writer = SqlitePool::connect_with(made).await.unwrap();
        sqlx::raw_sql(statement).execute(&writer).await.unwrap();
        let refused = open(&path).await;
        assert!(matches!(refused, Err(StoreError::Foreign)), "{refused:?}");
        let things = "SELECT COUNT(*) FROM sqlite_schema";
        let expected = statement.matches("CREATE").count() as i64;
        assert_eq!(number(&writer, things).await, expected);
    }
}

#[tokio::test]
async fn sqlite_commits_are_durable_and_readers_read_only() {
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
async fn sqlite_files_are_accessible_to_their_owner_only() {
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
async fn sqlite_reports_a_file_of_another_kind_as_corrupt() {
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
async fn full_sqlite_store_works_again_when_there_is_room() {
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
    assert_eq!(store.find(&owner, job(2).id).await.unwrap(), None);
    assert!(store.find(&owner, job(1).id).await.unwrap().is_some());
    // The disk has space again. If the error closed the connection, the limit is gone as well.
    sqlx::query("PRAGMA max_page_count = 1000000")
        .execute(&writer)
        .await
        .unwrap();
    store.insert_job(&job(2), None).await.unwrap();
    assert!(store.find(&owner, job(2).id).await.unwrap().is_some());
}

#[tokio::test]
async fn sqlite_without_its_reserve_accepts_only_what_frees_room() {
    let directory = tempfile::tempdir().unwrap();
    let (store, ..) = opened(directory.path()).await;
    let owner = Owner::anonymous();
    let now = Timestamp::from_milliseconds(1_700_000_000_001);
    store.insert_job(&job(1), None).await.unwrap();
    let reserve = directory.path().join("db-reserve");
    let file = std::fs::File::options().write(true).open(&reserve).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 16 << 20);
    // Another process releases the reserve. Its lock keeps others from restoring the file.
    file.lock().unwrap();
    file.set_len(0).unwrap();
    let full = store.insert_job(&job(2), None).await;
    assert!(matches!(full, Err(StoreError::Full(_))), "{full:?}");
    let full = store.ensure_space().await;
    assert!(matches!(full, Err(StoreError::Full(_))), "{full:?}");
    assert!(store.find(&owner, job(1).id).await.unwrap().is_some());
    let cancelled = store.cancel_job(&owner, job(1).id, now).await.unwrap();
    assert!(
        matches!(cancelled, CancelOutcome::Cancelled(_)),
        "{cancelled:?}"
    );
    let deleted = store.delete_job(&owner, job(1).id).await.unwrap();
    assert_eq!(deleted, DeleteOutcome::Deleted { data_key: None });
}

#[tokio::test]
async fn sqlite_reuses_the_room_of_deleted_rows() {
    let directory = tempfile::tempdir().unwrap();
    let (store, ..) = opened(directory.path()).await;
    let owner = Owner::anonymous();
    let now = Timestamp::from_milliseconds(1_700_000_000_001);
    for number in 0..50 {
        store.insert_job(&job(number), None).await.unwrap();
    }
    for number in 0..50 {
        store.cancel_job(&owner, job(number).id, now).await.unwrap();
        store.delete_job(&owner, job(number).id).await.unwrap();
    }
    let reserve = directory.path().join("db-reserve");
    let file = std::fs::File::options().write(true).open(&reserve).unwrap();
    file.lock().unwrap();
    file.set_len(0).unwrap();
    store.insert_job(&job(51), None).await.unwrap();
    let full = store.ensure_space().await;
    assert!(matches!(full, Err(StoreError::Full(_))), "{full:?}");
}
