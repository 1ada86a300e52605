//! `GET /v1/models/{id}/explanation`: the heaviest terms of a model, as JSON, as text or as a bar chart.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use halfspace_core::explanations::{
    Explanation, ExplanationRequest, TERMS_MAX, WORDS_PER_SECOND, explain,
};
use halfspace_core::learners::engine::run::StopFlag;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::records::ModelId;
use crate::records::id::ModelKind;

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::computing::{compute, interrupted};
use crate::http::document::declared::{COMPUTED, IN_PATH, problems};
use crate::http::extract::{Caller, PathId, Query, chosen};
use crate::http::limits::Limits;
use crate::http::models::examples::{model_in_path, of_class};
use crate::http::problem::{Code, Problem};

/// Terms of an answer unless the request gives their number.
const TERMS_DEFAULT: u32 = 20;

/// Times that a busy machine may be slower than [`WORDS_PER_SECOND`] before the answer is refused.
const SLOWDOWN_MAX: f64 = 4.0;

/// Selects the terms and the format of an explanation.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExplanationQuery {
    /// Terms to show; 20 when absent.
    #[param(minimum = 1, maximum = 100)]
    top: Option<u32>,
    /// The class whose hypothesis to explain, if the model tells more than two apart.
    class: Option<String>,
    /// Format of the answer. A media type without a wildcard in `Accept` overrides the parameter.
    format: Option<String>,
}

/// The formats of an explanation.
pub(super) const MEDIA_TYPES: [&str; 3] = ["application/json", "text/plain", "image/svg+xml"];

/// The number of terms that a request asks for.
pub(super) fn top_of(asked: Option<u32>) -> Result<usize, Problem> {
    let top = asked.unwrap_or(TERMS_DEFAULT) as usize;
    if !(1..=TERMS_MAX).contains(&top) {
        let detail = format!("{top} is not from 1 to {TERMS_MAX}");
        return Err(Problem::parameter(Code::INVALID_PARAMETER, "top", detail));
    }
    Ok(top)
}

/// The words of work within the time of an answer.
pub(super) fn words_max(limits: &Limits) -> u64 {
    (limits.answer_seconds_max / SLOWDOWN_MAX * WORDS_PER_SECOND) as u64
}

/// The answer in a format: the explanation as a text behind `head`, as a picture, or in its document.
pub(super) fn written<D: Serialize + Send + Sync + 'static>(
    media_type: &'static str,
    explanation: Explanation,
    head: &str,
    document: impl FnOnce(Explanation) -> D,
) -> Response {
    let (content_type, text) = match media_type {
        "text/plain" => ("text/plain; charset=utf-8", format!("{head}{explanation}")),
        "image/svg+xml" => (media_type, explanation.to_svg()),
        _ => return Json(document(explanation)).into_response(),
    };
    ([(header::CONTENT_TYPE, content_type)], text).into_response()
}

/// Explains a model: the decision rule in words, and the heaviest terms with their names and exact weights.
///
/// The terms of a kernel are conjunctions of at most 3 literals. Of the conjunctions that the same support
/// vectors satisfy, the answer shows the shortest one. If the search may take longer than
/// `answer_seconds_max` on a busy machine, the answer compares conjunctions of fewer literals, and `detail` says so.
///
/// `Accept` or `format` selects the format.
#[utoipa::path(get, path = "/v1/models/{id}/explanation", tag = "models",
    params(("id" = ModelId, Path, description = "The model"), ExplanationQuery,
        ("Accept" = Option<String>, Header,
            description = "`application/json`, `text/plain` or `image/svg+xml`")),
    responses((status = 200, description = "The explanation",
        content((Explanation = "application/json"), (String = "text/plain"),
            (String = "image/svg+xml")))),
    extensions(("x-problems" = json!(problems(&[
        IN_PATH, COMPUTED, &[Code::NOT_ACCEPTABLE]])))))]
pub async fn get_model_explanation(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<ExplanationQuery>,
    PathId(id): PathId<ModelKind>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let media_type = chosen(query.format.as_deref(), &headers, &MEDIA_TYPES)?;
    let top = top_of(query.top)?;
    let model = model_in_path(&app, &owner, id).await?;
    let permit = app.permits.uploads.take(&owner).await?;
    let (memory, limits) = (app.memory().try_take(0)?, app.limits.clone());
    let work = move |stop: &StopFlag| {
        let class = query.class.as_deref();
        let hypothesis = of_class(&model, class)?;
        let names = model.names.feature_list();
        let request = ExplanationRequest {
            names: names.as_deref(),
            example: None,
            top,
            words_max: words_max(&limits),
        };
        let explained = memory.settled(|| explain(hypothesis, request, stop));
        let mut explanation = explained.map_err(|interrupt| interrupted(&limits, interrupt))?;
        if let (Some(class), None) = (class, model.predictor.one()) {
            explanation = explanation.of_member(class);
        }
        Ok(written(media_type, explanation, "", |whole| whole))
    };
    compute(&app, Some(permit), work).await
}
