//! A stored model: a hypothesis and where it came from.
//!
//! What the document says is its learner's business; here it is carried whole.

use serde::{Deserialize, Serialize};

use super::id::{JobId, ModelId};
use super::owner::Owner;
use super::time::Timestamp;

/// A model with all that is needed to use it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub id: ModelId,
    pub owner: Owner,
    /// The job that made it, which may be gone; none for an imported model.
    pub job: Option<JobId>,
    /// Free text of the client.
    pub name: Option<String>,
    /// The name of the learner that found the hypothesis.
    pub learner: String,
    /// The kind of hypothesis, such as `binary-weights`.
    pub kind: String,
    /// How many features the client's examples have.
    pub n: u64,
    /// Hypothesis, parameters, seed and counts, as JSON text. A tree of values would take several times
    /// the memory.
    pub document: String,
    pub created_at: Timestamp,
}

impl Model {
    /// The model as it appears in lists, and its document.
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

/// A model without its document, as it appears in lists: documents can be large, and a page holds
/// many models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
