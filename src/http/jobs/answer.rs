//! The answer about one job, for every route that submits, waits for or returns one: the document, the status, and
//! the headers of a wait. How the job came about is not known here.

use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::jobs::JobsError;
use crate::records::queue::QueuePlace;
use crate::records::{Job, KeyRecord, Owner, Status};
use crate::storage::StoreError;

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::extract::PreferWait;
use crate::http::extract::idempotency::made_id;
use crate::http::jobs::document::JobDocument;
use crate::http::jobs::repeat;
use crate::http::problem::Problem;

/// Longest time that an answer waits for the end of a job.
#[derive(Clone, Copy)]
pub struct Wait {
    pub prefer: Option<PreferWait>,
    /// The wait that follows from the preference; zero without one.
    pub timeout: Duration,
}

impl From<Option<PreferWait>> for Wait {
    fn from(prefer: Option<PreferWait>) -> Self {
        Self {
            prefer,
            timeout: prefer.map_or(Duration::ZERO, |wait| wait.0),
        }
    }
}

/// The answer to a retry of a request that submitted a job, or `None` if the job was deleted. A retry waits as its
/// own `Prefer` header asks.
///
/// # Errors
/// Errors of the store.
pub async fn replay(
    app: App,
    owner: Owner,
    wait: Wait,
    record: KeyRecord,
) -> Result<Option<Response>, Problem> {
    let job = match app
        .jobs
        .queue
        .wait(&owner, made_id(&record)?, wait.timeout)
        .await
    {
        Ok(job) => job,
        Err(JobsError::NotFound) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut response = answer(&app, job, wait.prefer).await;
    if wait.timeout.is_zero() {
        // As for the first request: without a wait, the status is 202 even if the job has ended.
        accept(&mut response);
    }
    Ok(Some(response))
}

/// The answer about a submitted job: 200 if the job has ended, otherwise 202.
pub async fn answer(app: &App, job: Job, prefer: Option<PreferWait>) -> Response {
    let ended = job.status.is_ended();
    let mut response = located(app, job).await;
    if !ended {
        accept(&mut response);
        return response;
    }
    with_preference(response, prefer)
}

/// The document of a job with the header `Location`. If the place in the queue cannot be read, the answer leaves it
/// out and is still a success, because the job is stored.
pub async fn located(app: &App, job: Job) -> Response {
    let location = [(header::LOCATION, format!("/v1/jobs/{}", job.id))];
    let queue = place(app, &job).await.unwrap_or_else(|error| {
        tracing::warn!(job = %job.id, %error, "the answer lacks the place of the job in the queue");
        None
    });
    (location, Json(alone(job, queue))).into_response()
}

/// The place of a queued job. Other jobs have none.
pub async fn place(app: &App, job: &Job) -> Result<Option<QueuePlace>, StoreError> {
    match job.status {
        Status::Queued => app
            .jobs
            .queue
            .place(job, &app.jobs.processes)
            .await
            .map(Some),
        _ => Ok(None),
    }
}

/// The document of a job in an answer about it alone.
pub fn alone(job: Job, queue: Option<QueuePlace>) -> JobDocument {
    let request = repeat::request(&job);
    let mut document = JobDocument::from(job);
    document.queue = queue;
    document.request = request;
    document
}

/// Sets the status 202 and tells the client when to ask next.
pub fn accept(response: &mut Response) {
    *response.status_mut() = StatusCode::ACCEPTED;
    response.headers_mut().insert(header::RETRY_AFTER, 1.into());
}

pub fn with_preference(mut response: Response, prefer: Option<PreferWait>) -> Response {
    if let Some((name, value)) = prefer.map(PreferWait::applied)
        && let Ok(value) = value.parse()
    {
        response.headers_mut().insert(name, value);
    }
    response
}
