//! Statements that read the records of all owners to find damage. They read one record at a time and write
//! nothing, so they can run beside a serving process.

use super::super::error::Result;
use super::super::error::StoreError;
use super::database::{Database, Row, statement};
use super::digests::{LOG_ENTRY, SNAPSHOT, TRACE};
use super::rows::{dataset_columns, job_columns, model_columns, session_columns};
use super::{idempotency, rows, sessions};
use crate::records::session::SessionRecord;
use crate::records::{Dataset, Job};

/// Maximum number of ids per query.
pub const IDS_MAX: usize = 500;

/// Maximum number of reported faults.
const FAULTS_MAX: usize = 1_000;

/// The checked tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckedTable {
    Datasets,
    Models,
    Sessions,
    Jobs,
    Traces,
    Checkpoints,
    /// The answers of idempotency keys, identified by the ids of the created things.
    Answers,
}

impl CheckedTable {
    /// All tables in the order of the check.
    pub const ALL: [Self; 7] = [
        Self::Datasets,
        Self::Models,
        Self::Sessions,
        Self::Jobs,
        Self::Traces,
        Self::Checkpoints,
        Self::Answers,
    ];

    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Datasets => "datasets",
            Self::Models => "models",
            Self::Sessions => "sessions",
            Self::Jobs => "jobs",
            Self::Traces => "traces",
            Self::Checkpoints => "checkpoints",
            Self::Answers => "answers of idempotency keys",
        }
    }

    /// Two statements: one reads the ids after an id, the other reads the ids before an id backwards.
    fn ids(self) -> [&'static str; 2] {
        macro_rules! ids {
            ($id:literal, $table:literal) => {
                [
                    ids!($id, $table, " > $1 ORDER BY ", ""),
                    ids!($id, $table, " < $1 ORDER BY ", " DESC"),
                ]
            };
            ($id:literal, $table:literal, $bound:literal, $order:literal) => {
                concat!(
                    "SELECT ",
                    $id,
                    " AS id FROM ",
                    $table,
                    " WHERE ",
                    $id,
                    $bound,
                    $id,
                    $order,
                    " LIMIT $2"
                )
            };
        }
        match self {
            Self::Datasets => ids!("id", "datasets"),
            Self::Models => ids!("id", "models"),
            Self::Sessions => ids!("id", "sessions"),
            Self::Jobs => ids!("id", "jobs"),
            Self::Traces => ids!("job", "traces"),
            Self::Checkpoints => ids!("job", "checkpoints"),
            // The answer of a deleted dataset is never repeated.
            Self::Answers => ids!(
                "thing",
                "(SELECT thing FROM idempotency_keys JOIN datasets ON datasets.id = thing \
                 WHERE answer IS NOT NULL) AS answers"
            ),
        }
    }
}

/// A session with the position of the snapshot and the log.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedSession {
    pub record: SessionRecord,
    /// The position of the snapshot, if any.
    pub snapshot: Option<u64>,
    /// The position and the packed examples of each log entry.
    pub log: Vec<(u64, Vec<u8>)>,
}

/// A store that is opened read-only.
pub struct CheckedStore {
    pub(in crate::storage) database: Database,
}

