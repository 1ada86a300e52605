//! `Idempotency-Key`: a request and its retries create one record.

use axum::body::Body;
use futures_util::future::join_all;
use futures_util::stream;
use serde_json::{Value, json};

use crate::service::{Answer, Program, Service, TestDatabase, long_job, request, short_job};

const JSON: &str = "application/json";
const CSV: &str = "text/csv";

/// A path, a media type and a body.
type Sent<'a> = (&'a str, &'a str, &'a str);

async fn send(service: &Service, key: &str, sent: Sent<'_>) -> Answer {
    let (path, media_type, body) = sent;
    let headers = [("content-type", media_type), ("idempotency-key", key)];
    let request = request("POST", path, &headers, body.to_owned());
    service.send(request).await
}

#[track_caller]
fn is_replay(answer: &Answer) -> bool {
    let header = answer.header("idempotency-replayed");
    assert!(matches!(header, None | Some("true")), "{header:?}");
    header.is_some()
}

async fn count(service: &Service, list: &str) -> usize {
    let list = service.get(list).await.expect(200).json();
    list["items"].as_array().unwrap().len()
}

const SESSION: &str = r#"{"learner": {"name": "perceptron"}, "n": 3}"#;

/// Sends a request twice, and another request under the same key. Asserts that one record is created.
async fn made_once(service: &Service, sent: Sent<'_>, other: Sent<'_>, list: &str) -> Answer {
    let before = count(service, list).await;
    let key = format!("key-of-{}", sent.0);
    let first = send(service, &key, sent).await.expect(201);
    assert!(!is_replay(&first));
    let again = send(service, &key, sent).await.expect(201);
    assert!(is_replay(&again), "{}", sent.0);
    assert_eq!(again.json(), first.json());
    for header in ["location", "etag"] {
        assert_eq!(again.header(header), first.header(header));
    }
    let mismatch = send(service, &key, other).await;
    assert_eq!(mismatch.problem(422), "idempotency-mismatch");
    assert_eq!(count(service, list).await, before + 1, "{}", sent.0);
    again
}

#[tokio::test]
async fn idempotency_key_creates_every_resource_once() {
    let service = Service::start().await;
    let lines = ("/v1/datasets?labels=first", CSV, "1,0,1\n-1,1,0\n");
    let other = ("/v1/datasets?labels=first", CSV, "1,0,1\n-1,1,1\n");
    made_once(&service, lines, other, "/v1/datasets").await;
    let body = r#"{"data": {"half_space": {"examples": ["101"]}}}"#;
    // The same body at another path is another request.
    let other = ("/v1/sessions", JSON, body);
    made_once(
        &service,
        ("/v1/datasets", JSON, body),
        other,
        "/v1/datasets",
    )
    .await;
    let other = (
        "/v1/sessions",
        JSON,
        r#"{"learner": {"name": "perceptron"}, "n": 4}"#,
    );
    let opened = made_once(
        &service,
        ("/v1/sessions", JSON, SESSION),
        other,
        "/v1/sessions",
    )
    .await;
    let save = format!("/v1/sessions/{}/model", opened.id());
    let renamed = format!("{save}?name=other");
    // A body is part of the request even on a route that reads none.
    let (sent, other) = (
        (save.as_str(), "text/plain", "body"),
        (renamed.as_str(), "text/plain", ""),
    );
    let saved = made_once(&service, sent, other, "/v1/models").await;
    let path = saved.header("location").unwrap();
    let file = service.get(path).await.expect(200).text().to_owned();
    let sent = ("/v1/models", JSON, file.as_str());
    let imported = made_once(&service, sent, ("/v1/models", JSON, "{}"), "/v1/models").await;
    assert_ne!(imported.header("location"), Some(path));
}

#[tokio::test]
async fn idempotent_replay_of_a_construction_keeps_its_seed() {
    let service = Service::start().await;
    for (name, body, other) in [
        (
            "kernel-perceptron-adversary",
            json!({"n": 400, "size": 1, "store": true}),
            json!({"n": 400, "size": 2, "store": true}),
        ),
        (
            "winnow-counting",
            json!({"variables": 2, "clauses": [[1, 2]], "at_least": 1, "store": true}),
            json!({"variables": 2, "clauses": [[1, 1]], "at_least": 1, "store": true}),
        ),
    ] {
        let path = format!("/v1/constructions/{name}");
        let (body, other) = (body.to_string(), other.to_string());
        let (sent, other) = (
            (path.as_str(), JSON, body.as_str()),
            (path.as_str(), JSON, &*other),
        );
        let again = made_once(&service, sent, other, "/v1/datasets")
            .await
            .json();
        assert!(again["data"]["dataset"].is_string() && again["examples"].is_u64());
    }
    // A construction that is not stored needs no key, and the key stays free.
    let free = json!({"variables": 3, "satisfying": 5}).to_string();
    for _ in 0..2 {
        let sent = ("/v1/constructions/monotone-cnf", JSON, free.as_str());
        assert!(!is_replay(&send(&service, "free", sent).await.expect(200)));
    }
}

