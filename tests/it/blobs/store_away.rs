//! An object store that goes away for a while: what rests on it waits or is refused, the rest goes on,
//! and nothing is lost.

use serde_json::{Value, json};

use crate::service::{Client, Program, Proxy, TestBucket, TestDatabase, Way, short_job, until};

/// Examples that fill some blocks, as CSV.
fn rows() -> Vec<u8> {
    let row = |at: u32| {
        let bits = (0..9).map(|bit| if at >> bit & 1 == 1 { ",1" } else { ",0" });
        let label = if at % 2 == 1 { "1" } else { "-1" };
        format!("{label}{}\n", bits.collect::<String>())
    };
    (0..500).flat_map(|at| row(at).into_bytes()).collect()
}

async fn upload(client: Client) -> crate::service::Answer {
    let headers = [("content-type", "text/csv")];
    client
        .send("POST", "/v1/datasets", &headers, &rows())
        .await
        .unwrap()
}

fn on_dataset(dataset: &str) -> Value {
    json!({"train": {"learner": {"name": "perceptron"}, "data": {"dataset": dataset}}})
}

async fn submit(client: Client, job: &Value) -> String {
    let answer = client.post("/v1/jobs", job, None).await.unwrap();
    answer.expect(202).header("location").unwrap().to_owned()
}

fn borrowed(settings: &[String]) -> Vec<&str> {
    settings.iter().map(String::as_str).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_wait_for_a_store_that_is_away_and_uploads_are_refused() {
    let Some(bucket) = TestBucket::new() else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let proxy = Proxy::before(bucket.server()).await;
    let settings = bucket.by(proxy.address()).settings();
    let mut settings = borrowed(&settings);
    settings.extend([
        "--workers",
        "1",
        "--lease-seconds",
        "2",
        "--attempts-max",
        "1",
    ]);
    let program = Program::start(directory.path(), &settings);
    let client = program.client();
    let [kept, deleted] = [upload(client).await, upload(client).await];
    let [kept, deleted] = [kept.expect(201).id(), deleted.expect(201).id()];

    proxy.turn(Way::Refuse);
    // A job is taken, since its data are stored already, and waits for them under its lease.
    let job = submit(client, &on_dataset(&kept)).await;
    client.until_status(&job, "running").await;
    let refused = upload(client).await;
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.problem(503), "unavailable");
    // What needs no blob goes on; a dataset is deleted, and its blob is swept later.
    client.get("/readyz").await.expect(200);
    client
        .get(&format!("/v1/datasets/{kept}"))
        .await
        .expect(200);
    let path = format!("/v1/datasets/{deleted}");
    let gone = client.send("DELETE", &path, &[], b"").await.unwrap();
    gone.expect(204);
    client.get(&path).await.expect(404);
    let metrics = client.get("/metrics").await;
    let metrics = metrics.text();
    assert!(
        metrics.contains("halfspace_blob_store_errors_total"),
        "{metrics}"
    );
    // Two leases later it is still the first attempt.
    let asked_at = tokio::time::Instant::now();
    until("two leases to go by", async || {
        (asked_at.elapsed().as_secs() >= 5).then_some(())
    })
    .await;
    let waiting = client.get(&job).await.expect(200).json();
    assert_eq!(
        (&waiting["status"], &waiting["attempt"]),
        (&json!("running"), &json!(1))
    );

    proxy.turn(Way::Forward);
    let ended = client.until_status(&job, "succeeded").await;
    assert_eq!(
        (&ended["result"]["training"]["errors"], &ended["attempt"]),
        (&json!(0), &json!(1))
    );
    upload(client).await.expect(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_waits_for_its_data_is_cancelled_and_given_back() {
    let Some(bucket) = TestBucket::new() else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let proxy = Proxy::before(bucket.server()).await;
    let settings = bucket.by(proxy.address()).settings();
    let mut settings = borrowed(&settings);
    settings.extend(["--workers", "1"]);
    let mut program = Program::start(directory.path(), &settings);
    let client = program.client();
    let dataset = upload(client).await.expect(201).id();
    proxy.turn(Way::Swallow);
    let cancelled = submit(client, &on_dataset(&dataset)).await;
    client.until_status(&cancelled, "running").await;
    let cancel = client
        .send("POST", &format!("{cancelled}/cancel"), &[], b"")
        .await;
    cancel.unwrap().expect(202);
    client.until_status(&cancelled, "cancelled").await;
    // A process that stops does not wait for it either, and charges no attempt.
    let given_back = submit(client, &on_dataset(&dataset)).await;
    client.until_status(&given_back, "running").await;
    program.terminate();
    assert!(program.ended().await.success());
    proxy.turn(Way::Forward);
    let program = Program::start(directory.path(), &settings);
    let ended = program
        .client()
        .until_status(&given_back, "succeeded")
        .await;
    assert_eq!(ended["attempt"], 1);
}

#[tokio::test]
async fn machines_share_a_database_and_a_bucket_and_nothing_else() {
    let (Some(database), Some(bucket)) = (TestDatabase::new().await, TestBucket::new()) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let mut settings = bucket.settings();
    settings.extend(["--database-url".to_owned(), database.url()]);
    let start = |name: &str, role: &str| {
        let mut settings = borrowed(&settings);
        settings.extend(["--role", role, "--workers", "1"]);
        Program::start(&directory.path().join(name), &settings)
    };
    let api = start("api", "api");
    let _workers = [start("one", "worker"), start("two", "worker")];
    let client = api.client();
    let dataset = upload(client).await.expect(201).id();
    let mut jobs = Vec::new();
    for at in 0..6 {
        let job = if at % 2 == 0 {
            on_dataset(&dataset)
        } else {
            short_job()
        };
        jobs.push(submit(client, &job).await);
    }
    for job in &jobs {
        client.until_status(job, "succeeded").await;
    }
    // The data that came with a job are gone with it.
    let path = format!("/v1/datasets/{dataset}/examples?limit=3");
    client.get(&path).await.expect(200);
    let gone = client
        .send("DELETE", &format!("/v1/datasets/{dataset}"), &[], b"")
        .await;
    gone.unwrap().expect(204);
}
