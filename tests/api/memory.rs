//! The memory of requests and jobs: a refusal names the limit, and the memory is released.

use serde_json::json;

use super::keys::{Caller, named};
use crate::service::{Program, Service, request, short_job, until};

/// 64 MiB for requests and jobs together, and 56 MiB for a single one.
const SMALL: [&str; 2] = ["--memory-bytes-max", "134217728"];

/// Each row takes 15 bytes and stands for 2^20 doubles.
fn wide_rows(rows: usize) -> String {
    "+1 1048576:0.5\n".repeat(rows)
}

async fn taken(service: &Service) -> f64 {
    let text = service.get("/metrics").await.expect(200).text().to_owned();
    let mut lines = text.lines();
    let taken = lines.find_map(|line| line.strip_prefix("halfspace_memory_taken_bytes "));
    taken.map_or(0.0, |number| number.parse().unwrap())
}

#[tokio::test]
async fn body_that_never_fits_in_memory_names_the_limit() {
    let service = Service::with(&SMALL).await;
    let limits = service.get("/v1/limits").await.expect(200).json();
    assert_eq!(limits["memory_bytes_max"], 56 << 20);
    let path = "/v1/learners/perceptron/train";
    let headers = [("content-type", "text/x-libsvm")];
    for rows in [8, 127] {
        let answer = service
            .send(request("POST", path, &headers, wide_rows(rows)))
            .await;
        let detail = answer.json()["detail"].to_string();
        assert_eq!(answer.problem(413), "too-large", "{rows}: {detail}");
        assert!(detail.contains("memory_bytes_max: 58720256"), "{detail}");
    }
    // The same rows take little memory as a dataset.
    let answer = service
        .send(request("POST", "/v1/datasets", &headers, wide_rows(20)))
        .await;
    answer.expect(201);
    let path = "/v1/learners/perceptron/train?labels=last";
    let dense = "0.125,".repeat(999) + "1\n";
    let headers = [("content-type", "text/csv")];
    let answer = service
        .send(request("POST", path, &headers, dense.repeat(4_000)))
        .await;
    assert_eq!(answer.problem(413), "too-large");
    until("the memory to come back", async || {
        (taken(&service).await == 0.0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn generated_examples_take_memory_from_the_budget() {
    let service = Service::with(&SMALL).await;
    let generated = json!({"n": 1_048_576, "count": 1_000, "sampling": "uniform",
        "target": {"binary_weights": {}}});
    for (path, body) in [
        (
            "/v1/constructions/kernel-perceptron-adversary",
            json!({"n": 1_048_560, "size": 2_000, "store": true}),
        ),
        ("/v1/datasets", json!({"data": {"generated": generated}})),
    ] {
        let headers = [("content-type", "application/json")];
        let body = body.to_string();
        let answer = service.send(request("POST", path, &headers, body)).await;
        let detail = answer.json()["detail"].to_string();
        assert_eq!(answer.problem(413), "too-large", "{path}: {detail}");
        assert!(detail.contains("memory_bytes_max: 58720256"), "{detail}");
    }
    until("the memory to come back", async || {
        (taken(&service).await == 0.0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn job_that_never_fits_in_memory_names_the_limit() {
    let service = Service::with(&SMALL).await;
    // The service draws generated data into memory for a question about the whole sample.
    let separable = json!({
        "separability": {"data": {"generated": {"n": 4_000, "count": 200_000, "sampling": "uniform",
            "target": {"binary_weights": {}}}}},
    });
    let answer = service.post_json("/v1/jobs", &separable).await;
    let detail = answer.json()["detail"].to_string();
    assert_eq!(answer.problem(413), "too-large", "{detail}");
    assert!(detail.contains("memory_bytes_max: 58720256"), "{detail}");
    service
        .post_json("/v1/jobs", &short_job())
        .await
        .expect(202);
}

/// Eight concurrent bodies, each of which fits alone. The service answers each, or asks the client to retry.
/// A retry on its own succeeds.
#[tokio::test]
async fn concurrent_bodies_beyond_the_memory_are_refused_for_now() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &SMALL);
    let row = "0.123456789,".repeat(499) + "1\n";
    let body = row.repeat(2_500).into_bytes();
    let send = async || {
        let headers = [("content-type", "text/csv")];
        let path = "/v1/learners/perceptron/train?stop.max_passes=1&labels=last";
        let client = program.client();
        client.send("POST", path, &headers, &body).await.unwrap()
    };
    let answers = futures_util::future::join_all((0..8).map(|_| send())).await;
    for answer in answers {
        if !answer.status.is_success() {
            assert_eq!(answer.problem(503), "no-memory", "{}", answer.text());
            assert_eq!(answer.header("retry-after"), Some("1"));
            send().await.expect(200);
        }
    }
}

const LIBSVM: &str = "text/x-libsvm";

/// One block of rows takes 10 MB.
fn rows() -> String {
    "+1 20000:0.5\n-1 19999:0.5\n".repeat(32)
}

/// Opens wide sessions of two keys until they hold most of the memory.
async fn fill_with_sessions<'a>(callers: &[&Caller<'a>]) -> Vec<String> {
    let mut sessions = Vec::new();
    for number in 0..20 {
        let caller = callers[number % callers.len()];
        let body = json!({"learner": {"name": "perceptron"}, "n": 1 << 18, "values": "real"});
        let id = caller.post("/v1/sessions", &body).await.expect(201).id();
        let path = format!("/v1/sessions/{id}/examples?n=262144");
        let learnt = caller.send("POST", &path, LIBSVM, "+1 262144:0.5\n").await;
        learnt.expect(200);
        sessions.push(id);
    }
    sessions
}

/// Each kind of work needs more than the sessions have left, and waits for none of them.
#[tokio::test]
async fn idle_sessions_make_room_in_memory_for_any_work() {
    let service = Service::with(&SMALL).await;
    let one = Caller::new(&service, named("one")).await;
    let two = Caller::new(&service, named("two")).await;
    let worker = Caller::new(&service, named("worker")).await;
    let dataset = worker.send("POST", "/v1/datasets", LIBSVM, &rows()).await;
    let dataset = dataset.expect(201).id();
    let train = json!({"train": {"learner": {"name": "perceptron"}, "data": {"dataset": dataset},
        "stop": {"max_passes": 1}}});
    let model = worker.post("/v1/jobs", &train).await.expect(200).json();
    let model = model["result"]["model"].as_str().unwrap().to_owned();
    let predict = format!("/v1/models/{model}/predict");
    let evaluate = format!("/v1/models/{model}/evaluate");
    let experiment = json!({"experiment": {"name": "false-stop-rate",
        "params": {"n": [3], "deltas": [0.5], "runs": 10}, "seed": 1}});
    let sessions = fill_with_sessions(&[&one, &two]).await;
    // The job of a queue, an inline training, a prediction, an evaluation, an upload and an experiment.
    for work in 0..6 {
        fill_with_sessions(&[&one, &two]).await;
        let taken = taken(&service).await;
        assert!(taken > 30.0 * 1024.0 * 1024.0, "{taken}");
        let inline = "/v1/learners/perceptron/train?stop.max_passes=1";
        let answer = match work {
            0 => worker.post("/v1/jobs", &train).await,
            1 => worker.send("POST", inline, LIBSVM, &rows()).await,
            2 => worker.send("POST", &predict, LIBSVM, &rows()).await,
            3 => worker.send("POST", &evaluate, LIBSVM, &rows()).await,
            4 => worker.send("POST", "/v1/datasets", LIBSVM, &rows()).await,
            _ => worker.post("/v1/jobs", &experiment).await,
        };
        let status = answer.status.as_u16();
        assert!([200, 201].contains(&status), "{work}: {}", answer.text());
    }
    // The sessions are restored as they were.
    for (number, id) in sessions.iter().enumerate() {
        let caller = [&one, &two][number % 2];
        let path = format!("/v1/sessions/{id}/examples?n=262144");
        let learnt = caller.send("POST", &path, LIBSVM, "+1 262144:0.5\n").await;
        let learnt = learnt.expect(200);
        assert!(
            learnt.text().contains("\"position\":2,"),
            "{}",
            learnt.text()
        );
    }
}
