//! One tenant occupies as much as it can from one address. Requests of another tenant succeed all the time, and the
//! operator's probes stay fast.

use std::future::Future;
use std::io::{ErrorKind, Result};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::scale::{Scale, report};
use crate::service::{Client, Program, Slow, create_key, long_job, short_job};

/// Where the greedy tenant calls from.
const ELSEWHERE: [u8; 4] = [127, 0, 0, 2];

/// Concurrent connections in loads that do not attack connections; the default.
const MANY: &str = "4096";
const DEFAULT: &str = "1024";

const NDJSON: (&str, &str) = ("content-type", "application/x-ndjson");
const JSON: (&str, &str) = ("content-type", "application/json");

/// Between two pieces of a slow body.
const PIECE_EVERY: Duration = Duration::from_millis(200);

/// Pause of a client after a refusal or a broken connection.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// How long the load lasts, and how late a probe may be answered at the 99th percentile. A program that
/// is not optimised, on a machine that does other things, is told apart from one that does not answer.
fn terms() -> (Duration, Duration) {
    let (seconds, milliseconds) = Scale::from_environment().of((6, 5_000), (30, 100));
    let [seconds, milliseconds] = [seconds * 1_000, milliseconds].map(Duration::from_millis);
    (seconds, milliseconds)
}

/// A key and the records that the requests need.
#[derive(Clone)]
struct Tenant {
    client: Client,
    bearer: String,
    model: String,
    /// The path of a job that runs on.
    job: String,
}

impl Tenant {
    async fn new(client: Client, home: &Path, name: &str) -> Self {
        let (_, secret) = create_key(home, &[], name);
        let mut tenant = Self {
            client,
            bearer: format!("Bearer {secret}"),
            model: String::new(),
            job: String::new(),
        };
        let trained = tenant
            .post("/v1/jobs", JSON, &short_job().to_string())
            .await;
        tenant.model = trained["result"]["model"].as_str().unwrap().to_owned();
        let headers = [JSON, ("authorization", tenant.bearer.as_str())];
        let body = long_job(1).to_string();
        let sent = client.send("POST", "/v1/jobs", &headers, body.as_bytes());
        let answer = sent.await.unwrap().expect(202);
        tenant.job = answer.header("location").unwrap().to_owned();
        tenant
    }

    /// A request that must be met.
    async fn post(&self, path: &str, media_type: (&str, &str), body: &str) -> serde_json::Value {
        let own = ("authorization", self.bearer.as_str());
        let headers = [media_type, own, ("prefer", "wait=30")];
        let sent = self.client.send("POST", path, &headers, body.as_bytes());
        let answer = sent.await.unwrap();
        let status = answer.status.as_u16();
        assert!(status < 300, "{path}: {status} {}", answer.text());
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }

    /// One request of each kind, all of which must be met; how many they are.
    async fn work(&self) -> usize {
        let Self { model, .. } = self;
        let labelled = json!({"labelled": {"examples": [{"x": "110", "y": 1}]}}).to_string();
        let unlabelled = json!({"unlabelled": {"examples": ["101"]}}).to_string();
        let tensor = json!({"inputs": [
            {"name": "x", "shape": [1, 3], "datatype": "BOOL", "data": [1, 0, 1]}]});
        let predict = format!("/v1/models/{model}/predict");
        let evaluate = format!("/v1/models/{model}/evaluate");
        let large = "\"0110\"\n".repeat(20_000);
        let all = [
            ("/v1/learners/perceptron/train", JSON, labelled.as_str()),
            (&*predict, JSON, unlabelled.as_str()),
            (&*predict, NDJSON, "\"101\"\n"),
            (&*predict, ("content-type", "text/x-libsvm"), "1 1:1 3:1\n"),
            (&*evaluate, JSON, labelled.as_str()),
            (
                &*format!("/v2/models/{model}/infer"),
                JSON,
                &*tensor.to_string(),
            ),
            ("/v1/datasets", NDJSON, "{\"x\": \"101\", \"y\": 1}\n"),
            ("/v1/datasets", NDJSON, large.as_str()),
        ]
        .map(|(path, media_type, body)| (path.to_owned(), media_type, body.to_owned()));
        for (path, media_type, body) in &all {
            self.post(path, *media_type, body).await;
        }
        all.len()
    }

    /// Begins a request from another address; none when refused, which is allowed.
    async fn open(&self, line: &str, headers: &[(&str, &str)]) -> Result<Slow> {
        let own = [("authorization", self.bearer.as_str())];
        let headers = [headers, &own].concat();
        Slow::open(ELSEWHERE, self.client.address, line, &headers).await
    }
}

/// The outcome of the requests of a load.
#[derive(Default)]
struct Greed {
    begun: AtomicUsize,
    refused: AtomicUsize,
    /// The most permits that were in use while the other key had none.
    held: AtomicUsize,
}

