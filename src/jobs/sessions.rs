//! On-line sessions: in memory while they are used, in the store always.
//!
//! A request that writes holds the session's turn, so that no other comes between its examples. It
//! learns in memory, then appends what was learnt at the position where it stood; only then it
//! answers. When another process was there first the append is void, and the session is brought
//! back from the store: snapshot, then the log learnt again, which comes to the same bit for bit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::run::{Interrupt, Run, StopFlag};
use halfspace_core::learners::session::{Session, SessionEnd};
use halfspace_core::learners::task::TaskError;
use halfspace_core::memory::{Grant, NoMemory};
use tokio::sync::{OwnedMutexGuard, Semaphore};
use tokio::time::Instant;

use crate::records::hypothesis::HypothesisDocument;
use crate::records::id::SessionKind;
use crate::records::session::{SessionRecord, SessionSpec};
use crate::records::train::ModelDocument;
use crate::records::{KeyClaim, Model, Owner, Page, SessionId, Slice};
use crate::storage::{OverQuota, Store, StoreError};

use super::ending::json_text;
use super::live_session::{Interrupted, Live, plan, revived};
use super::memory_bound;
use super::service::Jobs;
use super::session_journal::Journal;
use super::work::ResolveError;

/// A session that nobody used for so long leaves memory.
const IDLE: Duration = Duration::from_secs(60);

/// Memory of a session when the session comes into memory.
const SESSION_BYTES: u64 = 64 << 10;

/// Sessions in memory before the longest idle ones leave it early.
const SLOTS_MAX: usize = 1024;

/// Why a request about a session was not met.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The store did not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No such session.
    #[error("there is no such session")]
    NotFound,
    /// The session that was asked for cannot be.
    #[error(transparent)]
    Unresolvable(#[from] ResolveError),
    /// The examples are not what the session learns from; none of them was learnt.
    #[error(transparent)]
    Unfit(#[from] TaskError),
    /// The session stands elsewhere than the request says; nothing was learnt.
    #[error("the session stands at position {position}")]
    Elsewhere { position: u64 },
    /// The session has ended.
    #[error("the session has ended, at position {position}, and learns no more: {end}")]
    Ended { position: u64, end: SessionEnd },
    /// Examples to be learnt all or none go on after the end of the session.
    #[error(
        "the session would end with example {last} of these, counted from 1, and the rest could not \
         be learnt; none was: send the first {last}"
    )]
    EndsWithin { last: usize },
    /// Another request is writing.
    #[error("another request is writing to the session")]
    Busy,
    /// It took too long.
    #[error("these examples take longer to learn than the {seconds} seconds of a request")]
    TooLong { seconds: f64 },
    /// There is no room for it within a limit.
    #[error(transparent)]
    OverQuota(OverQuota),
    /// The budget of the process has no memory for the session.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// The computation met a defect.
    #[error("the computation met a defect of the service")]
    Broken,
    /// The process is about to stop.
    #[error("the service is stopping")]
    Stopping,
}

/// The sessions of this process.
pub(super) struct Sessions {
    slots: Mutex<HashMap<SessionId, Arc<Slot>>>,
    pub(super) journal: Arc<Journal>,
    permits: Arc<Semaphore>,
}

/// The place of one session.
pub(super) struct Slot {
    /// Held by the request that writes.
    pub(super) turn: Arc<tokio::sync::Mutex<()>>,
    /// The session as it was last seen; none when it must be fetched. Whoever takes it out puts it
    /// back only when it is as stored.
    live: Arc<tokio::sync::Mutex<Option<Live>>>,
    used: Mutex<Instant>,
}

impl Sessions {
    pub(super) fn new(store: Arc<dyn Store>, workers: usize) -> Self {
        Self {
            slots: Mutex::default(),
            journal: Journal::new(store),
            permits: Arc::new(Semaphore::new(workers.max(2))),
        }
    }

    pub(super) fn slot(&self, id: SessionId) -> Arc<Slot> {
        let mut slots = self.slots();
        if slots.len() >= SLOTS_MAX && !slots.contains_key(&id) {
            let idle = slots.iter().filter(|(_, slot)| slot.is_idle());
            let longest = idle
                .min_by_key(|(_, slot)| slot.used_at())
                .map(|(id, _)| *id);
            longest.map(|id| slots.remove(&id));
        }
        let slot = slots.entry(id).or_insert_with(|| {
            Arc::new(Slot {
                turn: Arc::default(),
                live: Arc::default(),
                used: Mutex::new(Instant::now()),
            })
        });
        *slot.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Arc::clone(slot)
    }

