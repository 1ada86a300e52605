//! The schema, and bringing a file up to it.
//!
//! Migrations only go forward and are never changed once released: they are compared with what ran.

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{Row, SqlSafeStr, SqliteConnection, SqlitePool};

use super::super::{Result, StoreError};

/// Version, description, statements. The newest last.
const MIGRATIONS: [(i64, &str, &str); 1] = [(
    1,
    "jobs and models",
    include_str!("../../../migrations/sqlite/0001_jobs_and_models.sql"),
)];

/// Runs what has not run yet, all under one write lock, so that two processes never run one
/// migration twice.
pub(super) async fn run(writer: &SqlitePool) -> Result<()> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    refuse_newer(&mut transaction).await?;
    let migrations = MIGRATIONS.map(|(version, description, statements)| {
        let kind = MigrationType::Simple;
        Migration::new(
            version,
            description.into(),
            kind,
            statements.into_sql_str(),
            false,
        )
    });
    let migrator = Migrator::with_migrations(migrations.into());
    migrator.run_direct(None, &mut *transaction, false).await?;
    Ok(transaction.commit().await?)
}

async fn refuse_newer(connection: &mut SqliteConnection) -> Result<()> {
    let table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '_sqlx_migrations'";
    if sqlx::query(table)
        .fetch_optional(&mut *connection)
        .await?
        .is_none()
    {
        return Ok(());
    }
    let newest = "SELECT COALESCE(MAX(version), 0) AS version FROM _sqlx_migrations";
    let found: i64 = sqlx::query(newest)
        .fetch_one(connection)
        .await?
        .try_get("version")?;
    let supported = MIGRATIONS[MIGRATIONS.len() - 1].0;
    if found > supported {
        return Err(StoreError::Newer { found, supported });
    }
    Ok(())
}
