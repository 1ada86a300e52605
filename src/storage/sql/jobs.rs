//! Statements that store, read and delete jobs as records. The statements of their computation are in
//! `queue`.

use super::super::error::Result;
use super::super::error::StoreError;
use super::super::history::{self, Facts};
use super::super::lease::{DeleteOutcome, Lease, Swept, WorkerId};
use super::super::quota::Usage;
use super::super::terms::JobFilter;
use super::database::{Transaction, statement};
use super::digests::{JOB, JOB_END, TRACE};
use super::events::{self, NewEvent};
use super::rows::{SPEC_SCHEMA, job_columns, shown_status};
use super::{Store, callbacks, datasets, idempotency, models, rows, shares, usage};
use crate::records::id::JobKind;
use crate::records::{
    Job, JobId, JobTree, KeyClaim, Model, ModelId, Owner, Page, Slice, Status, Timestamp,
};

impl Store {
    /// Stores a queued job with its first event. If the id is already stored, nothing changes.
    ///
    /// # Errors
    /// [`StoreError::DatasetMissing`] when the owner has no such dataset. From the insert until its end, a
    /// job pins its dataset.
    pub async fn insert_job(&self, job: &Job, key: Option<&KeyClaim>) -> Result<()> {
        self.ensure_row_space().await?;
        history::recorded(|| Facts::of_insert(job), async {
            demand(job, job.status == Status::Queued)?;
            let queued = [NewEvent::status(
                Status::Queued,
                job.attempt,
                job.created_at,
            )];
            let mut transaction = self.database.begin().await?;
            idempotency::claim(&mut transaction, key, &job.owner, job.id, job.created_at).await?;
            shares::activate(&mut transaction, &job.owner).await?;
            if insert(&mut transaction, job, None, &queued).await? {
                let asked = Usage {
                    jobs_queued: 1,
                    stored_bytes: job.data_bytes,
                    ..Usage::default()
                };
                usage::admit(&mut transaction, &self.quotas, &job.owner, &asked).await?;
                transaction.commit().await?;
            }
            Ok(())
        })
        .await
    }

    /// Stores a job that `worker` already computes (status `running`, attempt 1) with the events `queued` and
    /// `running`, and gives the worker its lease.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when the id is already stored, except by an earlier call of the same worker;
    /// [`StoreError::DatasetMissing`] as for a queued job.
    pub async fn insert_running_job(
        &self,
        job: &Job,
        worker: &WorkerId,
        lease_seconds: u32,
        key: Option<&KeyClaim>,
    ) -> Result<Lease> {
        self.ensure_row_space().await?;
        history::recorded(
            || Facts {
                worker: Some(worker),
                seconds: Some(lease_seconds),
                ..Facts::of_insert(job)
            },
            async {
                demand(job, job.status == Status::Running && job.attempt == 1)?;
                let lease = Lease {
                    job: job.id,
                    worker: worker.clone(),
                    attempt: 1,
                    claim: 1,
                };
                let begun = begun_events(job, 1);
                let mut transaction = self.database.begin().await?;
                idempotency::claim(&mut transaction, key, &job.owner, job.id, job.created_at)
                    .await?;
                shares::activate(&mut transaction, &job.owner).await?;
                if insert(&mut transaction, job, Some((worker, lease_seconds)), &begun).await? {
                    let asked = Usage {
                        stored_bytes: job.data_bytes,
                        ..Usage::default()
                    };
                    usage::admit(&mut transaction, &self.quotas, &job.owner, &asked).await?;
                    transaction.commit().await?;
                    return Ok(lease);
                }
                // The job is already stored, either by a call whose answer was lost or by another caller.
                let select = statement(
                    "SELECT 1 FROM jobs WHERE id = $1 AND status = 'running' AND lease_owner = $2 \
                 AND attempt = 1 AND claims = 1",
                )
                .bind(job.id.to_string())
                .bind(worker.as_str());
                let held = transaction.optional(select).await?;
                held.map(|_| lease)
                    .ok_or_else(|| StoreError::Conflict(job.id.to_string()))
            },
        )
        .await
    }

