//! The part of S3 that the start of a service needs, in a store that refuses chosen requests.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A store that refuses some requests.
pub struct TinyS3 {
    address: SocketAddr,
}

/// A rule for refused requests and their answers.
#[derive(Clone, Copy)]
struct Refusal {
    /// The refused method, or an empty text for all methods.
    method: &'static str,
    status: u16,
    code: &'static str,
}

type Objects = Arc<Mutex<HashMap<String, Vec<u8>>>>;

impl TinyS3 {
    /// A store that answers requests of this method with this status and this code. Its answer repeats the
    /// headers of the request. `LIST` stands for lists, and an empty method for all requests.
    pub async fn refusing(method: &'static str, status: u16, code: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let refusal = Refusal {
            method,
            status,
            code,
        };
        Self::start(listener, refusal)
    }

    /// A store on this socket that refuses nothing.
    pub fn on(listener: TcpListener) -> Self {
        let refusal = Refusal {
            method: "NOTHING",
            status: 403,
            code: "",
        };
        Self::start(listener, refusal)
    }

    fn start(listener: TcpListener, refusal: Refusal) -> Self {
        let address = listener.local_addr().unwrap();
        let objects = Objects::default();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, refusal, Arc::clone(&objects)));
            }
        });
        Self { address }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Answers one request and closes the connection.
async fn answer(mut stream: TcpStream, refusal: Refusal, objects: Objects) -> Option<()> {
    let mut read = Vec::new();
    let head = loop {
        if let Some(at) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8_lossy(&read[..head]).into_owned();
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().unwrap())
    });
    while read.len() < head + 4 + length.unwrap_or(0) {
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
    let body = read.split_off(head + 4);
    let mut words = text.split_whitespace();
    let (method, target) = (words.next()?, words.next()?);
    let method = if target.contains("list-type") {
        "LIST"
    } else {
        method
    };
    let (status, body) = if refusal.method.is_empty() || refusal.method == method {
        let code = refusal.code;
        let told = format!(
            "<Error><Code>{code}</Code><Message>No.</Message><Headers>{text}</Headers></Error>"
        );
        (refusal.status, told.into_bytes())
    } else {
        serve(method, target, body, &objects)
    };
    let head = format!(
        "HTTP/1.1 {status} As told\r\ncontent-length: {}\r\nconnection: close\r\netag: \"1\"\r\n\
         last-modified: Wed, 01 Jan 2025 00:00:00 GMT\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(&body).await.ok()?;
    stream.shutdown().await.ok()
}

fn serve(method: &str, target: &str, body: Vec<u8>, objects: &Objects) -> (u16, Vec<u8>) {
    let mut objects = objects.lock().unwrap();
    let missing = b"<Error><Code>NoSuchKey</Code></Error>".to_vec();
    match method {
        "LIST" => {
            let none = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
            (200, none.into())
        }
        "PUT" => {
            objects.insert(target.to_owned(), body);
            (200, Vec::new())
        }
        "GET" => objects
            .get(target)
            .map_or((404, missing), |found| (200, found.clone())),
        "DELETE" => {
            objects.remove(target);
            (204, Vec::new())
        }
        other => panic!("{other} {target}"),
    }
}
