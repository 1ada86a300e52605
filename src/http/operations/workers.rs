//! `GET /v1/workers`: the processes of the service.
//!
//! Every key may see this list, because the name of a process grants nothing, and `/metrics` shows the same counts
//! without any key.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::records::process::Process;

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::extract::NoQuery;
use crate::http::problem::Problem;

/// The live processes of the service, on one page.
#[derive(Serialize, ToSchema)]
pub struct WorkerList {
    #[schema(max_items = 1_000)]
    items: Vec<Process>,
    /// Always null, because the list has one page.
    next_cursor: Option<String>,
}

/// Lists the live processes of the service, in the order of their starts.
///
/// A process appears at its start and disappears when it stops. A process that dies disappears after 60 seconds.
#[utoipa::path(get, path = "/v1/workers", tag = "service",
    responses((status = 200, description = "Every live process", body = WorkerList)))]
pub async fn list_workers(State(app): State<App>, _: NoQuery) -> Result<Json<WorkerList>, Problem> {
    Ok(Json(WorkerList {
        items: app.jobs.processes.list().await?,
        next_cursor: None,
    }))
}