    /// Stores a job that ended before any client knew its id, with its model, trace and all four events, in
    /// one transaction. If the id is already stored, nothing changes.
    pub async fn insert_ended_job(
        &self,
        job: &Job,
        model: Option<&Model>,
        trace: Option<&[u8]>,
        key: Option<&KeyClaim>,
    ) -> Result<()> {
        self.ensure_row_space().await?;
        history::recorded(|| Facts::of_insert(job), async {
            let finished_at = job.finished_at.filter(|_| job.status.is_ended());
            demand(job, finished_at.is_some())?;
            let mut all = Vec::from(begun_events(job, job.attempt));
            all.extend(NewEvent::end(
                job.status,
                job.attempt,
                finished_at.unwrap_or(job.created_at),
            ));
            let mut transaction = self.database.begin().await?;
            idempotency::claim(&mut transaction, key, &job.owner, job.id, job.created_at).await?;
            if insert(&mut transaction, job, None, &all).await? {
                let stored =
                    insert_products(&mut transaction, job.id, &job.owner, model, trace).await?;
                if let Some(callback) = &job.callback {
                    callbacks::owe(&mut transaction, job.id, &job.owner, callback).await?;
                }
                let asked = Usage {
                    stored_bytes: stored,
                    ..Usage::default()
                };
                usage::admit(&mut transaction, &self.quotas, &job.owner, &asked).await?;
                transaction.commit().await?;
            }
            Ok(())
        })
        .await
    }

    /// The owner's job with this id.
    pub async fn job(&self, owner: &Owner, id: JobId) -> Result<Option<Job>> {
        let select = concat!(
            "SELECT ",
            job_columns!(),
            " FROM jobs WHERE id = $1 AND owner = $2"
        );
        let select = statement(select).bind(id.to_string()).bind(owner.as_str());
        let row = self.database.optional(select).await?;
        row.as_ref().map(rows::job).transpose()
    }

    /// A page of the owner's jobs, newest first.
    pub async fn jobs(
        &self,
        owner: &Owner,
        filter: &JobFilter,
        page: &Page<JobKind>,
        shorten: fn(&mut Job),
    ) -> Result<Slice<Job, JobKind>> {
        let text = match filter.parent {
            None => LIST,
            Some(_) => LIST_PARTS,
        };
        let mut select = statement(text)
            .bind(owner.as_str())
            .bind(rows::before(page))
            .bind(filter.status.map(Status::as_str))
            .bind(filter.task.as_deref())
            .bind(filter.learner.as_deref())
            .bind(page.limit() + 1);
        if let Some(parent) = filter.parent {
            select = select.bind(parent.to_string());
        }
        let take = move |row| {
            let mut job = rows::job(&row)?;
            shorten(&mut job);
            Ok(job)
        };
        let items = self.database.each(select, take).await?;
        Ok(Slice::from_one_more(items, page, |job| job.id))
    }

    /// Deletes an ended job with its events, trace, subjobs and callback, delivered or not. The model stays.
    pub async fn delete_job(&self, owner: &Owner, id: JobId) -> Result<DeleteOutcome> {
        let write = || async move {
            let mut transaction = self.database.begin().await?;
            let select = statement(
                "SELECT parent, parts, finished_at FROM jobs WHERE id = $1 AND owner = $2",
            )
            .bind(id.to_string())
            .bind(owner.as_str());
            let Some(row) = transaction.optional(select).await? else {
                return Ok(DeleteOutcome::NotFound);
            };
            if let Some(parent) = rows::parsed_if(&row, "parent")? {
                return Ok(DeleteOutcome::SubjobOf { parent });
            }
            // An ended job never changes back.
            if row.get::<Option<i64>>("finished_at")?.is_none() {
                return Ok(DeleteOutcome::NotEnded);
            }
            if row.get::<i64>("parts")? > 0 {
                // The subjobs come before their parent, as in every transaction that locks both. Some subjobs may still
                // run if another subjob failed.
                let delete = statement("DELETE FROM jobs WHERE parent = $1").bind(id.to_string());
                transaction.execute(delete).await?;
            }
            // Events, trace and callback are deleted with the job.
            let delete = statement("DELETE FROM jobs WHERE id = $1 RETURNING data_key");
            let deleted = transaction.optional(delete.bind(id.to_string())).await?;
            let Some(row) = deleted else {
                return Ok(DeleteOutcome::NotFound);
            };
            let data_key = row.get("data_key")?;
            transaction.commit().await?;
            Ok(DeleteOutcome::Deleted { data_key })
        };
        history::recorded(|| Facts::of_job("delete", id), self.with_reserve(write)).await
    }

    /// Deletes at most `limit` jobs of all owners that ended before `ended_before`, oldest first. Subjobs are
    /// deleted with their parent and count towards the limit.
    pub async fn sweep_jobs(&self, ended_before: Timestamp, limit: u32) -> Result<Swept> {
        let write = || async move {
            let mut transaction = self.database.begin().await?;
            let delete = statement(SWEEP)
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
        };
        history::recorded(|| Facts::of("sweep"), self.with_reserve(write)).await
    }

