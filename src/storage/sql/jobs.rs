//! Statements that store, read and delete jobs as records. Those of their computation are in `queue`.

use super::super::error::Result;
use super::super::error::StoreError;
use super::super::history::{self, Facts};
use super::super::lease::{DeleteOutcome, Lease, Swept, WorkerId};
use super::super::quota::Usage;
use super::super::terms::JobFilter;
use super::database::{NewRow, Row, Statement, Transaction, statement};
use super::digests::DigestColumn::{Bytes, Text};
use super::digests::DigestColumns;
use super::events::{self, NewEvent};
use super::rows::{SPEC_SCHEMA, job_columns, shown_status};
use super::store::Store;
use super::stored::{self, Checked, Stored};
use super::{callbacks, datasets, idempotency, rows, shares, usage};
use crate::records::id::JobKind;
use crate::records::{
    Job, JobId, JobTree, KeyClaim, Model, ModelId, Owner, Page, Slice, Status, Timestamp,
};

pub(super) const TRACE: DigestColumns = DigestColumns {
    kind: "trace of job",
    columns: &[Text("job"), Bytes("body")],
};

impl Store {
    /// Stores a queued job with its first event. If the id is already stored, nothing changes. From now until its
    /// end, the job pins its dataset.
    ///
    /// # Errors
    /// [`StoreError::DatasetMissing`] when the owner has no such dataset.
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
                let asked = usage_of(job);
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
                    let asked = usage_of(job);
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
                let asked =
                    insert_products(&mut transaction, job.id, &job.owner, model, trace).await?;
                if let Some(callback) = &job.callback {
                    callbacks::owe(&mut transaction, job.id, &job.owner, callback).await?;
                }
                usage::admit(&mut transaction, &self.quotas, &job.owner, &asked).await?;
                transaction.commit().await?;
            }
            Ok(())
        })
        .await
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

    /// Deletes at most `limit` jobs of all owners that ended before `ended_before`, oldest first. Subjobs go with
    /// their parent and count towards the limit.
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

    /// The keys of the blobs of datasets and of jobs that have not ended: at most `limit`, in order, after the key
    /// `after`. Since a blob is stored before its record, one that is not listed here is an orphan only if it is old.
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

/// Stores the model and the trace of a job. Returns what was added to the usage of the owner.
pub(super) async fn insert_products(
    transaction: &mut Transaction,
    job: JobId,
    owner: &Owner,
    model: Option<&Model>,
    trace: Option<&[u8]>,
) -> Result<Usage> {
    let stored = match model {
        Some(model) => stored::insert(transaction, model).await?,
        None => Usage::default(),
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

impl Stored for JobKind {
    type Thing = Job;
    type Item = Job;

    const TABLE: &'static str = "jobs";
    const COLUMNS: &'static str = job_columns!();

    fn thing(row: &Row) -> Result<Job> {
        rows::job(row)
    }

    fn item(row: &Row) -> Result<Job> {
        rows::job(row)
    }

    /// The data of a job that has not ended. An ended job has none.
    fn beyond(job: Job) -> Checked {
        match job.status.is_ended() {
            true => Checked::default(),
            false => Checked {
                data: job.data_key.map(|key| (key, job.data_sha256)),
                dataset: job.dataset,
                ..Checked::default()
            },
        }
    }
}

/// What a new job takes of the quotas.
pub(super) fn usage_of(job: &Job) -> Usage {
    Usage {
        jobs_queued: (job.status == Status::Queued).into(),
        stored_bytes: job.data_bytes,
        ..Usage::default()
    }
}

/// The row of a job without its lease and its events. A part leaves what belongs to the whole to its parent.
pub(super) fn row(job: &Job) -> Result<NewRow> {
    let (parent, part) = match job.lineage {
        JobTree::Subjob { parent, index } => (Some(parent.to_string()), Some(i64::from(index))),
        JobTree::Single | JobTree::Parent { .. } => (None, None),
    };
    let parts = match job.lineage {
        JobTree::Parent { subjobs, .. } => subjobs,
        JobTree::Single | JobTree::Subjob { .. } => 0,
    };
    let own = |text: Option<_>| text.filter(|_| parent.is_none()).into();
    let callback = job.callback.as_ref().map(|callback| callback.url.as_str());
    let data_bytes = parent.as_ref().map_or(job.data_bytes, |_| 0);
    let row = NewRow::of(
        JobKind::TABLE,
        [
            ("id", job.id.to_string().into()),
            ("owner", job.owner.as_str().into()),
            ("task", job.task.as_str().into()),
            ("learner", job.learner.as_deref().into()),
            ("name", own(job.name.as_deref())),
            ("status", job.status.as_str().into()),
            ("spec", rows::json(&job.spec)?.into()),
            ("data_key", own(job.data_key.as_deref())),
            ("data_sha256", job.data_sha256.as_deref().into()),
            ("data_bytes", rows::signed(data_bytes)?.into()),
            ("seed", rows::signed(job.seed)?.into()),
            ("attempt", job.attempt.into()),
            ("claims", job.attempt.into()),
            ("priority", i64::from(job.priority).into()),
            ("created_at", job.created_at.milliseconds().into()),
            (
                "started_at",
                job.started_at.map(Timestamp::milliseconds).into(),
            ),
            (
                "finished_at",
                job.finished_at.map(Timestamp::milliseconds).into(),
            ),
            ("progress", rows::json(&job.progress)?.into()),
            ("result", rows::json_if(job.result.as_ref())?.into()),
            ("error", rows::json_if(job.error.as_ref())?.into()),
            ("model", job.model.map(|model| model.to_string()).into()),
            ("cancel_requested", job.cancel_requested.into()),
            (
                "dataset",
                job.dataset.map(|dataset| dataset.to_string()).into(),
            ),
            ("callback", own(callback)),
            ("parts", parts.into()),
            ("parts_left", parts.into()),
            ("waits", (parts > 0).into()),
            ("level", job.demand.level(0.0).into()),
            // An infinite number is stored as the largest finite number.
            ("expected_seconds", job.demand.seconds.min(f64::MAX).into()),
            (
                "memory_bytes",
                rows::signed(job.demand.memory_bytes)?.into(),
            ),
            ("spec_schema", SPEC_SCHEMA.into()),
            (
                "trace_parent",
                job.trace_parent.map(|parent| parent.to_string()).into(),
            ),
            ("parent", parent.clone().into()),
            ("part", part.into()),
        ],
    );
    let digest = rows::JOB.of_rows(&[&row]);
    let end = job.finished_at.map(|_| rows::JOB_END.of_rows(&[&row]));
    Ok(row.and("digest", digest).and("end_digest", end))
}

/// The digest of the end of a job. Result and error have their stored form.
pub(super) fn end_digest(
    id: JobId,
    status: Status,
    [result, error]: [Option<&str>; 2],
    model: Option<ModelId>,
    finished_at: Timestamp,
) -> Vec<u8> {
    rows::JOB_END.of([
        id.to_string().into(),
        status.as_str().into(),
        result.into(),
        error.into(),
        model.map(|model| model.to_string()).into(),
        finished_at.milliseconds().into(),
    ])
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
    let row = row(job)?
        .and("event_sequence", event_sequence)
        .and("lease_owner", lease.map(|(worker, _)| worker.as_str()))
        .and_from_now("lease_until", lease.map(|(_, seconds)| seconds.into()));
    let insert = Statement::insert([row], " ON CONFLICT (id) DO NOTHING");
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
