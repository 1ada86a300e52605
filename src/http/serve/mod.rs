//! The accept loop of the server: limits on connections, request heads and slow readers, and an orderly
//! shutdown.
//!
//! The loop accepts every connection. At the limit, a new connection takes the place of the least useful
//! one (see [`connections`]), so no client can keep others out by holding connections. This module knows no
//! route.

mod connections;
mod write_rate;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use ipnet::IpNet;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::http::limits::Limits;

use connections::{Admitted, Connections};
pub use connections::{AnswerGuard, ConnectionUse};
use write_rate::WriteRate;

/// Pause after a failed accept, for example without free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Bytes of a request head, and of the buffers of each connection.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// Limits of the accept loop.
#[derive(Clone, Debug)]
pub struct ServeLimits {
    /// Concurrent connections. One address may hold half of them.
    pub connections_max: u64,
    /// Networks whose addresses may hold any number of connections.
    pub trusted_proxies: Vec<IpNet>,
    /// Time for a request head, from the beginning of the connection or from the previous answer.
    pub head_timeout: Duration,
    /// Time that the writes of a connection may be pending before the client has read 480 KiB.
    pub write_window: Duration,
    /// Time for running answers to end after the stop.
    pub timeout: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            connections_max: Limits::default().connections_max,
            trusted_proxies: Vec::new(),
            head_timeout: Duration::from_secs(10),
            write_window: Duration::from_secs(30),
            timeout: Duration::from_secs(3),
        }
    }
}

/// Address of the client, for the log line of a request.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// Serves connections until `stop`, then lets running answers end.
///
/// The server speaks HTTP/1.1 only. Telling two versions apart would first wait for bytes of the client,
/// and that wait has no timer.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ServeLimits,
    stop: CancellationToken,
) {
    let connections = Connections::new(limits.connections_max);
    let graceful = GracefulShutdown::new();
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .max_buf_size(BUFFER_BYTES_MAX)
        .header_read_timeout(limits.head_timeout);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let trusted = limits.trusted_proxies.iter();
                let is_trusted = trusted
                    .clone()
                    .any(|network| network.contains(&plain(peer)));
                let address = (!is_trusted).then(|| plain(peer));
                let admitted = connections.admit(address);
                let peer = Peer(plain(peer));
                // Small answers are sent at once instead of waiting for a full packet.
                let _ = stream.set_nodelay(true);
                let activity = Arc::clone(admitted.activity());
                let io = WriteRate::new(stream, activity, limits.write_window);
                let answered = answer(io, peer, admitted, &builder, &router, graceful.watcher());
                tokio::spawn(answered);
            }
            Err(error) => {
                tracing::warn!(%error, "no connection can be accepted now");
                // An aborted connection frees its file descriptor.
                connections.evict();
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    tokio::select! {
        () = graceful.shutdown() => {}
        () = tokio::time::sleep(limits.timeout) => tracing::warn!("open connections were closed \
                                                                    at shutdown"),
    }
}

/// Returns the address of the client. An IPv4 address within IPv6 becomes IPv4.
fn plain(peer: SocketAddr) -> IpAddr {
    peer.ip().to_canonical()
}

/// Answers the requests of one connection until the connection ends or another connection replaces it.
fn answer(
    io: WriteRate,
    peer: Peer,
    admitted: Admitted,
    builder: &http1::Builder,
    router: &Router,
    watcher: Watcher,
) -> impl Future<Output = ()> + use<> {
    let (activity, aborted) = (Arc::clone(admitted.activity()), admitted.aborted().clone());
    let (router, place) = (router.clone(), admitted.place());
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(place);
        let exchange = activity.begin();
        request.extensions_mut().insert(exchange.clone());
        let answered = router.clone().oneshot(request);
        async move {
            let response = answered.await;
            // The body of the answer holds another clone of the guard; see `RequestLine`.
            drop(exchange);
            response
        }
    });
    let connection = watcher.watch(builder.serve_connection(TokioIo::new(io), service));
    async move {
        tokio::select! {
            // A broken connection is an error of the client only, so the error is ignored.
            _ = connection => {}
            () = aborted.cancelled() => {}
        }
        drop(admitted);
    }
}
