//! A worker freezes for two leases and then continues. By then another worker has taken over its jobs, and the store
//! refuses all of its late writes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use halfspace_core::learners::engine::random::Generator;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgConnection, Row};
use tokio::time::{Instant, sleep};

use crate::orders::inseparable;
use crate::scale::{Scale, report};
use crate::service::{Client, Program, TIMEOUT, TestDatabase, ended_once, endless, train, until};

/// The shortest lease that can be set.
const LEASE: Duration = Duration::from_secs(2);

/// Number of workers that freeze together.
const VICTIMS: usize = 5;

/// Number of short jobs per round, so that some worker freezes while it claims, reads or writes.
const SHORT_JOBS: usize = 30;

/// The freeze comes within this time after the endless jobs have begun, before or after their first
/// checkpoints.
const LIFE_MS_MAX: u64 = 1_500;

/// All tables. While the rescuer is frozen too, no process has a reason to change their rows, except the report that
/// it is alive.
const TABLES: &str = "SELECT table_name::text AS name FROM information_schema.tables \
     WHERE table_schema = 'public' ORDER BY table_name";

/// The columns of such a report that change from one report to the next.
const REPORTED: &str = "'{seen_at, memory_bytes_free, memory_bytes_taken}'::text[]";

/// Counts the connections that are executing a statement or a transaction.
const BUSY: &str = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() \
     AND pid <> pg_backend_pid() AND state <> 'idle'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn freezes_of_two_leases_leave_no_stale_write() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let scale = Scale::from_environment();
    let rounds = scale.of(1, 10);
    let directory = tempfile::tempdir().unwrap();
    let url = database.url();
    let scene = Scene {
        directory: directory.path(),
        url: &url,
    };
    let api = scene.start("api", 1, LEASE);
    let victims: Vec<Program> = (0..VICTIMS)
        .map(|_| scene.start("worker", 2, LEASE))
        .collect();
    let mut store = database.connect().await;
    let mut random = Generator::seed_from_u64(scale.seed());
    let mut counts = Counts::default();
    for round in 0..rounds {
        let jobs = submit(api.client(), round).await;
        until_running(api.client(), &jobs.endless).await;
        // The sleep determines only the moment of the freeze.
        sleep(Duration::from_millis(random.random_range(0..LIFE_MS_MAX))).await;
        let frozen_at = Instant::now();
        victims.iter().for_each(Program::freeze);
        // The rescuer's lease is so long that no victim may take its jobs later.
        let rescuer = scene.start("worker", VICTIMS + 2, 100 * LEASE);
        until_rescued(api.client(), &jobs).await;
        tokio::time::sleep_until(frozen_at + 2 * LEASE).await;
        wake(&scene, &mut store, &victims, &rescuer, &jobs, &mut counts).await;
        finish(api.client(), &jobs, &mut counts).await;
    }
    let Counts {
        rescued,
        rows,
        blobs,
        cut_short,
    } = counts;
    report(
        "freezes",
        &format!(
            "{} freezes of two leases, {rescued} jobs taken over, {cut_short} of them in the middle \
             of a short one: 0 of {rows} rows and 0 of {blobs} blobs changed by who woke up",
            rounds * VICTIMS
        ),
    );
    assert!(
        rescued >= (rounds * VICTIMS) as u64,
        "the freezes disturbed nothing"
    );
}

/// Counts over the rounds.
#[derive(Default)]
struct Counts {
    /// Jobs that another worker took over.
    rescued: u64,
    /// Short jobs among the rescued ones.
    cut_short: u64,
    /// Rows and blobs that were compared.
    rows: usize,
    blobs: usize,
}

/// The directory and the database of the test.
struct Scene<'a> {
    directory: &'a Path,
    url: &'a str,
}

impl Scene<'_> {
    fn start(&self, role: &str, workers: usize, lease: Duration) -> Program {
        let (workers, lease) = (workers.to_string(), lease.as_secs().to_string());
        let settings = [
            ["--database-url", self.url],
            ["--role", role],
            ["--workers", &workers],
            ["--lease-seconds", &lease],
            ["--checkpoint-seconds", "1"],
        ];
        Program::start(self.directory, &settings.concat())
    }

    /// The bytes and the modification time of every blob, by path.
    fn blobs(&self) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.directory.join("blobs")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let written = entry.metadata().unwrap().modified().unwrap();
                    let bytes = std::fs::read(&path).unwrap();
                    found.insert(path.display().to_string(), (bytes, written));
                }
            }
        }
        found
    }
}

struct Jobs {
    /// Paths of jobs on data in a blob, which compute until they are cancelled.
    endless: Vec<String>,
    short: Vec<String>,
}

async fn submit(client: Client, round: usize) -> Jobs {
    let mut jobs = Jobs {
        endless: Vec::new(),
        short: Vec::new(),
    };
    for index in 0..VICTIMS {
        let mut job = inseparable(index);
        job["train"]["stop"] = json!({"max_seconds": 300, "max_passes": 1_000_000_000_u64});
        job["train"]["seed"] = json!(index);
        jobs.endless.push(accepted(client, &job).await);
    }
    for index in 0..SHORT_JOBS {
        let mut job = train(json!({"name": "directed-drift"}), endless(101));
        job["train"]["stop"] = json!({"max_examples": 20_000});
        job["train"]["seed"] = json!(round * SHORT_JOBS + index);
        jobs.short.push(accepted(client, &job).await);
    }
    jobs
}

