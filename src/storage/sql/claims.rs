//! Statements of claims: the next job to compute, and the jobs that could go before another job.
//!
//! The order is that of [`crate::records::schedule`]: first the active owner with the least virtual seconds, then,
//! among the jobs of this owner, priority, level and age.

use super::super::error::Result;
use super::super::error::StoreError;
use super::super::history::{self, Facts};
use super::super::lease::{Alone, Claim, Lease, WorkerId};
use super::super::terms::ClaimTerms;
use super::database::{Row, statement};
use super::events::{self, NewEvent};
use super::queue::fail_damaged;
use super::rows::job_columns;
use super::store::Store;
use super::{rows, shares, subjobs};
use crate::records::schedule::CLAIMS_BETWEEN_OLDEST;
use crate::records::{Job, JobTree, JobsAhead, Owner, Status, Timestamp};

/// The conditions of a claim. `$1` is the memory limit of a job in bytes. The first two conditions name the
/// partial indexes. A worker knows the schemas of stored requests up to [`rows::SPEC_SCHEMA`].
macro_rules! claimable {
    () => {
        "status = 'queued' AND waits = FALSE AND not_before <= {now} AND memory_bytes <= $1 \
         AND spec_schema <= 1"
    };
}

/// Whether an owner has a claimable job. The order makes the planner of PostgreSQL use the index of claims.
/// Without the order, the planner expects an early match and reads the whole table for an owner without
/// claimable jobs.
macro_rules! has_claimable {
    () => {
        concat!(
            "(SELECT id FROM jobs WHERE jobs.owner = owner_shares.owner AND ",
            claimable!(),
            " ORDER BY priority DESC, level, id LIMIT 1) IS NOT NULL"
        )
    };
}

