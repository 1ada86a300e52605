//! `POST /v1/sessions/{id}/examples`: a session learns from the examples in the body.
//!
//! - A JSON document is learnt completely or not at all.
//! - An NDJSON stream is learnt while it comes in; see `stream.rs`.
//! - A body in any other format is read to its end and then learnt.

use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use halfspace_formats::{self, DataForm, Format, NAMES_WITHOUT_VALUES, Options, Parsed};
use serde::{Serialize, Serializer};
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::jobs::{Learnt, WhenNotAll};
use crate::records::SessionId;
use crate::records::id::SessionKind;
use crate::records::session::SessionSpec;

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::document::data_schema::Data;
use crate::http::document::declared::{BODY, EXAMPLES, SESSION, STORED, problems};
use crate::http::extract::data_body::{DataBody, Octets};
use crate::http::extract::data_options::DataParameters;
use crate::http::extract::{Caller, PathId};
use crate::http::limits::SESSION_LINES_MAX;
use crate::http::models::answer_lines::AnswerReader;
use crate::http::models::examples::{ExamplesUse, check_n, options};
use crate::http::permits::OwnerPermit;
use crate::http::problem::{Code, Occurrence, Problem, placed};
use crate::http::sessions::answers::{ExampleAnswer, WaitingAnswers, answers, push};
use crate::http::sessions::stream::{Feed, of_session};

/// Time after which the answer to a stream begins even without an answered example, because some clients
/// wait for a status before they send. A later error is the last line.
const STATUS_TIMEOUT: Duration = Duration::from_millis(500);

/// The results of the examples, in the order of the examples.
#[derive(Serialize, ToSchema)]
pub struct ExampleAnswers<'a> {
    answers: Vec<ExampleAnswer<'a>>,
}

/// [`ExampleAnswers`], each of which is made when it is written.
#[derive(Serialize)]
struct LearntAnswers {
    #[serde(rename = "answers", serialize_with = "each_answer")]
    learnt: (Learnt, bool),
}

fn each_answer<S: Serializer>(
    (learnt, open): &(Learnt, bool),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let answers = (learnt.position + 1..).zip(&learnt.answers);
    let classes = learnt.classes.as_deref();
    let answer = |(at, one)| ExampleAnswer::new(at, one, classes, *open);
    serializer.collect_seq(answers.map(answer))
}

/// Learns from the examples in the body. The result of an example means that the example is on disk.
///
/// A JSON body is learnt completely or not at all. An NDJSON body is answered line by line while it is
/// coming in. A late error is the last line, `{"error": ...}`, and the examples before it stay learnt. An
/// error is answered with its own status if it occurs before the first learnt example and within half a
/// second. A body in any other format is read to its end first and then answered in the same lines.
///
/// If the first body has labels, they name the classes of the session, unless its encoding does. Later labels are read
/// by these names in every format. In a session of open classes, each new label is a class.
///
/// With `If-Match` the session must be at the given position, so a retry learns no example twice.
#[utoipa::path(post, path = "/v1/sessions/{id}/examples", tag = "sessions",
    params(("id" = SessionId, Path, description = "The session"),
        ("If-Match" = Option<String>, Header, description = "Required position of the session: \
                                                             `\"<position>\"`"),
        DataParameters),
    request_body(
        content((Data = "application/json"), (Octets = "*/*")),
        description = "The examples"),
    responses((status = 200, description = "The session learnt the examples", content(
        (ExampleAnswers = "application/json"), (String = "application/x-ndjson")))),
    extensions(("x-problems" = json!(problems(&[
        SESSION, BODY, EXAMPLES, STORED, &[Code::WRONG_STATE, Code::STALE_POSITION]])))))]
