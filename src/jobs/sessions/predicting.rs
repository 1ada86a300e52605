//! Predictions of sessions. A session over names may have millions of weights, of which an example needs few, so
//! predictions copy only the weights of the names that they meet.

use std::sync::Arc;

use halfspace_core::bits::Excerpt;
use halfspace_core::learners::sample::data::Data;
use halfspace_core::memory::{self, Grant};
use halfspace_formats::Vocabulary;
use tokio::sync::OwnedMutexGuard;

use crate::records::{Owner, SessionId};

use crate::jobs::models::loaded::LoadedModel;

use super::Sessions;
use super::error::SessionError;
use super::hypotheses::{part, whole};
use super::live::Live;
use super::slots::Slot;

/// Bytes of a weight in a copy, which is made of 64-bit numbers first.
const WEIGHT_BYTES: u64 = 16;

/// What predicts.
pub enum PredictingModel {
    /// A hypothesis in memory.
    Loaded(LoadedModel),
    /// A session whose examples are sets of names.
    Session(SessionOverNames),
}

/// A session over names that predicts. It may learn between two predictions.
pub struct SessionOverNames {
    sessions: Arc<Sessions>,
    owner: Owner,
    id: SessionId,
    slot: Arc<Slot>,
    /// Whether the next example may bring a new class.
    pub learns_classes: bool,
    /// The hypothesis without any name.
    pub nameless: LoadedModel,
}

/// The present state of a session, which does not change meanwhile.
pub struct PresentSession {
    place: OwnedMutexGuard<Option<Live>>,
    memory: Grant,
}

/// Some examples with a model of their names alone.
pub struct FittedExamples {
    pub model: LoadedModel,
    pub data: Data,
    pub memory: Grant,
}

impl Sessions {
    /// What predicts for the owner's session.
    ///
    /// # Errors
    /// As for [`Self::look`], and [`SessionError::FewClasses`].
    pub async fn model(
        self: &Arc<Self>,
        owner: &Owner,
        id: SessionId,
    ) -> Result<PredictingModel, SessionError> {
        let slot = self.slots.slot(id);
        let place = self.fresh(&slot, owner, id).await?;
        let live = place.as_ref().ok_or(SessionError::Broken)?;
        if !live.record.spec.names.is_open() {
            return Ok(PredictingModel::Loaded(self.look_in(place, whole).await??));
        }
        let nameless = part(live, &Excerpt::new(Vec::new()))?;
        let learns_classes = live.record.spec.open || live.record.is_unnamed();
        Ok(PredictingModel::Session(SessionOverNames {
            sessions: Arc::clone(self),
            owner: owner.clone(),
            id,
            slot,
            learns_classes,
            nameless,
        }))
    }
}

impl SessionOverNames {
    /// The state of the session, which is at least as new as when the request began. Waits while the session learns.
    ///
    /// # Errors
    /// As for a look at the session.
    pub async fn present(&self) -> Result<PresentSession, SessionError> {
        let mut place = Arc::clone(&self.slot.live).lock_owned().await;
        if place.is_none() {
            drop(place);
            place = self
                .sessions
                .fresh(&self.slot, &self.owner, self.id)
                .await?;
        }
        let memory = self.sessions.memory_of_session()?;
        Ok(PresentSession { place, memory })
    }

    /// A copy of the present hypothesis with all names.
    ///
    /// # Errors
    /// As for [`Self::present`].
    pub async fn whole(&self) -> Result<LoadedModel, SessionError> {
        let place = self
            .sessions
            .fresh(&self.slot, &self.owner, self.id)
            .await?;
        self.sessions.look_in(place, whole).await?
    }
}

impl PresentSession {
    /// Examples with names, and the hypothesis over those of their names that the session knows.
    ///
    /// # Errors
    /// [`SessionError::NoMemory`], or [`SessionError::FewClasses`].
    pub fn fit(self, given: &Vocabulary, data: &Data) -> Result<FittedExamples, SessionError> {
        let Self { place, memory } = self;
        let live = place.as_ref().ok_or(SessionError::Broken)?;
        let fitted = memory.settled(|| {
            let names = live.record.spec.names.vocabulary();
            let known = names.map_or(0, |own| own.len());
            let renumbering = match names {
                Some(own) => own.renumbering(given),
                None => Vocabulary::default().renumbering(given),
            };
            let (renumbering, excerpt) = renumbering.excerpt(known);
            let classes = live.record.spec.names.class_count() as u64;
            memory::need(excerpt.n() as u64 * classes * WEIGHT_BYTES)?;
            let model = part(live, &excerpt)?;
            Ok::<_, SessionError>((model, renumbering))
        });
        drop(place);
        let (model, renumbering) = fitted?;
        let data = memory.resettled(|| renumbering.of(data))?;
        Ok(FittedExamples {
            model,
            data,
            memory,
        })
    }
}
