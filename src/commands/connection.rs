//! The service that a learning command sends its requests to: a running one, or one inside this process with a
//! temporary store. Both answer the same requests.

use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::Value;
use tempfile::TempDir;
use tokio::fs::File;
use tokio_util::io::ReaderStream;
use tower::ServiceExt;

use crate::app::{self, Service};
use crate::config::{Place, Settings};

use super::failure::Failure;

/// The time that an answer may wait for the end of a job. Reports on the progress have this distance.
const WAIT: &str = "wait=1";

/// Time limit of a connection to a running service.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub enum Connection {
    /// A service inside this process. Its store disappears with the directory.
    Inside {
        service: Service,
        router: Router,
        _directory: TempDir,
    },
    Running {
        client: reqwest::Client,
        server: String,
        key: Option<String>,
        /// The address of the job whose end the command waits for.
        job: Mutex<Option<String>>,
    },
}

pub enum Content<'c> {
    None,
    Json(&'c Value),
    /// A file, or standard input for the path `-`.
    File(&'c Path, &'static str),
}

pub struct Reply {
    pub body: Bytes,
}

impl Reply {
    /// The body as JSON.
    ///
    /// # Errors
    /// The body is not JSON, which means that some other program answers at the address.
    pub fn json(&self) -> Result<Value, Failure> {
        serde_json::from_slice(&self.body)
            .map_err(|error| Failure::work(format!("the answer is no JSON: {error}")))
    }
}

impl Connection {
    /// Opens the service that `place` names.
    ///
    /// # Errors
    /// The service inside this process does not start.
    pub async fn open(place: &Place, settings: &Settings) -> Result<Self, Failure> {
        if let Some(server) = &place.server {
            // An existing provider of cryptography is no error.
            let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
            let client = reqwest::Client::builder()
                .connect_timeout(CONNECT_TIMEOUT)
                .build();
            return Ok(Self::Running {
                client: client.map_err(|error| Failure::work(error.to_string()))?,
                server: with_scheme(server.trim_end_matches('/')),
                key: place.key.clone(),
                job: Mutex::default(),
            });
        }
        let directory = tempfile::tempdir()
            .map_err(|error| Failure::work(format!("no temporary directory: {error}")))?;
        let settings = settings.clone().in_directory(directory.path());
        let service = Service::open(&settings).await;
        let service = service.map_err(|error| Failure::work(error.to_string()))?;
        service.jobs().start();
        Ok(Self::Inside {
            router: service.router(),
            service,
            _directory: directory,
        })
    }

    /// The address of a running service.
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::Inside { .. } => None,
            Self::Running { server, .. } => Some(server),
        }
    }

    /// Notes the path of the job whose end the command waits for.
    pub fn wait_for(&self, path: &str) {
        if let Self::Running { server, job, .. } = self
            && let Ok(mut job) = job.lock()
        {
            *job = Some(format!("{server}{path}"));
        }
    }

    /// A job of a running service, which goes on when the command ends early.
    pub fn left_behind(&self) -> Option<String> {
        match self {
            Self::Running { job, .. } => job.lock().ok()?.take(),
            Self::Inside { .. } => None,
        }
    }

    /// Sends a request. `accept` is the media type of the answer.
    ///
    /// # Errors
    /// The service refuses the request or is out of reach, or the file cannot be read.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        content: Content<'_>,
        accept: &str,
    ) -> Result<Reply, Failure> {
        let (status, body) = match self {
            Self::Inside { router, .. } => {
                let request = Request::builder()
                    .method(method)
                    .uri(path)
                    .header(header::HOST, "localhost")
                    .header("prefer", WAIT)
                    .header(header::ACCEPT, accept);
                let request = match content {
                    Content::None => request.body(Body::empty()),
                    Content::Json(value) => request
                        .header(header::CONTENT_TYPE, "application/json")
                        .body(Body::from(value.to_string())),
                    Content::File(path, media_type) => request
                        .header(header::CONTENT_TYPE, media_type)
                        .header(header::CONTENT_ENCODING, coding(path))
                        .body(Body::from_stream(opened(path).await?)),
                };
                let request = request.map_err(|error| Failure::usage(error.to_string()))?;
                let answer = router.clone().oneshot(request).await;
                let (parts, body) = answer.unwrap_or_else(|never| match never {}).into_parts();
                let body = body.collect().await;
                let body = body.map_err(|error| Failure::work(error.to_string()))?;
                (parts.status, body.to_bytes())
            }
            Self::Running {
                client,
                server,
                key,
                ..
            } => {
                let mut request = client
                    .request(method, format!("{server}{path}"))
                    .header("prefer", WAIT)
                    .header(header::ACCEPT, accept);
                if let Some(key) = key {
                    request = request.bearer_auth(key);
                }
                let request = match content {
                    Content::None => request,
                    Content::Json(value) => request
                        .header(header::CONTENT_TYPE, "application/json")
                        .body(value.to_string()),
                    Content::File(path, media_type) => request
                        .header(header::CONTENT_TYPE, media_type)
                        .header(header::CONTENT_ENCODING, coding(path))
                        .body(reqwest::Body::wrap_stream(opened(path).await?)),
                };
                let unreachable = |error: reqwest::Error| {
                    Failure::work(format!("no answer from {server}: {}", cause(&error)))
                };
                let answer = request.send().await.map_err(unreachable)?;
                (answer.status(), answer.bytes().await.map_err(unreachable)?)
            }
        };
        match status.is_success() {
            true => Ok(Reply { body }),
            false => Err(refusal(status, &body)),
        }
    }

    /// Ends the service inside this process.
    pub async fn close(self) {
        if let Self::Inside { service, .. } = self {
            service.jobs().stop(app::JOBS_TIMEOUT).await;
            service.jobs().store.close().await;
        }
    }
}

