//! A key may hold only a share of a process's permits, so that others find some left.

use std::io::Error;
use std::sync::Arc;

use axum::body::{Body, BodyDataStream, Bytes};
use futures_util::{StreamExt, stream};
use halfspace::http::limits::Limits;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use super::keys::{Caller, named};
use super::uploads::gzip;
use crate::service::{Answer, Service, long_job, request, short_job};

const NDJSON: &str = "application/x-ndjson";
const JSON: &str = "application/json";

/// Sends the rest of a request body.
type Sender = mpsc::UnboundedSender<Result<Bytes, Error>>;

/// A body that exceeds a small one.
fn large() -> String {
    "\"0110\"\n".repeat(20_000)
}

async fn model(caller: &Caller<'_>) -> String {
    let job = caller.post("/v1/jobs", &short_job()).await.expect(200);
    let job = job.json();
    format!("/v1/models/{}", job["result"]["model"].as_str().unwrap())
}

/// Begins a request whose answer may never end.
async fn open(
    caller: &Caller<'_>,
    method: &str,
    path: &str,
    body: Body,
) -> axum::response::Response {
    let authorization = caller.authorization.as_deref().unwrap_or_default();
    let headers = [("content-type", NDJSON), ("authorization", authorization)];
    caller
        .service
        .open(request(method, path, &headers, body))
        .await
}

/// A body that begins with these bytes and lasts until the sender is dropped. The service has read the bytes
/// when the signal comes.
fn unfinished(text: impl Into<Bytes>) -> (Sender, Body, Arc<Notify>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let is_read = Arc::<Notify>::default();
    let text = text.into();
    let first = stream::once(async { Ok(text) });
    let telling = Arc::clone(&is_read);
    let rest = stream::unfold((receiver, telling), async |(mut receiver, telling)| {
        telling.notify_one();
        let frame: Result<Bytes, Error> = receiver.recv().await?;
        Some((frame, (receiver, telling)))
    });
    (sender, Body::from_stream(first.chain(rest)), is_read)
}

/// Opens a stream of predictions and reads the first answer. The stream lasts until the result is dropped.
async fn predicting(caller: &Caller<'_>, path: &str) -> (Sender, BodyDataStream) {
    let (sender, body, _) = unfinished("\"101\"\n".to_owned());
    let answer = open(caller, "POST", path, body).await;
    assert_eq!(answer.status(), 200);
    let mut answers = answer.into_body().into_data_stream();
    answers.next().await.unwrap().unwrap();
    (sender, answers)
}

/// The problem of a stream that gets no permit.
async fn refused(caller: &Caller<'_>, path: &str) -> Value {
    let (_sender, body, _) = unfinished("\"101\"\n".to_owned());
    let answer = open(caller, "POST", path, body).await;
    let status = answer.status().as_u16();
    let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await;
    let problem: Value = serde_json::from_slice(&body.unwrap()).unwrap();
    assert_eq!(problem["status"], status);
    problem
}

