//! On-line sessions: always in the store, and in memory while they are used.
//!
//! A request that writes to a session holds the session's write lock, so that no other request learns between
//! its examples. The request learns in memory, appends the examples to the stored log at the session's
//! position, and only then answers. The append fails if another process has appended first. The session is then
//! restored from the store: the snapshot is loaded and the log is learnt again, with the same result bit for
//! bit.

mod journal;
mod live;
pub(super) mod writer;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use halfspace_core::learners::engine::input::TaskError;
use halfspace_core::learners::engine::run::{CancelOnDrop, Interrupt, Run};
use halfspace_core::learners::engine::session::{Session, SessionEnd};
use halfspace_core::memory::{Grant, NoMemory, SpareMemory};
use tokio::sync::{OwnedMutexGuard, Semaphore};
use tokio::time::Instant;

use crate::records::hypothesis::HypothesisDocument;
use crate::records::id::SessionKind;
use crate::records::session::{SessionRecord, SessionSpec, SessionTally};
use crate::records::train::ModelDocument;
use crate::records::{KeyClaim, Model, Owner, Page, SessionId, Slice};
use crate::storage::{OverQuota, Store, StoreError};

use crate::jobs::models::LoadedModel;
use crate::jobs::queue::completion::json_text;
use crate::jobs::service::Jobs;
use crate::jobs::tasks::ResolveError;
use crate::jobs::tasks::memory_bound;
use journal::Journal;
use live::{Interrupted, Live, plan, revived};

/// A session leaves memory after this time without use.
const IDLE: Duration = Duration::from_secs(60);

/// Memory that a session takes when it is loaded.
const SESSION_BYTES: u64 = 64 << 10;

/// Number of sessions in memory from which the session idle for longest leaves early.
const SLOTS_MAX: usize = 1024;

/// Errors of requests about sessions.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No such session.
    #[error("no such session")]
    NotFound,
    /// The requested session is invalid.
    #[error(transparent)]
    Unresolvable(#[from] ResolveError),
    /// The session cannot learn from an example. Neither this example nor a later one was learnt.
    #[error(transparent)]
    Unfit(#[from] TaskError),
    /// The session is at another position than the request says, and learnt nothing.
    #[error(
        "the session stands at position {position}; send the examples after it with `If-Match: \"{position}\"`"
    )]
    Elsewhere { position: u64 },
    /// The session has ended.
    #[error("the session ended at position {position} and accepts no more examples: {end}")]
    Ended { position: u64, end: SessionEnd },
    /// The session would end before the last example of a request whose examples must be learnt all or none.
    #[error(
        "the session would end at example {last} of the request, so no example was learnt; send \
         only the first {last} examples"
    )]
    EndsWithin { last: usize },
    /// Another request is writing.
    #[error("another request is writing to the session")]
    Busy,
    /// The computation exceeded its time limit.
    #[error(
        "learning these examples takes longer than answer_seconds_max, {seconds} seconds; send \
         fewer examples at once"
    )]
    TooLong { seconds: f64 },
    /// A quota would be exceeded.
    #[error(transparent)]
    OverQuota(OverQuota),
    /// The memory budget of the process has no memory for the session.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// The computation met a defect.
    #[error("the computation failed because of a defect in the service")]
    Broken,
    /// The process is stopping.
    #[error("the service is stopping")]
    Stopping,
}

pub(crate) struct Sessions {
    slots: Arc<Slots>,
    pub(crate) journal: Arc<Journal>,
    permits: Arc<Semaphore>,
}

/// The sessions in memory. A session on which no request computes is spare memory, even while a request waits for more
/// examples: it is restored from the store when it is used again.
#[derive(Default)]
pub(crate) struct Slots(Mutex<HashMap<SessionId, Arc<Slot>>>);

/// The place of one session in memory.
pub(crate) struct Slot {
    /// The write lock, held by the request that writes.
    pub(crate) lock: Arc<tokio::sync::Mutex<()>>,
    /// The session as last seen, or `None` if it must be restored. A request that takes the session out puts it
    /// back only if it equals the stored session.
    live: Arc<tokio::sync::Mutex<Option<Live>>>,
    used: Mutex<Instant>,
}

impl Sessions {
    pub(crate) fn new(store: Arc<Store>, workers: usize) -> Self {
        Self {
            slots: Arc::default(),
            journal: Journal::new(store),
            permits: Arc::new(Semaphore::new(workers.max(2))),
        }
    }

