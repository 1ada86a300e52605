//! Several processes compute the parts of an experiment, and one of them is killed. The result equals that of a
//! single, undisturbed process. The long form prints the speed-up of a second process.

use std::path::Path;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::scale::{Scale, report};
use crate::service::{Client, Program, TestDatabase, until};

/// Greatest number of waits of ten seconds each for the end of a job.
const LOOKS_MAX: u32 = 90;

/// The sweep of Figure 1, or a small one. The estimate allows for far more mistakes than occur, so the service
/// splits the sweep into many parts.
fn sweep(scale: Scale) -> Value {
    let params = scale.of(
        json!({"n": [11], "learners": ["directed-drift-async"],
            "batch_sizes": [1, 2], "max_mistakes": 10_000_000, "runs": 500}),
        json!({"n": [11, 21, 51, 101], "runs": 1_000, "normalised_batch_sizes":
            [0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0]}),
    );
    let seed = scale.seed();
    json!({"experiment": {"name": "mistake-bound-sweep", "seed": seed, "params": params}})
}

/// An API process, and worker processes that compute one job at a time.
struct Fleet {
    api: Program,
    workers: Vec<Program>,
}

impl Fleet {
    fn start(home: &Path, database: &str, workers: usize) -> Self {
        let settings = ["--database-url", database, "--lease-seconds", "2"];
        let start = |role: &[&str]| Program::start(home, &[&settings, role].concat());
        Self {
            api: start(&["--role", "api"]),
            workers: (0..workers)
                .map(|_| start(&["--role", "worker", "--workers", "1"]))
                .collect(),
        }
    }

    fn client(&self) -> Client {
        self.api.client()
    }

    async fn submit(&self, body: &Value) -> String {
        let answer = self.client().post("/v1/jobs", body, None).await.unwrap();
        answer.expect(202).header("location").unwrap().to_owned()
    }

    async fn ended(&self, path: &str) -> Value {
        for _ in 0..LOOKS_MAX {
            let wait = [("prefer", "wait=10")];
            let job = self.client().send("GET", path, &wait, b"").await.unwrap();
            let job = job.expect(200).json();
            if !job["finished_at"].is_null() {
                assert_eq!(job["status"], "succeeded", "{}", job["error"]);
                assert_eq!(job["parts"]["left"], 0);
                return job;
            }
        }
        panic!("{path} does not end");
    }
}

/// Runs the sweep with this many workers. Returns the result, the number of parts and the seconds.
async fn computed(home: &Path, database: &str, workers: usize) -> (Value, u64, f64) {
    let fleet = Fleet::start(home, database, workers);
    let begun = Instant::now();
    let path = fleet.submit(&sweep(Scale::from_environment())).await;
    let job = fleet.ended(&path).await;
    let seconds = begun.elapsed().as_secs_f64();
    let parts = job["parts"]["total"].as_u64().unwrap();
    (job["result"].clone(), parts, seconds)
}

/// Like [`computed`], but a worker is killed after the first part has ended.
async fn computed_with_a_kill(home: &Path, database: &str) -> Value {
    let mut fleet = Fleet::start(home, database, 2);
    let path = fleet.submit(&sweep(Scale::from_environment())).await;
    until("a part to end", async || {
        let job = fleet.client().get(&path).await.expect(200).json();
        let ended = job["progress"]["fraction"].as_f64().unwrap();
        (ended > 0.0).then_some(())
    })
    .await;
    fleet.workers.pop().unwrap().kill();
    fleet.ended(&path).await["result"].clone()
}

async fn fan_out(backend: &str, database: &str) {
    let home = tempfile::tempdir().unwrap();
    let (one, parts, alone) = computed(home.path(), database, 1).await;
    let (two, _, beside) = computed(home.path(), database, 2).await;
    assert_eq!(one, two);
    assert_eq!(one, computed_with_a_kill(home.path(), database).await);
    let counts = format!(
        "{parts} parts, 1 worker {alone:.2} s, 2 workers {beside:.2} s: {:.2} times as fast; \
         3 equal results, one after a kill",
        alone / beside
    );
    report(&format!("fan-out over {backend}"), &counts);
}

#[tokio::test(flavor = "multi_thread")]
async fn experiment_fan_out_over_sqlite() {
    fan_out("SQLite", "sqlite").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn experiment_fan_out_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        fan_out("PostgreSQL", &database.url()).await;
    }
}
