//! Routes for operators and their tools: liveness, readiness, metrics, version, the OpenAPI document and the pages
//! that explain error codes.

pub mod limits;
pub mod workers;

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use bytes::Bytes;
use halfspace_core::memory::live_bytes;
use serde::Serialize;
use utoipa::ToSchema;

use crate::records::process::REVISION;

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::document::declared::{IN_PATH, problems};
use crate::http::extract::PathText;
use crate::http::middleware::compress::Constant;
use crate::http::problem::{Code, Occurrence, Problem};
use crate::http::serve::StallLimits;

/// The health of the service.
#[derive(Serialize, ToSchema)]
pub struct Health {
    /// `ok`, or `stalled` while a thread of the process is held up. An unhealthy service answers with a problem.
    status: &'static str,
}

/// Name and version of the service.
#[derive(Serialize, ToSchema)]
pub struct Version {
    name: &'static str,
    version: &'static str,
    /// Git revision of the sources. The suffix `-dirty` marks sources with changes beyond that revision. Null if
    /// the build did not know the revision.
    revision: Option<&'static str>,
}

/// The text of the OpenAPI document, with the limits in force.
#[derive(Clone)]
pub struct OpenApiText(pub Bytes);

/// Reports that the process answers requests.
///
/// The answer does not depend on the database, and a thread of its own gives it. The status is `stalled` while another
/// thread of the process has been held up for 2 seconds. After 30 seconds the answer is a problem, so that an
/// orchestrator restarts the process.
#[utoipa::path(get, path = "/livez", tag = "service",
    responses((status = 200, description = "The process is alive", body = Health)),
    extensions(("x-problems" = json!(problems(&[&[Code::STALLED]])))))]
pub async fn check_liveness(State(app): State<App>) -> Result<Json<Health>, Problem> {
    liveness(app.watch.stalled(), app.watch.limits()).map(Json)
}

/// The health of a process with a thread that has not turned for some time.
fn liveness(stalled: Duration, limits: StallLimits) -> Result<Health, Problem> {
    if stalled >= limits.fails_after {
        let seconds = stalled.as_secs();
        let detail = format!("A thread of the process has not turned for {seconds} seconds.");
        return Err(Problem::new(Code::STALLED, detail));
    }
    let status = match stalled >= limits.told_after {
        true => "stalled",
        false => "ok",
    };
    Ok(Health { status })
}

/// Reports whether the service can handle requests now.
///
/// A service is not ready while it is stopping, or while the store does not answer.
#[utoipa::path(get, path = "/readyz", tag = "service",
    responses((status = 200, description = "The service is ready", body = Health)))]
pub async fn check_readiness(State(app): State<App>) -> Result<Json<Health>, Problem> {
    if app.jobs.stopping.is_cancelled() {
        return Err(Problem::new(
            Code::STOPPING,
            "The service is stopping. Retry after the seconds in Retry-After.",
        ));
    }
    let jobs = Arc::clone(&app.jobs);
    let asked = app.runtime.spawn(async move { jobs.store.ping().await });
    let defect = |_| {
        Problem::new(
            Code::INTERNAL,
            "The check of the store failed because of a defect in the service.",
        )
    };
    asked.await.map_err(defect)??;
    Ok(Json(Health { status: "ok" }))
}

/// Returns the metrics of the process in the text format of Prometheus.
///
/// Each process counts its own requests and jobs.
#[utoipa::path(get, path = "/metrics", tag = "service",
    responses((status = 200, description = "The metrics", body = String,
        content_type = "text/plain")))]
pub async fn get_metrics(State(app): State<App>) -> Response {
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    metrics::gauge!("halfspace_memory_taken_bytes").set(app.memory().taken() as f64);
    metrics::gauge!("halfspace_memory_budget_bytes").set(app.memory().bytes_max() as f64);
    metrics::gauge!("halfspace_memory_allocated_bytes").set(live_bytes() as f64);
    metrics_process::Collector::default().collect();
    ([(header::CONTENT_TYPE, content_type)], app.metrics.render()).into_response()
}

