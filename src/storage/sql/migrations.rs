//! Bringing a schema forward.
//!
//! Migrations only go forward and are never changed once released: they are compared with what ran.

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migrate, Migration, MigrationType, Migrator};

use super::super::{Result, StoreError};

/// Version, description, statements. The newest last.
pub(in crate::storage) type Migrations = [(i64, &'static str, &'static str)];

/// Runs those of the migrations that have not run yet. The caller holds a transaction, and a lock
/// that keeps others from doing the same.
pub(in crate::storage) async fn apply(
    connection: &mut impl Migrate,
    migrations: &Migrations,
) -> Result<()> {
    let migrations = migrations
        .iter()
        .map(|&(version, description, statements)| {
            let kind = MigrationType::Simple;
            let statements = statements.into_sql_str();
            Migration::new(version, description.into(), kind, statements, false)
        });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    migrator.set_locking(false);
    migrator.run_direct(None, connection, false).await?;
    Ok(())
}

/// The newest version that ran, of a database where some have.
pub(in crate::storage) const NEWEST: &str =
    "SELECT COALESCE(MAX(version), 0) AS version FROM _sqlx_migrations";

/// The version of the schema that these migrations make.
pub(in crate::storage) fn supported(migrations: &Migrations) -> i64 {
    migrations.last().map_or(0, |&(version, ..)| version)
}

/// Refuses a schema that these migrations do not make.
pub(in crate::storage) fn refuse_newer(found: i64, migrations: &Migrations) -> Result<()> {
    let supported = supported(migrations);
    if found > supported {
        return Err(StoreError::Newer { found, supported });
    }
    Ok(())
}
