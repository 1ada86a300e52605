//! `/v1/jobs`: submits, lists, returns, cancels and deletes jobs. A request may wait for the end of a job.

pub mod answer;
pub mod document;
pub mod events;
pub mod experiments;
pub mod figure;
pub mod place;
pub mod queue;
pub mod repeat;
pub mod several;
pub mod submission;
pub mod tasks;
pub mod trace;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use halfspace_formats::{LabelRule, json};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::records::id::JobKind;
use crate::records::task::TaskSpec;
use crate::records::{Job, JobId, Status};
use crate::storage::JobFilter;

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::datasets::resolve::{first_real, sha256};
use crate::http::document::declared::{
    BODY, EXAMPLES, IN_PATH, KEYED, STORED, SUBMITTED, problems,
};
use crate::http::extract::body::{Effort, RequestMemory};
use crate::http::extract::data_body::DataBody;
use crate::http::extract::idempotency::{KeyHeader, once};
use crate::http::extract::{Caller, NoQuery, PathId, PreferWait, Query, page};
use crate::http::jobs::answer::{Wait, accept, alone, located, place, replay, with_preference};
use crate::http::jobs::document::{JobDocument, TABLE};
use crate::http::jobs::place::TaskPlace;
use crate::http::jobs::submission::submit;
use crate::http::jobs::tasks::{JobRequest, RequestedJob};
use crate::http::problem::{Code, Problem};

/// Bytes of the longest result in a list.
const LISTED_RESULT_BYTES_MAX: usize = 64 * 1024;

/// A page of jobs, newest first.
#[derive(Serialize, ToSchema)]
pub struct JobList {
    items: Vec<JobDocument>,
    /// Cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

/// Selects a page of jobs.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobListQuery {
    /// Items per page; 20 when absent.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
    /// Only jobs of this status.
    #[param(inline)]
    status: Option<Status>,
    /// Only jobs of this task.
    task: Option<String>,
    /// Only jobs of this learner.
    learner: Option<String>,
    /// Only the parts of this job. When absent, no job of the page is a part.
    parent: Option<JobId>,
}

/// Submits a job.
///
/// The body holds exactly one task with its data. The service stores the job before the answer.
/// With `Prefer: wait=S` the answer waits up to S seconds for the end of the job.
#[utoipa::path(post, path = "/v1/jobs", tag = "jobs", request_body = JobRequest,
    params(("Prefer" = Option<String>, Header, description = "`wait=S` waits for the end of the \
                                                              job, at most 60 seconds"),
        KeyHeader),
    responses(
        (status = 200, description = "The job ended within the wait", body = JobDocument),
        (status = 202, description = "The job is accepted", body = JobDocument)),
    extensions(("x-problems" = json!(problems(&[BODY, EXAMPLES, KEYED, SUBMITTED, STORED,
        &[Code::BAD_SOURCE]])))))]
pub async fn create_job(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    prefer: Option<PreferWait>,
    request: Request,
) -> Result<Response, Problem> {
    let wait = Wait::from(prefer);
    let make = async |request, key| {
        let (job, at) = read_request(&app, request).await?;
        submit(&app, owner.clone(), job, &at, wait, key).await
    };
    let replay = |record| replay(app.clone(), owner.clone(), wait, record);
    once(&app, &owner, request, make, replay).await
}

/// Reads a job request and digests its data.
async fn read_request(app: &App, request: Request) -> Result<(RequestedJob, TaskPlace), Problem> {
    let body = DataBody::json(app, request)?;
    let (effort, limits) = (Effort::AsItsBytes, body.limits.clone());
    let memory = RequestMemory::of(&body.parts);
    body.read(app, effort, move |reader| {
        let mut job: RequestedJob =
            json::from_reader_of_labels(reader, &limits, &LabelRule::Later)?;
        let task = match job.task {
            TaskSpec::Grid(_) => "/grid/train".to_owned(),
            _ => format!("/{}", job.task.name()),
        };
        let at = TaskPlace::in_body(&task, job.data.as_ref().and_then(first_real));
        job.check(&at)?;
        job.sha256 = job.data.as_ref().and_then(sha256);
        job.memory = memory;
        Ok((job, at))
    })
    .await
}

