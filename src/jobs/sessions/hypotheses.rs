//! The present hypothesis of a session: to be written, or to predict with all of its names or with some.

use std::sync::Arc;

use halfspace_core::bits::Excerpt;
use halfspace_core::learners::engine::session::Session;
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::memory::{self, NoMemory};

use crate::records::Names;
use crate::records::names::FeatureNames;

use crate::jobs::models::loaded::LoadedModel;
use crate::jobs::tasks::memory_bound;

use super::error::SessionError;
use super::live::Live;

/// The present hypothesis, which tells classes apart.
pub(super) fn telling(
    session: &Session,
    predictor: Option<Predictor>,
) -> Result<Predictor, SessionError> {
    let classes = predictor
        .as_ref()
        .map_or(0, |predictor| predictor.members().len());
    let is_open = session.plan().task.open;
    predictor
        .filter(|_| !is_open || classes > 2)
        .ok_or(SessionError::FewClasses { classes })
}

/// The present hypothesis of a session with its names and its encoding.
pub(super) fn whole(live: &Live) -> Result<LoadedModel, SessionError> {
    let names = live.record.spec.names.clone();
    let model = telling(&live.session, live.session.predictor())?.into();
    Ok(LoadedModel { names, ..model })
}

/// The present hypothesis over an excerpt of the names. The model does not have these.
pub(super) fn part(live: &Live, excerpt: &Excerpt) -> Result<LoadedModel, SessionError> {
    let predictor = live.session.excerpt(excerpt);
    let model = telling(&live.session, predictor)?.into();
    let names = Names {
        features: Some(FeatureNames::Open(Some(Arc::default()))),
        ..live.record.spec.names.clone()
    };
    Ok(LoadedModel { names, ..model })
}

/// The present hypothesis of a session, if there is memory for its documents beside it. None before the first example
/// of open classes.
///
/// # Errors
/// Too little memory.
pub fn hypothesis_to_write(session: &Session) -> Result<Option<Predictor>, NoMemory> {
    let predictor = session.predictor();
    let document = predictor.as_ref().map_or(0, memory_bound::document);
    memory::need(4 * document)?;
    Ok(predictor)
}
