//! Examples that a request brings for a model or a session: the options for reading them, and the check that the
//! model accepts them.
//!
//! Prediction, evaluation and on-line learning share this module and make their answers elsewhere.

use std::borrow::Cow;

use halfspace_core::learners::engine::run::{Interrupt, StopFlag};
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::predict::{Misfit, check_fit};
use halfspace_core::learners::sample::data::Data;
use halfspace_formats::{
    self, Assume, Classes, DataForm, FirstIndex, Format, LabelRule, LabelsColumn, Options, Parsed,
    Place, StoredExamples, UnlabelledMeans,
};

use crate::jobs::{JobsError, LoadedModel, ReadError};
use crate::records::{ModelId, Names, Owner};

use crate::http::app_state::App;
use crate::http::computing::interrupted;
use crate::http::extract::data_options::DataOptions;
use crate::http::limits::Limits;
use crate::http::problem::{Code, Problem, placed};

/// What the examples of a request are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExamplesUse {
    /// Prediction, which ignores labels.
    Predict,
    /// Evaluation, which needs labels.
    Evaluate,
    /// On-line learning. The learner decides whether the examples need labels.
    Learn,
}

/// The position of some examples in the body of a request.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// All examples of the request.
    Whole,
    /// A single example in this line, or several that end with it.
    Line(u64),
}

/// Loads the model that a path names.
///
/// # Errors
/// 404 if the owner has no such model. Errors of the store pass through.
pub async fn model_in_path(app: &App, owner: &Owner, id: ModelId) -> Result<LoadedModel, Problem> {
    let found = app.jobs.models.load(owner, id).await;
    found.map_err(|error| match error {
        JobsError::ModelMissing => Problem::not_found("model"),
        error => error.into(),
    })
}

/// The hypothesis of a model for the class that the parameter `class` of a request names. A model of two classes has
/// one for both.
///
/// # Errors
/// A class that the model does not have, or none where the model has a hypothesis for each.
pub fn of_class<'m>(
    model: &'m LoadedModel,
    class: Option<&str>,
) -> Result<&'m Hypothesis, Problem> {
    let names = model.names.class_names().unwrap_or_default();
    let refused = |what: &str| {
        let mut shown: Vec<&str> = names
            .iter()
            .take(NAMES_SHOWN_MAX)
            .map(String::as_str)
            .collect();
        if names.len() > shown.len() {
            shown.push("...");
        }
        let detail = format!("{what}; the classes are {}", shown.join(", "));
        Problem::parameter(Code::INVALID_PARAMETER, "class", detail)
    };
    let members = model.predictor.members();
    match class {
        None => match model.predictor.one() {
            Some(only) => Ok(only),
            None => Err(refused(
                "the model has a hypothesis for each class, so name one",
            )),
        },
        Some(class) => {
            let place = names.iter().position(|name| name == class);
            let place = place.ok_or_else(|| refused("the model does not have this class"))?;
            Ok(members.get(place).unwrap_or(&members[0]))
        }
    }
}

/// The most classes that an error lists.
const NAMES_SHOWN_MAX: usize = 20;

