//! A replica is cut off from PostgreSQL. Its clients get an error in time, it stops computing by the end of its
//! leases, other processes take over its jobs, and it recovers by itself.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{PgConnection, Row};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::orders::{inseparable, settled};
use crate::scale::{Scale, report};
use crate::service::{
    Answer, Client, Program, Proxy, TIMEOUT, TestDatabase, Way, ended_once, long_job, short_job,
    until,
};

/// Greatest time until clients learn that the database is unreachable.
const TOLD: Duration = Duration::from_secs(2);

const LEASE: Duration = Duration::from_secs(2);

/// Allowance for a loaded machine in the short form, which runs beside other tests.
const GRACE: Duration = Duration::from_secs(8);

/// Allowance of the long form for a worker to notice the end of its lease.
const NOTICE: Duration = Duration::from_millis(500);

/// A process that reaches the database through a proxy, and a process with a direct connection.
struct Pair {
    database: TestDatabase,
    proxy: Proxy,
    directory: tempfile::TempDir,
    scale: Scale,
}

impl Pair {
    async fn new() -> Option<Self> {
        let database = TestDatabase::new().await?;
        let proxy = Proxy::start(database.socket()).await;
        Some(Self {
            database,
            proxy,
            directory: tempfile::tempdir().unwrap(),
            scale: Scale::from_environment(),
        })
    }

    fn replica(&self) -> Program {
        self.start(&self.database.url_by(self.proxy.address()))
    }

    fn other(&self) -> Program {
        self.start(&self.database.url())
    }

    // The start of the program blocks this thread, and the proxy runs on other threads.
    fn start(&self, url: &str) -> Program {
        let lease = LEASE.as_secs().to_string();
        let settings = [
            ["--database-url", url],
            ["--workers", "1"],
            ["--lease-seconds", &lease],
            ["--checkpoint-seconds", "1"],
            // Every cut costs an attempt.
            ["--attempts-max", "1000"],
        ];
        Program::start(self.directory.path(), &settings.concat())
    }
}

async fn accepted(client: Client, job: &Value) -> String {
    let answer = client.post("/v1/jobs", job, None).await.unwrap();
    answer.expect(202).header("location").unwrap().to_owned()
}

async fn cancel(client: Client, path: &str) {
    client.cancel(path).await;
    client.until_status(path, "cancelled").await;
}

