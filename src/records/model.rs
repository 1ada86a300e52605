//! A stored model: a hypothesis and its origin.
//!
//! The record holds the document as text and does not read it; `train.rs` and `hypothesis.rs` do.

use serde::Serialize;
use utoipa::ToSchema;

use super::id::{JobId, ModelId};
use super::owner::Owner;
use super::time::Timestamp;

/// A model with its document.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub summary: ModelSummary,
    /// Hypothesis, parameters, seed and counts, as JSON text, because a tree of values would take several times the
    /// memory.
    pub document: String,
}

/// A model in a list.
// A page holds many models, and documents can be large.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ModelItem)]
pub struct ModelSummary {
    pub id: ModelId,
    #[serde(skip)]
    pub owner: Owner,
    /// Job that trained the model, which may be deleted. Null for an imported model or a saved session.
    pub job: Option<JobId>,
    pub name: Option<String>,
    /// Learner that found the hypothesis.
    pub learner: String,
    /// Kind of hypothesis.
    pub kind: String,
    /// Features per example.
    pub n: u64,
    pub created_at: Timestamp,
}
