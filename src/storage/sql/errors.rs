//! Converts the drivers' errors to [`StoreError`]. Each database classifies its own errors.

use sqlx::migrate::MigrateError;
use sqlx::postgres::PgDatabaseError;
use sqlx::sqlite::SqliteError;

use crate::storage::error::{StoreError, is_full};
use crate::storage::{postgres, sqlite};

/// Class of a database error, as the caller needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::storage) enum ErrorClass {
    Unavailable,
    Full,
    Corrupt,
    Other,
}

/// The remedy, because the message of SQLite names no directory.
const NO_TEMPORARY_DIRECTORY: &str = "SQLite has no directory for temporary files; set the environment variable \
                                      SQLITE_TMPDIR to a writable directory, such as that of --data-dir";

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let of_sqlite = error.as_database_error();
        let of_sqlite = of_sqlite.and_then(|error| error.try_downcast_ref::<SqliteError>());
        if of_sqlite.is_some_and(sqlite::errors::lacks_temporary_directory) {
            return Self::unavailable(NO_TEMPORARY_DIRECTORY);
        }
        match class(&error) {
            ErrorClass::Unavailable => Self::Unavailable(error.into()),
            ErrorClass::Full => Self::Full(error.into()),
            ErrorClass::Corrupt => Self::Corrupt(error.into()),
            ErrorClass::Other => Self::Other(error.into()),
        }
    }
}

fn class(error: &sqlx::Error) -> ErrorClass {
    use sqlx::Error as E;
    if is_full(error) {
        return ErrorClass::Full;
    }
    match error {
        E::Database(database) => {
            if let Some(error) = database.try_downcast_ref::<SqliteError>() {
                sqlite::errors::class(error)
            } else if let Some(error) = database.try_downcast_ref::<PgDatabaseError>() {
                postgres::errors::class(error)
            } else {
                ErrorClass::Other
            }
        }
        // A broken connection may truncate an answer and so violate the protocol.
        E::Io(_)
        | E::Tls(_)
        | E::Protocol(_)
        | E::PoolTimedOut
        | E::PoolClosed
        | E::WorkerCrashed
        | E::BeginFailed => ErrorClass::Unavailable,
        E::ColumnDecode { .. } | E::Decode(_) => ErrorClass::Corrupt,
        _ => ErrorClass::Other,
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
            // A migration was changed after it ran, or ran only in part. The schema is not the one that its
            // version states.
            MigrateError::VersionMismatch(_)
            | MigrateError::VersionMissing(_)
            | MigrateError::Dirty(_) => Self::Corrupt(error.into()),
            _ => Self::Other(error.into()),
        }
    }
}
