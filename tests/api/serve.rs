//! The accept loop: the server drops connections of clients that send nothing or do not read.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use halfspace::http::{ServeLimits, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::service::TIMEOUT;

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// More bytes than the kernel buffers for a client that does not read.
const LARGE: &[u8] = &[b'a'; 16 << 20];

/// A server with a small page, a large page, and a page that is answered on a signal.
struct Server {
    address: SocketAddr,
    /// Counts the requests of `/slow` that have begun.
    begun: Arc<Semaphore>,
    answer: Arc<Semaphore>,
    stop: CancellationToken,
    served: JoinHandle<()>,
}

impl Server {
    async fn start(limits: ServeLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let [begun, answer] = [(); 2].map(|()| Arc::new(Semaphore::new(0)));
        let (slow_begun, slow_answer) = (Arc::clone(&begun), Arc::clone(&answer));
        let router = Router::new()
            .route("/", get(async || "here"))
            .route("/large", get(async || Bytes::from_static(LARGE)))
            .route(
                "/slow",
                get(async move || {
                    slow_begun.add_permits(1);
                    slow_answer.acquire().await.unwrap().forget();
                    "late"
                }),
            );
        let stop = CancellationToken::new();
        let served = tokio::spawn(serve(
            listener,
            router,
            Handle::current(),
            limits,
            stop.clone(),
        ));
        Self {
            address,
            begun,
            answer,
            stop,
            served,
        }
    }

    /// Opens a connection from another loopback address, with a small receive buffer.
    async fn connect(&self, from: [u8; 4]) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let from = SocketAddr::from((Ipv4Addr::from(from), 0));
        socket.bind(from).unwrap();
        socket.connect(self.address).await.unwrap()
    }

    /// Asserts that a request of another connection is answered.
    async fn assert_answers(&self) {
        assert_answered(TcpStream::connect(self.address).await.unwrap()).await;
    }

    async fn end(self) {
        self.stop.cancel();
        timeout(TIMEOUT, self.served).await.unwrap().unwrap();
    }
}

/// Only one connection is allowed. Each connection without a request head is dropped for the next one.
#[tokio::test]
async fn connection_without_a_request_head_makes_place() {
    let limits = ServeLimits {
        connections_max: 1,
        ..ServeLimits::default()
    };
    let server = Server::start(limits).await;
    for begun in [&b""[..], b"P", b"PR", b"GET / HTTP/1.1\r\nhost:"] {
        let mut holder = TcpStream::connect(server.address).await.unwrap();
        holder.write_all(begun).await.unwrap();
        server.assert_answers().await;
        assert_closed(holder).await;
    }
    server.end().await;
}

#[tokio::test]
async fn request_head_has_a_time_limit() {
    let limits = ServeLimits {
        head_timeout: Duration::from_millis(50),
        ..ServeLimits::default()
    };
    let server = Server::start(limits).await;
    for begun in [&b""[..], b"GET / HTTP/1.1\r\nhost:"] {
        let mut holder = TcpStream::connect(server.address).await.unwrap();
        holder.write_all(begun).await.unwrap();
        assert_closed(holder).await;
    }
    server.end().await;
}

#[tokio::test]
async fn request_head_beyond_64_kib_is_refused() {
    let server = Server::start(ServeLimits::default()).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "GET / HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n",
        "a".repeat(200_000)
    );
    // The refusal comes before the client has sent the whole head.
    let _ = stream.write_all(head.as_bytes()).await;
    let mut answer = [0; 12];
    timeout(TIMEOUT, stream.read_exact(&mut answer))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&answer, b"HTTP/1.1 431");
    server.end().await;
}

