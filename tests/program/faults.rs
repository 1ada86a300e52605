//! Jobs under SIGTERM and cancellation, and sessions whose process is killed. `tests/faults` covers further faults of
//! jobs.

use std::time::Duration;

use futures_util::future::join_all;
use halfspace_core::learners::engine::random::Generator;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::service::{
    Client, Program, TestDatabase, ended_once, long_job, processor_ticks, skipped, until,
};

/// The attempt limit is so high that no crash poisons a job.
const SETTINGS: [&str; 4] = ["--attempts-max", "1000", "--workers", "2"];

#[tokio::test]
async fn sigterm_gives_a_running_job_back_and_ends_its_stream() {
    let directory = tempfile::tempdir().unwrap();
    let mut program = Program::start(directory.path(), &["--workers", "1"]);
    let client = program.client();
    let answer = client.post("/v1/jobs", &long_job(1), None).await.unwrap();
    let path = answer.expect(202).header("location").unwrap().to_owned();
    let running = client.until_status(&path, "running").await;
    assert_eq!(running["attempt"], 1);
    let mut stream = client
        .open("GET", &format!("{path}/events"), &[], b"")
        .await
        .unwrap();
    while stream.line().await.unwrap() != "event: progress" {}
    let begun = Instant::now();
    program.terminate();
    let status = program.ended().await;
    let took = begun.elapsed();
    assert!(status.success(), "{status}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    // A chunked body that ends with an empty chunk was finished and not cut off.
    let mut last = String::new();
    while let Ok(line) = stream.line().await {
        last = if line.is_empty() { last } else { line };
    }
    assert_eq!(last, "0");

    let program = Program::start(directory.path(), &["--workers", "1"]);
    let client = program.client();
    let running = client.until_status(&path, "running").await;
    assert_eq!(
        running["attempt"], 1,
        "the attempt that was given back is not charged"
    );
    let cancel = client
        .send("POST", &format!("{path}/cancel"), &[], b"")
        .await;
    cancel.unwrap().expect(202);
    let job = client.until_status(&path, "cancelled").await;
    ended_once(client, &path, &job).await;
}

#[tokio::test]
async fn sigterm_leaves_a_job_queued_with_no_attempt() {
    let directory = tempfile::tempdir().unwrap();
    let mut program = Program::start(directory.path(), &["--workers", "1"]);
    let answer = program
        .client()
        .post("/v1/jobs", &long_job(1), None)
        .await
        .unwrap();
    let path = answer.expect(202).header("location").unwrap().to_owned();
    program.client().until_status(&path, "running").await;
    program.terminate();
    assert!(program.ended().await.success());
    // The test reads the store directly, because a new process would claim the job at once.
    let store = halfspace::app::Service::open(&settings(directory.path()))
        .await
        .unwrap();
    let owner = halfspace::records::Owner::anonymous();
    let id = path.rsplit('/').next().unwrap().parse().unwrap();
    let job = store.jobs().queue.job(&owner, id).await.unwrap();
    assert_eq!(job.status, halfspace::records::Status::Queued);
    assert_eq!(job.attempt, 0);
}

fn settings(directory: &std::path::Path) -> halfspace::config::Settings {
    use clap::Parser;
    let directory = directory.to_str().unwrap();
    let line = ["halfspace", "--data-dir", directory];
    halfspace::config::CommandLine::try_parse_from(line)
        .unwrap()
        .settings
}

/// Generous limit. `benches/latency.rs` measures the documented limit of a cancellation.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_cancelled_job_stops_computing() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &["--workers", "2"]);
    let client = program.client();
    let mut paths = Vec::new();
    for seed in 0..2 {
        let answer = client
            .post("/v1/jobs", &long_job(seed), None)
            .await
            .unwrap();
        paths.push(answer.expect(202).header("location").unwrap().to_owned());
    }
    for path in &paths {
        client.until_status(path, "running").await;
    }
    let Some(before) = processor_ticks(program.pid()) else {
        skipped("this system does not say what processor time a process used");
        return;
    };
    until("the jobs to compute", async || {
        let now = processor_ticks(program.pid()).unwrap();
        (now >= before + 5).then_some(())
    })
    .await;
    for path in &paths {
        let cancel = client
            .send("POST", &format!("{path}/cancel"), &[], b"")
            .await;
        cancel.unwrap().expect(202);
    }
    let cancelled = Instant::now();
    for path in &paths {
        client.until_status(path, "cancelled").await;
    }
    // A process is idle if it uses at most one tick of 10 ms within 100 ms.
    loop {
        let before = processor_ticks(program.pid()).unwrap();
        sleep(Duration::from_millis(100)).await;
        if processor_ticks(program.pid()).unwrap() <= before + 1 {
            break;
        }
        assert!(cancelled.elapsed() < CANCEL_TIMEOUT, "it computes on");
    }
    assert!(cancelled.elapsed() < CANCEL_TIMEOUT);
}

#[tokio::test]
async fn the_service_answers_while_twice_as_many_jobs_as_cores_compute() {
    let directory = tempfile::tempdir().unwrap();
    let cores = std::thread::available_parallelism().unwrap().get();
    let workers = (2 * cores).to_string();
    let program = Program::start(directory.path(), &["--workers", &workers]);
    let client = program.client();
    for seed in 0..2 * cores as u64 {
        let answer = client
            .post("/v1/jobs", &long_job(seed), None)
            .await
            .unwrap();
        let path = answer.expect(202).header("location").unwrap().to_owned();
        client.until_status(&path, "running").await;
    }
    for _ in 0..50 {
        client.get("/livez").await.expect(200);
    }
    let running = client
        .get("/v1/jobs?status=running")
        .await
        .expect(200)
        .json();
    assert_eq!(running["items"].as_array().unwrap().len(), 2 * cores);
}

