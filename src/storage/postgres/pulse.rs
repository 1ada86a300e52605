//! Whether the server can be reached at all, asked when a statement takes its time.
//!
//! A statement may take seconds for good reasons: it waits for a lock, it writes megabytes, the server
//! is busy. A network that swallows it looks the same. A bound on statements cannot be right for both,
//! so another connection, which nobody else uses, asks what needs no time at all.

use std::time::Duration;

use sqlx::{Connection, PgPool};
use tokio::time::{sleep, timeout};

/// What a statement takes before anybody asks, and then between two questions.
const SLOW: Duration = Duration::from_millis(300);

/// How long the server may take to answer, the new connection that it may need included. With
/// [`SLOW`] and a waiter's next look, less than the two seconds within which clients are told of a
/// database that is away.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(800);

/// The connection that asks.
#[derive(Clone, Debug)]
pub(in crate::storage) struct Pulse(PgPool);

impl Pulse {
    /// Asks by a pool of one connection.
    pub(super) fn of(pool: PgPool) -> Self {
        Self(pool)
    }

    /// Ends when the server does not answer. Who waits for something else meanwhile may then give
    /// it up.
    pub(in crate::storage) async fn lost(&self) {
        loop {
            sleep(SLOW).await;
            if !matches!(timeout(ANSWER_TIMEOUT, self.ask()).await, Ok(Ok(()))) {
                return;
            }
        }
    }

    async fn ask(&self) -> sqlx::Result<()> {
        self.0.acquire().await?.ping().await
    }

    /// Ends the connection.
    pub(in crate::storage) async fn close(&self) {
        self.0.close().await;
    }
}
