//! The statements of the queue: who computes which job, and how each of them ends.
//!
//! Every statement that a worker causes is fenced on (id, status, worker, attempt, claim): a lease
//! that is no longer the job's own matches no row, and nothing is written.

use std::sync::{Mutex, PoisonError};

use super::super::{
    CancelOutcome, Claim, ClaimTerms, Fenced, Heartbeat, JobEnd, Lease, Result, StoreError,
    WorkerId,
};
use super::database::{Database, Row, Statement, Transaction, statement};
use super::events::{self, Unnumbered};
use super::rows::job_columns;
use super::{callbacks, jobs, rows};
use crate::records::{Job, JobError, JobId, Owner, Progress, Status, Timestamp};

/// The conditions of the fence, on the first four parameters. A macro for the reason given at
/// [`job_columns`].
macro_rules! fence {
    () => {
        " WHERE id = $1 AND status = 'running' AND lease_owner = $2 AND attempt = $3 \
         AND claims = $4 "
    };
}

/// A statement whose first four parameters are the lease's.
fn fenced(text: &'static str, lease: &Lease) -> Statement {
    statement(text)
        .bind(lease.job.to_string())
        .bind(lease.worker.as_str())
        .bind(lease.attempt)
        .bind(lease.claim)
}

/// Whose job was claimed last here. The next claim is for the owner after that one, in the order of
/// their names, who has a job to claim: each has a turn before anybody has a second one, however
/// many jobs wait for one of them. Every process has turns of its own, so that claims share no row.
#[derive(Debug, Default)]
pub(in crate::storage) struct Turn(Mutex<String>);

impl Turn {
    fn last(&self) -> String {
        let owner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        owner.clone()
    }

    fn goes_to(&self, owner: &Owner) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        owner.as_str().clone_into(&mut last);
    }
}

pub(super) async fn claim(
    database: &Database,
    turn: &Turn,
    worker: &WorkerId,
    terms: &ClaimTerms,
    now: Timestamp,
) -> Result<Option<Claim>> {
    // Each round ends a job for good, hands one out, or finds none: no round comes back to a job.
    loop {
        let mut transaction = database.begin().await?;
        let update = statement(TAKE_NEXT)
            .bind(worker.as_str())
            .bind(terms.lease_seconds)
            .bind(now.milliseconds())
            .bind(turn.last());
        let Some(row) = transaction.optional(update).await? else {
            return Ok(None);
        };
        let job = rows::job(&row)?;
        turn.goes_to(&job.owner);
        if job.cancel_requested {
            // Its worker vanished before it could obey. The attempt just charged was never begun.
            let ending = Ending {
                status: Status::Cancelled,
                error: None,
                attempt: job.attempt - 1,
            };
            end_unfinished(&mut transaction, job.id, ending, now).await?;
            transaction.commit().await?;
        } else if job.attempt > terms.attempts_max {
            let ending = Ending::poisoned(job.attempt - 1);
            end_unfinished(&mut transaction, job.id, ending, now).await?;
            transaction.commit().await?;
        } else {
            let lease = Lease {
                job: job.id,
                worker: worker.clone(),
                attempt: job.attempt,
                claim: rows::small(&row, "claims")?,
            };
            let running = [Unnumbered::status(Status::Running, job.attempt, now)];
            events::append(&mut transaction, job.id, &running).await?;
            transaction.commit().await?;
            return Ok(Some(Claim { job, lease }));
        }
    }
}

/// The one statement of a claim: the best job of the next owner after the one named, or of the first.
/// The first condition on the status names the partial index, which is in the order of owners and
/// claims; passed over are only jobs that others compute.
pub(super) const TAKE_NEXT: &str = concat!(
    "UPDATE jobs SET status = 'running', attempt = attempt + 1, claims = claims + 1, \
     lease_owner = $1, lease_until = {now} + $2, \
     started_at = COALESCE(started_at, $3) \
     WHERE id = COALESCE(\
     (SELECT id FROM jobs WHERE status IN ('queued', 'running') AND owner > $4 \
     AND (status = 'queued' OR lease_until <= {now}) \
     ORDER BY owner, priority DESC, attempt, id LIMIT 1 {for update, skip locked}), \
     (SELECT id FROM jobs WHERE status IN ('queued', 'running') AND owner <= $4 \
     AND (status = 'queued' OR lease_until <= {now}) \
     ORDER BY owner, priority DESC, attempt, id LIMIT 1 {for update, skip locked})) RETURNING ",
    job_columns!()
);

