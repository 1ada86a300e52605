//! Probes whether the server can be reached while a statement is slow.
//!
//! A statement may take seconds for good reasons: it waits for a lock, writes megabytes, or the server is busy. If
//! the network has dropped it, that looks just the same, so no single timeout of statements fits both cases. We
//! therefore send pings over a connection that serves nothing else, and a reachable server answers those at once.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgPool};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

use super::connect::{admitted, pool_of};

/// Time before the first ping of a slow statement, and between two pings.
const SLOW: Duration = Duration::from_millis(300);

/// How long the server may take to answer a ping, including the time to open a connection. Together with
/// [`SLOW`] and a waiting caller's next check, this is below the two seconds within which clients learn that
/// the database is unavailable.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(800);

/// The connection that sends the pings.
#[derive(Clone, Debug)]
pub struct Pulse {
    pool: PgPool,
    /// Time of the last answer. The pinging caller holds the lock.
    answered_at: Arc<Mutex<Option<Instant>>>,
}

impl Pulse {
    /// Pings by a connection of its own.
    pub(super) fn of(options: PgConnectOptions) -> Self {
        Self {
            pool: pool_of(1, options),
            answered_at: Arc::default(),
        }
    }

    /// Returns when the server does not answer. The caller may then abandon its slow statement.
    pub(in crate::storage) async fn lost(&self) {
        loop {
            sleep(SLOW).await;
            if !matches!(timeout(ANSWER_TIMEOUT, self.ask()).await, Ok(Ok(()))) {
                return;
            }
        }
    }

    /// Sends a ping unless the server has answered since this call. One answer serves all waiting callers. If
    /// each caller sent its own ping in sequence, the last caller would wait longer than a busy server may
    /// take.
    async fn ask(&self) -> sqlx::Result<()> {
        let asked_at = Instant::now();
        let mut answered_at = self.answered_at.lock().await;
        if answered_at.is_some_and(|answered_at| answered_at >= asked_at) {
            return Ok(());
        }
        let mut connection = admitted(|| self.pool.acquire()).await?;
        connection.ping().await?;
        *answered_at = Some(Instant::now());
        Ok(())
    }

    /// Closes the connection.
    pub(in crate::storage) async fn close(&self) {
        self.pool.close().await;
    }
}
