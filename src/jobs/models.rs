//! Stored models, read to be used.

use std::sync::Arc;

use serde::Deserialize;
use tokio::time::Instant;

use crate::learners::hypothesis::Hypothesis;
use crate::records::train::ModelDocument;
use crate::records::{ModelId, Owner};
use crate::storage::StoreError;

use super::service::{Jobs, JobsError};

/// A stored model, read to be used.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedModel {
    /// What it predicts with, which may be large and is shared.
    pub hypothesis: Arc<Hypothesis>,
    /// The names of its features, where it has them.
    pub features: Option<Vec<String>>,
}

impl From<Hypothesis> for LoadedModel {
    /// A hypothesis that no names go with.
    fn from(hypothesis: Hypothesis) -> Self {
        Self {
            hypothesis: Arc::new(hypothesis),
            features: None,
        }
    }
}

impl Jobs {
    /// The owner's model, to be used: see [`ModelCache`](super::model_cache::ModelCache) for how
    /// soon a deletion elsewhere is seen.
    ///
    /// # Errors
    /// [`JobsError::ModelMissing`], or what the store says.
    pub async fn load_model(&self, owner: &Owner, id: ModelId) -> Result<LoadedModel, JobsError> {
        let asked = Instant::now();
        if let Some(model) = self.models.trusted(owner, id, asked) {
            return Ok(model);
        }
        let Some(record) = self.store.model(owner, id).await? else {
            return Err(JobsError::ModelMissing);
        };
        if let Some(model) = self.models.still_there(owner, id, asked) {
            return Ok(model);
        }
        let document = ModelDocument::deserialize(&record.document);
        let document = document.map_err(StoreError::corrupt)?;
        let hypothesis = Hypothesis::try_from(&document.hypothesis);
        let model = LoadedModel::from(hypothesis.map_err(StoreError::corrupt)?);
        self.models.keep(&record, &model, asked);
        Ok(model)
    }

    /// What the owner's model predicts with.
    ///
    /// # Errors
    /// As for [`Self::load_model`].
    pub async fn hypothesis(
        &self,
        owner: &Owner,
        id: ModelId,
    ) -> Result<Arc<Hypothesis>, JobsError> {
        Ok(self.load_model(owner, id).await?.hypothesis)
    }

    /// Deletes the owner's model.
    ///
    /// # Errors
    /// [`JobsError::ModelMissing`], or what the store says.
    pub async fn delete_model(&self, owner: &Owner, id: ModelId) -> Result<(), JobsError> {
        let is_deleted = self.store.delete_model(owner, id).await?;
        if !is_deleted {
            return Err(JobsError::ModelMissing);
        }
        self.models.forget(id);
        Ok(())
    }
}
