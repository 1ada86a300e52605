//! Whether the server can be reached at all, asked when a statement takes its time.
//!
//! A statement may take seconds for good reasons: it waits for a lock, it writes megabytes, the server
//! is busy. A network that swallows it looks the same. A bound on statements cannot be right for both,
//! so another connection, which nobody else uses, asks what needs no time at all.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection, PgPool};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

/// What a statement takes before anybody asks, and then between two questions.
const SLOW: Duration = Duration::from_millis(300);

/// How long the server may take to answer, the new connection that it may need included. With
/// [`SLOW`] and a waiter's next look, less than the two seconds within which clients are told of a
/// database that is away.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(800);

/// The connection that asks.
#[derive(Clone, Debug)]
pub(in crate::storage) struct Pulse {
    pool: PgPool,
    /// When the server answered last. Held by whoever asks.
    answered_at: Arc<Mutex<Option<Instant>>>,
}

impl Pulse {
    /// Asks by a pool of one connection.
    pub(super) fn of(pool: PgPool) -> Self {
        Self {
            pool,
            answered_at: Arc::default(),
        }
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

    /// One answer is enough for all who wait for one, however many statements take their time at
    /// once: in turns the last of them would wait longer than a server may take that is only busy.
    async fn ask(&self) -> sqlx::Result<()> {
        let asked_at = Instant::now();
        let mut answered_at = self.answered_at.lock().await;
        if answered_at.is_some_and(|answered_at| answered_at >= asked_at) {
            return Ok(());
        }
        self.pool.acquire().await?.ping().await?;
        *answered_at = Some(Instant::now());
        Ok(())
    }

    /// Ends the connection.
    pub(in crate::storage) async fn close(&self) {
        self.pool.close().await;
    }
}