#[tokio::test]
async fn stream_permits_of_one_key_are_half_of_all() {
    let service = Service::with(&["--streams-max", "4", "--workers", "2"]).await;
    let mut callers = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let caller = Caller::new(&service, named(name)).await;
        let path = format!("{}/predict", model(&caller).await);
        callers.push((caller, path));
    }
    let mut held = Vec::new();
    let (a, path) = &callers[0];
    held.push(predicting(a, path).await);
    held.push(predicting(a, path).await);
    let problem = refused(a, path).await;
    assert_eq!(
        (&problem["status"], &problem["code"]),
        (&json!(429), &json!("too-many-at-once"))
    );
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("Your key holds 2") && detail.contains("streams_max (4)"),
        "{detail}"
    );
    for (caller, path) in &callers[1..3] {
        held.push(predicting(caller, path).await);
    }
    let (d, their_path) = &callers[3];
    let problem = refused(d, their_path).await;
    assert_eq!(
        (&problem["status"], &problem["code"]),
        (&json!(503), &json!("queue-full"))
    );
    // A small body that arrives at once needs no permit.
    for (caller, path) in [(a, path), (d, their_path)] {
        let answer = caller
            .send("POST", path, NDJSON, "\"101\"\n\"000\"\n")
            .await;
        assert_eq!(answer.expect(200).text().lines().count(), 2);
    }
    held.clear();
    crate::service::until("a permit to come back", async || {
        let (_sender, body, _) = unfinished("\"101\"\n".to_owned());
        let answer = open(d, "POST", their_path, body).await;
        (answer.status() == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_uploads_of_one_key_leave_room_for_small_bodies_and_for_other_keys() {
    let service = Arc::new(Service::with(&["--uploads-max", "2", "--workers", "2"]).await);
    let a = Caller::new(&service, named("a")).await;
    let b = Caller::new(&service, named("b")).await;
    let model = model(&a).await;
    let (sender, body, is_read) = unfinished(large());
    let headers = [
        ("content-type", NDJSON),
        ("authorization", a.authorization.as_deref().unwrap()),
    ];
    let asked = request("POST", "/v1/datasets", &headers, body);
    let uploading = tokio::spawn({
        let service = Arc::clone(&service);
        async move { service.open(asked).await.status() }
    });
    // The request holds a permit when the service asks for more of the body.
    is_read.notified().await;
    // The second large body of the key waits and is refused. The service reads bodies of other keys meanwhile.
    let text = large();
    let second = a.send("POST", "/v1/datasets", NDJSON, &text);
    let meanwhile = async {
        for _ in 0..3 {
            b.send("POST", "/v1/datasets", NDJSON, &text)
                .await
                .expect(201);
        }
        let bodies = small_bodies(&model);
        for (path, media_type, body) in &bodies {
            let answer: Answer = a.send("POST", path, media_type, body).await;
            assert!(answer.status.is_success(), "{path}: {}", answer.text());
        }
    };
    let (second, ()) = tokio::join!(second, meanwhile);
    assert_eq!(second.problem(429), "too-many-at-once");
    let problem = second.json();
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("Your key holds 1") && detail.contains("uploads_max (2)"),
        "{detail}"
    );
    drop(sender);
    assert_eq!(uploading.await.unwrap(), 201);
    a.send("POST", "/v1/datasets", NDJSON, &text)
        .await
        .expect(201);
}

/// A small body for each route, in dense and in sparse formats.
fn small_bodies(model: &str) -> Vec<(String, &'static str, String)> {
    let labelled = json!({"labelled": {"examples": [{"x": "110", "y": 1}]}}).to_string();
    let tensor = json!({"inputs": [
        {"name": "x", "shape": [1, 3], "datatype": "BOOL", "data": [1, 0, 1]}]});
    let predict = format!("{model}/predict");
    let evaluate = format!("{model}/evaluate");
    let infer = format!("{}/infer", model.replace("v1", "v2"));
    let train = "/v1/learners/perceptron/train".to_owned();
    let datasets = "/v1/datasets".to_owned();
    let arff = "@relation r\n@attribute a numeric\n@attribute c {0,1}\n@data\n{0 1}\n1,1\n";
    let (libsvm, csv) = ("text/x-libsvm", "text/csv");
    let all = [
        (&predict, libsvm, "1 1:1 3:1\n"),
        (&predict, csv, "1,0,1\n"),
        (&evaluate, JSON, labelled.as_str()),
        (&evaluate, libsvm, "1 1:1 3:1\n"),
        (&infer, JSON, &*tensor.to_string()),
        (&train, libsvm, "1 1:1 3:1\n-1 2:1\n"),
        (&train, JSON, labelled.as_str()),
        (&datasets, libsvm, "1 1:1 3:1\n"),
        (&datasets, "text/x-arff", arff),
        (&datasets, JSON, &*format!("{{\"data\": {labelled}}}")),
    ];
    all.map(|(path, media_type, body)| (path.clone(), media_type, body.to_owned()))
        .into()
}

#[tokio::test]
async fn event_streams_are_limited_by_key_and_in_all() {
    let service = Service::with(&["--connections-max", "16"]).await;
    let a = Caller::new(&service, named("a")).await;
    let b = Caller::new(&service, named("b")).await;
    let follow = async |caller: &Caller<'_>, path: &str| {
        open(caller, "GET", &format!("{path}/events"), Body::empty()).await
    };
    let job = async |caller: &Caller<'_>| {
        let headers = [
            ("content-type", JSON),
            ("authorization", caller.authorization.as_deref().unwrap()),
        ];
        let asked = request("POST", "/v1/jobs", &headers, long_job(1).to_string());
        let answer = service.send(asked).await.expect(202);
        answer.header("location").unwrap().to_owned()
    };
    let (of_a, of_b) = (job(&a).await, job(&b).await);
    let (one, two) = (follow(&a, &of_a).await, follow(&a, &of_a).await);
    assert!(one.status() == 200 && two.status() == 200);
    let refused = a.get(&format!("{of_a}/events")).await;
    assert_eq!(refused.problem(429), "too-many-at-once");
    let problem = refused.json();
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("event_streams_max (4)"), "{detail}");
    assert_eq!(follow(&b, &of_b).await.status(), 200);
    drop(one);
    assert_eq!(follow(&a, &of_a).await.status(), 200);
    drop(two);
}

#[tokio::test]
async fn event_streams_of_an_open_service_have_one_limit() {
    let service = Service::with(&["--connections-max", "12"]).await;
    let path = service.submit(&long_job(1)).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let asked = request("GET", &format!("{path}/events"), &[], "");
        let answer = service.open(asked).await;
        assert_eq!(answer.status(), 200);
        held.push(answer);
    }
    let refused = service.get(&format!("{path}/events")).await;
    assert_eq!(refused.problem(429), "too-many-at-once");
    let problem = refused.json();
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("event_streams_max (3)"), "{detail}");
    let limits = service.get("/v1/limits").await.expect(200).json();
    assert_eq!(limits["event_streams_max"], 3);
    assert_eq!(limits["query_pairs_max"], 1_000);
}

/// The rows of the body take minutes. Only the end of the request ends them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_of_a_body_ends_with_its_request() {
    let long = |limits: &mut Limits| {
        limits.read_seconds_max = Some(86_400.0);
        limits.uploads_max = 1;
    };
    let service = Service::limited(&[], long).await;
    let attributes: String = (0..8_000)
        .map(|at| format!("@attribute a{at} {{x,y}}\n"))
        .collect();
    let rows = "{}\n".repeat(4_000_000);
    let table = format!("@relation r\n{attributes}@data\n{rows}");
    let (sender, body, is_read) = unfinished(gzip(table.as_bytes()));
    let headers = [
        ("content-type", "text/x-arff"),
        ("content-encoding", "gzip"),
    ];
    let reading = service.open(request("POST", "/v1/previews?labels=none", &headers, body));
    tokio::select! {
        answer = reading => panic!("{answer:?}"),
        () = is_read.notified() => {}
    }
    drop(sender);
    crate::service::until("the permit to come back", async || {
        let answer = service.post_as("/v1/previews", NDJSON, large()).await;
        (answer.status != 503).then_some(())
    })
    .await;
}
