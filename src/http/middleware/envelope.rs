//! The outermost middleware: gives each request its id, and each response its problem document and security headers.
//! It also checks the Host, and restricts reserved connections to probes.
//!
//! The request ids of `tower-http` 0.7 do not fit, because its layer keeps any id that a client sends, even one of
//! 10,000 bytes with markup. Each id goes into the log and into problem documents.

use std::any::Any;
use std::net::Ipv6Addr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::http::app_state::App;
use crate::http::middleware::request_line::RequestLine;
use crate::http::problem::{Code, Occurrence, Problem};
use crate::http::serve::ConnectionUse;
use crate::traces;

const MALFORMED_HOST: &str =
    "The Host header must be a host name or an address in brackets, with an optional port.";

const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The policy for all answers except the API reference: an answer loads and runs nothing.
const POLICY: &str = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'";

/// The API reference loads local files. Its script sets one style, which the digest permits.
const DOCS_POLICY: &str = "default-src 'self'; img-src 'self' blob: data:; object-src 'none'; \
                           style-src 'self' 'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='; \
                           base-uri 'none'; frame-ancestors 'none'";

/// The paths that a reserved connection may request.
const RESERVE_PATHS: [&str; 2] = ["/livez", "/readyz"];

/// Longest request id that is accepted from a client.
const REQUEST_ID_LENGTH_MAX: usize = 64;

/// Assigns the request id, runs the request and completes the response.
pub async fn envelop(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let occurrence = Occurrence {
        base_path: Arc::clone(&app.base_path),
        path: request.uri().path().into(),
        request_id: request_id(&app, &request).into(),
    };
    // An answer that reports an error after the head needs the occurrence too.
    request.extensions_mut().insert(occurrence.clone());
    let (line, context) = RequestLine::begin(&occurrence, &mut request);
    let mut response = traces::within(context, next.run(request)).await;
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        line.refused(&problem);
        response = complete(&problem, response, &occurrence);
    }
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&occurrence.request_id) {
        headers.insert(REQUEST_ID, value);
    }
    if let Some(location) = headers.get_mut(header::LOCATION) {
        place_below(&occurrence.base_path, location);
    }
    for (name, value) in safe_headers(&occurrence.path) {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    line.follow(response)
}

/// Puts the base path in front of a path of this service. Handlers do not know the base path.
fn place_below(base_path: &str, location: &mut HeaderValue) {
    let path = location.to_str().ok().filter(|path| path.starts_with('/'));
    let placed = path.map(|path| HeaderValue::from_str(&format!("{base_path}{path}")));
    if let Some(Ok(placed)) = placed {
        *location = placed;
    }
}

/// The headers that stop browsers from caching, sniffing, running or framing an answer.
fn safe_headers(path: &str) -> impl Iterator<Item = (HeaderName, &'static str)> {
    let is_docs = path == "/docs" || path.starts_with("/docs/");
    let policy = if is_docs { DOCS_POLICY } else { POLICY };
    // Answers are private to the caller. The files of the API reference are public.
    let cache = (!is_docs).then_some((header::CACHE_CONTROL, "no-store"));
    let always = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (CROSS_ORIGIN_RESOURCE_POLICY, "same-origin"),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    always.into_iter().chain(cache)
}

/// The client's own id if short and plain, otherwise a new id.
fn request_id(app: &App, request: &Request) -> String {
    let given = request.headers().get(&REQUEST_ID);
    let given = given.and_then(|value| value.to_str().ok()).filter(|id| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !id.is_empty() && id.len() <= REQUEST_ID_LENGTH_MAX && id.bytes().all(is_plain)
    });
    given.map_or_else(|| app.jobs.ids.name("req"), str::to_owned)
}

/// Puts the problem document into the response. The status and headers such as Allow stay.
fn complete(problem: &Problem, response: Response, occurrence: &Occurrence) -> Response {
    let body = serde_json::to_vec(&problem.document(occurrence)).unwrap_or_default();
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(problem.headers());
    Response::from_parts(parts, body.into())
}

