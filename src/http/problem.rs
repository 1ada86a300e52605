//! The one shape of every error response: a problem document of RFC 9457.
//!
//! Handlers return a [`Problem`], into which most errors of other modules convert here.
//! [`super::middleware::envelope`] adds the path and the id of the request and writes the document.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::BoxError;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_core::learners::engine::run::Interrupt;
use halfspace_core::memory::NoMemory;
use halfspace_core::suggestions::question;
use halfspace_core::theory::{FigureError, OutOfRange};
use halfspace_formats::{Defect, FormatError, FormatErrorKind, Place, Repair, Shape};
use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;

use crate::jobs::JobsError;
use crate::storage::{Limit, OverQuota, StoreError};

pub use super::codes::Code;

/// The request header of an idempotency key.
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// Time between two log lines about a full store.
const FULL_STORE_TOLD_EVERY: Duration = Duration::from_secs(60);

/// An error response without the path and the id of its request.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{detail}")]
pub struct Problem {
    code: Code,
    detail: String,
    /// The first [`ERRORS_MAX`] errors of the request.
    errors: Vec<FieldError>,
    errors_found: u32,
    is_of_content: bool,
    /// Position of the session. The field is boxed because it is rare and results carry problems by value.
    position: Option<Box<u64>>,
}

/// Errors listed per request.
const ERRORS_MAX: usize = 20;

/// One error of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct FieldError {
    /// JSON Pointer (RFC 6901) to the error in the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Query parameter or header at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// Line of the body, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Byte within the line, or column of the row, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// Row of a binary table, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    /// Byte of a binary body, or of a text that is not in its charset, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Description of the error, with the expected value.
    pub detail: String,
    /// Parameters that mend the error, the likeliest first. Take one of each error: a request with all of them works
    /// if they have a `shape`. Absent if no parameter is known to help.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub repairs: Vec<RepairDocument>,
}

/// Parameters that mend an error of data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Repair)]
pub struct RepairDocument {
    /// The parameters as a part of a URL, such as `labels=y&delimiter=%7C`. They replace those of the request, but
    /// `ignore`, `kinds` and `missing_values` add to them. Rows inside a JSON document have them as members instead.
    pub query: String,
    /// What the parameters say about the data.
    pub sentence: String,
    /// The data with this repair and the first one of each other error. Null if the service did not try it, because the
    /// body has more than 4 MiB or the readings took too much work, or if another error has no repair.
    #[schema(required = true)]
    pub shape: Option<Shape>,
}

impl From<Repair> for RepairDocument {
    fn from(repair: Repair) -> Self {
        let (name, value) = repair.option;
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair(name, &value);
        Self {
            query: query.finish(),
            sentence: repair.sentence,
            shape: repair.shape,
        }
    }
}

/// The request that a problem document names. Clones share the texts.
#[derive(Clone, Debug, Default)]
pub struct Occurrence {
    /// The setting `--base-path`, which clients see before each path.
    pub base_path: Arc<str>,
    /// Path of the request without the base path.
    pub path: Arc<str>,
    pub request_id: Arc<str>,
}

/// An error response (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemDocument {
    /// URL of a page of this service that explains the code.
    #[schema(format = "uri-reference")]
    pub r#type: String,
    /// Short summary, which is the same for every occurrence of the code.
    pub title: String,
    /// HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// Description of this occurrence.
    pub detail: String,
    /// Path of the request.
    pub instance: String,
    /// Name of the error, which never changes.
    pub code: String,
    /// Id of the request, under which the log has more. The header `x-request-id` has the same id.
    pub request_id: String,
    /// Errors of the request, at most the first 20.
    pub errors: Vec<FieldError>,
    /// Position of the session. Present if the request expected another position, if the session has ended,
    /// or if a stream into the session ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// Copy of `detail` below `/v2`, where clients of the Open Inference Protocol expect the description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ProblemDocument {
    /// The last line of an answer in lines that ends with this error.
    pub fn line(&self) -> Vec<u8> {
        let text = serde_json::to_vec(&serde_json::json!({"error": self}));
        [text.unwrap_or_default(), vec![b'\n']].concat()
    }
}

