//! The embedded database: one SQLite file.
//!
//! The write-ahead log runs with `synchronous=FULL`, so a commit is on disk when it is acknowledged. One connection
//! writes and four read. Every writing transaction begins with `BEGIN IMMEDIATE`, because a deferred one that starts
//! to write fails at once on a stale snapshot, whatever the timeout is. Several processes of one machine may open the
//! same file.
//!
//! This file opens the store. The statements are in [`super::sql`].

pub(super) mod backup;
mod connect;
pub(super) mod errors;
mod migrate;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::reserve::Reserve;
use super::sql::check::{CheckedStore, demand_schema};
use super::sql::database::Database;
use super::sql::store::Store;
use super::{Result, StoreError};

/// Opens the store in the file `path`, which is created if missing, and migrates its schema.
///
/// # Errors
/// [`StoreError::Newer`] or `OtherSchema` when another version of the program wrote the file; `Corrupt` when the file
/// is not a store; `Unavailable` or `Full` when the file cannot be opened or written.
pub async fn open(path: &Path) -> Result<Store> {
    let reserve = Reserve::beside(path);
    let mut opened = open_database(path).await;
    // Opening a store needs a little disk space.
    if matches!(opened, Err(StoreError::Full(_))) && reserve.release() {
        opened = open_database(path).await;
    }
    let database = opened?;
    reserve.make();
    Ok(Store::new(database, Some(reserve)))
}

/// Opens the store in the file `path` read-only, even if it is damaged.
///
/// # Errors
/// [`StoreError::Newer`] or `Other` when the schema version is not that of this program; errors of the file.
pub async fn open_to_check(path: &Path) -> Result<CheckedStore> {
    let readers = connect::readers(path);
    let version = match readers.acquire().await {
        Ok(mut connection) => migrate::version(&mut connection).await,
        Err(error) => Err(error.into()),
    };
    demand_schema(version?.unwrap_or(0), migrate::supported())?;
    let writer = readers.clone();
    Ok(CheckedStore {
        database: Database::Sqlite { writer, readers },
    })
}

async fn open_database(path: &Path) -> Result<Database> {
    // Held until the schema exists. If two processes turn on the write-ahead log at once, one of them fails
    // without waiting.
    let _opening = connect::lock_for_opening(path.to_owned()).await?;
    let writer = connect::writer(path).await?;
    migrate::run(&writer).await?;
    let readers = connect::readers(path);
    Ok(Database::Sqlite { writer, readers })
}
