//! `POST /v1/models/{id}/evaluate`: a model held against labelled examples, sent along or stored.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};

use crate::formats::{self, Parsed, StoredExamples};
use crate::jobs::{JobsError, LoadedModel, ReadError, check_labels};
use crate::learners::evaluate;
use crate::learners::examples::Examples as ReadExamples;
use crate::learners::predict::{Misfit, check_fit};
use crate::learners::run::{Interrupt, Run};
use crate::records::evaluation::EvaluateResult;
use crate::records::id::ModelKind;
use crate::records::{Dataset, ModelId};

use super::App;
use super::attended::{Attended, begin, interrupted};
use super::body::{self, Effort};
use super::data_body::{DataBody, Octets};
use super::extract::{Caller, PathId};
use super::found_data::{dataset_names, stored_examples};
use super::limits::Limits;
use super::model_examples::{
    Examples, Purpose, Whence, examples, fit, misnamed, model_in_path, options, unfit,
};
use super::problem::{Code, Problem};

/// Counts the examples in the body that a model gets right and wrong, and names the first wrong
/// ones.
///
/// Labels are read as for a training; half-space examples are positive. Generated data, and what
/// takes long, are for the task `evaluate` of a job, whose result is the same document.
#[utoipa::path(post, path = "/v1/models/{id}/evaluate", tag = "models",
    params(("id" = ModelId, Path, description = "The model"),
        ("labels" = Option<String>, Query, description = "Where CSV labels stand: `first` (the \
            default here), `last`, `none` (each example is positive) or a column's name"),
        ("header" = Option<String>, Query, description = "Whether CSV begins with names: `auto`, \
            `true` or `false`"),
        ("bit_order" = Option<String>, Query, description = "Of octets: whether the most \
            significant bit comes first, `big` (when left out), or last, `little`"),
        ("n" = Option<u64>, Query, description = "Features an example; the model's when left \
            out")),
    request_body(
        content((String = "application/x-ndjson"), (String = "text/csv"),
            (String = "text/x-libsvm"), (crate::http::data_schema::Data = "application/json"),
            (String = "text/x-arff"), (Octets = "application/x-npy"),
            (Octets = "application/octet-stream")),
        description = "The examples with their labels"),
    responses((status = 200, description = "How the model does", body = EvaluateResult)))]
pub async fn evaluate(
    State(app): State<App>,
    Caller(owner): Caller,
    PathId(id): PathId<ModelKind>,
    request: Request,
) -> Result<Json<EvaluateResult>, Problem> {
    let model = model_in_path(&app, &owner, id).await?;
    let body = DataBody::new(&app, request)?;
    let (format, query) = (body.format, body.parts.uri.query());
    let n = model.hypothesis.n();
    let options = options(query, format, n, Purpose::Evaluate, &body.limits)?;
    let attended = Attended::default();
    let held = Held {
        id,
        model,
        limits: app.limits.clone(),
        run: Run {
            stop: attended.stop(),
            ..Run::default()
        },
    };
    let read = body.read(&app, Effort::Unknown, move |reader| {
        match examples(formats::read(format, reader, &options)?)? {
            Examples::Sent(parsed) => held.against_sent(&parsed).map(Answered::Done),
            Examples::Stored(dataset) => Ok(Answered::NotYet(Box::new(held), dataset)),
        }
    });
    let result = match read.await? {
        Answered::Done(result) => result,
        Answered::NotYet(held, dataset) => {
            let permit = body::permit(&app).await?;
            let (dataset, stored) = stored_examples(&app, &owner, &dataset, "").await?;
            body::compute(permit, move || held.against_stored(&dataset, &stored)).await?
        }
    };
    Ok(Json(result))
}

/// What came of reading a request.
enum Answered {
    Done(EvaluateResult),
    /// The examples are in the dataset of this name.
    NotYet(Box<Held>, String),
}

/// A model to be held against examples.
struct Held {
    id: ModelId,
    model: LoadedModel,
    limits: Arc<Limits>,
    run: Run,
}

impl Held {
    fn against_sent(&self, parsed: &Parsed) -> Result<EvaluateResult, Problem> {
        fit(&self.model, parsed, Whence::Whole)?;
        let classes = self.model.names.check_classes(parsed.class_names.as_ref());
        classes.map_err(misnamed)?;
        let _timer = begin(&self.limits, &self.run.stop);
        self.against(&parsed.data, parsed.zero_bit_value)
            .map_err(|unfinished| match unfinished {
                Unfinished::Interrupted(interrupt) => interrupted(&self.limits, interrupt),
                Unfinished::Refused(problem) => problem,
            })
    }

    /// A dataset is read as it goes, whatever its size, once its digest is found to be right.
    fn against_stored(
        &self,
        dataset: &Dataset,
        stored: &StoredExamples,
    ) -> Result<EvaluateResult, Problem> {
        let names = dataset_names(dataset);
        self.model.names.check(&names).map_err(misnamed)?;
        let zero = dataset.summary.zero_bit_value.into();
        self.against_verified(stored, zero)
            .map_err(|unfinished| match unfinished {
                Unfinished::Interrupted(Interrupt::Unreadable) => {
                    JobsError::from(ReadError::of(stored)).into()
                }
                Unfinished::Interrupted(interrupt) => interrupted(&self.limits, interrupt),
                Unfinished::Refused(problem) => problem,
            })
    }

    fn against_verified(
        &self,
        stored: &StoredExamples,
        zero: f64,
    ) -> Result<EvaluateResult, Unfinished> {
        let _timer = begin(&self.limits, &self.run.stop);
        stored.verify(&self.run.stop)?;
        match check_fit(&self.model.hypothesis, stored) {
            Err(Misfit::Unread(interrupt)) => return Err(interrupt.into()),
            Err(misfit) => {
                return Err(Unfinished::Refused(unfit(misfit, None, Whence::Whole)));
            }
            Ok(()) => {}
        }
        self.against(stored, zero)
    }

    fn against(
        &self,
        examples: &dyn ReadExamples,
        zero: f64,
    ) -> Result<EvaluateResult, Unfinished> {
        check_labels(examples)
            .map_err(|detail| Unfinished::Refused(Problem::new(Code::WRONG_DATA, detail)))?;
        let evaluation = evaluate::evaluate(&self.model.hypothesis, examples, zero, &self.run)?;
        match evaluation.interrupted {
            Some(interrupt) => Err(interrupt.into()),
            None => Ok(EvaluateResult::new(self.id, &evaluation)),
        }
    }
}

/// Why there is no result.
enum Unfinished {
    Interrupted(Interrupt),
    Refused(Problem),
}

impl From<Interrupt> for Unfinished {
    fn from(interrupt: Interrupt) -> Self {
        Self::Interrupted(interrupt)
    }
}
