//! `/v1/experiments`: lists the ready-made figures and submits their experiments as jobs. The experiments themselves
//! are in [`halfspace_core::experiments`].

use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::response::Response;
use halfspace_core::experiments::ExperimentError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::records::experiment::ExperimentSpec;
use crate::records::figure::{FIGURES, Figure};
use crate::records::task::TaskSpec;
use crate::records::train::SeedNumber;
use crate::records::{Priority, bounded_json};

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::document::declared::{BODY, IN_PATH, KEYED, STORED, SUBMITTED, problems};
use crate::http::extract::body::RequestMemory;
use crate::http::extract::data_body::read_json;
use crate::http::extract::idempotency::{KeyHeader, once};
use crate::http::extract::{Caller, NoQuery, PathText, PreferWait};
use crate::http::jobs::answer::{Wait, replay};
use crate::http::jobs::document::JobDocument;
use crate::http::jobs::place::TaskPlace;
use crate::http::jobs::submission::submit;
use crate::http::jobs::tasks::RequestedJob;
use crate::http::problem::{Code, FieldError, Problem};

/// Options of a run of a ready-made figure.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FigureRequest {
    /// Seed of every random choice. A missing seed is drawn and reported.
    seed: Option<SeedNumber>,
    /// Parameters that replace those of the figure's experiment.
    #[serde(default, deserialize_with = "bounded_json::object")]
    #[schema(value_type = Object)]
    params: Map<String, Value>,
    /// Free text that names the job.
    #[schema(max_length = 256)]
    name: Option<String>,
    /// URL to notify when the job ends. Needs a configured callback secret.
    #[schema(format = "uri", max_length = 2048)]
    callback: Option<String>,
    /// Jobs of higher priority run first among the jobs of the same key; 0 when absent.
    priority: Option<Priority>,
}

/// A ready-made figure.
#[derive(Serialize, ToSchema)]
#[schema(as = Figure)]
pub struct FigureDocument {
    /// Name of the figure in the path that runs the experiment.
    name: &'static str,
    /// Title that describes the figure.
    title: &'static str,
    /// The experiment behind the figure.
    experiment: ExperimentSpec,
}

/// All ready-made figures.
#[derive(Serialize, ToSchema)]
pub struct FigureList {
    items: Vec<FigureDocument>,
    /// Always null, because all figures fit on one page.
    next_cursor: Option<String>,
}

/// Lists the ready-made figures.
///
/// Each figure is an experiment with fixed parameters. Run a figure with `POST /v1/experiments/{figure}`.
#[utoipa::path(get, path = "/v1/experiments", tag = "experiments",
    responses((status = 200, description = "Every figure", body = FigureList)))]
pub async fn list_figures(_: NoQuery) -> Json<FigureList> {
    let document = |figure: &Figure| FigureDocument {
        name: figure.name,
        title: figure.title,
        experiment: figure.spec(),
    };
    Json(FigureList {
        items: FIGURES.iter().map(document).collect(),
        next_cursor: None,
    })
}

/// Runs the experiment behind a ready-made figure as a job.
///
/// Without a body, the figure runs with the parameters in the list. With `Prefer: wait=S` the answer waits up
/// to S seconds for the end of the job.
#[utoipa::path(post, path = "/v1/experiments/{figure}", tag = "experiments",
    request_body = Option<FigureRequest>,
    params(("figure" = String, Path, description = "The figure's name"),
        ("Prefer" = Option<String>, Header, description = "`wait=S` waits for the end of the job, \
                                                           at most 60 seconds"),
        KeyHeader),
    responses(
        (status = 200, description = "The job ended within the wait", body = JobDocument),
        (status = 202, description = "The job is accepted", body = JobDocument)),
    extensions(("x-problems" = json!(problems(&[IN_PATH, BODY, KEYED, SUBMITTED, STORED])))))]
pub async fn run_figure(
    State(app): State<App>,
    Caller(owner): Caller,
    PathText(name): PathText,
    _: NoQuery,
    prefer: Option<PreferWait>,
    request: Request,
) -> Result<Response, Problem> {
    let figure = Figure::find(&name).ok_or_else(|| Problem::not_found("figure"))?;
    let wait = Wait::from(prefer);
    let make = async |request: Request, key| {
        let request: FigureRequest = match request.body().is_end_stream() {
            true => FigureRequest::default(),
            false => read_json(&app, request).await?,
        };
        let experiment = figure.spec_with(&request.params).map_err(unlike)?;
        let job = RequestedJob {
            task: TaskSpec::Experiment(experiment),
            data: None,
            seed: request.seed,
            name: request.name,
            callback: request.callback,
            priority: request.priority,
            sha256: None,
            memory: RequestMemory::default(),
            cells: None,
        };
        let at = TaskPlace::in_body("", None);
        submit(&app, owner.clone(), job, &at, wait, key).await
    };
    let replay = |record| replay(app.clone(), owner.clone(), wait, record);
    once(&app, &owner, request, make, replay).await
}

/// The problem for parameters that do not fit the experiment.
fn unlike(error: ExperimentError) -> Problem {
    let pointer = format!("/params{}", error.pointer());
    Problem::at(
        Code::SCHEMA,
        FieldError::at_pointer(pointer, error.to_string()),
    )
}
