//! Alerts on requests: defects, refusals, slowness, floods of connections and missing keys.

use std::time::Duration;

use tokio::time::sleep;

use super::{Scrapes, Target, busy, service, until_metric};
use crate::connection::Connection;
use crate::service::{Slow, create_key, long_job, short_job, until};

/// Minutes of a condition that must hold for ten minutes. The first rate over five minutes comes before.
const MINUTES: usize = 18;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_lost_table_is_a_defect() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = service(directory.path(), &[]);
    let mut connection = Connection::to_embedded(directory.path()).await;
    connection.run("ALTER TABLE models RENAME TO lost").await;
    for _ in 0..10 {
        let answer = program.client().get("/v1/models").await;
        assert_eq!(answer.problem(500), "internal");
        scrapes.minute(&[Target::only(&program)]).await;
    }
    scrapes.fire(&["HalfspaceServerErrors"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn overload_refuses_requests_with_its_own_reason() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = service(directory.path(), &["--jobs-queued-max", "1"]);
    let client = program.client();
    busy(client).await;
    client.submit(&long_job(2)).await;
    for _ in 0..MINUTES {
        let refused = client.post("/v1/jobs", &long_job(3), None).await.unwrap();
        assert_eq!(refused.problem(503), "queue-full");
        scrapes.minute(&[Target::only(&program)]).await;
    }
    // The cause of the refusals has an alert too.
    scrapes.fire(&["HalfspaceQueueFull", "HalfspaceRefusing"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_machine_that_stops_delays_predictions() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = service(directory.path(), &[]);
    let client = program.client();
    let path = client.submit(&short_job()).await;
    let job = client.until_status(&path, "succeeded").await;
    let path = format!(
        "/v1/models/{}/predict",
        job["result"]["model"].as_str().unwrap()
    );
    let body = r#"{"unlabelled": {"examples": ["110"]}}"#;
    let line = format!("POST {path}");
    let length = body.len().to_string();
    let headers = [
        ("content-type", "application/json"),
        ("content-length", length.as_str()),
    ];
    for minute in 0..MINUTES {
        if minute % 4 == 1 {
            let opened = Slow::open([127, 0, 0, 1], client.address, &line, &headers).await;
            let mut slow = opened.unwrap();
            // The time of the request runs. The other request is the scrape.
            until_metric(client, "halfspace_http_requests_in_flight", |count| {
                count >= 2.0
            })
            .await;
            program.freeze();
            // The length of the stop. A longer one does no harm.
            sleep(Duration::from_millis(1_100)).await;
            program.thaw();
            slow.send(body.as_bytes()).await.unwrap();
            assert_eq!(slow.status().await.unwrap(), 200);
        }
        scrapes.minute(&[Target::only(&program)]).await;
    }
    scrapes.fire(&["HalfspaceSlowPredictions"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_flood_of_connections_is_closed() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = service(directory.path(), &["--connections-max", "16"]);
    let client = program.client();
    for minute in 0..MINUTES {
        let flooded = 70 * minute;
        let mut flood = Vec::new();
        for _ in 0..80 {
            // The system may report the closing at once.
            flood.push(Slow::connect([127, 0, 0, 2], client.address).await);
        }
        until_metric(client, "halfspace_rejects_total", |count| {
            count >= (flooded + 70) as f64
        })
        .await;
        drop(flood);
        scrapes.minute(&[Target::only(&program)]).await;
    }
    scrapes.fire(&["HalfspaceConnectionsClosed"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn clients_without_a_key_are_unauthorized() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = service(directory.path(), &[]);
    create_key(directory.path(), &[], "ada");
    let client = program.client();
    until("keys to be required", async || {
        (client.get("/v1/jobs").await.status == 401).then_some(())
    })
    .await;
    for _ in 0..MINUTES {
        for _ in 0..70 {
            assert_eq!(client.get("/v1/jobs").await.problem(401), "unauthorized");
        }
        scrapes.minute(&[Target::only(&program)]).await;
    }
    scrapes.fire(&["HalfspaceUnauthorized"]);
}
