//! The statements of jobs as records: storing, reading, deleting. Who computes them is in `queue`.

use super::super::quota::{Quotas, Usage};
use super::super::{DeleteOutcome, JobFilter, Lease, Result, StoreError, Swept, WorkerId};
use super::database::{Database, Transaction, statement};
use super::events::{self, Unnumbered};
use super::rows::job_columns;
use super::{callbacks, datasets, idempotency, models, rows, usage};
use crate::records::id::JobKind;
use crate::records::{Job, JobId, KeyClaim, Model, Owner, Page, Slice, Status, Timestamp};

pub(super) async fn insert_queued(
    database: &Database,
    quotas: &Quotas,
    job: &Job,
    key: Option<&KeyClaim>,
) -> Result<()> {
    demand(job, job.status == Status::Queued)?;
    let queued = [Unnumbered::status(
        Status::Queued,
        job.attempt,
        job.created_at,
    )];
    let mut transaction = database.begin().await?;
    idempotency::claim(&mut transaction, key, &job.owner, job.id, job.created_at).await?;
    if insert(&mut transaction, job, None, &queued).await? {
        let asked = Usage {
            jobs_queued: 1,
            stored_bytes: job.data_bytes,
            ..Usage::default()
        };
        usage::admit(&mut transaction, quotas, &job.owner, &asked).await?;
        transaction.commit().await?;
    }
    Ok(())
}

pub(super) async fn insert_running(
    database: &Database,
    quotas: &Quotas,
    job: &Job,
    worker: &WorkerId,
    lease_seconds: u32,
    key: Option<&KeyClaim>,
) -> Result<Lease> {
    demand(job, job.status == Status::Running && job.attempt == 1)?;
    let lease = Lease {
        job: job.id,
        worker: worker.clone(),
        attempt: 1,
        claim: 1,
    };
    let begun = begun_events(job, 1);
    let mut transaction = database.begin().await?;
    idempotency::claim(&mut transaction, key, &job.owner, job.id, job.created_at).await?;
    if insert(&mut transaction, job, Some((worker, lease_seconds)), &begun).await? {
        let asked = Usage {
            stored_bytes: job.data_bytes,
            ..Usage::default()
        };
        usage::admit(&mut transaction, quotas, &job.owner, &asked).await?;
        transaction.commit().await?;
        return Ok(lease);
    }
    // Stored before: by this very call, when its first answer was lost, or by somebody else.
    let select = statement(
        "SELECT 1 FROM jobs WHERE id = $1 AND status = 'running' AND lease_owner = $2 \
         AND attempt = 1 AND claims = 1",
    )
    .bind(job.id.to_string())
    .bind(worker.as_str());
    let held = transaction.optional(select).await?;
    held.map(|_| lease)
        .ok_or_else(|| StoreError::Conflict(job.id.to_string()))
}

pub(super) async fn insert_ended(
    database: &Database,
    quotas: &Quotas,
    job: &Job,
    model: Option<&Model>,
    trace: Option<&[u8]>,
    key: Option<&KeyClaim>,
) -> Result<()> {
    let finished_at = job.finished_at.filter(|_| job.status.is_ended());
    demand(job, finished_at.is_some())?;
    let mut all = Vec::from(begun_events(job, job.attempt));
    all.extend(Unnumbered::end(
        job.status,
        job.attempt,
        finished_at.unwrap_or(job.created_at),
    ));
    let mut transaction = database.begin().await?;
    idempotency::claim(&mut transaction, key, &job.owner, job.id, job.created_at).await?;
    if insert(&mut transaction, job, None, &all).await? {
        let stored = insert_products(&mut transaction, job.id, &job.owner, model, trace).await?;
        if job.callback.is_some() {
            callbacks::owe(&mut transaction, job.id, &job.owner).await?;
        }
        let asked = Usage {
            stored_bytes: stored,
            ..Usage::default()
        };
        usage::admit(&mut transaction, quotas, &job.owner, &asked).await?;
        transaction.commit().await?;
    }
    Ok(())
}

