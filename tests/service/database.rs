//! A PostgreSQL database for one test, which is deleted afterwards.
//!
//! `scripts/with-postgres COMMAND` starts a server and passes its address to the tests. Without one, tests that need
//! it print a message and pass. With `HALFSPACE_TEST_BACKEND=postgres` every service inside a test process uses such
//! a database.

use std::sync::atomic::{AtomicU32, Ordering};

use halfspace::storage::PostgresUrl;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

use super::skipped;

const SERVER: &str = "HALFSPACE_TEST_POSTGRES";
const BACKEND: &str = "HALFSPACE_TEST_BACKEND";

/// An environment variable of the tests, which is no setting of the service.
#[expect(clippy::disallowed_methods)]
pub(super) fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A new database on the test server.
pub struct TestDatabase {
    server: String,
    name: String,
}

impl TestDatabase {
    /// An empty database, or `None` if there is no server.
    pub async fn new() -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let Some(server) = told(SERVER) else {
            skipped(format_args!(
                "no {SERVER}; scripts/with-postgres COMMAND starts a server"
            ));
            return None;
        };
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("it_{}_{number}", std::process::id());
        let database = Self { server, name };
        database.tell("CREATE DATABASE").await;
        Some(database)
    }

    /// A database for a service, if all services of this run use PostgreSQL.
    pub async fn if_told() -> Option<Self> {
        match told(BACKEND).as_deref() {
            None | Some("sqlite") => None,
            Some("postgres") => Self::new().await,
            Some(other) => panic!("{BACKEND} is {other}, not sqlite or postgres"),
        }
    }

    pub fn url(&self) -> String {
        self.server
            .replacen("/postgres?", &format!("/{}?", self.name), 1)
    }

    pub fn place(&self) -> PostgresUrl {
        PostgresUrl::parse(&self.url()).unwrap()
    }

    pub async fn connect(&self) -> sqlx::PgConnection {
        let options: PgConnectOptions = self.url().parse().unwrap();
        options.connect().await.unwrap()
    }

    /// URL of the database through a proxy on this machine.
    pub fn url_by(&self, proxy: std::net::SocketAddr) -> String {
        format!("postgres://postgres@{proxy}/{}", self.name)
    }

    /// Path of the server's socket.
    pub fn socket(&self) -> std::path::PathBuf {
        let options: PgConnectOptions = self.server.parse().unwrap();
        let directory = options.get_socket().unwrap();
        directory.join(format!(".s.PGSQL.{}", options.get_port()))
    }

    async fn tell(&self, what: &str) {
        let options: PgConnectOptions = self.server.parse().unwrap();
        let mut connection = options.connect().await.unwrap();
        let name = &self.name;
        let force = if what.starts_with("DROP") {
            " WITH (FORCE)"
        } else {
            ""
        };
        let statement = AssertSqlSafe(format!("{what} {name}{force}"));
        sqlx::query(statement)
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        std::thread::scope(|scope| {
            // The deletion needs a separate runtime, because the test's runtime may be shutting down.
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(self.tell("DROP DATABASE"));
            });
        });
    }
}
