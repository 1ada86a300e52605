//! Stored models, read to be used.

use serde::Deserialize;

use crate::learners::hypothesis::Hypothesis;
use crate::records::train::ModelDocument;
use crate::records::{ModelId, Owner};
use crate::storage::StoreError;

use super::service::{Jobs, JobsError};

impl Jobs {
    /// What the owner's model predicts with.
    ///
    /// # Errors
    /// [`JobsError::ModelMissing`], or what the store says.
    pub async fn hypothesis(&self, owner: &Owner, id: ModelId) -> Result<Hypothesis, JobsError> {
        let model = self.store.model(owner, id).await?;
        let model = model.ok_or(JobsError::ModelMissing)?;
        let document = ModelDocument::deserialize(&model.document);
        let document = document.map_err(StoreError::corrupt)?;
        let hypothesis = Hypothesis::try_from(&document.hypothesis);
        Ok(hypothesis.map_err(StoreError::corrupt)?)
    }
}
