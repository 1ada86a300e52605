//! Statements of the numbered events of jobs.
//!
//! A transaction that writes events takes their numbers by raising `event_sequence` in the row of the job, so there
//! are no gaps and no number is used twice.

use super::super::error::Result;
use super::database::{NewRow, Statement, Transaction, statement};
use super::rows;
use super::store::Store;
use crate::records::{Event, EventKind, JobId, Owner, Progress, Status, Timestamp};

/// An event without a number.
#[derive(Clone)]
pub(super) struct NewEvent {
    kind: EventKind,
    body: Option<String>,
    at: Timestamp,
}

impl NewEvent {
    pub(super) fn status(status: Status, attempt: u32, at: Timestamp) -> Self {
        let body = serde_json::json!({ "status": status, "attempt": attempt }).to_string();
        Self {
            kind: EventKind::Status,
            body: Some(body),
            at,
        }
    }

    pub(super) fn progress(progress: &Progress, at: Timestamp) -> Result<Self> {
        Ok(Self {
            kind: EventKind::Progress,
            body: Some(rows::json(progress)?),
            at,
        })
    }

    /// The last two events of a job.
    pub(super) fn end(status: Status, attempt: u32, at: Timestamp) -> [Self; 2] {
        // The row of the job holds the result itself.
        let result = Self {
            kind: EventKind::Result,
            body: None,
            at,
        };
        [Self::status(status, attempt, at), result]
    }
}

/// Writes events with the next numbers of their job.
pub(super) async fn append(
    transaction: &mut Transaction,
    job: JobId,
    events: &[NewEvent],
) -> Result<()> {
    let update = statement(
        "UPDATE jobs SET event_sequence = event_sequence + $2 WHERE id = $1 \
         RETURNING owner, event_sequence",
    )
    .bind(job.to_string())
    .bind(events.len() as i64);
    let row = transaction.one(update).await?;
    let owner = Owner::new(row.get::<String>("owner")?);
    write(transaction, job, &owner, row.get("event_sequence")?, events).await
}

/// Writes events so that the last one has the number `last`, which is the job's `event_sequence`.
pub(super) async fn write(
    transaction: &mut Transaction,
    job: JobId,
    owner: &Owner,
    last: i64,
    events: &[NewEvent],
) -> Result<()> {
    let rows = rows_of(job, owner, last, events);
    transaction.execute(Statement::insert(rows, "")).await?;
    Ok(())
}

/// Like [`write()`], but for several jobs at once.
pub(super) async fn write_each<const EVENTS: usize>(
    transaction: &mut Transaction,
    jobs: impl Iterator<Item = (JobId, Owner, i64, [NewEvent; EVENTS])>,
) -> Result<()> {
    let rows = jobs.flat_map(|(job, owner, last, events)| rows_of(job, &owner, last, &events));
    transaction.execute(Statement::insert(rows, "")).await?;
    Ok(())
}

fn rows_of(job: JobId, owner: &Owner, last: i64, events: &[NewEvent]) -> Vec<NewRow> {
    let id = job.to_string();
    let numbers = last + 1 - events.len() as i64..;
    let rows = events.iter().zip(numbers).map(|(event, number)| {
        let columns = [
            ("job", id.as_str().into()),
            ("sequence", number.into()),
            ("owner", owner.as_str().into()),
            ("kind", event.kind.as_str().into()),
            ("body", event.body.as_deref().into()),
            ("at", event.at.milliseconds().into()),
        ];
        NewRow::of("events", columns)
    });
    rows.collect()
}

impl Store {
    /// At most `limit` events of a job after number `after_sequence`, in order; 0 begins at the first event.
    /// With an owner, only events of that owner's job.
    pub async fn events(
        &self,
        owner: Option<&Owner>,
        id: JobId,
        after_sequence: i64,
        limit: u32,
    ) -> Result<Vec<Event>> {
        let select = statement(
            "SELECT e.job, e.sequence, e.kind, e.body, e.at, j.id, j.status, \
             CASE e.kind WHEN 'result' THEN j.result END AS result, j.error, j.model, j.finished_at, \
             j.end_digest \
             FROM events AS e JOIN jobs AS j ON j.id = e.job \
             WHERE e.job = $1 AND e.sequence > $2 AND ($3 IS NULL OR e.owner = $3) \
             ORDER BY e.sequence LIMIT $4",
        )
        .bind(id.to_string())
        .bind(after_sequence)
        .bind(owner.map(Owner::as_str))
        .bind(limit);
        let found = self.database.all(select).await?;
        found.iter().map(rows::event).collect()
    }
}
