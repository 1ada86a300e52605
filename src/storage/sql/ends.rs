//! Statements of the end of a job that no worker finishes: cancelled in the queue, or failed because processes died
//! while they computed it, because its row is damaged, or because one of its subjobs failed. What the end of a subjob
//! means for its parent is decided elsewhere.

use super::super::error::Result;
use super::super::history;
use super::database::{Row, Transaction, statement};
use super::events::{self, NewEvent};
use super::rows::job_columns;
use super::{callbacks, checkpoints, jobs, rows};
use crate::records::{Callback, JobError, JobId, Owner, Status, Timestamp};

/// The end of a job that no worker finishes.
pub(super) struct UnfinishedEnd {
    pub status: Status,
    pub error: Option<JobError>,
    pub attempt: u32,
}

impl UnfinishedEnd {
    pub fn cancelled(attempt: u32) -> Self {
        Self {
            status: Status::Cancelled,
            error: None,
            attempt,
        }
    }

    pub fn poisoned(deaths: u32, attempt: u32) -> Self {
        let detail = format!(
            "the job failed because {deaths} processes died while they computed only this job"
        );
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

/// Writes the end of a job without a result and returns the row. Other columns of the row may be damaged.
pub(super) async fn end_row(
    transaction: &mut Transaction,
    id: JobId,
    ending: UnfinishedEnd,
    now: Timestamp,
) -> Result<Row> {
    let update = concat!(
        "UPDATE jobs SET status = $2, error = $3, attempt = $4, finished_at = $5, \
         cancel_requested = (cancel_requested OR $2 = 'cancelled'), end_digest = $6, \
         lease_owner = NULL, lease_until = NULL \
         WHERE id = $1 AND finished_at IS NULL RETURNING ",
        job_columns!()
    );
    let (status, attempt) = (ending.status, ending.attempt);
    let error = rows::json_if(ending.error.as_ref())?;
    let digest = jobs::end_digest(id, status, [None, error.as_deref()], None, now);
    let update = statement(update)
        .bind(id.to_string())
        .bind(status.as_str())
        .bind(error)
        .bind(attempt)
        .bind(now.milliseconds())
        .bind(digest);
    let row = transaction.one(update).await?;
    history::ended(id, status, now);
    checkpoints::forget(transaction, id).await?;
    let last = NewEvent::end(status, attempt, now);
    events::append(transaction, id, &last).await?;
    if let Some(callback) = row.get::<Option<String>>("callback")? {
        let owner = Owner::new(row.get::<String>("owner")?);
        callbacks::owe(transaction, id, &owner, &Callback::new(callback)).await?;
    }
    Ok(row)
}