    /// The trace of the owner's job, if any.
    pub async fn trace(&self, owner: &Owner, id: JobId) -> Result<Option<Vec<u8>>> {
        let select = "SELECT job, body, digest FROM traces WHERE job = $1 AND owner = $2";
        let select = statement(select).bind(id.to_string()).bind(owner.as_str());
        let row = self.database.optional(select).await?;
        let body = row.map(|row| {
            TRACE.check(&row, "digest")?;
            row.get("body")
        });
        body.transpose()
    }

    /// The keys of the blobs of datasets and of jobs that have not ended: at most `limit`, in order, after
    /// the key `after`. A blob is stored before its record. A blob that is not listed here is therefore an
    /// orphan only when it is old.
    pub async fn data_keys_in_use(&self, after: Option<&str>, limit: u32) -> Result<Vec<String>> {
        let mut keys: Vec<String> = Vec::new();
        for text in [DATA_KEYS, datasets::DATA_KEYS] {
            let select = statement(text).bind(after.unwrap_or("")).bind(limit);
            let found = self.database.all(select).await?;
            for row in &found {
                keys.push(row.get("data_key")?);
            }
        }
        // The first keys of both lists are among the first keys of each list.
        keys.sort_unstable();
        keys.truncate(limit as usize);
        Ok(keys)
    }
}

/// Stores the model and the trace of a job. Returns the number of stored bytes that count.
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
        let insert = "INSERT INTO traces (job, owner, body, digest) VALUES ($1, $2, $3, $4)";
        let insert = statement(insert)
            .bind(job.to_string())
            .bind(owner.as_str())
            .bind(trace)
            .bind(TRACE.of([job.to_string().into(), trace.into()]));
        transaction.execute(insert).await?;
    }
    Ok(stored)
}

/// The first two events of a job that was never queued.
fn begun_events(job: &Job, attempt: u32) -> [NewEvent; 2] {
    let started_at = job.started_at.unwrap_or(job.created_at);
    [
        NewEvent::status(Status::Queued, 0, job.created_at),
        NewEvent::status(Status::Running, attempt, started_at),
    ]
}

/// Refuses a job whose status does not fit the calling method, which is a mistake in this program.
fn demand(job: &Job, fits: bool) -> Result<()> {
    if fits {
        return Ok(());
    }
    Err(StoreError::other(format!(
        "{} cannot be inserted with the status {}",
        job.id, job.status
    )))
}

pub(super) fn lineage_columns(lineage: JobTree) -> (Option<String>, Option<i64>) {
    match lineage {
        JobTree::Subjob { parent, index } => (Some(parent.to_string()), Some(index.into())),
        JobTree::Single | JobTree::Parent { .. } => (None, None),
    }
}

/// The digest of a client's request for a job.
pub(super) fn digest(job: &Job) -> Result<Vec<u8>> {
    let (parent, subjob) = lineage_columns(job.lineage);
    // Subjobs are stored without these columns.
    let own = |text: Option<_>| text.filter(|_| parent.is_none()).into();
    let (name, data_key) = (own(job.name.as_deref()), own(job.data_key.as_deref()));
    let callback = job.callback.as_ref().map(|callback| callback.url.as_str());
    let callback = own(callback);
    let subjobs = match job.lineage {
        JobTree::Parent { subjobs, .. } => subjobs,
        JobTree::Single | JobTree::Subjob { .. } => 0,
    };
    Ok(JOB.of([
        job.id.to_string().into(),
        job.task.as_str().into(),
        job.learner.as_deref().into(),
        name,
        rows::json(&job.spec)?.into(),
        data_key,
        job.data_sha256.as_deref().into(),
        rows::signed(job.seed)?.into(),
        i64::from(job.priority).into(),
        job.created_at.milliseconds().into(),
        job.dataset.map(|dataset| dataset.to_string()).into(),
        callback,
        parent.into(),
        subjob.into(),
        subjobs.into(),
    ]))
}

/// The digest of the end of a job. Result and error have their stored form.
pub(super) fn end_digest(
    id: JobId,
    status: Status,
    [result, error]: [Option<&str>; 2],
    model: Option<ModelId>,
    finished_at: Timestamp,
) -> Vec<u8> {
    JOB_END.of([
        id.to_string().into(),
        status.as_str().into(),
        result.into(),
        error.into(),
        model.map(|model| model.to_string()).into(),
        finished_at.milliseconds().into(),
    ])
}

