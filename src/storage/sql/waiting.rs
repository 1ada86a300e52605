//! Statements that describe the queue to clients: the load of each owner, and the state of a waiting job. They write
//! nothing.

use super::super::error::Result;
use super::super::error::StoreError;
use super::claims::{FIRST_OF_OWNER, bytes};
use super::database::{Row, statement};
use super::rows;
use super::store::Store;
use crate::records::queue::{JobCounts, OwnerLoad, QueueLoad, WaitingJob};
use crate::records::{JobId, Owner};

impl Store {
    /// The load of the queue, with at most `owners_max` owners. `owner` is among them if it has jobs.
    pub async fn queue_load(&self, owner: &Owner, owners_max: u32) -> Result<QueueLoad> {
        let select = statement(LOAD).bind(owner.as_str()).bind(owners_max);
        let found = self.database.all(select).await?;
        let Some(first) = found.first() else {
            return Ok(QueueLoad::default());
        };
        let mut owners = found.iter().map(owner_load).collect::<Result<Vec<_>>>()?;
        owners.sort_by_key(|owner| std::cmp::Reverse(owner.jobs.all()));
        Ok(QueueLoad {
            all: JobCounts {
                queued: rows::unsigned(first, "all_queued")?,
                running: rows::unsigned(first, "all_running")?,
                parked: rows::unsigned(first, "all_parked")?,
            },
            oldest: rows::parsed_if(first, "oldest")?,
            owners,
        })
    }

    /// The waiting job that represents a queued job: the job itself, or the first of its parts that wait. `None` if
    /// none of them waits any more.
    pub async fn waiting(&self, job: JobId) -> Result<Option<WaitingJob>> {
        let select = statement(WAITING).bind(job.to_string());
        let found = self.database.optional(select).await?;
        let waiting = |row: &Row| {
            let not_before: Option<f64> = row.get("not_before")?;
            Ok(WaitingJob {
                id: rows::parsed(row, "id")?,
                memory_bytes: rows::unsigned(row, "memory_bytes")?,
                spec_schema: rows::small(row, "spec_schema")?,
                not_before: not_before.map(rows::moment),
            })
        };
        found.as_ref().map(waiting).transpose()
    }

    /// The job of an owner that a claim with this memory limit takes first, unless it takes the oldest one.
    pub async fn first_claimable(
        &self,
        owner: &Owner,
        memory_bytes_max: u64,
    ) -> Result<Option<JobId>> {
        let select = statement(FIRST_OF_OWNER)
            .bind(bytes(memory_bytes_max))
            .bind(owner.as_str());
        let found = self.database.optional(select).await?;
        found.map(|row| rows::parsed(&row, "id")).transpose()
    }

    /// Whether the disk is too full for claims.
    pub async fn is_too_full_for_claims(&self) -> Result<bool> {
        match self.ensure_row_space().await {
            Ok(()) => Ok(false),
            Err(StoreError::Full(_)) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

fn owner_load(row: &Row) -> Result<OwnerLoad> {
    Ok(OwnerLoad {
        owner: Owner::new(row.get::<String>("owner")?),
        jobs: JobCounts {
            queued: rows::unsigned(row, "queued")?,
            running: rows::unsigned(row, "running")?,
            parked: rows::unsigned(row, "parked")?,
        },
        weight: row.get("weight")?,
        virtual_seconds: row.get("virtual_seconds")?,
    })
}

/// The queued, running and parked jobs of each owner. The owner `$1` comes first, so that the limit keeps this
/// owner. The sums over all owners do not depend on the limit.
pub(super) const LOAD: &str = "SELECT load.owner AS owner, queued, running, parked, \
     MIN(oldest_of_owner) OVER () AS oldest, \
     CAST(SUM(queued) OVER () AS BIGINT) AS all_queued, \
     CAST(SUM(running) OVER () AS BIGINT) AS all_running, \
     CAST(SUM(parked) OVER () AS BIGINT) AS all_parked, \
     COALESCE(weight, 1) AS weight, COALESCE(virtual_seconds, 0) AS virtual_seconds \
     FROM (SELECT owner, CAST(SUM(queued) AS BIGINT) AS queued, \
     CAST(SUM(running) AS BIGINT) AS running, CAST(SUM(parked) AS BIGINT) AS parked, \
     MIN(oldest) AS oldest_of_owner FROM (\
     SELECT owner, COUNT(*) AS queued, 0 AS running, 0 AS parked, MIN(id) AS oldest FROM jobs \
     WHERE status = 'queued' AND waits = FALSE GROUP BY owner \
     UNION ALL SELECT owner, 0, SUM(CASE WHEN parked = TRUE THEN 0 ELSE 1 END), \
     SUM(CASE WHEN parked = TRUE THEN 1 ELSE 0 END), NULL FROM jobs \
     WHERE status = 'running' GROUP BY owner) AS counted GROUP BY owner) AS load \
     LEFT JOIN owner_shares ON owner_shares.owner = load.owner \
     ORDER BY CASE WHEN load.owner = $1 THEN 0 ELSE 1 END, queued + running + parked DESC, \
     load.owner LIMIT $2";

/// The first waiting part of a job, or the waiting job itself.
pub(super) const WAITING: &str = "SELECT id, memory_bytes, spec_schema, \
     CASE WHEN not_before > {now} THEN not_before END AS not_before FROM jobs \
     WHERE id = COALESCE((SELECT id FROM jobs WHERE parent = $1 AND status = 'queued' \
     AND waits = FALSE ORDER BY id LIMIT 1), $1) AND status = 'queued' AND waits = FALSE";
