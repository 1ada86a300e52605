//! What a crash, a signal and a cancel may not do: lose a job, end one twice, change a result.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use halfspace::learners::random::Generator;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::service::{
    Client, Program, TestDatabase, endless, long_job, processor_ticks, train, until,
};

const JOBS: usize = 50;
const KILLS: usize = 20;

/// A kill falls within this time after a start.
const LIFE_MS_MAX: u64 = 300;

/// So many attempts that no crash poisons a job.
const SETTINGS: [&str; 4] = ["--attempts-max", "1000", "--workers", "2"];

/// Jobs that compute for some tenths of a second without optimisation: generated data, and data
/// sent along, which lie in a blob while the job waits.
fn job(index: usize) -> Value {
    let mut job = if index.is_multiple_of(2) {
        let mut job = train(json!({"name": "directed-drift"}), endless(201));
        job["train"]["stop"] = json!({"max_examples": 200_000});
        job
    } else {
        let row = |row: usize| {
            let x: String = (0..20)
                .map(|bit| if row >> bit & 1 == 1 { '1' } else { '0' })
                .collect();
            json!({"x": x, "y": if (row * 7919 + index).is_multiple_of(3) { 1 } else { -1 }})
        };
        let examples: Vec<Value> = (0..200).map(row).collect();
        let learner = json!({"name": "perceptron", "params": {"order": "shuffled"}});
        let mut job = train(learner, json!({"labelled": {"examples": examples}}));
        job["train"]["stop"] = json!({"max_passes": 600});
        job
    };
    job["name"] = json!(format!("job {index}"));
    job["train"]["seed"] = json!(index);
    job
}

/// What must be the same whenever a job is run.
fn settled(job: &Value) -> Value {
    assert_eq!(job["status"], "succeeded", "{job}");
    let mut result = job["result"].clone();
    result["model"] = Value::Null;
    result["seconds"] = Value::Null;
    result
}

/// The result of each job when nothing disturbs it, by name.
async fn undisturbed() -> HashMap<String, Value> {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &SETTINGS);
    let client = program.client();
    let mut paths = Vec::new();
    for index in 0..JOBS {
        paths.push(acknowledged(client, index, None).await.unwrap());
    }
    let mut results = HashMap::new();
    for path in paths {
        let job = client.until_status(&path, "succeeded").await;
        results.insert(job["name"].as_str().unwrap().to_owned(), settled(&job));
    }
    results
}

/// Sends a job under a key of its own; its path, when the service acknowledged it.
async fn acknowledged(client: Client, index: usize, prefer: Option<&str>) -> Option<String> {
    let (body, key) = (job(index).to_string(), format!("key-{index}"));
    let mut headers = vec![
        ("content-type", "application/json"),
        ("idempotency-key", &key),
    ];
    headers.extend(prefer.map(|prefer| ("prefer", prefer)));
    let sent = client.send("POST", "/v1/jobs", &headers, body.as_bytes());
    let answer = sent.await.ok()?;
    assert!(answer.status.is_success(), "{}", answer.text());
    Some(answer.header("location").unwrap().to_owned())
}

#[tokio::test]
async fn killed_at_twenty_random_moments_the_service_loses_no_job_and_ends_none_twice() {
    let expected = undisturbed().await;
    assert_eq!(expected.len(), JOBS);
    killed_at_random_moments("sqlite", &expected).await;
    if let Some(database) = TestDatabase::new().await {
        killed_at_random_moments(&database.url(), &expected).await;
    }
}

/// Over a shared database a process that starts releases nobody's leases: they run out.
async fn killed_at_random_moments(database_url: &str, expected: &HashMap<String, Value>) {
    let settings = [
        &SETTINGS[..],
        &["--database-url", database_url, "--lease-seconds", "2"],
    ]
    .concat();
    let directory = tempfile::tempdir().unwrap();
    let mut random = Generator::seed_from_u64(20);
    let mut paths = Vec::new();
    let mut unheard = Vec::new();
    for life in 0..KILLS {
        let program = Program::start(directory.path(), &settings);
        let client = program.client();
        if life == 0 {
            for index in 0..JOBS - KILLS {
                paths.push(acknowledged(client, index, None).await.unwrap());
            }
        }
        // One more job is on its way when the kill comes, the client of every other one waiting.
        let index = JOBS - KILLS + life;
        let prefer = (life % 2 == 0).then_some("wait=1");
        let moment = Duration::from_millis(random.random_range(0..LIFE_MS_MAX));
        let sent = timeout(moment, acknowledged(client, index, prefer));
        // The moment of the kill is all that this sleep settles.
        let (sent, ()) = tokio::join!(sent, sleep(moment));
        program.kill();
        match sent {
            Ok(Some(path)) => paths.push(path),
            _ => unheard.push(index),
        }
    }
    let program = Program::start(directory.path(), &settings);
    let client = program.client();
    // Nobody was told of these, so they may exist or not; a client sends them again under their keys.
    for index in unheard {
        paths.push(acknowledged(client, index, None).await.unwrap());
    }
    assert_eq!(paths.len(), JOBS);
    let all = every_job(client).await;
    for path in &paths {
        assert!(all.contains(path), "{path} was acknowledged and is lost");
    }
    assert_eq!(all.len(), JOBS, "one job a key");
    let mut attempts = 0;
    for path in &all {
        let job = client.until_status(path, "succeeded").await;
        attempts += job["attempt"].as_u64().unwrap();
        let name = job["name"].as_str().unwrap();
        assert_eq!(settled(&job), expected[name], "{name}");
        ended_once(client, path, &job).await;
    }
    // Otherwise the kills disturbed nothing.
    assert!(
        attempts >= (JOBS + KILLS / 2) as u64,
        "{attempts} attempts of {} jobs",
        all.len()
    );
    models_of_each(client, &all).await;
}