impl Problem {
    /// Creates a problem without errors of fields.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            errors_found: 0,
            is_of_content: false,
            position: None,
        }
    }

    /// Creates a problem about one place of the request, with one detail for both.
    pub fn at(code: Code, field: FieldError) -> Self {
        Self::new(code, field.detail.clone()).with(field)
    }

    /// The problem that a body carries as its error. Any other error means a broken connection.
    pub fn of_body(mut error: BoxError) -> Self {
        while error.is::<axum::Error>() {
            error = match error.downcast::<axum::Error>() {
                Ok(outer) => outer.into_inner(),
                Err(other) => other,
            };
        }
        let broken = "The connection broke before the end of the body; send the request again.";
        match error.downcast::<Self>() {
            Ok(problem) => *problem,
            Err(_) => Self::new(Code::UNREADABLE, broken),
        }
    }

    /// Adds the position of the session.
    #[must_use]
    pub fn at_position(mut self, position: u64) -> Self {
        self.position = Some(Box::new(position));
        self
    }

    /// Adds the position of the session unless the problem has one.
    #[must_use]
    pub fn at_position_unless_told(mut self, position: u64) -> Self {
        self.position.get_or_insert_with(|| Box::new(position));
        self
    }

    /// Adds one error of the request. The document lists the first [`ERRORS_MAX`] errors.
    #[must_use]
    pub fn with(mut self, error: FieldError) -> Self {
        self.errors_found += 1;
        if self.errors.len() < ERRORS_MAX {
            self.errors.push(error);
        }
        self
    }

    /// Whether the content of data is at fault, and not the transfer, a limit or the service.
    pub fn is_of_content(&self) -> bool {
        self.is_of_content
    }

    /// Whether an error comes with a repair.
    pub fn has_repairs(&self) -> bool {
        self.errors.iter().any(|error| !error.repairs.is_empty())
    }

    /// Replaces the errors by these faults of data, which stand at `pointer` in a JSON body.
    #[must_use]
    pub fn with_defects(self, found: Vec<Defect>, pointer: &str) -> Self {
        if found.is_empty() {
            return self;
        }
        let bare = Self {
            errors: Vec::new(),
            errors_found: 0,
            ..self
        };
        let under = |defect: Defect| Defect {
            error: defect.error.under(pointer),
            ..defect
        };
        let found: Vec<Defect> = found.into_iter().map(under).collect();
        // The detail and the first error must not tell different faults.
        let bare = Self {
            detail: found[0].error.to_string(),
            ..bare
        };
        found
            .into_iter()
            .fold(bare, |problem, defect| problem.with(defect.into()))
    }

    /// Replaces the detail.
    #[must_use]
    pub fn with_detail(self, detail: String) -> Self {
        Self { detail, ..self }
    }

    /// Creates a problem with one query parameter or header.
    pub fn parameter(code: Code, name: &str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self::new(code, format!("{name}: {detail}")).with(FieldError::at_parameter(name, detail))
    }

    pub fn code(&self) -> Code {
        self.code
    }

    /// Creates the problem of an interrupted computation whose client no longer waits.
    pub fn stopped(_: Interrupt) -> Self {
        Self::new(
            Code::STOPPING,
            "The request ended before its answer was complete.",
        )
    }

    /// Creates the problem of a request whose idempotency key another request holds.
    pub fn in_flight() -> Self {
        let detail = "A request with this Idempotency-Key is still in progress. Retry after the \
                      seconds in Retry-After.";
        Self::parameter(Code::IDEMPOTENCY_IN_FLIGHT, IDEMPOTENCY_KEY, detail)
    }

    /// Creates a 404 problem; `what` is the noun for what is missing.
    pub fn not_found(what: &str) -> Self {
        let list = match what {
            "path" | "thing" => "/openapi.json".to_owned(),
            "problem" => "/problems".to_owned(),
            "figure" => "/v1/experiments".to_owned(),
            "version of the model" => "/v1/models".to_owned(),
            what => format!("/v1/{what}s"),
        };
        let detail = format!("There is no such {what}; `GET {list}` lists all.");
        Self::new(Code::NOT_FOUND, detail)
    }

    /// Creates a 404 problem for the name of a learner, with all names.
    pub fn no_learner(name: &str) -> Self {
        let names = || CATALOGUE.iter().map(|entry| entry.name);
        let (question, known) = (
            question(name, names()),
            names().collect::<Vec<_>>().join(", "),
        );
        let detail = format!("There is no such learner{question}; the learners are: {known}.");
        Self::new(Code::NOT_FOUND, detail)
    }

    /// The document, completed with the path and the id of the request.
    pub fn document(&self, occurrence: &Occurrence) -> ProblemDocument {
        let Occurrence {
            base_path,
            path,
            request_id,
        } = occurrence;
        let is_inference = &**path == "/v2" || path.starts_with("/v2/");
        ProblemDocument {
            r#type: format!("{base_path}/problems/{}", self.code.name()),
            title: self.code.title().to_owned(),
            status: self.code.status().as_u16(),
            detail: self.whole_detail(),
            instance: format!("{base_path}{path}"),
            code: self.code.name().to_owned(),
            request_id: request_id.to_string(),
            errors: self.errors.clone(),
            position: self.position.as_deref().copied(),
            error: is_inference.then(|| self.whole_detail()),
        }
    }

    /// Returns the detail, with the number of errors if the document does not list all of them.
    fn whole_detail(&self) -> String {
        let (detail, found) = (&self.detail, self.errors_found);
        if found <= ERRORS_MAX as u32 {
            return detail.clone();
        }
        format!("{detail} The request has {found} errors; the first {ERRORS_MAX} are listed.")
    }

    /// The headers of the response.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let media_type = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, media_type);
        let passes = [
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::TOO_MANY_REQUESTS,
        ];
        let is_in_flight = self.code == Code::IDEMPOTENCY_IN_FLIGHT;
        // What is stored stays until a client deletes it, so a retry would fail again.
        let lasts = self.code == Code::QUOTA_FULL;
        if is_in_flight || passes.contains(&self.code.status()) && !lasts {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.code.status() == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        headers
    }
}

