//! `POST /v2/models/{id}/infer`: predicts a tensor by the Open Inference Protocol, version 2.
//!
//! The tensor `x` is a list in the JSON, or octets after it (the protocol's binary extension). The Content-Type differs
//! from client to client, so the header `Inference-Header-Content-Length` tells the two forms apart. After that, the
//! rows of the tensor are predicted like any other examples.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use halfspace_core::learners::engine::run::CancelOnDrop;
use halfspace_formats::{Format, Options};

use crate::records::ModelId;
use crate::records::id::ModelKind;

use crate::http::app_state::App;

use crate::http::computing::{interrupted, limit_decisions};
use crate::http::document::declared::{ANSWERED, BODY, EXAMPLES, IN_PATH, problems};
use crate::http::extract::body::Effort;
use crate::http::extract::data_body::{DataBody, Octets};
use crate::http::extract::work::ExamplesWork;
use crate::http::extract::{Caller, NoQuery, PathId};
use crate::http::inference::answer::{InferenceAnswer, JSON_LENGTH, Offered, OutputTensors};
use crate::http::inference::request::{InferenceReader, InferenceRequest};
use crate::http::inference::{PathVersion, VERSION};
use crate::http::jobs::submission::check_name;
use crate::http::models::examples::{Origin, fit, model_in_path};
use crate::http::problem::{Code, FieldError, Problem};

/// Predicts by the Open Inference Protocol: tensor `x` in, tensors `prediction` and `score` out.
///
/// With the protocol's binary extension the tensor follows the JSON as octets. The header
/// `Inference-Header-Content-Length` then gives the length of the JSON. The answer contains octets only if
/// you ask for them. Parameters that are not listed here are refused. The tensors of an answer are limited to
/// `answer_bytes_max` bytes.
#[utoipa::path(post, path = "/v2/models/{id}/infer", tag = "inference",
    params(("id" = ModelId, Path, description = "The model"),
        ("Inference-Header-Content-Length" = Option<u64>, Header,
            description = "Number of bytes of JSON at the start of the body, if binary tensors follow")),
    request_body(content((InferenceRequest = "application/json"),
        (Octets = "application/octet-stream")),
        description = "The examples. The Content-Type is optional"),
    responses((status = 200, description = "The predictions", content(
        (InferenceAnswer = "application/json"), (Octets = "application/octet-stream")))),
    extensions(("x-problems" = json!(problems(&[IN_PATH, BODY, EXAMPLES, ANSWERED, &[Code::WRONG_SHAPE]])))))]
pub async fn infer_model(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<ModelKind>,
    mut request: Request,
) -> Result<Response, Problem> {
    let json_length = settle_media_type(&app, request.headers_mut())?;
    let model = model_in_path(&app, &owner, id).await?;
    let body = DataBody::new(&app, request)?;
    let limits = body.limits.clone();
    if !matches!(body.format, Format::Json | Format::Octets) {
        let detail = "The Content-Type must be application/json or application/octet-stream.";
        return Err(Problem::new(Code::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    let effort = Effort::Brief(ExamplesWork {
        words_each: model.predictor.words_of_work(),
        ..ExamplesWork::reading(body.format, Some(model.predictor.n()), &Options::default())
    });
    let checks = app.clone();
    let cancel_on_drop = CancelOnDrop::new(app.jobs.worker.helped_stop_flag());
    let stop = cancel_on_drop.flag();
    let read = body.read(&app, effort, move |reader| {
        let mut reader = InferenceReader {
            reader,
            json_length,
            limits: &limits,
        };
        let n = model.predictor.n();
        let mut asked = reader.request(n)?;
        check_name(&checks, asked.id.as_deref(), |detail| {
            FieldError::at_pointer("/id", detail)
        })?;
        asked.check_model(id)?;
        let offered = Offered::of(&model);
        let wanted = asked.wanted(&offered)?;
        let parsed = reader.examples(&mut asked, n)?;
        fit(&model, &parsed, Origin::Whole)?;
        let _timer = limit_decisions(&checks.limits, &stop, &model.predictor, &parsed.data);
        let bytes_max = checks.limits.answer_bytes_max;
        let answer = OutputTensors::of(
            &model.predictor,
            offered,
            &parsed,
            &wanted,
            bytes_max,
            &stop,
        )?;
        match stop
            .raised()
            .filter(|_| answer.examples() < parsed.data.examples() as u64)
        {
            Some(interrupt) => Err(interrupted(&checks.limits, interrupt)),
            None => Ok((asked.id, answer)),
        }
    });
    let (request_id, answer) = read.await?;
    Ok(answer.into_response(id, VERSION, request_id))
}

/// Predicts by the Open Inference Protocol with a named version of the model.
///
/// A model never changes, so the only version is 1.
#[utoipa::path(post, path = "/v2/models/{id}/versions/{version}/infer", tag = "inference",
    params(("id" = ModelId, Path, description = "The model"),
        ("version" = String, Path, description = "The version, always 1"),
        ("Inference-Header-Content-Length" = Option<u64>, Header,
            description = "Number of bytes of JSON at the start of the body, if binary tensors follow")),
    request_body(content((InferenceRequest = "application/json"),
        (Octets = "application/octet-stream")),
        description = "The examples. The Content-Type is optional"),
    responses((status = 200, description = "The predictions", content(
        (InferenceAnswer = "application/json"), (Octets = "application/octet-stream")))),
    extensions(("x-problems" = json!(problems(&[IN_PATH, BODY, EXAMPLES, ANSWERED, &[Code::WRONG_SHAPE]])))))]
pub async fn infer_model_version(
    app: State<App>,
    caller: Caller,
    query: NoQuery,
    PathVersion(id): PathVersion,
    request: Request,
) -> Result<Response, Problem> {
    infer_model(app, caller, query, PathId(id), request).await
}

/// Chooses between the two forms of a body and returns the length of the JSON. With the header, the body is
/// octets after JSON and the Content-Type is ignored. Without the header, a missing Content-Type means JSON.
fn settle_media_type(app: &App, headers: &mut HeaderMap) -> Result<Option<u64>, Problem> {
    let wrong = |detail: &str| {
        let name = "Inference-Header-Content-Length";
        Problem::parameter(Code::INVALID_PARAMETER, name, detail)
    };
    let mut values = headers.get_all(JSON_LENGTH).iter();
    let length = match (values.next(), values.next()) {
        (_, Some(_)) => return Err(wrong("the parameter or header is given more than once")),
        (Some(value), None) => {
            let text = value.to_str().unwrap_or_default();
            let length = text
                .parse::<u64>()
                .map_err(|_| wrong("not a whole number"))?;
            Some(length)
        }
        (None, None) => None,
    };
    let media_type = |format: Format| HeaderValue::from_static(format.media_type());
    let Some(length) = length else {
        let given = headers.entry(header::CONTENT_TYPE);
        let given = given.or_insert_with(|| media_type(Format::Json));
        if given.to_str().ok().and_then(Format::from_media_type) == Some(Format::Octets) {
            return Err(wrong(
                "a body of octets needs this header, which gives the length of the JSON",
            ));
        }
        return Ok(None);
    };
    let length_max = app.limits.json_body_bytes_max;
    if length > length_max {
        let detail =
            format!("The JSON is longer than json_body_bytes_max allows: {length_max} bytes.");
        return Err(Problem::new(Code::TOO_LARGE, detail));
    }
    headers.insert(header::CONTENT_TYPE, media_type(Format::Octets));
    Ok(Some(length))
}
