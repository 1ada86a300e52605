//! Ends answers when the API key of their request is revoked. Event streams and NDJSON end with a problem; any other
//! answer ends with the connection, because its head has declared the length or the format.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::Error;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hyper::body::{Frame, SizeHint};

use halfspace_formats::Format;

use crate::http::authenticator::Access;
use crate::http::middleware::drain_body::poll_to_end;
use crate::http::middleware::request_line::RequestFacts;
use crate::http::problem::{Occurrence, Problem};

/// Bytes that are handed to the connection at once. A shorter answer is sent whole without another check of
/// the key.
const PIECE_BYTES: usize = 64 * 1024;

/// The parts of a request that a problem or a log line names.
pub struct Exchange {
    occurrence: Occurrence,
    facts: RequestFacts,
}

impl Exchange {
    pub fn of(request: &Request) -> Self {
        let extensions = request.extensions();
        Self {
            occurrence: extensions.get::<Occurrence>().cloned().unwrap_or_default(),
            facts: extensions
                .get::<RequestFacts>()
                .cloned()
                .unwrap_or_default(),
        }
    }

    /// The facts for the log line.
    pub fn facts(&self) -> &RequestFacts {
        &self.facts
    }
}

/// Lets an answer continue for as long as the key of its request is in force.
pub fn while_in_force(response: Response, access: Access, exchange: Exchange) -> Response {
    let length = response.body().size_hint().exact();
    if length.is_some_and(|length| length <= PIECE_BYTES as u64) {
        return response;
    }
    let form = match length {
        Some(_) => Form::OfKnownLength,
        None => Form::of(response.headers()),
    };
    response.map(|body| {
        let ended = async move { access.ended().await }.boxed();
        Body::new(WhileInForce {
            body: Some(body),
            rest: Bytes::new(),
            ended,
            form,
            exchange,
        })
    })
}

/// The way in which an answer can end with a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Server-sent events: the problem is an event.
    Events,
    /// NDJSON: the problem is a line.
    Lines,
    /// The connection ends. A problem would contradict the length or the format that the head declared.
    OfKnownLength,
}

impl Form {
    fn of(headers: &HeaderMap) -> Self {
        let media_type = headers.get(header::CONTENT_TYPE);
        match media_type.and_then(|value| value.to_str().ok()) {
            Some(text) if text.starts_with("text/event-stream") => Self::Events,
            Some(text) if text.starts_with(Format::Ndjson.media_type()) => Self::Lines,
            _ => Self::OfKnownLength,
        }
    }

    fn last(self, problem: &Problem, exchange: &Exchange) -> Option<Bytes> {
        let document = problem.document(&exchange.occurrence);
        match self {
            Self::Events => {
                let data = serde_json::to_string(&document).unwrap_or_default();
                Some(format!("event: error\ndata: {data}\n\n").into())
            }
            Self::Lines => Some(document.line().into()),
            Self::OfKnownLength => None,
        }
    }
}

/// The body of an answer that ends when the key is revoked.
struct WhileInForce {
    /// `None` at the end. Dropped when the key is revoked, which stops the work for the answer.
    body: Option<Body>,
    /// The rest of a frame that is longer than [`PIECE_BYTES`].
    rest: Bytes,
    ended: BoxFuture<'static, Problem>,
    form: Form,
    exchange: Exchange,
}

impl HttpBody for WhileInForce {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        if this.body.is_none() {
            return Poll::Ready(None);
        }
        if let Poll::Ready(problem) = this.ended.poll_unpin(context) {
            (this.body, this.rest) = (None, Bytes::new());
            this.exchange.facts.set_cut_off();
            let last = this.form.last(&problem, &this.exchange);
            let cut = || Error::new(std::io::Error::from(std::io::ErrorKind::ConnectionAborted));
            return Poll::Ready(Some(last.map(Frame::data).ok_or_else(cut)));
        }
        if this.rest.is_empty() {
            let frame = match ready!(poll_to_end(&mut this.body, context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                // Frames contain whole lines or events, so these answers are cut only between frames.
                Ok(data) if this.form == Form::OfKnownLength => this.rest = data,
                Ok(data) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        let length = this.rest.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(this.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        let is_over = |body: &Body| self.rest.is_empty() && body.is_end_stream();
        self.body.as_ref().is_none_or(is_over)
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.body.as_ref().map(Body::size_hint);
        match body.and_then(|hint| hint.exact()) {
            Some(left) if self.form == Form::OfKnownLength => {
                SizeHint::with_exact(left + self.rest.len() as u64)
            }
            _ => SizeHint::default(),
        }
    }
}
