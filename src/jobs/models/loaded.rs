//! A model in memory, as predictions and tasks use it.

use std::sync::Arc;

use halfspace_core::learners::predictor::Predictor;

use crate::records::{Lineage, Names};

#[derive(Clone, Debug, PartialEq)]
pub struct LoadedModel {
    /// The hypothesis of two classes, or a committee of more, which makes the predictions.
    pub predictor: Arc<Predictor>,
    /// The names of features and classes, if the model has them.
    pub names: Names,
    /// The data that the model and its ancestors learnt from.
    pub lineage: Arc<Lineage>,
}

impl<P: Into<Predictor>> From<P> for LoadedModel {
    /// A predictor without names, of unknown origin.
    fn from(predictor: P) -> Self {
        Self {
            predictor: Arc::new(predictor.into()),
            names: Names::default(),
            lineage: Arc::default(),
        }
    }
}
