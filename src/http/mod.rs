//! The HTTP API: the one list of routes, the state shared by handlers, and the middleware around each
//! request.
//!
//! Each resource has a file of its own, which holds its parameters, schemas, documentation and handlers.
//! Handlers decide nothing about learning: they read a request, call `jobs` or the store, and write a
//! document. Every error is a problem document; see `problem`.

mod answer_lines;
mod answering;
mod body;
pub mod codes;
mod construct;
mod constructions;
mod cut_off;
mod data_body;
mod data_schema;
mod datasets;
mod declared;
mod drain_body;
mod envelope;
mod evaluate;
mod events;
mod examples;
mod experiments;
mod extract;
#[doc(hidden)]
pub mod fuzzing;
mod idempotency;
mod import;
mod infer;
mod infer_answer;
mod infer_request;
mod inference;
mod job_document;
mod jobs;
mod json_place;
mod keys;
mod learner_parameters;
mod learners;
pub mod limits;
mod links;
mod model_examples;
mod models;
mod openapi;
mod ops;
mod origins;
mod permits;
mod predict;
mod predictions_text;
mod problem;
mod request_examples;
mod request_line;
mod resolve_data;
mod schemas;
mod serve;
mod session_answers;
mod session_documents;
mod session_examples;
mod session_stream;
mod sessions;
mod submission;
mod tasks;
mod theory;
mod time_limit;
mod trace;
mod train;
mod work;

use std::sync::Arc;

use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Extension, Router};
use halfspace_core::memory::Budget;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::runtime::Handle;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::jobs::Jobs;
use crate::records::train::SeedNumber;
use crate::storage::ScratchDir;

pub use idempotency::InFlight;
pub use keys::Authenticator;
use limits::Limits;
pub use origins::Origins;
pub use permits::Permits;
use problem::{Code, Problem};

pub use serve::{ServeLimits, serve};

/// State shared by all handlers.
#[derive(Clone)]
pub struct App {
    /// The job service, with access to the store.
    pub jobs: Arc<Jobs>,
    /// Limits in force.
    pub limits: Arc<Limits>,
    /// Permits for concurrent work.
    pub permits: Permits,
    /// Temporary files for uploads that are not stored yet.
    pub scratch: ScratchDir,
    /// Checks API keys.
    pub authenticator: Authenticator,
    /// Idempotency keys of requests that have no answer yet.
    pub in_flight: InFlight,
    /// Host names that the service answers to. `None` allows every host.
    pub allowed_hosts: Option<Arc<[String]>>,
    /// Origins of web pages that may send requests.
    pub origins: Origins,
    /// Runtime of the store's connections. Handlers that may run on another runtime spawn store calls here.
    pub runtime: Handle,
    /// Renders the text of `/metrics`.
    pub metrics: PrometheusHandle,
}

impl App {
    /// Returns the memory budget for requests and jobs.
    fn memory(&self) -> &Budget {
        &self.jobs.config().memory
    }

    /// Returns the seed of the request, or draws one.
    fn seed(&self, given: Option<SeedNumber>) -> u64 {
        given.map_or_else(|| self.jobs.ids().seed(), SeedNumber::get)
    }
}

/// Returns every route with its OpenAPI documentation.
fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::base())
        .routes(routes!(learners::list_learners))
        .routes(routes!(learners::get_learner))
        .routes(routes!(train::train_learner))
        .routes(routes!(jobs::create_job, jobs::list_jobs))
        .routes(routes!(jobs::get_job, jobs::delete_job))
        .routes(routes!(jobs::cancel_job))
        .routes(routes!(events::follow_job))
        .routes(routes!(trace::get_job_trace))
        .routes(routes!(experiments::get_job_figure))
        .routes(routes!(experiments::list_figures))
        .routes(routes!(experiments::run_figure))
        .routes(routes!(datasets::create_dataset, datasets::list_datasets))
        .routes(routes!(datasets::get_dataset, datasets::delete_dataset))
        .routes(routes!(examples::list_dataset_examples))
        .routes(routes!(models::list_models, import::import_model))
        .routes(routes!(models::get_model, models::delete_model))
        .routes(routes!(predict::predict_model))
        .routes(routes!(evaluate::evaluate_model))
        .routes(routes!(sessions::create_session, sessions::list_sessions))
        .routes(routes!(sessions::get_session, sessions::delete_session))
        .routes(routes!(session_examples::learn_session_examples))
        .routes(routes!(sessions::predict_session))
        .routes(routes!(sessions::save_session_model))
        .routes(routes!(theory::count_dichotomies))
        .routes(routes!(theory::analyse_directed_drift))
        .routes(routes!(theory::get_stopping_threshold))
        .routes(routes!(theory::bound_winnow_mistakes))
        .routes(routes!(theory::bound_perceptron_mistakes))
        .routes(routes!(
            constructions::construct_kernel_perceptron_adversary
        ))
        .routes(routes!(constructions::construct_winnow_counting))
        .routes(routes!(constructions::construct_monotone_cnf))
        .routes(routes!(inference::get_inference_server))
        .routes(routes!(inference::check_inference_liveness))
        .routes(routes!(inference::check_inference_readiness))
        .routes(routes!(inference::get_inference_model))
        .routes(routes!(inference::check_inference_model))
        .routes(routes!(infer::infer_model))
        .routes(routes!(inference::get_inference_model_version))
        .routes(routes!(inference::check_inference_model_version))
        .routes(routes!(infer::infer_model_version))
        .routes(routes!(limits::get_limits))
        .merge(operations())
        .routes(routes!(ops::get_openapi_document))
        .routes(routes!(ops::get_problem_page))
}

/// Returns the routes for operators: probes, metrics and the version.
fn operations() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(ops::check_liveness))
        .routes(routes!(ops::check_readiness))
        .routes(routes!(ops::get_metrics))
        .routes(routes!(ops::get_version))
}

/// Returns the OpenAPI document with the default limits, as committed in the repository.
pub fn document() -> String {
    openapi::text(routes().into_openapi(), &Limits::default())
}

/// Returns the whole service as a router.
pub fn router(app: App) -> Router {
    let (router, document) = routes().split_for_parts();
    let document = ops::Document(openapi::text(document, &app.limits).into());
    let router = router
        .merge(openapi::docs())
        .route("/", get(async || Redirect::to("/docs/")))
        .layer(Extension(document));
    enveloped(router, app)
}

/// Returns the routes of a pure worker process and of the separate listener for operators.
pub fn operations_router(app: App) -> Router {
    let (router, _) = operations().split_for_parts();
    enveloped(router, app)
}

/// Adds the middleware around every request.
fn enveloped(router: Router<App>, app: App) -> Router {
    let router = router
        .fallback(async || Problem::not_found("path"))
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(app.clone(), keys::authenticate));
    app.origins
        .guard(router, &app.authenticator)
        .layer(from_fn(body::hold_memory))
        .layer(from_fn(request_line::note_route))
        .layer(from_fn_with_state(app.clone(), envelope::check_place))
        .layer(from_fn_with_state(app.clone(), envelope::check_host))
        .layer(from_fn(drain_body::drain_body))
        .layer(CatchPanicLayer::custom(envelope::panicked))
        .layer(from_fn_with_state(app.clone(), envelope::envelop))
        .with_state(app)
}

async fn method_not_allowed() -> Response {
    let detail = "The path does not support this method; the Allow header lists the supported \
                  methods.";
    let response = Problem::new(Code::METHOD_NOT_ALLOWED, detail).into_response();
    debug_assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    response
}
