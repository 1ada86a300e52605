//! Alerts on jobs: a queue that is old, stuck or full, jobs that fail or kill their processes, and callbacks.

use serde_json::json;

use super::stores::flip_the_last_bit;
use super::{Scrapes, Target, busy, healthy, metric, service, until_metric};
use crate::connection::Connection;
use crate::service::{Receiver, SECRET, long_job, short_job, train};

const DEPTH: &str = "halfspace_queue_depth";
const FAILED: &str = "halfspace_jobs_ended_total{status=\"failed\"";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_job_behind_a_clock_jump_is_old() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = service(directory.path(), &[]);
    let client = program.client();
    busy(client).await;
    client.submit(&long_job(2)).await;
    let mut connection = Connection::to_embedded(directory.path()).await;
    connection
        .run("UPDATE jobs SET created_at = created_at - 3600000 WHERE status = 'queued'")
        .await;
    until_metric(client, "halfspace_queue_age_seconds", |age| age > 3_600.0).await;
    scrapes.minutes(14, &[Target::only(&program)]).await;
    scrapes.fire(&["HalfspaceQueueOld"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn jobs_of_a_newer_version_are_stuck() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = service(directory.path(), &[]);
    let client = program.client();
    let running = busy(client).await;
    client.submit(&short_job()).await;
    // Only a newer program knows the schema of the waiting job.
    let mut connection = Connection::to_embedded(directory.path()).await;
    connection
        .run("UPDATE jobs SET spec_schema = 99 WHERE status = 'queued'")
        .await;
    client.cancel(&running).await;
    client.until_status(&running, "cancelled").await;
    until_metric(client, DEPTH, |depth| depth == 1.0).await;
    until_metric(client, "halfspace_computations_running ", |count| {
        count == 0.0
    })
    .await;
    scrapes.minutes(14, &[Target::only(&program)]).await;
    scrapes.fire(&["HalfspaceQueueStuck"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn trainings_on_a_damaged_dataset_fail() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = service(directory.path(), &[]);
    let client = program.client();
    let rows = "0,1,-1\n1,0,1\n".repeat(10_000);
    let headers = [("content-type", "text/csv")];
    let stored = client
        .send(
            "POST",
            "/v1/datasets?labels=first",
            &headers,
            rows.as_bytes(),
        )
        .await;
    let stored = stored.unwrap().expect(201).json();
    let dataset = stored["id"].as_str().unwrap();
    for jobs in [1, 12] {
        let ended = metric(client, FAILED).await;
        // The queue accepts the jobs before the damage.
        let running = busy(client).await;
        for _ in 0..jobs {
            let data = json!({"dataset": dataset});
            client
                .submit(&train(json!({"name": "perceptron"}), data))
                .await;
        }
        flip_the_last_bit(directory.path());
        client.cancel(&running).await;
        until_metric(client, FAILED, |count| count == ended + f64::from(jobs)).await;
        flip_the_last_bit(directory.path());
        // The gauge of the queue is some seconds old.
        until_metric(client, DEPTH, |depth| depth == 0.0).await;
        scrapes.minute(&[Target::only(&program)]).await;
    }
    scrapes.minutes(12, &[Target::only(&program)]).await;
    scrapes.fire(&["HalfspaceJobsFailing"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_job_that_kills_its_process_is_poisoned() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let start = || service(directory.path(), &["--attempts-max", "1"]);
    let mut program = start();
    scrapes.minutes(3, &[Target::only(&program)]).await;
    let path = program.client().submit(&long_job(1)).await;
    // Two deaths make the job a suspect. The third one ends the job.
    for _ in 0..3 {
        program.client().until_status(&path, "running").await;
        program.kill();
        program = start();
    }
    let job = program.client().until_status(&path, "failed").await;
    assert_eq!(job["error"]["code"], "poisoned");
    assert_eq!(
        metric(program.client(), "halfspace_jobs_poisoned_total").await,
        1.0
    );
    scrapes.minutes(2, &[Target::only(&program)]).await;
    scrapes.fire(&["HalfspaceJobPoisoned"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn more_jobs_than_the_queue_holds_fill_the_queue() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = service(directory.path(), &["--jobs-queued-max", "1"]);
    let client = program.client();
    busy(client).await;
    client.submit(&long_job(2)).await;
    for _ in 0..9 {
        let refused = client.post("/v1/jobs", &long_job(3), None).await.unwrap();
        assert_eq!(refused.problem(503), "queue-full");
        // The refusals are few.
        healthy(client, 30).await;
        scrapes.minute(&[Target::only(&program)]).await;
    }
    scrapes.fire(&["HalfspaceQueueFull"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn callbacks_to_a_receiver_that_is_gone_fail() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let settings = [
        "--callback-secret",
        SECRET,
        "--callback-allow",
        "127.0.0.0/8",
    ];
    let program = service(directory.path(), &settings);
    let client = program.client();
    let receiver = Receiver::start().await;
    let url = receiver.url();
    drop(receiver);
    let failed = "halfspace_callbacks_total{outcome=\"failed\"}";
    for _ in 0..3 {
        let before = metric(client, failed).await;
        let mut job = short_job();
        job["callback"] = json!(url);
        let path = client.submit(&job).await;
        client.until_status(&path, "succeeded").await;
        until_metric(client, failed, |count| count > before).await;
        // The gauge of the queue is some seconds old.
        until_metric(client, DEPTH, |depth| depth == 0.0).await;
        scrapes.minute(&[Target::only(&program)]).await;
    }
    scrapes.minutes(17, &[Target::only(&program)]).await;
    scrapes.fire(&["HalfspaceCallbacksFailing"]);
}