/// Asks the probes until the end; the time that each answer took.
async fn probe(client: Client, until: Instant) -> Vec<Duration> {
    let mut took = Vec::new();
    while Instant::now() < until {
        for path in ["/livez", "/readyz"] {
            let begun = Instant::now();
            client.get(path).await.expect(200);
            took.push(begun.elapsed());
        }
    }
    took
}

fn percentile_99(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took[(took.len() * 99).div_ceil(100) - 1]
}

/// Runs so many copies of a load of one key beside the probes and the work of another key.
async fn beside<F>(
    name: &str,
    gauge: &str,
    copies: usize,
    connections_max: &str,
    load: impl Fn(Tenant, Arc<Greed>, Instant) -> F + Send + Copy + 'static,
) -> Arc<Greed>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let (lasts, late) = terms();
    let directory = tempfile::tempdir().unwrap();
    // Enough workers: connections and permits are under test.
    let settings = ["--connections-max", connections_max, "--workers", "4"];
    let program = Program::start(directory.path(), &settings);
    let client = program.client();
    let greedy = Tenant::new(client, directory.path(), "greedy").await;
    let other = Tenant::new(client, directory.path(), "other").await;
    let until = Instant::now() + lasts;
    let greed = Arc::<Greed>::default();
    let loads = (0..copies).map(|_| {
        let (tenant, greed) = (greedy.clone(), Arc::clone(&greed));
        tokio::spawn(async move {
            while Instant::now() < until {
                // A broken connection, or an answer that ends the connection, leads to another try.
                let _ = timeout_at(until, load(tenant.clone(), Arc::clone(&greed), until)).await;
                let _ = timeout_at(until, sleep(AGAIN_AFTER)).await;
            }
        })
    });
    let loads: Vec<_> = loads.collect();
    let working = async {
        let mut met = 0;
        while Instant::now() < until {
            met += other.work().await;
            let held = client.metric(gauge).await as usize;
            greed.held.fetch_max(held, Ordering::Relaxed);
        }
        met
    };
    let (took, met) = tokio::join!(probe(client, until), working);
    join_all(loads).await;
    let (probes, slowest) = (took.len(), percentile_99(took));
    let [begun, refused, held] =
        [&greed.begun, &greed.refused, &greed.held].map(|count| count.load(Ordering::Relaxed));
    let counts = format!(
        "{probes} probes, p99 {} ms; {met} requests of another key, all met; the first key began \
         {begun}, was refused {refused}, and held {held} permits at most",
        slowest.as_millis(),
    );
    report(name, &counts);
    assert!(slowest <= late, "{name}: {counts}");
    greed
}

