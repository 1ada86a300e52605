//! An S3 server for objects that become datasets: with lengths, versions, ranges, conditions, redirects, and a gate
//! that holds back parts of objects.

use std::collections::HashMap;
use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::bucket::S3_SECRET;

/// A running server with its objects, by `bucket/key`.
pub struct SourceServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    objects: Mutex<HashMap<String, Object>>,
    /// The method and target of each request.
    requests: Mutex<Vec<String>>,
    /// Parts that begin at this byte or later are held back.
    gate: watch::Sender<u64>,
}

/// An object, or what the server answers in its place.
#[derive(Clone)]
pub struct Object {
    body: Arc<Body>,
    etag: u32,
    media_type: Option<&'static str>,
    content_encoding: Option<&'static str>,
    /// The status and the headers of an answer without the object.
    instead: Option<(u16, String)>,
}

enum Body {
    Bytes(Vec<u8>),
    File(File, u64),
}

impl Object {
    fn of(body: Body) -> Self {
        Self {
            body: Arc::new(body),
            etag: 1,
            media_type: None,
            content_encoding: None,
            instead: None,
        }
    }

    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::of(Body::Bytes(bytes.into()))
    }

    pub fn file(path: &Path) -> Self {
        let file = File::open(path).unwrap();
        let length = file.metadata().unwrap().len();
        Self::of(Body::File(file, length))
    }

    /// An answer of this status to every request, with these lines of the head.
    pub fn answering(status: u16, head: &str) -> Self {
        Self {
            instead: Some((status, head.to_owned())),
            ..Self::bytes("")
        }
    }

    pub fn of_type(self, media_type: &'static str) -> Self {
        Self {
            media_type: Some(media_type),
            ..self
        }
    }

    pub fn encoded(self, content_encoding: &'static str) -> Self {
        Self {
            content_encoding: Some(content_encoding),
            ..self
        }
    }

    pub fn version(self, etag: u32) -> Self {
        Self { etag, ..self }
    }

    fn length(&self) -> u64 {
        match &*self.body {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::File(_, length) => *length,
        }
    }

    fn read(&self, start: u64, end: u64) -> Vec<u8> {
        match &*self.body {
            Body::Bytes(bytes) => bytes[start as usize..end as usize].to_vec(),
            Body::File(file, _) => {
                let mut read = vec![0; (end - start) as usize];
                file.read_exact_at(&mut read, start).unwrap();
                read
            }
        }
    }
}

impl SourceServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            objects: Mutex::default(),
            requests: Mutex::default(),
            gate: watch::Sender::new(u64::MAX),
        });
        let own = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&own)));
            }
        });
        Self { address, shared }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn put(&self, place: &str, object: Object) {
        let mut objects = self.shared.objects.lock().unwrap();
        objects.insert(place.to_owned(), object);
    }

    /// Holds back every part that begins at this byte or later.
    pub fn hold_from(&self, byte: u64) {
        self.shared.gate.send_replace(byte);
    }

    /// Holds nothing back any more.
    pub fn release(&self) {
        self.shared.gate.send_replace(u64::MAX);
    }

    /// The requests so far, such as `HEAD /bucket/key`.
    pub fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// The settings of a service that may read these prefixes.
    pub fn settings(&self, prefixes: &str) -> Vec<String> {
        let endpoint = format!("http://{}", self.address);
        let settings = [
            ("--sources", prefixes),
            ("--aws-endpoint-url", endpoint.as_str()),
            ("--aws-access-key-id", "ada"),
            ("--aws-secret-access-key", S3_SECRET),
        ];
        let settings = settings.iter().flat_map(|(name, value)| [*name, *value]);
        settings.map(str::to_owned).collect()
    }
}

/// Answers one request and closes the connection.
async fn answer(mut stream: TcpStream, shared: Arc<Shared>) -> Option<()> {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
    let text = String::from_utf8_lossy(&read).into_owned();
    let mut words = text.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let asked = format!("{method} {target}");
    shared.requests.lock().unwrap().push(asked);
    let header = |name: &str| {
        text.lines().find_map(|line| {
            let (own, value) = line.split_once(':')?;
            own.eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    };
    let place = decoded(target.trim_start_matches('/'));
    let object = shared.objects.lock().unwrap().get(&place).cloned();
    let (head, body) = match object {
        None => failed(404, "NoSuchKey"),
        Some(Object {
            instead: Some((status, head)),
            ..
        }) => (
            format!("HTTP/1.1 {status} As told\r\n{head}content-length: 0\r\n"),
            Vec::new(),
        ),
        Some(object) => {
            let etag = format!("\"{}\"", object.etag);
            if header("if-match").is_some_and(|asked| asked != etag) {
                failed(412, "PreconditionFailed")
            } else {
                let length = object.length();
                let range = header("range").and_then(|range| {
                    let (start, end) = range.strip_prefix("bytes=")?.split_once('-')?;
                    Some((
                        start.parse().ok()?,
                        length.min(end.parse::<u64>().ok()? + 1),
                    ))
                });
                let (start, end) = range.unwrap_or((0, length));
                let mut gate = shared.gate.subscribe();
                if method == "GET" {
                    gate.wait_for(|&from| start < from).await.ok()?;
                }
                let mut head = match range {
                    None => "HTTP/1.1 200 OK\r\n".to_owned(),
                    Some(_) => format!(
                        "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes {start}-{}/{length}\r\n",
                        end - 1
                    ),
                };
                head += &format!(
                    "content-length: {}\r\netag: {etag}\r\n\
                     last-modified: Wed, 01 Jan 2025 00:00:00 GMT\r\n",
                    end - start
                );
                for (name, value) in [
                    ("content-type", object.media_type),
                    ("content-encoding", object.content_encoding),
                ] {
                    if let Some(value) = value {
                        head += &format!("{name}: {value}\r\n");
                    }
                }
                (head, object.read(start, end))
            }
        }
    };
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(b"connection: close\r\n\r\n").await.ok()?;
    if method != "HEAD" {
        stream.write_all(&body).await.ok()?;
    }
    stream.shutdown().await.ok()
}

fn failed(status: u16, code: &str) -> (String, Vec<u8>) {
    let body = format!("<Error><Code>{code}</Code><Message>No.</Message></Error>");
    let head = format!(
        "HTTP/1.1 {status} As told\r\ncontent-length: {}\r\n",
        body.len()
    );
    (head, body.into_bytes())
}

/// A target without its percent-encoding.
fn decoded(target: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = target.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                let text = std::str::from_utf8(&digits).unwrap();
                bytes.push(u8::from_str_radix(text, 16).unwrap());
                rest = after;
            }
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).unwrap()
}
