//! `POST /v1/models/{id}/predict`: a model on data sent along, or on a dataset.

use std::ops::ControlFlow;

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};

use crate::formats::{Format, Parsed};
use crate::learners::hypothesis::Hypothesis;
use crate::learners::predict::for_each_decisions;
use crate::records::id::ModelKind;
use crate::records::{ModelId, Owner};

use super::App;
use super::data_body::Octets;
use super::extract::{Caller, PathId};
use super::model_examples::{Purpose, model_in_path, with_examples};
use super::predictions_text::Writer;
use super::problem::{Code, Problem};

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
    let score = SchemaType::from_iter([Type::Number, Type::String, Type::Null]);
    ArrayBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]))
        .items(ObjectBuilder::new().schema_type(score))
        .description(Some(
            "The scores that decided, exact: whole numbers (decimal strings beyond 2^53), \
             fractions such as \"2/3\", or numbers of weights that are real by definition, null \
             where such a sum overflows. Null when the answer would be too long with them.",
        ))
        .into()
}

/// Predicts the labels of the examples in the body, in any form that data are accepted in.
///
/// NDJSON is answered as NDJSON, a line an example. No answer is longer than
/// `prediction_bytes_max`: a document goes without its scores first, and what is too long even so
/// is refused; send the examples in parts.
#[utoipa::path(post, path = "/v1/models/{id}/predict", tag = "models",
    params(("id" = ModelId, Path, description = "The model"),
        ("labels" = Option<String>, Query, description = "Where labels stand: in CSV, ARFF and \
            .npy `first`, `last`, `none` (when left out) or a column's name; in octets `none` (when \
            left out) or `appended`, a bit after those of each row. They are passed over"),
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
        description = "The examples; labels are passed over"),
    responses((status = 200, description = "The predictions", content(
        (Predictions = "application/json"), (String = "application/x-ndjson")))))]
pub async fn predict(
    State(app): State<App>,
    Caller(owner): Caller,
    PathId(id): PathId<ModelKind>,
    request: Request,
) -> Result<Response, Problem> {
    let hypothesis = model_in_path(&app, &owner, id).await?;
    answer(&app, &owner, hypothesis, request).await
}

/// What a hypothesis says of the examples that a request brings.
///
/// # Errors
/// What is wrong with the request, and an answer that would be too long.
pub async fn answer(
    app: &App,
    owner: &Owner,
    hypothesis: Hypothesis,
    request: Request,
) -> Result<Response, Problem> {
    let bytes_max = app.limits.prediction_bytes_max;
    let purpose = Purpose::Predict;
    let (format, text) = with_examples(app, owner, request, hypothesis, purpose, move |asked| {
        let writer = match asked.format {
            Format::Ndjson => Writer::lines(bytes_max),
            _ => Writer::document(bytes_max),
        };
        predictions(asked.hypothesis, asked.parsed, writer)
    })
    .await?;
    let media_type = match format {
        Format::Ndjson => Format::Ndjson.media_type(),
        _ => Format::Json.media_type(),
    };
    Ok(([(header::CONTENT_TYPE, media_type)], text).into_response())
}

/// The text of the answer; scoring ends as soon as it is too long.
fn predictions(
    hypothesis: &Hypothesis,
    parsed: &Parsed,
    mut writer: Writer,
) -> Result<String, Problem> {
    let zero = parsed.zero_bit_value;
    for_each_decisions(hypothesis, &parsed.data, zero, |decisions| {
        for decision in decisions {
            writer.push(decision);
        }
        if writer.is_too_long() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    let bytes_max = writer.bytes_max;
    writer.finish().ok_or_else(|| {
        let detail =
            format!("The answer would be longer than prediction_bytes_max: {bytes_max} bytes.");
        Problem::new(Code::TOO_LARGE, detail)
    })
}
