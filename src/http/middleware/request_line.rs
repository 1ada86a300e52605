//! One log line and one measurement per request, even if the client leaves before the answer ends.
//!
//! They are made when the last part of the request is dropped: the handler, or the body of the answer. The trace layer
//! of `tower-http` 0.7 does not see that. When the client leaves during the answer, it calls back for the head only,
//! and when the client leaves before, for nothing.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use metrics::{counter, gauge, histogram};
use tokio::time::Instant;
use tracing::Span;
use tracing::field::Empty;

use crate::records::{Owner, TraceParent};
use crate::traces;

use crate::http::problem::{Occurrence, Problem};
use crate::http::serve::{AnswerGuard, Peer};

/// What inner layers find out about a request. Clones share the facts.
#[derive(Clone, Default)]
pub struct RequestFacts(Arc<FactCells>);

#[derive(Default)]
struct FactCells {
    owner: OnceLock<Owner>,
    cut_off: OnceLock<()>,
}

/// A request whose answer has not ended.
pub struct RequestLine {
    begun: Instant,
    occurrence: Occurrence,
    method: Method,
    peer: Option<IpAddr>,
    /// `None` if no route matches.
    route: Option<MatchedPath>,
    facts: RequestFacts,
    /// The trace of the request, if the client or this process records one.
    trace: Option<TraceParent>,
    span: Span,
    /// The status, and the seconds from the beginning of the request to the status.
    head: Option<(u16, f64)>,
    bytes: u64,
    has_ended: bool,
    /// While this guard is held, the connection counts as answering.
    _exchange: Option<AnswerGuard>,
}

/// The body of an answer, whose bytes are counted. The end of the body ends the request.
struct CountedBody {
    body: Body,
    line: RequestLine,
}

impl RequestFacts {
    /// Records the owner of the request.
    pub fn set_owner(&self, owner: &Owner) {
        let _ = self.0.owner.set(owner.clone());
    }

    /// Records that the request is cut off because its key is no longer in force.
    pub fn set_cut_off(&self) {
        let _ = self.0.cut_off.set(());
    }
}

impl RequestLine {
    /// Begins the line of a request, and attaches the facts for the inner layers. Returns the trace context for the
    /// work that the request causes.
    pub fn begin(occurrence: &Occurrence, request: &mut Request) -> (Self, Option<TraceParent>) {
        let parent = request.headers().get("traceparent");
        let parent = parent.and_then(|value| value.to_str().ok()?.parse().ok());
        let span = tracing::info_span!(
            target: traces::TARGET,
            "request",
            otel.kind = "server",
            http.request.method = %request.method(),
            http.response.status_code = Empty,
            http.route = Empty,
            url.path = &*occurrence.path,
            halfspace.request_id = &*occurrence.request_id,
            halfspace.key = Empty,
        );
        let trace = traces::follow(&span, parent);
        let facts = RequestFacts::default();
        let route = request.extensions().get::<MatchedPath>().cloned();
        let extensions = request.extensions_mut();
        extensions.insert(facts.clone());
        let exchange = extensions.remove::<AnswerGuard>();
        gauge!("halfspace_http_requests_in_flight").increment(1.0);
        let line = Self {
            begun: Instant::now(),
            occurrence: occurrence.clone(),
            peer: extensions.get::<Peer>().map(|peer| peer.0),
            method: request.method().clone(),
            route,
            facts,
            trace,
            span,
            head: None,
            bytes: 0,
            has_ended: false,
            _exchange: exchange,
        };
        (line, trace)
    }

    /// Counts a refusal by its reason.
    pub fn refused(&self, problem: &Problem) {
        let reason = problem.code().name();
        counter!("halfspace_rejects_total", "reason" => reason).increment(1);
    }

    /// Follows the answer to the end.
    pub fn follow(mut self, response: Response) -> Response {
        let seconds = self.begun.elapsed().as_secs_f64();
        self.head = Some((response.status().as_u16(), seconds));
        // The answer to a HEAD request has no body.
        self.has_ended = self.method == Method::HEAD;
        response.map(|body| Body::new(CountedBody { body, line: self }))
    }
}

impl Drop for RequestLine {
    fn drop(&mut self) {
        gauge!("halfspace_http_requests_in_flight").decrement(1.0);
        let seconds = self.begun.elapsed().as_secs_f64();
        let route = self.route.as_ref().map_or("unmatched", MatchedPath::as_str);
        // Without a status, the client left before the answer began. nginx logs the same status 499.
        let (status, head_seconds) = self.head.unwrap_or((499, seconds));
        let span = &self.span;
        traces::rename(span, || format!("{} {route}", self.method));
        span.record("http.route", route);
        span.record("http.response.status_code", status);
        span.record("halfspace.key", self.facts.0.owner.get().map(Owner::as_str));
        let labels = [
            ("method", method_label(&self.method).to_owned()),
            ("route", route.to_owned()),
            ("status", status.to_string()),
        ];
        histogram!("halfspace_http_request_seconds", &labels).record(head_seconds);
        let cut_off = self.facts.0.cut_off.get().is_some();
        tracing::info!(
            target: "halfspace::requests",
            request_id = &*self.occurrence.request_id,
            trace = self.trace.map(|trace| format!("{:032x}", trace.trace)),
            peer = self.peer.map(tracing::field::display),
            key = self.facts.0.owner.get().map(Owner::as_str),
            method = %self.method,
            route,
            path = &*self.occurrence.path,
            status,
            ms = (seconds * 1e6).round() / 1e3,
            bytes = self.bytes,
            cut_off,
            client_left = !self.has_ended && !cut_off,
            "request"
        );
    }
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => {
                self.line.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            }
            Some(Err(_)) => {}
            None => self.line.has_ended = true,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for CountedBody {
    fn drop(&mut self) {
        // A body of known length is not polled to its end.
        self.line.has_ended |= self.body.is_end_stream();
    }
}

/// Returns the method if it is a standard one, or `other`. A label must take few values, but a client may
/// name any method.
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