/// The options for reading a body for a model or a session with `n` features and these names. The query is not read
/// here.
///
/// The classes of the model read the labels, except that a prediction ignores labels. `n` is used for a format that
/// does not state the number of features. For a prediction, a table has labels only if the query names them, and
/// examples without labels have no class. For an evaluation or for learning, both follow the rules of a training,
/// except that an evaluation needs labels if the model has named classes.
pub fn options(
    format: Format,
    n: usize,
    names: &Names,
    purpose: ExamplesUse,
    limits: &halfspace_formats::ParseLimits,
) -> DataOptions {
    let table = names.table.as_ref();
    let classes = names.classes.clone().unwrap_or_else(Classes::plain);
    let (table_labels, unlabelled, label_rule) = match purpose {
        ExamplesUse::Predict => (
            Some(LabelsColumn::None),
            UnlabelledMeans::Nothing,
            LabelRule::Ignored(Some(classes)),
        ),
        // Without a label nothing tells which of the named classes an example has.
        ExamplesUse::Evaluate if names.class_names().is_some() => {
            (None, UnlabelledMeans::Nothing, names.label_rule())
        }
        ExamplesUse::Evaluate | ExamplesUse::Learn => {
            (None, UnlabelledMeans::HalfSpace, names.label_rule())
        }
    };
    let mut data = DataOptions::new(limits);
    data.options = Options {
        labels: table_labels.filter(|_| {
            let has_rows = matches!(format, Format::Ndjson | Format::Json) && table.is_some();
            has_rows || format.has_label_column()
        }),
        n: (format.leaves_n_open() && !names.is_open()).then_some(n),
        open_vocabulary: names.is_open(),
        names_as_they_come: purpose != ExamplesUse::Evaluate,
        known_first_index: names.first_index().or(Some(FirstIndex::One)),
        unlabelled,
        label_rule,
        ..data.options
    };
    data.reader = Some(names.vocabulary_kind());
    data.options.table.numbers_only = table.is_none();
    data.options.table.encoding = table.cloned();
    data
}

/// The [`options`] for reading a body that a model predicts or is evaluated on.
pub fn options_of(
    model: &LoadedModel,
    format: Format,
    purpose: ExamplesUse,
    limits: &halfspace_formats::ParseLimits,
) -> DataOptions {
    let predictor = &model.predictor;
    let mut data = options(format, predictor.n(), &model.names, purpose, limits);
    data.options.unseen_indices = predictor.reads_names();
    data
}

/// Checks that a stated number of features is that of the model or session `of`. An open vocabulary has none, and the
/// reader refuses one.
///
/// # Errors
/// The parameter `n`.
pub fn check_n(options: &Options, n: usize, names: &Names, of: &str) -> Result<(), Problem> {
    match names.is_open() || options.n.is_none_or(|given| given == n) {
        true => Ok(()),
        false => {
            let detail = format!("the {of} has n = {n}");
            Err(Problem::parameter(Code::WRONG_DATA, "n", detail))
        }
    }
}

pub enum RequestExamples {
    /// The examples and their declared origin.
    Sent(Box<Parsed>, Option<Assume>),
    /// The id of a dataset, not checked yet, and the origin declared in place of the dataset's own.
    Stored(String, Option<Assume>),
}

/// The source of the examples in a body.
///
/// # Errors
/// [`Code::BAD_OPTION`] for a prediction of examples with `assume`, because a prediction claims nothing.
/// [`Code::WRONG_DATA`] for generated data.
pub fn examples(form: DataForm, purpose: ExamplesUse) -> Result<RequestExamples, Problem> {
    match form {
        DataForm::Sample {
            assume: Some(_), ..
        } if purpose == ExamplesUse::Predict => {
            let detail =
                "`assume` is for trainings and evaluations; remove `assume` from this request.";
            Err(Problem::new(Code::BAD_OPTION, detail))
        }
        DataForm::Sample { parsed, assume } => Ok(RequestExamples::Sent(Box::new(parsed), assume)),
        DataForm::Dataset {
            positive: Some(_), ..
        } => {
            let detail = "The model names the classes; leave `positive` out.";
            Err(Problem::new(Code::BAD_OPTION, detail))
        }
        DataForm::Dataset { id, assume, .. } => Ok(RequestExamples::Stored(id, assume)),
        DataForm::Rows(_) | DataForm::Generated(_) => {
            let detail =
                "Only jobs draw generated data. Send examples, or use the task `evaluate`.";
            Err(Problem::new(Code::WRONG_DATA, detail))
        }
    }
}

