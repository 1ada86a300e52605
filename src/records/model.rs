//! A stored model: a hypothesis and its origin.
//!
//! This module stores the document of the hypothesis without reading it. Only the learner knows its meaning.

use super::id::{JobId, ModelId};
use super::owner::Owner;
use super::time::Timestamp;

/// A model with its document.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub id: ModelId,
    pub owner: Owner,
    /// The job that made the model; `None` for an imported model. The job may have been deleted.
    pub job: Option<JobId>,
    /// Free text of the client.
    pub name: Option<String>,
    /// Name of the learner that found the hypothesis.
    pub learner: String,
    /// The kind of the hypothesis, such as `binary-weights`.
    pub kind: String,
    /// Number of features of the client's examples.
    pub n: u64,
    /// Hypothesis, parameters, seed and counts, as JSON text. A tree of values would take several times
    /// the memory.
    pub document: String,
    pub created_at: Timestamp,
}

impl Model {
    /// Splits the model into the summary for lists and the document.
    #[must_use]
    pub fn into_parts(self) -> (ModelSummary, String) {
        let summary = ModelSummary {
            id: self.id,
            owner: self.owner,
            job: self.job,
            name: self.name,
            learner: self.learner,
            kind: self.kind,
            n: self.n,
            created_at: self.created_at,
        };
        (summary, self.document)
    }
}

/// A model as in lists, without its document. A page holds many models, and documents can be large.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSummary {
    pub id: ModelId,
    pub owner: Owner,
    pub job: Option<JobId>,
    pub name: Option<String>,
    pub learner: String,
    pub kind: String,
    pub n: u64,
    pub created_at: Timestamp,
}