impl CheckedStore {
    /// Whether the database is a file of this machine.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        matches!(self.database, Database::Sqlite { .. })
    }

    /// The faults that SQLite's own `integrity_check` finds. Always empty for PostgreSQL.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn faults(&self) -> Result<Vec<String>> {
        let Database::Sqlite { readers, .. } = &self.database else {
            return Ok(Vec::new());
        };
        // This query has no timeout, because the check reads every page.
        let found = sqlx::query_scalar("PRAGMA integrity_check(1000)");
        let found: Vec<String> = found.fetch_all(readers).await?;
        let faults = found.into_iter().filter(|line| line != "ok");
        Ok(faults.take(FAULTS_MAX).collect())
    }

    /// The name of the database, if any.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn name(&self) -> Result<Option<String>> {
        let found = self
            .database
            .optional(statement("SELECT name FROM identity"));
        found.await?.map(|row| row.get("name")).transpose()
    }

    /// At most [`IDS_MAX`] ids of a table after a given id, in order.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn ids_after(&self, table: CheckedTable, after: &str) -> Result<Vec<String>> {
        self.ids(table.ids()[0], after).await
    }

    /// At most [`IDS_MAX`] ids of a table before a given id, in reverse order.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn ids_before(&self, table: CheckedTable, before: &str) -> Result<Vec<String>> {
        self.ids(table.ids()[1], before).await
    }

    async fn ids(&self, text: &'static str, from: &str) -> Result<Vec<String>> {
        let select = statement(text).bind(from).bind(IDS_MAX as i64);
        let found = self.database.all(select).await?;
        found.iter().map(|row| row.get("id")).collect()
    }

    /// The ids of digests whose model or dataset does not exist.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn digests_of_nothing(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for text in [
            "SELECT model AS id FROM model_digests WHERE NOT EXISTS \
             (SELECT 1 FROM models WHERE models.id = model_digests.model) LIMIT $1",
            "SELECT dataset AS id FROM dataset_digests WHERE NOT EXISTS \
             (SELECT 1 FROM datasets WHERE datasets.id = dataset_digests.dataset) LIMIT $1",
        ] {
            let select = statement(text).bind(FAULTS_MAX as i64);
            for row in self.database.all(select).await? {
                all.push(row.get("id")?);
            }
        }
        Ok(all)
    }

    /// A model.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the row is damaged; other errors of the store.
    pub async fn model(&self, id: &str) -> Result<Option<()>> {
        let select = concat!(
            "SELECT ",
            model_columns!(),
            ", document FROM models WHERE id = $1"
        );
        let found = self.one(select, id).await?;
        found.map(|row| rows::model(&row).map(drop)).transpose()
    }

    /// A dataset.
    ///
    /// # Errors
    /// Those of [`Self::model`].
    pub async fn dataset(&self, id: &str) -> Result<Option<Dataset>> {
        let select = concat!(
            "SELECT ",
            dataset_columns!(),
            ", features, classes, encoding FROM datasets WHERE id = $1"
        );
        let found = self.one(select, id).await?;
        found.map(|row| rows::dataset(&row)).transpose()
    }

    /// A job.
    ///
    /// # Errors
    /// Those of [`Self::model`].
    pub async fn job(&self, id: &str) -> Result<Option<Job>> {
        let select = concat!("SELECT ", job_columns!(), " FROM jobs WHERE id = $1");
        let found = self.one(select, id).await?;
        found.map(|row| rows::job(&row)).transpose()
    }

    /// The trace of a job.
    ///
    /// # Errors
    /// Those of [`Self::model`].
    pub async fn trace(&self, job: &str) -> Result<Option<()>> {
        let select = "SELECT job, body, digest FROM traces WHERE job = $1";
        let found = self.one(select, job).await?;
        found.map(|row| TRACE.check(&row, "digest")).transpose()
    }

    /// The checkpoint of a job, and the version of the program that wrote it.
    ///
    /// # Errors
    /// Those of [`Self::model`].
    pub async fn checkpoint(&self, job: &str) -> Result<Option<(Vec<u8>, String)>> {
        let select = "SELECT body, program FROM checkpoints WHERE job = $1";
        let found = self.one(select, job).await?;
        let read = found.map(|row| Ok((row.get("body")?, row.get("program")?)));
        read.transpose()
    }

    /// The stored answer of the idempotency key that created a thing.
    ///
    /// # Errors
    /// Those of [`Self::model`].
    pub async fn answer(&self, thing: &str) -> Result<Option<()>> {
        let select = "SELECT key, thing, answer FROM idempotency_keys WHERE thing = $1";
        let Some(row) = self.one(select, thing).await? else {
            return Ok(None);
        };
        idempotency::answer(&row).map(|_| Some(()))
    }

    /// A session with its snapshot and its log as of one moment.
    ///
    /// # Errors
    /// Those of [`Self::model`].
    pub async fn session(&self, id: &str) -> Result<Option<CheckedSession>> {
        let mut transaction = self.database.begin_reading().await?;
        let select = concat!(
            "SELECT ",
            session_columns!(),
            " FROM sessions WHERE id = $1"
        );
        let Some(found) = transaction.optional(statement(select).bind(id)).await? else {
            return Ok(None);
        };
        let select = statement(sessions::SELECT_SNAPSHOT).bind(id);
        let snapshot = transaction.optional(select).await?;
        let log = transaction
            .all(statement(sessions::SELECT_LOG).bind(id))
            .await?;
        transaction.commit().await?;
        let record = sessions::record(&found)?;
        let mut session = CheckedSession {
            record,
            snapshot: None,
            log: Vec::with_capacity(log.len()),
        };
        if let Some(row) = &snapshot {
            SNAPSHOT.check(row, "digest")?;
            session.snapshot = Some(rows::unsigned(row, "position")?);
        }
        for row in &log {
            LOG_ENTRY.check(row, "digest")?;
            let position = rows::unsigned(row, "position")?;
            session.log.push((position, row.get("examples")?));
        }
        Ok(Some(session))
    }

    async fn one(&self, text: &'static str, id: &str) -> Result<Option<Row>> {
        self.database.optional(statement(text).bind(id)).await
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.database.close().await;
    }
}

/// Refuses an older schema version than this program's version.
pub(in crate::storage) fn demand_schema(found: i64, supported: i64) -> Result<()> {
    if found == supported {
        return Ok(());
    }
    Err(StoreError::other(format!(
        "the store has schema version {found}, but this program has {supported}; run `halfspace \
         migrate` first, or serve the store"
    )))
}
