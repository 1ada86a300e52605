//! Statements that insert, read, list, extend and delete sessions: their records, snapshots and logs of
//! examples.

use super::super::error::Result;
use super::super::error::StoreError;
use super::super::quota::Usage;
use super::super::terms::AppendOutcome;
use super::database::{Row, Statement, Transaction, statement};
use super::digests::{LOG_ENTRY, SESSION, SESSION_POSITION, SESSION_TALLY, SNAPSHOT};
use super::rows::session_columns;
use super::{Store, idempotency, rows, usage};
use crate::records::id::SessionKind;
use crate::records::session::{
    LogEntry, SessionAppend, SessionRecord, SessionSpec, SessionTally, StoredSession,
};
use crate::records::{KeyClaim, Owner, Page, SessionId, Slice, Timestamp};

impl Store {
    /// Stores a session that has learnt no examples yet.
    pub async fn insert_session(
        &self,
        session: &SessionRecord,
        key: Option<&KeyClaim>,
    ) -> Result<()> {
        self.ensure_row_space().await?;
        let mut transaction = self.database.begin().await?;
        let (owner, created_at) = (&session.owner, session.created_at);
        idempotency::claim(&mut transaction, key, owner, session.id, created_at).await?;
        let (id, spec) = (session.id.to_string(), rows::json(&session.spec)?);
        let learner = session.spec.learner.name.as_str();
        let (n, position) = (
            rows::signed(session.spec.n)?,
            rows::signed(session.position)?,
        );
        let digest = SESSION.of([
            id.as_str().into(),
            learner.into(),
            n.into(),
            created_at.milliseconds().into(),
            spec.as_str().into(),
        ]);
        let position_digest = position_digest(&id, position);
        let tally = rows::json(&session.tally)?;
        let tally_digest = SESSION_TALLY.of([id.as_str().into(), tally.as_str().into()]);
        let insert = statement(
            "INSERT INTO sessions (id, owner, learner, n, position, created_at, spec, digest, \
             position_digest, tally, tally_digest) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        )
        .bind(id)
        .bind(session.owner.as_str())
        .bind(learner)
        .bind(n)
        .bind(position)
        .bind(created_at.milliseconds())
        .bind(spec)
        .bind(digest)
        .bind(position_digest)
        .bind(tally)
        .bind(tally_digest);
        transaction.execute(insert).await?;
        let asked = Usage {
            sessions: 1,
            ..Usage::default()
        };
        usage::admit(&mut transaction, &self.quotas, owner, &asked).await?;
        transaction.commit().await
    }

    /// The owner's session with this id, without its state.
    pub async fn session(&self, owner: &Owner, id: SessionId) -> Result<Option<SessionRecord>> {
        let row = self.database.optional(select_one(owner, id)).await?;
        row.as_ref().map(record).transpose()
    }

    /// The owner's session with this id and its state, as of one moment.
    pub async fn session_state(
        &self,
        owner: &Owner,
        id: SessionId,
    ) -> Result<Option<StoredSession>> {
        let mut transaction = self.database.begin_reading().await?;
        let Some(found) = transaction.optional(select_one(owner, id)).await? else {
            return Ok(None);
        };
        let select = statement(SELECT_SNAPSHOT).bind(id.to_string());
        let snapshot = transaction.optional(select).await?;
        let select = statement(SELECT_LOG).bind(id.to_string());
        let log = transaction.all(select).await?;
        transaction.commit().await?;
        let snapshot = snapshot.map(|row| {
            SNAPSHOT.check(&row, "digest")?;
            row.get("state")
        });
        let snapshot = snapshot.transpose()?;
        let log = log.iter().map(|row| {
            LOG_ENTRY.check(row, "digest")?;
            row.get("examples")
        });
        // A missing log entry is detected when the examples are learnt again.
        let log = log.collect::<Result<_>>()?;
        Ok(Some(StoredSession {
            record: record(&found)?,
            snapshot,
            log,
        }))
    }

    /// A page of the owner's sessions without their states, newest first.
    pub async fn sessions(
        &self,
        owner: &Owner,
        page: &Page<SessionKind>,
    ) -> Result<Slice<SessionRecord, SessionKind>> {
        let select = concat!(
            "SELECT ",
            session_columns!(),
            " FROM sessions WHERE owner = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
        );
        let select = statement(select)
            .bind(owner.as_str())
            .bind(rows::before(page))
            .bind(page.limit() + 1);
        let found = self.database.all(select).await?;
        let items = found.iter().map(record).collect::<Result<Vec<_>>>()?;
        Ok(Slice::from_one_more(items, page, |session| session.id))
    }

    /// Appends examples to sessions of one owner. Each append succeeds only if its session is at the stated
    /// position. The outcomes have the order of the appends, and successful appends are on disk when this
    /// returns. Appends of different owners need separate calls, because an error concerns every append of a
    /// call.
    pub async fn append_examples(
        &self,
        owner: &Owner,
        appends: &[SessionAppend],
    ) -> Result<Vec<AppendOutcome>> {
        self.ensure_row_space().await?;
        // All transactions lock sessions in the same order. Two transactions with different orders could wait for
        // each other for ever.
        let mut order: Vec<usize> = (0..appends.len()).collect();
        order.sort_by_key(|&place| appends[place].id);
        let mut transaction = self.database.begin().await?;
        let mut outcomes = Vec::with_capacity(appends.len());
        let mut growth = 0;
        for place in order {
            let (outcome, grown) = append_one(&mut transaction, owner, &appends[place]).await?;
            outcomes.push((place, outcome));
            growth += grown;
        }
        if let Ok(growth) = u64::try_from(growth) {
            let asked = Usage {
                stored_bytes: growth,
                ..Usage::default()
            };
            match usage::admit(&mut transaction, &self.quotas, owner, &asked).await {
                Ok(()) => {}
                Err(StoreError::OverQuota(over)) => {
                    return Ok(vec![AppendOutcome::OverQuota(over); appends.len()]);
                }
                Err(error) => return Err(error),
            }
        }
        transaction.commit().await?;
        outcomes.sort_by_key(|&(place, _)| place);
        Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
    }

    /// Deletes the owner's session. Returns whether the session existed.
    pub async fn delete_session(&self, owner: &Owner, id: SessionId) -> Result<bool> {
        self.with_reserve(|| async move {
            let mut transaction = self.database.begin().await?;
            let delete = statement("DELETE FROM sessions WHERE id = $1 AND owner = $2")
                .bind(id.to_string())
                .bind(owner.as_str());
            let deleted = transaction.execute(delete).await?;
            transaction.commit().await?;
            Ok(deleted > 0)
        })
        .await
    }
}

fn position_digest(id: &str, position: i64) -> Vec<u8> {
    SESSION_POSITION.of([id.into(), position.into()])
}

fn select_one(owner: &Owner, id: SessionId) -> Statement {
    let select = concat!(
        "SELECT ",
        session_columns!(),
        " FROM sessions WHERE id = $1 AND owner = $2"
    );
    statement(select).bind(id.to_string()).bind(owner.as_str())
}

pub(super) fn record(row: &Row) -> Result<SessionRecord> {
    SESSION.check(row, "digest")?;
    SESSION_POSITION.check(row, "position_digest")?;
    SESSION_TALLY.check(row, "tally_digest")?;
    let spec: String = row.get("spec")?;
    let position = rows::unsigned(row, "position")?;
    let tally: SessionTally = rows::from_json(row.get("tally")?)?;
    let mut spec: SessionSpec = serde_json::from_str(&spec).map_err(StoreError::corrupt)?;
    if let Some(classes) = &tally.classes {
        spec.names.classes.get_or_insert_with(|| classes.clone());
    }
    Ok(SessionRecord {
        id: rows::parsed(row, "id")?,
        owner: Owner::new(row.get::<String>("owner")?),
        spec,
        position,
        tally,
        created_at: Timestamp::from_milliseconds(row.get("created_at")?),
    })
}

pub(super) const SELECT_SNAPSHOT: &str =
    "SELECT session, position, state, digest FROM session_snapshots WHERE session = $1";

pub(super) const SELECT_LOG: &str = "SELECT session, position, examples, digest FROM session_log WHERE session = $1 \
     ORDER BY position";

/// Returns the outcome and the growth of the session in bytes.
async fn append_one(
    transaction: &mut Transaction,
    owner: &Owner,
    append: &SessionAppend,
) -> Result<(AppendOutcome, i64)> {
    let id = append.id.to_string();
    let position = rows::signed(append.position)?;
    let after = rows::signed(append.tally.position)?;
    let tally = rows::json(&append.tally)?;
    let tally_digest = SESSION_TALLY.of([id.as_str().into(), tally.as_str().into()]);
    // A snapshot replaces the bytes of the previous snapshot and of the log.
    let (added, replaced) = match &append.entry {
        LogEntry::Examples(examples) => (examples.len() as i64, 0),
        LogEntry::Snapshot(state) => {
            let select = statement("SELECT bytes FROM sessions WHERE id = $1 {for update}");
            let found = transaction.optional(select.bind(id.as_str())).await?;
            let replaced = found.map(|row| row.get("bytes")).transpose()?;
            (state.len() as i64, replaced.unwrap_or(0))
        }
    };
    let growth = added - replaced;
    let update = statement(
        "UPDATE sessions SET position = $1, position_digest = $6, bytes = bytes + $5, tally = $7, \
         tally_digest = $8 WHERE id = $2 AND owner = $3 AND position = $4",
    )
    .bind(after)
    .bind(id.as_str())
    .bind(owner.as_str())
    .bind(position)
    .bind(growth)
    .bind(position_digest(&id, after))
    .bind(tally)
    .bind(tally_digest);
    if transaction.execute(update).await? == 0 {
        // The next reader detects a damaged position. This transaction concerns many other sessions.
        let found = select_one(owner, append.id);
        let outcome = match transaction.optional(found).await? {
            Some(found) => AppendOutcome::Elsewhere {
                position: rows::unsigned(&found, "position")?,
            },
            None => AppendOutcome::NotFound,
        };
        return Ok((outcome, 0));
    }
    write_entry(transaction, &id, position, after, &append.entry).await?;
    Ok((AppendOutcome::Done, growth))
}

async fn write_entry(
    transaction: &mut Transaction,
    id: &str,
    position: i64,
    after: i64,
    entry: &LogEntry,
) -> Result<()> {
    match entry {
        LogEntry::Examples(examples) => {
            let insert = statement(
                "INSERT INTO session_log (session, position, examples, digest) \
                 VALUES ($1, $2, $3, $4)",
            )
            .bind(id)
            .bind(position)
            .bind(examples.as_slice())
            .bind(LOG_ENTRY.of([
                id.into(),
                position.into(),
                examples.as_slice().into(),
            ]));
            transaction.execute(insert).await?;
        }
        LogEntry::Snapshot(state) => {
            let insert = statement(
                "INSERT INTO session_snapshots (session, position, state, digest) \
                 VALUES ($1, $2, $3, $4) \
                 ON CONFLICT (session) DO UPDATE SET position = $2, state = $3, digest = $4",
            )
            .bind(id)
            .bind(after)
            .bind(state.as_slice())
            .bind(SNAPSHOT.of([id.into(), after.into(), state.as_slice().into()]));
            transaction.execute(insert).await?;
            let delete = statement("DELETE FROM session_log WHERE session = $1").bind(id);
            transaction.execute(delete).await?;
        }
    }
    Ok(())
}
