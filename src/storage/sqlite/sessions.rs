//! The statements of sessions.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection, SqlitePool};

use super::super::{Appended, Result, StoreError};
use super::{SqliteStore, rows};
use crate::records::id::SessionKind;
use crate::records::session::{LogEntry, SessionAppend, SessionRecord, StoredSession};
use crate::records::{Owner, Page, SessionId, Slice, Timestamp};

pub(super) async fn insert(
    store: &SqliteStore,
    session: &SessionRecord,
    sessions_max: u64,
) -> Result<bool> {
    let mut transaction = store.begin().await?;
    let inserted = sqlx::query(
        "INSERT INTO sessions (id, owner, learner, n, position, created_at, spec) \
         SELECT $1, $2, $3, $4, $5, $6, $7 \
         WHERE (SELECT COUNT(*) FROM sessions WHERE owner = $2) < $8",
    )
    .bind(session.id.to_string())
    .bind(session.owner.as_str())
    .bind(session.spec.learner.name.as_str())
    .bind(rows::signed(session.spec.n)?)
    .bind(rows::signed(session.position)?)
    .bind(session.created_at.milliseconds())
    .bind(rows::json(&session.spec)?)
    .bind(i64::try_from(sessions_max).unwrap_or(i64::MAX))
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(inserted.rows_affected() == 1)
}

const ONE: &str = "SELECT id, owner, position, created_at, spec FROM sessions \
     WHERE id = $1 AND owner = $2";

pub(super) async fn one(
    readers: &SqlitePool,
    owner: &Owner,
    id: SessionId,
) -> Result<Option<SessionRecord>> {
    let mut connection = readers.acquire().await?;
    record_of(&mut connection, owner, id).await
}

async fn record_of(
    connection: &mut SqliteConnection,
    owner: &Owner,
    id: SessionId,
) -> Result<Option<SessionRecord>> {
    let row = sqlx::query(ONE)
        .bind(id.to_string())
        .bind(owner.as_str())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(record).transpose()
}

fn record(row: &SqliteRow) -> Result<SessionRecord> {
    let position: i64 = row.try_get("position")?;
    let spec: String = row.try_get("spec")?;
    Ok(SessionRecord {
        id: rows::parsed(row, "id")?,
        owner: Owner::new(row.try_get::<String, _>("owner")?),
        spec: serde_json::from_str(&spec).map_err(StoreError::corrupt)?,
        position: u64::try_from(position).map_err(StoreError::corrupt)?,
        created_at: Timestamp::from_milliseconds(row.try_get("created_at")?),
    })
}

/// Record, snapshot and log of one moment.
pub(super) async fn whole(
    readers: &SqlitePool,
    owner: &Owner,
    id: SessionId,
) -> Result<Option<StoredSession>> {
    let mut transaction = readers.begin().await?;
    let Some(record) = record_of(&mut transaction, owner, id).await? else {
        return Ok(None);
    };
    let snapshot = sqlx::query("SELECT state FROM session_snapshots WHERE session = $1")
        .bind(id.to_string())
        .fetch_optional(&mut *transaction)
        .await?;
    let log = sqlx::query("SELECT examples FROM session_log WHERE session = $1 ORDER BY position")
        .bind(id.to_string())
        .fetch_all(&mut *transaction)
        .await?;
    transaction.commit().await?;
    let snapshot = snapshot.map(|row| row.try_get("state")).transpose()?;
    let log = log.iter().map(|row| row.try_get("examples"));
    let log = log.collect::<std::result::Result<_, _>>()?;
    Ok(Some(StoredSession {
        record,
        snapshot,
        log,
    }))
}

pub(super) async fn list(
    readers: &SqlitePool,
    owner: &Owner,
    page: &Page<SessionKind>,
) -> Result<Slice<SessionRecord, SessionKind>> {
    let found = sqlx::query(
        "SELECT id, owner, position, created_at, spec FROM sessions \
         WHERE owner = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
    )
    .bind(owner.as_str())
    .bind(rows::before(page))
    .bind(page.limit() + 1)
    .fetch_all(readers)
    .await?;
    let items = found.iter().map(record).collect::<Result<Vec<_>>>()?;
    Ok(Slice::from_one_more(items, page, |session| session.id))
}

/// All in one transaction; each is done or not by itself.
pub(super) async fn append(
    store: &SqliteStore,
    appends: &[SessionAppend],
) -> Result<Vec<Appended>> {
    let mut transaction = store.begin().await?;
    let mut outcomes = Vec::with_capacity(appends.len());
    for one in appends {
        outcomes.push(append_one(&mut transaction, one).await?);
    }
    transaction.commit().await?;
    Ok(outcomes)
}

async fn append_one(connection: &mut SqliteConnection, append: &SessionAppend) -> Result<Appended> {
    let id = append.id.to_string();
    let position = rows::signed(append.position)?;
    let after = rows::signed(append.position + append.examples)?;
    let moved = sqlx::query(
        "UPDATE sessions SET position = $1 WHERE id = $2 AND owner = $3 AND position = $4",
    )
    .bind(after)
    .bind(&id)
    .bind(append.owner.as_str())
    .bind(position)
    .execute(&mut *connection)
    .await?;
    if moved.rows_affected() == 0 {
        let found = record_of(connection, &append.owner, append.id).await?;
        return Ok(match found {
            Some(record) => Appended::Elsewhere {
                position: record.position,
            },
            None => Appended::NotFound,
        });
    }
    match &append.entry {
        LogEntry::Examples(examples) => {
            sqlx::query(
                "INSERT INTO session_log (session, position, examples) VALUES ($1, $2, $3)",
            )
            .bind(&id)
            .bind(position)
            .bind(examples.as_slice())
            .execute(connection)
            .await?;
        }
        LogEntry::Snapshot(state) => {
            sqlx::query(
                "INSERT INTO session_snapshots (session, position, state) VALUES ($1, $2, $3) \
                 ON CONFLICT (session) DO UPDATE SET position = $2, state = $3",
            )
            .bind(&id)
            .bind(after)
            .bind(state.as_slice())
            .execute(&mut *connection)
            .await?;
            sqlx::query("DELETE FROM session_log WHERE session = $1")
                .bind(&id)
                .execute(connection)
                .await?;
        }
    }
    Ok(Appended::Done)
}

pub(super) async fn delete(store: &SqliteStore, owner: &Owner, id: SessionId) -> Result<bool> {
    let mut transaction = store.begin().await?;
    let deleted = sqlx::query("DELETE FROM sessions WHERE id = $1 AND owner = $2")
        .bind(id.to_string())
        .bind(owner.as_str())
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(deleted.rows_affected() > 0)
}
