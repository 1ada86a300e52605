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

use super::Result;
use super::sql::SqlStore;
use super::sql::database::Database;

/// Opens the store in the file `path`, makes it when there is none, and brings its schema up to
/// date.
///
/// # Errors
/// [`StoreError::Newer`](super::StoreError::Newer) when a newer program wrote it; `Corrupt` when it
/// is no such store; `Unavailable` or `Full` when the file cannot be opened or written.
pub async fn open(path: &Path) -> Result<SqlStore> {
    // Held until the schema is there: of two that turn on the write-ahead log at once, one fails
    // without waiting.
    let _opening = connect::lock_for_opening(path.to_owned()).await?;
    let writer = connect::writer(path).await?;
    migrate::run(&writer).await?;
    let readers = connect::readers(path);
    Ok(SqlStore::new(Database::Sqlite { writer, readers }))
}