    /// The sessions that leave memory when other work needs it.
    pub(crate) fn spare(&self) -> Weak<Slots> {
        Arc::downgrade(&self.slots)
    }

    pub(crate) fn slot(&self, id: SessionId) -> Arc<Slot> {
        let mut slots = self.slots.lock();
        if slots.len() >= SLOTS_MAX && !slots.contains_key(&id) {
            let idle = slots.iter().filter(|(_, slot)| slot.is_idle());
            let longest = idle
                .min_by_key(|(_, slot)| slot.used_at())
                .map(|(id, _)| *id);
            longest.map(|id| slots.remove(&id));
        }
        let slot = slots.entry(id).or_insert_with(|| {
            Arc::new(Slot {
                lock: Arc::default(),
                live: Arc::default(),
                used: Mutex::new(Instant::now()),
            })
        });
        slot.use_now();
        Arc::clone(slot)
    }

    /// Removes sessions from memory that have been idle for `idle`.
    pub(crate) fn forget_idle(&self, idle: Duration) {
        let now = Instant::now();
        let is_used = |slot: &Arc<Slot>| {
            !slot.is_idle() || now.saturating_duration_since(slot.used_at()) < idle
        };
        self.slots.lock().retain(|_, slot| is_used(slot));
    }
}

impl Slots {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Slot>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slots without the lock on the table, so that no grant is dropped under it.
    fn all(&self) -> Vec<Arc<Slot>> {
        self.lock().values().cloned().collect()
    }
}

impl SpareMemory for Slots {
    fn bytes(&self) -> Vec<u64> {
        self.all()
            .iter()
            .filter_map(|slot| slot.spare_bytes())
            .collect()
    }

    fn give_back(&self, bytes: u64, fits: fn(u64) -> bool) {
        let mut slots = self.all();
        slots.sort_by_key(|slot| slot.used_at());
        let mut given_back = 0;
        for slot in slots {
            if given_back >= bytes {
                return;
            }
            if slot.spare_bytes().is_some_and(fits) {
                given_back += slot.forget();
            }
        }
    }
}

/// Memory for a copy of the session's hypothesis and for the documents of the hypothesis.
fn look_bytes(live: &Live) -> u64 {
    let document = memory_bound::document(&live.session.hypothesis());
    SESSION_BYTES + 2 * live.memory.bytes() + 4 * document
}

impl Slot {
    /// Whether only the table refers to the slot.
    fn is_idle(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1
    }

    /// The bytes of the session, if one is in memory and no request computes on it.
    fn spare_bytes(&self) -> Option<u64> {
        let live = self.live.try_lock().ok()?;
        live.as_ref().map(|live| live.memory.bytes())
    }

    /// Removes the session from memory, unless a request computes on it now. Returns the bytes that are free again.
    fn forget(&self) -> u64 {
        let live = self.live.try_lock().ok().and_then(|mut live| live.take());
        live.map_or(0, |live| live.memory.bytes())
    }

    fn use_now(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn used_at(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Jobs {
    /// Stores a new session.
    ///
    /// # Errors
    /// [`SessionError::Unresolvable`] if the session is invalid, [`SessionError::NoMemory`], errors of the
    /// computation, or errors of the store. An exceeded quota and a used idempotency key are errors of the
    /// store.
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
            tally: SessionTally::NEW,
            created_at: self.ids.now(),
        };
        self.store.insert(&record, key).await?;
        Ok(record)
    }

    /// A page of the owner's sessions.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn sessions(
        &self,
        owner: &Owner,
        page: &Page<SessionKind>,
    ) -> Result<Slice<SessionRecord, SessionKind>, SessionError> {
        Ok(self.store.list(owner, page).await?)
    }

    /// The owner's session, without its state.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], or errors of the store.
    pub async fn session(
        &self,
        owner: &Owner,
        id: SessionId,
    ) -> Result<SessionRecord, SessionError> {
        let record = self.store.find(owner, id).await?;
        record.ok_or(SessionError::NotFound)
    }

