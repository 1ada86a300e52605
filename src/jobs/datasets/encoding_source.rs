//! The model or dataset whose encoding a table must have, and whose class names read the labels.

use std::str::FromStr;

use halfspace_formats::{LabelRule, Options};

use super::Datasets;
use crate::jobs::error::JobsError;
use crate::jobs::models::Models;
use crate::records::{DatasetId, ModelId, Names, Owner};

/// The model or dataset whose encoding a table must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodingSource {
    Model(ModelId),
    Dataset(DatasetId),
}

impl FromStr for EncodingSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let model = text.parse().map(Self::Model);
        let either = model.or_else(|_| text.parse().map(Self::Dataset));
        either.map_err(|_| format!("`{text}` is not the id of a model or a dataset"))
    }
}

/// The reason why data cannot have an encoding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodingFault {
    /// The request states another number of features.
    #[error("The encoding has n = {n}, but the examples must have n = {given}.")]
    OtherLength { n: usize, given: usize },
    /// The data of the model or dataset did not come as a table.
    #[error("The data did not come as a table, so there is no encoding; leave `encoding` out.")]
    NoTable,
}

impl EncodingSource {
    /// The owner's names, of which the encoding may be absent, and the number of features.
    ///
    /// # Errors
    /// [`JobsError::ModelMissing`], [`JobsError::DatasetMissing`], or errors of the store.
    pub async fn find(
        self,
        models: &Models,
        datasets: &Datasets,
        owner: &Owner,
    ) -> Result<(Names, usize), JobsError> {
        match self {
            Self::Model(id) => models.load(owner, id).await.map(|model| {
                let n = model.predictor.n();
                (model.names, n)
            }),
            Self::Dataset(id) => datasets.find(owner, id).await.map(|dataset| {
                let n = usize::try_from(dataset.summary.facts.n).unwrap_or(usize::MAX);
                (dataset.names, n)
            }),
        }
    }

    /// Lets the names of `n` features read the data of these options.
    ///
    /// # Errors
    /// The names and the options contradict each other.
    pub fn apply(options: &mut Options, names: Names, n: usize) -> Result<(), EncodingFault> {
        let is_open = names.is_open();
        if let Some(given) = options.n.filter(|&given| given != n && !is_open) {
            return Err(EncodingFault::OtherLength { n, given });
        }
        match is_open {
            true => options.open_vocabulary = true,
            false => options.n = Some(n),
        }
        options.known_first_index = names.first_index();
        // A stated value of +1 begins new classes, and a model or session has its own.
        if options.label_rule == LabelRule::New && options.table.positive.is_none() {
            let classes = names.classes.clone();
            options.label_rule = classes.map_or(LabelRule::New, LabelRule::Of);
        }
        if names.table.is_none() && names.classes.is_none() && !is_open {
            return Err(EncodingFault::NoTable);
        }
        options.table.numbers_only &= names.table.is_none();
        options.table.encoding = names.table;
        Ok(())
    }
}
