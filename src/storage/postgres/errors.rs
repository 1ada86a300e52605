//! Classifies PostgreSQL errors by their `SQLSTATE`.

use sqlx::postgres::PgDatabaseError;

use crate::storage::sql::errors::ErrorClass;

/// The class of a database error.
pub(in crate::storage) fn class(error: &PgDatabaseError) -> ErrorClass {
    of_state(error.code())
}

/// Classifies by `SQLSTATE`, <https://www.postgresql.org/docs/current/errcodes-appendix.html>: five
/// characters, the first two of which are a class.
fn of_state(state: &str) -> ErrorClass {
    match state {
        // The disk is full.
        "53100" => ErrorClass::Full,
        // Damaged pages or indexes.
        "XX001" | "XX002" => ErrorClass::Corrupt,
        // A standby or a read-only server.
        "25006" => ErrorClass::Unavailable,
        // The transaction had failed already, or a timeout ended it.
        "25P02" | "25P03" | "25P04" => ErrorClass::Unavailable,
        // A deadlock or a conflict of transactions. The transaction was rolled back.
        "40001" | "40P01" => ErrorClass::Unavailable,
        // A lock was not available in time.
        "55P03" => ErrorClass::Unavailable,
        _ => match state.get(..2) {
            // In this order: connections; authorisation, because passwords are changed while services run; a
            // missing database; resources; an operator, including shutdowns, crashes, starts and statement
            // timeouts; errors of the operating system.
            Some("08" | "28" | "3D" | "53" | "57" | "58") => ErrorClass::Unavailable,
            _ => ErrorClass::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgres_error_states_have_their_classes() {
        for (state, expected) in [
            ("53100", ErrorClass::Full),
            ("53300", ErrorClass::Unavailable),
            ("57P01", ErrorClass::Unavailable),
            ("57014", ErrorClass::Unavailable),
            ("40P01", ErrorClass::Unavailable),
            ("40001", ErrorClass::Unavailable),
            ("55P03", ErrorClass::Unavailable),
            ("08006", ErrorClass::Unavailable),
            ("25006", ErrorClass::Unavailable),
            ("XX001", ErrorClass::Corrupt),
            ("23505", ErrorClass::Other),
            ("42P01", ErrorClass::Other),
            ("", ErrorClass::Other),
        ] {
            assert_eq!(of_state(state), expected, "{state}");
        }
    }
}
