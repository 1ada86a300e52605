//! Jobs of several owners on one machine: short work behind long work, shares, and a job that kills its process
//! beside innocent ones.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::scale::{Scale, report};
use crate::service::{
    Client, Program, TestDatabase, create_key, endless, long_job, short_job, train, until,
};

/// A short job ends within this time, in the long form at the 99th percentile.
const SHORT: Duration = Duration::from_secs(5);

/// Of the seconds of the workers, so much may be lost to changes of jobs.
const LOST_MAX: f64 = 0.05;

/// The settings of a service over a database.
fn settings<'a>(database_url: &'a str, workers: &'a str) -> [&'a str; 8] {
    [
        "--database-url",
        database_url,
        "--workers",
        workers,
        "--lease-seconds",
        "2",
        "--jobs-queued-max",
        "100000",
    ]
}

/// The client of one key.
struct Tenant {
    client: Client,
    authorization: String,
}

impl Tenant {
    fn new(program: &Program, directory: &std::path::Path, database_url: &str, name: &str) -> Self {
        let (_, secret) = create_key(directory, &["--database-url", database_url], name);
        Self {
            client: program.client(),
            authorization: format!("Bearer {secret}"),
        }
    }

    async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let headers = [
            ("authorization", self.authorization.as_str()),
            ("content-type", "application/json"),
        ];
        let body = body.map(Value::to_string).unwrap_or_default();
        let headers = if body.is_empty() {
            &headers[..1]
        } else {
            &headers[..]
        };
        let answer = self
            .client
            .send(method, path, headers, body.as_bytes())
            .await;
        let answer = answer.unwrap();
        assert!(
            answer.status.is_success(),
            "{method} {path}: {}",
            answer.text()
        );
        answer.json()
    }

    async fn submit(&self, job: &Value) -> String {
        let job = self.send("POST", "/v1/jobs", Some(job)).await;
        format!("/v1/jobs/{}", job["id"].as_str().unwrap())
    }

    async fn job(&self, path: &str) -> Value {
        self.send("GET", path, None).await
    }

    async fn ended(&self, path: &str) -> Value {
        until("a job to end", async || {
            let job = self.job(path).await;
            job["finished_at"].is_string().then_some(job)
        })
        .await
    }
}