async fn accepted(client: Client, job: &Value) -> String {
    let answer = client.post("/v1/jobs", job, None).await.unwrap();
    answer.expect(202).header("location").unwrap().to_owned()
}

async fn until_running(client: Client, paths: &[String]) {
    for path in paths {
        client.until_status(path, "running").await;
    }
}

/// Waits until the frozen workers have lost all jobs. The short jobs have then ended, and the rescuer holds the
/// endless ones.
async fn until_rescued(client: Client, jobs: &Jobs) {
    for path in &jobs.endless {
        until(&format!("{path} to be taken over"), async || {
            let job = client.get(path).await.expect(200).json();
            (job["attempt"] == 2).then_some(())
        })
        .await;
    }
    for path in &jobs.short {
        client.until_status(path, "succeeded").await;
    }
}

/// Thaws the victims while the rescuer is frozen. Compares all stored data before the thaw and after the
/// victims have noticed the loss of their jobs.
async fn wake(
    scene: &Scene<'_>,
    store: &mut PgConnection,
    victims: &[Program],
    rescuer: &Program,
    jobs: &Jobs,
    counts: &mut Counts,
) {
    freeze_idle(store, rescuer).await;
    let (rows, blobs) = (rows(store).await, scene.blobs());
    let data = blobs.keys().filter(|path| path.ends_with("/data")).count();
    assert!(data >= jobs.endless.len(), "{:?}", blobs.keys());
    victims.iter().for_each(Program::thaw);
    for victim in victims {
        until("a worker that woke up to notice", async || {
            let running = victim.client().metric("halfspace_jobs_running").await;
            (running == 0.0).then_some(())
        })
        .await;
    }
    let (rows_after, blobs_after) = (self::rows(store).await, scene.blobs());
    for (before, after) in rows.iter().zip(&rows_after) {
        assert_eq!(before, after, "who woke up has changed a row");
    }
    assert_eq!(rows.len(), rows_after.len());
    // The data of ended jobs may be deleted, because the worker that ended a job deletes them afterwards.
    for (path, blob) in blobs.iter().filter(|(path, _)| jobs.is_alive(path)) {
        assert!(
            blobs_after.get(path) == Some(blob),
            "who woke up has changed {path}"
        );
    }
    rescuer.thaw();
    counts.rows += rows.len();
    counts.blobs += blobs.keys().filter(|path| jobs.is_alive(path)).count();
}

impl Jobs {
    /// Whether the blob at this path belongs to an endless job.
    fn is_alive(&self, blob: &str) -> bool {
        let ids = self
            .endless
            .iter()
            .filter_map(|path| path.rsplit('/').next());
        ids.into_iter().any(|id| blob.contains(id))
    }
}

/// Freezes a worker while it has no request at the server. A pending request would change rows later.
async fn freeze_idle(store: &mut PgConnection, worker: &Program) {
    worker.freeze();
    let deadline = Instant::now() + TIMEOUT;
    while sqlx::query(BUSY)
        .fetch_one(&mut *store)
        .await
        .unwrap()
        .get::<i64, _>(0)
        > 0
    {
        assert!(Instant::now() < deadline, "never idle");
        worker.thaw();
        sleep(Duration::from_millis(20)).await;
        worker.freeze();
    }
}

async fn rows(store: &mut PgConnection) -> Vec<String> {
    let mut all = Vec::new();
    let tables = sqlx::query(TABLES).fetch_all(&mut *store).await.unwrap();
    for table in tables {
        let table: String = table.get("name");
        let select =
            format!("SELECT (to_jsonb(t) - {REPORTED})::text AS row FROM \"{table}\" t ORDER BY 1");
        let found = sqlx::query(AssertSqlSafe(select)).fetch_all(&mut *store);
        let texts = found.await.unwrap();
        all.extend(
            texts
                .iter()
                .map(|row| format!("{table}: {}", row.get::<String, _>("row"))),
        );
    }
    all
}

/// Ends the jobs of a round and asserts that each ended once.
async fn finish(client: Client, jobs: &Jobs, counts: &mut Counts) {
    for path in &jobs.endless {
        let cancel = format!("{path}/cancel");
        let answer = client.send("POST", &cancel, &[], b"").await;
        answer.unwrap().expect(202);
        let job = client.until_status(path, "cancelled").await;
        assert_eq!(job["attempt"], 2, "{job}");
        ended_once(client, path, &job).await;
        counts.rescued += 1;
    }
    for path in &jobs.short {
        let job = client.get(path).await.expect(200).json();
        ended_once(client, path, &job).await;
        let again = job["attempt"].as_u64().unwrap() - 1;
        counts.rescued += again;
        counts.cut_short += again;
    }
}
