//! An object store that cannot be reached for a while. Operations that need it wait or are refused, others continue,
//! and no data are lost.

use serde_json::{Value, json};

use crate::service::{Client, Program, Proxy, TestBucket, TestDatabase, Way, short_job, until};

/// Examples as CSV that fill several blocks.
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
        .send("POST", "/v1/datasets?labels=first", &headers, &rows())
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

/// An API process and a worker process. The worker reaches the bucket through a proxy.
struct Pair {
    api: Program,
    worker: Program,
    proxy: Proxy,
    settings: Vec<String>,
    directory: tempfile::TempDir,
}

impl Pair {
    async fn start(bucket: &TestBucket) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let proxy = Proxy::before(bucket.server()).await;
        let of_api = [bucket.settings(), vec!["--role=api".to_owned()]].concat();
        let of_worker = [
            "--role=worker",
            "--workers=1",
            "--lease-seconds=2",
            "--attempts-max=1",
        ];
        let of_worker = of_worker.map(str::to_owned).to_vec();
        let settings = [bucket.by(proxy.address()).settings(), of_worker].concat();
        Self {
            api: Program::start(directory.path(), &borrowed(&of_api)),
            worker: Program::start(directory.path(), &borrowed(&settings)),
            proxy,
            settings,
            directory,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_wait_for_an_unreachable_object_store() {
    let Some(bucket) = TestBucket::new() else {
        return;
    };
    let pair = Pair::start(&bucket).await;
    let client = pair.api.client();
    let dataset = upload(client).await.expect(201).id();
    pair.proxy.turn(Way::Refuse);
    let job = submit(client, &on_dataset(&dataset)).await;
    client.until_status(&job, "running").await;
    // The job is still in its first and last attempt, after the time of several leases.
    let metrics = async || pair.worker.client().get("/metrics").await;
    until("many tries", async || {
        let metrics = metrics().await;
        let lines = metrics.text().lines();
        let mut counts = lines.filter_map(|line| {
            line.strip_prefix("halfspace_blob_store_errors_total ")?
                .parse::<u64>()
                .ok()
        });
        counts.next().filter(|count| *count >= 5)
    })
    .await;
    let waiting = client.get(&job).await.expect(200).json();
    assert_eq!(
        (&waiting["status"], &waiting["attempt"]),
        (&json!("running"), &json!(1))
    );
    pair.worker.client().get("/readyz").await.expect(200);
    pair.proxy.turn(Way::Forward);
    let ended = client.until_status(&job, "succeeded").await;
    assert_eq!(
        (&ended["result"]["training"]["errors"], &ended["attempt"]),
        (&json!(0), &json!(1))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_waiting_for_its_blob_is_cancelled_or_requeued() {
    let Some(bucket) = TestBucket::new() else {
        return;
    };
    let mut pair = Pair::start(&bucket).await;
    let client = pair.api.client();
    let dataset = upload(client).await.expect(201).id();
    // The store gives no error. It just does not answer.
    pair.proxy.turn(Way::Swallow);
    let cancelled = submit(client, &on_dataset(&dataset)).await;
    client.until_status(&cancelled, "running").await;
    let cancel = client
        .send("POST", &format!("{cancelled}/cancel"), &[], b"")
        .await;
    cancel.unwrap().expect(202);
    client.until_status(&cancelled, "cancelled").await;
    // A process that stops does not wait for the store either, and its jobs are charged no attempt.
    let given_back = submit(client, &on_dataset(&dataset)).await;
    client.until_status(&given_back, "running").await;
    pair.worker.terminate();
    assert!(pair.worker.ended().await.success());
    assert_eq!(
        client.get(&given_back).await.expect(200).json()["status"],
        "queued"
    );
    pair.proxy.turn(Way::Forward);
    let _worker = Program::start(pair.directory.path(), &borrowed(&pair.settings));
    let ended = client.until_status(&given_back, "succeeded").await;
    assert_eq!(ended["attempt"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreachable_object_store_refuses_only_uploads() {
    let Some(bucket) = TestBucket::new() else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let proxy = Proxy::before(bucket.server()).await;
    let settings = bucket.by(proxy.address()).settings();
    let program = Program::start(directory.path(), &borrowed(&settings));
    let client = program.client();
    let dataset = upload(client).await.expect(201).id();
    let another = upload(client).await.expect(201).id();
    let path = format!("/v1/datasets/{dataset}");
    let trained = async || {
        let answer = client
            .post("/v1/jobs", &on_dataset(&dataset), Some("wait=30"))
            .await;
        assert_eq!(answer.unwrap().expect(200).json()["status"], "succeeded");
    };
    trained().await;

    proxy.turn(Way::Refuse);
    let with_data = client.post("/v1/jobs", &short_job(), None).await.unwrap();
    let examples = client.get(&format!("{path}/examples?limit=3")).await;
    for refused in [upload(client).await, with_data, examples] {
        assert_eq!(refused.header("retry-after"), Some("1"));
        assert_eq!(refused.problem(503), "unavailable");
    }
    client.get("/readyz").await.expect(200);
    client.get(&path).await.expect(200);
    // A job that is computed before it is stored needs no blob.
    let waited = client.post("/v1/jobs", &short_job(), Some("wait=30")).await;
    assert_eq!(waited.unwrap().expect(200).json()["status"], "succeeded");
    // A cached blob needs no store.
    trained().await;
    let metrics = client.get("/metrics").await;
    for (name, least) in [("hits_total", 1), ("misses_total", 1)] {
        let count = metrics.text().lines().find_map(|line| {
            line.strip_prefix(&format!("halfspace_blob_cache_{name} "))?
                .parse::<u64>()
                .ok()
        });
        assert!(
            count.is_some_and(|count| count >= least),
            "{name}: {}",
            metrics.text()
        );
    }
    // The row is deleted at once, and the blob is swept later.
    let gone = client.send("DELETE", &path, &[], b"").await.unwrap();
    gone.expect(204);
    client.get(&path).await.expect(404);
    // The deletion waits for a silent store for less time than an upload does.
    proxy.turn(Way::Swallow);
    let path = format!("/v1/datasets/{another}");
    tokio::select! {
        uploaded = upload(client) => panic!("first: {}", uploaded.text()),
        gone = client.send("DELETE", &path, &[], b"") => gone.unwrap().expect(204),
    };
    client.get(&path).await.expect(404);

    proxy.turn(Way::Forward);
    upload(client).await.expect(201);
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
    // The data of a job are deleted at its end.
    let path = format!("/v1/datasets/{dataset}/examples?limit=3");
    client.get(&path).await.expect(200);
    let gone = client
        .send("DELETE", &format!("/v1/datasets/{dataset}"), &[], b"")
        .await;
    gone.unwrap().expect(204);
}
