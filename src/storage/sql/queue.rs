//! Statements of the queue: heartbeats, ends, requeues, expired leases and cancels of jobs. Claims are in `claims`.
//!
//! Every statement of a worker is fenced: it selects the job by id, status, worker, attempt and claim. After the lease
//! is lost it matches no row and therefore writes nothing.

use super::super::error::Result;
use super::super::error::StoreError;
use super::super::history::{self, Facts};
use super::super::lease::{Beat, CancelOutcome, Fenced, Heartbeat, JobEnd, Lease, Requeue, Spent};
use super::super::quota::{Quotas, Usage};
use super::super::terms::ReleaseTerms;
use super::database::{Database, Row, Statement, Transaction, statement};
use super::ends::{UnfinishedEnd, end_row};
use super::events::{self, NewEvent};
use super::rows::{fence, fenced, is_unwanted, job_columns};
use super::store::Store;
use super::subjobs::{self, EndedSubjob};
use super::{callbacks, checkpoints, jobs, processes, rows, shares, stored, usage};
use crate::records::schedule::SUSPECT_DEATHS;
use crate::records::{Callback, JobError, JobId, JobTree, Owner, Progress, Status, Timestamp};

impl Store {
    /// Returns the jobs with expired leases to the queue, and returns their number.
    ///
    /// Each expired lease counts as the death of a process. The job pauses, and from the second death in a row it is
    /// a suspect, which runs alone. A parked job is not charged with a death, nor is a job whose lease expired more
    /// than an hour ago, because then the clock has jumped. If a client has requested the cancel of a job, it is
    /// cancelled at once, unless it has a checkpoint or subjobs: then the next worker ends it with its result so far.
    pub async fn release_expired(&self, terms: &ReleaseTerms, now: Timestamp) -> Result<u64> {
        let write = || async move {
            // Begins no write transaction while no lease has expired.
            let any =
                "SELECT 1 FROM jobs WHERE status = 'running' AND lease_until <= {now} LIMIT 1";
            if self.database.optional(statement(any)).await?.is_none() {
                return Ok(0);
            }
            let mut transaction = self.database.begin().await?;
            let (count, poisoned) = release(&mut transaction, RELEASE_EXPIRED, terms, now).await?;
            transaction.commit().await?;
            metrics::counter!("halfspace_jobs_poisoned_total").increment(poisoned);
            Ok(count)
        };
        history::recorded(|| Facts::of("release-expired"), self.with_reserve(write)).await
    }

    /// Returns every running job to the queue on the terms of [`Store::release_expired`], makes every leased callback
    /// due at once and forgets all processes. Returns the number of jobs. Only a process that knows that it is alone
    /// on this store may call this.
    pub async fn release_all_leases(&self, terms: &ReleaseTerms, now: Timestamp) -> Result<u64> {
        let write = || async move {
            let mut transaction = self.database.begin().await?;
            let (released, poisoned) = release(&mut transaction, RELEASE_ALL, terms, now).await?;
            callbacks::release_all(&mut transaction).await?;
            processes::forget_all(&mut transaction).await?;
            transaction.commit().await?;
            metrics::counter!("halfspace_jobs_poisoned_total").increment(poisoned);
            Ok(released)
        };
        history::recorded(|| Facts::of("release-all"), self.with_reserve(write)).await
    }

    /// Extends the lease.
    pub async fn heartbeat(
        &self,
        lease: &Lease,
        beat: &Beat<'_>,
        now: Timestamp,
    ) -> Result<Heartbeat> {
        let recorded = || Facts {
            seconds: Some(beat.lease_seconds),
            ..Facts::of_lease("heartbeat", lease)
        };
        history::recorded(recorded, async {
            match heartbeat(&self.database, lease, beat, now).await {
                // The lease matters more than the progress, which would add an event.
                Err(StoreError::Full(_)) => {
                    let beat = Beat {
                        progress: None,
                        ..*beat
                    };
                    self.with_reserve(|| heartbeat(&self.database, lease, &beat, now))
                        .await
                }
                outcome => outcome,
            }
        })
        .await
    }

