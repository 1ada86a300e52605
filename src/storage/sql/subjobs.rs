//! Statements of jobs with subjobs: storing them together, counting ended subjobs at the parent, and cancelling them
//! together.
//!
//! A subjob is a job of its own. The transaction that ends it also lowers the count of unfinished subjobs in its
//! parent's row. Rows are locked in one order, first the subjob and then the parent; a transaction that must lock the
//! parent first skips subjobs that others have locked. That is safe, because only the parent's row says whether its
//! subjobs are still wanted, and the claims and heartbeats of subjobs read that row.

use super::super::error::Result;
use super::super::error::StoreError;
use super::super::history;
use super::super::lease::CancelOutcome;
use super::super::quota::Usage;
use super::database::{Row, Statement, Transaction, statement};
use super::ends::{UnfinishedEnd, end_row};
use super::events::{self, NewEvent};
use super::store::Store;
use super::{idempotency, jobs, rows, shares, usage};
use crate::records::{
    Job, JobError, JobId, JobTree, KeyClaim, Owner, Progress, Status, SubjobOutcome, Timestamp,
};

/// Rows per statement. Both databases limit the number of values of a statement.
const ROWS_AT_ONCE: usize = 500;

impl Store {
    /// Stores a job with its subjobs, all queued, each with its first event. The subjobs are numbered from 0, and
    /// their ids have the same order.
    ///
    /// Workers can claim the subjobs at once, and the parent when all of them have ended: each subjob decrements the
    /// parent's count in the transaction that ends it. A subjob that fails also fails the parent, and
    /// makes the other subjobs unwanted.
    ///
    /// # Errors
    /// Those of [`Store::insert_job`].
    pub async fn insert_subjobs(
        &self,
        parent: &Job,
        subjobs: &[Job],
        key: Option<&KeyClaim>,
    ) -> Result<()> {
        self.ensure_row_space().await?;
        let calls = history::calls_of(parent, subjobs);
        demand(parent, subjobs)?;
        let at = parent.created_at;
        let queued = [NewEvent::status(Status::Queued, 0, at)];
        let mut transaction = self.database.begin().await?;
        idempotency::claim(&mut transaction, key, &parent.owner, parent.id, at).await?;
        shares::activate(&mut transaction, &parent.owner).await?;
        if jobs::insert(&mut transaction, parent, None, &queued).await? {
            for some in subjobs.chunks(ROWS_AT_ONCE) {
                insert_some(&mut transaction, some).await?;
            }
            let asked = Usage {
                jobs_queued: 1 + subjobs.len() as u64,
                ..jobs::usage_of(parent)
            };
            usage::admit(&mut transaction, &self.quotas, &parent.owner, &asked).await?;
            transaction.commit().await?;
        }
        calls.into_iter().try_for_each(|call| call.answered(Ok(())))
    }

    /// The outcomes of at most `limit` subjobs of a job, in their order, after the subjob `after`.
    pub async fn subjobs(
        &self,
        parent: JobId,
        after: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<SubjobOutcome>> {
        let select = statement(OUTCOMES)
            .bind(parent.to_string())
            .bind(after.map_or_else(String::new, |after| after.to_string()))
            .bind(limit);
        let found = self.database.all(select).await?;
        let outcome = |row: &Row| {
            rows::check_end(row)?;
            Ok(SubjobOutcome {
                job: rows::parsed(row, "id")?,
                index: rows::small(row, "part")?,
                status: rows::parsed(row, "status")?,
                result: rows::from_json_if(row, "result")?,
            })
        };
        found.iter().map(outcome).collect()
    }
}

/// Refuses jobs that are not a queued parent with all of its subjobs, which is a mistake in this program.
fn demand(parent: &Job, subjobs: &[Job]) -> Result<()> {
    let count = subjobs.len() as u64;
    let is_parent = matches!(parent.lineage, JobTree::Parent { subjobs, left }
        if u64::from(subjobs) == count && left == subjobs && count > 0);
    let are_subjobs = subjobs.iter().zip(0..).all(|(job, number)| {
        let lineage = JobTree::Subjob {
            parent: parent.id,
            index: number,
        };
        job.lineage == lineage && job.status == Status::Queued
    });
    let are_in_order = subjobs.is_sorted_by(|one, next| one.id < next.id);
    if parent.status == Status::Queued && is_parent && are_subjobs && are_in_order {
        return Ok(());
    }
    let detail = format!(
        "{} and its parts cannot be inserted in this state",
        parent.id
    );
    Err(StoreError::other(detail))
}

/// Stores queued subjobs of one job with their first events. Their parent pins the dataset that they read.
async fn insert_some(transaction: &mut Transaction, subjobs: &[Job]) -> Result<()> {
    let rows = subjobs
        .iter()
        .map(|job| Ok(jobs::row(job)?.and("event_sequence", 1_i64)));
    let rows = rows.collect::<Result<Vec<_>>>()?;
    transaction.execute(Statement::insert(rows, "")).await?;
    let queued = subjobs.iter().map(|job| {
        let queued = [NewEvent::status(Status::Queued, 0, job.created_at)];
        (job.id, job.owner.clone(), 1, queued)
    });
    events::write_each(transaction, queued).await
}

/// Records that a parent runs if this claim of a subjob is the first.
pub(super) async fn started(
    transaction: &mut Transaction,
    parent: JobId,
    now: Timestamp,
) -> Result<()> {
    let update = statement("UPDATE jobs SET started_at = $2 WHERE id = $1 AND started_at IS NULL")
        .bind(parent.to_string())
        .bind(now.milliseconds());
    if transaction.execute(update).await? == 1 {
        let running = [NewEvent::status(Status::Running, 0, now)];
        events::append(transaction, parent, &running).await?;
    }
    Ok(())
}

/// A subjob that ends in this transaction. Its row is locked.
pub(super) struct EndedSubjob<'a> {
    pub job: JobId,
    pub parent: JobId,
    pub index: u32,
    pub error: Option<&'a JobError>,
    pub progress: Progress,
    pub at: Timestamp,
}

