//! The disk fills up. The service refuses new data, but still reads, cancels and deletes records, and once there is
//! free space again it resumes without a restart.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use futures_util::future::join_all;
use halfspace_core::learners::engine::random::Generator;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use sqlx::{ConnectOptions, Row};
use tokio::time::Instant;

use crate::files::files_below;
use crate::scale::{Scale, report};
use crate::service::{
    Answer, Client, Program, ended_once, endless, long_job, short_job, skipped, train, until,
};

/// Greatest number of log lines per full disk, for any number of requests.
const LOG_LINES_MAX: usize = 10;

/// Greatest number of requests that the service may still accept.
const LET_IN_MAX: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_disk_keeps_the_service_consistent() {
    let scale = Scale::from_environment();
    let scratch = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(scratch.path().join("disk"), scale.of(48, 160)) else {
        skipped("a file system cannot be mounted here");
        return;
    };
    let log = scratch.path().join("log");
    // The default quotas would keep a client from filling the disk.
    let much = (1_u64 << 41).to_string();
    let settings = [
        "--workers",
        "1",
        "--stored-bytes-max",
        &much,
        "--stored-bytes-per-key-max",
        &much,
    ];
    let start = || Program::start_logging("info", &log, &disk.path, &settings);
    let mut program = start();
    let client = program.client();
    let rounds = scale.of(2, 10);
    let mut random = Generator::seed_from_u64(scale.seed());
    let mut tally = Tally::default();
    let mut kept = BTreeMap::new();
    for round in 0..rounds {
        let mut there = Stock::fill(client, &mut kept, round).await;
        until_full(client, &disk, &mut there, &mut tally, &mut random).await;
        let begun = Instant::now();
        refused(client, &mut tally).await;
        read(client, &there, &kept).await;
        cancel_and_delete(client, &there, &mut tally).await;
        assert_eq!(tally.overtaken, 0, "the one worker was busy");
        // The deletions have freed space, which the test fills again.
        disk.fill();
        refused(client, &mut tally).await;
        read(client, &there, &kept).await;
        tally.full_seconds += begun.elapsed().as_secs_f64();
        disk.make_room();
        healed(client, &mut kept, round).await;
    }
    // The program restarts on a full disk.
    let mut there = Stock::fill(client, &mut kept, rounds).await;
    until_full(client, &disk, &mut there, &mut tally, &mut random).await;
    program.kill();
    program = start();
    let client = program.client();
    read(client, &there, &kept).await;
    cancel_and_delete(client, &there, &mut tally).await;
    program.terminate();
    assert!(program.ended().await.success());
    let program = start();
    let client = program.client();
    disk.make_room();
    healed(client, &mut kept, rounds).await;
    for (path, result) in &kept {
        let job = client.get(path).await.expect(200).json();
        assert_eq!(&settled(&job), result, "{path}");
        ended_once(client, path, &job).await;
    }
    assert_eq!(
        client.every("/v1/jobs").await.len(),
        kept.len(),
        "and no others"
    );
    drop(program);
    intact(&disk.path).await;
    let logged = std::fs::read_to_string(&log).unwrap();
    // Each request has a separate line, which does not count.
    let is_request = |line: &&str| line.contains("halfspace::requests");
    let lines = logged.lines().filter(|line| !is_request(line)).count();
    assert!(
        lines <= LOG_LINES_MAX * (rounds + 1),
        "{lines} lines: {logged}"
    );
    let counts = format!(
        "{} fillings of {} MiB, {:.0} s full: {} requests refused with 507, {} cancels and {} deletions \
         done, {} jobs kept with their results, integrity_check ok, 0 files of nobody, {lines} lines logged",
        rounds + 1,
        disk.mebibytes,
        tally.full_seconds,
        tally.refused,
        tally.cancelled,
        tally.deleted,
        kept.len()
    );
    report("full disk", &counts);
}

#[derive(Default)]
struct Tally {
    refused: usize,
    cancelled: usize,
    /// Jobs that ended before the cancellation.
    overtaken: usize,
    deleted: usize,
    full_seconds: f64,
}

/// Records that exist when the disk fills up.
struct Stock {
    running: String,
    queued: Vec<String>,
    /// Ended jobs that the test deletes.
    ended: Vec<String>,
    datasets: Vec<String>,
    models: Vec<String>,
    session: String,
}