    /// Ends the job with its model or dataset, its trace and its last two events. Even after a client has requested its
    /// cancel, it may still succeed. [`StoreError::OverQuota`] if there is no room for the dataset.
    pub async fn finish_job(&self, lease: &Lease, end: &JobEnd) -> Result<Fenced> {
        let write = || finish(&self.database, &self.quotas, lease, end);
        history::recorded(|| Facts::of_end(lease, end), self.with_reserve(write)).await
    }

    /// Returns the job to the queue, with state, seconds and counts in the same transaction. The attempt counts only
    /// if `terms` says so. If the cancel was requested meanwhile, the job is cancelled at once, unless it has a
    /// checkpoint or subjobs.
    pub async fn requeue_job(
        &self,
        lease: &Lease,
        terms: &Requeue<'_>,
        now: Timestamp,
    ) -> Result<Fenced> {
        let write = || requeue(&self.database, lease, terms, now);
        let Some(body) = terms.checkpoint else {
            let facts = || Facts::of_lease("requeue", lease);
            return history::recorded(facts, self.with_reserve(write)).await;
        };
        // A checkpoint only saves time and may be large, so it does not use the reserve.
        self.ensure_row_space().await?;
        let facts = || Facts::of_checkpoint("preempt", lease, body);
        history::recorded(facts, write()).await
    }

    /// Requests the end of the owner's job and of all its subjobs, of which the queued ones end at once. If some have
    /// begun, a worker then gathers their results. A subjob alone cannot be cancelled.
    pub async fn cancel_job(
        &self,
        owner: &Owner,
        id: JobId,
        now: Timestamp,
    ) -> Result<CancelOutcome> {
        let write = || cancel(&self.database, owner, id, now);
        history::recorded(|| Facts::of_job("cancel", id), self.with_reserve(write)).await
    }
}

/// The columns of a worker's report, on the next three parameters. A report without computed seconds keeps
/// the seconds of earlier attempts. The level never falls.
macro_rules! reported {
    () => {
        "progress = COALESCE($5, progress), \
         computed_seconds = CASE WHEN $6 > 0 THEN $6 ELSE computed_seconds END, \
         level = CASE WHEN $7 > level THEN $7 ELSE level END, "
    };
}

/// A fenced statement with the parameters of [`reported`].
fn reporting(
    text: &'static str,
    lease: &Lease,
    progress: Option<&Progress>,
    spent: &Spent,
) -> Result<Statement> {
    Ok(fenced(text, lease)
        .bind(rows::json_if(progress)?)
        .bind(spent.seconds)
        .bind(spent.level))
}

async fn heartbeat(
    database: &Database,
    lease: &Lease,
    beat: &Beat<'_>,
    now: Timestamp,
) -> Result<Heartbeat> {
    let mut transaction = database.begin().await?;
    let update = concat!(
        "UPDATE jobs SET ",
        reported!(),
        "lease_until = {now} + $8, parked = $9, \
         deaths = CASE WHEN $10 THEN 0 ELSE deaths END, \
         alone_deaths = CASE WHEN $10 THEN 0 ELSE alone_deaths END, \
         alone = (alone AND NOT $10)",
        fence!(),
        "RETURNING owner, ",
        is_unwanted!(),
        " AS cancel_requested"
    );
    let update = reporting(update, lease, beat.progress, &beat.spent)?
        .bind(beat.lease_seconds)
        .bind(beat.is_parked)
        .bind(beat.is_acquitted);
    let held = transaction.optional(update).await?;
    let Some(row) = held else {
        return Ok(Heartbeat::Lost);
    };
    if let Some(progress) = beat.progress {
        let event = [NewEvent::progress(progress, now)?];
        events::append(&mut transaction, lease.job, &event).await?;
    }
    let owner = Owner::new(row.get::<String>("owner")?);
    shares::pay(&mut transaction, &owner, beat.spent.unpaid_seconds).await?;
    transaction.commit().await?;
    Ok(Heartbeat::Held {
        cancel_requested: row.get("cancel_requested")?,
    })
}