fn digest_if_ended(job: &Job) -> Result<Option<Vec<u8>>> {
    let result = rows::json_if(job.result.as_ref())?;
    let error = rows::json_if(job.error.as_ref())?;
    let texts = [result.as_deref(), error.as_deref()];
    let digest = |at| end_digest(job.id, job.status, texts, job.model, at);
    Ok(job.finished_at.map(digest))
}

/// The expected seconds of a job. An infinite number is stored as the largest finite number.
pub(super) fn stored_seconds(job: &Job) -> f64 {
    job.demand.seconds.min(f64::MAX)
}

/// Stores the row and the events of a job unless the id is already stored. Returns whether the job was
/// stored. Subjobs are stored with their parent: see [`super::subjobs`].
pub(super) async fn insert(
    transaction: &mut Transaction,
    job: &Job,
    lease: Option<(&WorkerId, u32)>,
    events: &[NewEvent],
) -> Result<bool> {
    // The dataset is locked before the usage is counted, in the same order as in a deletion of the dataset.
    datasets::demand_of(transaction, job).await?;
    let event_sequence = events.len() as i64;
    let subjobs = match job.lineage {
        JobTree::Parent { subjobs, .. } => subjobs,
        JobTree::Single | JobTree::Subjob { .. } => 0,
    };
    let insert = statement(
        "INSERT INTO jobs (id, owner, task, learner, name, status, spec, data_key, data_sha256, \
         seed, attempt, priority, created_at, started_at, finished_at, progress, result, error, \
         model, cancel_requested, lease_owner, lease_until, claims, event_sequence, dataset, \
         callback, parts, parts_left, waits, data_bytes, digest, end_digest, level, \
         expected_seconds, memory_bytes, spec_schema, trace_parent) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, \
         $19, $20, $21, {now} + $22, $23, $24, $25, $26, $27, $27, $28, $29, $30, $31, $32, \
         $33, $34, $35, $36) \
         ON CONFLICT (id) DO NOTHING",
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
    // Without a lease there are no seconds, so the sum is null.
    .bind(lease.map(|(_, seconds)| i64::from(seconds)))
    .bind(job.attempt)
    .bind(event_sequence)
    .bind(job.dataset.map(|dataset| dataset.to_string()))
    .bind(job.callback.as_ref().map(|callback| callback.url.as_str()))
    .bind(subjobs)
    .bind(subjobs > 0)
    .bind(rows::signed(job.data_bytes)?)
    .bind(digest(job)?)
    .bind(digest_if_ended(job)?)
    .bind(job.demand.level(0.0))
    .bind(stored_seconds(job))
    .bind(rows::signed(job.demand.memory_bytes)?)
    .bind(SPEC_SCHEMA)
    .bind(job.trace_parent.map(|parent| parent.to_string()));
    let inserted = transaction.execute(insert).await?;
    if inserted == 0 {
        return Ok(false);
    }
    events::write(transaction, job.id, &job.owner, event_sequence, events).await?;
    Ok(true)
}

/// A page of an owner's jobs without their subjobs.
pub(super) const LIST: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE owner = $1 AND parent IS NULL AND id < $2 \
     AND ($3 IS NULL OR ",
    shown_status!(),
    " = $3) AND ($4 IS NULL OR task = $4) \
     AND ($5 IS NULL OR learner = $5) ORDER BY id DESC LIMIT $6"
);

/// A page of the subjobs of an owner's job.
pub(super) const LIST_PARTS: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE owner = $1 AND parent = $7 AND id < $2 \
     AND ($3 IS NULL OR status = $3) AND ($4 IS NULL OR task = $4) \
     AND ($5 IS NULL OR learner = $5) ORDER BY id DESC LIMIT $6"
);

/// Deletes jobs that are old enough. A subjob waits until its parent is old enough, so that no statement
/// deletes more rows than its limit.
const SWEEP: &str = "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE finished_at < $1 \
     AND (parent IS NULL OR NOT EXISTS (SELECT 1 FROM jobs AS whole WHERE whole.id = jobs.parent \
     AND (whole.finished_at IS NULL OR whole.finished_at >= $1))) \
     ORDER BY finished_at LIMIT $2 {for update, skip locked}) RETURNING data_key";

/// The first two conditions name the partial index, which contains no ended jobs.
pub(super) const DATA_KEYS: &str = "SELECT DISTINCT data_key FROM jobs \
     WHERE data_key IS NOT NULL AND finished_at IS NULL AND data_key > $1 \
     ORDER BY data_key LIMIT $2";
