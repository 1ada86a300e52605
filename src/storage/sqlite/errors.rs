//! Classifies SQLite errors by their result codes.

use sqlx::error::DatabaseError;
use sqlx::sqlite::SqliteError;

use crate::storage::sql::errors::ErrorClass;

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
    /// Extended code: the shared-memory index of the log cannot grow.
    pub const IOERR_SHMSIZE: i32 = 4874;
    /// Extended code: no directory for temporary files.
    pub const IOERR_GETTEMPPATH: i32 = 6410;
}

/// The class of a database error.
pub(in crate::storage) fn class(error: &SqliteError) -> ErrorClass {
    let Some(code) = code_of(error) else {
        return ErrorClass::Other;
    };
    // The primary result code without the extension in its upper bytes.
    match code & 0xff {
        code::FULL => ErrorClass::Full,
        _ if code == code::IOERR_SHMSIZE => ErrorClass::Full,
        code::CORRUPT | code::NOTADB => ErrorClass::Corrupt,
        code::BUSY | code::LOCKED | code::READONLY | code::IOERR | code::CANTOPEN => {
            ErrorClass::Unavailable
        }
        _ => ErrorClass::Other,
    }
}

/// Whether SQLite has no directory for temporary files.
pub(in crate::storage) fn lacks_temporary_directory(error: &SqliteError) -> bool {
    code_of(error) == Some(code::IOERR_GETTEMPPATH)
}

fn code_of(error: &SqliteError) -> Option<i32> {
    error.code()?.parse().ok()
}