async fn finish(
    database: &Database,
    quotas: &Quotas,
    lease: &Lease,
    end: &JobEnd,
) -> Result<Fenced> {
    if !end.status.is_ended() {
        return Err(StoreError::other(format!(
            "a job cannot end with the status {}",
            end.status
        )));
    }
    let mut transaction = database.begin().await?;
    let update = concat!(
        "UPDATE jobs SET status = $5, result = $6, error = $7, finished_at = $8, progress = $9, \
         model = $10, end_digest = $11, lease_owner = NULL, lease_until = NULL",
        fence!(),
        "RETURNING owner, callback, parent, part, \
         (SELECT job FROM checkpoints WHERE checkpoints.job = jobs.id) AS checkpoint"
    );
    let (result, error) = (
        rows::json_if(end.result.as_ref())?,
        rows::json_if(end.error.as_ref())?,
    );
    let (status, at) = (end.status, end.finished_at);
    let model = end.model.as_ref().map(|model| model.summary.id);
    let texts = [result.as_deref(), error.as_deref()];
    let digest = jobs::end_digest(lease.job, status, texts, model, at);
    let update = fenced(update, lease)
        .bind(status.as_str())
        .bind(result)
        .bind(error)
        .bind(at.milliseconds())
        .bind(rows::json(&end.progress)?)
        .bind(model.map(|model| model.to_string()))
        .bind(digest);
    let held = transaction.optional(update).await?;
    let Some(row) = held else {
        return Ok(Fenced::Lost);
    };
    let owner = Owner::new(row.get::<String>("owner")?);
    let (model, trace) = (end.model.as_ref(), end.trace.as_deref());
    jobs::insert_products(&mut transaction, lease.job, &owner, model, trace).await?;
    let asked = match &end.dataset {
        Some(dataset) => stored::insert(&mut transaction, dataset).await?,
        None => Usage::default(),
    };
    if row.get::<Option<String>>("checkpoint")?.is_some() {
        checkpoints::forget(&mut transaction, lease.job).await?;
    }
    let last = NewEvent::end(end.status, lease.attempt, end.finished_at);
    events::append(&mut transaction, lease.job, &last).await?;
    if let Some(url) = row.get::<Option<String>>("callback")? {
        callbacks::owe(&mut transaction, lease.job, &owner, &Callback::new(url)).await?;
    }
    if let Some(parent) = rows::parsed_if(&row, "parent")? {
        let ended = EndedSubjob {
            job: lease.job,
            parent,
            index: rows::small(&row, "part")?,
            error: end.error.as_ref(),
            progress: end.progress,
            at: end.finished_at,
        };
        subjobs::ended(&mut transaction, &ended).await?;
    }
    shares::pay(&mut transaction, &owner, end.spent.unpaid_seconds).await?;
    usage::admit(&mut transaction, quotas, &owner, &asked).await?;
    transaction.commit().await?;
    Ok(Fenced::Done)
}

async fn requeue(
    database: &Database,
    lease: &Lease,
    requeue: &Requeue<'_>,
    now: Timestamp,
) -> Result<Fenced> {
    let mut transaction = database.begin().await?;
    let update = concat!(
        "UPDATE jobs SET ",
        reported!(),
        "status = 'queued', lease_owner = NULL, lease_until = NULL, parked = FALSE, \
         attempt = attempt - CASE WHEN $10 THEN 0 ELSE 1 END, \
         switch_seconds = COALESCE($8, switch_seconds), \
         not_before = CASE WHEN $9 > 0 THEN {now} + $9 ELSE 0 END",
        fence!(),
        "RETURNING id, owner, attempt, parts, ",
        is_unwanted!(),
        " AS cancel_requested"
    );
    let update = reporting(update, lease, requeue.progress, &requeue.spent)?
        .bind(requeue.switch_seconds)
        .bind(requeue.pause_seconds)
        .bind(requeue.is_charged);
    let Some(row) = transaction.optional(update).await? else {
        return Ok(Fenced::Lost);
    };
    if let Some(body) = requeue.checkpoint {
        checkpoints::write(&mut transaction, lease.job, body).await?;
    }
    after_requeue(&mut transaction, &row, now).await?;
    let owner = Owner::new(row.get::<String>("owner")?);
    shares::pay(&mut transaction, &owner, requeue.spent.unpaid_seconds).await?;
    transaction.commit().await?;
    Ok(Fenced::Done)
}

