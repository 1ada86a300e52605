//! Cancellations: how long a job takes to end, in the same process and in another, and the race of a cancellation
//! with the end of its job. Each job has one end, which never changes.

use std::fmt;
use std::time::Duration;

use futures_util::future::join_all;
use halfspace_core::learners::engine::random::Generator;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::scale::{Scale, report};
use crate::service::{
    Client, Program, TIMEOUT, TestDatabase, ended_once, endless, long_job, train,
};

/// Documented limits for a job in the same process and in another.
const SAME_P99: Duration = Duration::from_millis(250);
const OTHER_P99: Duration = Duration::from_secs(2);

/// A running job is cancelled within this time, possibly while its data are still read.
const AGE_MS_MAX: u64 = 400;

/// Pause between two polls of a job's end.
const LOOK: Duration = Duration::from_millis(5);

/// Number of concurrent races.
const RACES_AT_ONCE: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancels_in_the_same_process() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(
        directory.path(),
        &[&FRUGAL[..], &["--workers", "2"]].concat(),
    );
    let client = program.client();
    measured("the same process", client, SAME_P99).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancels_in_another_process_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        in_another_process("another process, PostgreSQL", &database.url()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancels_in_another_process_over_sqlite() {
    in_another_process("another process, SQLite", "sqlite").await;
}

/// The service reads large data in parts throughout the job.
const FRUGAL: [&str; 2] = ["--resident-bytes-max", "1"];

async fn in_another_process(what: &str, database_url: &str) {
    let directory = tempfile::tempdir().unwrap();
    let start = |role| {
        let settings = ["--database-url", database_url, "--role", role];
        Program::start(directory.path(), &[&FRUGAL[..], &settings].concat())
    };
    let (api, _worker) = (start("api"), start("worker"));
    measured(what, api.client(), OTHER_P99).await;
}

async fn measured(what: &str, client: Client, p99_max: Duration) {
    let scale = Scale::from_environment();
    let repetitions = scale.of(1, 40);
    let mut random = Generator::seed_from_u64(scale.seed());
    let mut all = Vec::new();
    for (kind, mut job) in long_jobs(client).await {
        let mut times = Vec::new();
        for seed in 0..repetitions {
            let task = job.as_object_mut().unwrap().values_mut().next().unwrap();
            if task.get("learner").is_some() {
                task["seed"] = json!(seed);
            }
            let path = client.submit(&job).await;
            client.until_status(&path, "running").await;
            // The sleep determines only the moment of the cancellation.
            sleep(Duration::from_millis(random.random_range(0..AGE_MS_MAX))).await;
            let asked_at = Instant::now();
            client.cancel(&path).await;
            let ended = until_ended(client, &path).await;
            times.push(asked_at.elapsed());
            assert_eq!(ended["status"], "cancelled", "{kind}: {ended}");
        }
        println!("{what}: {kind}: {}", Times(&mut times));
        all.append(&mut times);
    }
    let p99 = Times(&mut all).at(99);
    report(&format!("cancels, {what}"), &Times(&mut all).to_string());
    // The short form asserts no times, because other processes may use the machine.
    assert!(scale.of(true, p99 <= p99_max), "{what}: p99 is {p99:?}");
}

/// Jobs that end only when they are stopped, or not for seconds, for every kind of computing loop.
async fn long_jobs(client: Client) -> Vec<(&'static str, Value)> {
    let noisy = |n: u32, count: u32| {
        json!({"generated": {"n": n, "target": {"binary_weights": {}}, "sampling": "uniform",
            "count": count, "noise": 0.3}})
    };
    let body = json!({"data": noisy(512, 40_000), "seed": 1});
    let stored = client.post("/v1/datasets", &body, None).await.unwrap();
    let stored = json!({"dataset": stored.expect(201).id()});
    let endlessly = |learner: &str, params: Value, data: Value| {
        let mut job = train(json!({"name": learner, "params": params}), data);
        job["train"]["stop"] = json!({"max_seconds": 600, "max_passes": 1_000_000_000});
        job
    };
    let random_order = json!({"order": "random"});
    // A kernel of all conjunctions separates all data without contradictions.
    let linear = json!({"kernel": {"conjunctions": "monotone", "max_literals": 1}});
    vec![
        ("directed-drift", long_job(1)),
        ("directed-drift-async, n = 1,048,576", {
            let learner = json!({"name": "directed-drift-async"});
            let mut job = train(learner, endless(1 << 20));
            job["train"]["stop"] = json!({"max_seconds": 600});
            job
        }),
        (
            "perceptron, 1,000 x 65,536",
            endlessly("perceptron", random_order.clone(), noisy(65_536, 1_000)),
        ),
        (
            "perceptron, 40,000 x 512 stored, read in parts",
            endlessly("perceptron", random_order, stored.clone()),
        ),
        (
            "kernel-perceptron, 5,000 x 64",
            endlessly("kernel-perceptron", linear, noisy(64, 5_000)),
        ),
        (
            "winnow, 2,000 x 1,000",
            endlessly("winnow", json!({}), noisy(1_000, 2_000)),
        ),
        (
            "amp, 18,000 x 12,001",
            endlessly("amp", json!({"restarts": 1_000_000}), noisy(12_001, 18_000)),
        ),
        (
            "separability, 6,000 x 1,500",
            json!({"separability": {"data": noisy(1_500, 6_000)}}),
        ),
        (
            "maximum margin, 40,000 x 512 stored",
            json!({"maximum_margin": {"data": stored}}),
        ),
    ]
}

async fn until_ended(client: Client, path: &str) -> Value {
    let deadline = Instant::now() + TIMEOUT;
    while Instant::now() < deadline {
        let job = client.get(path).await.expect(200).json();
        if is_ended(&job) {
            return job;
        }
        sleep(LOOK).await;
    }
    panic!("{path} does not end");
}

fn is_ended(job: &Value) -> bool {
    !["queued", "running"].contains(&job["status"].as_str().unwrap())
}

/// Durations of repeated measurements.
struct Times<'a>(&'a mut Vec<Duration>);