#[tokio::test]
async fn idempotent_replay_of_a_job_shows_its_present_status() {
    let service = Service::idle(&["--workers", "2"]).await;
    let body = short_job().to_string();
    let sent = ("/v1/jobs", JSON, body.as_str());
    let first = send(&service, "k", sent).await.expect(202);
    let path = first.header("location").unwrap().to_owned();
    let again = send(&service, "k", sent).await.expect(202);
    assert!(is_replay(&again) && !is_replay(&first));
    assert_eq!(again.json(), first.json());
    service.compute();
    let ended = service.until_status(&path, "succeeded").await;
    let again = send(&service, "k", sent).await.expect(202);
    assert_eq!(again.json(), ended);
    // A retry may wait.
    let headers = [
        ("content-type", JSON),
        ("prefer", "wait=30"),
        ("idempotency-key", "k"),
    ];
    let again = service.send(request("POST", "/v1/jobs", &headers, body.clone()));
    assert_eq!(again.await.expect(200).json(), ended);
    assert_eq!(count(&service, "/v1/jobs").await, 1);
    // A retry does not create a deleted job again.
    service.delete(&path).await.expect(204);
    assert_eq!(
        send(&service, "k", sent).await.problem(410),
        "idempotency-gone"
    );
    assert_eq!(count(&service, "/v1/jobs").await, 0);
}

#[tokio::test]
async fn idempotent_replay_of_a_waited_training_makes_no_second() {
    let service = Service::start().await;
    let train = (
        "/v1/learners/perceptron/train?seed=1&labels=first",
        CSV,
        "1,0,1\n-1,1,0\n",
    );
    let first = send(&service, "k", train).await.expect(200);
    let again = send(&service, "k", train).await.expect(200);
    assert!(is_replay(&again));
    assert_eq!(again.json(), first.json());
    let query = (
        "/v1/learners/perceptron/train?seed=2&labels=first",
        CSV,
        train.2,
    );
    assert_eq!(
        send(&service, "k", query).await.problem(422),
        "idempotency-mismatch"
    );
    let path = (
        "/v1/learners/winnow/train?seed=1&labels=first",
        CSV,
        train.2,
    );
    assert_eq!(
        send(&service, "k", path).await.problem(422),
        "idempotency-mismatch"
    );
    let media_type = (train.0, "text/csv; charset=utf-8", train.2);
    assert_eq!(
        send(&service, "k", media_type).await.problem(422),
        "idempotency-mismatch"
    );
    assert_eq!(count(&service, "/v1/jobs").await, 1);
    assert_eq!(count(&service, "/v1/models").await, 1);
}

#[tokio::test]
async fn idempotency_fingerprint_is_of_the_decompressed_body() {
    let service = Service::start().await;
    let text: String = (0..40_000)
        .map(|row| format!("1,{},1\n", row % 2))
        .collect();
    let plain = ("/v1/datasets?labels=first", CSV, text.as_str());
    let first = send(&service, "k", plain).await.expect(201);
    let packed = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let headers = [
        ("content-type", CSV),
        ("content-encoding", "zstd"),
        ("idempotency-key", "k"),
    ];
    let again = service
        .send(request(
            "POST",
            "/v1/datasets?labels=first",
            &headers,
            packed,
        ))
        .await;
    assert_eq!(again.expect(201).json(), first.json());
    let longer = format!("{text}1,1,1\n");
    let other = ("/v1/datasets?labels=first", CSV, longer.as_str());
    assert_eq!(
        send(&service, "k", other).await.problem(422),
        "idempotency-mismatch"
    );
}

