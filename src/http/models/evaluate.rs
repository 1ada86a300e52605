//! `POST /v1/models/{id}/evaluate`: counts a model's errors on labelled examples from the body or a dataset.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use halfspace_core::learners::engine::evaluate;
use halfspace_core::learners::engine::run::CancelOnDrop;
use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::learners::sample::examples::Examples;
use halfspace_formats::{self, Parsed, StoredExamples};

use crate::jobs::{LoadedModel, check_labels};
use crate::records::evaluation::EvaluateResult;
use crate::records::id::ModelKind;
use crate::records::{Dataset, ModelId};

use crate::http::App;

use crate::http::datasets::resolve::stored_examples;
use crate::http::document::data_schema::Data;
use crate::http::document::declared::{ANSWERED, BODY, EXAMPLES, IN_PATH, problems};
use crate::http::extract::body::{self, Effort};
use crate::http::extract::data_body::{DataBody, Octets};
use crate::http::extract::data_options::DataParameters;
use crate::http::extract::work::ExamplesWork;
use crate::http::extract::{Caller, PathId};
use crate::http::jobs::document::JobResult;
use crate::http::limits::Limits;
use crate::http::models::examples::{
    ExamplesUse, Origin, RequestExamples, examples, fit, fit_stored, misnamed, model_in_path,
    options, unread,
};
use crate::http::models::time_limit::{begin, interrupted};
use crate::http::problem::{Code, Problem};

/// Counts the examples that a model classifies correctly and wrongly, and lists the first errors.
///
/// Labels are read as for training. Half-space examples count as positive. For generated data and for long
/// evaluations, submit a job with the task `evaluate`. The result of that job is the same document.
#[utoipa::path(post, path = "/v1/models/{id}/evaluate", tag = "models",
    params(("id" = ModelId, Path, description = "The model"),
        DataParameters),
    request_body(
        content((Data = "application/json"), (Octets = "*/*")),
        description = "The examples with their labels"),
    responses((status = 200, description = "The evaluation of the model", body = EvaluateResult)),
    extensions(("x-problems" = json!(problems(&[IN_PATH, BODY, EXAMPLES, ANSWERED])))))]
pub async fn evaluate_model(
    State(app): State<App>,
    Caller(owner): Caller,
    PathId(id): PathId<ModelKind>,
    request: Request,
) -> Result<Json<JobResult>, Problem> {
    let model = model_in_path(&app, &owner, id).await?;
    let body = DataBody::new(&app, request)?;
    let (format, query) = (body.format, body.parts.uri.query());
    let n = model.hypothesis.n();
    let table = model.names.table.as_ref();
    let options = options(query, format, n, table, ExamplesUse::Evaluate, &body.limits)?;
    let options = options.resolve(&app, &owner).await?;
    let effort = Effort::Bounded(ExamplesWork {
        format,
        n: Some(n),
        words_each: model.hypothesis.words_of_work(),
    });
    let cancel_on_drop = CancelOnDrop::default();
    let held = PendingEvaluation {
        id,
        model,
        limits: app.limits.clone(),
        run: Run {
            stop: cancel_on_drop.flag(),
            ..Run::default()
        },
    };
    let read = body.read(&app, effort, move |reader| {
        match examples(halfspace_formats::read(format, reader, &options)?)? {
            RequestExamples::Sent(parsed) => held.against_sent(&parsed).map(BodyOutcome::Done),
            RequestExamples::Stored(dataset) => Ok(BodyOutcome::NotYet(Box::new(held), dataset)),
        }
    });
    let result = match read.await? {
        BodyOutcome::Done(result) => result,
        BodyOutcome::NotYet(held, dataset) => {
            let permit = Some(app.permits.uploads.take(&owner).await?);
            let (dataset, stored) = stored_examples(&app, &owner, &dataset, "").await?;
            body::compute(permit, move || held.against_stored(&dataset, &stored)).await?
        }
    };
    Ok(Json(JobResult::Evaluate(result)))
}

/// Outcome of reading the body.
enum BodyOutcome {
    Done(EvaluateResult),
    /// The examples are in the dataset with this id.
    NotYet(Box<PendingEvaluation>, String),
}

/// A model that waits for examples, and the limits of the evaluation.
struct PendingEvaluation {
    id: ModelId,
    model: LoadedModel,
    limits: Arc<Limits>,
    run: Run,
}

impl PendingEvaluation {
    fn against_sent(&self, parsed: &Parsed) -> Result<EvaluateResult, Problem> {
        fit(&self.model, parsed, Origin::Whole)?;
        let classes = self.model.names.check_classes(parsed.class_names.as_ref());
        classes.map_err(misnamed)?;
        let _timer = begin(&self.limits, &self.run.stop);
        let result = self.against(&parsed.data, parsed.zero_bit_value)?;
        let result = result.map_err(|interrupt| interrupted(&self.limits, interrupt))?;
        Ok(EvaluateResult {
            table: parsed.table.clone(),
            ..result
        })
    }

    /// Verifies the digest of a dataset of any size, then evaluates the model while reading.
    fn against_stored(
        &self,
        dataset: &Dataset,
        stored: &StoredExamples,
    ) -> Result<EvaluateResult, Problem> {
        self.model.names.check(&dataset.names).map_err(misnamed)?;
        let _timer = begin(&self.limits, &self.run.stop);
        fit_stored(&self.model, stored, &self.limits, &self.run.stop)?;
        let result = self.against(stored, dataset.summary.zero_bit_value.into())?;
        result.map_err(|interrupt| unread(stored, &self.limits, interrupt))
    }

    /// The result, or the interrupt that stopped the evaluation.
    fn against(
        &self,
        examples: &dyn Examples,
        zero: f64,
    ) -> Result<Result<EvaluateResult, Interrupt>, Problem> {
        check_labels(examples).map_err(|detail| Problem::new(Code::WRONG_DATA, detail))?;
        let evaluated = evaluate::evaluate(&self.model.hypothesis, examples, zero, &self.run);
        Ok(
            evaluated.and_then(|evaluation| match evaluation.interrupted {
                Some(interrupt) => Err(interrupt),
                None => Ok(EvaluateResult::new(self.id, &evaluation)),
            }),
        )
    }
}
