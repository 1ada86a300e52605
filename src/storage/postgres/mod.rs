//! The shared database: PostgreSQL, for any number of processes on any number of machines.
//!
//! Replicas meet in the rows: a claim passes over what others hold locked, every write of a worker
//! is fenced by its lease, and leases run by the server's clock. Nothing here depends on a process
//! being alone.
//!
//! This file opens the store; its statements are in [`super::sql`].

mod connect;
pub(super) mod errors;
mod migrate;
pub(super) mod pulse;
mod url;

use super::Result;
use super::sql::SqlStore;
use super::sql::check::{CheckedStore, demand_schema};
use super::sql::database::Database;

pub use url::PostgresUrl;

/// Connects to a database that is there, and brings its schema up to date.
///
/// # Errors
/// Within a minute, [`StoreError::Newer`](super::StoreError::Newer) when a newer program wrote it;
/// `Unavailable` when the server cannot be reached, refuses the user or has no such database;
/// `Other` when the user may not make tables there, or the database's encoding is not UTF-8.
pub async fn open(url: &PostgresUrl) -> Result<SqlStore> {
    let options = connect::options(url);
    migrate::run(&options).await?;
    // The disk is the server's.
    Ok(SqlStore::new(
        Database::Postgres {
            pulse: connect::pulse(options.clone()),
            pool: connect::pool(options),
        },
        None,
    ))
}

/// Connects to a database read-only, without migrations.
///
/// # Errors
/// [`StoreError::Newer`](super::StoreError::Newer) or `Other` when the schema is not this program's;
/// those of the connection.
pub async fn open_to_check(url: &PostgresUrl) -> Result<CheckedStore> {
    let options = connect::options(url);
    let found = migrate::found(&options).await?;
    demand_schema(found, migrate::supported())?;
    Ok(CheckedStore {
        database: Database::Postgres {
            pulse: connect::pulse(options.clone()),
            pool: connect::pool(options),
        },
    })
}
