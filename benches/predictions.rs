//! Predictions per second of a stored model, with one and with a thousand examples per request, beside empty handlers.
//!
//! Run `cargo bench --bench predictions [-- PART]`. With a part of their names, only some cases run. The service, an
//! empty handler and the clients run in this process. Requests of one example come over 16 kept connections at once,
//! and requests of a thousand over one. Each connection sends one request after another. The measurements
//! alternate with a few requests per round, and every request holds other examples. The benchmark prints the median
//! rates of all rounds, and their ratio to the empty handler that reads the same number of examples as bit strings.
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
/// Connections for requests of one example.
const CONNECTIONS: usize = 16;
const JSON: &str = "application/json";

/// The body of a request.
#[derive(Clone, Copy, PartialEq)]
enum Body {
    Nothing,
    /// Bit strings in a JSON document.
    BitStrings,
    /// A bit string per line.
    Lines,
    /// A tensor of the Open Inference Protocol.
    Tensor,
}

fn main() -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let stop = CancellationToken::new();
    let empty = runtime.block_on(start_empty(stop.clone()))?;
    let service = runtime.block_on(start_service(directory.path(), stop.clone()))?;
    let mut cases = vec![
        Case::new("empty axum handler, one", empty, "/", Body::BitStrings, 1)?,
        Case::new(
            "empty axum handler, 1,000",
            empty,
            "/",
            Body::BitStrings,
            BATCH,
        )?,
        Case::new("GET /livez", service, "/livez", Body::Nothing, 1)?,
    ];
    for (learner, target) in [
        ("directed-drift", "\"binary_weights\": {}"),
        ("perceptron", "\"binary_weights\": {}"),
        ("winnow", "\"disjunction\": {\"size\": 5}"),
        ("kernel-perceptron", "\"binary_weights\": {}"),
    ] {
        let model = train(service, learner, target)?;
        let predict = format!("/v1/models/{model}/predict");
        let infer = format!("/v2/models/{model}/infer");
        for (size, body, kind) in [
            (1, Body::BitStrings, "JSON"),
            (1, Body::Tensor, "tensor"),
            (BATCH, Body::BitStrings, "JSON"),
            (BATCH, Body::Lines, "NDJSON"),
            (BATCH, Body::Tensor, "tensor"),
        ] {
            let path = if body == Body::Tensor {
                &infer
            } else {
                &predict
            };
            let name = format!("{learner}, {size} a request, {kind}");
            cases.push(Case::new(&name, service, path, body, size)?);
        }
    }
    if let Some(part) = std::env::args().skip(1).find(|part| !part.starts_with('-')) {
        cases.retain(|case| case.name.starts_with("empty") || case.name.contains(&part));
    }
    for round in 0..ROUNDS {
        for case in &mut cases {
            let taken = case.round()?;
            // The first round is a warm-up.
            if round > 0 {
                case.taken.push(taken);
            }
        }
    }
    report(&mut cases);
    stop.cancel();
    Ok(())
}

fn report(cases: &mut [Case]) {
    let empty = [cases[0].median(), cases[1].median()];
    println!("n = {N}; medians of {} rounds", ROUNDS - 1);
    println!(
        "{:<44} {:>14} {:>14} {:>10}",
        "", "requests/s", "examples/s", "of empty"
    );
    for case in cases {
        let rate = 1.0 / case.median();
        let ratio = rate * empty[usize::from(case.size > 1)];
        let examples = case.size as f64 * rate;
        println!(
            "{:<44} {rate:>14.0} {examples:>14.0} {ratio:>10.2}",
            case.name
        );
    }
}

struct Case {
    name: String,
    path: String,
    body: Body,
    /// Examples per request.
    size: usize,
    streams: Vec<TcpStream>,
    random: u64,
    /// Seconds per request of each round.
    taken: Vec<f64>,
}

impl Case {
    fn new(name: &str, address: SocketAddr, path: &str, body: Body, size: usize) -> Outcome<Self> {
        let connections = if size == 1 { CONNECTIONS } else { 1 };
        let connect = |_| {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        Ok(Self {
            name: name.to_owned(),
            path: path.to_owned(),
            body,
            size,
            streams: (0..connections).map(connect).collect::<Outcome<_>>()?,
            random: 0x9E37_79B9_7F4A_7C15,
            taken: Vec::new(),
        })
    }

    fn median(&mut self) -> f64 {
        self.taken.sort_by(f64::total_cmp);
        self.taken[self.taken.len() / 2]
    }

    /// Sends a few requests of new examples over each connection. Returns the seconds per request.
    fn round(&mut self) -> Outcome<f64> {
        let count = if self.size == 1 { 50 } else { 3 };
        let streams = std::mem::take(&mut self.streams);
        let mut all: Vec<(TcpStream, Vec<String>)> = streams
            .into_iter()
            .map(|stream| (stream, (0..count).map(|_| self.request()).collect()))
            .collect();
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let sent = all.iter_mut().map(|(stream, requests)| {
                scope.spawn(|| {
                    requests
                        .iter()
                        .try_for_each(|request| exchange(stream, request))
                })
            });
            let sent: Vec<_> = sent.collect();
            sent.into_iter()
                .try_for_each(|sent| sent.join().map_err(|_| "a client panicked".to_owned())?)
        })?;
        let taken = begun.elapsed().as_secs_f64() / (all.len() * count) as f64;
        self.streams = all.into_iter().map(|(stream, _)| stream).collect();
        Ok(taken)
    }

    fn request(&mut self) -> String {
        let rows: Vec<String> = (0..self.size).map(|_| self.row()).collect();
        let body = match self.body {
            Body::Nothing => {
                return format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", self.path);
            }
            Body::BitStrings => format!(
                "{{\"unlabelled\": {{\"examples\": [\"{}\"]}}}}",
                rows.join("\", \"")
            ),
            Body::Lines => rows.join("\n") + "\n",
            Body::Tensor => {
                let bits: Vec<&str> = rows
                    .iter()
                    .flat_map(|row| row.split("").filter(|bit| !bit.is_empty()))
                    .collect();
                format!(
                    "{{\"inputs\": [{{\"name\": \"x\", \"datatype\": \"UINT8\", \"shape\": [{}, {N}], \
                     \"data\": [{}]}}]}}",
                    self.size,
                    bits.join(", ")
                )
            }
        };
        let media_type = match self.body {
            Body::Lines => "application/x-ndjson",
            _ => JSON,
        };
        format!(
            "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n{body}",
            self.path,
            body.len()
        )
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

/// Sends a request and reads its answer, which must be a success.
fn exchange(stream: &mut TcpStream, request: &str) -> Result<(), String> {
    let sent = stream
        .write_all(request.as_bytes())
        .map_err(|error| error.to_string());
    let answer = sent.and_then(|()| read_answer(stream).map_err(|error| error.to_string()))?;
    match answer.starts_with("HTTP/1.1 200") {
        true => Ok(()),
        false => Err(answer),
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

/// Trains a model and returns its id.
fn train(address: SocketAddr, learner: &str, target: &str) -> Outcome<String> {
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
    Ok(model.to_owned())
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
