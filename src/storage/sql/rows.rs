//! Conversion between rows and records. A row that cannot be decoded is an error and never a panic.

use std::str::FromStr;

use super::super::error::Result;
use super::super::error::StoreError;
use super::super::lease::Lease;
use super::database::{Row, Statement, statement};
use super::digests::DigestColumn::{Number, Text};
use super::digests::DigestColumns;
use crate::records::id::Kind;
use crate::records::{
    Callback, Demand, Event, EventKind, Job, JobTree, Owner, Page, Rank, Status, Timestamp,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The request of a job.
pub(super) const JOB: DigestColumns = DigestColumns {
    kind: "job",
    columns: &[
        Text("id"),
        Text("task"),
        Text("learner"),
        Text("name"),
        Text("spec"),
        Text("data_key"),
        Text("data_sha256"),
        Number("seed"),
        Number("priority"),
        Number("created_at"),
        Text("dataset"),
        Text("callback"),
        Text("parent"),
        Number("part"),
        Number("parts"),
    ],
};

/// The end of a job.
pub(super) const JOB_END: DigestColumns = DigestColumns {
    kind: "end of job",
    columns: &[
        Text("id"),
        Text("status"),
        Text("result"),
        Text("error"),
        Text("model"),
        Number("finished_at"),
    ],
};

/// Whether a client has requested the end of a job, or the job is an unfinished subjob of an unwanted parent. A
/// parent is unwanted if its cancel was requested, if it has ended because another subjob failed, or if it is
/// deleted. Subjobs have no flag of their own, so one write stops all of them.
macro_rules! is_unwanted {
    () => {
        "(cancel_requested OR CASE WHEN parent IS NULL OR finished_at IS NOT NULL THEN FALSE ELSE \
         COALESCE((SELECT whole.cancel_requested OR whole.finished_at IS NOT NULL \
         FROM jobs AS whole WHERE whole.id = jobs.parent), TRUE) END)"
    };
}
pub(super) use is_unwanted;

/// The conditions of the fence, on the first four parameters. A macro for the reason given at
/// [`job_columns`].
macro_rules! fence {
    () => {
        " WHERE id = $1 AND status = 'running' AND lease_owner = $2 AND attempt = $3 \
         AND claims = $4 "
    };
}
pub(super) use fence;

/// A statement whose first four parameters identify the lease.
pub(super) fn fenced(text: &'static str, lease: &Lease) -> Statement {
    statement(text)
        .bind(lease.job.to_string())
        .bind(lease.worker.as_str())
        .bind(lease.attempt)
        .bind(lease.claim)
}

/// The schema of the requests that this program stores, and the newest that it reads. The condition of a claim repeats
/// the number.
pub(super) const SPEC_SCHEMA: i64 = 1;

/// The columns of a job that [`job`] reads. A macro because statements must be literals, so that the compiler
/// proves that they contain no foreign text.
macro_rules! job_columns {
    () => {
        concat!(
            "id, owner, task, learner, name, status, spec, data_key, data_bytes, data_sha256, seed, attempt, \
             priority, created_at, started_at, finished_at, progress, result, error, model, \
             claims, dataset, callback, level, expected_seconds, memory_bytes, parent, part, \
             parts, parts_left, trace_parent, digest, end_digest, ",
            $crate::storage::sql::rows::is_unwanted!(),
            " AS cancel_requested, \
             CASE WHEN callback IS NOT NULL THEN \
             (SELECT state FROM callbacks WHERE callbacks.job = jobs.id) END AS callback_state, \
             CASE WHEN callback IS NOT NULL THEN \
             (SELECT failures FROM callbacks WHERE callbacks.job = jobs.id) \
             END AS callback_failures, \
             CASE WHEN callback IS NOT NULL THEN \
             (SELECT last_error FROM callbacks WHERE callbacks.job = jobs.id) END AS callback_error"
        )
    };
}
pub(super) use job_columns;

/// The status that clients see. A parent whose subjobs have begun is shown as running, although the parent
/// itself is queued to gather its subjobs.
macro_rules! shown_status {
    () => {
        "(CASE WHEN status = 'queued' AND parts > 0 AND started_at IS NOT NULL THEN 'running' \
         ELSE status END)"
    };
}
pub(super) use shown_status;

/// The exclusive upper bound of the ids of a page. The first page uses a text that sorts after every id. A
/// condition that also allowed null would prevent a search of the index.
pub(super) fn before<K: Kind>(page: &Page<K>) -> String {
    page.after()
        .map_or_else(|| "~".to_owned(), |cursor| cursor.last.to_string())
}

/// A value as JSON text.
pub(super) fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(StoreError::other)
}

