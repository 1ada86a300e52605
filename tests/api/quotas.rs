//! Quotas: a request that would exceed one is refused before it is accepted, with the name of the limit and its use.
//! Deletions and cancellations always work.

use halfspace::config::NewKey;
use serde_json::{Value, json};

use super::keys::{Caller, named};
use crate::service::{Answer, Service, long_job, request};

/// Asserts that the refusal names the limit, its value and its use, and the time to retry if it passes.
#[track_caller]
fn refused(answer: &Answer, status: u16, code: &str, named: &[&str]) {
    assert_eq!(answer.problem(status), code);
    // What is stored stays, and a request that exceeds a limit by itself can never succeed.
    let lasts = code == "quota-full" || matches!(status, 413 | 507);
    assert_eq!(answer.header("retry-after").is_some(), !lasts);
    let detail = answer.json()["detail"].to_string();
    for word in named {
        assert!(detail.contains(word), "{word}: {detail}");
    }
}

async fn queue(caller: &Caller<'_>, seed: u64) -> Answer {
    let body = long_job(seed).to_string();
    let authorization = caller.authorization.as_deref().unwrap();
    let headers = [
        ("content-type", "application/json"),
        ("authorization", authorization),
    ];
    let request = request("POST", "/v1/jobs", &headers, body);
    caller.service.send(request).await
}

#[tokio::test]
async fn queue_is_limited_per_key_and_in_all() {
    let settings = ["--jobs-queued-max", "5", "--jobs-queued-per-key-max", "3"];
    let service = Service::idle(&settings).await;
    let a = Caller::new(&service, named("a")).await;
    let b = Caller::new(&service, named("b")).await;
    let mut paths = Vec::new();
    for seed in 0..3 {
        let answer = queue(&a, seed).await.expect(202);
        paths.push(answer.header("location").unwrap().to_owned());
    }
    let answer = queue(&a, 3).await;
    let named = ["jobs_queued_per_key_max is 3", "3 are in use"];
    refused(&answer, 429, "too-many-jobs", &named);
    for seed in 0..2 {
        queue(&b, seed).await.expect(202);
    }
    let answer = queue(&b, 2).await;
    refused(
        &answer,
        503,
        "queue-full",
        &["jobs_queued_max is 5", "5 are in use"],
    );
    // A cancelled job frees its place in the queue.
    let cancelled = a
        .send("POST", &format!("{}/cancel", paths[0]), "", "")
        .await;
    cancelled.expect(202);
    a.send("DELETE", &paths[0], "", "").await.expect(204);
    queue(&b, 3).await.expect(202);
}

async fn own(caller: &Caller<'_>) -> Value {
    caller.get("/v1/limits").await.expect(200).json()["own"].clone()
}

const CSV: &str = "text/csv";

#[tokio::test]
async fn stored_bytes_of_a_key_are_limited() {
    let service = Service::start().await;
    let new = NewKey {
        bytes: Some(5_000),
        sessions: Some(1),
        jobs: Some(7),
        ..named("small")
    };
    let small = Caller::new(&service, new).await;
    let expected = json!({"jobs_queued": {"used": 0, "max": 7},
        "stored_bytes": {"used": 0, "max": 5_000}, "sessions": {"used": 0, "max": 1}});
    assert_eq!(own(&small).await, expected);
    let rows = "1,1,0\n".repeat(100);
    let stored = small
        .send("POST", "/v1/datasets?labels=first", CSV, &rows)
        .await
        .expect(201);
    let bytes = stored.json()["bytes"].as_u64().unwrap();
    assert_eq!(own(&small).await["stored_bytes"]["used"], bytes);
    let many = "1,1,0\n".repeat(100_000);
    let answer = small
        .send("POST", "/v1/datasets?labels=first", CSV, &many)
        .await;
    let used = format!("{bytes} are in use");
    let named = ["stored_bytes_per_key_max is 5000", used.as_str()];
    refused(&answer, 413, "too-large", &named);
    let half = "1,1,0\n".repeat(300);
    let first = small
        .send("POST", "/v1/datasets?labels=first", CSV, &half)
        .await;
    let first = format!("/v1/datasets/{}", first.expect(201).id());
    let answer = small
        .send("POST", "/v1/datasets?labels=first", CSV, &half)
        .await;
    refused(&answer, 429, "quota-full", &named[..1]);
    small.send("DELETE", &first, "", "").await.expect(204);
    // The refused dataset has left neither a row nor a blob.
    let blobs = service.directory().join("blobs/datasets");
    let kept = std::fs::read_dir(&blobs).unwrap().flatten();
    let kept = kept.filter(|entry| entry.path().join("data").exists());
    assert_eq!(kept.count(), 1);
    assert_eq!(own(&small).await["stored_bytes"]["used"], bytes);

    let asked = json!({"learner": {"name": "perceptron"}, "n": 3});
    let session = small.post("/v1/sessions", &asked).await.expect(201);
    let answer = small.post("/v1/sessions", &asked).await;
    refused(
        &answer,
        429,
        "quota-full",
        &["sessions_max is 1", "1 are in use"],
    );
    let path = format!("/v1/datasets/{}", stored.id());
    small.send("DELETE", &path, "", "").await.expect(204);
    let path = format!("/v1/sessions/{}", session.id());
    small.send("DELETE", &path, "", "").await.expect(204);
    assert_eq!(own(&small).await, expected);
    small
        .send("POST", "/v1/datasets?labels=first", CSV, &rows)
        .await
        .expect(201);
}

