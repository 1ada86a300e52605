//! The rows of sessions with their digests, and the statements that read and extend their state: a snapshot, and the
//! log of the examples since.

use super::super::error::Result;
use super::super::error::StoreError;
use super::super::quota::Usage;
use super::super::terms::AppendOutcome;
use super::database::{Database, NewRow, Row, Statement, Transaction, statement};
use super::digests::DigestColumn::{Bytes, Number, Text};
use super::digests::DigestColumns;
use super::store::Store;
use super::stored::{Checked, Deletable, Inserted, Stored, select};
use super::{rows, usage};
use crate::records::id::SessionKind;
use crate::records::session::{
    LogEntry, SessionAppend, SessionRecord, SessionSpec, SessionTally, StoredSession, packed_rows,
};
use crate::records::{Owner, SessionId, Timestamp};

/// The request of a session.
const SESSION: DigestColumns = DigestColumns {
    kind: "session",
    columns: &[
        Text("id"),
        Text("learner"),
        Number("n"),
        Number("created_at"),
        Text("spec"),
    ],
};

const SESSION_POSITION: DigestColumns = DigestColumns {
    kind: "position of session",
    columns: &[Text("id"), Number("position")],
};

const SESSION_TALLY: DigestColumns = DigestColumns {
    kind: "counts of session",
    columns: &[Text("id"), Text("tally")],
};

const SNAPSHOT: DigestColumns = DigestColumns {
    kind: "snapshot of session",
    columns: &[Text("session"), Number("position"), Bytes("state")],
};

const LOG_ENTRY: DigestColumns = DigestColumns {
    kind: "log of session",
    columns: &[Text("session"), Number("position"), Bytes("examples")],
};

impl Store {
    /// The owner's session with this id and its state, as of one moment.
    pub async fn session_state(
        &self,
        owner: &Owner,
        id: SessionId,
    ) -> Result<Option<StoredSession>> {
        let state = state(&self.database, one_of(owner, id), &id.to_string()).await?;
        // A missing log entry is detected when the examples are learnt again.
        Ok(state.map(|state| state.session))
    }

    /// Appends examples to sessions of one owner. Each append succeeds only if its session is at the stated position.
    /// The outcomes have the order of the appends, and successful ones are on disk when this returns. Call this for
    /// each owner separately, because an error concerns every append of a call.
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
}

/// A session with its state, and the positions of the parts of the state.
struct PlacedState {
    session: StoredSession,
    snapshot_at: Option<u64>,
    log_at: Vec<u64>,
}

impl PlacedState {
    /// A gap in the log, or between the end of the log and the position of the session.
    fn gap(&self) -> Option<String> {
        let mut stands = self.snapshot_at.unwrap_or(0);
        for (position, examples) in self.log_at.iter().zip(&self.session.log) {
            if *position != stands {
                return Some(format!(
                    "the log of the session has no examples from position {stands} to {position}"
                ));
            }
            stands += packed_rows(examples)?;
        }
        let position = self.session.record.position;
        (stands != position).then(|| {
            format!("the log ends at position {stands}, but the session is at position {position}")
        })
    }
}

/// Reads the session that `select` finds, with its state as of one moment.
async fn state(database: &Database, select: Statement, id: &str) -> Result<Option<PlacedState>> {
    let mut transaction = database.begin_reading().await?;
    let Some(found) = transaction.optional(select).await? else {
        return Ok(None);
    };
    let select =
        "SELECT session, position, state, digest FROM session_snapshots WHERE session = $1";
    let snapshot = transaction.optional(statement(select).bind(id)).await?;
    let select = "SELECT session, position, examples, digest FROM session_log WHERE session = $1 ORDER BY position";
    let log = transaction.all(statement(select).bind(id)).await?;
    transaction.commit().await?;
    let mut placed = PlacedState {
        session: StoredSession {
            record: SessionKind::thing(&found)?,
            snapshot: None,
            log: Vec::with_capacity(log.len()),
        },
        snapshot_at: None,
        log_at: Vec::with_capacity(log.len()),
    };
    if let Some(row) = &snapshot {
        SNAPSHOT.check(row, "digest")?;
        placed.session.snapshot = row.get("state")?;
        placed.snapshot_at = Some(rows::unsigned(row, "position")?);
    }
    for row in &log {
        LOG_ENTRY.check(row, "digest")?;
        placed.session.log.push(row.get("examples")?);
        placed.log_at.push(rows::unsigned(row, "position")?);
    }
    Ok(Some(placed))
}

impl Stored for SessionKind {
    type Thing = SessionRecord;
    type Item = SessionRecord;

    const TABLE: &'static str = "sessions";
    const COLUMNS: &'static str = "id, owner, learner, n, position, created_at, spec, digest, position_digest, tally, \
         tally_digest";

    fn thing(row: &Row) -> Result<SessionRecord> {
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
        spec.n = tally.names.unwrap_or(spec.n);
        Ok(SessionRecord {
            id: rows::parsed(row, "id")?,
            owner: Owner::new(row.get::<String>("owner")?),
            spec,
            position,
            tally,
            created_at: Timestamp::from_milliseconds(row.get("created_at")?),
        })
    }

    fn item(row: &Row) -> Result<SessionRecord> {
        Self::thing(row)
    }

    /// Reads the session with its state.
    async fn check(database: &Database, id: &str) -> Result<Option<Checked>> {
        let select = select::<Self>(" WHERE id = $1").bind(id);
        match state(database, select, id).await? {
            None => Ok(None),
            Some(state) => match state.gap() {
                None => Ok(Some(Checked::default())),
                Some(gap) => Err(StoreError::corrupt(gap)),
            },
        }
    }
}

impl Inserted for SessionRecord {
    type Kind = SessionKind;

    fn origin(&self) -> (SessionId, &Owner, Timestamp) {
        (self.id, &self.owner, self.created_at)
    }

    /// The row of a session that has learnt no examples yet.
    fn rows(&self) -> Result<Vec<NewRow>> {
        let row = NewRow::of(
            SessionKind::TABLE,
            [
                ("id", self.id.to_string().into()),
                ("owner", self.owner.as_str().into()),
                ("learner", self.spec.learner.name.as_str().into()),
                ("n", rows::signed(self.spec.n)?.into()),
                ("position", rows::signed(self.position)?.into()),
                ("created_at", self.created_at.milliseconds().into()),
                ("spec", rows::json(&self.spec)?.into()),
                ("tally", rows::json(&self.tally)?.into()),
            ],
        );
        let digest = SESSION.of_rows(&[&row]);
        let position_digest = SESSION_POSITION.of_rows(&[&row]);
        let tally_digest = SESSION_TALLY.of_rows(&[&row]);
        let row = row
            .and("digest", digest)
            .and("position_digest", position_digest);
        Ok(vec![row.and("tally_digest", tally_digest)])
    }

    fn usage(&self) -> Usage {
        Usage {
            sessions: 1,
            ..Usage::default()
        }
    }
}

impl Deletable for SessionKind {}

fn one_of(owner: &Owner, id: SessionId) -> Statement {
    let select = select::<SessionKind>(" WHERE id = $1 AND owner = $2");
    select.bind(id.to_string()).bind(owner.as_str())
}

fn position_digest(id: &str, position: i64) -> Vec<u8> {
    SESSION_POSITION.of([id.into(), position.into()])
}

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
        let found = one_of(owner, append.id);
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
