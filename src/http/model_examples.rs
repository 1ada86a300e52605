//! A stored model and the examples that a request brings it, whatever is to be done with them.

use halfspace_core::learners::predict::{Misfit, check_fit};
use halfspace_core::learners::run::{Interrupt, StopFlag};
use halfspace_formats::{
    self, DataForm, Format, LabelsColumn, Options, Parsed, Place, StoredExamples, UnlabelledMeans,
};

use crate::jobs::{JobsError, LoadedModel, ReadError};
use crate::records::{ModelId, Owner};

use super::App;
use super::attended::interrupted;
use super::data_body::{bit_order, header_option, labels};
use super::extract::query_pairs;
use super::limits::Limits;
use super::problem::{Code, Problem, placed};

/// What the examples are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Labels are passed over.
    Predict,
    /// Labels are needed.
    Evaluate,
    /// Labels are as the learner needs them.
    Learn,
}

/// Where some examples stand among all that a request brings.
#[derive(Clone, Copy, Debug)]
pub enum Whence {
    /// They are all.
    Whole,
    /// One stands in this line; several end with it.
    Line(u64),
}

/// The model that a path names.
///
/// # Errors
/// 404, or what the store says.
pub async fn model_in_path(app: &App, owner: &Owner, id: ModelId) -> Result<LoadedModel, Problem> {
    let found = app.jobs.load_model(owner, id).await;
    found.map_err(|error| match error {
        JobsError::ModelMissing => Problem::not_found("model"),
        error => error.into(),
    })
}

/// How a body for a model, or a session, of `n` features is read: a format that leaves n open takes
/// theirs. To be predicted, a table has no labels unless they are named, and examples without labels
/// are just that; otherwise both are as for a training.
///
/// # Errors
/// Parameters that there are not, or that cannot be.
pub fn options(
    query: Option<&str>,
    format: Format,
    n: usize,
    purpose: Purpose,
    limits: &halfspace_formats::Limits,
) -> Result<Options, Problem> {
    let (table_labels, unlabelled) = match purpose {
        Purpose::Predict => (Some(LabelsColumn::None), UnlabelledMeans::Nothing),
        Purpose::Evaluate | Purpose::Learn => (None, UnlabelledMeans::HalfSpace),
    };
    let mut options = Options {
        labels: table_labels.filter(|_| format.has_label_column()),
        n: format.leaves_n_open().then_some(n),
        unlabelled,
        limits: limits.clone(),
        ..Options::default()
    };
    for (name, text) in query_pairs(query)? {
        match name.as_str() {
            "labels" => options.labels = Some(labels(text)),
            "header" => options.header = header_option(&text)?,
            "bit_order" => options.bit_order = Some(bit_order(&text)?),
            "n" => {
                let wrong = |_| Problem::parameter(Code::INVALID_PARAMETER, "n", "no whole number");
                options.n = Some(text.parse().map_err(wrong)?);
            }
            other => {
                let detail = "no such parameter; there are: labels, header, bit_order, n";
                return Err(Problem::parameter(Code::INVALID_PARAMETER, other, detail));
            }
        }
    }
    Ok(options)
}

/// Where the examples of a request are.
pub enum Examples {
    Sent(Parsed),
    /// In the dataset of this name.
    Stored(String),
}

/// The examples sent along, without claims about them, on which nothing here rests.
pub fn examples(form: DataForm) -> Result<Examples, Problem> {
    match form {
        DataForm::Sample {
            parsed,
            assume: None,
        } => Ok(Examples::Sent(parsed)),
        DataForm::Dataset { id, .. } => Ok(Examples::Stored(id)),
        DataForm::Sample { .. } => {
            let detail = "`assume` is for training; nothing is assumed of examples here.";
            Err(Problem::new(Code::BAD_OPTION, detail))
        }
        DataForm::Generated(_) => {
            let detail = "Generated data are drawn by jobs, from their seed; send examples here, or \
                          use the task `evaluate`.";
            Err(Problem::new(Code::WRONG_DATA, detail))
        }
    }
}

/// Whether a model takes examples.
///
/// # Errors
/// Why it does not, with the place of the value or the line that is the reason.
pub fn fit(model: &LoadedModel, parsed: &Parsed, whence: Whence) -> Result<(), Problem> {
    let misfit = check_fit(&model.hypothesis, &parsed.data).err();
    if let Some(misfit) = misfit {
        return Err(unfit(misfit, parsed.first_real.as_ref(), whence));
    }
    let names = parsed.feature_names.as_deref();
    model.names.check_features(names).map_err(misnamed)
}

/// Whether a model takes a dataset, whose digest is compared first.
///
/// # Errors
/// Why it does not, or what kept that from being found out.
pub fn fit_stored(
    model: &LoadedModel,
    stored: &StoredExamples,
    limits: &Limits,
    stop: &StopFlag,
) -> Result<(), Problem> {
    let verified = stored.verify(stop).map_err(Misfit::Unread);
    let fits = verified.and_then(|()| check_fit(&model.hypothesis, stored));
    fits.map_err(|misfit| match misfit {
        Misfit::Unread(interrupt) => unread(stored, limits, interrupt),
        misfit => unfit(misfit, None, Whence::Whole),
    })
}

/// What kept a dataset from being read to its end.
pub fn unread(stored: &StoredExamples, limits: &Limits, interrupt: Interrupt) -> Problem {
    match interrupt {
        Interrupt::Unreadable => JobsError::from(ReadError::of(stored)).into(),
        interrupt => interrupted(limits, interrupt),
    }
}

/// Names that are not the model's.
pub fn misnamed(detail: String) -> Problem {
    Problem::new(Code::WRONG_DATA, sentence(&detail))
}

/// Why a model does not take examples, the first real value of which stands there.
fn unfit(misfit: Misfit, first_real: Option<&Place>, whence: Whence) -> Problem {
    let detail = sentence(&misfit.to_string());
    let line = match whence {
        Whence::Line(line) => Some(Place::Line { line, column: 1 }),
        Whence::Whole => None,
    };
    let (code, detail, place) = match (misfit, whence) {
        (Misfit::Length { .. }, _) => (Code::WRONG_DATA, detail, line),
        (Misfit::Unread(_), _) => (Code::INTERNAL, detail, None),
        (Misfit::Real, _) => (Code::WRONG_DATA, detail, first_real.cloned()),
        (Misfit::Intractable(detail), Whence::Whole) => (Code::INTRACTABLE, detail, None),
        (Misfit::Intractable(detail), Whence::Line(number)) => {
            let detail = format!("Of line {number} alone: {detail}");
            (Code::INTRACTABLE, detail, line)
        }
    };
    let problem = Problem::new(code, detail.clone());
    match place {
        Some(place) => problem.with(placed(Some(place), detail)),
        None => problem,
    }
}

/// A detail as a sentence.
fn sentence(detail: &str) -> String {
    let mut characters = detail.chars();
    let first = characters.next().map(char::to_uppercase);
    first
        .into_iter()
        .flatten()
        .chain(characters)
        .chain(['.'])
        .collect()
}
