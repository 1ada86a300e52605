//! `GET /v1/jobs/{id}/trace`: the mistake curve of a training, as JSON, CSV or a picture.

use std::fmt::Write;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use halfspace_core::experiments::mistake_curve;
use halfspace_core::learners::engine::trace::Trace;

use crate::records::id::JobKind;
use crate::records::train::TrainResult;
use crate::records::{Job, JobId};
use crate::storage::StoreError;

use crate::http::app_state::App;
use crate::http::computing::compute_figure;
use crate::http::document::declared::{FIGURE, IN_PATH, problems};
use crate::http::extract::{Caller, FormatQuery, PathId, Query, chosen};
use crate::http::problem::{Code, Problem};

/// Returns the mistake curve of a training as JSON, CSV or an SVG picture.
///
/// `Accept` or `format` selects the format. The picture also shows the bound of a theorem on the mistakes, if
/// one applies to the run.
#[utoipa::path(get, path = "/v1/jobs/{id}/trace", tag = "jobs",
    params(("id" = JobId, Path, description = "The job"), FormatQuery,
        ("Accept" = Option<String>, Header, description = "`application/json`, `text/csv` or `image/svg+xml`")),
    responses((status = 200, description = "The curve",
        content((Trace = "application/json"), (String = "text/csv"),
            (String = "image/svg+xml")))),
    extensions(("x-problems" = json!(problems(&[IN_PATH, FIGURE, &[Code::NOT_ACCEPTABLE]])))))]
pub async fn get_job_trace(
    State(app): State<App>,
    Caller(owner): Caller,
    Query(query): Query<FormatQuery>,
    PathId(id): PathId<JobKind>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let media_types = ["application/json", "text/csv", "image/svg+xml"];
    let media_type = chosen(query.format.as_deref(), &headers, &media_types)?;
    let job = app.jobs.queue.job(&owner, id).await?;
    let trace = app.jobs.store.trace(&owner, id).await?;
    let trace = trace.ok_or_else(|| {
        let detail = "This job has no trace. The job has not ended, or its request did not set \
                      `trace`.";
        Problem::new(Code::NOT_FOUND, detail)
    })?;
    let draw = move |_: &_| {
        Ok(match media_type {
            "text/csv" => csv(&read(&trace)?).into_bytes(),
            "image/svg+xml" => svg(&read(&trace)?, job).into_bytes(),
            _ => trace,
        })
    };
    let body = compute_figure(&app, &owner, draw).await?;
    let content_type = HeaderValue::from_static(media_type);
    Ok(([(header::CONTENT_TYPE, content_type)], body).into_response())
}

fn read(trace: &[u8]) -> Result<Trace, Problem> {
    let read = serde_json::from_slice::<Trace>(trace);
    read.map_err(|error| StoreError::corrupt(error).into())
}

fn csv(trace: &Trace) -> String {
    let mut text = "examples,mistakes\n".to_owned();
    for point in trace.points() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{},{}", point.examples, point.mistakes);
    }
    text
}

fn svg(trace: &Trace, job: Job) -> String {
    let title = match &job.learner {
        Some(learner) => format!("Mistakes of {learner}"),
        None => "Mistakes".to_owned(),
    };
    let result = job
        .result
        .and_then(|result| serde_json::from_value::<TrainResult>(result).ok());
    let bound = result.and_then(|result| result.bound);
    let bound = bound.as_ref();
    // Without a verdict, the run does not meet an assumption of the theorem, so the bound does not apply.
    let bound = bound.and_then(|bound| {
        bound
            .respected
            .and(Some((bound.theorem.as_str(), bound.mistakes_at_most?)))
    });
    let places = trace
        .points()
        .iter()
        .map(|point| (point.examples, point.mistakes));
    mistake_curve::chart(&title, places, bound).to_svg()
}
