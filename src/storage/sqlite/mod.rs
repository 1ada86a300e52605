//! The embedded database: one SQLite file.
//!
//! Write-ahead log, `synchronous=FULL` (a commit is on disk when it is acknowledged), one
//! connection that writes, four that read. Every writer begins with `BEGIN IMMEDIATE`: a deferred
//! transaction that turns writer fails at once with a stale snapshot, whatever the timeout. Several
//! processes may open one file on one machine.
//!
//! This file opens the store; its statements are in [`super::sql`].

pub(super) mod backup;
mod connect;
pub(super) mod errors;
mod migrate;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::reserve::Reserve;
use super::sql::SqlStore;
use super::sql::check::{CheckedStore, demand_schema};
use super::sql::database::Database;
use super::{Result, StoreError};

/// Opens the store in the file `path`, makes it when there is none, and brings its schema up to
/// date.
///
/// # Errors
/// [`StoreError::Newer`] when a newer program wrote it; `Corrupt` when it
/// is no such store; `Unavailable` or `Full` when the file cannot be opened or written.
pub async fn open(path: &Path) -> Result<SqlStore> {
    let reserve = Reserve::beside(path);
    let mut opened = open_database(path).await;
    // To open it takes a little room.
    if matches!(opened, Err(StoreError::Full(_))) && reserve.give_up() {
        opened = open_database(path).await;
    }
    let database = opened?;
    reserve.make();
    Ok(SqlStore::new(database, Some(reserve)))
}

/// Opens the store in the file `path` read-only, damaged or not.
///
/// # Errors
/// [`StoreError::Newer`] or `Other` when the schema is not this program's; those of the file.
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
    // Held until the schema is there: of two that turn on the write-ahead log at once, one fails
    // without waiting.
    let _opening = connect::lock_for_opening(path.to_owned()).await?;
    let writer = connect::writer(path).await?;
    migrate::run(&writer).await?;
    let readers = connect::readers(path);
    Ok(Database::Sqlite { writer, readers })
}
