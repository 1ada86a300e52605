//! Stored models, read to be used.

use serde::Deserialize;

use crate::learners::hypothesis::Hypothesis;
use crate::records::train::ModelDocument;
use crate::records::{ModelId, Owner};
use crate::storage::StoreError;

use super::service::{Jobs, JobsError};

/// A stored model, read to be used.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedModel {
    /// What it predicts with.
    pub hypothesis: Hypothesis,
    /// The names of its features, where it has them.
    pub features: Option<Vec<String>>,
}

impl From<Hypothesis> for LoadedModel {
    /// A hypothesis that no names go with.
    fn from(hypothesis: Hypothesis) -> Self {
        Self {
            hypothesis,
            features: None,
        }
    }
}

impl Jobs {
    /// The owner's model, to be used.
    ///
    /// # Errors
    /// [`JobsError::ModelMissing`], or what the store says.
    pub async fn load_model(&self, owner: &Owner, id: ModelId) -> Result<LoadedModel, JobsError> {
        let model = self.store.model(owner, id).await?;
        let model = model.ok_or(JobsError::ModelMissing)?;
        let document = ModelDocument::deserialize(&model.document);
        let document = document.map_err(StoreError::corrupt)?;
        let hypothesis = Hypothesis::try_from(&document.hypothesis);
        Ok(LoadedModel {
            hypothesis: hypothesis.map_err(StoreError::corrupt)?,
            features: None,
        })
    }

    /// What the owner's model predicts with.
    ///
    /// # Errors
    /// As for [`Self::load_model`].
    pub async fn hypothesis(&self, owner: &Owner, id: ModelId) -> Result<Hypothesis, JobsError> {
        Ok(self.load_model(owner, id).await?.hypothesis)
    }
}