/// Lists the jobs, newest first.
///
/// The parts of a job are listed only with `parent`. Send `next_cursor` of the answer as `cursor` to get the
/// next page. The parts of results that may be long are null in lists: hypotheses, certificates of separability and
/// support vectors. A result with more than 64 KiB besides these parts is null as a whole.
#[utoipa::path(get, path = "/v1/jobs", tag = "jobs", params(JobListQuery),
    responses((status = 200, description = "A page of jobs", body = JobList)))]
pub async fn list_jobs(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<JobListQuery>,
) -> Result<Json<JobList>, Problem> {
    let page = page::<JobKind>(query.limit, query.cursor.as_deref())?;
    let filter = JobFilter {
        status: query.status,
        task: query.task,
        learner: query.learner,
        parent: query.parent,
    };
    let slice = app.jobs.store.jobs(&owner, &filter, &page, shorten).await?;
    Ok(Json(JobList {
        items: slice.items.into_iter().map(JobDocument::from).collect(),
        next_cursor: slice.next.map(|cursor| cursor.to_string()),
    }))
}

/// Removes the parts of a job that may be long and that lists leave out.
fn shorten(job: &mut Job) {
    const LONG: [&str; 6] = [
        "/hypothesis",
        "/best/hypothesis",
        "/training/hypothesis",
        "/training/best/hypothesis",
        "/certificate",
        "/support",
    ];
    if let Some(table) = Arc::make_mut(&mut job.spec).pointer_mut(TABLE) {
        *table = Value::Null;
    }
    let Some(result) = &mut job.result else {
        return;
    };
    for pointer in LONG {
        if let Some(part) = result.pointer_mut(pointer) {
            *part = Value::Null;
        }
    }
    if result.to_string().len() > LISTED_RESULT_BYTES_MAX {
        job.result = None;
    }
}

/// Returns a job.
///
/// The document contains the status, the progress and, after the end, the result. With `Prefer: wait=S` the
/// answer waits up to S seconds for the end of the job.
#[utoipa::path(get, path = "/v1/jobs/{id}", tag = "jobs",
    params(("id" = JobId, Path, description = "The job"),
        ("Prefer" = Option<String>, Header, description = "`wait=S` waits for the end of the job, \
                                                           at most 60 seconds")),
    responses((status = 200, description = "The job", body = JobDocument)),
    extensions(("x-problems" = json!(problems(&[IN_PATH])))))]
pub async fn get_job(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<JobKind>,
    prefer: Option<PreferWait>,
) -> Result<Response, Problem> {
    let job = match prefer {
        None => app.jobs.queue.job(&owner, id).await?,
        Some(wait) => app.jobs.queue.wait(&owner, id, wait.0).await?,
    };
    let queue = place(&app, &job).await?;
    let document = alone(job, queue);
    Ok(with_preference(Json(document).into_response(), prefer))
}

/// Requests the end of a job. The hypothesis learnt so far is kept.
///
/// A running job ends shortly after the answer. A repeated request changes nothing.
#[utoipa::path(post, path = "/v1/jobs/{id}/cancel", tag = "jobs",
    params(("id" = JobId, Path, description = "The job")),
    responses(
        (status = 202, description = "The job will end", body = JobDocument),
        (status = 200, description = "The job was already cancelled", body = JobDocument)),
    extensions(("x-problems" = json!(problems(&[IN_PATH, &[Code::WRONG_STATE, Code::STORAGE_FULL]])))))]
pub async fn cancel_job(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<JobKind>,
) -> Result<Response, Problem> {
    let (job, is_first) = app.jobs.queue.cancel(&owner, id).await?;
    let mut response = located(&app, job).await;
    if is_first {
        accept(&mut response);
    }
    Ok(response)
}

/// Deletes an ended job. The model of the job stays.
///
/// Cancel a job that has not ended before you delete the job.
#[utoipa::path(delete, path = "/v1/jobs/{id}", tag = "jobs",
    params(("id" = JobId, Path, description = "The job")),
    responses((status = 204, description = "The job was deleted")),
    extensions(("x-problems" = json!(problems(&[IN_PATH, &[Code::WRONG_STATE, Code::STORAGE_FULL]])))))]
pub async fn delete_job(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<JobKind>,
) -> Result<StatusCode, Problem> {
    app.jobs.queue.delete(&owner, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
