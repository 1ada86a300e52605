//! `POST /v1/models/{id}/evaluate`: a model held against labelled examples, sent along or stored.

use axum::Json;
use axum::extract::{Request, State};

use crate::jobs::check_labels;
use crate::learners::evaluate;
use crate::learners::run::Run;
use crate::records::ModelId;
use crate::records::evaluation::EvaluateResult;
use crate::records::id::ModelKind;

use super::App;
use super::attended::{Attended, begin, interrupted};
use super::data_body::Octets;
use super::extract::{Caller, PathId};
use super::model_examples::{Purpose, model_in_path, with_examples};
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
    let purpose = Purpose::Evaluate;
    let limits = app.limits.clone();
    let attended = Attended::default();
    let run = Run {
        stop: attended.stop(),
        ..Run::default()
    };
    let evaluated = with_examples(&app, &owner, request, model, purpose, move |asked| {
        let parsed = asked.parsed;
        check_labels(&parsed.data).map_err(|detail| Problem::new(Code::WRONG_DATA, detail))?;
        let _timer = begin(&limits, &run.stop);
        let (hypothesis, zero) = (asked.hypothesis, parsed.zero_bit_value);
        match evaluate::evaluate(hypothesis, &parsed.data, zero, &run) {
            Err(interrupt) => Err(interrupted(&limits, interrupt)),
            Ok(evaluation) => match evaluation.interrupted {
                Some(interrupt) => Err(interrupted(&limits, interrupt)),
                None => Ok(EvaluateResult::new(id, &evaluation)),
            },
        }
    });
    Ok(Json(evaluated.await?))
}