/// One address may hold half of the connections. A fifth connection replaces one that does not read, and
/// another address is not affected.
#[tokio::test]
async fn connections_that_do_not_read_make_place_for_others() {
    let limits = ServeLimits {
        connections_max: 8,
        ..ServeLimits::default()
    };
    let server = Server::start(limits).await;
    let mut held = Vec::new();
    for _ in 0..40 {
        let mut stream = server.connect([127, 0, 0, 2]).await;
        stream.write_all(&LARGE_GETS.concat()).await.unwrap();
        held.push(stream);
        server.assert_answers().await;
    }
    let mut open = 0;
    for mut stream in held {
        // The kernel of the client has the first bytes of the answer in any case.
        let mut rest = Vec::new();
        let read = timeout(Duration::from_millis(100), stream.read_to_end(&mut rest)).await;
        open += usize::from(!matches!(read, Ok(Err(_))));
    }
    assert!((1..=4).contains(&open), "{open} connections were left");
    server.end().await;
}

const LARGE_GETS: [&[u8]; 2] = [b"GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n"; 2];

/// An answer in progress keeps its connection when the address has reached its limit. The address may still
/// request `/livez` and `/readyz`, for which `router` in `src/http` keeps a reserve.
#[tokio::test]
async fn an_answer_in_the_making_keeps_its_connection() {
    let limits = ServeLimits {
        connections_max: 4,
        ..ServeLimits::default()
    };
    let server = Server::start(limits).await;
    let mut waiting = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream
            .write_all(b"GET /slow HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .await
            .unwrap();
        waiting.push(stream);
    }
    let begun = timeout(TIMEOUT, server.begun.acquire_many(2)).await;
    begun.unwrap().unwrap().forget();
    for _ in 0..20 {
        server.assert_answers().await;
    }
    server.answer.add_permits(2);
    for mut stream in waiting {
        let mut answer = String::new();
        let read = timeout(TIMEOUT, stream.read_to_string(&mut answer)).await;
        read.unwrap().unwrap();
        assert!(answer.ends_with("late"), "{answer}");
    }
    server.end().await;
}

/// A client that reads single bytes is cut off, by default after 30 s. A client that reads the whole answer is
/// not cut off, even with pauses.
#[tokio::test]
async fn a_client_that_reads_byte_by_byte_is_cut_off() {
    let limits = ServeLimits {
        write_window: Duration::from_millis(400),
        ..ServeLimits::default()
    };
    let server = Server::start(limits).await;
    let mut slow = server.connect([127, 0, 0, 2]).await;
    slow.write_all(LARGE_GETS[0]).await.unwrap();
    let mut byte = [0];
    // The client can still read the bytes in its kernel after the reset.
    let mut ticks = interval(Duration::from_millis(10));
    let cut_off = async {
        while slow.take_error().unwrap().is_none() && slow.read_exact(&mut byte).await.is_ok() {
            ticks.tick().await;
        }
    };
    timeout(TIMEOUT, cut_off)
        .await
        .expect("the connection to be cut off");
    let mut quick = server.connect([127, 0, 0, 2]).await;
    quick.write_all(LARGE_GETS[0]).await.unwrap();
    let mut buffer = vec![0; 1 << 20];
    let mut read = 0;
    while read < LARGE.len() {
        read += quick.read(&mut buffer).await.unwrap();
    }
    server.end().await;
}

/// Asserts that the connection ends without an answer.
async fn assert_closed(mut stream: TcpStream) {
    let mut rest = Vec::new();
    let closed = timeout(TIMEOUT, stream.read_to_end(&mut rest)).await;
    // A replaced connection is reset.
    let _ = closed.expect("the connection is closed");
    assert!(rest.is_empty());
}

/// Sends a request and reads the answer to the end of the connection.
async fn assert_answered(mut stream: TcpStream) {
    let closing = [&GET[..GET.len() - 2], b"connection: close\r\n\r\n"].concat();
    stream.write_all(&closing).await.unwrap();
    let mut answer = Vec::new();
    let read = timeout(TIMEOUT, stream.read_to_end(&mut answer)).await;
    read.expect("an answer and the end in time").unwrap();
    let text = String::from_utf8(answer).unwrap();
    assert!(
        text.starts_with("HTTP/1.1 200") && text.ends_with("here"),
        "{text}"
    );
}
