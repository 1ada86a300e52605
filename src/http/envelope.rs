//! What surrounds every exchange: the request id, the problem document, the log line, the metrics.

use std::any::Any;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::App;
use super::problem::{Code, Problem};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id of a client that is taken over.
const REQUEST_ID_LENGTH_MAX: usize = 64;

/// The id of the request at hand, for an answer that tells of an error after its head.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// Names the request, lets it be answered, and completes the answer.
pub async fn envelop(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = request_id(&app, &request);
    request.extensions_mut().insert(RequestId(id.clone()));
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let mut response = next.run(request).await;
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        response = complete(&problem, response, &path, &id);
    }
    let status = response.status().as_u16();
    let seconds = begun.elapsed().as_secs_f64();
    tracing::debug!(%method, path, status, seconds, request_id = id, "answered");
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, value);
    }
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

/// Counts and times the exchanges of each route. Stands inside the router, which knows the route.
pub async fn measure(request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("unmatched", MatchedPath::as_str).to_owned();
    let method = method_label(request.method()).to_owned();
    let response = next.run(request).await;
    let status = response.status().as_u16().to_string();
    let labels = [("method", method), ("route", route), ("status", status)];
    metrics::histogram!("halfspace_http_request_seconds", &labels)
        .record(begun.elapsed().as_secs_f64());
    response
}

/// The method, if it is a standard one: a label takes few values, and a client may name any method.
fn method_label(method: &Method) -> &str {
    const KNOWN: [Method; 7] = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::OPTIONS,
        Method::PATCH,
    ];
    match KNOWN.contains(method) {
        true => method.as_str(),
        false => "other",
    }
}

/// The client's own id where it is short and plain, else a new one.
fn request_id(app: &App, request: &Request) -> String {
    let given = request.headers().get(&REQUEST_ID);
    let given = given.and_then(|value| value.to_str().ok()).filter(|id| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !id.is_empty() && id.len() <= REQUEST_ID_LENGTH_MAX && id.bytes().all(is_plain)
    });
    given.map_or_else(|| app.jobs.ids().name("req"), str::to_owned)
}

/// The document of a problem, on the status and headers (such as Allow) that it came with.
fn complete(problem: &Problem, response: Response, path: &str, id: &str) -> Response {
    let body = serde_json::to_vec(&problem.document(path, id)).unwrap_or_default();
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(problem.headers());
    Response::from_parts(parts, body.into())
}

/// The answer to a panic in a handler: a problem, never a dropped connection.
pub fn panicked(_: Box<dyn Any + Send>) -> Response {
    Problem::new(Code::INTERNAL, "The request met a defect of the service.").into_response()
}

/// On a loopback listener, refuses requests that a foreign name led here (DNS rebinding).
pub async fn check_host(State(app): State<App>, request: Request, next: Next) -> Response {
    let Some(allowed) = &app.allowed_hosts else {
        return next.run(request).await;
    };
    let header = request.headers().get(header::HOST);
    let authority = header.and_then(|value| value.to_str().ok()).or_else(|| {
        request
            .uri()
            .authority()
            .map(|authority| authority.as_str())
    });
    let host = authority.map(host_name).unwrap_or_default();
    if allowed.iter().any(|name| name.eq_ignore_ascii_case(host)) {
        return next.run(request).await;
    }
    let detail = "This service listens on a loopback address and answers only to loopback names.";
    Problem::parameter(Code::FOREIGN_HOST, "Host", detail).into_response()
}

/// The host without its port.
fn host_name(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_no_part_of_the_name() {
        assert_eq!(host_name("localhost:8080"), "localhost");
        assert_eq!(host_name("127.0.0.1"), "127.0.0.1");
        assert_eq!(host_name("[::1]:8080"), "::1");
    }
}
