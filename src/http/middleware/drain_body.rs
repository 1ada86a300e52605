//! Drains refused request bodies, so that the client can read the refusal.
//!
//! Many clients send their whole body before they read the response. If the service closed the connection earlier,
//! they would see a broken connection instead of the problem. It therefore reads up to [`DRAIN_BYTES_MAX`] bytes of a
//! refused body, for at most [`DRAIN_TIMEOUT`].

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Error;
use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt;
use hyper::body::{Frame, SizeHint};
use tokio::sync::oneshot;

/// Bytes of a refused body that are drained, and the time for draining.
const DRAIN_BYTES_MAX: u64 = 64 << 20;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);

/// Passes the request to `answer`, and drains the unread rest of the body if the answer is a refusal.
///
/// A body announced with `Expect` is not drained, because its client waits for permission to send it.
pub async fn drained(request: Request, answer: impl AsyncFnOnce(Request) -> Response) -> Response {
    if request.body().is_end_stream() || request.headers().contains_key(header::EXPECT) {
        return answer(request).await;
    }
    let mut returned = Leftover::default();
    let request = request.map(|body| {
        let (body, back) = lend(body);
        returned = back;
        body
    });
    let response = answer(request).await;
    let refused = response.status().is_client_error() || response.status().is_server_error();
    if response.status() == StatusCode::UNAUTHORIZED {
        // A client with a revoked key may send for a long time, so another task drains the body.
        tokio::spawn(returned.forget());
    } else if refused {
        returned.forget().await;
    }
    response
}

/// Splits a body into one for a reader and a handle to the part that the reader leaves unread.
pub fn lend(body: Body) -> (Body, Leftover) {
    let (back, returned) = oneshot::channel();
    let (body, back) = (Some(body), Some(back));
    (
        Body::new(RecoverableBody { body, back }),
        Leftover(Some(returned)),
    )
}

/// The unread rest of a body, once its reader has dropped the body.
#[derive(Default)]
pub struct Leftover(Option<oneshot::Receiver<Body>>);

impl Leftover {
    /// Drains the unread rest, if there is one.
    pub async fn forget(self) {
        if let Some(Ok(rest)) = self.0.map(|mut returned| returned.try_recv()) {
            forget(rest.into_data_stream()).await;
        }
    }
}

/// Drains a body until its end or a limit on draining.
pub async fn forget(mut frames: BodyDataStream) {
    let read_on = async {
        let mut read = 0;
        while let Some(Ok(frame)) = frames.next().await {
            read += frame.len() as u64;
            if read > DRAIN_BYTES_MAX {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, read_on).await;
}

/// Polls the next frame of a body. The body is dropped at the end or after an error.
pub fn poll_to_end(
    body: &mut Option<Body>,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
    let Some(open) = body else {
        return Poll::Ready(None);
    };
    let polled = Pin::new(open).poll_frame(context);
    if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
        *body = None;
    }
    polled
}

/// A body that sends itself to its [`Leftover`] when it is dropped before its end.
struct RecoverableBody {
    /// `None` at the end.
    body: Option<Body>,
    back: Option<oneshot::Sender<Body>>,
}

impl HttpBody for RecoverableBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        poll_to_end(&mut self.body, context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body
            .as_ref()
            .map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for RecoverableBody {
    fn drop(&mut self) {
        if let (Some(body), Some(back)) = (self.body.take(), self.back.take()) {
            // The receiver may be gone.
            let _ = back.send(body);
        }
    }
}