/// Counts the requests of the load by status: one key alone is refused its share and no
/// more, by 429.
fn count(greed: &Greed, status: u16) -> Result<()> {
    match status {
        200 => greed.begun.fetch_add(1, Ordering::Relaxed),
        429 => greed.refused.fetch_add(1, Ordering::Relaxed),
        other => panic!("the answer is {other}"),
    };
    match status {
        200 => Ok(()),
        _ => Err(ErrorKind::ConnectionRefused.into()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_uploads_of_one_key_delay_no_other() {
    let gauge = "halfspace_permits_in_use{kind=\"uploads\"}";
    let load = |tenant: Tenant, greed: Arc<Greed>, until| async move {
        let length = ("content-length", "1000000000");
        let line = "POST /v1/datasets";
        let mut upload = tenant.open(line, &[NDJSON, length]).await?;
        let piece = "\"0110\"\n".repeat(1_000);
        upload.send(piece.repeat(12).as_bytes()).await?;
        greed.begun.fetch_add(1, Ordering::Relaxed);
        while Instant::now() < until {
            // Somewhat more than a body must bring.
            upload.send(piece.as_bytes()).await?;
            if let Ok(status) = timeout(PIECE_EVERY, upload.status()).await {
                count(&greed, status?)?;
            }
        }
        Ok(())
    };
    let greed = beside("32 slow uploads", gauge, 32, MANY, load).await;
    assert_eq!(greed.held.load(Ordering::Relaxed), 4, "half of uploads_max");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_predictions_of_one_key_delay_no_other() {
    let gauge = "halfspace_permits_in_use{kind=\"streams\"}";
    let load = |tenant: Tenant, greed: Arc<Greed>, until| async move {
        let line = format!("POST /v1/models/{}/predict", tenant.model);
        let chunked = ("transfer-encoding", "chunked");
        let mut predicting = tenant.open(&line, &[NDJSON, chunked]).await?;
        predicting.chunk("\"101\"\n").await?;
        count(&greed, predicting.status().await?)?;
        while Instant::now() < until {
            predicting.chunk("\"101\"\n").await?;
            predicting.read_on().await?;
            sleep(PIECE_EVERY).await;
        }
        Ok(())
    };
    let greed = beside("64 slow predictions", gauge, 64, MANY, load).await;
    assert_eq!(
        greed.held.load(Ordering::Relaxed),
        32,
        "half of streams_max"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_streams_of_one_key_delay_no_other() {
    let copies = Scale::from_environment().of(600, 1_024);
    let load = |tenant: Tenant, greed: Arc<Greed>, until| async move {
        let line = format!("GET {}/events", tenant.job);
        let mut events = tenant.open(&line, &[]).await?;
        count(&greed, events.status().await?)?;
        while Instant::now() < until {
            events.read_on().await?;
        }
        Ok(())
    };
    let name = format!("{copies} event streams");
    let gauge = "halfspace_permits_in_use{kind=\"event-streams\"}";
    let greed = beside(&name, gauge, copies, MANY, load).await;
    let held = greed.held.load(Ordering::Relaxed);
    assert_eq!(held, 512, "half of event_streams_max");
}

/// The requests come eight at once; in the short form as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn urls_of_many_query_pairs_delay_no_other() {
    const NAMES: u32 = 16_250;
    let (_, late) = terms();
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &[]);
    let client = program.client();
    // Three characters each, so that all of them are no longer than a URL may be.
    let digit = |value: u32| char::from_digit(value % 36, 36).unwrap();
    let names = (0..NAMES).map(|name| [name / 1_296, name / 36, name].map(digit));
    let names: Vec<String> = names.map(|name| name.iter().collect()).collect();
    let path = Arc::new(format!("/v1/jobs?{}", names.join("&")));
    let until = Instant::now() + Duration::from_secs(2);
    let probing = tokio::spawn(probe(client, until));
    for _ in 0..8 {
        let eight = (0..8).map(|_| refused(client.address, Arc::clone(&path)));
        join_all(eight).await;
    }
    let took = probing.await.unwrap();
    let (probes, slowest) = (took.len(), percentile_99(took));
    let counts = format!(
        "64 requests of {NAMES} names refused; {probes} probes, p99 {} ms",
        slowest.as_millis()
    );
    report("URLs of many pairs", &counts);
    assert!(slowest <= late, "{counts}");
}

async fn refused(address: SocketAddr, path: Arc<String>) {
    let line = format!("GET {path}");
    let mut asked = Slow::open(ELSEWHERE, address, &line, &[]).await.unwrap();
    assert_eq!(asked.status().await.unwrap(), 400);
    let detail = asked.until("query_pairs_max: 1000").await;
    detail.expect("the limit");
}

/// Connections without a key that ask for megabytes, again and again, and never read. The address holds
/// half of the connections, and each of them for as long as no other one comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_never_read_delay_no_other() {
    let scale = Scale::from_environment();
    let connections_max = scale.of("128", DEFAULT);
    for copies in scale.of(vec![100], vec![1_024, 5_000]) {
        let load = |tenant: Tenant, greed: Arc<Greed>, until| async move {
            let mut asked = tenant.open("GET /openapi.json", &[]).await?;
            greed.begun.fetch_add(1, Ordering::Relaxed);
            let again = format!(
                "GET /openapi.json HTTP/1.1\r\nhost: {}\r\n\r\n",
                tenant.client.address
            );
            asked.send(again.repeat(20).as_bytes()).await?;
            timeout_at(until, asked.broken()).await?
        };
        let name = format!("{copies} connections that never read");
        let greed = beside(
            &name,
            "halfspace_connections",
            copies,
            connections_max,
            load,
        )
        .await;
        let (held, half) = (greed.held.load(Ordering::Relaxed), scale.of(64, 512));
        // The reserve for probes adds 32. The other key and the probes add a few.
        assert!(
            (half / 2..half + 64).contains(&held),
            "half of connections_max: {held}"
        );
    }
}

/// Heads that grow to 400 KB and never end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unfinished_request_heads_delay_no_other() {
    let copies = Scale::from_environment().of(100, 1_000);
    let load = |tenant: Tenant, greed: Arc<Greed>, until| async move {
        let line = "GET /v1/learners HTTP/1.1\r\nhost: localhost\r\nx-long: ";
        let mut head = Slow::connect(ELSEWHERE, tenant.client.address).await?;
        head.send(line.as_bytes()).await?;
        greed.begun.fetch_add(1, Ordering::Relaxed);
        for _ in 0..100 {
            head.send(&[b'a'; 4_000]).await?;
            timeout_at(until, sleep(PIECE_EVERY / 10)).await?;
        }
        timeout_at(until, head.broken()).await?
    };
    let name = format!("{copies} unfinished heads of 400 KB");
    beside(&name, "halfspace_connections", copies, DEFAULT, load).await;
}
