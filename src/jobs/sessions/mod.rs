//! [`Sessions`]: on-line sessions, which are always in the store, and in memory while they are used.
//!
//! A request that writes to a session holds its write lock, so that no other request learns between its examples. It
//! learns in memory, appends the examples to the stored log at the session's position, and only then answers. If
//! another process has appended first, the append fails, and the session is restored from the store: the snapshot is
//! loaded and the log learnt again, which gives the same state bit for bit.

mod computing;
pub(super) mod error;
pub(super) mod hypotheses;
mod journal;
mod live;
pub(super) mod predicting;
mod slots;
pub(super) mod writer;

use std::sync::{Arc, Weak};
use std::time::Duration;

use halfspace_core::learners::engine::session::Session;
use halfspace_core::memory::{Grant, MemoryBudget, NoMemory};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use crate::records::hypothesis::HypothesisDocument;
use crate::records::id::SessionKind;
use crate::records::session::{SessionRecord, SessionSpec, SessionTally, check_entries};
use crate::records::train::ModelDocument;
use crate::records::{KeyClaim, Model, ModelSummary, Owner, Page, SessionId, Slice};
use crate::storage::{Store, StoreError};

use super::config::JobsConfig;
use super::ids::Ids;
use super::json_text::json_text;
use super::tasks::error::ResolveError;
use computing::Computing;
use error::SessionError;
use hypotheses::{hypothesis_to_write, telling};
use journal::Journal;
use live::{Interrupted, Live, plan, revived};

use slots::{Slot, Slots};

/// A session leaves memory after this time without use.
const IDLE: Duration = Duration::from_secs(60);

/// Memory that a session takes when it is loaded.
const SESSION_BYTES: u64 = 64 << 10;

/// Memory for a copy of the session's hypothesis, in another order.
fn look_bytes(live: &Live) -> u64 {
    SESSION_BYTES + 2 * live.memory.bytes()
}

/// The sessions of a process.
pub struct Sessions {
    store: Arc<Store>,
    ids: Arc<Ids>,
    memory: MemoryBudget,
    slots: Arc<Slots>,
    journal: Arc<Journal>,
    computing: Computing,
}

impl Sessions {
    /// The service of sessions. A session on which no request computes leaves the memory when other work needs it.
    pub(super) fn new(
        store: &Arc<Store>,
        ids: &Arc<Ids>,
        config: &JobsConfig,
        stopping: &CancellationToken,
    ) -> Self {
        let slots = Arc::<Slots>::default();
        let spare: Weak<Slots> = Arc::downgrade(&slots);
        config.memory.take_back_from(spare);
        Self {
            memory: config.memory.clone(),
            journal: Journal::new(Arc::clone(store)),
            computing: Computing::new(config.workers, config.answer_seconds_max, stopping.clone()),
            slots,
            store: Arc::clone(store),
            ids: Arc::clone(ids),
        }
    }

