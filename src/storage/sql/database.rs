//! The common interface to both databases: connections, transactions, statements and rows.
//!
//! A statement is a text with values, and a row returns its columns by name. Apart from the words in [`WORDS`], both
//! databases get the same texts. Every statement has a timeout: see [`bounded`].

use std::borrow::Cow;
use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::BoxFuture;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Decode, PgPool, Postgres, Sqlite, SqlitePool, Type};
use tokio::time::Instant;

use super::super::error::Result;
use super::super::error::StoreError;
use super::super::postgres::connect::admitted;
use super::super::postgres::pulse::Pulse;

/// Maximum time of a statement while the database answers. With PostgreSQL, the wait for a connection has a
/// shorter limit of its own.
pub(in crate::storage) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a server may take to close its connections.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The words that differ between the databases: the placeholder, the word of SQLite and the word of
/// PostgreSQL.
///
/// Leases use the clock of the database. A SQLite transaction holds the write lock from its beginning, so the
/// rows that it has read cannot change. In PostgreSQL a transaction locks a row on reading if later
/// statements rely on the row.
const WORDS: [(&str, &str, &str); 7] = [
    (
        "{now}",
        "unixepoch('subsec')",
        "EXTRACT(EPOCH FROM clock_timestamp())::float8",
    ),
    ("{for update}", "", "FOR UPDATE"),
    // Locks against a deletion or an exclusive lock, but not against an update.
    ("{for key share}", "", "FOR KEY SHARE"),
    ("{for share}", "", "FOR SHARE"),
    ("{for update, skip locked}", "", "FOR UPDATE SKIP LOCKED"),
    // The position of a text in another text, from 1. 0 if absent.
    ("{position}", "instr", "strpos"),
    // Maximum number of concurrent transactions of all processes.
    (
        "{connections}",
        "1",
        "current_setting('max_connections')::int8",
    ),
];

/// The connections to a database.
#[derive(Debug)]
pub enum Database {
    /// One connection writes and several read.
    Sqlite {
        writer: SqlitePool,
        readers: SqlitePool,
    },
    Postgres {
        pool: PgPool,
        pulse: Pulse,
    },
}

impl Database {
    /// Begins a transaction that may write.
    pub(super) fn begin(&self) -> BoxFuture<'_, Result<Transaction>> {
        bounded("begin", self.pulse(), async move {
            Ok(match self {
                Self::Sqlite { writer, .. } => {
                    Transaction::Sqlite(writer.begin_with("BEGIN IMMEDIATE").await?)
                }
                Self::Postgres { pool, pulse } => {
                    Transaction::Postgres(admitted(|| pool.begin()).await?, pulse.clone())
                }
            })
        })
    }

    /// Begins a transaction that reads the state of one moment.
    pub(super) fn begin_reading(&self) -> BoxFuture<'_, Result<Transaction>> {
        bounded("begin", self.pulse(), async move {
            Ok(match self {
                Self::Sqlite { readers, .. } => Transaction::Sqlite(readers.begin().await?),
                Self::Postgres { pool, pulse } => {
                    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                    let begun = admitted(|| pool.begin_with(begin)).await?;
                    Transaction::Postgres(begun, pulse.clone())
                }
            })
        })
    }

    /// All rows that a statement reads.
    pub(super) fn all(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>>> {
        self.each(statement, Ok)
    }

    /// The values that `take` makes from the rows that a statement reads. Few rows are in memory at once.
    pub(super) fn each<'a, T: Send + 'a>(
        &'a self,
        statement: Statement,
        mut take: impl FnMut(Row) -> Result<T> + Send + 'a,
    ) -> BoxFuture<'a, Result<Vec<T>>> {
        bounded("read", self.pulse(), async move {
            #[cfg(test)]
            super::faults::meet(&statement.text)?;
            let mut taken = Vec::new();
            match self {
                Self::Sqlite { readers, .. } => {
                    let mut rows = statement.for_sqlite().fetch(readers);
                    while let Some(row) = rows.try_next().await? {
                        taken.push(take(Row::Sqlite(row))?);
                    }
                }
                Self::Postgres { pool, .. } => {
                    let mut connection = admitted(|| pool.acquire()).await?;
                    let mut rows = statement.for_postgres().fetch(&mut *connection);
                    while let Some(row) = rows.try_next().await? {
                        taken.push(take(Row::Postgres(row))?);
                    }
                }
            }
            Ok(taken)
        })
    }

    /// The row that a statement reads, if any.
    pub(super) async fn optional(&self, statement: Statement) -> Result<Option<Row>> {
        Ok(self.all(statement).await?.pop())
    }

    /// The row of a statement that always reads one.
    pub(super) async fn one(&self, statement: Statement) -> Result<Row> {
        self.optional(statement).await?.ok_or_else(no_row)
    }

    /// Closes all connections.
    pub(super) async fn close(&self) {
        match self {
            Self::Sqlite { writer, readers } => {
                // The writer closes last, because the last connection to close copies the log into the file.
                readers.close().await;
                writer.close().await;
            }
            Self::Postgres { pool, pulse } => {
                // An unreachable server does not confirm the close.
                let closed = async { tokio::join!(pool.close(), pulse.close()) };
                let _ = tokio::time::timeout(CLOSE_TIMEOUT, closed).await;
            }
        }
    }

    fn pulse(&self) -> Option<Pulse> {
        match self {
            Self::Sqlite { .. } => None,
            Self::Postgres { pulse, .. } => Some(pulse.clone()),
        }
    }
}

