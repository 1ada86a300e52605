//! The schema of a PostgreSQL database, and its migrations.

use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection, Row};

use crate::storage::error::Result;
use crate::storage::error::StoreError;
use crate::storage::sql::migrations;

static MIGRATIONS: Migrator = sqlx_macros::migrate!("migrations/postgres");

/// How long the server may take to answer at the start.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long all migrations may take. The wait for another migrating process takes at most half of this time.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(60);

/// Migrations may take longer than the statements of requests.
const SESSION: [(&str, &str); 2] = [("statement_timeout", "60s"), ("lock_timeout", "30s")];

/// The lock of the migrating transaction. The locks of owners use another number.
const LOCK: &str = "SELECT pg_advisory_xact_lock(2, 0)";

/// Runs all pending migrations in one transaction under one lock, so that no migration runs twice.
pub(super) async fn run(options: &PgConnectOptions) -> Result<()> {
    let mut connection = connect(options).await?;
    let migrated = async {
        demand_utf8(&mut connection).await?;
        let mut transaction = connection.begin().await?;
        sqlx::query(LOCK).execute(&mut *transaction).await?;
        version(&mut transaction).await?;
        migrations::apply(&mut *transaction, &MIGRATIONS).await?;
        transaction.commit().await?;
        connection.close().await?;
        Ok(())
    };
    match tokio::time::timeout(MIGRATION_TIMEOUT, migrated).await {
        Ok(outcome) => outcome,
        Err(elapsed) => Err(StoreError::unavailable(elapsed)),
    }
}

async fn connect(options: &PgConnectOptions) -> Result<PgConnection> {
    let options = options.clone().options(SESSION);
    match tokio::time::timeout(CONNECT_TIMEOUT, options.connect()).await {
        Ok(connected) => Ok(connected?),
        Err(_) => {
            let seconds = CONNECT_TIMEOUT.as_secs();
            let late = format!("the server does not respond within {seconds} seconds");
            Err(StoreError::unavailable(late))
        }
    }
}

/// The present schema version.
pub(super) async fn found(options: &PgConnectOptions) -> Result<i64> {
    let mut connection = connect(options).await?;
    let found = version(&mut connection).await?;
    connection.close().await?;
    Ok(found)
}

/// The newest schema version that this program knows.
pub(super) fn supported() -> i64 {
    migrations::supported(&MIGRATIONS)
}

/// Refuses a database whose encoding cannot hold every text.
async fn demand_utf8(connection: &mut PgConnection) -> Result<()> {
    let encoding = sqlx::query("SHOW server_encoding").fetch_one(connection);
    let encoding: String = encoding.await?.try_get(0)?;
    if encoding == "UTF8" {
        return Ok(());
    }
    Err(StoreError::other(format!(
        "the encoding of the database is {encoding}, but must be UTF8"
    )))
}

/// The schema version; 0 in a new database.
///
/// # Errors
/// Those of [`migrations::version`], and [`StoreError::Foreign`] beside a table of another program with a name of ours.
async fn version(connection: &mut PgConnection) -> Result<i64> {
    let table = "SELECT to_regclass('_sqlx_migrations') IS NOT NULL";
    let table = sqlx::query(table).fetch_one(&mut *connection).await?;
    if !table.try_get::<bool, _>(0)? {
        let foreign = sqlx::query("SELECT to_regclass('jobs') IS NOT NULL");
        let foreign = foreign.fetch_one(&mut *connection).await?;
        return match foreign.try_get::<bool, _>(0)? {
            true => Err(StoreError::Foreign),
            false => Ok(0),
        };
    }
    let applied = sqlx::query_as(migrations::APPLIED).fetch_all(connection);
    migrations::version(&applied.await?, &MIGRATIONS)
}
