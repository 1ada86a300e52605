//! Flips bits in blobs and rows, past the constraints and triggers that protect rows.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, SqliteConnection};

use super::store::{DamagedStore, Kind, Part, Thing};

pub trait Flips {
    async fn bits(&self, thing: &Thing) -> usize;

    /// Flips one bit. Returns whether the database accepted the value.
    async fn flip(&self, thing: &Thing, bit: usize) -> bool;
}

impl Flips for DamagedStore {
    async fn bits(&self, thing: &Thing) -> usize {
        match &thing.part {
            Part::Blob(_) => self.blob(thing).await.len() * 8,
            // Forty bits cover small numbers and some larger ones.
            Part::Column { kind, .. } if *kind == Kind::Number => 40,
            Part::Column { .. } => Row::of(self).await.read(thing).await.len() * 8,
        }
    }

    async fn flip(&self, thing: &Thing, bit: usize) -> bool {
        if thing.is_blob() {
            let mut bytes = self.blob(thing).await;
            bytes[bit / 8] ^= 1 << (bit % 8);
            self.replace_blob(thing, Some(bytes)).await;
            return true;
        }
        let mut row = Row::of(self).await;
        let mut bytes = row.read(thing).await;
        bytes[bit / 8] ^= 1 << (bit % 8);
        row.write(thing, bytes).await
    }
}

/// A connection to either database without foreign keys, constraints and triggers.
enum Row {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Row {
    async fn of(store: &DamagedStore) -> Self {
        match &store.database {
            None => {
                let options = SqliteConnectOptions::new().filename(store.database_file());
                let mut connection = options.foreign_keys(false).connect().await.unwrap();
                // A damaged disk obeys no constraints and triggers.
                sqlx::raw_sql(
                    "PRAGMA ignore_check_constraints = ON; DROP TRIGGER IF EXISTS sessions_moved; \
                     DROP TRIGGER IF EXISTS session_snapshots_replaced",
                )
                .execute(&mut connection)
                .await
                .unwrap();
                Self::Sqlite(connection)
            }
            Some(database) => {
                let mut connection = database.connect().await;
                let quietly = "SET session_replication_role = replica";
                sqlx::query(quietly).execute(&mut connection).await.unwrap();
                Self::Postgres(connection)
            }
        }
    }

    /// The bytes of a column. The bytes of a number are little-endian.
    async fn read(&mut self, thing: &Thing) -> Vec<u8> {
        let Part::Column {
            table,
            key,
            column,
            kind,
        } = &thing.part
        else {
            panic!("{thing:?} is no row");
        };
        let id = thing.id.clone();
        let cast = match (self.is_sqlite(), kind) {
            (_, Kind::Number) => format!("CAST({column} AS BIGINT)"),
            (true, _) => format!("CAST({column} AS BLOB)"),
            (false, Kind::Text) => format!("convert_to({column}, 'UTF8')"),
            (false, Kind::Bytes) => (*column).to_owned(),
        };
        let text = AssertSqlSafe(format!(
            "SELECT {cast} FROM {table} WHERE {key} = $1 LIMIT 1"
        ));
        macro_rules! read {
            ($connection:expr) => {
                if *kind == Kind::Number {
                    let number = sqlx::query_scalar(text).bind(id);
                    let number: i64 = number.fetch_one($connection).await.unwrap();
                    number.to_le_bytes().to_vec()
                } else {
                    let bytes = sqlx::query_scalar(text).bind(id);
                    bytes.fetch_one($connection).await.unwrap()
                }
            };
        }
        match self {
            Self::Sqlite(connection) => read!(connection),
            Self::Postgres(connection) => read!(connection),
        }
    }

    /// Writes the bytes of a column. Returns whether the database accepted them.
    async fn write(self, thing: &Thing, bytes: Vec<u8>) -> bool {
        let Part::Column {
            table,
            key,
            column,
            kind,
        } = &thing.part
        else {
            panic!("{thing:?} is no row");
        };
        let is_sqlite = self.is_sqlite();
        let value = match (is_sqlite, kind) {
            (true, Kind::Text) => "CAST($1 AS TEXT)",
            (false, Kind::Text) => "convert_from($1, 'UTF8')",
            _ => "$1",
        };
        // Several rows may have the same id. The update writes the row that was read.
        let rows = if is_sqlite {
            "rowid = (SELECT rowid"
        } else {
            "ctid = (SELECT ctid"
        };
        let rows = match *table {
            "model_digests" | "dataset_digests" => format!("{key} = $2"),
            _ => format!("{rows} FROM {table} WHERE {key} = $2 LIMIT 1)"),
        };
        let text = AssertSqlSafe(format!(
            "UPDATE {table} SET {column} = {value} WHERE {rows}"
        ));
        macro_rules! write {
            ($connection:expr) => {{
                let query = sqlx::query(text);
                let query = match kind {
                    Kind::Number => query.bind(i64::from_le_bytes(bytes.try_into().unwrap())),
                    _ => query.bind(bytes),
                };
                let done = query.bind(&thing.id).execute(&mut $connection).await;
                $connection.close().await.unwrap();
                done.is_ok_and(|done| done.rows_affected() == 1)
            }};
        }
        match self {
            Self::Sqlite(mut connection) => write!(connection),
            Self::Postgres(mut connection) => write!(connection),
        }
    }

    fn is_sqlite(&self) -> bool {
        matches!(self, Self::Sqlite(_))
    }
}