impl IntoResponse for Problem {
    /// Attaches the problem to an empty response, for which the envelope writes the document.
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl FieldError {
    /// Creates an error at a pointer into the body.
    pub fn at_pointer(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        placed(Some(Place::Pointer(pointer.into())), detail.into())
    }

    /// Creates an error at a query parameter or header.
    pub fn at_parameter(name: &str, detail: String) -> Self {
        Self {
            parameter: Some(name.to_owned()),
            detail,
            ..Self::default()
        }
    }
}

/// Creates an error at a place in the body.
pub fn placed(place: Option<Place>, detail: String) -> FieldError {
    let error = FieldError {
        detail,
        ..FieldError::default()
    };
    match place {
        None => error,
        Some(Place::Pointer(pointer)) => FieldError {
            pointer: Some(pointer),
            ..error
        },
        Some(Place::Line { line, column }) => FieldError {
            line: Some(line),
            column: Some(column),
            ..error
        },
        Some(Place::Byte(offset)) => FieldError {
            offset: Some(offset),
            ..error
        },
        Some(Place::Cell { row, column }) => FieldError {
            row: Some(row),
            column: Some(column),
            ..error
        },
        Some(Place::SheetCell(cell)) => FieldError {
            detail: format!("{cell}: {}", error.detail),
            ..error
        },
    }
}

impl From<FormatError> for Problem {
    fn from(error: FormatError) -> Self {
        use FormatErrorKind as Kind;
        // Kinds that a client mends alike have one code.
        let code = match error.kind {
            Kind::Syntax | Kind::BadCoding => Code::SYNTAX,
            Kind::Schema => Code::SCHEMA,
            Kind::OutOfRange => Code::OUT_OF_RANGE,
            Kind::UnequalLength | Kind::WrongShape => Code::WRONG_SHAPE,
            Kind::EmptyData => Code::EMPTY_DATA,
            Kind::BadBit | Kind::BadValue | Kind::BadBase64 => Code::BAD_VALUE,
            Kind::NotBoolean => Code::WRONG_DATA,
            Kind::BadLabel | Kind::UnknownLabel | Kind::MixedLabels | Kind::MixedLines => {
                Code::BAD_LABEL
            }
            Kind::BadIndex | Kind::IndexOrder => Code::BAD_INDEX,
            Kind::BadName => Code::BAD_NAME,
            Kind::Unsupported => Code::UNSUPPORTED,
            Kind::BadOption => Code::BAD_OPTION,
            Kind::TableOption => Code::TABLE_OPTION,
            Kind::TooLarge { .. } => Code::TOO_LARGE,
            Kind::TooDeep { .. } => Code::TOO_DEEP,
            Kind::Truncated => Code::TRUNCATED,
            Kind::UnknownCoding => Code::UNSUPPORTED_MEDIA_TYPE,
            Kind::Io | Kind::NotYet => Code::UNREADABLE,
            Kind::NotReserved => Code::QUOTA_FULL,
            // An error of the service's disk is not a fault of the body, so it has no place there.
            Kind::Spool(kind) => {
                return StoreError::from(io::Error::new(kind, error.detail)).into();
            }
            Kind::NoMemory(full) => return full.into(),
        };
        let (summary, is_of_content) = (error.to_string(), error.kind.is_of_content());
        Self {
            is_of_content,
            ..Self::new(code, summary).with(Defect::untried(error).into())
        }
    }
}

impl From<Defect> for FieldError {
    fn from(defect: Defect) -> Self {
        Self {
            repairs: defect.repairs.into_iter().map(Into::into).collect(),
            ..placed(defect.error.place, defect.error.detail)
        }
    }
}

impl From<NoMemory> for Problem {
    fn from(full: NoMemory) -> Self {
        let NoMemory { asked, free, max } = full;
        if full.is_final() {
            let detail = format!(
                "This request needs {asked} bytes of memory, more than memory_bytes_max: {max}. \
                 The operator can raise --memory-bytes-max."
            );
            return Self::new(Code::TOO_LARGE, detail);
        }
        let detail = format!(
            "This request needs {asked} bytes of memory. Only {free} of the {max} bytes of \
             memory_bytes_max are free. Retry the request later."
        );
        Self::new(Code::NO_MEMORY, detail)
    }
}

impl From<FigureError> for Problem {
    fn from(error: FigureError) -> Self {
        match error {
            FigureError::OutOfRange(error) => error.into(),
            FigureError::Stopped(interrupt) => Self::stopped(interrupt),
        }
    }
}

impl From<OutOfRange> for Problem {
    fn from(error: OutOfRange) -> Self {
        Self::parameter(Code::INVALID_PARAMETER, error.parameter, error.detail)
    }
}

impl From<OverQuota> for Problem {
    fn from(over: OverQuota) -> Self {
        let code = match over.limit {
            _ if over.is_final() => Code::TOO_LARGE,
            Limit::JobsQueuedPerKey => Code::TOO_MANY_JOBS,
            Limit::StoredBytesPerKey | Limit::Sessions => Code::QUOTA_FULL,
            Limit::JobsQueued => Code::QUEUE_FULL,
            Limit::StoredBytes => Code::STORAGE_FULL,
        };
        Self::new(code, over.to_string())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::KeyTaken(_) => return Self::in_flight(),
            StoreError::OverQuota(over) => return over.into(),
            _ => {}
        }
        // The message of a driver is for the log and must not reach clients.
        if !matches!(error, StoreError::Full(_)) || full_store_is_told() {
            tracing::error!(%error, "the store failed");
        }
        match error {
            StoreError::Full(_) => Self::new(
                Code::STORAGE_FULL,
                "The disk of the store is full. Delete datasets, models or jobs, or free space on the disk of \
                 --data-dir.",
            ),
            StoreError::Unavailable(_) => Self::new(
                Code::UNAVAILABLE,
                "The store does not respond. Retry after the seconds in Retry-After.",
            ),
            StoreError::Corrupt(_) => Self::new(
                Code::DATA_CORRUPT,
                "The request reads a damaged record or blob. `halfspace check` lists the damage.",
            ),
            _ => Self::new(
                Code::INTERNAL,
                "The store failed. The log of the service gives the reason under the id in x-request-id.",
            ),
        }
    }
}

