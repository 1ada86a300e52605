//! A connection of the test to the processes' database, of either kind.

use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, PgConnection, SqliteConnection};

use crate::service::TestDatabase;

pub enum Connection {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Connection {
    /// Connects to the embedded database of a data directory.
    pub async fn to_embedded(data_dir: &Path) -> Self {
        let options = SqliteConnectOptions::new().filename(data_dir.join("halfspace.sqlite"));
        Self::Sqlite(options.connect().await.unwrap())
    }

    pub async fn to_shared(database: &TestDatabase) -> Self {
        Self::Postgres(database.connect().await)
    }

    pub async fn run(&mut self, statement: &'static str) {
        let statement = sqlx::raw_sql(statement);
        match self {
            Self::Sqlite(connection) => statement.execute(connection).await.map(|_| ()),
            Self::Postgres(connection) => statement.execute(connection).await.map(|_| ()),
        }
        .unwrap();
    }
}
