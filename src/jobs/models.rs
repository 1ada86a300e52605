//! Stored models, read to be used.

use std::sync::Arc;

use serde::Deserialize;
use tokio::time::Instant;

use crate::learners::hypothesis::Hypothesis;
use crate::records::train::ModelDocument;
use crate::records::{ModelId, Names, Owner};
use crate::storage::StoreError;

use super::service::{Jobs, JobsError};

/// A stored model, read to be used.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedModel {
    /// What it predicts with.
    pub hypothesis: Arc<Hypothesis>,
    /// The names of its features and classes, where it has them.
    pub names: Names,
    origin: Origin,
}

/// What a model has learnt from, as far as is known.
#[derive(Clone, Debug, PartialEq)]
enum Origin {
    /// Examples that were drawn from this seed, and no others.
    Drawn { seed: u64 },
    /// The data of this digest, and no others.
    Sample { sha256: String },
    /// Nobody can tell: sessions and files do not say, nor does a model that began from another.
    Unknown,
}

impl From<Hypothesis> for LoadedModel {
    /// A hypothesis that no names go with.
    fn from(hypothesis: Hypothesis) -> Self {
        Self {
            hypothesis: Arc::new(hypothesis),
            names: Names::default(),
            origin: Origin::Unknown,
        }
    }
}

impl LoadedModel {
    /// Whether examples that are fresh are also fresh to this model: a sample, of this digest, that
    /// the client declares fresh, or those drawn from this seed. All that the model learnt from must
    /// be known, and be others. Of drawn examples and a sample that is not: the sample may be them.
    pub fn is_fresh_to(&self, data_sha256: Option<&str>, seed: u64) -> bool {
        match (&self.origin, data_sha256) {
            (Origin::Sample { sha256 }, Some(given)) => sha256 != given,
            (Origin::Drawn { seed: own }, None) => *own != seed,
            (Origin::Drawn { .. }, Some(_)) | (Origin::Sample { .. }, None) => false,
            (Origin::Unknown, _) => false,
        }
    }
}

impl Jobs {
    /// The owner's model, to be used: see `model_cache.rs` for how
    /// soon a deletion elsewhere is seen.
    ///
    /// # Errors
    /// [`JobsError::ModelMissing`], or what the store says.
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
        let document = ModelDocument::deserialize(&record.document);
        let document = document.map_err(StoreError::corrupt)?;
        let hypothesis = Hypothesis::try_from(&document.hypothesis);
        let hypothesis = hypothesis.map_err(StoreError::corrupt)?;
        let origin = match document.data_sha256 {
            _ if document.warm_start.is_some() => Origin::Unknown,
            Some(sha256) => Origin::Sample { sha256 },
            None if record.job.is_some() => Origin::Drawn {
                seed: document.seed,
            },
            None => Origin::Unknown,
        };
        let model = LoadedModel {
            hypothesis: Arc::new(hypothesis),
            names: Names {
                features: document.features,
                classes: document.classes,
            },
            origin,
        };
        self.models.keep(&record, &model, asked, before);
        Ok(model)
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