/// Returns the name, the version and the revision of the service.
///
/// All processes of one build give the same answer.
#[utoipa::path(get, path = "/version", tag = "service",
    responses((status = 200, description = "Name, version and revision", body = Version)))]
pub async fn get_version() -> Json<Version> {
    Json(Version {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
        revision: REVISION,
    })
}

/// Returns this document.
///
/// The schemas contain the limits in force.
#[utoipa::path(get, path = "/openapi.json", tag = "service",
    responses((status = 200, description = "The OpenAPI document", body = Object)))]
pub async fn get_openapi_document(
    Extension(OpenApiText(text)): Extension<OpenApiText>,
) -> Response {
    let content_type = "application/json";
    let headers = [(header::CONTENT_TYPE, content_type)];
    (Extension(Constant), headers, text).into_response()
}

/// Lists all error codes on an HTML page.
///
/// Each code has a page of its own.
#[utoipa::path(get, path = "/problems", tag = "service",
    responses((status = 200, description = "An HTML page with all codes", body = String,
        content_type = "text/html")))]
pub async fn list_problem_pages() -> Html<String> {
    let rows = Code::ALL.iter().map(|code| {
        let (name, status, title) = (code.name(), code.status().as_u16(), code.title());
        format!("<tr><td><a href=\"problems/{name}\">{name}</a><td>{status}<td>{title}\n")
    });
    let rows = rows.collect::<String>();
    Html(page(
        "Problems",
        &format!("<table>\n<tr><th>code<th>status<th>meaning\n{rows}</table>\n"),
    ))
}

/// A page without style or script.
fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\n<h1>{title}</h1>\n\
         {body}</html>\n"
    )
}

/// Explains an error code on an HTML page.
///
/// The `type` of a problem is the path of this page.
#[utoipa::path(get, path = "/problems/{code}", tag = "service",
    params(("code" = String, Path, description = "The code")),
    responses((status = 200, description = "An HTML page that explains the code", body = String,
        content_type = "text/html")),
    extensions(("x-problems" = json!(problems(&[IN_PATH])))))]
pub async fn get_problem_page(PathText(name): PathText) -> Result<Html<String>, Problem> {
    let code = Code::find(&name).ok_or_else(|| Problem::not_found("problem"))?;
    let (status, title, help) = (code.status().as_u16(), code.title(), code.help());
    let example = Problem::new(code, format!("{title}.")).document(&Occurrence {
        path: "/v1/jobs".into(),
        request_id: "req_1".into(),
        ..Occurrence::default()
    });
    let example = escaped(&serde_json::to_string_pretty(&example).unwrap_or_default());
    let help = escaped(help);
    Ok(Html(page(
        title,
        &format!(
            "<p>Code <code>{name}</code>, HTTP status {status}. <a href=\"../problems\">All codes</a></p>\n\
             <h2>Cause</h2>\n<p>{title}. The member <code>detail</code> of the answer states the case, and \
             <code>errors</code> the places.</p>\n<h2>Remedy</h2>\n<p>{help}</p>\n\
             <h2>Example</h2>\n<pre>{example}</pre>\n"
        ),
    )))
}

/// A text as HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn liveness_tells_a_stall_after_two_seconds_and_fails_after_thirty() {
        let after = |seconds| {
            let found = liveness(Duration::from_secs(seconds), StallLimits::default());
            found
                .map(|health| health.status)
                .map_err(|problem| problem.code())
        };
        assert_eq!((after(0), after(1)), (Ok("ok"), Ok("ok")));
        assert_eq!((after(2), after(29)), (Ok("stalled"), Ok("stalled")));
        assert_eq!(
            (after(30), after(900)),
            (Err(Code::STALLED), Err(Code::STALLED))
        );
    }
}
