//! `POST /v1/sessions/{id}/examples`: learn, as JSON all or nothing, or as an NDJSON stream that is
//! answered while it comes in.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use futures_util::StreamExt;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::formats::{self, DataForm, Format, FormatError, Options, Parsed, Place};
use crate::jobs::{AtTheEnd, Learnt, SessionError, SessionWriter};
use crate::learners::session::Answered;
use crate::records::SessionId;
use crate::records::id::SessionKind;

use super::App;
use super::data_body::DataBody;
use super::envelope::RequestId;
use super::extract::{Caller, NoQuery, PathId};
use super::problem::{Code, Problem};
use super::session_answers::{Answers, stream};

/// Lines of one request.
pub const LINES_MAX: u64 = 1_000_000;

/// Lines learnt in one step, at most.
const STEP_LINES_MAX: usize = 4096;

/// How much of a stream is still read after its late error, and for how long.
const LINGER_BYTES_MAX: usize = 64 << 20;
const LINGER: Duration = Duration::from_secs(3);

/// What became of one example.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct ExampleAnswer {
    /// Where the session stands after it: the examples learnt.
    position: u64,
    /// What the hypothesis said before it was learnt, 1 or -1; null when a batch consumed it.
    prediction: Option<i8>,
    /// Whether that was wrong.
    mistake: bool,
    /// Consistent examples since the last mistake.
    run_length: u64,
    /// Whether the session ended with it.
    terminated: bool,
}

/// What became of the examples, in their order.
#[derive(Serialize, ToSchema)]
pub struct ExampleAnswers {
    answers: Vec<ExampleAnswer>,
}

impl ExampleAnswer {
    /// The answer to the example before `position`.
    pub fn new(position: u64, answered: &Answered) -> Self {
        let sign = |is_positive| if is_positive { 1 } else { -1 };
        Self {
            position,
            prediction: answered.prediction.map(sign),
            mistake: answered.is_mistake,
            run_length: answered.run_length,
            terminated: answered.is_last,
        }
    }
}

/// Learns from examples. An answer means that the example is on disk.
///
/// JSON is learnt whole or not at all. NDJSON is answered line by line while the body is still
/// coming in; a late error is the last line, `{"error": ...}`, and the lines before it stay learnt.
/// With `If-Match` the session must stand at that position, so that a retry learns nothing twice.
#[utoipa::path(post, path = "/v1/sessions/{id}/examples", tag = "sessions",
    params(("id" = SessionId, Path, description = "The session"),
        ("If-Match" = Option<String>, Header, description = "`\"<position>\"`: where the session \
            must stand")),
    request_body(
        content((crate::http::data_schema::Data = "application/json"),
            (String = "application/x-ndjson")),
        description = "The examples"),
    responses((status = 200, description = "They are learnt", content(
        (ExampleAnswers = "application/json"), (String = "application/x-ndjson")))))]
pub async fn learn(
    State(app): State<App>,
    Caller(owner): Caller,
    Extension(request_id): Extension<RequestId>,
    _: NoQuery,
    PathId(id): PathId<SessionKind>,
    request: Request,
) -> Result<Response, Problem> {
    let position = if_match(request.headers())?;
    match DataBody::new(&app, request)? {
        body if body.format == Format::Json => {
            let parsed = read_json(&app, body).await?;
            let writer = app.jobs.write_session(&owner, id).await?;
            let learnt = writer.learn(parsed, position, AtTheEnd::LearnNone).await?;
            Ok(document(&learnt))
        }
        body if body.format == Format::Ndjson => {
            if body.parts.headers.contains_key(header::CONTENT_ENCODING) {
                let detail = "a stream that is answered while it comes in is not compressed";
                let code = Code::UNKNOWN_CODING;
                return Err(Problem::parameter(code, "Content-Encoding", detail));
            }
            let writer = app.jobs.write_session(&owner, id).await?;
            // So that what can be refused with a status is.
            writer.check(position).await?;
            let (limits, parts, body) = body.into_parts();
            let feed = Feed {
                app: app.clone(),
                writer,
                frames: body.into_data_stream(),
                answers: Answers::new(),
                pending: Vec::new(),
                options: Options {
                    limits,
                    ..Options::default()
                },
                position,
                lines: 0,
            };
            let answers = feed.answers.clone();
            let path = parts.uri.path().to_owned();
            tokio::spawn(feed.run(path, request_id));
            let headers = [(header::CONTENT_TYPE, Format::Ndjson.media_type())];
            Ok((headers, Body::from_stream(stream(answers))).into_response())
        }
        _ => {
            let detail = "A session learns from application/json or application/x-ndjson.";
            Err(Problem::new(Code::UNSUPPORTED_MEDIA_TYPE, detail))
        }
    }
}

