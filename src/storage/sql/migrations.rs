//! Migrations of a schema, for both databases.
//!
//! Migrations only go forward. A released migration never changes, because it is compared with the migration
//! that ran.

use sqlx::migrate::{Migrate, Migrator};

use super::super::{Result, StoreError};

/// Runs the migrations that have not run yet, at most up to the version `last`. The caller holds a
/// transaction, and a lock against concurrent migrations.
pub(in crate::storage) async fn apply(
    connection: &mut impl Migrate,
    migrations: &Migrator,
    last: Option<i64>,
) -> Result<()> {
    let mut migrator = Migrator::with_migrations(migrations.iter().cloned().collect());
    migrator.set_locking(false);
    migrator.run_direct(last, connection, false).await?;
    Ok(())
}

/// Selects the newest version that ran. The table of migrations must exist.
pub(in crate::storage) const NEWEST: &str =
    "SELECT COALESCE(MAX(version), 0) AS version FROM _sqlx_migrations";

/// The schema version after all of these migrations.
pub(in crate::storage) fn supported(migrations: &Migrator) -> i64 {
    migrations.iter().last().map_or(0, |last| last.version)
}

/// Refuses a schema that is newer than these migrations.
pub(in crate::storage) fn refuse_newer(found: i64, migrations: &Migrator) -> Result<()> {
    let supported = supported(migrations);
    if found > supported {
        return Err(StoreError::Newer { found, supported });
    }
    Ok(())
}