/// The answer to a panic in a handler: a problem instead of a dropped connection.
pub fn panicked(_: Box<dyn Any + Send>) -> Response {
    Problem::new(
        Code::INTERNAL,
        "The request failed because of a defect in the service.",
    )
    .into_response()
}

/// On a reserved connection, refuses all requests except probes.
pub fn check_place(app: &App, request: &Request) -> Result<(), Problem> {
    let is_reserve = request.extensions().get::<ConnectionUse>() == Some(&ConnectionUse::Reserve);
    if !is_reserve || RESERVE_PATHS.contains(&request.uri().path()) {
        return Ok(());
    }
    let limit = app.limits.connections_max;
    let detail = format!(
        "This address holds half of the {limit} connections that connections_max allows. Close other connections, \
             or name a proxy in --trusted-proxies."
    );
    Err(Problem::new(Code::TOO_MANY_CONNECTIONS, detail))
}

/// Refuses malformed Host headers and more than one. A loopback listener also refuses host names that are not
/// allowed, because they may come from DNS rebinding.
///
/// The authority of an absolute request target replaces the Host header (RFC 9112, section 3.2.2), so that every
/// later check sees the same host.
pub fn check_host(app: &App, request: &mut Request) -> Result<(), Problem> {
    let wrong = |detail| Problem::parameter(Code::INVALID_PARAMETER, "Host", detail);
    if request.headers().get_all(header::HOST).iter().count() > 1 {
        return Err(wrong("A request must have exactly one Host header."));
    }
    let target = request.uri().authority();
    if let Some(host) = target.map(|target| HeaderValue::from_str(target.as_str())) {
        let host = host.map_err(|_| wrong(MALFORMED_HOST))?;
        request.headers_mut().insert(header::HOST, host);
    }
    let host = match request.headers().get(header::HOST) {
        None => "".to_owned(),
        Some(value) => {
            let host = value.to_str().ok().and_then(host_name);
            host.ok_or_else(|| wrong(MALFORMED_HOST))?
        }
    };
    let Some(allowed) = &app.allowed_hosts else {
        return Ok(());
    };
    if allowed.iter().any(|name| name.eq_ignore_ascii_case(&host)) {
        return Ok(());
    }
    let detail = "This service listens on a loopback address. It accepts only loopback host names \
                  and the names in --allowed-hosts.";
    Err(Problem::parameter(Code::FOREIGN_HOST, "Host", detail))
}

/// The host without the port, and an IPv6 address without its brackets in its shortest form. `None` if the text is no
/// host with an optional port (RFC 3986, section 3.2): a user, a zone or further text after an address is refused.
fn host_name(authority: &str) -> Option<String> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (address, rest) = inner.split_once(']')?;
            (address.parse::<Ipv6Addr>().ok()?.to_string(), rest)
        }
        None => {
            let end = authority.find(':').unwrap_or(authority.len());
            let (name, rest) = authority.split_at(end);
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte);
            name.bytes()
                .all(is_plain)
                .then(|| (name.to_owned(), rest))?
        }
    };
    let port = match rest {
        "" => return Some(host),
        rest => rest.strip_prefix(':')?,
    };
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    (is_port && (port.is_empty() || port.parse::<u16>().is_ok())).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_an_optional_port() {
        for (authority, host) in [
            ("localhost:8080", "localhost"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]:8080", "::1"),
            ("[0:0:0:0:0:0:0:1]", "::1"),
            ("my_service:", "my_service"),
            ("localhost.", "localhost."),
            ("", ""),
        ] {
            assert_eq!(host_name(authority).as_deref(), Some(host), "{authority}");
        }
        for authority in [
            "[::1]evil.example",
            "[::1]:80evil.example",
            "[::1].evil.example:80",
            "[::1%25lo]",
            "[::1%lo]:80",
            "[localhost]",
            "[::1",
            "::1",
            "localhost:80:evil.example",
            "localhost:evil.example",
            "localhost:65536",
            "localhost:+80",
            "localhost@evil.example",
            "evil.example@localhost",
            "localhost/evil.example",
            "localhost, evil.example",
            "localhost evil.example",
            "localhost\u{e9}",
        ] {
            assert_eq!(host_name(authority), None, "{authority}");
        }
    }
}