macro_rules! is_charged {
    () => {
        "(parked = FALSE AND lease_until >= {now} - 3600)"
    };
}

/// Queues the running jobs of dead processes that `$condition` selects. The expressions read the row before
/// the update. The death is charged unless the job was parked or its lease expired more than an hour ago.
macro_rules! release {
    ($condition:literal) => {
        concat!(
            "UPDATE jobs SET status = 'queued', lease_owner = NULL, lease_until = NULL, \
             parked = FALSE, \
             attempt = attempt - CASE WHEN lease_until < {now} - 3600 THEN 1 ELSE 0 END, \
             not_before = CASE WHEN ",
            is_charged!(),
            " THEN {now} + $1 * (CASE WHEN deaths < 6 THEN 1 << CAST(deaths AS INTEGER) \
             ELSE 60 END) ELSE 0 END, \
             alone_deaths = alone_deaths + CASE WHEN alone AND computed_seconds <= death_seconds + 1 \
             AND ",
            is_charged!(),
            " THEN 1 ELSE 0 END, \
             alone = (alone OR (deaths >= $2 AND ",
            is_charged!(),
            ")), \
             death_seconds = CASE WHEN computed_seconds > death_seconds THEN computed_seconds \
             ELSE death_seconds END, \
             deaths = deaths + CASE WHEN ",
            is_charged!(),
            " THEN 1 ELSE 0 END \
             WHERE id IN (SELECT id FROM jobs WHERE status = 'running'",
            $condition,
            " {for update, skip locked}) \
             RETURNING id, owner, attempt, claims, parts, deaths, alone, alone_deaths, computed_seconds, ",
            is_unwanted!(),
            " AS cancel_requested"
        )
    };
}

const RELEASE_EXPIRED: &str = release!(" AND lease_until <= {now}");

const RELEASE_ALL: &str = release!("");

/// Returns the number of released jobs, and the number of those that failed as `poisoned`.
async fn release(
    transaction: &mut Transaction,
    text: &'static str,
    terms: &ReleaseTerms,
    now: Timestamp,
) -> Result<(u64, u64)> {
    let update = statement(text)
        .bind(terms.pause_seconds)
        .bind(SUSPECT_DEATHS - 1);
    let released = transaction.all(update).await?;
    let mut poisoned = 0;
    for row in &released {
        let id: JobId = rows::parsed(row, "id")?;
        let deaths: u32 = rows::small(row, "deaths")?;
        let alone_deaths: u32 = rows::small(row, "alone_deaths")?;
        let attempt: u32 = rows::small(row, "attempt")?;
        history::released(id, rows::small(row, "claims")?);
        let is_parent = row.get::<i64>("parts")? > 0;
        let is_unwanted: bool = row.get("cancel_requested")?;
        let has_products = is_parent || checkpoints::is_kept(transaction, id).await?;
        let ending = match is_unwanted {
            // The next worker keeps the results of a cancelled job and of its subjobs.
            true if !has_products => Some(UnfinishedEnd::cancelled(attempt)),
            false if alone_deaths >= terms.deaths_max => {
                poisoned += 1;
                Some(UnfinishedEnd::poisoned(alone_deaths, attempt))
            }
            _ => None,
        };
        if let Some(ending) = ending {
            end_unfinished(transaction, id, ending, now).await?;
            continue;
        }
        if row.get("alone")? {
            let computed_seconds: f64 = row.get("computed_seconds")?;
            tracing::warn!(
                job = %id, deaths, computed_seconds,
                "processes died while they computed this job; the job now runs alone"
            );
        }
        after_requeue(transaction, row, now).await?;
    }
    Ok((released.len() as u64, poisoned))
}