impl Stock {
    /// Creates the records. `kept` receives the lasting jobs with their results.
    async fn fill(client: Client, kept: &mut BTreeMap<String, Value>, round: usize) -> Self {
        for number in 0..3 {
            let path = client.submit(&repeatable(round * 10 + number)).await;
            let job = client.until_status(&path, "succeeded").await;
            kept.insert(path, settled(&job));
        }
        let mut ended = Vec::new();
        let mut models = Vec::new();
        for _ in 0..4 {
            let path = client.submit(&short_job()).await;
            let job = client.until_status(&path, "succeeded").await;
            models.push(format!(
                "/v1/models/{}",
                job["result"]["model"].as_str().unwrap()
            ));
            ended.push(path);
        }
        let mut datasets = Vec::new();
        for _ in 0..2 {
            let answer = upload(client, 100_000).await.expect(201);
            datasets.push(answer.header("location").unwrap().to_owned());
        }
        let asked = json!({"learner": {"name": "perceptron"}, "n": 3});
        let session = client.post("/v1/sessions", &asked, None).await.unwrap();
        let session = session.expect(201).header("location").unwrap().to_owned();
        // The priority keeps the job running before all others.
        let mut first = long_job(1);
        first["priority"] = json!(10);
        let running = client.submit(&first).await;
        client.until_status(&running, "running").await;
        let mut queued = Vec::new();
        for _ in 0..20 {
            queued.push(client.submit(&short_job()).await);
        }
        Self {
            running,
            queued,
            ended,
            datasets,
            models,
            session,
        }
    }
}

/// A job whose result is the same in each run.
fn repeatable(seed: usize) -> Value {
    let mut job = train(json!({"name": "directed-drift"}), endless(101));
    job["train"]["seed"] = json!(seed);
    job["train"]["stop"] = json!({"max_examples": 5_000});
    job
}

/// The part of a job's result that is the same in each run.
fn settled(job: &Value) -> Value {
    assert_eq!(job["status"], "succeeded", "{job}");
    let mut result = job["result"].clone();
    result["model"] = Value::Null;
    result["seconds"] = Value::Null;
    result
}

async fn upload(client: Client, bytes: usize) -> Answer {
    let headers = [("content-type", "application/octet-stream")];
    let body = vec![0b1010_0101; bytes / 1_024 * 1_024];
    let sent = client.send("POST", "/v1/datasets?n=8192", &headers, &body);
    sent.await.unwrap()
}

/// Stores uploads, jobs and models concurrently until none fits. Other files take the rest of the disk.
async fn until_full(
    client: Client,
    disk: &SmallDisk,
    there: &mut Stock,
    tally: &mut Tally,
    random: &mut Generator,
) {
    for mebibytes in [8, 2] {
        loop {
            let sizes = [(); 3].map(|()| random.random_range(1..=mebibytes) << 20);
            let answers = join_all(sizes.map(|bytes| upload(client, bytes))).await;
            let (stored, refused): (Vec<_>, Vec<_>) =
                answers.into_iter().partition(|answer| answer.status == 201);
            for answer in &refused {
                assert_eq!(answer.problem(507), "storage-full");
            }
            tally.refused += refused.len();
            if stored.is_empty() {
                break;
            }
        }
    }
    // A heartbeat that met the full disk has given up the reserve, which must not fall to somebody else here.
    until("the reserve to be kept", async || {
        upload(client, 1_024).await;
        disk.has_reserve().then_some(())
    })
    .await;
    disk.fill();
    // The database's write-ahead log accepts rows as far as its file is on the disk.
    loop {
        let answer = client.post("/v1/jobs", &long_job(2), None).await.unwrap();
        if answer.status == 507 {
            assert_eq!(answer.problem(507), "storage-full");
            tally.refused += 1;
            return;
        }
        let path = answer.expect(202).header("location").unwrap().to_owned();
        there.queued.push(path);
    }
}

/// Asserts that requests that need space are refused. A few may succeed first, because other requests have
/// freed some space.
async fn refused(client: Client, tally: &mut Tally) {
    let with_data = train(
        json!({"name": "perceptron"}),
        json!({"labelled": {"examples": [
        {"x": "111", "y": 1}, {"x": "000", "y": -1}]}}),
    );
    let mut accepted = Vec::new();
    until_refused(tally, async || {
        let answer = client.post("/v1/jobs", &with_data, None).await.unwrap();
        let path = answer.header("location").map(str::to_owned);
        accepted.extend(path);
        answer
    })
    .await;
    until_refused(tally, async || upload(client, 1_024).await).await;
    let large = upload(client, 1 << 20).await;
    assert_eq!(large.problem(507), "storage-full");
    tally.refused += 1;
    for path in accepted {
        cancelled(client, &path).await;
        client.delete(&path).await.unwrap().expect(204);
    }
}

async fn until_refused(tally: &mut Tally, mut ask: impl AsyncFnMut() -> Answer) {
    for _ in 0..LET_IN_MAX {
        let answer = ask().await;
        if answer.status == 507 {
            assert_eq!(answer.problem(507), "storage-full");
            tally.refused += 1;
            return;
        }
        assert!(
            matches!(answer.status.as_u16(), 201 | 202),
            "{}",
            answer.text()
        );
    }
    panic!("a full disk takes in {LET_IN_MAX} things");
}

