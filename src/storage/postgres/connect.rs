//! Connections to the server, and how each of them is set.

use std::io;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool};

use super::pulse::Pulse;
use super::url::PostgresUrl;

/// Connections of one process. All of a process's statements are short, so that many requests share
/// few connections, and many processes one server.
const CONNECTIONS_MAX: u32 = 10;

/// How long a caller waits for a connection that answers, a new one if need be. A server that does
/// not answer by then counts as away.
const ACQUIRE_TIMEOUT: Duration = Duration::from_millis(1_500);

/// How long what a dropped statement left behind may keep its connection.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// What is set for every session, whatever the server's defaults are.
///
/// A statement that nobody waits for any more, a transaction whose process was frozen and a
/// connection whose other end is gone hold locks: the server ends them by itself. The statements
/// reckon with one isolation level.
///
/// Every statement has an index that is in its order, and is to use it whatever the statistics say:
/// when ten thousand jobs come at once they are those of an empty queue, and a claim that sorted
/// all of them took 18 ms instead of one.
const SESSION: [(&str, &str); 12] = [
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

/// Acknowledged means on disk, also where the server's default is otherwise. What waits for more
/// than the own disk, such as for a standby, stays.
const DURABLE: &str = "SELECT set_config('synchronous_commit', 'on', false) \
     WHERE current_setting('synchronous_commit') = 'off'";

/// How to connect.
pub(super) fn options(url: &PostgresUrl) -> PgConnectOptions {
    let options = url.options().options(SESSION);
    match options.get_application_name() {
        Some(_) => options,
        None => options.application_name("halfspace"),
    }
}

/// The connections, made when they are first needed.
///
/// Neither idle timeout nor lifetime: sqlx 0.9's reaper of connections can spin. A connection is
/// asked whether it still answers before it is used, and again, with a bound, when a caller is done
/// or has gone away in the middle: what is still to come of a dropped statement comes then, or the
/// connection is closed.
pub(super) fn pool(options: PgConnectOptions) -> PgPool {
    pool_of(CONNECTIONS_MAX, options)
}

/// Who asks whether the server can be reached.
pub(super) fn pulse(options: PgConnectOptions) -> Pulse {
    Pulse::of(pool_of(1, options))
}

fn pool_of(connections_max: u32, options: PgConnectOptions) -> PgPool {
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