/// Records that a job is queued again, and cancels the job if a client has requested its end. A job with a
/// checkpoint is ended by the next worker, which keeps the learnt state. A job without a checkpoint ends at
/// once.
async fn after_requeue(transaction: &mut Transaction, row: &Row, now: Timestamp) -> Result<()> {
    let id: JobId = rows::parsed(row, "id")?;
    let attempt: u32 = rows::small(row, "attempt")?;
    if row.get::<i64>("parts")? > 0 {
        // Clients see a parent as running. All of its subjobs have ended, and the next worker gathers them even
        // if they were cancelled.
        return Ok(());
    }
    let queued = [NewEvent::status(Status::Queued, attempt, now)];
    events::append(transaction, id, &queued).await?;
    if row.get("cancel_requested")? {
        if checkpoints::is_kept(transaction, id).await? {
            return request_end(transaction, id).await;
        }
        end_unfinished(transaction, id, UnfinishedEnd::cancelled(attempt), now).await?;
    }
    Ok(())
}

async fn cancel(
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
    // The job is locked, so its row cannot change before the transaction ends.
    let mut job = rows::job(&row)?;
    match job.lineage {
        JobTree::Subjob { parent, .. } => return Ok(CancelOutcome::SubjobOf { parent }),
        JobTree::Parent { left, .. } if left > 0 && !job.status.is_ended() => {
            return subjobs::cancel(transaction, job, now).await;
        }
        JobTree::Parent { .. } | JobTree::Single => {}
    }
    match job.status {
        Status::Queued if job.cancel_requested => {
            // A rollback releases its locks late, and claims pass over locked rows.
            transaction.commit().await?;
            Ok(CancelOutcome::AlreadyRequested(job))
        }
        Status::Queued if checkpoints::is_kept(&mut transaction, id).await? => {
            request_end(&mut transaction, id).await?;
            transaction.commit().await?;
            job.cancel_requested = true;
            Ok(CancelOutcome::Requested(job))
        }
        Status::Queued => {
            let ending = UnfinishedEnd::cancelled(job.attempt);
            let row = end_unfinished(&mut transaction, id, ending, now).await?;
            let job = rows::job(&row)?;
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

/// Lets a worker end a queued job soon and keep the result of its checkpoint.
async fn request_end(transaction: &mut Transaction, id: JobId) -> Result<()> {
    let update = "UPDATE jobs SET cancel_requested = TRUE, level = 0, not_before = 0 WHERE id = $1";
    let update = statement(update).bind(id.to_string());
    transaction.execute(update).await.map(|_| ())
}

/// Ends a job without a result, with its last two events, even if a worker holds the job. A subjob is counted
/// off at its parent. The caller has checked in this transaction that the job has not ended.
async fn end_unfinished(
    transaction: &mut Transaction,
    id: JobId,
    ending: UnfinishedEnd,
    now: Timestamp,
) -> Result<Row> {
    let error = ending.error.clone();
    let row = end_row(transaction, id, ending, now).await?;
    if let Some(parent) = rows::parsed_if(&row, "parent")? {
        let ended = EndedSubjob {
            job: id,
            parent,
            index: rows::small(&row, "part")?,
            error: error.as_ref(),
            progress: rows::from_json_if(&row, "progress")?.unwrap_or_default(),
            at: now,
        };
        subjobs::ended(transaction, &ended).await?;
    }
    Ok(row)
}

/// Fails a claimed job with a damaged row. The job is not computed and does not delay other jobs.
pub(super) async fn fail_damaged(
    transaction: &mut Transaction,
    row: &Row,
    damage: &str,
    now: Timestamp,
) -> Result<()> {
    let error = JobError {
        code: JobError::DATA_CORRUPT.to_owned(),
        detail: format!("the stored request is damaged: {damage}"),
    };
    let ending = UnfinishedEnd {
        status: Status::Failed,
        error: Some(error),
        attempt: rows::small(row, "attempt")?,
    };
    let id = rows::parsed(row, "id")?;
    tracing::error!(job = %id, damage, "the row of a job is damaged; the job fails");
    end_unfinished(transaction, id, ending, now).await?;
    Ok(())
}