/// A present value as JSON text.
pub(super) fn json_if<T: Serialize>(value: Option<&T>) -> Result<Option<String>> {
    value.map(json).transpose()
}

/// The name of an enumeration value.
pub(super) fn word(value: &impl Serialize) -> Result<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        Ok(_) => Err(StoreError::other("the value has no name")),
        Err(error) => Err(StoreError::other(error)),
    }
}

pub(super) fn from_word<T: DeserializeOwned>(word: String) -> Result<T> {
    serde_json::from_value(word.into()).map_err(StoreError::corrupt)
}

/// An unsigned number in the signed type of the databases.
pub(super) fn signed(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(StoreError::other)
}

/// Checks the end of a job. An open job, or a subjob that was cancelled in the queue, has none.
///
/// # Errors
/// [`StoreError::Corrupt`] when the digest does not match, or when there is an end without a digest.
pub(super) fn check_end(row: &Row) -> Result<()> {
    let has = |column| Ok::<_, StoreError>(row.get::<Option<String>>(column)?.is_some());
    let has_digest = row.get::<Option<Vec<u8>>>("end_digest")?.is_some();
    if has_digest || has("result")? || has("error")? || has("model")? {
        JOB_END.check(row, "end_digest")?;
    }
    Ok(())
}

/// A job from [`job_columns`].
pub(super) fn job(row: &Row) -> Result<Job> {
    JOB.check(row, "digest")?;
    check_end(row)?;
    let lineage = lineage(row)?;
    let started_at = time_if(row, "started_at")?;
    let status = match (parsed::<Status>(row, "status")?, lineage, started_at) {
        // The parent is queued only to gather its subjobs, which have begun.
        (Status::Queued, JobTree::Parent { .. }, Some(_)) => Status::Running,
        (status, ..) => status,
    };
    Ok(Job {
        id: parsed(row, "id")?,
        owner: Owner::new(row.get::<String>("owner")?),
        task: row.get("task")?,
        learner: row.get("learner")?,
        name: row.get("name")?,
        status,
        spec: from_json(row.get("spec")?)?,
        data_key: row.get("data_key")?,
        data_bytes: unsigned(row, "data_bytes")?,
        data_sha256: row.get("data_sha256")?,
        dataset: parsed_if(row, "dataset")?,
        seed: unsigned(row, "seed")?,
        attempt: small(row, "attempt")?,
        created_at: Timestamp::from_milliseconds(row.get("created_at")?),
        started_at,
        finished_at: time_if(row, "finished_at")?,
        progress: from_json(row.get("progress")?)?,
        result: from_json_if(row, "result")?,
        error: from_json_if(row, "error")?,
        model: parsed_if(row, "model")?,
        cancel_requested: row.get("cancel_requested")?,
        priority: small(row, "priority")?,
        demand: Demand {
            seconds: row.get("expected_seconds")?,
            memory_bytes: unsigned(row, "memory_bytes")?,
        },
        callback: callback(row)?,
        lineage,
        trace_parent: parsed_if(row, "trace_parent")?,
    })
}

