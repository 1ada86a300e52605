//! Classification of PostgreSQL errors by their `SQLSTATE`.

use sqlx::postgres::PgDatabaseError;

use crate::storage::sql::errors::Class;

/// The class of a database error.
pub(in crate::storage) fn class(error: &PgDatabaseError) -> Class {
    of_state(error.code())
}

/// Classifies by `SQLSTATE`, <https://www.postgresql.org/docs/current/errcodes-appendix.html>: five
/// characters, the first two of which are a class.
fn of_state(state: &str) -> Class {
    match state {
        // The disk is full.
        "53100" => Class::Full,
        // Damaged pages or indexes.
        "XX001" | "XX002" => Class::Corrupt,
        // A standby or a read-only server.
        "25006" => Class::Unavailable,
        // The transaction had failed already, or a timeout ended it.
        "25P02" | "25P03" | "25P04" => Class::Unavailable,
        // A deadlock or a conflict of transactions. The transaction was rolled back.
        "40001" | "40P01" => Class::Unavailable,
        // A lock was not available in time.
        "55P03" => Class::Unavailable,
        _ => match state.get(..2) {
            // In this order: connections; authorisation, because passwords are changed while services run; a
            // missing database; resources; an operator, including shutdowns, crashes, starts and statement
            // timeouts; errors of the operating system.
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
