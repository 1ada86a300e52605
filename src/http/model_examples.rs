//! A stored model and the examples that a request brings it, whatever is to be done with them.

use axum::extract::Request;

use crate::formats::{self, DataForm, Format, LabelsColumn, Options, Parsed, UnlabelledMeans};
use crate::jobs::JobsError;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::predict::{Misfit, check_fit};
use crate::records::{ModelId, Owner};

use super::App;
use super::body::{self, Effort};
use super::data_body::{DataBody, bit_order, header_option, labels};
use super::extract::query_pairs;
use super::problem::{Code, Problem, placed};
use super::submission::{parsed, stored_data};

/// What the examples are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Labels are passed over.
    Predict,
    /// Labels are needed.
    Evaluate,
}

/// A model and examples that it takes.
pub struct Asked<'a> {
    /// How the examples were sent.
    pub format: Format,
    /// What decides.
    pub hypothesis: &'a Hypothesis,
    /// The examples.
    pub parsed: &'a Parsed,
}

/// The model that a path names.
///
/// # Errors
/// 404, or what the store says.
pub async fn model_in_path(app: &App, owner: &Owner, id: ModelId) -> Result<Hypothesis, Problem> {
    let found = app.jobs.hypothesis(owner, id).await;
    found.map_err(|error| match error {
        JobsError::ModelMissing => Problem::not_found("model"),
        error => error.into(),
    })
}

/// Reads the examples of a request, sent along or stored, and does `work` with them, where the body
/// is read: scoring is more work than reading. The format of the body comes back too.
///
/// # Errors
/// What is wrong with the body, examples that the model does not take, and what `work` says.
pub async fn with_examples<T, W>(
    app: &App,
    owner: &Owner,
    request: Request,
    hypothesis: Hypothesis,
    purpose: Purpose,
    work: W,
) -> Result<(Format, T), Problem>
where
    T: Send + 'static,
    W: FnOnce(Asked<'_>) -> Result<T, Problem> + Send + 'static,
{
    let body = DataBody::new(app, request)?;
    let format = body.format;
    let query = body.parts.uri.query();
    let options = options(query, format, &hypothesis, purpose, &body.limits)?;
    let done = body.read(app, Effort::Unknown, move |reader| {
        match examples(formats::read(format, reader, &options)?)? {
            Examples::Sent(parsed) => {
                fitted(format, &hypothesis, &parsed, work).map(Answered::Done)
            }
            Examples::Stored(id) => Ok(Answered::NotYet(Box::new(hypothesis), id, work)),
        }
    });
    let done = match done.await? {
        Answered::Done(done) => done,
        Answered::NotYet(hypothesis, id, work) => {
            let (stored, permit) = stored_data(app, owner, &id, "").await?;
            let parsed = parsed(&stored.dataset.summary, stored.data);
            body::compute(permit, move || fitted(format, &hypothesis, &parsed, work)).await?
        }
    };
    Ok((format, done))
}

/// Does `work` with a model and examples, if it takes them.
///
/// # Errors
/// Examples that the model does not take, and what `work` says.
pub fn fitted<T>(
    format: Format,
    hypothesis: &Hypothesis,
    parsed: &Parsed,
    work: impl FnOnce(Asked<'_>) -> Result<T, Problem>,
) -> Result<T, Problem> {
    check_fit(hypothesis, &parsed.data).map_err(|misfit| unfit(misfit, parsed))?;
    work(Asked {
        format,
        hypothesis,
        parsed,
    })
}

/// What came of reading a request.
enum Answered<T, W> {
    Done(T),
    /// The examples are in the dataset of this name.
    NotYet(Box<Hypothesis>, String, W),
}

/// How the body is read: a format that leaves n open takes it from the model. To be predicted, a table has no
/// labels unless they are named, and examples without labels are just that; to be evaluated, both
/// are as for a training.
fn options(
    query: Option<&str>,
    format: Format,
    hypothesis: &Hypothesis,
    purpose: Purpose,
    limits: &formats::Limits,
) -> Result<Options, Problem> {
    let (table_labels, unlabelled) = match purpose {
        Purpose::Predict => (Some(LabelsColumn::None), UnlabelledMeans::Nothing),
        Purpose::Evaluate => (None, UnlabelledMeans::HalfSpace),
    };
    let mut options = Options {
        labels: table_labels.filter(|_| format.has_label_column()),
        n: format.leaves_n_open().then_some(hypothesis.n()),
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
enum Examples {
    Sent(Parsed),
    /// In the dataset of this name.
    Stored(String),
}

/// The examples sent along, without claims about them, on which nothing here rests.
fn examples(form: DataForm) -> Result<Examples, Problem> {
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

/// Examples that the model does not take, with the place of the value that made them so.
fn unfit(misfit: Misfit, parsed: &Parsed) -> Problem {
    let detail = sentence(&misfit.to_string());
    match misfit {
        Misfit::Length { .. } => Problem::new(Code::WRONG_DATA, detail),
        Misfit::Intractable(detail) => Problem::new(Code::INTRACTABLE, detail),
        Misfit::Unread(_) => Problem::new(Code::INTERNAL, detail),
        Misfit::Real => {
            let field = placed(parsed.first_real.clone(), detail.clone());
            Problem::new(Code::WRONG_DATA, detail).with(field)
        }
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
