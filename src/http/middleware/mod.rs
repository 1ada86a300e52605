//! The layers around every request, from the outside to the inside: the envelope (request id, problem document,
//! security headers), the answer to a panic, the draining of refused bodies, the checks of the host and the connection,
//! the memory of the request, the origins of web pages, API keys, and compression.

pub mod compress;
pub mod cut_off;
pub mod drain_body;
pub mod envelope;
pub mod keys;
pub mod origins;
pub mod request_line;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;

use crate::http::app_state::App;
use crate::http::extract::body::RequestMemory;
use crate::http::middleware::compress::Compressor;
use crate::http::middleware::origins::Origins;
use crate::http::problem::Problem;
use crate::http::serve::LIVENESS;

/// Puts the layers around every route.
///
/// They form a single stack, because a router copies each of its layers, with everything inside, for every request: a
/// layer added by itself would copy all the others once more.
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