/// Returns whether a full store should be logged now. A full store refuses many requests, perhaps for a
/// long time, so the log gets one line per minute instead of one per request.
fn full_store_is_told() -> bool {
    static TOLD_AT: Mutex<Option<Instant>> = Mutex::new(None);
    let mut told_at = TOLD_AT.lock().unwrap_or_else(PoisonError::into_inner);
    let is_time = told_at.is_none_or(|at| at.elapsed() >= FULL_STORE_TOLD_EVERY);
    if is_time {
        *told_at = Some(Instant::now());
    }
    is_time
}

impl From<JobsError> for Problem {
    fn from(error: JobsError) -> Self {
        let detail = error.to_string();
        match error {
            JobsError::Store(error) => error.into(),
            JobsError::NotFound => Self::not_found("job"),
            JobsError::Ended(_) => Self::new(
                Code::WRONG_STATE,
                format!("{detail}; `DELETE /v1/jobs/{{id}}` deletes it"),
            ),
            JobsError::NotEnded | JobsError::SubjobOf { .. } | JobsError::DatasetPinned { .. } => {
                Self::new(Code::WRONG_STATE, detail)
            }
            JobsError::DatasetMissing => Self::new(
                Code::UNKNOWN_DATASET,
                format!("{detail}; `GET /v1/datasets` lists all"),
            ),
            JobsError::ModelMissing => Self::new(
                Code::UNKNOWN_MODEL,
                format!("{detail}; `GET /v1/models` lists all"),
            ),
            JobsError::KeyTaken(_) => Self::in_flight(),
            JobsError::OverQuota(over) => over.into(),
            JobsError::NoMemory(full) => full.into(),
            JobsError::Stopping => Self::new(
                Code::STOPPING,
                format!("{detail}; retry after the seconds in Retry-After"),
            ),
        }
    }
}