    /// Stores a new session.
    ///
    /// # Errors
    /// [`SessionError::Unresolvable`] if the session is invalid, [`SessionError::NoMemory`], errors of the
    /// computation, or errors of the store, which include an exceeded quota and a used idempotency key.
    pub async fn create(
        &self,
        owner: &Owner,
        spec: SessionSpec,
        key: Option<&KeyClaim>,
    ) -> Result<SessionRecord, SessionError> {
        check_entries(spec.names.class_count(), spec.n).map_err(|detail| ResolveError::Field {
            field: "classes",
            detail,
        })?;
        let checked = plan(&spec)?;
        let memory = self.memory_of_session()?;
        let checked = self.computing.compute(&memory, move |memory, _| {
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
    pub async fn list(
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
    pub async fn find(&self, owner: &Owner, id: SessionId) -> Result<SessionRecord, SessionError> {
        let record = self.store.find(owner, id).await?;
        record.ok_or(SessionError::NotFound)
    }

    /// Calls `look` on the present state of the owner's session and returns the result.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], [`SessionError::NoMemory`], errors of the computation, or errors of the store.
    pub async fn look<T: Send + 'static>(
        &self,
        owner: &Owner,
        id: SessionId,
        read: impl FnOnce(&SessionRecord, &Session) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        self.look_at_live(owner, id, |live| read(&live.record, &live.session))
            .await
    }

    async fn look_at_live<T: Send + 'static>(
        &self,
        owner: &Owner,
        id: SessionId,
        look: impl FnOnce(&Live) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        let slot = self.slots.slot(id);
        let place = self.fresh(&slot, owner, id).await?;
        self.look_in(place, look).await
    }

    /// Calls `look` on a session in memory.
    async fn look_in<T: Send + 'static>(
        &self,
        mut place: OwnedMutexGuard<Option<Live>>,
        look: impl FnOnce(&Live) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        let live = place.take().ok_or(SessionError::Broken)?;
        let memory = self.memory_of_session()?;
        let looked = self.computing.compute(&memory, move |memory, _| {
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
    /// As for [`Self::look`].
    pub async fn save(
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
            let names = record.spec.names.clone();
            let predictor = telling(session, hypothesis_to_write(session)?)?;
            let (names, predictor) = names.in_order(predictor);
            let hypothesis = HypothesisDocument::from(&predictor);
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
                features: names.feature_list(),
                vocabulary: names.vocabulary_kind(),
                first_index: names.first_index(),
                classes: names.class_names(),
                one_against_rest: names.is_against_rest(),
                table: names.table.clone(),
                hypothesis,
            };
            Ok::<_, SessionError>(Model {
                summary: ModelSummary {
                    id: model,
                    owner: record.owner.clone(),
                    job: None,
                    name,
                    learner: record.spec.learner.name.clone(),
                    kind: document.hypothesis.kind().to_owned(),
                    n: document.hypothesis.n() as u64,
                    created_at: now,
                },
                document: json_text(&document),
            })
        });
        let made: Model = made.await??;
        self.store.insert(&made, key).await?;
        Ok(made)
    }

    /// Deletes the owner's session.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], or errors of the store.
    pub async fn delete(&self, owner: &Owner, id: SessionId) -> Result<(), SessionError> {
        if self.store.delete(owner, id).await? {
            self.slots.remove(id);
            return Ok(());
        }
        Err(SessionError::NotFound)
    }

    /// Removes idle sessions from memory at regular intervals until the process stops.
    pub(super) async fn forget_regularly(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(IDLE / 4) => self.slots.forget_idle(IDLE),
                () = self.computing.stopping.cancelled() => return,
            }
        }
    }

    /// Removes every session that no request uses from memory, so that its next use restores it.
    pub fn forget_all(&self) {
        self.slots.forget_idle(Duration::ZERO);
    }

    /// Locks a session in memory, restored if the stored session is at another position.
    async fn fresh(
        &self,
        slot: &Slot,
        owner: &Owner,
        id: SessionId,
    ) -> Result<OwnedMutexGuard<Option<Live>>, SessionError> {
        let mut place = Arc::clone(&slot.live).lock_owned().await;
        slot.use_now();
        // Other processes write too, so the stored position decides.
        let record = self.find(owner, id).await?;
        let is_fresh = |live: &Live| live.position() == record.position;
        if !place.as_ref().is_some_and(is_fresh) {
            *place = None;
            let stored = self.store.session_state(owner, id).await?;
            let stored = stored.ok_or(SessionError::NotFound)?;
            let memory = self.memory_of_session()?;
            let revived = self
                .computing
                .compute(&memory, move |memory, run| revived(stored, memory, run));
            let revived = revived.await?;
            let revived = revived.map_err(|Interrupted| self.computing.interrupted())?;
            let damaged = || StoreError::corrupt(format!("the stored state of {id} is damaged"));
            *place = Some(revived.ok_or_else(damaged)?);
        }
        Ok(place)
    }

    /// Memory for a session, which grows with the session.
    fn memory_of_session(&self) -> Result<Grant, NoMemory> {
        self.memory.try_take(SESSION_BYTES)
    }
}
