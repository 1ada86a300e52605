//! Stored models: how they are loaded for predictions, cached and deleted.

pub(super) mod cache;
pub(super) mod import;

use std::sync::Arc;

use halfspace_core::learners::engine::catalogue;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::hypothesis::Hypothesis;
use tokio::time::Instant;

use crate::records::train::ModelDocument;
use crate::records::{Model, ModelId, Names, Owner};
use crate::storage::StoreError;

use crate::jobs::service::{Jobs, JobsError};

/// A parsed model, ready for predictions.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedModel {
    /// The hypothesis that predicts.
    pub hypothesis: Arc<Hypothesis>,
    /// The names of features and classes, if the model has them.
    pub names: Names,
    /// The seeds of all data that the model and its ancestors learnt from. `None` if some are unknown: for
    /// models of sessions and files, and for data or first hypotheses of clients.
    pub data_seeds: Option<Arc<[u64]>>,
    /// The digest of the data that the model learnt from last.
    pub data_sha256: Option<Arc<str>>,
}

impl From<Hypothesis> for LoadedModel {
    /// A hypothesis without names and known seeds.
    fn from(hypothesis: Hypothesis) -> Self {
        Self {
            hypothesis: Arc::new(hypothesis),
            names: Names::default(),
            data_seeds: None,
            data_sha256: None,
        }
    }
}

/// The seeds that a stored model has learnt from, as far as this service can vouch for them.
fn data_seeds(record: &Model, document: &ModelDocument) -> Option<Arc<[u64]>> {
    record.job?;
    if let Some(seeds) = &document.data_seeds {
        return Some(seeds.as_slice().into());
    }
    // The first releases kept no list of seeds. The documents of their models show whether there are ancestors.
    let is_drawn = document.data_sha256.is_none() && document.warm_start.is_none();
    let is_own = match catalogue::find(&record.learner) {
        None => true,
        Some(entry) => {
            Parameters::from_json(entry.parameters, &document.params).is_ok_and(|parameters| {
                !Task {
                    parameters,
                    ..Task::of(entry, Seed(0))
                }
                .has_initial()
            })
        }
    };
    (is_drawn && is_own).then(|| [document.seed].as_slice().into())
}

impl Jobs {
    /// Loads the owner's model, perhaps from the cache. `model_cache.rs` states how soon a deletion by another
    /// process takes effect.
    ///
    /// # Errors
    /// [`JobsError::ModelMissing`], or errors of the store.
    pub async fn load_model(&self, owner: &Owner, id: ModelId) -> Result<LoadedModel, JobsError> {
        let asked = Instant::now();
        if let Some(model) = self.models.trusted(owner, id, asked) {
            return Ok(model);
        }
        let before = self.models.before_asking();
        let Some(record) = self.store.model(owner, id).await? else {
            return Err(JobsError::ModelMissing);
        };
        if let Some(model) = self.models.still_there(owner, id, asked) {
            return Ok(model);
        }
        let document = serde_json::from_str::<ModelDocument>(&record.document);
        let document = document.map_err(StoreError::corrupt)?;
        let hypothesis = Hypothesis::try_from(&document.hypothesis);
        let hypothesis = hypothesis.map_err(StoreError::corrupt)?;
        let data_seeds = data_seeds(&record, &document);
        let classes = document.label_classes();
        let model = LoadedModel {
            hypothesis: Arc::new(hypothesis),
            names: Names {
                features: document.features,
                classes,
                table: document.table,
            },
            data_seeds,
            data_sha256: document.data_sha256.map(Arc::from),
        };
        self.models.keep(&record, &model, asked, before);
        Ok(model)
    }

    /// Deletes the owner's model.
    ///
    /// # Errors
    /// [`JobsError::ModelMissing`], or errors of the store.
    pub async fn delete_model(&self, owner: &Owner, id: ModelId) -> Result<(), JobsError> {
        let is_deleted = self.store.delete_model(owner, id).await?;
        if !is_deleted {
            return Err(JobsError::ModelMissing);
        }
        self.models.forget(id);
        Ok(())
    }
}
