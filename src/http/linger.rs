//! Refusals with a body still under way: the body is read on for a moment, so that a client that
//! sends before it listens gets its answer and not a broken connection.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Error;
use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt;
use hyper::body::{Frame, SizeHint};
use tokio::sync::oneshot;

/// How much of a refused body is still read, and for how long.
const LINGER_BYTES_MAX: u64 = 64 << 20;
const LINGER: Duration = Duration::from_secs(3);

/// Lends a handler the body, and reads what it left of it when it refused.
///
/// A client that waits for leave to send (`Expect`) needs none of this: it is not asked on.
pub async fn linger(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() || request.headers().contains_key(header::EXPECT) {
        return next.run(request).await;
    }
    let mut returned = Returned::default();
    let request = request.map(|body| {
        let (body, back) = lend(body);
        returned = back;
        body
    });
    let response = next.run(request).await;
    let refused = response.status().is_client_error() || response.status().is_server_error();
    if response.status() == StatusCode::UNAUTHORIZED {
        // A client whose key was revoked may continue to send for long.
        tokio::spawn(returned.forget());
    } else if refused {
        returned.forget().await;
    }
    response
}

/// A body to be read by another, and what comes back of it.
pub fn lend(body: Body) -> (Body, Returned) {
    let (back, returned) = oneshot::channel();
    let (body, back) = (Some(body), Some(back));
    (Body::new(Lent { body, back }), Returned(Some(returned)))
}

/// What its reader leaves of a body.
#[derive(Default)]
pub struct Returned(Option<oneshot::Receiver<Body>>);

impl Returned {
    /// Reads on for a moment, if something is left.
    pub async fn forget(self) {
        if let Some(Ok(rest)) = self.0.map(|mut returned| returned.try_recv()) {
            forget(rest.into_data_stream()).await;
        }
    }
}

/// Reads a body on for a moment.
pub async fn forget(mut frames: BodyDataStream) {
    let read_on = async {
        let mut read = 0;
        while let Some(Ok(frame)) = frames.next().await {
            read += frame.len() as u64;
            if read > LINGER_BYTES_MAX {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(LINGER, read_on).await;
}

/// The next frame of a body. The body is dropped at the end or after an error.
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

/// A body that goes back when it is dropped before its end.
struct Lent {
    /// None at the end.
    body: Option<Body>,
    back: Option<oneshot::Sender<Body>>,
}

impl HttpBody for Lent {
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

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(body), Some(back)) = (self.body.take(), self.back.take()) {
            // Whoever lent it may be gone.
            let _ = back.send(body);
        }
    }
}
