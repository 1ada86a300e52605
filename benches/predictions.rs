//! Predictions per second of a stored model, with one and with a thousand predictions per request, beside empty
//! handlers.
//!
//! Run `cargo bench --bench predictions`. The service, an empty handler and the client run in this process.
//! Each uses one kept connection and sends one request after another. The measurements alternate with a few
//! requests per round, and every request holds other examples. The benchmark prints the medians of all rounds,
//! and their ratio to the empty handler that reads the same body.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use clap::Parser;
use halfspace::app::Service;
use halfspace::config::CommandLine;
use halfspace::http::{ServeLimits, serve};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Features per example.
const N: usize = 256;
const BATCH: usize = 1000;
const ROUNDS: usize = 40;
const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";

fn main() -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let stop = CancellationToken::new();
    let empty = runtime.block_on(start_empty(stop.clone()))?;
    let service = runtime.block_on(start_service(directory.path(), stop.clone()))?;
    let mut cases = vec![
        Case::new("empty axum handler, one", empty, "/", JSON, 1)?,
        Case::new("empty axum handler, 1,000", empty, "/", JSON, BATCH)?,
        Case::new("GET /livez", service, "/livez", "", 1)?,
    ];
    for (learner, target) in [
        ("directed-drift", "\"binary_weights\": {}"),
        ("perceptron", "\"binary_weights\": {}"),
        ("winnow", "\"disjunction\": {\"size\": 5}"),
        ("kernel-perceptron", "\"binary_weights\": {}"),
    ] {
        let path = predict_path(service, learner, target)?;
        for (size, media_type) in [(1, JSON), (BATCH, JSON), (BATCH, NDJSON)] {
            let kind = media_type.rsplit(['/', '-']).next().unwrap_or_default();
            let name = format!("{learner}, {size} a request, {kind}");
            cases.push(Case::new(&name, service, &path, media_type, size)?);
        }
    }
    for round in 0..ROUNDS {
        for case in &mut cases {
            for _ in 0..case.requests_a_round() {
                let taken = case.request()?;
                // The first round is a warm-up.
                if round > 0 {
                    case.taken.push(taken);
                }
            }
        }
    }
    report(&mut cases);
    stop.cancel();
    Ok(())
}

fn report(cases: &mut [Case]) {
    let empty = [cases[0].median(), cases[1].median()];
    println!("n = {N}; medians, a client that waits for each answer");
    println!(
        "{:<44} {:>14} {:>14} {:>10}",
        "", "microseconds", "examples/s", "to empty"
    );
    for case in cases {
        let median = case.median();
        let rate = case.size as f64 / median;
        let ratio = median / empty[usize::from(case.size > 1)];
        println!(
            "{:<44} {:>14.0} {rate:>14.0} {ratio:>10.2}",
            case.name,
            median * 1e6
        );
    }
}

struct Case {
    name: String,
    path: String,
    media_type: &'static str,
    /// Examples per request.
    size: usize,
    stream: TcpStream,
    random: u64,
    taken: Vec<f64>,
}

impl Case {
    fn new(
        name: &str,
        address: SocketAddr,
        path: &str,
        media_type: &'static str,
        size: usize,
    ) -> Outcome<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            name: name.to_owned(),
            path: path.to_owned(),
            media_type,
            size,
            stream,
            random: 0x9E37_79B9_7F4A_7C15,
            taken: Vec::new(),
        })
    }

    fn requests_a_round(&self) -> usize {
        if self.size == 1 { 50 } else { 3 }
    }

    fn median(&mut self) -> f64 {
        self.taken.sort_by(f64::total_cmp);
        self.taken[self.taken.len() / 2]
    }

    /// Sends one request of new examples. Returns the seconds until its answer.
    fn request(&mut self) -> Outcome<f64> {
        let rows: Vec<String> = (0..self.size).map(|_| self.row()).collect();
        let body = match self.media_type {
            "" => String::new(),
            JSON => format!(
                "{{\"unlabelled\": {{\"examples\": [\"{}\"]}}}}",
                rows.join("\", \"")
            ),
            _ => rows.join("\n") + "\n",
        };
        let request = match self.media_type {
            "" => format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", self.path),
            media_type => format!(
                "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                self.path,
                body.len()
            ),
        };
        let begun = Instant::now();
        self.stream.write_all(request.as_bytes())?;
        let answer = read_answer(&mut self.stream)?;
        let taken = begun.elapsed().as_secs_f64();
        if !answer.starts_with("HTTP/1.1 200") {
            return Err(answer.into());
        }
        Ok(taken)
    }

    fn row(&mut self) -> String {
        let mut row = String::with_capacity(N);
        for _ in 0..N / 64 {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            row.push_str(&format!("{:064b}", self.random));
        }
        row
    }
}

/// A handler that reads the body and answers nothing, behind the service's accept loop.
async fn start_empty(stop: CancellationToken) -> Outcome<SocketAddr> {
    let router = Router::new().route("/", post(async |_: Bytes| ()));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(serve(listener, router, ServeLimits::default(), stop));
    Ok(address)
}

async fn start_service(directory: &Path, stop: CancellationToken) -> Outcome<SocketAddr> {
    let mut settings = CommandLine::try_parse_from(["halfspace"])?.settings;
    settings.data_dir = directory.to_owned();
    let service = Service::open(&settings).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(service.run(listener, None, stop));
    Ok(address)
}

/// Trains a model and returns its path for predictions.
fn predict_path(address: SocketAddr, learner: &str, target: &str) -> Outcome<String> {
    let sampling = match learner {
        "directed-drift" => "uniform-positive",
        _ => "uniform",
    };
    let body = format!(
        "{{\"generated\": {{\"n\": {N}, \"target\": {{{target}}}, \"sampling\": \"{sampling}\", \
         \"count\": 2000}}}}"
    );
    let request = format!(
        "POST /v1/learners/{learner}/train?seed=1&max_passes=1 HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: {JSON}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(request.as_bytes())?;
    let answer = read_answer(&mut stream)?;
    let (_, rest) = answer
        .split_once("\"model\":\"")
        .ok_or_else(|| answer.clone())?;
    let (model, _) = rest.split_once('"').ok_or("a model")?;
    Ok(format!("/v1/models/{model}/predict"))
}

/// Reads a whole answer, which has a length or comes in chunks.
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