/// Counts off an ended subjob. The last subjob makes its parent claimable. A failed subjob fails its parent.
pub(super) async fn ended(transaction: &mut Transaction, ended: &EndedSubjob<'_>) -> Result<()> {
    let Some(mut parent) = Parent::lock(transaction, ended.parent).await? else {
        return Ok(());
    };
    parent.left = parent.left.saturating_sub(1);
    match ended.error {
        _ if parent.has_ended || parent.cancel_requested => {
            parent.write(transaction).await?;
            parent.end_if_cancelled(transaction, ended.at).await?;
            Ok(())
        }
        None => {
            let is_shown = parent.advance(ended);
            parent.write(transaction).await?;
            if is_shown {
                let event = [NewEvent::progress(&parent.progress, ended.at)?];
                events::append(transaction, parent.id, &event).await?;
            }
            Ok(())
        }
        Some(error) => {
            parent.left -= stop_queued(transaction, parent.id, ended.at).await?;
            parent.write(transaction).await?;
            let (job, index, detail) = (ended.job, ended.index, &error.detail);
            let error = JobError {
                code: error.code.clone(),
                detail: format!("part {index} ({job}) failed: {detail}"),
            };
            let ending = UnfinishedEnd {
                status: Status::Failed,
                error: Some(error),
                attempt: 0,
            };
            end_row(transaction, parent.id, ending, ended.at).await?;
            Ok(())
        }
    }
}

/// Cancels a parent that waits for its subjobs, and all of these subjobs. Queued subjobs end at once. Running subjobs
/// end when their workers see the cancel. The caller has locked the parent's row.
pub(super) async fn cancel(
    mut transaction: Transaction,
    mut job: Job,
    now: Timestamp,
) -> Result<CancelOutcome> {
    if job.cancel_requested {
        return Ok(CancelOutcome::AlreadyRequested(job));
    }
    let Some(mut parent) = Parent::lock(&mut transaction, job.id).await? else {
        return Ok(CancelOutcome::NotFound);
    };
    parent.cancel_requested = true;
    parent.left -= stop_queued(&mut transaction, job.id, now).await?;
    parent.write(&mut transaction).await?;
    let ended = parent.end_if_cancelled(&mut transaction, now).await?;
    let ended = ended.as_ref().map(rows::job).transpose()?;
    transaction.commit().await?;
    if let Some(ended) = ended {
        return Ok(CancelOutcome::Cancelled(ended));
    }
    job.cancel_requested = true;
    if let JobTree::Parent { left, .. } = &mut job.lineage {
        *left = parent.left;
    }
    Ok(CancelOutcome::Requested(job))
}

