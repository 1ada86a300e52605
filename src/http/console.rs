//! The files of the browser console, embedded in the program. A debug build reads them from `console/` at each
//! request, so that you can change them without compiling.
//!
//! The console is a client of the public API, and this module knows no resource of it.

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::http::middleware::compress::Constant;
use crate::http::problem::Problem;

/// The path above the files, which redirects to the page.
pub const PATH: &str = "/console";

/// The policy for the page: the console loads, connects to and runs only files of this service. Figures are images with
/// blob URLs, because the policy blocks their styles inside the page.
const POLICY: &str = "default-src 'self'; img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// The media type of each file extension that is served.
const MEDIA_TYPES: [(&str, &str); 5] = [
    ("css", "text/css; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("svg", "image/svg+xml"),
];

#[derive(RustEmbed)]
#[folder = "console/"]
struct Files;

/// Answers with the page.
pub async fn page(headers: HeaderMap) -> Response {
    answer("index.html", &headers)
}

/// Answers with a file of the page.
pub async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    answer(&path, &headers)
}

fn answer(path: &str, headers: &HeaderMap) -> Response {
    let extension = path.rsplit('.').next().unwrap_or_default();
    let known = MEDIA_TYPES.iter().find(|(known, _)| *known == extension);
    let (Some((_, media_type)), Some(file)) = (known, Files::get(path)) else {
        return Problem::not_found("path").into_response();
    };
    let tag = entity_tag(&file);
    let known = headers.get(header::IF_NONE_MATCH);
    let is_known = known.is_some_and(|known| known.as_bytes() == tag.as_bytes());
    // A browser asks for each file again, since the names stay when the program changes.
    let always = [
        (header::CACHE_CONTROL, "no-cache".to_owned()),
        (header::CONTENT_SECURITY_POLICY, POLICY.to_owned()),
        (header::ETAG, tag),
    ];
    if is_known {
        return (StatusCode::NOT_MODIFIED, always).into_response();
    }
    let media_type = [(header::CONTENT_TYPE, *media_type)];
    let mut response = (always, media_type, file.data).into_response();
    // A debug build reads the files anew.
    if !cfg!(debug_assertions) {
        response.extensions_mut().insert(Constant);
    }
    response
}

/// A weak tag, because the answer may be compressed. The tag depends on the content alone: the time of a file differs
/// between two builds of one revision.
fn entity_tag(file: &EmbeddedFile) -> String {
    format!("W/\"{}\"", hex::encode(&file.metadata.sha256_hash()[..16]))
}