#[tokio::test]
async fn refused_request_keeps_no_idempotency_key() {
    let service = Service::start().await;
    let wrong = (
        "/v1/sessions",
        JSON,
        r#"{"learner": {"name": "pocket"}, "n": 3}"#,
    );
    assert_eq!(send(&service, "k", wrong).await.problem(422), "not-on-line");
    let mended = send(&service, "k", ("/v1/sessions", JSON, SESSION)).await;
    assert!(!is_replay(&mended.expect(201)));
    // A key is ASCII text without spaces.
    for key in ["", "a b", "\u{e9}", &"k".repeat(256)] {
        let answer = send(&service, key, ("/v1/sessions", JSON, SESSION)).await;
        assert_eq!(answer.problem(400), "invalid-parameter");
        assert_eq!(answer.json()["errors"][0]["parameter"], "Idempotency-Key");
    }
    let longest = "~".repeat(255);
    send(&service, &longest, ("/v1/sessions", JSON, SESSION))
        .await
        .expect(201);
    let headers = [
        ("content-type", JSON),
        ("idempotency-key", "a"),
        ("idempotency-key", "b"),
    ];
    let twice = service
        .send(request("POST", "/v1/sessions", &headers, SESSION))
        .await;
    assert_eq!(twice.problem(400), "invalid-parameter");
}

#[tokio::test]
async fn idempotency_key_is_in_flight_until_its_request_ends() {
    let service = Service::start().await;
    let (begun, is_read) = tokio::sync::oneshot::channel();
    // The service waits for a body that never comes.
    let body = Body::from_stream(stream::once(async {
        begun.send(()).unwrap();
        std::future::pending::<Result<String, std::io::Error>>().await
    }));
    let headers = [("content-type", CSV), ("idempotency-key", "k")];
    let mut first = Box::pin(service.open(request("POST", "/v1/datasets", &headers, body)));
    tokio::select! {
        answer = &mut first => panic!("{answer:?}"),
        begun = is_read => begun.unwrap(),
    }
    let session = ("/v1/sessions", JSON, SESSION);
    let second = send(&service, "k", session).await;
    assert_eq!(second.problem(409), "idempotency-in-flight");
    assert_eq!(second.header("retry-after"), Some("1"));
    send(&service, "another", session).await.expect(201);
    drop(first);
    assert!(!is_replay(&send(&service, "k", session).await.expect(201)));
}

/// Repeats the request while another request under the key is in flight.
async fn send_patiently(service: &Service, key: &str, sent: Sent<'_>) -> Answer {
    loop {
        let answer = send(service, key, sent).await;
        if answer.status != 409 {
            return answer;
        }
        assert_eq!(answer.problem(409), "idempotency-in-flight");
        assert_eq!(answer.header("retry-after"), Some("1"));
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn idempotency_key_of_32_racing_clients_makes_one_job() {
    let (one, two) = Service::two().await;
    let body = short_job().to_string();
    for key in ["a", "b", "c"] {
        let race = (0..32).map(|client| {
            let service = if client % 2 == 0 { &one } else { &two };
            send_patiently(service, key, ("/v1/jobs", JSON, &body))
        });
        let answers = join_all(race).await;
        let ids: Vec<String> = answers.iter().map(Answer::id).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        let made = answers.iter().filter(|answer| !is_replay(answer)).count();
        assert_eq!(made, 1);
    }
    assert_eq!(count(&one, "/v1/jobs").await, 3);
}

#[tokio::test]
async fn idempotency_key_of_two_different_requests_refuses_one() {
    let (one, two) = Service::two().await;
    let (short, long) = (short_job().to_string(), long_job(1).to_string());
    let (first, second) = tokio::join!(
        send(&one, "k", ("/v1/jobs", JSON, &short)),
        send(&two, "k", ("/v1/jobs", JSON, &long)),
    );
    let mut statuses = [first.status.as_u16(), second.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 422], "{} {}", first.text(), second.text());
    assert_eq!(count(&one, "/v1/jobs").await, 1);
}

/// Runs over each database. The key is on disk when the record is.
#[tokio::test]
async fn idempotency_key_survives_a_killed_process() {
    let database = TestDatabase::new().await;
    let url = database.as_ref().map(TestDatabase::url);
    for url in ["sqlite"].into_iter().chain(url.as_deref()) {
        let directory = tempfile::tempdir().unwrap();
        let settings = ["--database-url", url, "--lease-seconds", "2"];
        let headers = [
            ("content-type", JSON),
            ("idempotency-key", "k"),
            ("prefer", "wait=1"),
        ];
        let body = short_job().to_string();
        let mut ids: Vec<Value> = Vec::new();
        for life in 0..3 {
            let program = Program::start(directory.path(), &settings);
            let client = program.client();
            let answer = client
                .send("POST", "/v1/jobs", &headers, body.as_bytes())
                .await
                .unwrap();
            assert!(answer.status.is_success(), "{}", answer.text());
            assert_eq!(is_replay(&answer), life > 0);
            ids.push(answer.json()["id"].clone());
            program.kill();
        }
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }
}