/// What a job leaves beside its result; how many bytes of it count.
pub(super) async fn insert_products(
    transaction: &mut Transaction,
    job: JobId,
    owner: &Owner,
    model: Option<&Model>,
    trace: Option<&[u8]>,
) -> Result<u64> {
    let stored = match model {
        Some(model) => models::insert(transaction, model).await?,
        None => 0,
    };
    if let Some(trace) = trace {
        let insert = statement("INSERT INTO traces (job, owner, body) VALUES ($1, $2, $3)")
            .bind(job.to_string())
            .bind(owner.as_str())
            .bind(trace);
        transaction.execute(insert).await?;
    }
    Ok(stored)
}

/// The first two events of a job that never waited in the queue.
fn begun_events(job: &Job, attempt: u32) -> [Unnumbered; 2] {
    let started_at = job.started_at.unwrap_or(job.created_at);
    [
        Unnumbered::status(Status::Queued, 0, job.created_at),
        Unnumbered::status(Status::Running, attempt, started_at),
    ]
}

/// Refuses a job whose status does not fit the method that it was given to: a mistake in this
/// program.
fn demand(job: &Job, fits: bool) -> Result<()> {
    if fits {
        return Ok(());
    }
    Err(StoreError::other(format!(
        "{} cannot be stored like this as {}",
        job.id, job.status
    )))
}

/// Stores the job's row and its events, unless its id is stored already; whether it did.
async fn insert(
    transaction: &mut Transaction,
    job: &Job,
    lease: Option<(&WorkerId, u32)>,
    events: &[Unnumbered],
) -> Result<bool> {
    // First: who deletes a dataset locks it before he counts.
    datasets::demand_of(transaction, job).await?;
    let event_sequence = events.len() as i64;
    let insert = statement(
        "INSERT INTO jobs (id, owner, task, learner, name, status, spec, data_key, data_sha256, \
         seed, attempt, priority, created_at, started_at, finished_at, progress, result, error, \
         model, cancel_requested, lease_owner, lease_until, claims, event_sequence, dataset, \
         callback, data_bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, \
         $15, $16, $17, $18, $19, $20, $21, {now} + $22, $23, $24, $25, $26, $27) ON CONFLICT (id) DO NOTHING",
    )
    .bind(job.id.to_string())
    .bind(job.owner.as_str())
    .bind(job.task.as_str())
    .bind(job.learner.as_deref())
    .bind(job.name.as_deref())
    .bind(job.status.as_str())
    .bind(rows::json(&job.spec)?)
    .bind(job.data_key.as_deref())
    .bind(job.data_sha256.as_deref())
    .bind(rows::signed(job.seed)?)
    .bind(job.attempt)
    .bind(i64::from(job.priority))
    .bind(job.created_at.milliseconds())
    .bind(job.started_at.map(Timestamp::milliseconds))
    .bind(job.finished_at.map(Timestamp::milliseconds))
    .bind(rows::json(&job.progress)?)
    .bind(rows::json_if(job.result.as_ref())?)
    .bind(rows::json_if(job.error.as_ref())?)
    .bind(job.model.map(|model| model.to_string()))
    .bind(job.cancel_requested)
    .bind(lease.map(|(worker, _)| worker.as_str()))
    // Without a lease there are no seconds, and the sum is null.
    .bind(lease.map(|(_, seconds)| i64::from(seconds)))
    .bind(job.attempt)
    .bind(event_sequence)
    .bind(job.dataset.map(|dataset| dataset.to_string()))
    .bind(job.callback.as_ref().map(|callback| callback.url.as_str()))
    .bind(rows::signed(job.data_bytes)?);
    let inserted = transaction.execute(insert).await?;
    if inserted == 0 {
        return Ok(false);
    }
    events::write(transaction, job.id, &job.owner, event_sequence, events).await?;
    Ok(true)
}

pub(super) async fn one(database: &Database, owner: &Owner, id: JobId) -> Result<Option<Job>> {
    let select = concat!(
        "SELECT ",
        job_columns!(),
        " FROM jobs WHERE id = $1 AND owner = $2"
    );
    let select = statement(select).bind(id.to_string()).bind(owner.as_str());
    let row = database.optional(select).await?;
    row.as_ref().map(rows::job).transpose()
}

