//! The SQLite statements of a backup: a copy of the database as of one moment, and the blobs that its rows name.
//!
//! Each function opens its own connection, because the backup and the server are different processes.

use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};

use super::super::error::Result;
use super::super::error::StoreError;
use super::migrate;

/// Keys of the needed blobs: those of datasets and of jobs that have not ended.
const DATA_KEYS: &str = "SELECT data_key FROM jobs \
     WHERE data_key IS NOT NULL AND finished_at IS NULL \
     UNION ALL SELECT data_key FROM datasets";

/// A copied database that no other process has open.
pub(in crate::storage) struct DatabaseCopy {
    connection: SqliteConnection,
}

/// Copies the state of one moment to the empty file `to`, while other processes may write `from`. The log of `from`
/// grows meanwhile, because SQLite does not shorten it during a read.
///
/// # Errors
/// [`StoreError::Full`] when the disk has no space for the copy; errors of `from`.
pub(in crate::storage) async fn copy(from: &Path, to: &Path) -> Result<()> {
    let to = to
        .to_str()
        .ok_or_else(|| StoreError::other("the path of the copy must be UTF-8 for SQLite"))?;
    let mut source = open_to_read(from).await?;
    sqlx::query("VACUUM INTO $1")
        .bind(to)
        .execute(&mut source)
        .await?;
    Ok(source.close().await?)
}

/// The schema version. `None` if the database is not a store.
pub(in crate::storage) async fn schema_version(database: &Path) -> Result<Option<i64>> {
    let mut connection = open_to_read(database).await?;
    let version = migrate::version(&mut connection).await?;
    connection.close().await?;
    Ok(version)
}

/// The newest schema version that this program knows.
pub(in crate::storage) fn supported_version() -> i64 {
    migrate::supported()
}

/// Whether a row needs the blob now.
pub(in crate::storage) async fn names(database: &Path, key: &str) -> Result<bool> {
    let mut connection = open_to_read(database).await?;
    let found = sqlx::query(
        "SELECT 1 FROM jobs WHERE data_key = $1 AND finished_at IS NULL \
         UNION ALL SELECT 1 FROM datasets WHERE data_key = $1 LIMIT 1",
    )
    .bind(key)
    .fetch_optional(&mut connection)
    .await?;
    connection.close().await?;
    Ok(found.is_some())
}

async fn open_to_read(database: &Path) -> Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(database);
    Ok(options.read_only(true).connect().await?)
}

