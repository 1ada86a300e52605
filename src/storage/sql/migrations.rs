//! Migrations of a schema, for both databases.
//!
//! Migrations only go forward. A released migration never changes, because it is compared with the migration
//! that ran.

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migrate, Migration, MigrationType, Migrator};

use super::super::{Result, StoreError};

/// Version, description and statements of each migration. The newest comes last.
pub(in crate::storage) type Migrations = [(i64, &'static str, &'static str)];

/// Runs the migrations that have not run yet. The caller holds a transaction, and a lock against concurrent
/// migrations.
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

/// Selects the newest version that ran. The table of migrations must exist.
pub(in crate::storage) const NEWEST: &str =
    "SELECT COALESCE(MAX(version), 0) AS version FROM _sqlx_migrations";

/// The schema version after all of these migrations.
pub(in crate::storage) fn supported(migrations: &Migrations) -> i64 {
    migrations.last().map_or(0, |&(version, ..)| version)
}

/// Refuses a schema that is newer than these migrations.
pub(in crate::storage) fn refuse_newer(found: i64, migrations: &Migrations) -> Result<()> {
    let supported = supported(migrations);
    if found > supported {
        return Err(StoreError::Newer { found, supported });
    }
    Ok(())
}
