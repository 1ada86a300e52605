//! The SQLite file, its connection pools and their settings.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, SqliteConnection, SqlitePool};

use super::super::error::Result;
use super::super::error::StoreError;
use crate::storage::data_dir::{at, private};
use crate::storage::sql::database::STATEMENT_TIMEOUT;

/// How long a statement waits for the write lock of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of connections that read.
const READERS_MAX: u32 = 4;

/// Creates the database file, readable by its owner only, and waits until no other process is opening it. The lock
/// ends when the returned file is dropped.
pub(super) async fn lock_for_opening(path: PathBuf) -> Result<File> {
    let locked = tokio::task::spawn_blocking(move || -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        // SQLite gives its log and its index the mode of the existing file.
        private(&mut options).open(&path).map_err(at(&path))?;
        let mut lock_path = path.into_os_string();
        lock_path.push("-opening");
        let lock = private(&mut options).open(lock_path)?;
        lock.lock()?;
        Ok(lock)
    });
    Ok(locked.await.map_err(StoreError::other)??)
}

/// The pool of the single writing connection.
pub(super) async fn writer(path: &Path) -> Result<SqlitePool> {
    let options = options(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let pool = pool(1).before_acquire(|connection, _| Box::pin(is_usable(connection)));
    Ok(pool.connect_with(options).await?)
}

/// Whether a connection has left its last transaction. Otherwise a new connection replaces it.
///
/// SQLite rolls back by itself when the disk is full, or when a read or write of the disk fails. The driver's
/// own `ROLLBACK` then fails too. The driver (sqlx 0.9.0) continues to count the transaction as open, and
/// every later `BEGIN IMMEDIATE` on that connection is refused. Without this check the store would never
/// write again.
async fn is_usable(connection: &mut SqliteConnection) -> sqlx::Result<bool> {
    if connection.is_in_transaction() {
        // The rollback of a dropped transaction may still be in progress. It is complete when the ping is
        // answered.
        connection.ping().await?;
    }
    Ok(!connection.is_in_transaction())
}

/// The pool of reading connections, which are opened on first use.
pub(super) fn readers(path: &Path) -> SqlitePool {
    pool(READERS_MAX).connect_lazy_with(options(path).read_only(true))
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .thread_name(|number| format!("sqlite-{number}"))
}

/// Neither idle timeout nor lifetime, because sqlx 0.9's reaper of connections can spin and a file needs
/// neither. No ping before use, because a file is always reachable.
fn pool(connections_max: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections_max)
        .min_connections(0)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .acquire_timeout(STATEMENT_TIMEOUT)
}
