//! Migrations of a schema, for both databases.
//!
//! Migrations only go forward, and a released one never changes: a store is refused if a migration that ran there has
//! another digest here. Until the first release the only migration changes in place, so the stores of other
//! development versions are refused in the same way.

use sqlx::migrate::{Migrate, Migrator};

use super::super::error::Result;
use super::super::error::StoreError;

/// Runs the migrations that have not run yet. The caller holds a transaction, and a lock against concurrent migrations.
pub(in crate::storage) async fn apply(
    connection: &mut impl Migrate,
    migrations: &Migrator,
) -> Result<()> {
    let mut migrator = Migrator::with_migrations(migrations.iter().cloned().collect());
    migrator.set_locking(false);
    migrator.run_direct(None, connection, false).await?;
    Ok(())
}

/// Selects the migrations that ran and their digests. The table of migrations must exist.
pub(in crate::storage) const APPLIED: &str =
    "SELECT version, checksum FROM _sqlx_migrations ORDER BY version";

/// A migration that ran: its version and its digest.
pub(in crate::storage) type Applied = (i64, Vec<u8>);

/// The schema version after all of these migrations.
pub(in crate::storage) fn supported(migrations: &Migrator) -> i64 {
    migrations.iter().last().map_or(0, |last| last.version)
}

/// The schema version of a store in which these migrations ran; 0 in a new store.
///
/// # Errors
/// [`StoreError::OtherSchema`] if a migration that ran is not the one of this program; `Newer` if the schema is newer.
pub(in crate::storage) fn version(applied: &[Applied], migrations: &Migrator) -> Result<i64> {
    let supported = supported(migrations);
    let is_known = |(version, digest): &Applied| {
        let mut own = migrations.iter();
        *version > supported || own.any(|own| own.version == *version && *own.checksum == **digest)
    };
    if !applied.iter().all(is_known) {
        return Err(StoreError::OtherSchema);
    }
    let found = applied.last().map_or(0, |(version, _)| *version);
    if found > supported {
        return Err(StoreError::Newer { found, supported });
    }
    Ok(found)
}