/// A job of an hour.
fn hour(seed: u64) -> Value {
    let mut job = long_job(seed);
    job["train"]["stop"] = json!({"max_seconds": 3_600});
    job
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_jobs_behind_long_ones_over_sqlite() {
    behind_long_ones("short jobs behind long ones over SQLite", "sqlite", 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_jobs_behind_long_ones_of_one_worker() {
    let fault = "short jobs behind long ones, one worker over SQLite";
    behind_long_ones(fault, "sqlite", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_jobs_behind_long_ones_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        let fault = "short jobs behind long ones over PostgreSQL";
        behind_long_ones(fault, &database.url(), 2).await;
    }
}

async fn behind_long_ones(fault: &str, database_url: &str, workers: u32) {
    let scale = Scale::from_environment();
    let (long, short) = (scale.of(8, 100), scale.of(4, 100));
    let directory = tempfile::tempdir().unwrap();
    let workers_text = workers.to_string();
    let program = Program::start(directory.path(), &settings(database_url, &workers_text));
    let tenant = |name| Tenant::new(&program, directory.path(), database_url, name);
    let (a, b) = (tenant("a"), tenant("b"));
    let mut paths = Vec::new();
    for seed in 0..long {
        paths.push(a.submit(&hour(seed as u64)).await);
    }
    let begun = Instant::now();
    let mut slowest = Vec::new();
    for (name, owner) in [("A", &a), ("B", &b)] {
        let mut took = Vec::new();
        for _ in 0..short {
            let submitted = Instant::now();
            let path = owner.submit(&short_job()).await;
            assert_eq!(owner.ended(&path).await["attempt"], 1);
            took.push(submitted.elapsed());
            sleep(Duration::from_millis(scale.of(50, 700))).await;
        }
        took.sort_unstable();
        let p99 = took[(took.len() * 99).div_ceil(100) - 1];
        let p50 = took[took.len() / 2];
        slowest.push((name, p50, p99));
    }
    let elapsed = begun.elapsed().as_secs_f64();
    // What the long jobs have computed so far stands in their ends.
    for path in &paths {
        a.send("POST", &format!("{path}/cancel"), None).await;
    }
    let ends = join_all(paths.iter().map(|path| a.ended(path))).await;
    let seconds: f64 = ends
        .iter()
        .filter_map(|job| job["result"]["seconds"].as_f64())
        .sum();
    let lost = 1.0 - seconds / (f64::from(workers) * elapsed);
    let preempted = program.client().metric("halfspace_preemptions_total").await;
    report(
        fault,
        &format!(
            "{long} long jobs of A; {short} short ones of each: {}; {preempted} preemptions, {:.1} % of the \
             time not computed by long jobs",
            slowest
                .iter()
                .map(|(name, p50, p99)| format!("{name} p50 {p50:.2?} p99 {p99:.2?}"))
                .collect::<Vec<_>>()
                .join(", "),
            lost * 100.0
        ),
    );
    for (name, _, p99) in slowest {
        assert!(scale.of(true, p99 <= SHORT), "{name}: {p99:?}");
    }
    assert!(scale.of(true, lost <= LOST_MAX), "{lost}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_owners_share_over_sqlite() {
    share("three owners over SQLite", "sqlite").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_owners_share_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        share("three owners over PostgreSQL", &database.url()).await;
    }
}

async fn share(fault: &str, database_url: &str) {
    let scale = Scale::from_environment();
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &settings(database_url, "2"));
    let names = ["a", "b", "c"];
    let owners = names.map(|name| Tenant::new(&program, directory.path(), database_url, name));
    let mut paths = Vec::new();
    for owner in &owners {
        let jobs = (0..3).map(hour);
        paths.push(join_all(jobs.map(async |job| owner.submit(&job).await)).await);
    }
    sleep(Duration::from_secs(scale.of(15, 600))).await;
    let mut seconds = Vec::new();
    for (owner, paths) in owners.iter().zip(&paths) {
        for path in paths {
            owner.send("POST", &format!("{path}/cancel"), None).await;
        }
        let ends = join_all(paths.iter().map(|path| owner.ended(path))).await;
        let of_owner = ends
            .iter()
            .filter_map(|job| job["result"]["seconds"].as_f64());
        seconds.push(of_owner.sum::<f64>());
    }
    let all: f64 = seconds.iter().sum();
    let shares: Vec<_> = seconds
        .iter()
        .map(|seconds| 100.0 * seconds / all)
        .collect();
    report(
        fault,
        &format!("{all:.0} s computed, shares {shares:.1?} %"),
    );
    for share in shares {
        assert!(share > 0.0, "an owner starved");
        assert!(
            scale.of(true, (share - 100.0 / 3.0).abs() <= 3.0),
            "{share}"
        );
    }
}

/// Looks at the culprit until it is computed: five minutes.
const LOOKS_MAX: u32 = 6_000;

const LOOK: Duration = Duration::from_millis(50);

/// A job that learns for some seconds.
fn innocent(seed: u64) -> Value {
    let mut job = train(json!({"name": "directed-drift"}), endless(201));
    job["train"]["seed"] = json!(seed);
    job["train"]["stop"] = json!({"max_examples": 50_000});
    job
}

/// The process dies whenever it computes one of the jobs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_that_kills_its_process_is_isolated_from_innocent_jobs() {
    killed_by_one("a culprit over SQLite", "sqlite").await;
    if let Some(database) = TestDatabase::new().await {
        killed_by_one("a culprit over PostgreSQL", &database.url()).await;
    }
}

async fn killed_by_one(fault: &str, database_url: &str) {
    let directory = tempfile::tempdir().unwrap();
    let settings = [&settings(database_url, "2")[..], &["--attempts-max", "2"]].concat();
    let start = || Program::start(directory.path(), &settings);
    let mut program = start();
    let submit = async |client: Client, job: &Value| {
        let job = client
            .post("/v1/jobs", job, None)
            .await
            .unwrap()
            .expect(202)
            .json();
        format!("/v1/jobs/{}", job["id"].as_str().unwrap())
    };
    let mut culprit = hour(1);
    culprit["priority"] = json!(10);
    let culprit = submit(program.client(), &culprit).await;
    let mut innocents = Vec::new();
    for seed in 0..10 {
        innocents.push(submit(program.client(), &innocent(seed)).await);
    }
    let mut deaths = 0;
    let error = loop {
        let client = program.client();
        // Its counts move only while it is computed, and not while it is parked.
        let before = client.get(&culprit).await.expect(200).json();
        // It waits for pauses, and for suspects that run alone before it.
        let mut looks = 0;
        let job = loop {
            let job = client.get(&culprit).await.expect(200).json();
            let is_computed = job["progress"] != before["progress"];
            if is_computed || job["finished_at"].is_string() {
                break job;
            }
            looks += 1;
            assert!(
                looks < LOOKS_MAX,
                "the culprit does not come to be computed"
            );
            sleep(LOOK).await;
        };
        if job["finished_at"].is_string() {
            break job["error"]["code"].clone();
        }
        program.kill();
        deaths += 1;
        assert!(deaths < 20, "the culprit is never given up");
        program = start();
    };
    assert_eq!(error, "poisoned");
    let mut attempts = Vec::new();
    for path in &innocents {
        let job = program.client().until_status(path, "succeeded").await;
        attempts.push(job["attempt"].as_u64().unwrap());
    }
    report(
        fault,
        &format!(
            "poisoned after {deaths} deaths; 10 innocent jobs succeeded, attempts {attempts:?}"
        ),
    );
}