/// The paths of all jobs.
async fn every_job(client: Client) -> Vec<String> {
    let mut paths = Vec::new();
    let mut query = "limit=100".to_owned();
    loop {
        let page = client
            .get(&format!("/v1/jobs?{query}"))
            .await
            .expect(200)
            .json();
        let items = page["items"].as_array().unwrap();
        paths.extend(
            items
                .iter()
                .map(|job| format!("/v1/jobs/{}", job["id"].as_str().unwrap())),
        );
        let Some(cursor) = page["next_cursor"].as_str() else {
            return paths;
        };
        query = format!("limit=100&cursor={cursor}");
    }
}

/// The events of an ended job: numbered without gap, one end, and nothing after it.
async fn ended_once(client: Client, path: &str, job: &Value) {
    let answer = client.get(&format!("{path}/events")).await.expect(200);
    let field = |block: &str, name: &str| {
        let mut lines = block.lines();
        lines.find_map(|line| line.strip_prefix(name).map(str::to_owned))
    };
    let blocks = answer
        .text()
        .split("\n\n")
        .filter(|block| block.starts_with("id"));
    let events: Vec<(u64, String, Value)> = blocks
        .map(|block| {
            let id = field(block, "id: ").unwrap().parse().unwrap();
            let data = serde_json::from_str(&field(block, "data: ").unwrap()).unwrap();
            (id, field(block, "event: ").unwrap(), data)
        })
        .collect();
    for (index, (id, ..)) in events.iter().enumerate() {
        assert_eq!(*id, index as u64 + 1, "{path}: {events:?}");
    }
    let ends = |kind: &str| {
        let is_end = |event: &&(u64, String, Value)| {
            let over = !["queued", "running"]
                .map(|status| event.2["status"] == status)
                .contains(&true);
            event.1 == kind && over
        };
        events.iter().filter(is_end).count()
    };
    assert_eq!(
        (ends("status"), ends("result")),
        (1, 1),
        "{path}: {events:?}"
    );
    let (_, kind, data) = events.last().unwrap();
    assert_eq!(kind, "result");
    assert_eq!(data["result"], job["result"]);
}

/// Each job has one model.
async fn models_of_each(client: Client, jobs: &[String]) {
    let mut models: HashMap<String, u32> = HashMap::new();
    let mut query = "limit=100".to_owned();
    loop {
        let page = client
            .get(&format!("/v1/models?{query}"))
            .await
            .expect(200)
            .json();
        for model in page["items"].as_array().unwrap() {
            let job = format!("/v1/jobs/{}", model["job"].as_str().unwrap());
            *models.entry(job).or_default() += 1;
        }
        let Some(cursor) = page["next_cursor"].as_str() else {
            break;
        };
        query = format!("limit=100&cursor={cursor}");
    }
    assert_eq!(models.len(), jobs.len());
    assert!(models.values().all(|&count| count == 1), "{models:?}");
}

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
    // The stream is over, and not cut off: a chunked body ends with an empty chunk.
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
    // Looked at through the store, since a new process would take the job up at once.
    let store = halfspace::app::Service::open(&settings(directory.path()))
        .await
        .unwrap();
    let owner = halfspace::records::Owner::anonymous();
    let id = path.rsplit('/').next().unwrap().parse().unwrap();
    let job = store.jobs().job(&owner, id).await.unwrap();
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

/// The bound that the contract names is measured by `benches/latency.rs`; this one is generous.
const CANCEL_PATIENCE: Duration = Duration::from_secs(5);

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
        println!("skipped: this system does not say what processor time a process used");
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
    // Idle is a tenth of a second in which at most a hundredth was used.
    loop {
        let before = processor_ticks(program.pid()).unwrap();
        sleep(Duration::from_millis(100)).await;
        if processor_ticks(program.pid()).unwrap() <= before + 1 {
            break;
        }
        assert!(cancelled.elapsed() < CANCEL_PATIENCE, "it computes on");
    }
    assert!(cancelled.elapsed() < CANCEL_PATIENCE);
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

/// How long a session is, and how often and when the program is killed while it is fed.
#[derive(Clone, Copy)]
struct Ordeal {
    examples: usize,
    kills: usize,
    /// A kill falls within so many milliseconds after a start.
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

/// Opens a session; its path.
async fn open_session(client: Client, learner: &str) -> String {
    let asked = json!({"learner": {"name": learner}, "n": 24, "seed": 9});
    let answer = client.post("/v1/sessions", &asked, None).await.unwrap();
    answer.expect(201).header("location").unwrap().to_owned()
}

/// Sends all lines from where the session stands, in several requests.
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

/// What a session came to, but for its name and age.
async fn session_end(client: Client, path: &str, position: usize) -> Value {
    let mut session = client.get(path).await.expect(200).json();
    assert_eq!(session["position"], position);
    session["id"] = Value::Null;
    session["created_at"] = Value::Null;
    session
}

#[tokio::test]
async fn a_session_fed_through_kills_equals_one_undisturbed() {
    feed_through_kills("sqlite", SHORT_ORDEAL).await;
}

#[tokio::test]
async fn a_session_over_postgres_fed_through_kills_equals_one_undisturbed() {
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
        // The moment of the kill is all that this sleep settles.
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
