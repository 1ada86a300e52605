//! The load client of `benches/peers/services.py`, and an empty server.
//!
//! Without arguments, the program reads one load per line and answers each line in JSON. All servers get their load
//! from it. `empty ADDRESS` serves a handler that only reads the body, and no service can be faster than that.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::error::Error;
use std::io::{self, BufRead, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use axum::serve::ListenerExt;
use rand::Rng;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A line of the input. Each connection sends its requests one after another, each with other examples.
#[derive(Deserialize)]
struct Load {
    address: String,
    path: String,
    body: Body,
    /// Features per example.
    n: usize,
    /// Examples per request.
    size: usize,
    connections: u64,
    /// Requests per connection.
    requests: usize,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Body {
    /// A request without examples.
    Nothing,
    /// Bit strings in a JSON document.
    BitStrings,
    /// A bit string per line.
    Lines,
    /// A tensor of the Open Inference Protocol.
    Tensor,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, address] = &arguments[..]
        && mode == "empty"
    {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        return runtime.block_on(serve_nothing(address));
    }
    for line in io::stdin().lock().lines() {
        let load: Load = serde_json::from_str(&line?)?;
        println!("{}", json!({"seconds": load.measure()?}));
        io::stdout().flush()?;
    }
    Ok(())
}

async fn serve_nothing(address: &str) -> Outcome<()> {
    let router = Router::new().route("/", post(async |_: Bytes| ()).get(async || ()));
    let listener = TcpListener::bind(address).await?.tap_io(|stream| {
        // A delayed answer of this one would flatter the servers compared with it.
        stream.set_nodelay(true).expect("a TCP connection");
    });
    Ok(axum::serve(listener, router).await?)
}

impl Load {
    /// Seconds per request. Before the measurement the requests are ready and the connections open.
    fn measure(&self) -> Outcome<f64> {
        let ready = |connection| {
            let mut random = StdRng::seed_from_u64(connection);
            let requests: Vec<String> = (0..self.requests)
                .map(|_| self.request(&mut random))
                .collect();
            let stream = TcpStream::connect(&self.address)?;
            stream.set_nodelay(true)?;
            Ok((stream, requests))
        };
        let mut all = (0..self.connections)
            .map(ready)
            .collect::<Outcome<Vec<_>>>()?;
        let begun = Instant::now();
        thread::scope(|scope| {
            let sent = all.iter_mut().map(|(stream, requests)| {
                scope.spawn(|| {
                    requests
                        .iter()
                        .try_for_each(|request| exchange(stream, request))
                })
            });
            let sent: Vec<_> = sent.collect();
            sent.into_iter()
                .try_for_each(|sent| sent.join().expect("no panic"))
        })?;
        Ok(begun.elapsed().as_secs_f64() / (all.len() * self.requests) as f64)
    }

    fn request(&self, random: &mut StdRng) -> String {
        let rows: Vec<String> = (0..self.size).map(|_| row(self.n, random)).collect();
        let (media_type, body) = match self.body {
            Body::Nothing => {
                return format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", self.path);
            }
            Body::Lines => ("application/x-ndjson", rows.join("\n") + "\n"),
            Body::BitStrings => (
                "application/json",
                json!({"unlabelled": {"examples": rows}}).to_string(),
            ),
            Body::Tensor => ("application/json", self.tensor(&rows)),
        };
        format!(
            "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n{body}",
            self.path,
            body.len()
        )
    }

    /// There are blanks after the commas, because `json.dumps` of Python writes them.
    fn tensor(&self, rows: &[String]) -> String {
        let bits: Vec<&str> = rows
            .iter()
            .flat_map(|row| row.split_terminator("").skip(1))
            .collect();
        format!(
            "{{\"inputs\": [{{\"name\": \"x\", \"datatype\": \"UINT8\", \"shape\": [{}, {}], \"data\": [{}]}}]}}",
            self.size,
            self.n,
            bits.join(", ")
        )
    }
}

fn row(n: usize, random: &mut StdRng) -> String {
    let mut row = String::with_capacity(n + 64);
    while row.len() < n {
        row.push_str(&format!("{:064b}", random.next_u64()));
    }
    row.truncate(n);
    row
}

/// Sends a request and reads its answer. Every status but 200 is an error.
fn exchange(stream: &mut TcpStream, request: &str) -> Outcome<()> {
    stream.write_all(request.as_bytes())?;
    let answer = read_answer(stream)?;
    match answer.starts_with("HTTP/1.1 200") {
        true => Ok(()),
        false => Err(answer.into()),
    }
}

/// Reads a whole answer, whose head gives the length, or whose body comes in chunks.
fn read_answer(stream: &mut TcpStream) -> Outcome<String> {
    let mut answer = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut body_end = None;
    loop {
        let read = stream.read(&mut buffer)?;
        answer.extend_from_slice(&buffer[..read]);
        if body_end.is_none()
            && let Some(head) = answer.windows(4).position(|four| four == b"\r\n\r\n")
        {
            let text = String::from_utf8_lossy(&answer[..head]).to_ascii_lowercase();
            let length = text
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            body_end = Some(match length {
                Some(length) => head + 4 + length.parse::<usize>()?,
                None => usize::MAX,
            });
        }
        let is_whole = match body_end {
            None => false,
            Some(usize::MAX) => answer.ends_with(b"0\r\n\r\n"),
            Some(end) => answer.len() >= end,
        };
        if is_whole || read == 0 {
            return Ok(String::from_utf8(answer)?);
        }
    }
}
