//! Rows to records and back. What does not decode is damage, never a panic.

use std::str::FromStr;

use super::super::{Result, StoreError};
use super::database::Row;
use crate::records::dataset::Repetitions;
use crate::records::id::Kind;
use crate::records::{
    Callback, Dataset, DatasetSummary, Event, EventKind, Job, Model, ModelSummary, Owner, Page,
    Status, Timestamp,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The columns of a job that [`job`] reads. A macro because statements must be literals, which
/// shows at compile time that nothing of a stranger's is in them.
macro_rules! job_columns {
    () => {
        "id, owner, task, learner, name, status, spec, data_key, data_bytes, data_sha256, seed, attempt, \
         priority, created_at, started_at, finished_at, progress, result, error, model, \
         cancel_requested, claims, dataset, callback, \
         CASE WHEN callback IS NOT NULL THEN \
         (SELECT state FROM callbacks WHERE callbacks.job = jobs.id) END AS callback_state, \
         CASE WHEN callback IS NOT NULL THEN \
         (SELECT failures FROM callbacks WHERE callbacks.job = jobs.id) END AS callback_failures, \
         CASE WHEN callback IS NOT NULL THEN \
         (SELECT last_error FROM callbacks WHERE callbacks.job = jobs.id) END AS callback_error"
    };
}
pub(super) use job_columns;

/// The columns of a dataset that [`dataset_summary`] reads.
macro_rules! dataset_columns {
    () => {
        "id, owner, name, n, kind, value_kind, zero_bit_value, assume, examples, positives, \
         duplicates, contradictions, uncounted, sha256, bytes, data_key, created_at"
    };
}
pub(super) use dataset_columns;

/// The id before which a page begins. Text that sorts after every id stands for the newest: a
/// condition that also allowed a null would keep the index from being searched.
pub(super) fn before<K: Kind>(page: &Page<K>) -> String {
    page.after()
        .map_or_else(|| "~".to_owned(), |cursor| cursor.last.to_string())
}

/// A value as JSON text.
pub(super) fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(StoreError::other)
}

/// A value that is there as JSON text.
pub(super) fn json_if<T: Serialize>(value: Option<&T>) -> Result<Option<String>> {
    value.map(json).transpose()
}

/// The name of a value that is one of a few.
pub(super) fn word(value: &impl Serialize) -> Result<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        Ok(_) => Err(StoreError::other("the value has no name")),
        Err(error) => Err(StoreError::other(error)),
    }
}

fn from_word<T: DeserializeOwned>(word: String) -> Result<T> {
    serde_json::from_value(word.into()).map_err(StoreError::corrupt)
}

/// An unsigned number as the databases' signed one.
pub(super) fn signed(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(StoreError::other)
}

/// A whole job out of [`job_columns`].
pub(super) fn job(row: &Row) -> Result<Job> {
    Ok(Job {
        id: parsed(row, "id")?,
        owner: Owner::new(row.get::<String>("owner")?),
        task: row.get("task")?,
        learner: row.get("learner")?,
        name: row.get("name")?,
        status: parsed::<Status>(row, "status")?,
        spec: from_json(row.get("spec")?)?,
        data_key: row.get("data_key")?,
        data_bytes: unsigned(row, "data_bytes")?,
        data_sha256: row.get("data_sha256")?,
        dataset: parsed_if(row, "dataset")?,
        seed: unsigned(row, "seed")?,
        attempt: small(row, "attempt")?,
        created_at: Timestamp::from_milliseconds(row.get("created_at")?),
        started_at: time_if(row, "started_at")?,
        finished_at: time_if(row, "finished_at")?,
        progress: from_json(row.get("progress")?)?,
        result: from_json_if(row, "result")?,
        error: from_json_if(row, "error")?,
        model: parsed_if(row, "model")?,
        cancel_requested: row.get("cancel_requested")?,
        priority: small(row, "priority")?,
        callback: callback(row)?,
    })
}

/// The callback of a job, which has a row of its own only since the job has ended.
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