async fn until_ready(client: Client) {
    until("the service to be ready", async || {
        (client.get("/readyz").await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_off_replica_reports_it_to_clients_and_heals() {
    let Some(pair) = Pair::new().await else {
        return;
    };
    let program = pair.replica();
    let client = program.client();
    let long = accepted(client, &long_job(1)).await;
    client.until_status(&long, "running").await;
    let (mut told, mut slowest) = (Told::default(), Duration::ZERO);
    for (way, heals) in CUTS.repeat(pair.scale.of(1, 10)) {
        let (waiting, waiter) = waited_for(client, &format!("waiting {}", told.answers)).await;
        pair.proxy.turn(way);
        let cut_at = Instant::now();
        for path in ["/readyz", "/v1/jobs", long.as_str()] {
            let asked_at = Instant::now();
            let answer = client.get(path).await;
            told.check(
                &pair,
                &format!("{way:?}: {path}"),
                &answer,
                asked_at.elapsed(),
            );
        }
        let asked_at = Instant::now();
        let refused = client.post("/v1/jobs", &short_job(), None).await.unwrap();
        told.check(
            &pair,
            &format!("{way:?}: a job"),
            &refused,
            asked_at.elapsed(),
        );
        let (answer, told_at) = waiter.await.unwrap();
        told.check(
            &pair,
            &format!("{way:?}: a waiter"),
            &answer,
            told_at - cut_at,
        );
        client.get("/livez").await.expect(200);
        pair.proxy.turn(heals);
        let healing_at = Instant::now();
        until_working(client).await;
        slowest = slowest.max(healing_at.elapsed());
        cancel(client, &waiting).await;
    }
    // The worker has survived the cuts and accepts new jobs.
    cancel(client, &long).await;
    let path = accepted(client, &short_job()).await;
    client.until_status(&path, "succeeded").await;
    report(
        "cut off, clients",
        &format!("{told}; works again by itself within {slowest:.1?}"),
    );
}

/// The ways to cut the network, each with the way to restore it.
const CUTS: [(Way, Way); 3] = [
    (Way::Refuse, Way::Forward),
    (Way::Swallow, Way::Forward),
    (Way::Swallow, Way::ForwardNew),
];

/// Consecutive successful requests that show a recovered replica: more than it has connections.
const MET_IN_A_ROW: usize = 12;

async fn until_working(client: Client) {
    until("the service to work again", async || {
        for _ in 0..MET_IN_A_ROW {
            let answer = client.get("/v1/jobs").await;
            if answer.status != 200 {
                assert_eq!(answer.problem(503), "unavailable");
                return None;
            }
        }
        Some(())
    })
    .await;
}

/// A job that does not end, and the task of a client that waits for its end.
async fn waited_for(client: Client, name: &str) -> (String, JoinHandle<(Answer, Instant)>) {
    let mut job = long_job(2);
    job["name"] = json!(name);
    let waiter = tokio::spawn(async move {
        let answer = client.post("/v1/jobs", &job, Some("wait=20")).await;
        (answer.unwrap(), Instant::now())
    });
    let path = until("a job that is waited for", async || {
        let jobs = client.get("/v1/jobs").await.expect(200).json();
        let job = jobs["items"]
            .as_array()?
            .iter()
            .find(|job| job["name"] == name)?;
        Some(format!("/v1/jobs/{}", job["id"].as_str()?))
    });
    (path.await, waiter)
}

/// Counts of the answers to clients.
#[derive(Default)]
struct Told {
    answers: u32,
    slowest: Duration,
}

impl Told {
    /// Asserts that an answer reports the unreachable database in time.
    fn check(&mut self, pair: &Pair, what: &str, answer: &Answer, took: Duration) {
        assert_eq!(answer.problem(503), "unavailable", "{what}");
        assert_eq!(answer.header("retry-after"), Some("1"), "{what}");
        let allowed = pair.scale.of(TOLD + GRACE, TOLD);
        assert!(took <= allowed, "{what}: told after {took:?}");
        self.answers += 1;
        self.slowest = self.slowest.max(took);
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answers, slowest } = self;
        write!(
            f,
            "{answers} clients told, all by 503 with Retry-After, the last after {slowest:.1?}"
        )
    }
}

/// Locks that block a statement that reads jobs and a statement that writes jobs.
const LOCKS: [(&str, &str); 2] = [
    ("GET", "LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE"),
    ("POST", "LOCK TABLE jobs IN EXCLUSIVE MODE"),
];

/// Milliseconds for which the oldest blocked statement has waited for its lock.
const BLOCKED: &str = "SELECT COALESCE(MAX(EXTRACT(EPOCH FROM clock_timestamp() - query_start) * 1000), -1)::bigint \
     AS milliseconds FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_off_in_the_middle_of_a_statement_is_reported_to_clients() {
    let Some(pair) = Pair::new().await else {
        return;
    };
    let program = pair.replica();
    let client = program.client();
    let mut holder = pair.database.connect().await;
    let mut told = Told::default();
    for (method, lock) in LOCKS.repeat(pair.scale.of(1, 5)) {
        let asked = asked_under(&mut holder, lock, client, method).await;
        until_blocked(&pair, Duration::ZERO).await;
        pair.proxy.turn(Way::Swallow);
        let cut_at = Instant::now();
        let (answer, told_at) = asked.await.unwrap();
        told.check(
            &pair,
            &format!("{method} in flight"),
            &answer,
            told_at - cut_at,
        );
        run(&mut holder, "ROLLBACK").await;
        pair.proxy.turn(Way::Forward);
        until_ready(client).await;
    }
    report("cut off, statements in flight", &told.to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_off_is_not_assumed_of_a_database_that_answers_late() {
    let Some(pair) = Pair::new().await else {
        return;
    };
    let program = pair.replica();
    let mut holder = pair.database.connect().await;
    for (method, lock) in LOCKS {
        let asked = asked_under(&mut holder, lock, program.client(), method).await;
        until_blocked(&pair, TOLD).await;
        run(&mut holder, "ROLLBACK").await;
        let (answer, _) = asked.await.unwrap();
        assert!(answer.status.is_success(), "{method}: {}", answer.text());
    }
}

/// Reads or submits jobs while a lock blocks the statement.
async fn asked_under(
    holder: &mut PgConnection,
    lock: &'static str,
    client: Client,
    method: &'static str,
) -> JoinHandle<(Answer, Instant)> {
    run(holder, "BEGIN").await;
    run(holder, lock).await;
    tokio::spawn(async move {
        let answer = match method {
            "GET" => client.get("/v1/jobs").await,
            _ => client.post("/v1/jobs", &short_job(), None).await.unwrap(),
        };
        (answer, Instant::now())
    })
}

async fn run(connection: &mut PgConnection, statement: &'static str) {
    sqlx::query(statement).execute(connection).await.unwrap();
}

/// Waits until a statement has waited for a lock for this time.
async fn until_blocked(pair: &Pair, so_long: Duration) {
    let mut watcher = pair.database.connect().await;
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let row = sqlx::query(BLOCKED).fetch_one(&mut watcher).await.unwrap();
        if row.get::<i64, _>("milliseconds") >= so_long.as_millis() as i64 {
            return;
        }
        assert!(Instant::now() < deadline, "no statement waits for the lock");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_off_worker_stops_by_the_end_of_its_lease() {
    let Some(pair) = Pair::new().await else {
        return;
    };
    let rounds = pair.scale.of(1, 10);
    let mut job = inseparable(1);
    job["train"]["stop"] = json!({"max_passes": pair.scale.of(6_000, 500_000)});
    job["train"]["seed"] = json!(1);
    let replica = pair.replica();
    let client = replica.client();
    let path = accepted(client, &job).await;
    let expected = settled(&client.until_status(&path, "succeeded").await);
    let mut slowest = Duration::ZERO;
    for _ in 0..rounds {
        let path = accepted(client, &job).await;
        let running = client.until_status(&path, "running").await;
        assert_eq!(running["attempt"], 1);
        pair.proxy.turn(Way::Swallow);
        let cut_at = Instant::now();
        let other = pair.other();
        until_idle(client).await;
        let stopped = cut_at.elapsed();
        let allowed = pair.scale.of(LEASE + GRACE, LEASE + NOTICE);
        assert!(stopped <= allowed, "it computed for {stopped:?}");
        slowest = slowest.max(stopped);
        let ended = other.client().until_status(&path, "succeeded").await;
        assert_eq!(ended["attempt"], 2);
        assert_eq!(settled(&ended), expected);
        pair.proxy.turn(Way::Forward);
        until_ready(client).await;
        // The worker that was cut off agrees after it has reconnected.
        let seen = client.get(&path).await.expect(200).json();
        assert_eq!(seen, ended);
        ended_once(client, &path, &ended).await;
    }
    let path = accepted(client, &short_job()).await;
    client.until_status(&path, "succeeded").await;
    report(
        "cut off, workers",
        &format!(
            "{rounds} cuts: each computed for {slowest:.1?} at most, of a lease of {LEASE:?}; every \
             job went on elsewhere, with the same result"
        ),
    );
}

async fn until_idle(client: Client) {
    until("a worker to stop computing", async || {
        let running = client.metric("halfspace_computations_running").await;
        (running == 0.0).then_some(())
    })
    .await;
}
