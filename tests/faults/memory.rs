//! Loads that need more memory than a control group of 512 MiB or 2 GiB has. The process survives, each request
//! succeeds or is refused with the name of the limit, and an unrelated job succeeds at the first attempt.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::scale::{Scale, report};
use crate::service::{Client, MemoryLimit, Program, long_job, memory_peak, skipped, until};

const MIB: u64 = 1 << 20;

/// A request and the number of concurrent copies.
struct Load {
    name: &'static str,
    path: &'static str,
    media_type: &'static str,
    body: Arc<Vec<u8>>,
    times: usize,
}

fn load(
    name: &'static str,
    path: &'static str,
    media_type: &'static str,
    body: Vec<u8>,
    times: usize,
) -> Load {
    let body = Arc::new(body);
    Load {
        name,
        path,
        media_type,
        body,
        times,
    }
}

/// Rows of real values with a label, of about `bytes` bytes.
fn reals(bytes: usize) -> Vec<u8> {
    let row = "0.12345678901234,".repeat(499) + "1\n";
    row.repeat(bytes / row.len()).into_bytes()
}

/// Lines of labelled bit strings, of about `bytes` bytes.
fn bits(bytes: usize) -> Vec<u8> {
    let row = format!("{{\"x\": \"{}\", \"y\": 1}}\n", "10".repeat(500));
    row.repeat(bytes / row.len()).into_bytes()
}

const TRAIN: &str = "/v1/learners/perceptron/train?labels=last&stop.max_passes=1";
const TRAIN_BITS: &str = "/v1/learners/perceptron/train?stop.max_passes=1";

fn bodies(scale: Scale) -> Vec<Load> {
    let (csv, ndjson, libsvm) = ("text/csv", "application/x-ndjson", "text/x-libsvm");
    let unit = scale.of(40_000, 1_000_000);
    vec![
        load("8 bodies of reals", TRAIN, csv, reals(87 * unit), 8),
        load(
            "a body of reals",
            TRAIN,
            csv,
            reals(scale.of(1, 695) * unit),
            1,
        ),
        load(
            "32 bodies of bits",
            TRAIN_BITS,
            ndjson,
            bits(scale.of(4, 300) * unit),
            32,
        ),
        load(
            "8 bodies of 1.9 KB",
            TRAIN_BITS,
            libsvm,
            "+1 1048576:0.5\n".repeat(127).into(),
            8,
        ),
    ]
}

/// Jobs over stored or generated data, which run one by one.
fn jobs(dataset: &str, scale: Scale) -> Vec<(&'static str, Value)> {
    let drawn = |n: u64, count: u64| {
        json!({"generated": {"n": n, "count": count, "sampling": "uniform",
            "target": {"binary_weights": {}}}})
    };
    let seconds = scale.of(2, 15);
    vec![
        (
            "separability of a large dataset",
            json!({"separability": {
            "data": {"dataset": dataset}, "max_seconds": seconds}}),
        ),
        (
            "kernel support",
            json!({"train": {"learner": {"name": "kernel-perceptron"},
            "data": {"generated": {"n": 200, "sampling": "uniform",
                "target": {"binary_weights": {}}, "noise": 0.4}},
            "stop": {"max_seconds": seconds}}}),
        ),
        (
            "version space, n = 32",
            json!({"version_space": {
            "data": drawn(32, 1_000_000), "max_seconds": seconds}}),
        ),
        (
            "a wide maximum margin",
            json!({"maximum_margin": {
            "data": drawn(4_000, 1_000), "max_seconds": seconds}}),
        ),
    ]
}

/// Sends a request and reads the answer concurrently, because a refusal may come before the whole body is sent.
async fn exchange(client: Client, load: &Load) -> (u16, String) {
    let stream = TcpStream::connect(client.address).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: {}\r\ncontent-length: {}\r\n\r\n",
        load.path,
        client.address,
        load.media_type,
        load.body.len()
    );
    let body = Arc::clone(&load.body);
    let sending = tokio::spawn(async move {
        // The server may close the connection of a refused request.
        let _ = writer.write_all(head.as_bytes()).await;
        let _ = writer.write_all(&body).await;
        writer
    });
    let mut answer = Vec::new();
    let read = reader.read_to_end(&mut answer).await;
    drop(sending.await);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let Some(status) = status else {
        panic!("{}: no answer: {read:?} {answer:?}", load.name);
    };
    (status, answer)
}

