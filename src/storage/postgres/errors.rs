//! PostgreSQL's errors in the store's terms.

use sqlx::postgres::PgDatabaseError;

use crate::storage::sql::errors::Class;

/// What an error of the database comes to.
pub(in crate::storage) fn class(error: &PgDatabaseError) -> Class {
    of_state(error.code())
}

/// By `SQLSTATE`, <https://www.postgresql.org/docs/current/errcodes-appendix.html>: five
/// characters, the first two of which are a class.
fn of_state(state: &str) -> Class {
    match state {
        // The disk is full.
        "53100" => Class::Full,
        // Pages or indexes are not what they should be.
        "XX001" | "XX002" => Class::Corrupt,
        // A standby, or a server that was told only to read.
        "25006" => Class::Unavailable,
        // A transaction that stood still was ended.
        "25P02" | "25P03" | "25P04" => Class::Unavailable,
        // A deadlock, or a conflict of transactions: none of it was done.
        "40001" | "40P01" => Class::Unavailable,
        // A lock was not to be had in time.
        "55P03" => Class::Unavailable,
        _ => match state.get(..2) {
            // Connections, their authorisation (passwords are changed while services run), a
            // database that is gone, resources, and an operator: a shutdown, a crash, a start, a
            // statement that took too long; errors of the system below.
            Some("08" | "28" | "3D" | "53" | "57" | "58") => Class::Unavailable,
            _ => Class::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_told_apart() {
        for (state, expected) in [
            ("53100", Class::Full),
            ("53300", Class::Unavailable),
            ("57P01", Class::Unavailable),
            ("57014", Class::Unavailable),
            ("40P01", Class::Unavailable),
            ("40001", Class::Unavailable),
            ("55P03", Class::Unavailable),
            ("08006", Class::Unavailable),
            ("25006", Class::Unavailable),
            ("XX001", Class::Corrupt),
            ("23505", Class::Other),
            ("42P01", Class::Other),
            ("", Class::Other),
        ] {
            assert_eq!(of_state(state), expected, "{state}");
        }
    }
}