    /// Lets go of sessions that nobody uses.
    pub(super) fn forget_idle(&self, idle: Duration) {
        let now = Instant::now();
        let is_used = |slot: &Arc<Slot>| {
            !slot.is_idle() || now.saturating_duration_since(slot.used_at()) < idle
        };
        self.slots().retain(|_, slot| is_used(slot));
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory to copy the hypothesis of a session and to write documents of the hypothesis.
fn look_bytes(live: &Live) -> u64 {
    let document = memory_bound::document(&live.session.hypothesis());
    SESSION_BYTES + 2 * live.memory.bytes() + 4 * document
}

impl Slot {
    /// Whether only the table knows it.
    fn is_idle(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1
    }

    fn used_at(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Jobs {
    /// Stores a new session.
    ///
    /// # Errors
    /// What of it cannot be; [`SessionError::OverQuota`]; what the store says, that something else was
    /// made under its key included.
    pub async fn create_session(
        &self,
        owner: &Owner,
        spec: SessionSpec,
        key: Option<&KeyClaim>,
    ) -> Result<SessionRecord, SessionError> {
        let checked = plan(&spec)?;
        let memory = self.memory_of_session()?;
        let checked = self.compute(&memory, move |memory, _| {
            memory.within(|| Session::new(checked).map(|_| ()))
        });
        checked.await?.map_err(ResolveError::Task)?;
        let record = SessionRecord {
            id: self.ids.id(),
            owner: owner.clone(),
            spec,
            position: 0,
            created_at: self.ids.now(),
        };
        self.store.insert_session(&record, key).await?;
        Ok(record)
    }

    /// A page of the owner's sessions.
    ///
    /// # Errors
    /// What the store says.
    pub async fn sessions(
        &self,
        owner: &Owner,
        page: &Page<SessionKind>,
    ) -> Result<Slice<SessionRecord, SessionKind>, SessionError> {
        Ok(self.store.sessions(owner, page).await?)
    }

    /// The owner's session, without its state.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], or what the store says.
    pub async fn session(
        &self,
        owner: &Owner,
        id: SessionId,
    ) -> Result<SessionRecord, SessionError> {
        let record = self.store.session(owner, id).await?;
        record.ok_or(SessionError::NotFound)
    }

    /// What `look` sees of the owner's session as it stands now.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], or what the store says.
    pub async fn look_at_session<T: Send + 'static>(
        &self,
        owner: &Owner,
        id: SessionId,
        look: impl FnOnce(&SessionRecord, &Session) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        let slot = self.sessions.slot(id);
        let mut place = self.fresh(&slot, owner, id).await?;
        let live = place.take().ok_or(SessionError::Broken)?;
        let memory = self.memory_of_session()?;
        let looked = self.compute(&memory, move |memory, _| {
            let bytes = look_bytes(&live);
            let seen = memory.grow_to(bytes);
            let seen = seen.map(|()| memory.within(|| look(&live.record, &live.session)));
            (live, seen)
        });
        let (live, seen) = looked.await?;
        *place = Some(live);
        Ok(seen?)
    }

    /// Keeps the present hypothesis of the owner's session as a model.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], or what the store says.
    pub async fn save_session(
        &self,
        owner: &Owner,
        id: SessionId,
        name: Option<String>,
        key: Option<&KeyClaim>,
    ) -> Result<Model, SessionError> {
        let (model, now) = (self.ids.id(), self.ids.now());
        let made = self.look_at_session(owner, id, move |record, session| {
            let hypothesis = HypothesisDocument::from(&session.hypothesis());
            let counts = session.counts();
            let document = ModelDocument {
                params: session.plan().task.parameters.to_json(),
                seed: record.spec.seed,
                data_sha256: None,
                examples: counts.examples,
                mistakes: counts.mistakes,
                updates: counts.updates,
                passes: counts.passes,
                held_out: None,
                data_seeds: None,
                warm_start: None,
                features: None,
                classes: None,
                hypothesis,
            };
            Model {
                id: model,
                owner: record.owner.clone(),
                job: None,
                name,
                learner: record.spec.learner.name.clone(),
                kind: document.hypothesis.kind().to_owned(),
                n: document.hypothesis.n() as u64,
                document: json_text(&document),
                created_at: now,
            }
        });
        let made = made.await?;
        self.store.insert_model(&made, key).await?;
        Ok(made)
    }

    /// The present hypothesis of the owner's session.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], or what the store says.
    pub async fn session_hypothesis(
        &self,
        owner: &Owner,
        id: SessionId,
    ) -> Result<Hypothesis, SessionError> {
        let look = |_: &SessionRecord, session: &Session| session.hypothesis();
        self.look_at_session(owner, id, look).await
    }

    /// Deletes the owner's session.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], or what the store says.
    pub async fn delete_session(&self, owner: &Owner, id: SessionId) -> Result<(), SessionError> {
        if self.store.delete_session(owner, id).await? {
            self.sessions.slots().remove(&id);
            return Ok(());
        }
        Err(SessionError::NotFound)
    }

    /// Lets go of idle sessions now and then until the process stops.
    pub(super) async fn forget_idle_sessions(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(IDLE / 4) => self.sessions.forget_idle(IDLE),
                () = self.stopping.cancelled() => return,
            }
        }
    }

    /// Lets go of every session that no request holds; the next use brings it back.
    pub fn forget_sessions(&self) {
        self.sessions.forget_idle(Duration::ZERO);
    }

    /// The place of a session, with the session in it as it is stored now.
    pub(super) async fn fresh(
        &self,
        slot: &Slot,
        owner: &Owner,
        id: SessionId,
    ) -> Result<OwnedMutexGuard<Option<Live>>, SessionError> {
        let mut place = Arc::clone(&slot.live).lock_owned().await;
        // Other processes write too.
        let record = self.session(owner, id).await?;
        let is_fresh = |live: &Live| live.position() == record.position;
        if !place.as_ref().is_some_and(is_fresh) {
            *place = None;
            let stored = self.store.session_state(owner, id).await?;
            let stored = stored.ok_or(SessionError::NotFound)?;
            let memory = self.memory_of_session()?;
            let revived = self.compute(&memory, move |memory, run| revived(stored, memory, run));
            let revived = revived.await?;
            let revived = revived.map_err(|Interrupted| self.interrupted())?;
            let damaged = || StoreError::corrupt(format!("the stored state of {id} is damaged"));
            *place = Some(revived.ok_or_else(damaged)?);
        }
        Ok(place)
    }

    /// Why a computation was told to stop.
    pub(super) fn interrupted(&self) -> SessionError {
        if self.stopping.is_cancelled() {
            return SessionError::Stopping;
        }
        let seconds = self.config.seconds_default;
        SessionError::TooLong { seconds }
    }

    /// Computes in the blocking pool until the work ends, takes too long, finds no memory, or the process
    /// stops.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        memory: &Grant,
        work: impl FnOnce(Grant, &Run) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        let permit = Arc::clone(&self.sessions.permits).acquire_owned().await;
        let permit = permit.map_err(|_| SessionError::Stopping)?;
        let run = Arc::new(Run::default());
        let _watch = StopOnDrop(run.stop.clone());
        let (outside, inside) = (Arc::clone(&run), memory.clone());
        let mut handle = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(inside, &outside)
        });
        let limit = Duration::try_from_secs_f64(self.config.seconds_default);
        let done = tokio::select! {
            done = &mut handle => Some(done),
            () = tokio::time::sleep(limit.unwrap_or(Duration::MAX)) => {
                run.stop.raise(Interrupt::TimeLimit);
                None
            }
            () = self.stopping.cancelled() => {
                run.stop.raise(Interrupt::Suspended);
                None
            }
        };
        let done = match done {
            Some(done) => done,
            None => handle.await,
        };
        match memory.refused() {
            Some(refusal) => {
                // The next try finds the memory of idle sessions.
                self.forget_sessions();
                Err(refusal.into())
            }
            None => done.map_err(|_| SessionError::Broken),
        }
    }

    /// Memory for a session, which grows with the session. Idle sessions leave memory when none is free.
    fn memory_of_session(&self) -> Result<Grant, NoMemory> {
        let memory = &self.config.memory;
        if memory.available() < SESSION_BYTES {
            self.forget_sessions();
        }
        memory.try_take(SESSION_BYTES)
    }
}

/// Tells a computation to stop when nobody waits for it any more.
#[derive(Default)]
pub(super) struct StopOnDrop(StopFlag);

impl StopOnDrop {
    /// The flag that the computation looks at.
    pub(super) fn flag(&self) -> StopFlag {
        self.0.clone()
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.raise(Interrupt::Cancelled);
    }
}