/// Length of a session, and the number and the times of the kills while the session is fed.
#[derive(Clone, Copy)]
struct Ordeal {
    examples: usize,
    kills: usize,
    /// Range of milliseconds after a start in which the process is killed.
    life_ms: (u64, u64),
}

const SHORT_ORDEAL: Ordeal = Ordeal {
    examples: 20_000,
    kills: 5,
    life_ms: (50, 400),
};

fn session_lines(count: usize) -> Vec<String> {
    let mut random = Generator::seed_from_u64(4);
    let line = |_| {
        let bits: Vec<bool> = (0..24).map(|_| random.random_range(0..4) == 0).collect();
        let x: String = bits
            .iter()
            .map(|&bit| if bit { '1' } else { '0' })
            .collect();
        let y = if bits[..3].contains(&true) { 1 } else { -1 };
        format!("{{\"x\":\"{x}\",\"y\":{y}}}\n")
    };
    (0..count).map(line).collect()
}

async fn open_session(client: Client, learner: &str) -> String {
    let asked = json!({"learner": {"name": learner}, "n": 24, "seed": 9});
    let answer = client.post("/v1/sessions", &asked, None).await.unwrap();
    answer.expect(201).header("location").unwrap().to_owned()
}

/// Sends the lines that the session has not learnt yet, in several requests.
async fn feed_session(client: Client, path: &str, lines: &[String]) -> std::io::Result<()> {
    let session = client.send("GET", path, &[], b"").await?.expect(200).json();
    let mut stands = session["position"].as_u64().unwrap() as usize;
    while stands < lines.len() {
        let part = &lines[stands..lines.len().min(stands + 500)];
        let if_match = format!("\"{stands}\"");
        let headers = [
            ("content-type", "application/x-ndjson"),
            ("if-match", if_match.as_str()),
        ];
        let target = format!("{path}/examples");
        let answer = client
            .send("POST", &target, &headers, part.concat().as_bytes())
            .await?
            .expect(200);
        stands += answer.text().lines().count();
        assert!(!answer.text().contains("error"), "{}", answer.text());
    }
    Ok(())
}

/// The document of a session without its id and age.
async fn session_end(client: Client, path: &str, position: usize) -> Value {
    let mut session = client.get(path).await.expect(200).json();
    assert_eq!(session["position"], position);
    session["id"] = Value::Null;
    session["created_at"] = Value::Null;
    session
}

#[tokio::test]
async fn session_fed_through_kills_equals_an_undisturbed_one() {
    feed_through_kills("sqlite", SHORT_ORDEAL).await;
}

#[tokio::test]
async fn session_fed_through_kills_over_postgres_equals_an_undisturbed_one() {
    if let Some(database) = TestDatabase::new().await {
        feed_through_kills(&database.url(), SHORT_ORDEAL).await;
    }
}

#[tokio::test]
#[ignore = "minutes; see CONTRIBUTING"]
async fn a_long_session_fed_through_ten_kills_at_full_size() {
    let ordeal = Ordeal {
        examples: 100_000,
        kills: 10,
        life_ms: (100, 2_000),
    };
    feed_through_kills("sqlite", ordeal).await;
}

async fn feed_through_kills(database_url: &str, ordeal: Ordeal) {
    let settings = [&SETTINGS[..], &["--database-url", database_url]].concat();
    let learners = [
        "directed-drift",
        "perceptron",
        "winnow",
        "kernel-perceptron",
    ];
    let lines = session_lines(ordeal.examples);
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &settings);
    let mut undisturbed = Vec::new();
    for learner in learners {
        let path = open_session(program.client(), learner).await;
        feed_session(program.client(), &path, &lines).await.unwrap();
        undisturbed.push(session_end(program.client(), &path, ordeal.examples).await);
    }
    let mut paths = Vec::new();
    for learner in learners {
        paths.push(open_session(program.client(), learner).await);
    }
    program.kill();
    let mut random = Generator::seed_from_u64(5);
    let mut interrupted = 0;
    for _ in 0..ordeal.kills {
        let program = Program::start(directory.path(), &settings);
        let client = program.client();
        let moment = Duration::from_millis(random.random_range(ordeal.life_ms.0..ordeal.life_ms.1));
        let feeds = paths.iter().map(|path| feed_session(client, path, &lines));
        let fed = timeout(moment, join_all(feeds));
        // The sleep determines only the moment of the kill.
        let (fed, ()) = tokio::join!(fed, sleep(moment));
        program.kill();
        interrupted += usize::from(fed.is_err());
    }
    assert!(interrupted > 0, "the kills disturbed nothing");
    println!(
        "{interrupted} of {} kills fell into the feeding",
        ordeal.kills
    );
    let program = Program::start(directory.path(), &settings);
    for (path, expected) in paths.iter().zip(&undisturbed) {
        feed_session(program.client(), path, &lines).await.unwrap();
        assert_eq!(
            &session_end(program.client(), path, ordeal.examples).await,
            expected
        );
    }
}
