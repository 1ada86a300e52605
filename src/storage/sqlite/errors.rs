//! Classification of SQLite errors by their result codes.

use sqlx::error::DatabaseError;
use sqlx::sqlite::SqliteError;

use crate::storage::sql::errors::Class;

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
}

/// The class of a database error.
pub(in crate::storage) fn class(error: &SqliteError) -> Class {
    let Some(code) = code_of(error) else {
        return Class::Other;
    };
    // The primary result code without the extension in its upper bytes.
    match code & 0xff {
        code::FULL => Class::Full,
        _ if code == code::IOERR_SHMSIZE => Class::Full,
        code::CORRUPT | code::NOTADB => Class::Corrupt,
        code::BUSY | code::LOCKED | code::READONLY | code::IOERR | code::CANTOPEN => {
            Class::Unavailable
        }
        _ => Class::Other,
    }
}

fn code_of(error: &SqliteError) -> Option<i32> {
    error.code()?.parse().ok()
}
