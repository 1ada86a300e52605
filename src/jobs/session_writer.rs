//! The turn of one request that writes to a session: learn in memory, append, answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use crate::formats::Parsed;
use crate::learners::data::Data;
use crate::learners::session::{Answered, LearnError};
use crate::records::session::SessionAppend;
use crate::records::{Owner, SessionId};
use crate::storage::Appended;

use super::live_session::{Live, as_values};
use super::service::Jobs;
use super::sessions::{SessionError, Slot};

/// How long a request waits for its turn.
const TURN_PATIENCE: Duration = Duration::from_secs(35);

/// How often a request without a position tries again when other processes write too.
const TRIES_MAX: u32 = 16;

/// What became of the examples of a request.
#[derive(Debug)]
pub struct Learnt {
    /// Where the session stood before them.
    pub position: u64,
    /// What became of each that was learnt.
    pub answers: Vec<Answered>,
}

/// Which examples of a request are learnt when the session ends among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtTheEnd {
    /// None.
    LearnNone,
    /// Those up to the end.
    LearnFirst,
}

/// The turn of one request that writes.
pub struct SessionWriter {
    jobs: Arc<Jobs>,
    owner: Owner,
    id: SessionId,
    slot: Arc<Slot>,
    _turn: OwnedMutexGuard<()>,
}

impl Jobs {
    /// The right to write to the owner's session, once all that came before have written.
    ///
    /// # Errors
    /// [`SessionError::NotFound`]; [`SessionError::Busy`] after a while; what the store says.
    pub async fn write_session(
        self: &Arc<Self>,
        owner: &Owner,
        id: SessionId,
    ) -> Result<SessionWriter, SessionError> {
        if self.store.session(owner, id).await?.is_none() {
            return Err(SessionError::NotFound);
        }
        let slot = self.sessions.slot(id);
        let turn = Arc::clone(&slot.turn).lock_owned();
        let turn = tokio::time::timeout(TURN_PATIENCE, turn).await;
        Ok(SessionWriter {
            jobs: Arc::clone(self),
            owner: owner.clone(),
            id,
            slot,
            _turn: turn.map_err(|_| SessionError::Busy)?,
        })
    }
}

impl SessionWriter {
    /// Whether the session can learn, and stands at `position` if there is one.
    ///
    /// # Errors
    /// [`SessionError::Elsewhere`], [`SessionError::Ended`], what the store says.
    pub async fn check(&self, position: Option<u64>) -> Result<(), SessionError> {
        let place = self.jobs.fresh(&self.slot, &self.owner, self.id).await?;
        let live = place.as_ref().ok_or(SessionError::Broken)?;
        can_learn(live, position)
    }

    /// Learns from examples. When this returns, what was learnt is on disk.
    ///
    /// With a position the session must stand there. Without, it learns wherever it stands.
    ///
    /// # Errors
    /// Nothing was learnt then, except perhaps after `StoreError::Unavailable`.
    pub async fn learn(
        &self,
        parsed: Parsed,
        position: Option<u64>,
        at_the_end: AtTheEnd,
    ) -> Result<Learnt, SessionError> {
        let Self { jobs, slot, .. } = self;
        let mut place = jobs.fresh(slot, &self.owner, self.id).await?;
        let values = place.as_ref().map(|live| live.record.spec.values);
        let values = values.ok_or(SessionError::Broken)?;
        let data = Arc::new(as_values(parsed, values));
        for _ in 0..TRIES_MAX {
            let live = place.as_ref().ok_or(SessionError::Broken)?;
            can_learn(live, position)?;
            match self.learn_once(&mut place, &data, at_the_end).await? {
                Ok(learnt) => return Ok(learnt),
                Err(stands) if position.is_some() => {
                    return Err(SessionError::Elsewhere { position: stands });
                }
                Err(_) => {
                    drop(place);
                    place = jobs.fresh(slot, &self.owner, self.id).await?;
                }
            }
        }
        Err(SessionError::Busy)
    }

    /// Learns in memory, then on disk; the position where the session stands instead, when another
    /// process was there first.
    async fn learn_once(
        &self,
        place: &mut Option<Live>,
        data: &Arc<Data>,
        at_the_end: AtTheEnd,
    ) -> Result<Result<Learnt, u64>, SessionError> {
        // Out of its place until it is stored: whatever happens, nobody sees more than that.
        let mut live = place.take().ok_or(SessionError::Broken)?;
        let (position, data) = (live.position(), Arc::clone(data));
        let computed = self.jobs.compute(move |run| {
            let learnt = live.session.learn(&data, run);
            let learnt = learnt.map(|answers| {
                let is_whole = answers.len() == data.examples();
                let entry = (is_whole || at_the_end == AtTheEnd::LearnFirst)
                    .then(|| live.log_entry(&data, answers.len()));
                (answers, entry)
            });
            (live, learnt)
        });
        let (mut live, learnt) = computed.await?;
        let (answers, entry) = match learnt {
            Ok(learnt) => learnt,
            Err(LearnError::Unfit(error)) => {
                *place = Some(live);
                return Err(error.into());
            }
            Err(error) => return Err(self.jobs.not_learnt(error)),
        };
        let Some(entry) = entry else {
            let last = answers.len();
            return Err(SessionError::EndsWithin { last });
        };
        let append = SessionAppend {
            id: self.id,
            owner: self.owner.clone(),
            position,
            examples: answers.len() as u64,
            entry,
        };
        match self.jobs.sessions.journal.append(append).await? {
            Appended::Done => {
                live.record.position = live.position();
                *place = Some(live);
                Ok(Ok(Learnt { position, answers }))
            }
            Appended::Elsewhere { position } => Ok(Err(position)),
            Appended::NotFound => Err(SessionError::NotFound),
        }
    }
}

/// Whether a session can learn, and stands at `position` if there is one.
fn can_learn(live: &Live, position: Option<u64>) -> Result<(), SessionError> {
    let stands = live.position();
    if position.is_some_and(|position| position != stands) {
        return Err(SessionError::Elsewhere { position: stands });
    }
    if live.session.end().is_some() {
        return Err(SessionError::Ended { position: stands });
    }
    Ok(())
}
