//! Alerts on memory and stores: full memory, a silent or slow database, lost blobs, a full disk and damage.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::{Scrapes, Target, healthy, metric, service, sum, until_metric};
use crate::connection::Connection;
use crate::files::files_below;
use crate::service::{Answer, Client, Program, Proxy, TestDatabase, Way};

/// 64 MiB for requests and jobs together, and 56 MiB for a single one.
const SMALL: [&str; 2] = ["--memory-bytes-max", "134217728"];

/// A service whose memory one job has taken almost whole.
async fn crowded(directory: &Path) -> Program {
    let program = service(directory, &SMALL);
    let client = program.client();
    // The data have noise, so the learner that holds the whole sample never ends by itself.
    let asked = |count: u64| {
        json!({"train": {"learner": {"name": "pocket"}, "stop": {"max_seconds": 300},
            "data": {"generated": {"n": 1_000, "count": count, "sampling": "uniform", "noise": 0.4,
                "target": {"binary_weights": {}}}}}})
    };
    let mut count = 1 << 20;
    // The largest job that the memory holds.
    let job = loop {
        let answer = client.post("/v1/jobs", &asked(count), None).await.unwrap();
        if answer.status == 202 {
            break answer.header("location").unwrap().to_owned();
        }
        assert_eq!(answer.problem(413), "too-large");
        count -= count / 32;
        assert!(count > 1_000, "{}", answer.text());
    };
    client.until_status(&job, "running").await;
    until_metric(client, "halfspace_memory_taken_bytes", |taken| {
        taken > 0.92 * f64::from(56 << 20)
    })
    .await;
    program
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_large_job_takes_the_memory() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = crowded(directory.path()).await;
    scrapes.minutes(14, &[Target::only(&program)]).await;
    scrapes.fire(&["HalfspaceMemoryNearLimit"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn requests_beside_a_large_job_find_no_memory() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = crowded(directory.path()).await;
    let client = program.client();
    let row = "0.123456789,".repeat(499) + "1\n";
    let body = row.repeat(2_500).into_bytes();
    for _ in 0..9 {
        let path = "/v1/learners/perceptron/train?stop.max_passes=1&labels=last";
        let sent = client.send("POST", path, &[("content-type", "text/csv")], &body);
        assert_eq!(sent.await.unwrap().problem(503), "no-memory");
        healthy(client, 30).await;
        scrapes.minute(&[Target::only(&program)]).await;
    }
    scrapes.fire(&["HalfspaceMemoryExhausted"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_database_behind_a_broken_network_is_unavailable() {
    let mut scrapes = Scrapes::new();
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let proxy = Proxy::start(database.socket()).await;
    let url = database.url_by(proxy.address());
    let program = service(directory.path(), &["--database-url", &url]);
    scrapes.minute(&[Target::only(&program)]).await;
    proxy.turn(Way::Refuse);
    for _ in 0..5 {
        let answer = program.client().get("/v1/jobs").await;
        assert_eq!(answer.problem(503), "unavailable");
        scrapes.minute(&[Target::only(&program)]).await;
    }
    scrapes.fire(&["HalfspaceStoreUnavailable"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_database_whose_disk_stalls_is_slow() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = service(directory.path(), &["--role", "api"]);
    let client = program.client();
    let mut other = Connection::to_embedded(directory.path()).await;
    for minute in 0..14 {
        let before = slow_operations(client).await;
        // Another process holds the lock of writers until an operation has waited for long enough.
        while minute % 4 == 1 && slow_operations(client).await == before {
            other.run("BEGIN IMMEDIATE").await;
            let asked = json!({"learner": {"name": "perceptron"}, "n": 5});
            let writers = (0..4).map(|_| {
                let asked = asked.clone();
                tokio::spawn(
                    async move { client.post("/v1/sessions", &asked, None).await.unwrap() },
                )
            });
            let writers: Vec<_> = writers.collect();
            sleep(Duration::from_secs(1)).await;
            other.run("COMMIT").await;
            for writer in writers {
                writer.await.unwrap().expect(201);
            }
        }
        scrapes
            .minute(&[Target::at("a", "embedded", &program)])
            .await;
    }
    scrapes.fire(&["HalfspaceStoreSlow"]);
}

/// Operations of the database that took longer than half a second.
async fn slow_operations(client: Client) -> f64 {
    let metrics = client.get("/metrics").await.expect(200);
    let all = |series: &str| series.starts_with("halfspace_store_seconds_count");
    let quick = |series: &str| {
        series.starts_with("halfspace_store_seconds_bucket") && series.contains("le=\"0.5\"")
    };
    sum(metrics.text(), all) - sum(metrics.text(), quick)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn blobs_on_a_lost_volume_are_errors() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = service(directory.path(), &[]);
    let client = program.client();
    let mut datasets = Vec::new();
    for _ in 0..14 {
        datasets.push(
            upload(client)
                .await
                .expect(201)
                .header("location")
                .unwrap()
                .to_owned(),
        );
    }
    let blobs = directory.path().join("blobs");
    std::fs::rename(&blobs, directory.path().join("lost")).unwrap();
    std::fs::write(&blobs, "not a folder").unwrap();
    for path in datasets {
        let errors = metric(client, "halfspace_blob_store_errors_total").await;
        // The row is deleted. The blob must wait for the next sweep.
        client.delete(&path).await.unwrap().expect(204);
        until_metric(client, "halfspace_blob_store_errors_total", |count| {
            count > errors
        })
        .await;
        scrapes.minute(&[Target::only(&program)]).await;
    }
    scrapes.fire(&["HalfspaceBlobErrors"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_full_disk_is_full() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start_on_a_small_disk(1_000, directory.path(), &["--workers", "1"]);
    scrapes.minutes(12, &[Target::only(&program)]).await;
    assert_eq!(upload(program.client()).await.problem(507), "storage-full");
    scrapes.minutes(2, &[Target::only(&program)]).await;
    scrapes.fire(&["HalfspaceStorageFull"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_flipped_bit_is_damage() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = service(directory.path(), &[]);
    let client = program.client();
    let stored = upload(client)
        .await
        .expect(201)
        .header("location")
        .unwrap()
        .to_owned();
    scrapes.minutes(2, &[Target::only(&program)]).await;
    flip_the_last_bit(directory.path());
    let answer = client
        .get(&format!("{stored}/examples?limit=1&offset=1000"))
        .await;
    assert_eq!(answer.problem(500), "data-corrupt");
    // One answer among many is no rate of errors.
    healthy(client, 200).await;
    scrapes.minutes(2, &[Target::only(&program)]).await;
    scrapes.fire(&["HalfspaceDataCorrupt"]);
}

/// Stores 1 MiB of examples.
async fn upload(client: Client) -> Answer {
    let headers = [("content-type", "application/octet-stream")];
    let body = vec![0b1010_0101; 1 << 20];
    client
        .send("POST", "/v1/datasets?n=8192", &headers, &body)
        .await
        .unwrap()
}

/// Flips a bit of the only large blob.
pub fn flip_the_last_bit(directory: &Path) {
    let length = |path: &std::path::PathBuf| std::fs::metadata(path).unwrap().len();
    let blob = files_below(&directory.join("blobs"))
        .into_iter()
        .max_by_key(length)
        .unwrap();
    let mut bytes = std::fs::read(&blob).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&blob, bytes).unwrap();
}
