//! The HTTP API: the one list of routes, the state shared by handlers, and the middleware around each request.
//!
//! Each resource has a folder or a file with its parameters, schemas, documentation and handlers. Handlers decide
//! nothing about learning: they read a request, call `jobs` or the store, and write a document. Every error is a
//! problem document; see `problem`.

mod answer;
mod app_state;
mod authenticator;
pub mod codes;
mod computing;
mod console;
mod datasets;
mod document;
mod extract;
mod figures;
#[doc(hidden)]
pub mod fuzzing;
mod in_flight;
mod inference;
mod jobs;
mod learners;
pub mod limits;
mod middleware;
mod models;
mod operations;
mod permits;
mod problem;
mod samples;
mod serve;
mod sessions;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use axum::extract::{MatchedPath, Request};
use axum::http::uri::PathAndQuery;
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Extension, Router};
use tower::util::MapRequest;
use utoipa::openapi::Server;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use app_state::{App, AppState};
pub use authenticator::Authenticator;
pub use in_flight::InFlight;
pub use middleware::origins::Origins;
pub use permits::Permits;
use problem::{Code, Problem};
pub use serve::{ConnectionUse, RuntimeWatch, ServeLimits, StallLimits, serve};

/// Returns every route with its OpenAPI documentation.
fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(document::base())
        .routes(routes!(learners::list_learners))
        .routes(routes!(learners::get_learner))
        .routes(routes!(jobs::create_job, jobs::list_jobs))
        .routes(routes!(jobs::get_job, jobs::delete_job))
        .routes(routes!(jobs::cancel_job))
        .routes(routes!(jobs::several::cancel_jobs))
        .routes(routes!(jobs::several::delete_jobs))
        .routes(routes!(jobs::events::follow_job))
        .routes(routes!(jobs::trace::get_job_trace))
        .routes(routes!(jobs::figure::get_job_figure))
        .routes(routes!(figures::draw_figure))
        .routes(routes!(jobs::queue::get_queue))
        .routes(routes!(jobs::experiments::list_figures))
        .routes(routes!(jobs::experiments::run_figure))
        .routes(routes!(datasets::get_dataset, datasets::delete_dataset))
        .routes(routes!(datasets::encode::encode_dataset))
        .routes(routes!(datasets::examples::list_dataset_examples))
        .routes(routes!(datasets::import::import_dataset))
        .routes(routes!(samples::list_samples))
        .routes(routes!(samples::get_sample))
        .routes(routes!(models::list_models, models::import::import_model))
        .routes(routes!(models::get_model, models::delete_model))
        .routes(routes!(models::weights::get_model_weights))
        .routes(routes!(models::code::get_model_code))
        .routes(routes!(models::receipt::get_model_receipt))
        .routes(routes!(sessions::create_session, sessions::list_sessions))
        .routes(routes!(sessions::get_session, sessions::delete_session))
        .routes(routes!(sessions::save_session_model))
        .routes(routes!(learners::theory::count_dichotomies))
        .routes(routes!(learners::theory::analyse_directed_drift))
        .routes(routes!(learners::theory::get_stopping_threshold))
        .routes(routes!(learners::theory::bound_winnow_mistakes))
        .routes(routes!(learners::theory::bound_perceptron_mistakes))
        .routes(routes!(learners::certificates::bound_test_set_error))
        .routes(routes!(learners::certificates::bound_surviving_error))
        .routes(routes!(learners::certificates::bound_mean_error))
        .routes(routes!(learners::certificates::bound_other_targets))
        .routes(routes!(learners::certificates::bound_compressed_error))
        .routes(routes!(
            learners::constructions::construct_kernel_perceptron_adversary
        ))
        .routes(routes!(learners::constructions::construct_winnow_counting))
        .routes(routes!(learners::constructions::construct_monotone_cnf))
        .routes(routes!(inference::get_inference_server))
        .routes(routes!(inference::check_inference_liveness))
        .routes(routes!(inference::check_inference_readiness))
        .routes(routes!(inference::get_inference_model))
        .routes(routes!(inference::check_inference_model))
        .routes(routes!(inference::infer::infer_model))
        .routes(routes!(inference::get_inference_model_version))
        .routes(routes!(inference::check_inference_model_version))
        .routes(routes!(inference::infer::infer_model_version))
        .routes(routes!(operations::limits::get_limits))
        .routes(routes!(operations::workers::list_workers))
        .merge(data_routes())
        .merge(operations())
        .routes(routes!(operations::get_openapi_document))
        .routes(routes!(operations::list_problem_pages))
        .routes(routes!(operations::get_problem_page))
}