impl Store {
    /// Takes the first job of the active owner with the least virtual seconds among those with a claimable job. One
    /// of [`CLAIMS_BETWEEN_OLDEST`] claims of an owner takes the oldest job instead. If the row of a job is damaged,
    /// the job fails as `data-corrupt` and the claim takes the next one.
    pub async fn claim_job(
        &self,
        worker: &WorkerId,
        terms: &ClaimTerms,
        now: Timestamp,
    ) -> Result<Option<Claim>> {
        self.ensure_row_space().await?;
        history::recorded(|| Facts::of_claim(worker, terms.lease_seconds), async {
            let memory_bytes_max = bytes(terms.memory_bytes_max);
            // Each iteration returns a job, fails a damaged job, or passes over an owner, so the loop ends.
            let mut passed = (f64::MIN, String::new());
            loop {
                let mut transaction = self.database.begin().await?;
                let next = statement(NEXT_OWNER)
                    .bind(memory_bytes_max)
                    .bind(passed.0)
                    .bind(passed.1.clone());
                let Some(next) = transaction.optional(next).await? else {
                    return Ok(None);
                };
                let owner: String = next.get("owner")?;
                let claims: u32 = rows::small(&next, "claims")?;
                let is_oldest = (claims + 1).is_multiple_of(CLAIMS_BETWEEN_OLDEST);
                let update = statement(if is_oldest { TAKE_OLDEST } else { TAKE_FIRST })
                    .bind(memory_bytes_max)
                    .bind(owner.as_str())
                    .bind(worker.as_str())
                    .bind(terms.lease_seconds)
                    .bind(now.milliseconds());
                let Some(row) = transaction.optional(update).await? else {
                    // Other workers have just taken all claimable jobs of this owner.
                    passed = (next.get("virtual_seconds")?, owner);
                    continue;
                };
                let job = match rows::job(&row) {
                    Ok(job) => job,
                    Err(StoreError::Corrupt(damage)) => {
                        fail_damaged(&mut transaction, &row, &damage.to_string(), now).await?;
                        transaction.commit().await?;
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let lease = Lease {
                    job: job.id,
                    worker: worker.clone(),
                    attempt: job.attempt,
                    claim: rows::small(&row, "claims")?,
                };
                let running = [NewEvent::status(Status::Running, job.attempt, now)];
                events::append(&mut transaction, job.id, &running).await?;
                if let JobTree::Subjob { parent, .. } = job.lineage {
                    subjobs::started(&mut transaction, parent, now).await?;
                }
                shares::charge_claim(&mut transaction, &Owner::new(owner)).await?;
                history::taken(&lease, terms.lease_seconds);
                transaction.commit().await?;
                let alone = match row.get("alone")? {
                    true => Some(Alone {
                        death_seconds: row.get("death_seconds")?,
                    }),
                    false => None,
                };
                return Ok(Some(Claim {
                    job,
                    lease,
                    alone,
                    switch_seconds: row.get("switch_seconds")?,
                }));
            }
        })
        .await
    }

    /// The jobs that could go before a job of the owner, among jobs that need at most `memory_bytes_max`.
    pub async fn line(&self, owner: &Owner, memory_bytes_max: u64) -> Result<JobsAhead> {
        let memory_bytes_max = bytes(memory_bytes_max);
        let first = statement(FIRST_OF_OWNER)
            .bind(memory_bytes_max)
            .bind(owner.as_str());
        let own = self.database.optional(first).await?;
        let other = statement(FIRST_OTHER)
            .bind(memory_bytes_max)
            .bind(owner.as_str());
        let other = self.database.optional(other).await?;
        Ok(JobsAhead {
            virtual_seconds: shares::virtual_seconds(&self.database, owner).await?,
            own: own.as_ref().map(rows::rank).transpose()?,
            other: other.map(|row| row.get("virtual_seconds")).transpose()?,
        })
    }

    /// Whether a queued job needs more than `free` bytes of memory and at most `max`. Jobs of at most 1 MiB
    /// do not count.
    pub async fn passes_over(&self, free: u64, max: u64) -> Result<bool> {
        let select = statement(PASSED_OVER).bind(bytes(free)).bind(bytes(max));
        Ok(self.database.optional(select).await?.is_some())
    }

    /// How many jobs of the same owner are queued before a queued job, counted up to `limit`.
    pub async fn jobs_ahead(&self, job: &Job, limit: u32) -> Result<u32> {
        let select = statement(AHEAD)
            .bind(job.owner.as_str())
            .bind(i64::from(job.priority))
            .bind(job.id.to_string())
            .bind(limit);
        rows::small(&self.database.one(select).await?, "ahead")
    }

    /// For each task, the number of jobs that wait for a worker and the creation time of the oldest.
    pub async fn queue_depths(&self) -> Result<Vec<(String, u64, Timestamp)>> {
        let found = self.database.all(statement(DEPTHS)).await?;
        let depth = |row: &Row| {
            let oldest = Timestamp::from_milliseconds(row.get("oldest")?);
            Ok((row.get("task")?, rows::unsigned(row, "depth")?, oldest))
        };
        found.iter().map(depth).collect()
    }
}

/// The active owner with the least virtual seconds among those with a claimable job, after the owners passed
/// over.
pub(super) const NEXT_OWNER: &str = concat!(
    "SELECT owner, claims, virtual_seconds FROM owner_shares WHERE active = TRUE \
     AND (virtual_seconds, owner) > ($2, $3) AND ",
    has_claimable!(),
    " ORDER BY virtual_seconds, owner LIMIT 1"
);

/// Takes the first claimable job of an owner in this order.
macro_rules! take {
    ($order:literal) => {
        concat!(
            "UPDATE jobs SET status = 'running', claims = claims + 1, \
             attempt = attempt + 1, \
             lease_owner = $3, lease_until = {now} + $4, parked = FALSE, \
             started_at = COALESCE(started_at, $5) \
             WHERE id = (SELECT id FROM jobs WHERE owner = $2 AND ",
            claimable!(),
            " ORDER BY ",
            $order,
            " LIMIT 1 {for update, skip locked}) RETURNING alone, death_seconds, switch_seconds, ",
            job_columns!()
        )
    };
}

pub(super) const TAKE_FIRST: &str = take!("priority DESC, level, id");

pub(super) const TAKE_OLDEST: &str = take!("id");

pub(super) const FIRST_OF_OWNER: &str = concat!(
    "SELECT priority, level, id FROM jobs WHERE owner = $2 AND ",
    claimable!(),
    " ORDER BY priority DESC, level, id LIMIT 1"
);

pub(super) const FIRST_OTHER: &str = concat!(
    "SELECT virtual_seconds FROM owner_shares WHERE active = TRUE AND owner <> $2 AND ",
    has_claimable!(),
    " ORDER BY virtual_seconds, owner LIMIT 1"
);

/// A number of bytes in the signed type of the databases.
pub(super) fn bytes(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// A queued job that needs much memory. The first conditions name the partial index.
pub(super) const PASSED_OVER: &str = "SELECT id FROM jobs WHERE status = 'queued' AND waits = FALSE \
     AND memory_bytes > 1048576 AND memory_bytes > $1 AND memory_bytes <= $2 \
     AND not_before <= {now} LIMIT 1";

/// The queued jobs of an owner before a rank, in two ranges of the index of claims.
pub(super) const AHEAD: &str = "SELECT COUNT(*) AS ahead FROM (\
     SELECT 1 FROM jobs WHERE owner = $1 AND status = 'queued' AND waits = FALSE \
     AND priority > $2 \
     UNION ALL SELECT 1 FROM jobs WHERE owner = $1 AND status = 'queued' AND waits = FALSE \
     AND priority = $2 \
     AND (level, id) < ((SELECT level FROM jobs WHERE id = $3), $3) LIMIT $4) AS earlier";

/// The number of queued jobs of each task.
const DEPTHS: &str = "SELECT task, COUNT(*) AS depth, MIN(created_at) AS oldest FROM jobs \
     WHERE status = 'queued' AND waits = FALSE GROUP BY task";