/// A transaction, rolled back if it is dropped without a commit.
pub enum Transaction {
    Sqlite(sqlx::Transaction<'static, Sqlite>),
    Postgres(sqlx::Transaction<'static, Postgres>, Pulse),
}

impl Transaction {
    /// All rows that a statement reads or returns.
    pub fn all(&mut self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>>> {
        bounded("statement", self.pulse(), async move {
            #[cfg(test)]
            super::faults::meet(&statement.text)?;
            Ok(match self {
                Self::Sqlite(transaction) => {
                    let found = statement.for_sqlite().fetch_all(&mut **transaction).await?;
                    found.into_iter().map(Row::Sqlite).collect()
                }
                Self::Postgres(transaction, _) => {
                    let found = statement.for_postgres();
                    let found = found.fetch_all(&mut **transaction).await?;
                    found.into_iter().map(Row::Postgres).collect()
                }
            })
        })
    }

    /// The row that a statement reads or returns, if any.
    pub async fn optional(&mut self, statement: Statement) -> Result<Option<Row>> {
        Ok(self.all(statement).await?.pop())
    }

    /// The row of a statement that always returns one.
    pub async fn one(&mut self, statement: Statement) -> Result<Row> {
        self.optional(statement).await?.ok_or_else(no_row)
    }

    /// Runs a statement and returns the number of written rows.
    pub fn execute(&mut self, statement: Statement) -> BoxFuture<'_, Result<u64>> {
        bounded("statement", self.pulse(), async move {
            #[cfg(test)]
            super::faults::meet(&statement.text)?;
            Ok(match self {
                Self::Sqlite(transaction) => {
                    let done = statement.for_sqlite().execute(&mut **transaction).await?;
                    done.rows_affected()
                }
                Self::Postgres(transaction, _) => {
                    let done = statement.for_postgres();
                    done.execute(&mut **transaction).await?.rows_affected()
                }
            })
        })
    }

    /// Whether no other transaction writes during this transaction.
    pub fn writes_alone(&self) -> bool {
        matches!(self, Self::Sqlite(_))
    }

    /// Commits the transaction durably.
    pub fn commit(self) -> BoxFuture<'static, Result<()>> {
        bounded("commit", self.pulse(), async move {
            match self {
                Self::Sqlite(transaction) => transaction.commit().await?,
                Self::Postgres(transaction, _) => transaction.commit().await?,
            }
            #[cfg(test)]
            super::faults::answer_commit()?;
            Ok(())
        })
    }

    fn pulse(&self) -> Option<Pulse> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(_, pulse) => Some(pulse.clone()),
        }
    }
}