#[tokio::test]
async fn session_stops_learning_at_the_quota_of_its_key() {
    let service = Service::start().await;
    let new = NewKey {
        bytes: Some(100),
        ..named("tiny")
    };
    let tiny = Caller::new(&service, new).await;
    let asked = json!({"learner": {"name": "perceptron"}, "n": 3});
    let session = tiny.post("/v1/sessions", &asked).await.expect(201);
    let path = format!("/v1/sessions/{}/examples", session.id());
    let examples = |count| {
        let example = json!({"x": "101", "y": 1});
        json!({"labelled": {"examples": vec![example; count]}})
    };
    tiny.post(&path, &examples(10)).await.expect(200);
    let answer = tiny.post(&path, &examples(200)).await;
    let named = ["stored_bytes_per_key_max is 100"];
    refused(&answer, 413, "too-large", &named);
    let line = "{\"x\": \"101\", \"y\": 1}\n".repeat(200);
    let answer = tiny
        .send("POST", &path, "application/x-ndjson", &line)
        .await;
    refused(&answer, 413, "too-large", &named);
    let mut learnt = 10;
    loop {
        let answer = tiny.post(&path, &examples(10)).await;
        if answer.status != 200 {
            refused(&answer, 429, "quota-full", &named);
            break;
        }
        learnt += 10;
        assert!(learnt < 1_000, "nothing is counted");
    }
    // The refused request has not changed the session.
    let path = format!("/v1/sessions/{}", session.id());
    assert_eq!(tiny.get(&path).await.expect(200).json()["position"], learnt);
}

/// The packed format allows the service to compute the stored size from the length of the body.
#[tokio::test]
async fn body_beyond_the_quota_is_refused_before_it_is_read() {
    let service = Service::with(&["--stored-bytes-max", "10000"]).await;
    let never = axum::body::Body::from_stream(futures_util::stream::pending::<
        Result<bytes::Bytes, std::convert::Infallible>,
    >());
    let headers = [
        ("content-type", "application/octet-stream"),
        ("content-length", "20000"),
    ];
    let response = service
        .open(request("POST", "/v1/datasets?n=64", &headers, never))
        .await;
    assert_eq!(response.status(), 413);
    assert!(!response.headers().contains_key("retry-after"));
}

#[tokio::test]
async fn refused_data_beyond_stored_bytes_max_leave_nothing() {
    let service = Service::with(&["--stored-bytes-max", "2000"]).await;
    let rows = "1,1,0\n".repeat(10_000);
    let answer = service
        .post_as("/v1/datasets?labels=first", CSV, rows.clone())
        .await;
    refused(&answer, 413, "too-large", &["stored_bytes_max is 2000"]);
    // A queued job would have to keep its data. A job that is computed at once keeps none.
    let path = "/v1/learners/perceptron/train?labels=first";
    let headers = [("content-type", CSV), ("prefer", "wait=0")];
    let answer = service.send(request("POST", path, &headers, rows)).await;
    refused(&answer, 413, "too-large", &["stored_bytes_max is 2000"]);
    let kept = std::fs::read_dir(service.directory().join("blobs/jobs"));
    assert_eq!(kept.map_or(0, Iterator::count), 0);
}

#[tokio::test]
async fn job_priority_is_shown_and_has_a_range() {
    let service = Service::idle(&[]).await;
    let mut asked = long_job(1);
    for (priority, shown) in [(json!(-10), -10), (json!(10), 10), (Value::Null, 0)] {
        asked["priority"] = priority;
        let path = service.submit(&asked).await;
        assert_eq!(
            service.get(&path).await.expect(200).json()["priority"],
            shown
        );
    }
    for wrong in [json!(11), json!(-11), json!(0.5), json!("1")] {
        asked["priority"] = wrong;
        let answer = service.post_json("/v1/jobs", &asked).await;
        answer.problem(400);
        assert_eq!(answer.json()["errors"][0]["pointer"], "/priority");
    }
    let path = "/v1/learners/perceptron/train?labels=first&priority=";
    let headers = [("content-type", CSV), ("prefer", "wait=0")];
    let trained = request("POST", &format!("{path}7"), &headers, "1,1,0\n");
    let trained = service.send(trained).await.expect(202);
    assert_eq!(trained.json()["priority"], 7);
    let wrong = request("POST", &format!("{path}11"), &headers, "1,1,0\n");
    let wrong = service.send(wrong).await;
    assert_eq!(wrong.problem(400), "invalid-parameter");
    assert_eq!(wrong.json()["errors"][0]["parameter"], "priority");
}
