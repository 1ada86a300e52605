//! The queue is full and clients go on submitting. Submissions are refused, but cancellations and deletions work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use halfspace_core::learners::engine::random::Generator;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use serde_json::json;
use tokio::time::Instant;

use crate::scale::{Scale, report};
use crate::service::{Client, Program, TestDatabase, long_job, short_job, until};

/// Greatest number of queued jobs.
const WAITING_MAX: usize = 50;

/// Number of clients that submit without a pause.
const SUBMITTERS: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_queue_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        full_queue("PostgreSQL", &database.url()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_queue_over_sqlite() {
    full_queue("SQLite", "sqlite").await;
}

async fn full_queue(backend: &str, database_url: &str) {
    let scale = Scale::from_environment();
    let rounds = scale.of(3, 40);
    let directory = tempfile::tempdir().unwrap();
    let most = WAITING_MAX.to_string();
    let settings = [
        "--database-url",
        database_url,
        "--jobs-queued-max",
        most.as_str(),
        "--workers",
        "1",
    ];
    let program = Program::start(directory.path(), &settings);
    let client = program.client();
    // The priority keeps this job running, so no other job leaves the queue meanwhile.
    let mut first = long_job(1);
    first["priority"] = json!(10);
    let running = client.submit(&first).await;
    client.until_status(&running, "running").await;
    let load = Arc::new(Load::default());
    let submitting = (0..SUBMITTERS).map(|_| tokio::spawn(Arc::clone(&load).submit(client)));
    let submitting: Vec<_> = submitting.collect();
    let mut random = Generator::seed_from_u64(scale.seed());
    let (mut cancelled, mut longest) = (0, Duration::ZERO);
    for _ in 0..rounds {
        let mut queued = until("the queue to be full", async || {
            let queued = client.every_of("/v1/jobs", "status=queued").await;
            (queued.len() >= WAITING_MAX).then_some(queued)
        })
        .await;
        queued.shuffle(&mut random);
        for job in queued.iter().take(WAITING_MAX / 2) {
            let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
            let asked_at = Instant::now();
            let answer = client.cancel(&path).await;
            assert_eq!(answer.json()["status"], "cancelled");
            client.delete(&path).await.unwrap().expect(204);
            longest = longest.max(asked_at.elapsed());
            cancelled += 1;
        }
    }
    // A running job can also be cancelled while the queue is full.
    client.cancel(&running).await;
    client.until_status(&running, "cancelled").await;
    load.is_over.store(true, Ordering::Relaxed);
    for submitter in submitting {
        submitter.await.unwrap();
    }
    let [accepted, refused] =
        [&load.accepted, &load.refused].map(|count| count.load(Ordering::Relaxed));
    assert!(refused > 0, "the queue was never full");
    assert!(cancelled > 0, "nothing waited");
    let counts = format!(
        "{accepted} jobs accepted, {refused} refused with 503 and Retry-After by {SUBMITTERS} clients; \
         {cancelled} of {cancelled} cancels and deletes done, the longest pair in {} ms",
        longest.as_millis()
    );
    report(&format!("full queue, {backend}"), &counts);
}

/// Counts of the answers to the submitting clients.
#[derive(Default)]
struct Load {
    accepted: AtomicU64,
    refused: AtomicU64,
    is_over: AtomicBool,
}

impl Load {
    async fn submit(self: Arc<Self>, client: Client) {
        while !self.is_over.load(Ordering::Relaxed) {
            let answer = client.post("/v1/jobs", &short_job(), None).await.unwrap();
            if answer.status.is_success() {
                self.accepted.fetch_add(1, Ordering::Relaxed);
            } else {
                assert_eq!(answer.problem(503), "queue-full");
                assert!(answer.header("retry-after").is_some());
                self.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}