/// Sends all requests of a load concurrently. Returns the numbers of successes and of refusals that name a
/// limit.
async fn met(client: Client, load: &Load) -> (usize, usize) {
    let answers = join_all((0..load.times).map(|_| exchange(client, load))).await;
    let (mut done, mut refused) = (0, 0);
    for (status, answer) in answers {
        match status {
            200 | 202 => done += 1,
            413 | 429 | 503 if answer.contains("_max") => refused += 1,
            _ => panic!(
                "{}: {status}: {}",
                load.name,
                answer.chars().take(800).collect::<String>()
            ),
        }
    }
    (done, refused)
}

async fn held_in(limit_bytes: u64, scale: Scale) {
    let limit = match MemoryLimit::new(limit_bytes) {
        Ok(limit) => limit,
        Err(why) => return skipped(why),
    };
    let directory = tempfile::tempdir().unwrap();
    let memory = (limit_bytes / 100 * 70).to_string();
    let settings = [
        "--memory-bytes-max",
        &memory,
        "--workers",
        "2",
        "--lease-seconds",
        "5",
    ];
    let program = Program::start(directory.path(), &settings);
    limit.hold(program.pid()).unwrap();
    let client = program.client();
    let innocent = client.submit(&long_job(1)).await;
    let stored = json!({"seed": 1, "data": {"generated": {"n": 1_000, "sampling": "uniform",
        "count": scale.of(10_000, 1_000_000), "target": {"binary_weights": {}}}}});
    let told = |what: &str, counts: String| {
        let peak = memory_peak(program.pid()).map_or(0, |bytes| bytes / MIB);
        let group = limit.peak_bytes().map_or(0, |bytes| bytes / MIB);
        let bound = limit_bytes / MIB;
        report(
            "memory",
            &format!("{bound} MiB, {what}: {counts}; peak {peak} MiB, group {group} MiB"),
        );
    };
    for load in bodies(scale) {
        let (done, refused) = met(client, &load).await;
        told(load.name, format!("{done} met, {refused} refused"));
    }
    let answer = client.post("/v1/datasets", &stored, None).await.unwrap();
    let dataset = match answer.status.as_u16() {
        201 => answer.json()["id"].as_str().unwrap().to_owned(),
        _ => {
            assert!(
                answer.text().contains("memory_bytes_max"),
                "{}",
                answer.text()
            );
            let path = "/v1/datasets";
            let sent = load(
                "a dataset",
                path,
                "application/x-ndjson",
                bits(scale.of(10, 1_000) << 20),
                1,
            );
            let (status, answer) = exchange(client, &sent).await;
            assert_eq!(status, 201, "{answer}");
            let body = answer.split("\r\n\r\n").nth(1).unwrap();
            serde_json::from_str::<Value>(body).unwrap()["id"]
                .as_str()
                .unwrap()
                .to_owned()
        }
    };
    for (what, job) in jobs(&dataset, scale) {
        let answer = client.post("/v1/jobs", &job, None).await.unwrap();
        if answer.status.as_u16() == 413 {
            assert!(
                answer.text().contains("memory_bytes_max"),
                "{}",
                answer.text()
            );
            told(what, "refused by memory_bytes_max".to_owned());
            continue;
        }
        let path = answer.expect(202).header("location").unwrap().to_owned();
        let ended = until(what, async || {
            let job = client.get(&path).await.json();
            job["finished_at"].is_string().then_some(job)
        })
        .await;
        let code = &ended["error"]["code"];
        assert!(
            ended["status"] == "succeeded" || code == "memory",
            "{what}: {ended}"
        );
        told(
            what,
            format!(
                "{} {}",
                ended["status"],
                if code.is_null() { &Value::Null } else { code }
            ),
        );
    }
    let job = client.get(&innocent).await.json();
    assert_eq!(
        (&job["status"], &job["attempt"]),
        (&json!("running"), &json!(1)),
        "{job}"
    );
    client.tell(&format!("{innocent}/cancel")).await.unwrap();
    program.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loads_larger_than_the_memory_are_answered_or_refused() {
    let scale = Scale::from_environment();
    for limit_bytes in scale.of(vec![512 * MIB], vec![512 * MIB, 2048 * MIB]) {
        held_in(limit_bytes, scale).await;
    }
}