impl Times<'_> {
    /// The duration that `percent` percent of the measurements do not exceed.
    fn at(&mut self, percent: usize) -> Duration {
        self.0.sort_unstable();
        let index = (self.0.len() * percent).div_ceil(100).max(1) - 1;
        self.0[index]
    }
}

impl fmt::Display for Times<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut times = self.0.clone();
        let mut times = Times(&mut times);
        let mut at = |percent| times.at(percent).as_secs_f64() * 1e3;
        let (median, p99, most) = (at(50), at(99), at(100));
        write!(
            f,
            "{} cancels, p50 {median:.0} ms, p99 {p99:.0} ms, max {most:.0} ms",
            self.0.len()
        )
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancels_that_race_the_end_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        races("PostgreSQL", &database.url()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancels_that_race_the_end_over_sqlite() {
    races("SQLite", "sqlite").await;
}

async fn races(backend: &str, database_url: &str) {
    let scale = Scale::from_environment();
    let races = scale.of(48, 800);
    let directory = tempfile::tempdir().unwrap();
    let settings = ["--database-url", database_url, "--workers", "2"];
    let programs = [(); 2].map(|()| Program::start(directory.path(), &settings));
    let clients = [programs[0].client(), programs[1].client()];
    // The first batch meets a program that has just started.
    undisturbed_ms(clients).await;
    let mut life_ms_max = undisturbed_ms(clients).await;
    let mut random = Generator::seed_from_u64(scale.seed());
    let mut ended = Vec::new();
    let (mut cancelled, mut overtaken, mut refused) = (0, 0, 0);
    for batch in 0..races / RACES_AT_ONCE {
        let racing = (0..RACES_AT_ONCE).map(|lane| {
            let moment = Duration::from_millis(random.random_range(0..life_ms_max));
            let (to, by) = (random.random_range(0..2), random.random_range(0..2));
            let seed = batch * RACES_AT_ONCE + lane;
            race(clients[to], clients[by], seed, moment)
        });
        let cancelled_before = cancelled;
        for (path, status, job) in join_all(racing).await {
            match (status, job["status"].as_str().unwrap()) {
                (202, "cancelled") => cancelled += 1,
                (202, "succeeded") => overtaken += 1,
                (409, "succeeded") => refused += 1,
                other => panic!("{other:?}: {job}"),
            }
            ended.push((path, job));
        }
        // The next batch follows the speed of the machine, so that some cancellations come before the end and some
        // after it.
        match cancelled - cancelled_before {
            0 => life_ms_max = life_ms_max.div_ceil(2),
            RACES_AT_ONCE => life_ms_max *= 2,
            _ => {}
        }
    }
    for (path, job) in &ended {
        let now = clients[0].get(path).await.expect(200).json();
        assert_eq!(&now, job, "an end that changed");
        ended_once(clients[1], path, job).await;
        // An ended job cannot be cancelled again.
        let again = clients[1].tell(&format!("{path}/cancel")).await.unwrap();
        let expected = if job["status"] == "cancelled" {
            200
        } else {
            409
        };
        again.expect(expected);
    }
    assert!(cancelled > 0 && overtaken + refused > 0, "nothing raced");
    let counts = format!(
        "{races} races over 2 processes: {cancelled} cancelled, {overtaken} succeeded after the request, \
         {refused} had ended before; 0 second ends, 0 changed ends"
    );
    report(&format!("cancels that race the end, {backend}"), &counts);
}

/// Submits a job and cancels it after `moment`. Returns the path, the status of the answer, and the ended job.
async fn race(to: Client, by: Client, seed: usize, moment: Duration) -> (String, u16, Value) {
    let path = to.submit(&tenths_of_a_second(seed)).await;
    sleep(moment).await;
    let answer = by.tell(&format!("{path}/cancel")).await.unwrap();
    let job = until_ended(to, &path).await;
    (path, answer.status.as_u16(), job)
}

/// A job that computes for less than a second, with or without optimisation.
fn tenths_of_a_second(seed: usize) -> Value {
    let mut job = train(json!({"name": "directed-drift"}), endless(201));
    job["train"]["seed"] = json!(seed);
    job["train"]["stop"] = json!({"max_examples": 40_000});
    job
}

/// Milliseconds that the slowest job of a batch takes without a cancellation.
async fn undisturbed_ms(clients: [Client; 2]) -> u64 {
    let begun = Instant::now();
    let jobs = (0..RACES_AT_ONCE).map(|seed| async move {
        let client = clients[seed % 2];
        let path = client.submit(&tenths_of_a_second(seed)).await;
        until_ended(client, &path).await
    });
    join_all(jobs).await;
    u64::try_from(begun.elapsed().as_millis()).unwrap().max(1)
}
