//! The connection pool of the PostgreSQL server, and the settings of each session.

use std::io;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool};
use tokio::time::{Instant, sleep};

use super::url::PostgresUrl;

/// Connections of one process. All statements of a process are short, so many requests share few connections
/// and many processes share one server.
const CONNECTIONS_MAX: u32 = 10;

/// How long a caller waits for a usable connection, including the time to open one. A server that does not
/// answer in this time counts as unavailable.
const ACQUIRE_TIMEOUT: Duration = Duration::from_millis(1_500);

/// The pause before another connection to a full socket.
const FULL_PAUSE: Duration = Duration::from_millis(20);

/// How long the rest of a dropped statement may occupy its connection.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Settings of every session, independent of the server's defaults.
///
/// Abandoned statements, transactions of a frozen process and connections without a peer hold locks. The
/// server ends all three by itself after these timeouts. The statements rely on one isolation level.
///
/// Every statement has an index in its own order and must use that index, even if the statistics suggest
/// otherwise. When ten thousand jobs arrive at once, the statistics are those of an empty queue. A claim that
/// sorted all of these jobs took 18 ms instead of 1 ms.
///
/// Notices say only that the table of the migrations exists already.
const SESSION: [(&str, &str); 13] = [
    ("client_min_messages", "warning"),
    ("statement_timeout", "9s"),
    ("lock_timeout", "5s"),
    ("idle_in_transaction_session_timeout", "3s"),
    ("default_transaction_isolation", "read committed"),
    ("tcp_keepalives_idle", "10"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "3"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_sort", "off"),
    ("plan_cache_mode", "force_generic_plan"),
    ("jit", "off"),
];

/// Acknowledged means on disk, even if the server's default differs. A stricter default stays, such as
/// waiting for a standby.
const DURABLE: &str = "SELECT set_config('synchronous_commit', 'on', false) \
     WHERE current_setting('synchronous_commit') = 'off'";

/// The options of a connection.
pub(super) fn options(url: &PostgresUrl) -> PgConnectOptions {
    let options = url.options().options(SESSION);
    match options.get_application_name() {
        Some(_) => options,
        None => options.application_name("halfspace"),
    }
}

/// The connection pool. Connections are opened on first use.
///
/// It has neither idle timeout nor lifetime, because sqlx 0.9's reaper of connections can spin. Each connection is
/// pinged before use, and again, with a timeout, when a caller is done or was dropped in the middle of a statement.
/// That ping either reads the remaining answer of the dropped statement, or the connection is closed.
pub(super) fn pool(options: PgConnectOptions) -> PgPool {
    pool_of(CONNECTIONS_MAX, options)
}

pub(super) fn pool_of(connections_max: u32, options: PgConnectOptions) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections_max)
        .min_connections(0)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(true)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .after_connect(|connection, _| Box::pin(make_durable(connection)))
        .after_release(|connection, _| Box::pin(is_left_clean(connection)))
        .connect_lazy_with(options)
}

/// Repeats a call that may open a connection while the socket of the server is full. Connecting to a full Unix socket
/// fails at once, whereas over TCP it waits.
pub(in crate::storage) async fn admitted<T, F>(mut call: impl FnMut() -> F) -> sqlx::Result<T>
where
    F: Future<Output = sqlx::Result<T>>,
{
    let deadline = Instant::now() + ACQUIRE_TIMEOUT;
    loop {
        match call().await {
            Err(sqlx::Error::Io(error))
                if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline =>
            {
                sleep(FULL_PAUSE).await;
            }
            answer => return answer,
        }
    }
}

async fn make_durable(connection: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query(DURABLE).execute(connection).await?;
    Ok(())
}

async fn is_left_clean(connection: &mut PgConnection) -> sqlx::Result<bool> {
    match tokio::time::timeout(RELEASE_TIMEOUT, connection.ping()).await {
        Ok(answered) => answered.map(|()| true),
        Err(elapsed) => Err(io::Error::new(io::ErrorKind::TimedOut, elapsed).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn postgres_connect_retries_a_full_socket_until_its_timeout() {
        let full = || Err(sqlx::Error::Io(io::ErrorKind::WouldBlock.into()));
        let mut calls = 0;
        let call = || {
            calls += 1;
            std::future::ready(if calls < 5 { full() } else { Ok(calls) })
        };
        assert_eq!(admitted(call).await.unwrap(), 5);
        let begun = Instant::now();
        let never = admitted(|| std::future::ready(full()));
        assert!(never.await.is_err());
        assert!(begun.elapsed() <= ACQUIRE_TIMEOUT + FULL_PAUSE);
        let refused = || std::future::ready(sqlx::Result::<()>::Err(sqlx::Error::PoolClosed));
        assert!(admitted(refused).await.is_err());
    }
}
