//! The service inside this process. Requests pass through its router without a socket.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Request, header};
use bytes::Bytes;
use clap::Parser;
use futures_util::{FutureExt, stream};
use halfspace::app;
use halfspace::config::{CommandLine, NewKey, Settings};
use halfspace::http::limits::Limits;
use http_body_util::BodyExt;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tower::ServiceExt;

use super::skipped;
use super::{Answer, TestBucket, TestDatabase};
use super::{contract, corpus};

/// A service that computes jobs, with a separate data directory.
pub struct Service {
    service: app::Service,
    settings: Settings,
    home: Arc<Home>,
}

struct Home {
    directory: TempDir,
    database: Option<TestDatabase>,
    bucket: Option<TestBucket>,
}

impl Home {
    async fn new() -> Arc<Self> {
        let database = TestDatabase::if_told().await;
        let directory = tempfile::tempdir().unwrap();
        Arc::new(Self {
            directory,
            database,
            bucket: TestBucket::if_told(),
        })
    }
}

impl Service {
    /// Starts a service with two workers.
    pub async fn start() -> Self {
        Self::with(&["--workers", "2"]).await
    }

    pub async fn with(settings: &[&str]) -> Self {
        let service = Self::idle(settings).await;
        service.compute();
        service
    }

    /// Starts a service with other limits than the settings give: a constant of the program is too large for a test.
    pub async fn limited(settings: &[&str], change: impl FnOnce(&mut Limits)) -> Self {
        let service = Self::at_home(Home::new().await, settings, change).await;
        service.compute();
        service
    }

    /// Starts the workers of an idle service.
    pub fn compute(&self) {
        self.service.jobs().start();
    }

    /// Starts a service that accepts jobs and does not compute them.
    pub async fn idle(settings: &[&str]) -> Self {
        Self::at_home(Home::new().await, settings, |_| ()).await
    }

    /// Starts two services over one directory, which act as two processes.
    pub async fn two() -> (Self, Self) {
        let home = Home::new().await;
        let one = Self::at_home(Arc::clone(&home), &[], |_| ()).await;
        (one, Self::at_home(home, &[], |_| ()).await)
    }

    /// Starts another service with other settings over the same directory.
    pub async fn beside(&self, settings: &[&str]) -> Self {
        let service = Self::at_home(Arc::clone(&self.home), settings, |_| ()).await;
        service.compute();
        service
    }

    async fn at_home(home: Arc<Home>, settings: &[&str], change: impl FnOnce(&mut Limits)) -> Self {
        let data_dir = home.directory.path().to_str().unwrap();
        let url = home.database.as_ref().map(TestDatabase::url);
        let url = url.as_deref().unwrap_or("sqlite");
        let line = ["halfspace", "--data-dir", data_dir, "--database-url", url];
        let blobs = home.bucket.as_ref().map(TestBucket::settings);
        let blobs = blobs.unwrap_or_default();
        let blobs: Vec<_> = blobs.iter().map(String::as_str).collect();
        let line = line.iter().chain(&blobs).chain(settings);
        let mut settings = CommandLine::try_parse_from(line).unwrap().settings;
        change(&mut settings.limits);
        let service = app::Service::open(&settings).await.unwrap();
        Self {
            service,
            settings,
            home,
        }
    }

    /// Creates an API key, as the command does. Returns the id and the secret.
    pub async fn key(&self, new: NewKey) -> (String, String) {
        let (key, secret) = app::create_key(&self.settings, new).await.unwrap();
        (key.id.to_string(), secret)
    }

    pub fn directory(&self) -> &Path {
        self.home.directory.path()
    }

    /// Whether the blobs lie outside the data directory. Prints a message for the test that is skipped then.
    pub fn has_blobs_elsewhere(&self) -> bool {
        let elsewhere = self.home.bucket.is_some();
        if elsewhere {
            skipped("the blobs are no files");
        }
        elsewhere
    }

    /// Begins to stop, as after SIGTERM.
    pub async fn stop(&self) {
        self.service.jobs().stop(Duration::from_secs(5)).await;
    }

    /// Drops the cached sessions.
    pub fn forget_sessions(&self) {
        self.service.jobs().sessions.forget_all();
    }

    /// Sends a request whose answer ends, and checks both against the contract.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let asked = parts
            .uri
            .path_and_query()
            .map_or("", |asked| asked.as_str());
        let header = |name: &str| parts.headers.get(name)?.to_str().ok();
        corpus::keep(asked, header, &body);
        let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
        let of_request = parts.headers.get(header::CONTENT_TYPE).cloned();
        let plain = !parts.headers.contains_key(header::CONTENT_ENCODING);
        let request = Request::from_parts(parts, Body::from(body.clone()));
        let (parts, answer) = self.open(request).await.into_parts();
        let answer = Answer {
            status: parts.status,
            headers: parts.headers,
            body: answer.collect().await.unwrap().to_bytes(),
        };
        let is_json = of_request.is_some_and(|value| value == "application/json");
        let document = (is_json && plain).then_some(&body[..]);
        contract::check(method.as_str(), &path, document, &answer);
        answer
    }

    /// Sends a request whose answer may never end.
    pub async fn open(&self, mut request: Request<Body>) -> axum::response::Response {
        let host = HeaderValue::from_static("localhost");
        request.headers_mut().entry(header::HOST).or_insert(host);
        self.service.router().oneshot(request).await.unwrap()
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(request("GET", path, &[], "")).await
    }

    /// POST without a body.
    pub async fn post(&self, path: &str) -> Answer {
        self.send(request("POST", path, &[], "")).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(request("DELETE", path, &[], "")).await
    }

    pub async fn post_json(&self, path: &str, body: &Value) -> Answer {
        self.post_as(path, "application/json", body.to_string())
            .await
    }

    /// POST of a body of this media type.
    pub async fn post_as(&self, path: &str, media_type: &str, body: impl Into<Body>) -> Answer {
        let headers = [("content-type", media_type)];
        self.send(request("POST", path, &headers, body)).await
    }

    /// Submits a job, waits for its end and returns the job.
    pub async fn run(&self, body: &Value) -> Value {
        let headers = [("content-type", "application/json"), ("prefer", "wait=30")];
        let answer = self.send(request("POST", "/v1/jobs", &headers, body.to_string()));
        answer.await.expect(200).json()
    }

    pub async fn submit(&self, body: &Value) -> String {
        let answer = self.post_json("/v1/jobs", body).await.expect(202);
        answer.header("location").unwrap().to_owned()
    }

    pub async fn until_status(&self, path: &str, status: &str) -> Value {
        super::until(&format!("{path} to be {status}"), async || {
            let job = self.get(path).await.expect(200).json();
            (job["status"] == status).then_some(job)
        })
        .await
    }
}

impl Drop for Service {
    /// Raises the stop flags. A runtime that shuts down waits for running computations.
    fn drop(&mut self) {
        let _ = self.service.jobs().stop(Duration::ZERO).now_or_never();
    }
}

pub fn request(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for &(name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        request = request.header(name, value);
    }
    request.body(body.into()).unwrap()
}

/// A request body that is still being sent, and its sending end.
pub fn sending() -> (Sending, Body) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let frames = stream::unfold(receiver, async |mut receiver| {
        let frame = receiver.recv().await?;
        Some((frame, receiver))
    });
    (sender, Body::from_stream(frames))
}

pub type Sending = mpsc::UnboundedSender<Result<Bytes, std::io::Error>>;