fn no_row() -> StoreError {
    StoreError::other(sqlx::Error::RowNotFound)
}

/// Runs `work` with a timeout. Returns `Unavailable` after [`STATEMENT_TIMEOUT`], or earlier if the server
/// stops answering, because a network may lose a request or its answer without an error. Unfinished work is
/// then rolled back.
///
/// The future is boxed, because the futures of the driver are large and every method of the store holds one.
fn bounded<'w, T: 'w>(
    operation: &'static str,
    pulse: Option<Pulse>,
    work: impl Future<Output = Result<T>> + Send + 'w,
) -> BoxFuture<'w, Result<T>> {
    let lost = async move {
        match pulse {
            Some(pulse) => pulse.lost().await,
            None => std::future::pending().await,
        }
    };
    Box::pin(async move {
        let begun = Instant::now();
        let outcome = tokio::select! {
            biased;
            outcome = tokio::time::timeout(STATEMENT_TIMEOUT, work) => {
                outcome.unwrap_or_else(|elapsed| Err(StoreError::unavailable(elapsed)))
            }
            () = lost => Err(StoreError::unavailable("the server no longer responds")),
        };
        let seconds = begun.elapsed().as_secs_f64();
        metrics::histogram!("halfspace_store_seconds", "operation" => operation).record(seconds);
        outcome
    })
}

/// A statement with its values.
pub struct Statement {
    text: Cow<'static, str>,
    values: Vec<SqlValue>,
}

/// A statement without values. The text is a literal, which proves to the compiler that it contains no foreign text.
pub(super) fn statement(text: &'static str) -> Statement {
    Statement {
        text: Cow::Borrowed(text),
        values: Vec::new(),
    }
}

impl Statement {
    /// Appends the value of the next parameter.
    pub fn bind(mut self, value: impl Into<SqlValue>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Puts another literal in place of a word in braces.
    pub fn with(mut self, word: &str, literal: &'static str) -> Self {
        self.text = Cow::Owned(self.text.replace(word, literal));
        self
    }

    /// An insert of several rows of one table, which have the same columns. The text ends with `tail`.
    pub fn insert(rows: impl IntoIterator<Item = NewRow>, tail: &'static str) -> Self {
        let mut text = String::new();
        let mut values = Vec::new();
        for row in rows {
            match values.is_empty() {
                true => {
                    let names: Vec<_> = row.columns.iter().map(|column| column.name).collect();
                    text = format!("INSERT INTO {} ({}) VALUES (", row.table, names.join(", "));
                }
                false => text.push_str(", ("),
            }
            for (place, column) in row.columns.into_iter().enumerate() {
                values.push(column.value);
                text.push_str(if place == 0 { "" } else { ", " });
                text.push_str(column.added_to);
                text.push_str(&format!("${}", values.len()));
            }
            text.push(')');
        }
        text.push_str(tail);
        Self {
            text: Cow::Owned(text),
            values,
        }
    }

    fn for_sqlite(self) -> sqlx::query::Query<'static, Sqlite, SqliteArguments> {
        let mut query = sqlx::query(AssertSqlSafe(self.text_with(|(_, sqlite, _)| sqlite)));
        for value in self.values {
            query = match value {
                SqlValue::Text(text) => query.bind(text),
                SqlValue::Number(number) => query.bind(number),
                SqlValue::Real(real) => query.bind(real),
                SqlValue::Flag(flag) => query.bind(flag),
                SqlValue::Bytes(bytes) => query.bind(bytes),
            };
        }
        query
    }