/// Cancels the queued subjobs that no other transaction has locked. Returns their number.
async fn stop_queued(transaction: &mut Transaction, parent: JobId, now: Timestamp) -> Result<u32> {
    let update = statement(
        "UPDATE jobs SET status = 'cancelled', cancel_requested = TRUE, finished_at = $2, \
         event_sequence = event_sequence + 2 \
         WHERE id IN (SELECT id FROM jobs WHERE parent = $1 AND status = 'queued' \
         {for update, skip locked}) RETURNING id, owner, attempt, event_sequence",
    )
    .bind(parent.to_string())
    .bind(now.milliseconds());
    let stopped = transaction.all(update).await?;
    let forget = "DELETE FROM checkpoints WHERE job IN (SELECT id FROM jobs WHERE parent = $1 \
         AND status = 'cancelled')";
    transaction
        .execute(statement(forget).bind(parent.to_string()))
        .await?;
    let mut ends = Vec::with_capacity(stopped.len());
    for row in &stopped {
        let attempt = rows::small(row, "attempt")?;
        history::ended(rows::parsed(row, "id")?, Status::Cancelled, now);
        ends.push((
            rows::parsed(row, "id")?,
            Owner::new(row.get::<String>("owner")?),
            row.get("event_sequence")?,
            NewEvent::end(Status::Cancelled, attempt, now),
        ));
    }
    for some in ends.chunks(ROWS_AT_ONCE) {
        events::write_each(transaction, some.iter().cloned()).await?;
    }
    Ok(stopped.len() as u32)
}

/// The columns of a locked parent that concern its subjobs.
struct Parent {
    id: JobId,
    subjobs: u32,
    left: u32,
    progress: Progress,
    started_at: Option<i64>,
    cancel_requested: bool,
    has_ended: bool,
}

impl Parent {
    async fn lock(transaction: &mut Transaction, id: JobId) -> Result<Option<Self>> {
        let select = statement(
            "SELECT parts, parts_left, progress, started_at, cancel_requested, finished_at \
             FROM jobs WHERE id = $1 {for update}",
        );
        let row = transaction.optional(select.bind(id.to_string())).await?;
        let read = |row: &Row| {
            Ok(Self {
                id,
                subjobs: rows::small(row, "parts")?,
                left: rows::small(row, "parts_left")?,
                progress: rows::from_json_if(row, "progress")?.unwrap_or_default(),
                started_at: row.get("started_at")?,
                cancel_requested: row.get("cancel_requested")?,
                has_ended: row.get::<Option<i64>>("finished_at")?.is_some(),
            })
        };
        row.as_ref().map(read).transpose()
    }

    /// Adds the counts of a subjob that succeeded. Returns whether the progress deserves an event, which is
    /// once per per cent of the subjobs.
    fn advance(&mut self, subjob: &EndedSubjob<'_>) -> bool {
        let ended = self.subjobs - self.left;
        let fraction = f64::from(ended) / f64::from(self.subjobs);
        let left = f64::from(self.left);
        let elapsed = |from: i64| (subjob.at.milliseconds() - from).max(0) as f64 / 1_000.0;
        let counted = subjob.progress;
        self.progress.examples += counted.examples;
        self.progress.mistakes += counted.mistakes;
        self.progress.passes += counted.passes;
        self.progress.fraction = Some(fraction);
        self.progress.seconds_left = self
            .started_at
            .filter(|_| self.left > 0)
            .map(|from| elapsed(from) * left / f64::from(ended));
        let percent = |ended: u32| u64::from(ended) * 100 / u64::from(self.subjobs);
        percent(ended) > percent(ended - 1)
    }

    async fn write(&self, transaction: &mut Transaction) -> Result<()> {
        let update = statement(
            "UPDATE jobs SET parts_left = $2, waits = $3, progress = $4, cancel_requested = $5 \
             WHERE id = $1",
        )
        .bind(self.id.to_string())
        .bind(self.left)
        .bind(self.left > 0)
        .bind(rows::json(&self.progress)?)
        .bind(self.cancel_requested);
        transaction.execute(update).await.map(|_| ())
    }

    /// Ends a cancelled parent if none of its subjobs ever began, so that no results remain to gather.
    async fn end_if_cancelled(
        &self,
        transaction: &mut Transaction,
        now: Timestamp,
    ) -> Result<Option<Row>> {
        if self.has_ended || !self.cancel_requested || self.left > 0 || self.started_at.is_some() {
            return Ok(None);
        }
        let ending = UnfinishedEnd {
            status: Status::Cancelled,
            error: None,
            attempt: 0,
        };
        let ended = end_row(transaction, self.id, ending, now).await?;
        Ok(Some(ended))
    }
}

/// The outcomes of the subjobs of a job after a given subjob, in order.
pub(super) const OUTCOMES: &str = "SELECT id, part, status, result, error, model, finished_at, \
     end_digest FROM jobs WHERE parent = $1 AND id > $2 ORDER BY id LIMIT $3";
