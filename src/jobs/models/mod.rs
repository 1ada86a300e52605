//! [`Models`]: how stored models are loaded for predictions, cached, stored and deleted.

mod cache;
pub(super) mod import;
pub(super) mod loaded;

use std::sync::Arc;

use halfspace_core::learners::predictor::Predictor;
use tokio::time::Instant;

use crate::records::train::ModelDocument;
use crate::records::{KeyClaim, Lineage, Model, ModelId, ModelSummary, Names, Owner};
use crate::storage::{Store, StoreError};

use super::error::JobsError;
use super::ids::Ids;
use super::json_text::json_text;
use cache::ModelCache;
use loaded::LoadedModel;

/// The lineage of a stored model. A file vouches for nothing.
fn lineage(record: &Model, document: &ModelDocument) -> Lineage {
    let mut lineage = document.learnt_from.clone();
    lineage.all_generated &= record.summary.job.is_some();
    lineage
}

/// The stored models of a process.
pub struct Models {
    store: Arc<Store>,
    ids: Arc<Ids>,
    cache: ModelCache,
}

impl Models {
    pub(super) fn new(store: &Arc<Store>, ids: &Arc<Ids>) -> Self {
        Self {
            store: Arc::clone(store),
            ids: Arc::clone(ids),
            cache: ModelCache::default(),
        }
    }

    /// Loads the owner's model, perhaps from the cache. `cache.rs` states how soon a deletion by another
    /// process takes effect.
    ///
    /// # Errors
    /// [`JobsError::ModelMissing`], or errors of the store.
    pub async fn load(&self, owner: &Owner, id: ModelId) -> Result<LoadedModel, JobsError> {
        let asked = Instant::now();
        if let Some(model) = self.cache.trusted(owner, id, asked) {
            return Ok(model);
        }
        let before = self.cache.before_asking();
        let Some(record) = self.store.find(owner, id).await? else {
            return Err(JobsError::ModelMissing);
        };
        if let Some(model) = self.cache.still_there(owner, id, asked) {
            return Ok(model);
        }
        let document = serde_json::from_str::<ModelDocument>(&record.document);
        let document = document.map_err(StoreError::corrupt)?;
        let predictor = Predictor::try_from(&document.hypothesis);
        let predictor = predictor.map_err(StoreError::corrupt)?;
        let lineage = Arc::new(lineage(&record, &document));
        let classes = document.label_classes();
        let features = document.feature_names().map_err(StoreError::corrupt)?;
        let model = LoadedModel {
            predictor: Arc::new(predictor),
            names: Names {
                features,
                classes,
                table: document.table,
            },
            lineage,
        };
        self.cache.keep(&record, &model, asked, before);
        Ok(model)
    }

    /// Deletes the owner's model.
    ///
    /// # Errors
    /// [`JobsError::ModelMissing`], or errors of the store.
    pub async fn delete(&self, owner: &Owner, id: ModelId) -> Result<(), JobsError> {
        let is_deleted = self.store.delete(owner, id).await?;
        if !is_deleted {
            return Err(JobsError::ModelMissing);
        }
        self.cache.forget(id);
        Ok(())
    }

    /// Stores a checked model under a new id. It is on disk when this returns.
    ///
    /// # Errors
    /// [`JobsError::OverQuota`], [`JobsError::KeyTaken`], or errors of the store. After an error there is no model,
    /// except that after [`StoreError::Unavailable`] one with an unknown id may exist.
    pub async fn store(
        &self,
        owner: Owner,
        name: Option<String>,
        learner: String,
        document: &ModelDocument,
        key: Option<&KeyClaim>,
    ) -> Result<Model, JobsError> {
        let model = Model {
            summary: ModelSummary {
                id: self.ids.id(),
                owner,
                job: None,
                name,
                learner,
                kind: document.hypothesis.kind().to_owned(),
                n: document.hypothesis.n() as u64,
                created_at: self.ids.now(),
            },
            document: json_text(document),
        };
        let mut stored = self.store.insert(&model, key).await;
        if let Err(StoreError::Unavailable(_)) = stored {
            // Perhaps only the answer is missing. The store leaves a model that is already stored unchanged.
            stored = self.store.insert(&model, key).await;
        }
        stored?;
        Ok(model)
    }
}