pub(super) async fn heartbeat(
    database: &Database,
    lease: &Lease,
    lease_seconds: u32,
    progress: Option<&Progress>,
    now: Timestamp,
) -> Result<Heartbeat> {
    let mut transaction = database.begin().await?;
    let update = concat!(
        "UPDATE jobs SET lease_until = {now} + $5, \
         progress = COALESCE($6, progress)",
        fence!(),
        "RETURNING cancel_requested"
    );
    let update = fenced(update, lease)
        .bind(lease_seconds)
        .bind(rows::json_if(progress)?);
    let held = transaction.optional(update).await?;
    let Some(row) = held else {
        return Ok(Heartbeat::Lost);
    };
    if let Some(progress) = progress {
        let event = [Unnumbered::progress(progress, now)?];
        events::append(&mut transaction, lease.job, &event).await?;
    }
    transaction.commit().await?;
    Ok(Heartbeat::Held {
        cancel_requested: row.get("cancel_requested")?,
    })
}

pub(super) async fn finish(database: &Database, lease: &Lease, end: &JobEnd) -> Result<Fenced> {
    if !end.status.is_ended() {
        return Err(StoreError::other(format!(
            "a job does not end as {}",
            end.status
        )));
    }
    let mut transaction = database.begin().await?;
    let update = concat!(
        "UPDATE jobs SET status = $5, result = $6, error = $7, finished_at = $8, progress = $9, \
         model = $10, lease_owner = NULL, lease_until = NULL",
        fence!(),
        "RETURNING owner, callback"
    );
    let update = fenced(update, lease)
        .bind(end.status.as_str())
        .bind(rows::json_if(end.result.as_ref())?)
        .bind(rows::json_if(end.error.as_ref())?)
        .bind(end.finished_at.milliseconds())
        .bind(rows::json(&end.progress)?)
        .bind(end.model.as_ref().map(|model| model.id.to_string()));
    let held = transaction.optional(update).await?;
    let Some(row) = held else {
        return Ok(Fenced::Lost);
    };
    let owner = Owner::new(row.get::<String>("owner")?);
    let (model, trace) = (end.model.as_ref(), end.trace.as_deref());
    jobs::insert_products(&mut transaction, lease.job, &owner, model, trace).await?;
    let last = Unnumbered::end(end.status, lease.attempt, end.finished_at);
    events::append(&mut transaction, lease.job, &last).await?;
    if row.get::<Option<String>>("callback")?.is_some() {
        callbacks::owe(&mut transaction, lease.job, &owner).await?;
    }
    transaction.commit().await?;
    Ok(Fenced::Done)
}

pub(super) async fn requeue(database: &Database, lease: &Lease, now: Timestamp) -> Result<Fenced> {
    let mut transaction = database.begin().await?;
    let update = concat!(
        "UPDATE jobs SET status = 'queued', attempt = attempt - 1, lease_owner = NULL, \
         lease_until = NULL",
        fence!(),
        "RETURNING id, attempt, cancel_requested"
    );
    let Some(row) = transaction.optional(fenced(update, lease)).await? else {
        return Ok(Fenced::Lost);
    };
    after_requeue(&mut transaction, &row, now).await?;
    transaction.commit().await?;
    Ok(Fenced::Done)
}

pub(super) async fn release_all(database: &Database, now: Timestamp) -> Result<u64> {
    let mut transaction = database.begin().await?;
    let update = statement(
        "UPDATE jobs SET status = 'queued', lease_owner = NULL, lease_until = NULL \
         WHERE status IN ('queued', 'running') AND status = 'running' \
         RETURNING id, attempt, cancel_requested",
    );
    let released = transaction.all(update).await?;
    for row in &released {
        after_requeue(&mut transaction, row, now).await?;
    }
    callbacks::release_all(&mut transaction).await?;
    transaction.commit().await?;
    Ok(released.len() as u64)
}