fn document(learnt: &Learnt) -> Response {
    let positions = learnt.position + 1..;
    let answers = positions.zip(&learnt.answers);
    let answers = answers.map(|(position, one)| ExampleAnswer::new(position, one));
    let stands = learnt.position + learnt.answers.len() as u64;
    let etag: [(HeaderName, String); 1] = [(header::ETAG, format!("\"{stands}\""))];
    let answers = answers.collect();
    (etag, Json(ExampleAnswers { answers })).into_response()
}

/// The position that the request expects; none when it takes any.
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
            let detail = "one position in quotation marks, such as \"17\"";
            Problem::parameter(Code::INVALID_PARAMETER, "If-Match", detail)
        })
}

async fn read_json(app: &App, body: DataBody) -> Result<Parsed, Problem> {
    let (effort, limits) = (body.effort(), body.limits.clone());
    let options = Options {
        limits,
        ..Options::default()
    };
    let read = body.read(app, effort, move |reader| {
        Ok(formats::read(Format::Json, reader, &options)?)
    });
    match read.await? {
        DataForm::Sample {
            parsed,
            assume: None,
        } => Ok(parsed),
        DataForm::Sample { .. } => {
            let detail = "`assume` is declared once, when the session is opened.";
            Err(Problem::new(Code::BAD_OPTION, detail))
        }
        DataForm::Generated(_) | DataForm::Dataset { .. } => {
            let detail = "A session learns from examples that are sent along.";
            Err(Problem::new(Code::WRONG_DATA, detail))
        }
    }
}

/// One stream on its way into a session.
struct Feed {
    app: App,
    writer: SessionWriter,
    frames: BodyDataStream,
    answers: Answers,
    /// What came in and is not a whole line yet.
    pending: Vec<u8>,
    options: Options,
    /// Where the session must stand; none before the first example, when any place will do.
    position: Option<u64>,
    /// Lines read.
    lines: u64,
}

impl Feed {
    /// Learns until the body ends or something is wrong, which is then the last line.
    async fn run(mut self, path: String, RequestId(request_id): RequestId) {
        let fed = self.feed().await;
        let Self {
            writer,
            answers,
            frames,
            ..
        } = self;
        drop(writer);
        if let Err(problem) = fed {
            let problem = problem.document(&path, &request_id);
            let text = serde_json::to_vec(&serde_json::json!({"error": problem}));
            answers.push_last([text.unwrap_or_default(), vec![b'\n']].concat().into());
            // A client that sends before it listens gets its answer and not a broken connection.
            let _ = timeout(LINGER, forget(frames)).await;
        }
        answers.end();
    }

