//! The layers around every request, from the outside to the inside: the envelope of each response, panics,
//! refused bodies, the Host check, the request log, memory, the origins of web pages, and API keys.

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
use axum::extract::MatchedPath;
use axum::http::{Extensions, HeaderMap, StatusCode, Version, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{Predicate, SizeAbove};

use crate::http::App;
use crate::http::extract::body;
use crate::http::problem::{Code, Problem};

/// Bytes of the smallest answer that is compressed. A smaller one fits into one packet.
const COMPRESSED_BYTES_MIN: u64 = 1024;

/// Adds the middleware around every request.
pub fn wrapped(router: Router<App>, app: App) -> Router {
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
        .layer(
            CompressionLayer::new()
                .compress_when(SizeAbove::new(COMPRESSED_BYTES_MIN).and(is_compressible)),
        )
        .layer(from_fn_with_state(app.clone(), envelope::envelop))
        .with_state(app)
}

/// Whether an answer is compressed for a client that accepts gzip: a document or a file of the console. Streams stay as
/// they are, because compression would hold their lines back.
fn is_compressible(_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions) -> bool {
    const COMPRESSED: [&str; 6] = [
        "application/json",
        "application/problem+json",
        "image/svg+xml",
        "text/css",
        "text/html",
        "text/javascript",
    ];
    let media_type = headers.get(header::CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    media_type.is_some_and(|text| COMPRESSED.iter().any(|known| text.starts_with(known)))
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
