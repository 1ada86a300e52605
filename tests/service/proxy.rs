//! A proxy in front of a database or an object store, which can disconnect or discard bytes as a broken network does.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// Treatment of connections and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Forwards bytes in both directions.
    Forward,
    /// Discards bytes without an error.
    Swallow,
    /// Closes every connection, and every new one at once.
    Refuse,
    /// Forwards new connections. Older ones stay silent, as if a device between the hosts had forgotten them.
    ForwardNew,
}

/// A running proxy, whose connections end with it.
pub struct Proxy {
    address: SocketAddr,
    way: watch::Sender<Way>,
}

impl Proxy {
    /// Starts a proxy in front of the server at this socket.
    pub async fn start(socket: PathBuf) -> Self {
        Self::listen(move || UnixStream::connect(socket.clone())).await
    }

    /// Starts a proxy in front of the server at this address.
    pub async fn before(server: SocketAddr) -> Self {
        Self::listen(move || TcpStream::connect(server)).await
    }

    async fn listen<S, F>(connect: impl Fn() -> F + Send + 'static) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        F: Future<Output = io::Result<S>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (way, changes) = watch::channel(Way::Forward);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, changes) = (connect(), changes.clone());
                tokio::spawn(async move {
                    if let Ok(server) = server.await {
                        between(client, server, changes).await;
                    }
                });
            }
        });
        Self { address, way }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the treatment of all connections, including open ones.
    pub fn turn(&self, way: Way) {
        self.way.send(way).unwrap();
    }
}

/// Copies bytes in both directions until either end closes or the proxy refuses.
async fn between(
    mut client: TcpStream,
    mut server: impl AsyncRead + AsyncWrite + Unpin,
    mut way: watch::Receiver<Way>,
) {
    let born = *way.borrow_and_update();
    let mut question = [0; 16 * 1024];
    let mut answer = [0; 16 * 1024];
    loop {
        let now = *way.borrow_and_update();
        let is_forgotten = now == Way::ForwardNew && born != Way::ForwardNew;
        match now {
            Way::Refuse => return,
            _ if now == Way::Swallow || is_forgotten => {
                if way.changed().await.is_err() {
                    return;
                }
            }
            _ => tokio::select! {
                read = client.read(&mut question) => match read {
                    Ok(count) if count > 0 => {
                        if server.write_all(&question[..count]).await.is_err() {
                            return;
                        }
                    }
                    _ => return,
                },
                read = server.read(&mut answer) => match read {
                    Ok(count) if count > 0 => {
                        if client.write_all(&answer[..count]).await.is_err() {
                            return;
                        }
                    }
                    _ => return,
                },
                changed = way.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
            },
        }
    }
}