    async fn feed(&mut self) -> Result<(), Problem> {
        let stopping = self.app.jobs.stopping().clone();
        let idle_seconds = self.app.limits.session_idle_seconds;
        let idle = Duration::from_secs(idle_seconds);
        loop {
            let frame = tokio::select! {
                frame = timeout(idle, self.frames.next()) => frame,
                () = stopping.cancelled() => return Err(SessionError::Stopping.into()),
            };
            let frame = frame.map_err(|_| {
                let detail = format!("The stream was idle for {idle_seconds} s and lost its turn.");
                Problem::new(Code::TIMEOUT, detail)
            })?;
            let Some(frame) = frame else { break };
            let broken = |_| Problem::new(Code::UNREADABLE, "The connection broke in the body.");
            self.pending.extend_from_slice(&frame.map_err(broken)?);
            if let Some(last) = memchr::memrchr(b'\n', &self.pending) {
                let rest = self.pending.split_off(last + 1);
                let whole = std::mem::replace(&mut self.pending, rest);
                self.learn_lines(&whole).await?;
            }
            let line_bytes_max = self.options.limits.line_bytes_max;
            if self.pending.len() > line_bytes_max {
                let detail = format!("The line is longer than line_bytes_max: {line_bytes_max}.");
                return Err(Problem::new(Code::TOO_LARGE, detail));
            }
        }
        let rest = std::mem::take(&mut self.pending);
        self.learn_lines(&rest).await
    }

    /// Learns from whole lines, many in one step.
    async fn learn_lines(&mut self, text: &[u8]) -> Result<(), Problem> {
        let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
        for lines in lines.chunks(STEP_LINES_MAX) {
            let left = LINES_MAX.saturating_sub(self.lines);
            let readable = lines.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let whole = self.parsed(&lines[..readable].concat());
            match whole {
                Ok(Some(parsed)) if parsed.first_real.is_none() => {
                    let learnt = self.learn(parsed).await;
                    self.lines += readable as u64;
                    match learnt {
                        // One line may be what all are refused for: then the others are learnt.
                        Err(SessionError::Unfit(_)) => {
                            self.lines -= readable as u64;
                            self.learn_one_by_one(&lines[..readable]).await?;
                        }
                        learnt => learnt?,
                    }
                }
                Ok(None) => self.lines += readable as u64,
                // Each line is read by itself: what differs between them is no fault.
                Ok(Some(_)) | Err(_) => self.learn_one_by_one(&lines[..readable]).await?,
            }
            if readable < lines.len() {
                let detail = format!("The stream has more lines than {LINES_MAX}.");
                return Err(Problem::new(Code::TOO_LARGE, detail));
            }
        }
        Ok(())
    }

    async fn learn_one_by_one(&mut self, lines: &[&[u8]]) -> Result<(), Problem> {
        for line in lines {
            let number = self.lines + 1;
            let parsed = self.parsed(line).map_err(|error| at_line(error, number))?;
            if let Some(parsed) = parsed {
                self.learn(parsed).await.map_err(|error| match error {
                    SessionError::Unfit(_) => {
                        let place = Some(Place::Line {
                            line: number,
                            column: 1,
                        });
                        let field = super::problem::placed(place, error.to_string());
                        Problem::from(error).with(field)
                    }
                    error => error.into(),
                })?;
            }
            self.lines = number;
        }
        Ok(())
    }

    /// The examples of some lines; none when all are blank.
    fn parsed(&self, lines: &[u8]) -> Result<Option<Parsed>, FormatError> {
        if lines.trim_ascii().is_empty() {
            return Ok(None);
        }
        formats::parse(Format::Ndjson, lines, &self.options).map(Some)
    }

    async fn learn(&mut self, parsed: Parsed) -> Result<(), SessionError> {
        let examples = parsed.data.examples();
        let learnt = self
            .writer
            .learn(parsed, self.position, AtTheEnd::LearnFirst);
        let learnt = learnt.await?;
        let position = learnt.position + learnt.answers.len() as u64;
        let is_whole = learnt.answers.len() == examples;
        self.answers.push(learnt);
        self.position = Some(position);
        if is_whole {
            Ok(())
        } else {
            Err(SessionError::Ended { position })
        }
    }
}

/// The same error at its line of the whole body.
fn at_line(mut error: FormatError, number: u64) -> Problem {
    if let Some(Place::Line { line, .. }) = &mut error.place {
        *line = number;
    }
    error.into()
}

async fn forget(mut frames: BodyDataStream) {
    let mut read = 0;
    while let Some(Ok(frame)) = frames.next().await {
        let frame: Bytes = frame;
        read += frame.len();
        if read > LINGER_BYTES_MAX {
            return;
        }
    }
}