/// An address with its scheme, which is `http` by default.
fn with_scheme(address: &str) -> String {
    match address.contains("://") {
        true => address.to_owned(),
        false => format!("http://{address}"),
    }
}

/// The coding of a file, by its name.
fn coding(path: &Path) -> &'static str {
    match path.extension().is_some_and(|extension| extension == "gz") {
        true => "gzip",
        false => "identity",
    }
}

/// Codes of problems that another command line mends.
const USAGE: [&str; 5] = [
    "bad-option",
    "invalid-parameter",
    "not-found",
    "table-option",
    "unknown-learner",
];

/// A stream of the bytes of a file or of standard input.
async fn opened(
    path: &Path,
) -> Result<ReaderStream<Box<dyn tokio::io::AsyncRead + Send + Sync + Unpin>>, Failure> {
    if path == Path::new("-") {
        return Ok(ReaderStream::new(Box::new(tokio::io::stdin())));
    }
    let file = File::open(path)
        .await
        .map_err(|error: io::Error| Failure::usage(format!("{}: {error}", path.display())))?;
    Ok(ReaderStream::new(Box::new(file)))
}

/// The innermost cause of an error, which names the fault.
fn cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// The failure that a problem document tells.
fn refusal(status: StatusCode, body: &[u8]) -> Failure {
    let problem: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |member: &str| problem[member].as_str();
    let Some(detail) = text("detail").or(text("title")) else {
        return Failure::work(format!(
            "the answer is {status} without a problem; another program may answer at the address"
        ));
    };
    let detail = format!("{detail}{}", repairs(&problem));
    match text("code").is_some_and(|code| USAGE.contains(&code)) {
        true => Failure::usage(detail),
        false => Failure::work(detail),
    }
}

/// The repairs of a problem as arguments of the command, a line each, behind a heading for each error.
fn repairs(problem: &Value) -> String {
    let errors = problem["errors"].as_array().map_or(&[][..], Vec::as_slice);
    let told = problem["detail"].as_str().unwrap_or("");
    let mut lines = String::new();
    for error in errors {
        let repairs = error["repairs"].as_array().map_or(&[][..], Vec::as_slice);
        if repairs.is_empty() {
            continue;
        }
        let detail = error["detail"].as_str().unwrap_or("");
        lines += &match told.ends_with(detail) {
            true => "\nOne of these mends it:".to_owned(),
            false => format!("\nAlso: {detail} One of these mends it:"),
        };
        for repair in repairs {
            let query = repair["query"].as_str().unwrap_or("");
            let pairs = form_urlencoded::parse(query.as_bytes());
            let given = pairs
                .map(|(name, value)| format!("--param {}", quoted(&format!("{name}={value}"))));
            let given: Vec<String> = given.collect();
            let sentence = repair["sentence"].as_str().unwrap_or("");
            lines += &format!("\n  {}   {sentence}", given.join(" "));
            if let Some(shape) = repair["shape"].as_object() {
                lines += &format!(" {} examples, n = {}.", shape["examples"], shape["n"]);
            }
        }
    }
    lines
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"=_-.,:/+@%".contains(&byte);
    match word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