    fn for_postgres(self) -> sqlx::query::Query<'static, Postgres, PgArguments> {
        let mut query = sqlx::query(AssertSqlSafe(self.text_with(|(_, _, postgres)| postgres)));
        for value in self.values {
            query = match value {
                SqlValue::Text(text) => query.bind(text),
                SqlValue::Number(number) => query.bind(number),
                SqlValue::Real(real) => query.bind(real),
                SqlValue::Flag(flag) => query.bind(flag),
                SqlValue::Bytes(bytes) => query.bind(bytes),
            };
        }
        query
    }

    /// The text with the words of one database.
    fn text_with(
        &self,
        of_database: impl Fn(&(&'static str, &'static str, &'static str)) -> &'static str,
    ) -> String {
        let mut text = self.text.clone().into_owned();
        for word in WORDS.iter().filter(|_| self.text.contains('{')) {
            text = text.replace(word.0, of_database(word));
        }
        text
    }
}

/// A row to insert.
pub struct NewRow {
    table: &'static str,
    columns: Vec<NewColumn>,
}

struct NewColumn {
    name: &'static str,
    /// SQL before the value.
    added_to: &'static str,
    value: SqlValue,
}

impl NewRow {
    /// A row of these columns.
    pub fn of<const COLUMNS: usize>(
        table: &'static str,
        columns: [(&'static str, SqlValue); COLUMNS],
    ) -> Self {
        let column = |(name, value)| NewColumn {
            name,
            added_to: "",
            value,
        };
        Self {
            table,
            columns: columns.into_iter().map(column).collect(),
        }
    }

    /// Adds a column.
    pub fn and(mut self, name: &'static str, value: impl Into<SqlValue>) -> Self {
        self.columns.push(NewColumn {
            name,
            added_to: "",
            value: value.into(),
        });
        self
    }

    /// Adds a column with a time, in seconds from now by the clock of the database. Null without seconds.
    pub fn and_from_now(mut self, name: &'static str, seconds: Option<i64>) -> Self {
        self.columns.push(NewColumn {
            name,
            added_to: "{now} + ",
            value: seconds.into(),
        });
        self
    }

    /// The value of a column.
    pub fn value(&self, name: &str) -> Option<&SqlValue> {
        let column = self.columns.iter().find(|column| column.name == name);
        column.map(|column| &column.value)
    }
}

/// A value of a statement.
pub enum SqlValue {
    Text(Option<String>),
    Number(Option<i64>),
    Real(Option<f64>),
    Flag(bool),
    Bytes(Option<Vec<u8>>),
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<Option<&str>> for SqlValue {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

impl From<String> for SqlValue {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<Option<String>> for SqlValue {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for SqlValue {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<Option<i64>> for SqlValue {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for SqlValue {
    fn from(number: u32) -> Self {
        Self::Number(Some(number.into()))
    }
}

impl From<f64> for SqlValue {
    fn from(real: f64) -> Self {
        Self::Real(Some(real))
    }
}

impl From<Option<f64>> for SqlValue {
    fn from(real: Option<f64>) -> Self {
        Self::Real(real)
    }
}

impl From<bool> for SqlValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<&[u8]> for SqlValue {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(Some(bytes.to_owned()))
    }
}

impl From<Vec<u8>> for SqlValue {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(Some(bytes))
    }
}

impl From<Option<Vec<u8>>> for SqlValue {
    fn from(bytes: Option<Vec<u8>>) -> Self {
        Self::Bytes(bytes)
    }
}

/// A row that a statement reads or returns.
pub enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    /// The value of a column: `String`, `i64`, `f64`, `bool`, `Vec<u8>`, or an `Option` of one of these.
    pub fn get<T>(&self, column: &str) -> Result<T>
    where
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite>,
        T: for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        Ok(match self {
            Self::Sqlite(row) => sqlx::Row::try_get(row, column)?,
            Self::Postgres(row) => sqlx::Row::try_get(row, column)?,
        })
    }
}