/// A page of an owner's jobs.
pub(super) const LIST: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE owner = $1 AND id < $2 \
     AND ($3 IS NULL OR status = $3) AND ($4 IS NULL OR task = $4) \
     AND ($5 IS NULL OR learner = $5) ORDER BY id DESC LIMIT $6"
);

pub(super) async fn list(
    database: &Database,
    owner: &Owner,
    filter: &JobFilter,
    page: &Page<JobKind>,
) -> Result<Slice<Job, JobKind>> {
    let select = statement(LIST)
        .bind(owner.as_str())
        .bind(rows::before(page))
        .bind(filter.status.map(Status::as_str))
        .bind(filter.task.as_deref())
        .bind(filter.learner.as_deref())
        .bind(page.limit() + 1);
    let found = database.all(select).await?;
    let items = found.iter().map(rows::job).collect::<Result<Vec<_>>>()?;
    Ok(Slice::from_one_more(items, page, |job| job.id))
}

pub(super) async fn delete(database: &Database, owner: &Owner, id: JobId) -> Result<DeleteOutcome> {
    let mut transaction = database.begin().await?;
    // Events, trace and callback go with it.
    let delete = statement(
        "DELETE FROM jobs WHERE id = $1 AND owner = $2 AND finished_at IS NOT NULL \
         RETURNING data_key",
    )
    .bind(id.to_string())
    .bind(owner.as_str());
    let deleted = transaction.optional(delete).await?;
    if let Some(row) = deleted {
        let data_key = row.get("data_key")?;
        transaction.commit().await?;
        return Ok(DeleteOutcome::Deleted { data_key });
    }
    let select = statement("SELECT 1 FROM jobs WHERE id = $1 AND owner = $2")
        .bind(id.to_string())
        .bind(owner.as_str());
    let there = transaction.optional(select).await?;
    Ok(if there.is_some() {
        DeleteOutcome::NotEnded
    } else {
        DeleteOutcome::NotFound
    })
}

pub(super) async fn sweep(
    database: &Database,
    ended_before: Timestamp,
    limit: u32,
) -> Result<Swept> {
    let mut transaction = database.begin().await?;
    let delete = statement(
        "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE finished_at < $1 \
         ORDER BY finished_at LIMIT $2 {for update, skip locked}) RETURNING data_key",
    )
    .bind(ended_before.milliseconds())
    .bind(limit);
    let deleted = transaction.all(delete).await?;
    transaction.commit().await?;
    let mut swept = Swept {
        jobs: deleted.len() as u64,
        data_keys: Vec::new(),
    };
    for row in &deleted {
        swept
            .data_keys
            .extend(row.get::<Option<String>>("data_key")?);
    }
    Ok(swept)
}

pub(super) async fn trace(
    database: &Database,
    owner: &Owner,
    id: JobId,
) -> Result<Option<Vec<u8>>> {
    let select = statement("SELECT body FROM traces WHERE job = $1 AND owner = $2")
        .bind(id.to_string())
        .bind(owner.as_str());
    let row = database.optional(select).await?;
    row.map(|row| row.get("body")).transpose()
}

/// The first two conditions name the partial index, which holds nothing that has ended.
pub(super) const DATA_KEYS: &str = "SELECT DISTINCT data_key FROM jobs \
     WHERE data_key IS NOT NULL AND finished_at IS NULL AND data_key > $1 \
     ORDER BY data_key LIMIT $2";

pub(super) async fn data_keys(
    database: &Database,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<String>> {
    let mut keys: Vec<String> = Vec::new();
    for text in [DATA_KEYS, datasets::DATA_KEYS] {
        let select = statement(text).bind(after.unwrap_or("")).bind(limit);
        let found = database.all(select).await?;
        for row in &found {
            keys.push(row.get("data_key")?);
        }
    }
    // The first of either are the first of both.
    keys.sort_unstable();
    keys.truncate(limit as usize);
    Ok(keys)
}

pub(super) async fn ping(database: &Database) -> Result<()> {
    // Reads the file, not only the connection.
    let select = statement("SELECT 1 FROM jobs LIMIT 1");
    database.optional(select).await?;
    Ok(())
}
