//! Statements of processes: their reports, and the list of those that have reported lately.
//!
//! All times use the clock of the database, because the clocks of processes may differ by days.

use super::super::error::Result;
use super::super::lease::WorkerId;
use super::super::terms::ProcessReport;
use super::database::{Row, Transaction, statement};
use super::rows;
use super::store::Store;
use crate::records::process::{Process, ProcessMemory, REVISION};

/// Maximum number of listed processes.
const PROCESSES_MAX: u32 = 1_000;

/// Whether a process has reported in the last minute. A clock that jumped back leaves reports of the future, which
/// live processes replace soon.
macro_rules! is_live {
    () => {
        "seen_at BETWEEN {now} - 60 AND {now} + 60"
    };
}

impl Store {
    /// Stores the report of a process, and deletes the reports of processes that are no longer alive.
    pub async fn report_process(&self, report: &ProcessReport<'_>) -> Result<()> {
        let memory = report.memory;
        self.with_reserve(|| async move {
            let mut transaction = self.database.begin().await?;
            let upsert = statement(
                "INSERT INTO processes (id, role, workers, version, revision, spec_schema, \
                 memory_bytes_max, memory_bytes_taken, memory_bytes_free, started_at, seen_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, {now} - $10, {now}) \
                 ON CONFLICT (id) DO UPDATE SET memory_bytes_taken = excluded.memory_bytes_taken, \
                 memory_bytes_free = excluded.memory_bytes_free, seen_at = excluded.seen_at",
            )
            .bind(report.worker.as_str())
            .bind(rows::word(&report.role)?)
            .bind(report.workers)
            .bind(env!("CARGO_PKG_VERSION"))
            .bind(REVISION)
            .bind(rows::SPEC_SCHEMA)
            .bind(rows::signed(memory.memory_bytes_max)?)
            .bind(rows::signed(memory.memory_bytes_taken)?)
            .bind(rows::signed(memory.memory_bytes_free)?)
            .bind(report.elapsed.as_secs_f64());
            transaction.execute(upsert).await?;
            transaction.execute(statement(FORGET_SILENT)).await?;
            transaction.commit().await
        })
        .await
    }

    /// Deletes the report of a process that stops.
    pub async fn forget_process(&self, worker: &WorkerId) -> Result<()> {
        self.with_reserve(|| async move {
            let mut transaction = self.database.begin().await?;
            let delete = statement("DELETE FROM processes WHERE id = $1").bind(worker.as_str());
            transaction.execute(delete).await?;
            transaction.commit().await
        })
        .await
    }

    /// The live processes with their jobs, in the order of their starts.
    pub async fn processes(&self) -> Result<Vec<Process>> {
        let select = statement(LIVE).bind(PROCESSES_MAX);
        let found = self.database.all(select).await?;
        found.iter().map(process).collect()
    }
}

/// Deletes the reports of all processes.
pub(super) async fn forget_all(transaction: &mut Transaction) -> Result<()> {
    let delete = statement("DELETE FROM processes");
    transaction.execute(delete).await.map(|_| ())
}

/// Skipped rows are locked by the process itself, which is alive, or by another deletion.
const FORGET_SILENT: &str = concat!(
    "DELETE FROM processes WHERE id IN (SELECT id FROM processes WHERE NOT (",
    is_live!(),
    ") {for update, skip locked})"
);

/// The live processes. Reports of the last 20 s are prompt, because a busy process may miss one report or two. The
/// second table counts the jobs under the leases of each process.
pub(super) const LIVE: &str = concat!(
    "SELECT id, role, workers, version, revision, spec_schema, memory_bytes_max, \
     memory_bytes_taken, memory_bytes_free, started_at, seen_at, \
     CAST(CASE WHEN seen_at > {now} - 20 THEN 1 ELSE 0 END AS BIGINT) AS is_prompt, \
     COALESCE(running, 0) AS running, COALESCE(parked, 0) AS parked, COALESCE(alone, 0) AS alone \
     FROM processes LEFT JOIN (SELECT lease_owner, \
     CAST(SUM(CASE WHEN parked = TRUE THEN 0 ELSE 1 END) AS BIGINT) AS running, \
     CAST(SUM(CASE WHEN parked = TRUE THEN 1 ELSE 0 END) AS BIGINT) AS parked, \
     CAST(SUM(CASE WHEN alone = TRUE THEN 1 ELSE 0 END) AS BIGINT) AS alone \
     FROM jobs WHERE status = 'running' GROUP BY lease_owner) AS held ON lease_owner = id WHERE ",
    is_live!(),
    " ORDER BY started_at, id LIMIT $1"
);

fn process(row: &Row) -> Result<Process> {
    Ok(Process {
        id: row.get("id")?,
        role: rows::from_word(row.get("role")?)?,
        workers: rows::small(row, "workers")?,
        running: rows::small(row, "running")?,
        parked: rows::small(row, "parked")?,
        alone: row.get::<i64>("alone")? > 0,
        version: row.get("version")?,
        revision: row.get("revision")?,
        spec_schema: rows::small(row, "spec_schema")?,
        memory: ProcessMemory {
            memory_bytes_max: rows::unsigned(row, "memory_bytes_max")?,
            memory_bytes_taken: rows::unsigned(row, "memory_bytes_taken")?,
            memory_bytes_free: rows::unsigned(row, "memory_bytes_free")?,
        },
        started_at: rows::moment(row.get("started_at")?),
        seen_at: rows::moment(row.get("seen_at")?),
        is_prompt: row.get::<i64>("is_prompt")? > 0,
    })
}