pub async fn learn_session_examples(
    State(app): State<App>,
    Caller(owner): Caller,
    Extension(occurrence): Extension<Occurrence>,
    PathId(id): PathId<SessionKind>,
    request: Request,
) -> Result<Response, Problem> {
    let position = if_match(request.headers())?;
    let body = DataBody::new(&app, request)?;
    let session = app.jobs.sessions.find(&owner, id).await?;
    let (label_rule, names) = (session.label_rule(), session.class_names());
    let spec = session.spec;
    let n = usize::try_from(spec.n).unwrap_or(usize::MAX);
    let mut options = options(
        body.format,
        n,
        &spec.names,
        ExamplesUse::Learn,
        &body.limits,
    );
    options.options.label_rule = label_rule;
    let options = options.read(body.parts.uri.query())?;
    let mut options = options.resolve(&app, &owner, &body.parts.headers).await?;
    options.values = Some(spec.values);
    match body.format {
        Format::Json => {
            let (parsed, _permit) = read(&app, body, options).await?;
            let mut writer = app.jobs.sessions.write(&owner, id).await?;
            let learnt = writer
                .learn(parsed, position, WhenNotAll::LearnNone)
                .await?;
            let etag = [(header::ETAG, format!("\"{}\"", learnt.stands()))];
            let learnt = (learnt, spec.open);
            Ok((etag, Json(LearntAnswers { learnt })).into_response())
        }
        Format::Ndjson => {
            options.n = own_n(&options, &spec)?;
            let writer = app.jobs.sessions.write(&owner, id).await?;
            // Checks the session first, so that a refusal has its own status.
            let stands = writer.check(position).await?;
            let (answers, mut reader) = answers(names, spec.open);
            let feed = Feed::new(&app, writer, body, &options, answers)?;
            tokio::spawn(feed.at(position, stands).run(occurrence));
            match timeout(STATUS_TIMEOUT, reader.begun()).await {
                Ok(begun) => begun?,
                Err(_) => reader.begin()?,
            }
            Ok(lines(reader))
        }
        _ => {
            options.n = own_n(&options, &spec)?;
            let (parsed, permit) = read(&app, body, options).await?;
            let mut writer = app.jobs.sessions.write(&owner, id).await?;
            let when_not_all = WhenNotAll::LearnFirst;
            let mut learnt = writer.learn(parsed, position, when_not_all).await?;
            drop(permit);
            let rest = learnt.rest.take();
            let stands = learnt.stands();
            let (answers, mut reader) = answers(learnt.classes.clone(), spec.open);
            push(&answers, learnt);
            if let Some(error) = rest {
                let problem = Problem::from(error).at_position_unless_told(stands);
                answers.fail(problem, &occurrence);
            }
            answers.end();
            reader.begun().await?;
            Ok(lines(reader))
        }
    }
}

/// Returns the number of features of the session, which the request may repeat. An open vocabulary has none, and the
/// reader refuses one.
fn own_n(options: &Options, spec: &SessionSpec) -> Result<Option<usize>, Problem> {
    if spec.names.is_open() {
        return Ok(options.n);
    }
    let n = usize::try_from(spec.n).unwrap_or(usize::MAX);
    check_n(options, n, &spec.names, "session")?;
    Ok(Some(n))
}

fn lines(reader: AnswerReader<WaitingAnswers>) -> Response {
    let headers = [(header::CONTENT_TYPE, Format::Ndjson.media_type())];
    (headers, Body::from_stream(reader.into_stream())).into_response()
}

/// Returns the position that the request expects, or `None` if the request accepts any position.
fn if_match(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let mut values = headers.get_all(header::IF_MATCH).iter();
    let (Some(value), more) = (values.next(), values.next()) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" && more.is_none() {
        return Ok(None);
    }
    let digits = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    let is_number = |digits: &&str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let position = digits
        .filter(is_number)
        .and_then(|digits| digits.parse().ok());
    position
        .filter(|_| more.is_none())
        .map(Some)
        .ok_or_else(|| {
            let detail = "the value must be one position in quotation marks, such as \"17\"";
            Problem::parameter(Code::INVALID_PARAMETER, "If-Match", detail)
        })
}

/// Reads a body to its end. The returned permit covers the memory of the examples, so the caller holds it
/// until the examples are learnt.
async fn read(
    app: &App,
    body: DataBody,
    options: Options,
) -> Result<(Parsed, Option<OwnerPermit>), Problem> {
    let (format, effort) = (body.format, body.effort(&options));
    let is_boolean = options.values == Some(halfspace_formats::RowsKind::Boolean);
    let read = body.under(&options).read_held(app, effort, move |reader| {
        halfspace_formats::read(format, reader, &options).map_err(of_session)
    });
    let (read, permit) = read.await?;
    let parsed = match read {
        DataForm::Sample {
            parsed,
            assume: None,
        } => parsed,
        DataForm::Sample { .. } => {
            let detail = "`assume` belongs to the request that creates the session.";
            return Err(Problem::new(Code::BAD_OPTION, detail));
        }
        DataForm::Rows(_) | DataForm::Generated(_) | DataForm::Dataset { .. } => {
            let detail = "A session learns only from examples in the body.";
            return Err(Problem::new(Code::WRONG_DATA, detail));
        }
    };
    if let (true, Some(place)) = (is_boolean, &parsed.first_real) {
        let detail = match parsed.vocabulary.is_some() {
            true => NAMES_WITHOUT_VALUES,
            false => {
                "The session accepts Boolean examples only: values all 0/1, or all -1/1. For others, open one with \
                 `\"values\": \"real\"`."
            }
        };
        let field = placed(Some(place.clone()), detail.to_owned());
        return Err(Problem::new(Code::WRONG_DATA, detail).with(field));
    }
    if parsed.weights.is_some() {
        let detail = "A session learns every example once, and these have weights other than 1. Leave the weights out, \
                      or send the examples to a training.";
        return Err(Problem::new(Code::WRONG_DATA, detail));
    }
    let examples = parsed.data.examples();
    if format != Format::Json && examples as u64 > SESSION_LINES_MAX {
        let detail = format!(
            "The body has {examples} examples, more than session_lines_max: {SESSION_LINES_MAX}."
        );
        return Err(Problem::new(Code::TOO_LARGE, detail));
    }
    Ok((parsed, permit))
}