    /// Calls `look` on the present state of the owner's session and returns the result.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], [`SessionError::NoMemory`], errors of the computation, or errors of the
    /// store.
    pub async fn look_at_session<T: Send + 'static>(
        &self,
        owner: &Owner,
        id: SessionId,
        look: impl FnOnce(&SessionRecord, &Session) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        self.look_at_live(owner, id, |live| look(&live.record, &live.session))
            .await
    }

    async fn look_at_live<T: Send + 'static>(
        &self,
        owner: &Owner,
        id: SessionId,
        look: impl FnOnce(&Live) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        let slot = self.sessions.slot(id);
        let mut place = self.fresh(&slot, owner, id).await?;
        let live = place.take().ok_or(SessionError::Broken)?;
        let memory = self.memory_of_session()?;
        let looked = self.compute(&memory, move |memory, _| {
            let bytes = look_bytes(&live);
            let seen = memory.grow_to(bytes);
            let seen = seen.map(|()| memory.within(|| look(&live)));
            (live, seen)
        });
        let (live, seen) = looked.await?;
        *place = Some(live);
        Ok(seen?)
    }

    /// Stores the present hypothesis of the owner's session as a model.
    ///
    /// # Errors
    /// As for [`Self::look_at_session`].
    pub async fn save_session(
        &self,
        owner: &Owner,
        id: SessionId,
        name: Option<String>,
        key: Option<&KeyClaim>,
    ) -> Result<Model, SessionError> {
        let (model, now) = (self.ids.id(), self.ids.now());
        let made = self.look_at_live(owner, id, move |live| {
            let Live {
                record,
                session,
                lineage,
                ..
            } = live;
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
                learnt_from: lineage.clone(),
                warm_start: None,
                features: record.spec.names.features.clone(),
                classes: record.spec.names.class_names(),
                one_against_rest: record.spec.names.is_against_rest(),
                table: record.spec.names.table.clone(),
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
        self.store.insert(&made, key).await?;
        Ok(made)
    }

    /// The present hypothesis of the owner's session, with the names and the encoding of the session.
    ///
    /// # Errors
    /// As for [`Self::look_at_session`].
    pub async fn session_model(
        &self,
        owner: &Owner,
        id: SessionId,
    ) -> Result<LoadedModel, SessionError> {
        let look = |record: &SessionRecord, session: &Session| LoadedModel {
            names: record.spec.names.clone(),
            ..session.hypothesis().into()
        };
        self.look_at_session(owner, id, look).await
    }

    /// Deletes the owner's session.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], or errors of the store.
    pub async fn delete_session(&self, owner: &Owner, id: SessionId) -> Result<(), SessionError> {
        if self.store.delete(owner, id).await? {
            self.sessions.slots.lock().remove(&id);
            return Ok(());
        }
        Err(SessionError::NotFound)
    }

    /// Removes idle sessions from memory at regular intervals until the process stops.
    pub(crate) async fn forget_idle_sessions(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(IDLE / 4) => self.sessions.forget_idle(IDLE),
                () = self.stopping.cancelled() => return,
            }
        }
    }

    /// Removes every session from memory that no request uses. The next use restores the session.
    pub fn forget_sessions(&self) {
        self.sessions.forget_idle(Duration::ZERO);
    }

    /// Locks a session in memory, restored if the stored session is at another position.
    pub(crate) async fn fresh(
        &self,
        slot: &Slot,
        owner: &Owner,
        id: SessionId,
    ) -> Result<OwnedMutexGuard<Option<Live>>, SessionError> {
        let mut place = Arc::clone(&slot.live).lock_owned().await;
        slot.use_now();
        // Other processes write too, so the stored position decides.
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

    /// The error of a computation that was told to stop.
    pub(crate) fn interrupted(&self) -> SessionError {
        if self.stopping.is_cancelled() {
            return SessionError::Stopping;
        }
        let seconds = self.config.answer_seconds_max;
        SessionError::TooLong { seconds }
    }

    /// Computes in the blocking pool. The stop flag is raised at the time limit, at the stop of the process,
    /// and when the returned future is dropped.
    ///
    /// # Errors
    /// [`SessionError::NoMemory`], or [`SessionError::Broken`] after a panic. Stopped work returns a value of
    /// its own.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        memory: &Grant,
        work: impl FnOnce(Grant, &Run) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        let permit = Arc::clone(&self.sessions.permits).acquire_owned().await;
        let permit = permit.map_err(|_| SessionError::Stopping)?;
        let run = Arc::new(Run::default());
        let _watch = CancelOnDrop::new(run.stop.clone());
        let (outside, inside) = (Arc::clone(&run), memory.clone());
        let mut handle = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(inside, &outside)
        });
        let limit = Duration::try_from_secs_f64(self.config.answer_seconds_max);
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
            Some(refusal) => Err(refusal.into()),
            None => done.map_err(|_| SessionError::Broken),
        }
    }

    /// Memory for a session, which grows with the session.
    fn memory_of_session(&self) -> Result<Grant, NoMemory> {
        self.config.memory.try_take(SESSION_BYTES)
    }
}
