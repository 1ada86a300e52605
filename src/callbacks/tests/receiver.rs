//! A test server on the loopback address, which sends prepared responses and records the requests.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The response to one request.
#[derive(Clone)]
pub enum ReceiverResponse {
    /// Sends this text and closes the connection.
    Text(String),
    /// Closes the connection without a response.
    Close,
    /// Sends nothing and keeps the connection open.
    Silence,
}

impl ReceiverResponse {
    /// A response with this status and no body.
    pub fn status(line: &str) -> Self {
        Self::Text(format!("HTTP/1.1 {line}\r\ncontent-length: 0\r\n\r\n"))
    }
}

/// One request as received.
#[derive(Debug)]
pub struct Received {
    pub line: String,
    /// Names are in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Received {
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        let mut all = self.headers.iter().filter(|(known, _)| known == name);
        let (_, value) = all.next().unwrap_or_else(|| panic!("no {name}"));
        assert!(all.next().is_none(), "{name} twice");
        value
    }
}

/// The server. It stops when it is dropped.
pub struct Receiver {
    pub address: SocketAddr,
    requests: mpsc::UnboundedReceiver<Received>,
    task: JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Receiver {
    /// Starts a plain HTTP server that gives one of these responses per connection.
    pub async fn plain(answers: Vec<ReceiverResponse>) -> Self {
        Self::start(answers, None).await
    }

    /// Starts the same server over TLS.
    pub async fn encrypted(answers: Vec<ReceiverResponse>, acceptor: TlsAcceptor) -> Self {
        Self::start(answers, Some(acceptor)).await
    }

    async fn start(answers: Vec<ReceiverResponse>, acceptor: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut silent = Vec::new();
            for answer in answers {
                let (stream, _) = listener.accept().await.unwrap();
                let stream = match &acceptor {
                    None => Stream::new(stream),
                    // A client that does not trust the certificate ends the handshake.
                    Some(acceptor) => match acceptor.accept(stream).await {
                        Ok(stream) => Stream::new(stream),
                        Err(_) => continue,
                    },
                };
                silent.extend(stream.serve(answer, &sender).await);
            }
            // Connections after the last response are refused, as by a server that has stopped.
            drop(listener);
            std::future::pending::<()>().await;
        });
        Self {
            address,
            requests,
            task,
        }
    }

    /// The next complete request.
    pub async fn request(&mut self) -> Received {
        self.requests.recv().await.expect("a request")
    }
}

trait Both: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Both for S {}

/// A plain or encrypted connection.
struct Stream(Box<dyn Both>);

impl Stream {
    fn new(stream: impl Both + 'static) -> Self {
        Self(Box::new(stream))
    }

    /// Reads a request and sends the response. Returns the connection if it must stay open.
    async fn serve(
        mut self,
        answer: ReceiverResponse,
        sender: &mpsc::UnboundedSender<Received>,
    ) -> Option<Self> {
        let received = self.read().await?;
        sender.send(received).ok()?;
        match answer {
            ReceiverResponse::Text(text) => {
                self.0.write_all(text.as_bytes()).await.ok()?;
                self.0.shutdown().await.ok()?;
                None
            }
            ReceiverResponse::Close => None,
            ReceiverResponse::Silence => Some(self),
        }
    }

    async fn read(&mut self) -> Option<Received> {
        let mut bytes = Vec::new();
        let head_end = loop {
            if self.0.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
            let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                break end;
            }
        };
        let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
        let mut lines = head.lines();
        let line = lines.next().unwrap().to_owned();
        let headers = lines.map(|line| line.split_once(": ").unwrap());
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        let mut received = Received {
            line,
            headers: headers.collect(),
            body: String::new(),
        };
        let length: usize = received.header("content-length").parse().unwrap();
        while bytes.len() < head_end + 4 + length {
            if self.0.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
        }
        received.body = String::from_utf8(bytes.split_off(head_end + 4)).unwrap();
        Some(received)
    }
}

/// A self-signed certificate for this name, and an acceptor that serves it.
pub fn self_made(name: &str) -> (TlsAcceptor, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), certificate)
}
