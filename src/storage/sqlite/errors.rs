//! The driver's errors in the store's terms.

use sqlx::migrate::MigrateError;
use sqlx::sqlite::SqliteError;

use crate::storage::StoreError;
use crate::storage::error::is_full;

/// Primary result codes of SQLite, <https://www.sqlite.org/rescode.html>.
mod code {
    pub const BUSY: i32 = 5;
    pub const LOCKED: i32 = 6;
    pub const READONLY: i32 = 8;
    pub const IOERR: i32 = 10;
    pub const CORRUPT: i32 = 11;
    pub const FULL: i32 = 13;
    pub const CANTOPEN: i32 = 14;
    pub const NOTADB: i32 = 26;
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        if is_full(&error) {
            return Self::Full(error.into());
        }
        match &error {
            E::Database(database) => match primary_code(database.as_ref()) {
                Some(code::FULL) => Self::Full(error.into()),
                Some(code::CORRUPT | code::NOTADB) => Self::Corrupt(error.into()),
                Some(code::BUSY | code::LOCKED | code::READONLY | code::IOERR | code::CANTOPEN) => {
                    Self::Unavailable(error.into())
                }
                _ => Self::Other(error.into()),
            },
            E::Io(_) | E::PoolTimedOut | E::PoolClosed | E::WorkerCrashed | E::BeginFailed => {
                Self::Unavailable(error.into())
            }
            E::ColumnDecode { .. } | E::Decode(_) => Self::Corrupt(error.into()),
            _ => Self::Other(error.into()),
        }
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
            // A migration that was changed after it ran, or half of one: the schema is not what it
            // is said to be.
            MigrateError::VersionMismatch(_)
            | MigrateError::VersionMissing(_)
            | MigrateError::Dirty(_) => Self::Corrupt(error.into()),
            _ => Self::Other(error.into()),
        }
    }
}

/// The result code without the extension in its upper bytes.
fn primary_code(error: &dyn sqlx::error::DatabaseError) -> Option<i32> {
    let error = error.try_downcast_ref::<SqliteError>()?;
    let code: i32 = sqlx::error::DatabaseError::code(error)?.parse().ok()?;
    Some(code & 0xff)
}
