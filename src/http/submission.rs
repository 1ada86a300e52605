//! A training on its way from a request to a job, by whichever route it came: the checks that come
//! before the job, and where in the request a fault stands.

use std::sync::Arc;

use axum::http::HeaderMap;

use crate::formats::{DataForm, Parsed, Place, digest};
use crate::jobs::{NewTrain, ResolveError, resolve};
use crate::learners::task::TaskError;
use crate::records::Owner;
use crate::records::train::{LearnerSpec, SeedNumber, StopSpec, TrainSpec};

use super::App;
use super::problem::{Code, FieldError, Problem};

/// The digest of a sample, in hexadecimal; none for generated data.
pub fn sha256(form: &DataForm) -> Option<String> {
    match form {
        DataForm::Sample { parsed, .. } => Some(crate::jobs::hex(&digest(&parsed.data))),
        DataForm::Generated(_) => None,
    }
}

/// Splits a training into what is stored as its request and its sample.
pub fn train_spec(
    learner: LearnerSpec,
    data: DataForm,
    stop: StopSpec,
    trace: bool,
) -> (TrainSpec, Option<Parsed>) {
    let (assume, generated, parsed) = match data {
        DataForm::Sample { parsed, assume } => (assume, None, Some(parsed)),
        DataForm::Generated(spec) => (None, Some(spec), None),
    };
    let spec = TrainSpec {
        learner,
        stop,
        trace,
        assume,
        generated,
    };
    (spec, parsed)
}

/// A training as a request gave it, whichever route it came by.
pub struct TrainFields {
    /// Whose it is.
    pub owner: Owner,
    /// Free text.
    pub name: Option<String>,
    /// Where to send the end.
    pub callback: Option<String>,
    /// Of every random choice.
    pub seed: Option<SeedNumber>,
    /// The request without its data.
    pub spec: TrainSpec,
    /// The digest of the data.
    pub sha256: Option<String>,
}

/// Checks everything about a training that can be checked before it is a job.
///
/// # Errors
/// The first thing wrong, placed in the request by `whereabouts`, which is told the place of the
/// value that made the data real.
pub fn new_train<W: Whereabouts>(
    app: &App,
    fields: TrainFields,
    parsed: Option<Parsed>,
    whereabouts: impl FnOnce(Option<Place>) -> W,
) -> Result<NewTrain, Problem> {
    let (data, first_real) = match parsed {
        Some(parsed) => (Some(Arc::new(parsed.data)), parsed.first_real),
        None => (None, None),
    };
    let at = whereabouts(first_real);
    check_fields(app, &fields, &at)?;
    let seed = fields
        .seed
        .map_or_else(|| app.jobs.ids().seed(), SeedNumber::get);
    let state_bytes_max = app.limits.state_bytes_max;
    let job = resolve(&fields.spec, seed, data, state_bytes_max)
        .map_err(|error| unresolvable(error, &at))?;
    Ok(NewTrain {
        owner: fields.owner,
        name: fields.name,
        spec: fields.spec,
        seed,
        job: Arc::new(job),
        data_sha256: fields.sha256,
    })
}

fn check_fields(app: &App, fields: &TrainFields, at: &impl Whereabouts) -> Result<(), Problem> {
    if fields.callback.is_some() {
        let detail = "This service sends no callbacks: it has no secret to sign them with.";
        let field = at.job("callback", detail.to_owned());
        return Err(Problem::new(Code::CALLBACK_NOT_CONFIGURED, detail).with(field));
    }
    let characters_max = app.limits.name_characters_max as usize;
    let is_long = |name: &String| name.chars().count() > characters_max;
    if fields.name.as_ref().is_some_and(is_long) {
        let detail = format!("The name is longer than name_characters_max: {characters_max}.");
        let field = at.job("name", detail.clone());
        return Err(Problem::new(Code::OUT_OF_RANGE, detail).with(field));
    }
    let seconds_max = app.limits.seconds_max;
    if let Some(seconds) = fields.spec.stop.max_seconds.map(|seconds| seconds.get())
        && seconds > seconds_max
    {
        let detail = format!("{seconds} seconds are more than seconds_max: {seconds_max}.");
        let field = at.stop("max_seconds", detail.clone());
        return Err(Problem::new(Code::OUT_OF_RANGE, detail).with(field));
    }
    Ok(())
}

/// A key that is not kept would promise what the service does not do.
///
/// # Errors
/// When there is one.
pub fn refuse_idempotency_key(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.contains_key("idempotency-key") {
        let detail = "Idempotency keys are not kept yet; leave the header out.";
        return Err(Problem::parameter(
            Code::IDEMPOTENCY_UNSUPPORTED,
            "Idempotency-Key",
            detail,
        ));
    }
    Ok(())
}

/// Where the parts of a training stand in the request at hand.
pub trait Whereabouts {
    /// The place of a field of the job itself, such as its name.
    fn job(&self, field: &str, detail: String) -> FieldError;
    /// The place of the learner's name.
    fn learner(&self, detail: String) -> FieldError;
    /// The place of a parameter of the learner, by its dotted name.
    fn learner_parameter(&self, name: &str, detail: String) -> FieldError;
    /// The place of a field of `stop`, or of `assume`.
    fn stop(&self, field: &str, detail: String) -> FieldError;
    /// The place of the data, or of the value that made them unfit.
    fn data(&self, detail: String) -> FieldError;
}

/// A training that cannot run, placed in its request.
pub fn unresolvable(error: ResolveError, at: &impl Whereabouts) -> Problem {
    let summary = error.to_string();
    match error {
        ResolveError::UnknownLearner { .. } => {
            let field = at.learner(summary.clone());
            Problem::new(Code::UNKNOWN_LEARNER, summary).with(field)
        }
        ResolveError::Parameters(errors) => {
            let fields = errors
                .into_iter()
                .map(|error| at.learner_parameter(&error.name, error.detail));
            fields.fold(
                Problem::new(Code::INVALID_PARAMETER, summary),
                Problem::with,
            )
        }
        ResolveError::NoData => Problem::new(Code::SCHEMA, summary),
        ResolveError::Task(TaskError::WrongData(detail)) => {
            let field = at.data(detail.clone());
            Problem::new(Code::WRONG_DATA, detail).with(field)
        }
        ResolveError::Task(TaskError::Intractable(detail)) => {
            let field = at.data(detail.clone());
            Problem::new(Code::INTRACTABLE, detail).with(field)
        }
        ResolveError::Task(TaskError::WrongStop { field, detail }) => {
            let field = at.stop(field, detail.clone());
            Problem::new(Code::WRONG_STOP, detail).with(field)
        }
        ResolveError::Task(TaskError::Parameter(error)) => {
            let field = at.learner_parameter(&error.name, error.detail);
            Problem::new(Code::WRONG_DATA, summary).with(field)
        }
        ResolveError::Task(TaskError::TooLarge { .. }) => Problem::new(Code::TOO_LARGE, summary),
    }
}
