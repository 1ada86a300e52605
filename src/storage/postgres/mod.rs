//! The shared database: PostgreSQL, for any number of processes on any number of machines.
//!
//! Replicas coordinate through the rows alone. A claim skips rows that other transactions have locked, every write of
//! a worker is fenced by its lease, and leases use the clock of the server. Nothing here assumes that a process is
//! alone.
//!
//! This file opens the store. The statements are in [`super::sql`].

pub(super) mod connect;
pub(super) mod errors;
mod migrate;
pub(super) mod pulse;
mod url;

use self::pulse::Pulse;
use super::error::Result;
use super::sql::check::{CheckedStore, demand_schema};
use super::sql::database::Database;
use super::sql::store::Store;

pub use url::PostgresUrl;

/// Connects to an existing database and migrates its schema.
///
/// # Errors
/// Returned within a minute: [`StoreError::Newer`](super::StoreError::Newer) when a newer program wrote the
/// database; `Unavailable` when the server cannot be reached, refuses the user or has no such database;
/// `Other` when the user may not create tables there, or the encoding of the database is not UTF-8.
pub async fn open(url: &PostgresUrl) -> Result<Store> {
    let options = connect::options(url);
    migrate::run(&options).await?;
    // The server owns the disk, so this process keeps no reserve.
    Ok(Store::new(
        Database::Postgres {
            pulse: Pulse::of(options.clone()),
            pool: connect::pool(options),
        },
        None,
    ))
}

/// Connects to a database read-only and without migrations.
///
/// # Errors
/// [`StoreError::Newer`](super::StoreError::Newer) or `Other` when the schema version is not that of this program;
/// errors of the connection.
pub async fn open_to_check(url: &PostgresUrl) -> Result<CheckedStore> {
    let options = connect::options(url);
    let found = migrate::found(&options).await?;
    demand_schema(found, migrate::supported())?;
    Ok(CheckedStore {
        database: Database::Postgres {
            pulse: Pulse::of(options.clone()),
            pool: connect::pool(options),
        },
    })
}
