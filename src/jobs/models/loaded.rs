//! A model in memory, as predictions and tasks use it.

use std::sync::Arc;

use halfspace_core::learners::hypothesis::Hypothesis;

use crate::records::{Lineage, Names};

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
