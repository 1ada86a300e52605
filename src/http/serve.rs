//! The accept loop: limits on connections and heads, and an orderly end.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// The pause after an accept that failed for want of something, such as file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What the accept loop keeps to.
#[derive(Clone, Copy, Debug)]
pub struct ServeLimits {
    /// Connections at once; more wait to be accepted.
    pub connections_max: u64,
    /// A request's head must come within this time: the first from the beginning of the
    /// connection, the next one on a kept connection from the answer before.
    pub head_timeout: Duration,
    /// How long answers may take to end after the stop.
    pub patience: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            connections_max: 1024,
            head_timeout: Duration::from_secs(10),
            patience: Duration::from_secs(3),
        }
    }
}

/// Answers connections until `stop`, then lets those that are being answered end.
///
/// HTTP/1.1 only: to tell the versions apart a service would first wait for a client's bytes, and
/// that wait has no timer.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ServeLimits,
    stop: CancellationToken,
) {
    let connections_max = usize::try_from(limits.connections_max).unwrap_or(usize::MAX);
    let permits = Arc::new(Semaphore::new(connections_max.min(Semaphore::MAX_PERMITS)));
    let connections = GracefulShutdown::new();
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout);
    loop {
        let permit = tokio::select! {
            permit = Arc::clone(&permits).acquire_owned() => permit,
            () = stop.cancelled() => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "no connection can be accepted now");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Small answers go out at once, not when a packet is full.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let watched = connections.watch(connection);
        tokio::spawn(async move {
            // A broken connection is the client's business.
            let _ = watched.await;
            drop(permit);
        });
    }
    drop(listener);
    tokio::select! {
        () = connections.shutdown() => {}
        () = tokio::time::sleep(limits.patience) => tracing::warn!("connections are cut off at the end"),
    }
}