/// Tells that a job is queued again, and cancels it if a client wanted its end: who went back to
/// the queue only to be cancelled would keep its client waiting for a worker.
async fn after_requeue(transaction: &mut Transaction, row: &Row, now: Timestamp) -> Result<()> {
    let id: JobId = rows::parsed(row, "id")?;
    let attempt: u32 = rows::small(row, "attempt")?;
    let queued = [Unnumbered::status(Status::Queued, attempt, now)];
    events::append(transaction, id, &queued).await?;
    if row.get("cancel_requested")? {
        let ending = Ending {
            status: Status::Cancelled,
            error: None,
            attempt,
        };
        end_unfinished(transaction, id, ending, now).await?;
    }
    Ok(())
}

pub(super) async fn cancel(
    database: &Database,
    owner: &Owner,
    id: JobId,
    now: Timestamp,
) -> Result<CancelOutcome> {
    let mut transaction = database.begin().await?;
    let select = concat!(
        "SELECT ",
        job_columns!(),
        " FROM jobs WHERE id = $1 AND owner = $2 {for update}"
    );
    let select = statement(select).bind(id.to_string()).bind(owner.as_str());
    let found = transaction.optional(select).await?;
    let Some(row) = found else {
        return Ok(CancelOutcome::NotFound);
    };
    // The job is locked, so it stays as it was just read.
    let mut job = rows::job(&row)?;
    match job.status {
        Status::Queued => {
            let ending = Ending {
                status: Status::Cancelled,
                error: None,
                attempt: job.attempt,
            };
            let job = end_unfinished(&mut transaction, id, ending, now).await?;
            transaction.commit().await?;
            Ok(CancelOutcome::Cancelled(job))
        }
        Status::Running if !job.cancel_requested => {
            let update = statement("UPDATE jobs SET cancel_requested = TRUE WHERE id = $1")
                .bind(id.to_string());
            transaction.execute(update).await?;
            transaction.commit().await?;
            job.cancel_requested = true;
            Ok(CancelOutcome::Requested(job))
        }
        Status::Running | Status::Cancelled => Ok(CancelOutcome::AlreadyRequested(job)),
        Status::Succeeded | Status::Failed => Ok(CancelOutcome::Ended(job)),
    }
}

/// How a job ends that no worker finishes.
struct Ending {
    status: Status,
    error: Option<JobError>,
    attempt: u32,
}

impl Ending {
    fn poisoned(attempt: u32) -> Self {
        let detail = format!("given up: {attempt} attempts began and none came to an end");
        let error = JobError {
            code: JobError::POISONED.to_owned(),
            detail,
        };
        Self {
            status: Status::Failed,
            error: Some(error),
            attempt,
        }
    }
}

/// Ends a job without a result, with its last two events, whoever holds it. The caller has checked
/// in this transaction that it has not ended.
async fn end_unfinished(
    transaction: &mut Transaction,
    id: JobId,
    ending: Ending,
    now: Timestamp,
) -> Result<Job> {
    let update = concat!(
        "UPDATE jobs SET status = $2, error = $3, attempt = $4, finished_at = $5, \
         cancel_requested = (cancel_requested OR $2 = 'cancelled'), lease_owner = NULL, \
         lease_until = NULL \
         WHERE id = $1 AND finished_at IS NULL RETURNING ",
        job_columns!()
    );
    let update = statement(update)
        .bind(id.to_string())
        .bind(ending.status.as_str())
        .bind(rows::json_if(ending.error.as_ref())?)
        .bind(ending.attempt)
        .bind(now.milliseconds());
    let row = transaction.one(update).await?;
    let job = rows::job(&row)?;
    let last = Unnumbered::end(job.status, job.attempt, now);
    events::append(transaction, id, &last).await?;
    if job.callback.is_some() {
        callbacks::owe(transaction, id, &job.owner).await?;
    }
    Ok(job)
}