/// The examples as a model reads them, which gives the names of features its ids.
///
/// # Errors
/// Why the model does not accept them, with the place of the value or the line at fault.
pub fn fit<'p>(
    model: &LoadedModel,
    parsed: &'p Parsed,
    whence: Origin,
) -> Result<Cow<'p, Data>, Problem> {
    let own = &model.names;
    // Indices were read from the first one of the model, or from the one that the request states.
    let given = Names::of(parsed).without_indices();
    let data = match (own.vocabulary(), given.vocabulary()) {
        (Some(own), Some(given)) => Cow::Owned(own.renumbering(given).of(&parsed.data)?),
        (None, None) => Cow::Borrowed(&parsed.data),
        (Some(_), None) | (None, Some(_)) => {
            own.check_features(&given).map_err(misnamed)?;
            Cow::Borrowed(&parsed.data)
        }
    };
    check(model, &data, parsed, whence)?;
    own.check_features(&given).map_err(misnamed)?;
    Ok(data)
}

/// Checks that a model decides on examples that have its ids.
///
/// # Errors
/// As for [`fit`].
pub fn check(
    model: &LoadedModel,
    data: &Data,
    parsed: &Parsed,
    whence: Origin,
) -> Result<(), Problem> {
    // The reader has refused larger indices where they do not fit.
    let by_index = parsed.first_index.is_some() && model.predictor.reads_names();
    let may_have_unseen = model.names.is_open() || by_index;
    let checked = check_fit(&model.predictor, data, may_have_unseen);
    checked.map_err(|misfit| unfit(misfit, parsed.first_real.as_ref(), whence))
}

/// Compares the digest of a dataset, and then checks that a model accepts it.
///
/// # Errors
/// Why it does not, or why the dataset could not be read.
pub fn fit_stored(
    model: &LoadedModel,
    stored: &StoredExamples,
    limits: &Limits,
    stop: &StopFlag,
) -> Result<(), Problem> {
    let verified = stored.verify(stop).map_err(Misfit::Unread);
    let is_named = model.names.is_open();
    let fits = verified.and_then(|()| check_fit(&model.predictor, stored, is_named));
    fits.map_err(|misfit| match misfit {
        Misfit::Unread(interrupt) => unread(stored, limits, interrupt),
        misfit => unfit(misfit, None, Origin::Whole),
    })
}

/// The problem for a dataset whose reading was interrupted.
pub fn unread(stored: &StoredExamples, limits: &Limits, interrupt: Interrupt) -> Problem {
    match interrupt {
        Interrupt::Unreadable => JobsError::from(ReadError::of(stored)).into(),
        interrupt => interrupted(limits, interrupt),
    }
}

/// The problem for feature names that differ from those of the model.
pub fn misnamed(detail: String) -> Problem {
    Problem::new(Code::WRONG_DATA, sentence(&detail))
}

/// Returns the problem for examples that a model refuses. `first_real` is the place of the first real
/// value.
fn unfit(misfit: Misfit, first_real: Option<&Place>, whence: Origin) -> Problem {
    let detail = sentence(&misfit.to_string());
    let line = match whence {
        Origin::Line(line) => Some(Place::Line { line, column: 1 }),
        Origin::Whole => None,
    };
    let (code, detail, place) = match (misfit, whence) {
        (Misfit::Length { .. }, _) => (Code::WRONG_DATA, detail, line),
        (Misfit::Unread(_), _) => (Code::INTERNAL, detail, None),
        (Misfit::Real, _) => (Code::WRONG_DATA, detail, first_real.cloned()),
        (Misfit::Intractable(detail), Origin::Whole) => (Code::INTRACTABLE, detail, None),
        (Misfit::Intractable(detail), Origin::Line(number)) => {
            let detail = format!("Line {number}: {detail}");
            (Code::INTRACTABLE, detail, line)
        }
    };
    let problem = Problem::new(code, detail.clone());
    match place {
        Some(place) => problem.with(placed(Some(place), detail)),
        None => problem,
    }
}

/// Returns a detail as a sentence, with a capital letter and a full stop.
pub fn sentence(detail: &str) -> String {
    let mut characters = detail.chars();
    let first = characters.next().map(char::to_uppercase);
    first
        .into_iter()
        .flatten()
        .chain(characters)
        .chain((!detail.ends_with('.')).then_some('.'))
        .collect()
}
