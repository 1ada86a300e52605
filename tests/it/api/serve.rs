//! The accept loop: who holds a connection and says nothing loses it.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use halfspace::http::{ServeLimits, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::service::PATIENCE;

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// With room for one connection, each of these holds it, and a request waits behind: it is
/// answered once the time for a head is over.
#[tokio::test]
async fn a_connection_that_brings_no_head_is_closed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/", get(async || "here"));
    let limits = ServeLimits {
        connections_max: 1,
        head_timeout: Duration::from_millis(50),
        ..ServeLimits::default()
    };
    let stop = CancellationToken::new();
    let served = tokio::spawn(serve(listener, router, limits, stop.clone()));
    for begun in [&b""[..], b"P", b"PR", b"GET / HTTP/1.1\r\nhost:"] {
        let mut holder = TcpStream::connect(address).await.unwrap();
        holder.write_all(begun).await.unwrap();
        assert_answered(TcpStream::connect(address).await.unwrap()).await;
        let mut rest = Vec::new();
        let closed = timeout(PATIENCE, holder.read_to_end(&mut rest)).await;
        closed.expect("the holder is let go").unwrap();
    }
    stop.cancel();
    timeout(PATIENCE, served).await.unwrap().unwrap();
}

/// Sends a request; its answer comes, and then, for want of a second request, the end.
async fn assert_answered(mut stream: TcpStream) {
    stream.write_all(GET).await.unwrap();
    let mut answer = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    read.expect("an answer and the end in time").unwrap();
    let text = String::from_utf8(answer).unwrap();
    assert!(
        text.starts_with("HTTP/1.1 200") && text.ends_with("here"),
        "{text}"
    );
}