impl DatabaseCopy {
    /// Opens a copy.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub(in crate::storage) async fn open(database: &Path) -> Result<Self> {
        let options = SqliteConnectOptions::new().filename(database);
        let connection = options.foreign_keys(true).connect().await?;
        Ok(Self { connection })
    }

    /// The keys of all blobs that the rows need.
    pub(in crate::storage) async fn data_keys(&mut self) -> Result<Vec<String>> {
        let rows = sqlx::query(DATA_KEYS)
            .fetch_all(&mut self.connection)
            .await?;
        let keys = rows.iter().map(|row| Ok(row.try_get("data_key")?));
        keys.collect()
    }

    /// Deletes the job or dataset that needs a blob, and the unfinished jobs that read that dataset. Returns the
    /// number of deleted rows.
    pub(in crate::storage) async fn remove_rows_of(&mut self, key: &str) -> Result<u64> {
        let mut transaction = self.connection.begin().await?;
        let mut removed = 0;
        for statement in [
            "DELETE FROM jobs WHERE parent IN \
             (SELECT id FROM jobs WHERE data_key = $1 AND finished_at IS NULL)",
            "DELETE FROM jobs WHERE data_key = $1 AND finished_at IS NULL",
            "DELETE FROM jobs WHERE finished_at IS NULL \
             AND dataset IN (SELECT id FROM datasets WHERE data_key = $1)",
            "DELETE FROM datasets WHERE data_key = $1",
        ] {
            let done = sqlx::query(statement).bind(key);
            removed += done.execute(&mut *transaction).await?.rows_affected();
        }
        transaction.commit().await?;
        Ok(removed)
    }

    /// Closes the connection.
    pub(in crate::storage) async fn close(self) -> Result<()> {
        Ok(self.connection.close().await?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::connect;
    use super::*;

    /// A dataset, a queued job with its own data, an ended job, and a queued job that reads the dataset.
    const ROWS: &str = "
        INSERT INTO datasets (id, owner, n, kind, value_kind, zero_bit_value, examples, class_examples,
            duplicates, sha256, bytes, data_key, created_at)
        VALUES ('ds_1', 'anonymous', 3, 'labelled', 'boolean', 0, 2, '[1,1]', 0, 'ab', 9, 'datasets/1', 1);
        INSERT INTO jobs (id, owner, task, status, data_key, dataset, seed, attempt, priority,
            created_at, finished_at, progress, cancel_requested, event_sequence, spec, level,
            expected_seconds, memory_bytes, spec_schema, digest)
        VALUES
            ('job_1', 'anonymous', 'train', 'queued', 'jobs/1', NULL, 7, 0, 0, 1, NULL, '{}', 0, 1, '{}',
                0, 1, 0, 1, x''),
            ('job_2', 'anonymous', 'train', 'cancelled', 'jobs/2', 'ds_1', 7, 0, 0, 1, 2, '{}', 0, 1, '{}',
                0, 1, 0, 1, x''),
            ('job_3', 'anonymous', 'train', 'queued', NULL, 'ds_1', 7, 0, 0, 1, NULL, '{}', 0, 1, '{}',
                0, 1, 0, 1, x'');
        INSERT INTO events (job, sequence, owner, kind, body, at)
        VALUES ('job_1', 1, 'anonymous', 'status', '{}', 1);";

    async fn run(database: &Path, statements: &'static str) {
        let options = SqliteConnectOptions::new().filename(database);
        let mut connection = options.connect().await.unwrap();
        sqlx::raw_sql(statements)
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
    }

    async fn jobs(copy: &mut DatabaseCopy) -> Vec<String> {
        let rows = sqlx::query("SELECT id FROM jobs ORDER BY id");
        let rows = rows.fetch_all(&mut copy.connection).await.unwrap();
        rows.iter().map(|row| row.get("id")).collect()
    }

    #[tokio::test]
    async fn backup_copy_removes_the_rows_that_need_a_lost_blob() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        let _opening = connect::lock_for_opening(from.clone()).await.unwrap();
        let writer = connect::writer(&from).await.unwrap();
        migrate::run(&writer).await.unwrap();
        run(&from, ROWS).await;
        std::fs::write(&to, b"").unwrap();
        copy(&from, &to).await.unwrap();
        assert_eq!(
            schema_version(&to).await.unwrap(),
            Some(supported_version())
        );
        let mut database = DatabaseCopy::open(&to).await.unwrap();
        let mut keys = database.data_keys().await.unwrap();
        keys.sort();
        assert_eq!(keys, ["datasets/1", "jobs/1"]);
        assert!(names(&from, "datasets/1").await.unwrap());
        assert!(names(&from, "jobs/1").await.unwrap());
        assert!(!names(&from, "jobs/2").await.unwrap());
        run(
            &from,
            "UPDATE jobs SET status = 'cancelled', finished_at = 3 WHERE id = 'job_1'",
        )
        .await;
        assert!(!names(&from, "jobs/1").await.unwrap());
        assert_eq!(database.remove_rows_of("jobs/1").await.unwrap(), 1);
        assert_eq!(jobs(&mut database).await, ["job_2", "job_3"]);
        assert_eq!(database.remove_rows_of("datasets/1").await.unwrap(), 2);
        assert_eq!(jobs(&mut database).await, ["job_2"]);
        assert_eq!(database.data_keys().await.unwrap(), [""; 0]);
        let events = sqlx::query("SELECT 1 FROM events");
        let events = events.fetch_all(&mut database.connection).await.unwrap();
        assert!(events.is_empty());
        database.close().await.unwrap();
        writer.close().await;
    }

    #[tokio::test]
    async fn schema_version_of_an_empty_or_foreign_file_is_none_or_corrupt() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        std::fs::write(&path, b"").unwrap();
        assert_eq!(schema_version(&path).await.unwrap(), None);
        std::fs::write(&path, "no database ".repeat(1_000)).unwrap();
        let version = schema_version(&path).await;
        assert!(
            matches!(version, Err(StoreError::Corrupt(_))),
            "{version:?}"
        );
        assert!(
            schema_version(&directory.path().join("none"))
                .await
                .is_err()
        );
    }
}
