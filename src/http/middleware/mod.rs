//! The layers around every request, from the outside to the inside: the envelope of each response, panics, refused
//! bodies, the checks of the host and the connection, memory, the origins of web pages, API keys, and compression.

pub mod compress;
pub mod cut_off;
pub mod drain_body;
pub mod envelope;
pub mod keys;
pub mod origins;
pub mod request_line;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::http::routes;
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;

use crate::http::app_state::App;
use crate::http::extract::body::RequestMemory;
use crate::http::middleware::compress::Compressor;
use crate::http::middleware::origins::Origins;
use crate::http::problem::{Code, Problem};
use crate::http::serve::LIVENESS;

/// Puts the layers around every route.
///
/// One stack holds all layers. A router copies each of its layers with everything inside for every request, so a layer
/// added to the router by itself would copy the others once more.
pub fn wrapped(router: Router<App>, app: App) -> Router {
    let layers = ServiceBuilder::new()
        .layer(from_fn_with_state(app.clone(), envelope::envelop))
        .layer(CatchPanicLayer::custom(envelope::panicked))
        .layer(from_fn_with_state(app.clone(), admit))
        .option_layer(app.origins.cors(&app.authenticator))
        .option_layer(app.origins.guard(&app.authenticator))
        .layer(from_fn_with_state(app.clone(), keys::authenticate))
        .layer(from_fn_with_state(
            Compressor::new(app.memory().clone()),
            compress::compress,
        ));
    router
        .fallback(async || Problem::not_found("path"))
        .method_not_allowed_fallback(method_not_allowed)
        .layer(layers)
        .with_state(app)
}

/// Checks the host and the connection of a request, and holds its memory. The body of a refused request is drained.
async fn admit(State(app): State<App>, request: Request, next: Next) -> Response {
    drain_body::drained(request, async |mut request| {
        let checked = envelope::check_host(&app, &mut request);
        if let Err(problem) = checked.and_then(|()| envelope::check_place(&app, &request)) {
            return problem.into_response();
        }
        // Liveness must not wait for the store, and tells a foreign page no more than that the service is there.
        if app.origins == Origins::All && request.uri().path() != LIVENESS {
            // `*` ends with the first key, for the first request after its creation too.
            app.authenticator.look_for_keys(request.headers()).await;
        }
        let held = RequestMemory::default();
        request.extensions_mut().insert(held.clone());
        let response = next.run(request).await;
        drop(held);
        response
    })
    .await
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
