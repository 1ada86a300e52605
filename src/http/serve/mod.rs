//! The accept loop of the server: limits on connections, request heads and slow readers, and an orderly shutdown.
//!
//! Every connection is accepted. At the limit, a new one takes the place of the least useful (see [`connections`]). If
//! a client already holds half of all connections, a further one replaces one of its own that is idle or does not read,
//! or may only ask for `/livez` and `/readyz`. So nobody can keep others out by holding connections. The only route
//! known here is `/livez`, which a thread of its own answers (see [`serve`]).
//!
//! `axum::serve` 0.8 has none of these limits and no setting for them. It gives hyper no timer, so a client that sends
//! half a request head keeps its connection: after 180 s ours was still open. It reads heads of more than 400 kB,
//! accepts connections without a limit, and its shutdown waits for the last of them however long that takes.

mod connections;
mod runtime_watch;
mod write_rate;

use std::io;
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
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::http::limits::Limits;

use connections::{Admitted, Connections};
pub use connections::{AnswerGuard, ConnectionUse};
pub use runtime_watch::{RuntimeWatch, StallLimits};
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
    /// Path below which clients see the service; empty without a prefix.
    pub base_path: Arc<str>,
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
            base_path: Arc::default(),
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
/// A connection that begins with `GET /livez` is answered on the caller's runtime, which has a thread of its own, and
/// every other one on `runtime`. Liveness can therefore be told even while all threads of `runtime` are busy. Since
/// the first bytes decide, this costs a few microseconds per connection and nothing per request; a front runtime that
/// reads every request and passes it on would add a change of threads to each prediction. On a connection that has
/// already carried other requests, liveness is answered where those were.
///
/// The server speaks HTTP/1.1 only. To tell two versions apart it would first have to wait for bytes of the client,
/// and that wait has no timer.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    runtime: Handle,
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
    let server = Arc::new(Server {
        builder,
        router,
        runtime,
        limits,
        stop: stop.clone(),
    });
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let trusted = server.limits.trusted_proxies.iter();
                let is_trusted = trusted
                    .clone()
                    .any(|network| network.contains(&plain(peer)));
                let address = (!is_trusted).then(|| plain(peer));
                let connection = Connection {
                    peer: Peer(plain(peer)),
                    admitted: connections.admit(address),
                    watcher: graceful.watcher(),
                };
                // Small answers are sent at once instead of waiting for a full packet.
                let _ = stream.set_nodelay(true);
                tokio::spawn(Arc::clone(&server).begin(stream, connection));
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
        () = tokio::time::sleep(server.limits.timeout) => tracing::warn!("open connections were \
                                                                           closed at shutdown"),
    }
}

/// Returns the address of the client. An IPv4 address within IPv6 becomes IPv4.
fn plain(peer: SocketAddr) -> IpAddr {
    peer.ip().to_canonical()
}

/// The parts that all connections share.
struct Server {
    builder: http1::Builder,
    router: Router,
    /// Answers every connection but those that ask for liveness.
    runtime: Handle,
    limits: ServeLimits,
    stop: CancellationToken,
}

/// An accepted connection besides its socket.
struct Connection {
    peer: Peer,
    admitted: Admitted,
    watcher: Watcher,
}

/// The path that is answered even while neither the other threads nor the store answer.
pub const LIVENESS: &str = "/livez";

/// Bytes of a connection that decide where it is answered: a request line with a base path of the usual length.
const BEGUN_BYTES: usize = 256;

impl Server {
    /// Waits for the first bytes of a connection, and passes the connection to the runtime that answers it.
    async fn begin(self: Arc<Self>, stream: TcpStream, connection: Connection) {
        let asks_for_liveness = tokio::select! {
            begun = asks_for_liveness(&stream, &self.limits.base_path) => begun,
            () = connection.admitted.aborted().cancelled() => return,
            () = self.stop.cancelled() => return,
            () = tokio::time::sleep(self.limits.head_timeout) => return,
        };
        match asks_for_liveness {
            Ok(true) => self.answer(stream, connection, false).await,
            Ok(false) => {
                let Ok(stream) = stream.into_std() else {
                    return;
                };
                let runtime = self.runtime.clone();
                runtime.spawn(async move {
                    if let Ok(stream) = TcpStream::from_std(stream) {
                        self.answer(stream, connection, true).await;
                    }
                });
            }
            Err(_) => {}
        }
    }

    /// Answers the requests of one connection until the connection ends or another connection replaces it.
    async fn answer(self: Arc<Self>, stream: TcpStream, connection: Connection, keep_alive: bool) {
        let Connection {
            peer,
            admitted,
            watcher,
        } = connection;
        let (activity, aborted) = (Arc::clone(admitted.activity()), admitted.aborted().clone());
        let io = WriteRate::new(stream, Arc::clone(&activity), self.limits.write_window);
        let (server, place) = (Arc::clone(&self), admitted.place());
        let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(place);
            let exchange = activity.begin();
            request.extensions_mut().insert(exchange.clone());
            let answered = server.router.clone().oneshot(request);
            async move {
                let response = answered.await;
                // The body of the answer holds another clone of the guard; see `RequestLine`.
                drop(exchange);
                response
            }
        });
        let mut builder = self.builder.clone();
        builder.keep_alive(keep_alive);
        let connection = watcher.watch(builder.serve_connection(TokioIo::new(io), service));
        tokio::select! {
            // A broken connection is an error of the client only, so the error is ignored.
            _ = connection => {}
            () = aborted.cancelled() => {}
        }
        drop(admitted);
    }
}

/// Whether the first bytes of a connection ask for liveness, with or without the base path.
///
/// # Errors
/// The connection has ended.
async fn asks_for_liveness(stream: &TcpStream, base_path: &str) -> io::Result<bool> {
    let mut begun = [0; BEGUN_BYTES];
    let length = stream.peek(&mut begun).await?;
    if length == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut words = begun[..length].split(|byte| *byte == b' ');
    let method = words.next().unwrap_or_default();
    // The path is whole if another word begins behind it.
    let (path, version) = (words.next().unwrap_or_default(), words.next());
    let is_read = method == b"GET" || method == b"HEAD";
    let path = path.strip_prefix(base_path.as_bytes()).unwrap_or(path);
    Ok(is_read && version.is_some() && path == LIVENESS.as_bytes())
}