/// Returns the routes that take data in every format, also as a file in a form.
fn data_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(learners::train::train_learner))
        .routes(routes!(datasets::create_dataset, datasets::list_datasets))
        .routes(routes!(datasets::preview::preview_data))
        .routes(routes!(models::predict::predict_model))
        .routes(routes!(models::evaluate::evaluate_model))
        .routes(routes!(
            models::explanation::get_model_explanation,
            models::example_explanation::explain_model_example
        ))
        .routes(routes!(sessions::examples::learn_session_examples))
        .routes(routes!(sessions::predict_session))
        .route_layer(from_fn(extract::form::unfold))
}

/// Returns the routes for operators: probes, metrics and the version.
fn operations() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(operations::check_liveness))
        .routes(routes!(operations::check_readiness))
        .routes(routes!(operations::get_metrics))
        .routes(routes!(operations::get_version))
}

/// The OpenAPI document, as committed in the repository.
pub fn document() -> String {
    document::text(routes().into_openapi())
}

/// The whole service as a router.
pub fn router(app: App) -> Router {
    let (router, mut document) = routes().split_for_parts();
    let base_path = Arc::clone(&app.base_path);
    if !base_path.is_empty() {
        document.servers = Some(vec![Server::new(&*base_path)]);
    }
    let document = operations::OpenApiText(document::text(document).into());
    let router = router
        .merge(document::docs())
        .route("/", get(console::page))
        .route(console::PATH, get(async || Redirect::to("/")))
        .route("/console/{*path}", get(console::file))
        .layer(Extension(document));
    below(base_path, wrapped(router, app))
}

/// Serves a router below a base path. A request without the base path is answered too, so that a probe needs no prefix.
fn below(base_path: Arc<str>, router: Router) -> Router {
    if base_path.is_empty() {
        return router;
    }
    let without_base_path = move |mut request: Request| {
        let whole = request.uri().path_and_query().map(PathAndQuery::as_str);
        let rest = whole.and_then(|whole| whole.strip_prefix(&*base_path));
        let rest = match rest {
            // The page needs the slash at the end, since its files have relative addresses.
            Some(rest) if rest.is_empty() || rest.starts_with('?') => {
                Some(Ok(Uri::from_static(console::PATH)))
            }
            Some(rest) if rest.starts_with('/') => Some(rest.parse::<Uri>()),
            _ => None,
        };
        if let Some(Ok(uri)) = rest {
            *request.uri_mut() = uri;
        }
        request
    };
    Router::new().fallback_service(MapRequest::new(router, without_base_path))
}

/// The routes of a pure worker process, and of the separate listener for operators.
pub fn operations_router(app: App) -> Router {
    let (router, _) = operations().split_for_parts();
    wrapped(router, app)
}

/// Puts the layers around routes, and the answer to a method that a path lacks.
fn wrapped(router: Router<App>, app: App) -> Router {
    middleware::wrapped(router.method_not_allowed_fallback(method_not_allowed), app)
}

/// The methods of each path.
static METHODS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let paths = routes().into_openapi().paths.paths.into_iter();
    let of_path = paths.map(|(path, item)| {
        let methods = [
            ("GET, HEAD", item.get.is_some()),
            ("POST", item.post.is_some()),
            ("DELETE", item.delete.is_some()),
        ];
        let known = methods.iter().filter(|(_, is_known)| *is_known);
        (
            path,
            known.map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        )
    });
    of_path.collect()
});

async fn method_not_allowed(path: Option<MatchedPath>) -> Response {
    let methods = path.and_then(|path| METHODS.get(path.as_str()));
    let detail = match methods {
        Some(methods) => format!("The path supports {methods}."),
        None => "The path does not support this method.".to_owned(),
    };
    let response = Problem::new(Code::METHOD_NOT_ALLOWED, detail).into_response();
    debug_assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    response
}
