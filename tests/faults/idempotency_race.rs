//! Clients race for one idempotency key over two replicas. One job is created, and every client receives it.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use halfspace_core::learners::engine::random::Generator;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::files::files_below;
use crate::scale::{Scale, report};
use crate::service::{Answer, Client, Program, TIMEOUT, TestDatabase, short_job, until};

const CLIENTS: usize = 64;

/// Greatest random delay of each racing client.
const JITTER_US_MAX: u64 = 3_000;

/// Pause of a client before a retry when the key is in flight.
const ASKED_AGAIN_AFTER: Duration = Duration::from_millis(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idempotency_race_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        idempotency_race("PostgreSQL", &database.url()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idempotency_race_over_sqlite() {
    idempotency_race("SQLite", "sqlite").await;
}

async fn idempotency_race(backend: &str, database_url: &str) {
    let scale = Scale::from_environment();
    let keys = scale.of(12, 1_000);
    let directory = tempfile::tempdir().unwrap();
    let settings = ["--database-url", database_url, "--workers", "2"];
    let programs = [(); 2].map(|()| Program::start(directory.path(), &settings));
    let clients = [programs[0].client(), programs[1].client()];
    let mut random = Generator::seed_from_u64(scale.seed());
    let mut all = Told::default();
    let mut made = BTreeSet::new();
    for number in 0..keys {
        let key = format!("race-{number}");
        let asked = join_all((0..CLIENTS).map(|client| {
            let jitter = Duration::from_micros(random.random_range(0..JITTER_US_MAX));
            let to = clients[random.random_range(0..2)];
            let waits = random.random_bool(0.5);
            // All clients send the same body and differ only in `Prefer`.
            let (key, body) = (key.as_str(), body(number));
            async move {
                sleep(jitter).await;
                let told = until_told(to, key, &body, waits).await;
                assert_eq!(told.jobs.len(), 1, "client {client} of {key}");
                told
            }
        }));
        let told = asked.await.into_iter().fold(Told::default(), Told::with);
        assert_eq!(told.jobs.len(), 1, "{key} made {:?}", told.jobs);
        assert_eq!(told.first, 1, "{key}: one client is told first");
        made.extend(told.jobs.iter().cloned());
        all = all.with(told);
        for client in clients {
            let other = send(client, &key, &body(number + keys), false).await;
            assert_eq!(other.problem(422), "idempotency-mismatch", "{key}");
        }
    }
    assert_eq!(made.len(), keys, "one job a key");
    let listed: BTreeSet<String> = ids(clients[0], "/v1/jobs").await;
    assert_eq!(listed, made, "what was made and what is there");
    for id in &made {
        let path = format!("/v1/jobs/{id}");
        clients[1].until_status(&path, "succeeded").await;
    }
    let models = ids(clients[0], "/v1/models").await.len();
    assert_eq!(models, keys, "one model a job");
    // A losing request has written data before it lost the race.
    until("the data of ended jobs to be gone", async || {
        files_below(&directory.path().join("blobs/jobs"))
            .is_empty()
            .then_some(())
    })
    .await;
    let counts = format!(
        "{keys} keys, {CLIENTS} clients, 2 processes: {} jobs, {} first answers, {} replays, \
         {} times 409 in flight, {} times 422",
        made.len(),
        all.first,
        all.replays,
        all.in_flight,
        2 * keys
    );
    report(&format!("idempotency race, {backend}"), &counts);
}

/// Counts of the answers to clients.
#[derive(Default)]
struct Told {
    jobs: BTreeSet<String>,
    first: u32,
    replays: u32,
    in_flight: u32,
}

impl Told {
    fn with(mut self, other: Self) -> Self {
        self.jobs.extend(other.jobs);
        self.first += other.first;
        self.replays += other.replays;
        self.in_flight += other.in_flight;
        self
    }
}

fn body(number: usize) -> String {
    let mut job = short_job();
    job["train"]["seed"] = json!(number);
    job.to_string()
}

async fn send(client: Client, key: &str, body: &str, waits: bool) -> Answer {
    let mut headers = vec![
        ("content-type", "application/json"),
        ("idempotency-key", key),
    ];
    headers.extend(waits.then_some(("prefer", "wait=10")));
    let sent = client.send("POST", "/v1/jobs", &headers, body.as_bytes());
    sent.await.unwrap()
}

/// Sends the request until the answer is a job. An answer that the key is in flight asks for a retry.
async fn until_told(client: Client, key: &str, body: &str, waits: bool) -> Told {
    let mut told = Told::default();
    let deadline = Instant::now() + TIMEOUT;
    loop {
        assert!(Instant::now() < deadline, "{key} stays in flight");
        let answer = send(client, key, body, waits).await;
        if answer.status == 409 {
            assert_eq!(answer.problem(409), "idempotency-in-flight", "{key}");
            told.in_flight += 1;
            sleep(ASKED_AGAIN_AFTER).await;
            continue;
        }
        assert!(answer.status.is_success(), "{key}: {}", answer.text());
        match answer.header("idempotency-replayed") {
            Some(_) => told.replays += 1,
            None => told.first += 1,
        }
        told.jobs.insert(answer.id());
        return told;
    }
}

async fn ids(client: Client, list: &str) -> BTreeSet<String> {
    let items = client.every(list).await;
    let id = |item: &serde_json::Value| item["id"].as_str().unwrap().to_owned();
    items.iter().map(id).collect()
}
