//! The schema of a SQLite file, and its migrations.

use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::{SqliteConnection, SqlitePool};

use crate::storage::error::Result;
use crate::storage::error::StoreError;
use crate::storage::sql::migrations;

/// How long all migrations may take, including the wait for other processes.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(60);

static MIGRATIONS: Migrator = sqlx_macros::migrate!("migrations/sqlite");

/// Runs all pending migrations under one write lock, so that no migration runs twice.
pub(super) async fn run(writer: &SqlitePool) -> Result<()> {
    let migrated = async {
        let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
        version(&mut transaction).await?;
        migrations::apply(&mut *transaction, &MIGRATIONS).await?;
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

/// The schema version. `None` if no migration ever ran.
///
/// # Errors
/// Those of [`migrations::version`], and [`StoreError::Foreign`] for a file with the tables of another program.
pub(super) async fn version(connection: &mut SqliteConnection) -> Result<Option<i64>> {
    let table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '_sqlx_migrations'";
    let table = sqlx::query(table).fetch_optional(&mut *connection).await?;
    let applied: Vec<migrations::Applied> = match table {
        Some(_) => {
            sqlx::query_as(migrations::APPLIED)
                .fetch_all(&mut *connection)
                .await?
        }
        None => Vec::new(),
    };
    if applied.is_empty() {
        let others = "SELECT 1 FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' AND name <> '_sqlx_migrations'";
        let others = sqlx::query(others).fetch_optional(&mut *connection).await?;
        return others.map_or(Ok(None), |_| Err(StoreError::Foreign));
    }
    migrations::version(&applied, &MIGRATIONS).map(Some)
}

#[cfg(test)]
mod tests {
    use sqlx::SqlSafeStr;
    use sqlx::migrate::{Migration, MigrationType};

    use super::*;
    use crate::records::{Job, JobId, Owner, Timestamp};
    use crate::storage::sqlite::{connect, open};

    /// The schema of a later program, which exists here alone.
    fn later() -> Migrator {
        let added = "ALTER TABLE jobs ADD COLUMN of_schema_2 INTEGER NOT NULL DEFAULT 7";
        let (name, kind) = ("a column".into(), MigrationType::Simple);
        let second = Migration::new(2, name, kind, added.into_sql_str(), false);
        let all = MIGRATIONS.iter().cloned().chain([second]);
        Migrator::with_migrations(all.collect())
    }

    #[tokio::test]
    async fn later_migration_keeps_rows_and_the_running_program() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let store = open(&path).await.unwrap();
        let (owner, at) = (Owner::anonymous(), Timestamp::from_milliseconds(1));
        let spec = serde_json::json!({});
        let job = Job::queued(JobId::new(at, [1; 10]), owner.clone(), "train", spec, 0, at);
        store.insert_job(&job, None).await.unwrap();
        let (writer, later) = (connect::writer(&path).await.unwrap(), later());
        let mut connection = writer.acquire().await.unwrap();
        let found = async |connection: &mut SqliteConnection| {
            let applied = sqlx::query_as(migrations::APPLIED).fetch_all(connection);
            migrations::version(&applied.await.unwrap(), &later).unwrap()
        };
        assert_eq!(found(&mut connection).await, 1);
        migrations::apply(&mut *connection, &later).await.unwrap();
        assert_eq!(found(&mut connection).await, 2);
        let added = sqlx::query_scalar("SELECT of_schema_2 FROM jobs");
        let added: i64 = added.fetch_one(&mut *connection).await.unwrap();
        assert_eq!(added, 7);
        assert_eq!(store.find(&owner, job.id).await.unwrap(), Some(job));
        let refused = open(&path).await;
        assert!(
            matches!(refused, Err(StoreError::Newer { found: 2, .. })),
            "{refused:?}"
        );
    }
}
