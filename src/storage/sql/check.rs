//! Statements that read the records of all owners to find damage. They read one record at a time and write nothing,
//! so they can run beside a serving process.

use super::super::error::Result;
use super::super::error::StoreError;
use super::database::{Database, statement};
use super::jobs::TRACE;
use super::stored::{Checked, Stored, StoredTable, select};
use super::{KINDS, idempotency};
use crate::records::id::Id;

/// Maximum number of ids per query.
pub const IDS_MAX: usize = 500;

/// Maximum number of reported faults.
const FAULTS_MAX: usize = 1_000;

/// The rows that belong to a thing of some kind and have a digest of their own.
static PARTS: [StoredTable; 3] = [
    StoredTable {
        things: "traces",
        noun: "trace",
        table: "traces",
        key: "job",
        check: |database, job| Box::pin(trace(database, job)),
    },
    StoredTable {
        things: "checkpoints",
        noun: "checkpoint",
        table: "checkpoints",
        key: "job",
        check: |database, job| Box::pin(checkpoint(database, job)),
    },
    // The answers of idempotency keys, by the ids of the created things. The answer of a deleted dataset is never
    // repeated.
    StoredTable {
        things: "answers of idempotency keys",
        noun: "answer",
        table: "(SELECT thing FROM idempotency_keys JOIN datasets ON datasets.id = thing \
                WHERE answer IS NOT NULL) AS answers",
        key: "thing",
        check: |database, thing| Box::pin(answer(database, thing)),
    },
];

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

    /// The checked tables, in the order of the check.
    pub fn tables(&self) -> impl Iterator<Item = &'static StoredTable> {
        KINDS.iter().chain(&PARTS)
    }

    /// At most [`IDS_MAX`] ids of a table after a given id, in order.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn ids_after(&self, table: &StoredTable, after: &str) -> Result<Vec<String>> {
        let text = "SELECT {key} AS id FROM {table} WHERE {key} > $1 ORDER BY {key} LIMIT $2";
        self.ids(text, table, after).await
    }

    /// At most [`IDS_MAX`] ids of a table before a given id, in reverse order.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn ids_before(&self, table: &StoredTable, before: &str) -> Result<Vec<String>> {
        let text = "SELECT {key} AS id FROM {table} WHERE {key} < $1 ORDER BY {key} DESC LIMIT $2";
        self.ids(text, table, before).await
    }

    async fn ids(
        &self,
        text: &'static str,
        table: &StoredTable,
        from: &str,
    ) -> Result<Vec<String>> {
        let select = statement(text)
            .with("{key}", table.key)
            .with("{table}", table.table);
        let select = select.bind(from).bind(IDS_MAX as i64);
        let found = self.database.all(select).await?;
        found.iter().map(|row| row.get("id")).collect()
    }

    /// Reads a row of a table and compares its digests. `None` if the row is gone.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the row is damaged; other errors of the store.
    pub async fn check(&self, table: &StoredTable, id: &str) -> Result<Option<Checked>> {
        (table.check)(&self.database, id).await
    }

    /// A thing of any owner.
    ///
    /// # Errors
    /// Those of [`Self::check`].
    pub async fn find<K: Stored>(&self, id: Id<K>) -> Result<Option<K::Thing>> {
        let select = select::<K>(" WHERE id = $1").bind(id.to_string());
        let row = self.database.optional(select).await?;
        row.as_ref().map(K::thing).transpose()
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

    /// Closes all connections.
    pub async fn close(&self) {
        self.database.close().await;
    }
}

async fn trace(database: &Database, job: &str) -> Result<Option<Checked>> {
    let select = "SELECT job, body, digest FROM traces WHERE job = $1";
    let Some(row) = database.optional(statement(select).bind(job)).await? else {
        return Ok(None);
    };
    TRACE
        .check(&row, "digest")
        .map(|()| Some(Checked::default()))
}

async fn checkpoint(database: &Database, job: &str) -> Result<Option<Checked>> {
    let select = "SELECT body, program FROM checkpoints WHERE job = $1";
    let Some(row) = database.optional(statement(select).bind(job)).await? else {
        return Ok(None);
    };
    Ok(Some(Checked {
        checkpoint: Some((row.get("body")?, row.get("program")?)),
        ..Checked::default()
    }))
}

async fn answer(database: &Database, thing: &str) -> Result<Option<Checked>> {
    let select = "SELECT key, thing, answer FROM idempotency_keys WHERE thing = $1";
    let Some(row) = database.optional(statement(select).bind(thing)).await? else {
        return Ok(None);
    };
    idempotency::answer(&row).map(|_| Some(Checked::default()))
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
