//! The numbered events of jobs.
//!
//! Numbers are taken by raising `event_sequence` in the job's row in the transaction that writes
//! the events, so they have no gaps and no two writers have one number.

use sqlx::{QueryBuilder, Row, SqliteConnection, SqlitePool};

use super::super::Result;
use super::rows;
use crate::records::{Event, EventKind, JobId, Owner, Progress, Status, Timestamp};

/// An event that has no number yet.
pub(super) struct Unnumbered {
    kind: EventKind,
    body: Option<String>,
    at: Timestamp,
}

impl Unnumbered {
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
        // The result itself is in the job's row.
        let result = Self {
            kind: EventKind::Result,
            body: None,
            at,
        };
        [Self::status(status, attempt, at), result]
    }
}

/// Gives the events the next numbers of their job, and writes them.
pub(super) async fn append(
    connection: &mut SqliteConnection,
    job: JobId,
    events: &[Unnumbered],
) -> Result<()> {
    let row = sqlx::query(
        "UPDATE jobs SET event_sequence = event_sequence + $2 WHERE id = $1 \
         RETURNING owner, event_sequence",
    )
    .bind(job.to_string())
    .bind(events.len() as i64)
    .fetch_one(&mut *connection)
    .await?;
    let owner = Owner::new(row.try_get::<String, _>("owner")?);
    write(
        connection,
        job,
        &owner,
        row.try_get("event_sequence")?,
        events,
    )
    .await
}

/// Writes events so that the last of them has the number `last`, which is the job's
/// `event_sequence`.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    job: JobId,
    owner: &Owner,
    last: i64,
    events: &[Unnumbered],
) -> Result<()> {
    let id = job.to_string();
    let numbers = last + 1 - events.len() as i64..;
    let mut insert =
        QueryBuilder::new("INSERT INTO events (job, sequence, owner, kind, body, at) ");
    insert.push_values(events.iter().zip(numbers), |mut row, (event, number)| {
        row.push_bind(id.as_str())
            .push_bind(number)
            .push_bind(owner.as_str())
            .push_bind(event.kind.as_str())
            .push_bind(event.body.as_deref())
            .push_bind(event.at.milliseconds());
    });
    insert.build().execute(connection).await?;
    Ok(())
}

pub(super) async fn after(
    readers: &SqlitePool,
    owner: Option<&Owner>,
    id: JobId,
    after_sequence: i64,
    limit: u32,
) -> Result<Vec<Event>> {
    let found = sqlx::query(
        "SELECT e.job, e.sequence, e.kind, e.body, e.at, j.status, \
         CASE e.kind WHEN 'result' THEN j.result END AS result, j.error \
         FROM events AS e JOIN jobs AS j ON j.id = e.job \
         WHERE e.job = $1 AND e.sequence > $2 AND ($3 IS NULL OR e.owner = $3) \
         ORDER BY e.sequence LIMIT $4",
    )
    .bind(id.to_string())
    .bind(after_sequence)
    .bind(owner.map(Owner::as_str))
    .bind(limit)
    .fetch_all(readers)
    .await?;
    found.iter().map(rows::event).collect()
}
