//! The checks of an imported model file.
//!
//! The file states a digest of its content, so an altered file is refused.

use std::mem::discriminant;

use halfspace_core::learners::engine::entry::Setup;
use halfspace_core::learners::engine::parameters::{ParameterError, Parameters};
use halfspace_core::learners::engine::random::{Purpose, Seed};
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::predictor::Predictor;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::records::hypothesis::HypothesisDocument;
use crate::records::model_file::digest;
use crate::records::separability::MaximumMarginParams;
use crate::records::train::ModelDocument;

use crate::jobs::tasks::error::{ResolveError, told};
use crate::jobs::tasks::train::learner;

/// The task whose answer is a model that no learner of the catalogue made.
const MAXIMUM_MARGIN: &str = "maximum_margin";

/// The reason why a model is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ImportError {
    /// Neither a learner nor a task that makes models has this name.
    #[error("{0}; or the task {MAXIMUM_MARGIN}")]
    UnknownLearner(ResolveError),
    /// Parameters that the learner does not have, or values out of range.
    #[error("{}", told(.0))]
    Parameters(Vec<ParameterError>),
    /// The hypothesis is invalid, or of a kind that the learner does not make.
    #[error("{0}")]
    Hypothesis(String),
    /// The content does not have the stated digest.
    #[error(
        "the file was changed after its export: its sha256 is {given}, but the sha256 of its \
         content is {found}; export the model again, and change only its name"
    )]
    Altered { given: String, found: String },
}

/// Checks an imported model and its digest. Returns the document as this service would have written it.
///
/// # Errors
/// The first error found.
pub fn check_import(
    learner: &str,
    sent: ModelDocument,
    sha256: &str,
) -> Result<ModelDocument, ImportError> {
    let predictor = Predictor::try_from(&sent.hypothesis)
        .map_err(|error| ImportError::Hypothesis(error.to_string()))?;
    let named = sent.label_classes().map_or(2, |classes| classes.count());
    if named != predictor.classes() {
        let told = predictor.classes();
        return Err(ImportError::Hypothesis(format!(
            "the hypothesis tells {told} classes apart, but the model names {named}"
        )));
    }
    if !sent.vocabulary.is_fixed() && (learner == MAXIMUM_MARGIN || !predictor.reads_names()) {
        let detail = "the hypothesis needs a fixed number of features, but the vocabulary of the model is open";
        return Err(ImportError::Hypothesis(detail.to_owned()));
    }
    // The members are of one kind.
    let hypothesis = &predictor.members()[0];
    if sent.vocabulary.is_fixed() && hypothesis.is_closed() {
        let detail = "unseen_weight is 0, but the vocabulary of the model is fixed, so no name is unseen; leave \
                      unseen_weight out";
        return Err(ImportError::Hypothesis(detail.to_owned()));
    }
    let params = if learner == MAXIMUM_MARGIN {
        margin_params(&sent.params, &predictor)?
    } else {
        learner_params(learner, &sent, hypothesis)?
    };
    let document = ModelDocument {
        params,
        hypothesis: HypothesisDocument::from(&predictor),
        ..sent
    };
    let found = hex::encode(digest(learner, &document));
    if found != sha256 {
        let given = sha256.to_owned();
        return Err(ImportError::Altered { given, found });
    }
    Ok(document)
}

/// Checks the parameters, and that the learner with these parameters makes hypotheses of this kind.
fn learner_params(
    name: &str,
    sent: &ModelDocument,
    hypothesis: &Hypothesis,
) -> Result<Map<String, Value>, ImportError> {
    let entry = learner(name).map_err(ImportError::UnknownLearner)?;
    let parameters =
        Parameters::from_json(entry.parameters, &sent.params).map_err(ImportError::Parameters)?;
    if !sent.vocabulary.is_fixed() {
        let task = Task::of(entry, Seed(sent.seed));
        let mut task = Task {
            parameters: parameters.clone(),
            ..task
        };
        task.read_names()
            .map_err(|error| ImportError::Parameters(vec![error]))?;
    }
    let rule = (entry.build)(&mut Setup {
        parameters: &parameters,
        n: hypothesis.n(),
        real: false,
        active_max: (!sent.vocabulary.is_fixed()).then_some(1),
        parts: None,
        random: &mut Seed(sent.seed).generator(Purpose::Learner),
    });
    let rule = rule.map_err(|error| ImportError::Parameters(vec![error]))?;
    if rule.predictor().one().map(discriminant) != Some(discriminant(hypothesis)) {
        let kind = HypothesisDocument::from(hypothesis).kind();
        let own = HypothesisDocument::from(&rule.predictor()).kind();
        return Err(wrong_kind(name, kind, own));
    }
    Ok(parameters.to_json())
}

fn wrong_kind(learner: &str, kind: &str, own: &str) -> ImportError {
    let detail = format!(
        "the learner {learner} cannot have a hypothesis of the kind {kind}; its kind is {own}"
    );
    ImportError::Hypothesis(detail)
}

fn margin_params(
    params: &Map<String, Value>,
    predictor: &Predictor,
) -> Result<Map<String, Value>, ImportError> {
    if !matches!(predictor.one(), Some(Hypothesis::Linear(_))) {
        let kind = HypothesisDocument::from(predictor).kind();
        return Err(wrong_kind(MAXIMUM_MARGIN, kind, "linear"));
    }
    let read = MaximumMarginParams::deserialize(params).map_err(|error| {
        ImportError::Parameters(vec![ParameterError {
            name: String::new(),
            detail: error.to_string(),
            unknown: false,
        }])
    })?;
    let value = serde_json::to_value(read).expect("a flag and a name");
    Ok(value.as_object().cloned().unwrap_or_default())
}
