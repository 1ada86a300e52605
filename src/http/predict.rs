//! `POST /v1/models/{id}/predict`: a model on data sent along.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};

use crate::formats::{self, DataForm, Format, LabelsColumn, Options, Parsed, UnlabelledMeans};
use crate::learners::data::{Data, Features};
use crate::learners::hypothesis::{Hypothesis, Score};
use crate::learners::predict::{scores, with_reals};
use crate::records::ModelId;
use crate::records::id::ModelKind;

use super::extract::{Caller, PathId, query_pairs};
use super::models::document;
use super::problem::{Code, Problem, placed};
use super::train::{header_option, labels, media_type};
use super::{App, body};

/// The largest integer that every JSON reader holds.
const SAFE_INTEGER_MAX: i64 = (1 << 53) - 1;

/// The predictions of a model, one an example.
#[derive(Serialize, ToSchema)]
pub struct Predictions {
    /// 1 or -1.
    predictions: Vec<i8>,
    #[schema(schema_with = scores_schema)]
    scores: Option<Vec<Value>>,
}

/// Numbers or decimal strings, in a list or not at all.
fn scores_schema() -> Schema {
    let score = SchemaType::from_iter([Type::Number, Type::String]);
    ArrayBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]))
        .items(ObjectBuilder::new().schema_type(score))
        .description(Some(
            "The scores that decided, exact: whole numbers (decimal strings beyond 2^53), or \
             numbers of weights that are real by definition. Null when the answer would be too \
             long with them.",
        ))
        .into()
}

/// Predicts the labels of the examples in the body, in any form that data are accepted in.
///
/// NDJSON is answered as NDJSON, a line an example.
#[utoipa::path(post, path = "/v1/models/{id}/predict", tag = "models",
    params(("id" = ModelId, Path, description = "The model"),
        ("labels" = Option<String>, Query, description = "Where CSV labels stand: `first`, \
            `last`, `none` (the default here) or a column's name; they are passed over"),
        ("header" = Option<String>, Query, description = "Whether CSV begins with names: `auto`, \
            `true` or `false`")),
    request_body(
        content((String = "application/x-ndjson"), (String = "text/csv"),
            (String = "text/x-libsvm"), (crate::http::data_schema::Data = "application/json")),
        description = "The examples; labels are passed over"),
    responses((status = 200, description = "The predictions", content(
        (Predictions = "application/json"), (String = "application/x-ndjson")))))]
pub async fn predict(
    State(app): State<App>,
    Caller(owner): Caller,
    PathId(id): PathId<ModelKind>,
    request: Request,
) -> Result<Response, Problem> {
    let model = app.jobs.store().model(&owner, id).await?;
    let model = model.ok_or_else(|| Problem::not_found("model"))?;
    let hypothesis = Hypothesis::try_from(&document(&model)?.hypothesis)
        .map_err(|_| Problem::new(Code::INTERNAL, "The stored model is damaged."))?;
    let (parts, request_body) = request.into_parts();
    let format = media_type(&parts.headers)?;
    let limits = match format {
        Format::Json => app.limits.of_json(),
        _ => app.limits.of_lines(),
    };
    let options = options(parts.uri.query(), format, &hypothesis, &limits)?;
    let form = body::read(&app, &parts.headers, request_body, &limits, move |reader| {
        formats::read(format, reader, &options)
    })
    .await?;
    let DataForm::Sample { parsed, .. } = form else {
        let detail = "Generated data cannot be predicted; send examples.";
        return Err(Problem::new(Code::WRONG_DATA, detail));
    };
    let data = fitting(parsed, &hypothesis)?;
    let scored = tokio::task::spawn_blocking(move || scores(&hypothesis, &data));
    let scores = scored.await;
    let scores = scores.map_err(|_| Problem::new(Code::INTERNAL, "The prediction broke down."))?;
    Ok(match format {
        Format::Ndjson => lines(&scores),
        _ => document_of(&scores, app.limits.prediction_bytes_max),
    })
}

/// How the body is read: a sparse format takes its n from the model, a table has no labels unless
/// they are named.
fn options(
    query: Option<&str>,
    format: Format,
    hypothesis: &Hypothesis,
    limits: &formats::Limits,
) -> Result<Options, Problem> {
    let mut options = Options {
        labels: (format == Format::Csv).then_some(LabelsColumn::None),
        n: (format == Format::Libsvm).then_some(hypothesis.n()),
        unlabelled: UnlabelledMeans::Nothing,
        limits: limits.clone(),
        ..Options::default()
    };
    for (name, text) in query_pairs(query)? {
        match name.as_str() {
            "labels" => options.labels = Some(labels(text)),
            "header" => options.header = header_option(&text)?,
            other => {
                let detail = "no such parameter; there are: labels, header";
                return Err(Problem::parameter(Code::INVALID_PARAMETER, other, detail));
            }
        }
    }
    Ok(options)
}

/// The data as the model takes them.
fn fitting(parsed: Parsed, hypothesis: &Hypothesis) -> Result<Arc<Data>, Problem> {
    let n = parsed.data.n();
    if n != hypothesis.n() {
        let own = hypothesis.n();
        let detail = format!("The examples have {n} features, but the model has n = {own}.");
        return Err(Problem::new(Code::WRONG_DATA, detail));
    }
    let is_real = matches!(parsed.data.features(), Features::Real(_));
    if is_real && !hypothesis.takes_real() {
        let detail = "The model takes Boolean examples only: values all 0/1 or all -1/1.";
        let field = placed(parsed.first_real, detail.to_owned());
        return Err(Problem::new(Code::WRONG_DATA, detail).with(field));
    }
    if !is_real && hypothesis.takes_real() {
        // Real examples may happen to hold nothing but zeros and ones.
        return Ok(Arc::new(with_reals(&parsed.data, parsed.zero_bit_value)));
    }
    Ok(Arc::new(parsed.data))
}

fn prediction(score: Score) -> i8 {
    if score.is_positive() { 1 } else { -1 }
}

fn score_json(score: Score) -> Value {
    match score {
        Score::Integer(score) if score.abs() <= SAFE_INTEGER_MAX => json!(score),
        Score::Integer(score) => json!(score.to_string()),
        Score::Real(score) => json!(score),
    }
}

fn lines(scores: &[Score]) -> Response {
    let mut text = String::new();
    for &score in scores {
        let (prediction, score) = (prediction(score), score_json(score));
        text.push_str(&json!({"prediction": prediction, "score": score}).to_string());
        text.push('\n');
    }
    ([(header::CONTENT_TYPE, "application/x-ndjson")], text).into_response()
}

/// The document, without the scores when it would be too long with them.
fn document_of(scores: &[Score], bytes_max: u64) -> Response {
    let predictions: Vec<i8> = scores.iter().map(|&score| prediction(score)).collect();
    let values: Vec<Value> = scores.iter().map(|&score| score_json(score)).collect();
    let whole = Predictions {
        predictions,
        scores: Some(values),
    };
    let text = serde_json::to_vec(&whole).unwrap_or_default();
    if text.len() as u64 <= bytes_max {
        return ([(header::CONTENT_TYPE, "application/json")], text).into_response();
    }
    Json(Predictions {
        scores: None,
        ..whole
    })
    .into_response()
}