/// Cancels a job and returns its end. The worker may have finished the job first.
async fn cancelled(client: Client, path: &str) -> &'static str {
    let answer = client.tell(&format!("{path}/cancel")).await.unwrap();
    let end = match answer.status.as_u16() {
        202 => "cancelled",
        _ if answer.problem(409) == "wrong-state" => "succeeded",
        _ => panic!("{}", answer.text()),
    };
    client.until_status(path, end).await;
    end
}

async fn read(client: Client, there: &Stock, kept: &BTreeMap<String, Value>) {
    for path in [
        "/livez",
        "/readyz",
        "/metrics",
        "/v1/jobs",
        "/v1/models",
        "/v1/datasets",
    ] {
        client.get(path).await.expect(200);
    }
    for (path, result) in kept {
        let job = client.get(path).await.expect(200).json();
        assert_eq!(&settled(&job), result, "{path}");
        let model = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
        let zeros = "0".repeat(101);
        let question = json!({"unlabelled": {"examples": [zeros]}});
        let answer = client
            .post(&format!("{model}/predict"), &question, None)
            .await;
        answer.unwrap().expect(200);
    }
    for dataset in &there.datasets[1..] {
        client
            .get(&format!("{dataset}/examples?limit=3"))
            .await
            .expect(200);
    }
}

async fn cancel_and_delete(client: Client, there: &Stock, tally: &mut Tally) {
    for path in there.queued.iter().chain([&there.running]) {
        let end = cancelled(client, path).await;
        tally.cancelled += usize::from(end == "cancelled");
        tally.overtaken += usize::from(end == "succeeded");
    }
    let ended = there
        .ended
        .iter()
        .chain(&there.queued)
        .chain([&there.running]);
    let others = there
        .models
        .iter()
        .chain(&there.datasets[..1])
        .chain([&there.session]);
    for path in ended.chain(others) {
        client.delete(path).await.unwrap().expect(204);
        client.get(path).await.expect(404);
        tally.deleted += 1;
    }
}

/// Asserts that the service detects free space by itself, accepts jobs and computes them.
async fn healed(client: Client, kept: &mut BTreeMap<String, Value>, round: usize) {
    for dataset in client.every("/v1/datasets").await {
        let path = format!("/v1/datasets/{}", dataset["id"].as_str().unwrap());
        client.delete(&path).await.unwrap().expect(204);
    }
    let answer = until("jobs to be taken in again", async || {
        let answer = client.post("/v1/jobs", &repeatable(round), None).await;
        let answer = answer.unwrap();
        (answer.status != 507).then_some(answer)
    })
    .await;
    let path = answer.expect(202).header("location").unwrap().to_owned();
    let job = client.until_status(&path, "succeeded").await;
    kept.insert(path, settled(&job));
    let stored = upload(client, 1 << 20).await.expect(201);
    let stored = stored.header("location").unwrap();
    client.delete(stored).await.unwrap().expect(204);
}

/// Asserts that the database is intact and that no orphan blob or part of a blob exists.
async fn intact(directory: &Path) {
    let database = directory.join("halfspace.sqlite");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(database);
    let mut connection = options.connect().await.unwrap();
    let checked = sqlx::query("PRAGMA integrity_check")
        .fetch_one(&mut connection)
        .await;
    assert_eq!(checked.unwrap().get::<String, _>(0), "ok");
    // Only the mark with the id of the store is left.
    let blobs = directory.join("blobs");
    assert_eq!(files_below(&blobs), [blobs.join("store-id")]);
}

/// A file system of a few mebibytes in memory, which is unmounted when the value is dropped.
struct SmallDisk {
    path: PathBuf,
    mebibytes: u32,
}

impl SmallDisk {
    /// Returns `None` if the mount is not permitted.
    fn mount(path: PathBuf, mebibytes: u32) -> Option<Self> {
        std::fs::create_dir(&path).unwrap();
        let size = format!("size={mebibytes}m,mode=700");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "halfspace-test"])
            .arg(&path)
            .output();
        let is_mounted = mounted.is_ok_and(|mounted| mounted.status.success());
        is_mounted.then_some(Self { path, mebibytes })
    }

    fn filling(&self) -> PathBuf {
        self.path.join("of-somebody-else")
    }

    /// Whether the service holds the disk space for its small writes.
    fn has_reserve(&self) -> bool {
        let reserve = self.path.join("halfspace.sqlite-reserve");
        reserve.metadata().unwrap().len() > 0
    }

    /// Fills the disk to the last byte.
    fn fill(&self) {
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(self.filling())
            .unwrap();
        for bytes in [1 << 16, 1] {
            let part = vec![1; bytes];
            while file.write_all(&part).is_ok() {}
        }
    }

    fn make_room(&self) {
        std::fs::remove_file(self.filling()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(&self.path)
            .status();
    }
}
