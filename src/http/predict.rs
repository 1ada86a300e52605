//! `POST /v1/models/{id}/predict`: a model on data sent along, or on a dataset.

use std::ops::ControlFlow;

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};

use crate::formats::{self, DataForm, Format, LabelsColumn, Options, Parsed, UnlabelledMeans};
use crate::learners::data::Features;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::predict::for_each_decisions;
use crate::records::ModelId;
use crate::records::id::ModelKind;

use super::App;
use super::body::{self, Effort};
use super::data_body::{DataBody, Octets, bit_order, header_option, labels};
use super::extract::{Caller, PathId, query_pairs};
use super::models::document;
use super::predictions_text::Writer;
use super::problem::{Code, Problem, placed};
use super::submission::{parsed, stored_data};

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
            "The scores that decided, exact: whole numbers (decimal strings beyond 2^53), \
             fractions such as \"2/3\", or numbers of weights that are real by definition. Null \
             when the answer would be too long with them.",
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
    let model = app.jobs.store().model(&owner, id).await?;
    let model = model.ok_or_else(|| Problem::not_found("model"))?;
    let hypothesis = Hypothesis::try_from(&document(&model)?.hypothesis)
        .map_err(|_| Problem::new(Code::INTERNAL, "The stored model is damaged."))?;
    let body = DataBody::new(&app, request)?;
    let (format, bytes_max) = (body.format, app.limits.prediction_bytes_max);
    let options = options(body.parts.uri.query(), format, &hypothesis, &body.limits)?;
    // Scoring is more work than reading, and is done where the body is read.
    let answered = body.read(&app, Effort::Unknown, move |reader| {
        let parsed = match examples(formats::read(format, reader, &options)?)? {
            Examples::Sent(parsed) => parsed,
            Examples::Stored(id) => return Ok(Answered::NotYet(Box::new(hypothesis), id)),
        };
        let writer = match format {
            Format::Ndjson => Writer::lines(bytes_max),
            _ => Writer::document(bytes_max),
        };
        predictions(&hypothesis, &parsed, writer).map(Answered::Text)
    });
    let text = match answered.await? {
        Answered::Text(text) => text,
        Answered::NotYet(hypothesis, id) => {
            let (stored, permit) = stored_data(&app, &owner, &id, "").await?;
            let parsed = parsed(&stored.dataset.summary, stored.data);
            let writer = Writer::document(bytes_max);
            body::compute(permit, move || predictions(&hypothesis, &parsed, writer)).await?
        }
    };
    let media_type = match format {
        Format::Ndjson => Format::Ndjson.media_type(),
        _ => Format::Json.media_type(),
    };
    Ok(([(header::CONTENT_TYPE, media_type)], text).into_response())
}

/// How the body is read: a format that leaves n open takes it from the model, a table has no labels
/// unless they are named.
fn options(
    query: Option<&str>,
    format: Format,
    hypothesis: &Hypothesis,
    limits: &formats::Limits,
) -> Result<Options, Problem> {
    let mut options = Options {
        labels: format.has_label_column().then_some(LabelsColumn::None),
        n: format.leaves_n_open().then_some(hypothesis.n()),
        unlabelled: UnlabelledMeans::Nothing,
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

/// What came of reading a request.
enum Answered {
    /// The text of the answer.
    Text(String),
    /// The examples are in the dataset of this name.
    NotYet(Box<Hypothesis>, String),
}

/// The examples sent along, without claims about them, which no prediction rests on.
fn examples(form: DataForm) -> Result<Examples, Problem> {
    match form {
        DataForm::Sample {
            parsed,
            assume: None,
        } => Ok(Examples::Sent(parsed)),
        DataForm::Dataset { id, .. } => Ok(Examples::Stored(id)),
        DataForm::Sample { .. } => {
            let detail = "`assume` is for training; a prediction assumes nothing of its examples.";
            Err(Problem::new(Code::BAD_OPTION, detail))
        }
        DataForm::Generated(_) => {
            let detail = "Generated data cannot be predicted; send examples.";
            Err(Problem::new(Code::WRONG_DATA, detail))
        }
    }
}

/// Whether the model takes the examples. One of real weights takes Boolean ones too: real examples
/// may happen to hold nothing but zeros and ones.
fn check_fit(parsed: &Parsed, hypothesis: &Hypothesis) -> Result<(), Problem> {
    let n = parsed.data.n();
    if n != hypothesis.n() {
        let own = hypothesis.n();
        let detail = format!("The examples have {n} features, but the model has n = {own}.");
        return Err(Problem::new(Code::WRONG_DATA, detail));
    }
    let is_real = matches!(parsed.data.features(), Features::Real(_));
    if is_real && !hypothesis.takes_real() {
        let detail = "The model takes Boolean examples only: values all 0/1 or all -1/1.";
        let field = placed(parsed.first_real.clone(), detail.to_owned());
        return Err(Problem::new(Code::WRONG_DATA, detail).with(field));
    }
    let checked = hypothesis.check_examples(&parsed.data);
    checked.map_err(|detail| Problem::new(Code::INTRACTABLE, detail))
}

/// The text of the answer; scoring ends as soon as it is too long.
fn predictions(
    hypothesis: &Hypothesis,
    parsed: &Parsed,
    mut writer: Writer,
) -> Result<String, Problem> {
    check_fit(parsed, hypothesis)?;
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
