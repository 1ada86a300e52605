//! Stored models: how they are loaded for predictions, cached and deleted.

pub(super) mod cache;
pub(super) mod import;

use std::sync::Arc;

use halfspace_core::learners::hypothesis::Hypothesis;
use tokio::time::Instant;

use crate::records::train::ModelDocument;
use crate::records::{Lineage, Model, ModelId, Names, Owner};
use crate::storage::StoreError;

use crate::jobs::service::{Jobs, JobsError};

/// A parsed model, ready for predictions.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedModel {
    /// The hypothesis that predicts.
    pub hypothesis: Arc<Hypothesis>,
    /// The names of features and classes, if the model has them.
    pub names: Names,
    /// The data that the model and its ancestors learnt from.
    pub lineage: Arc<Lineage>,
}

impl From<Hypothesis> for LoadedModel {
    /// A hypothesis without names, of unknown origin.
    fn from(hypothesis: Hypothesis) -> Self {
        Self {
            hypothesis: Arc::new(hypothesis),
            names: Names::default(),
            lineage: Arc::default(),
        }
    }
}

/// The lineage of a stored model. A file vouches for nothing.
fn lineage(record: &Model, document: &ModelDocument) -> Lineage {
    let mut lineage = document.learnt_from.clone();
    lineage.all_generated &= record.job.is_some();
    lineage
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
        let Some(record) = self.store.find(owner, id).await? else {
            return Err(JobsError::ModelMissing);
        };
        if let Some(model) = self.models.still_there(owner, id, asked) {
            return Ok(model);
        }
        let document = serde_json::from_str::<ModelDocument>(&record.document);
        let document = document.map_err(StoreError::corrupt)?;
        let hypothesis = Hypothesis::try_from(&document.hypothesis);
        let hypothesis = hypothesis.map_err(StoreError::corrupt)?;
        let lineage = Arc::new(lineage(&record, &document));
        let classes = document.label_classes();
        let model = LoadedModel {
            hypothesis: Arc::new(hypothesis),
            names: Names {
                features: document.features,
                classes,
                table: document.table,
            },
            lineage,
        };
        self.models.keep(&record, &model, asked, before);
        Ok(model)
    }

    /// Deletes the owner's model.
    ///
    /// # Errors
    /// [`JobsError::ModelMissing`], or errors of the store.
    pub async fn delete_model(&self, owner: &Owner, id: ModelId) -> Result<(), JobsError> {
        let is_deleted = self.store.delete(owner, id).await?;
        if !is_deleted {
            return Err(JobsError::ModelMissing);
        }
        self.models.forget(id);
        Ok(())
    }
}