/// A whole model.
pub(super) fn model(row: &Row) -> Result<Model> {
    let ModelSummary {
        id,
        owner,
        job,
        name,
        learner,
        kind,
        n,
        created_at,
    } = model_summary(row)?;
    let document = from_json(row.get("document")?)?;
    Ok(Model {
        id,
        owner,
        job,
        name,
        learner,
        kind,
        n,
        document,
        created_at,
    })
}

/// A model without its document.
pub(super) fn model_summary(row: &Row) -> Result<ModelSummary> {
    Ok(ModelSummary {
        id: parsed(row, "id")?,
        owner: Owner::new(row.get::<String>("owner")?),
        job: parsed_if(row, "job")?,
        name: row.get("name")?,
        learner: row.get("learner")?,
        kind: row.get("kind")?,
        n: unsigned(row, "n")?,
        created_at: Timestamp::from_milliseconds(row.get("created_at")?),
    })
}

/// A whole dataset.
pub(super) fn dataset(row: &Row) -> Result<Dataset> {
    Ok(Dataset {
        summary: dataset_summary(row)?,
        features: from_json_if(row, "features")?,
        classes: from_json_if(row, "classes")?,
    })
}

/// A dataset out of [`dataset_columns`].
pub(super) fn dataset_summary(row: &Row) -> Result<DatasetSummary> {
    let repetitions = match row.get::<Option<String>>("uncounted")? {
        Some(reason) => Repetitions::Uncounted(reason),
        None => Repetitions::Counted {
            duplicates: unsigned(row, "duplicates")?,
            contradictions: unsigned_if(row, "contradictions")?,
        },
    };
    let assume: Option<String> = row.get("assume")?;
    Ok(DatasetSummary {
        id: parsed(row, "id")?,
        owner: Owner::new(row.get::<String>("owner")?),
        name: row.get("name")?,
        n: unsigned(row, "n")?,
        kind: from_word(row.get("kind")?)?,
        values: from_word(row.get("value_kind")?)?,
        zero_bit_value: small(row, "zero_bit_value")?,
        assume: assume.map(from_word).transpose()?,
        examples: unsigned(row, "examples")?,
        positives: unsigned_if(row, "positives")?,
        repetitions,
        sha256: row.get("sha256")?,
        bytes: unsigned(row, "bytes")?,
        data_key: row.get("data_key")?,
        created_at: Timestamp::from_milliseconds(row.get("created_at")?),
    })
}

/// An event, with the body of a result put together from the columns of its job.
pub(super) fn event(row: &Row) -> Result<Event> {
    let body = match row.get::<Option<String>>("body")? {
        Some(body) => from_json(body)?,
        None => serde_json::json!({
            "status": row.get::<String>("status")?,
            "result": from_json_if::<serde_json::Value>(row, "result")?,
            "error": from_json_if::<serde_json::Value>(row, "error")?,
        }),
    };
    Ok(Event {
        job: parsed(row, "job")?,
        sequence: row.get("sequence")?,
        kind: parsed::<EventKind>(row, "kind")?,
        body,
        at: Timestamp::from_milliseconds(row.get("at")?),
    })
}

/// A text column that a record type reads.
pub(super) fn parsed<T>(row: &Row, column: &str) -> Result<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    row.get::<String>(column)?
        .parse()
        .map_err(StoreError::corrupt)
}

fn parsed_if<T>(row: &Row, column: &str) -> Result<Option<T>>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: Option<String> = row.get(column)?;
    text.map(|text| text.parse().map_err(StoreError::corrupt))
        .transpose()
}

fn from_json<T: DeserializeOwned>(text: String) -> Result<T> {
    serde_json::from_str(&text).map_err(StoreError::corrupt)
}

pub(super) fn from_json_if<T: DeserializeOwned>(row: &Row, column: &str) -> Result<Option<T>> {
    row.get::<Option<String>>(column)?
        .map(from_json)
        .transpose()
}

fn time_if(row: &Row, column: &str) -> Result<Option<Timestamp>> {
    Ok(row
        .get::<Option<i64>>(column)?
        .map(Timestamp::from_milliseconds))
}

pub(super) fn unsigned(row: &Row, column: &str) -> Result<u64> {
    small(row, column)
}

/// A number in the range of its type.
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