/// The rank of a job among the jobs of its owner.
pub(super) fn rank(row: &Row) -> Result<Rank> {
    let (priority, level) = (small(row, "priority")?, small(row, "level")?);
    Ok(Rank::new(priority, level, parsed(row, "id")?))
}

fn lineage(row: &Row) -> Result<JobTree> {
    if let Some(parent) = parsed_if(row, "parent")? {
        let index = small(row, "part")?;
        return Ok(JobTree::Subjob { parent, index });
    }
    let (subjobs, left) = (small(row, "parts")?, small(row, "parts_left")?);
    Ok(match subjobs {
        0 => JobTree::Single,
        _ => JobTree::Parent { subjobs, left },
    })
}

/// The callback of a job. Its own row exists only after the end of the job.
fn callback(row: &Row) -> Result<Option<Callback>> {
    let Some(url) = row.get::<Option<String>>("callback")? else {
        return Ok(None);
    };
    let asked = Callback::new(url);
    let Some(state) = row.get::<Option<String>>("callback_state")? else {
        return Ok(Some(asked));
    };
    Ok(Some(Callback {
        state: from_word(state)?,
        failures: small(row, "callback_failures")?,
        error: row.get("callback_error")?,
        ..asked
    }))
}

/// An event. The body of a result event is built from the columns of its job.
pub(super) fn event(row: &Row) -> Result<Event> {
    let body = match row.get::<Option<String>>("body")? {
        Some(body) => from_json(body)?,
        None => {
            check_end(row)?;
            serde_json::json!({
                "status": row.get::<String>("status")?,
                "result": from_json_if::<serde_json::Value>(row, "result")?,
                "error": from_json_if::<serde_json::Value>(row, "error")?,
            })
        }
    };
    Ok(Event {
        job: parsed(row, "job")?,
        sequence: row.get("sequence")?,
        kind: parsed::<EventKind>(row, "kind")?,
        body,
        at: Timestamp::from_milliseconds(row.get("at")?),
    })
}

/// A text column, parsed into a record type.
pub(super) fn parsed<T>(row: &Row, column: &str) -> Result<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    row.get::<String>(column)?
        .parse()
        .map_err(StoreError::corrupt)
}

pub(super) fn parsed_if<T>(row: &Row, column: &str) -> Result<Option<T>>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: Option<String> = row.get(column)?;
    text.map(|text| text.parse().map_err(StoreError::corrupt))
        .transpose()
}

pub(super) fn from_json<T: DeserializeOwned>(text: String) -> Result<T> {
    serde_json::from_str(&text).map_err(StoreError::corrupt)
}

pub(super) fn from_json_if<T: DeserializeOwned>(row: &Row, column: &str) -> Result<Option<T>> {
    row.get::<Option<String>>(column)?
        .map(from_json)
        .transpose()
}

/// A moment of the database's clock, in seconds since 1970.
pub(super) fn moment(seconds: f64) -> Timestamp {
    // The conversion saturates.
    Timestamp::from_milliseconds((seconds * 1_000.0) as i64)
}

fn time_if(row: &Row, column: &str) -> Result<Option<Timestamp>> {
    Ok(row
        .get::<Option<i64>>(column)?
        .map(Timestamp::from_milliseconds))
}

pub(super) fn unsigned(row: &Row, column: &str) -> Result<u64> {
    small(row, column)
}

/// A number that must lie in the range of its type.
pub(super) fn small<T>(row: &Row, column: &str) -> Result<T>
where
    T: TryFrom<i64, Error: std::error::Error + Send + Sync + 'static>,
{
    T::try_from(row.get::<i64>(column)?).map_err(StoreError::corrupt)
}

pub(super) fn unsigned_if(row: &Row, column: &str) -> Result<Option<u64>> {
    let number: Option<i64> = row.get(column)?;
    let number = number.map(u64::try_from).transpose();
    number.map_err(StoreError::corrupt)
}
