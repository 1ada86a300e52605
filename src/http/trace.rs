//! `GET /v1/jobs/{id}/trace`: the mistake curve of a training.

use std::fmt::Write;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::records::JobId;
use crate::records::id::JobKind;
use crate::records::train::TraceDocument;

use super::App;
use super::extract::{Caller, NoQuery, PathId, accepted};
use super::problem::{Code, Problem};

/// The mistake curve as JSON or, by `Accept`, as CSV.
#[utoipa::path(get, path = "/v1/jobs/{id}/trace", tag = "jobs",
    params(("id" = JobId, Path, description = "The job"),
        ("Accept" = Option<String>, Header, description = "`application/json` or `text/csv`")),
    responses((status = 200, description = "The curve",
        content((TraceDocument = "application/json"), (String = "text/csv")))))]
pub async fn trace(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<JobKind>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let media_type = accepted(&headers, &["application/json", "text/csv"])?;
    app.jobs.job(&owner, id).await?;
    let trace = app.jobs.store().trace(&owner, id).await?;
    let trace = trace.ok_or_else(|| {
        let detail = "This job has no trace: it has not ended, or did not ask for one.";
        Problem::new(Code::NOT_FOUND, detail)
    })?;
    let body = match media_type {
        "text/csv" => csv(&trace)?.into_bytes(),
        _ => trace,
    };
    let content_type = HeaderValue::from_static(media_type);
    Ok(([(header::CONTENT_TYPE, content_type)], body).into_response())
}

fn csv(trace: &[u8]) -> Result<String, Problem> {
    let read = serde_json::from_slice::<TraceDocument>(trace);
    let trace = read.map_err(|_| Problem::new(Code::INTERNAL, "The stored trace is damaged."))?;
    let mut text = "examples,mistakes\n".to_owned();
    for point in &trace.points {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{},{}", point.examples, point.mistakes);
    }
    Ok(text)
}
