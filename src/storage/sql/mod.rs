//! The store over SQL: its statements and rows, for SQLite and PostgreSQL alike.
//!
//! Each statement is written once for both databases. What differs is elsewhere: a few words in `database.rs`, and
//! the connections, migrations and errors in [`super::sqlite`] and [`super::postgres`]. We choose between two
//! variants at a few places, because generics over the databases of the driver would put bounds on every function.
//!
//! The methods of [`Store`](store::Store) are in the files of their subjects, beside their statements. `KINDS` lists
//! the kinds of stored things, which `stored` treats alike.

mod api_keys;
mod callbacks;
pub mod check;
mod checkpoints;
mod claims;
pub(super) mod database;
mod datasets;
mod digests;
mod ends;
pub(super) mod errors;
mod events;
#[cfg(test)]
pub(crate) mod faults;
mod idempotency;
mod identity;
mod jobs;
pub(super) mod migrations;
mod models;
mod processes;
mod queue;
mod rows;
mod service_time;
mod sessions;
mod shares;
pub(super) mod store;
pub(super) mod stored;
mod subjobs;
#[cfg(test)]
mod tests;
mod usage;
mod waiting;

use self::stored::StoredTable;
use crate::records::id::{DatasetKind, JobKind, ModelKind, SessionKind};

/// The kinds of stored things, in the order of a check of the store.
pub(super) static KINDS: [StoredTable; 4] = [
    StoredTable::of::<DatasetKind>(),
    StoredTable::of::<ModelKind>(),
    StoredTable::of::<SessionKind>(),
    StoredTable::of::<JobKind>(),
];
