//! The queue and the processes as clients see them: why a job waits, the load by key, and the workers.

use serde_json::{Value, json};

use super::keys::{Caller, named};
use crate::service::{Service, long_job, short_job, until};

/// The processes of the service once `fits` holds.
async fn workers_when(service: &Service, fits: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    until("the processes to be listed", async || {
        let list = service.get("/v1/workers").await.expect(200).json();
        let items = list["items"].as_array().unwrap().clone();
        fits(&items).then_some(items)
    })
    .await
}

async fn place(service: &Service, path: &str) -> Value {
    service.get(path).await.expect(200).json()["queue"].clone()
}

#[tokio::test]
async fn a_job_waits_for_a_worker_that_does_not_run() {
    let service = Service::idle(&["--role", "api"]).await;
    let answer = service
        .post_json("/v1/jobs", &short_job())
        .await
        .expect(202);
    let place = json!({"ahead": 0, "waits_for": "no-worker", "not_before": null});
    assert_eq!(answer.json()["queue"], place);
    let path = answer.header("location").unwrap();
    // A process that computes nothing does not help.
    service.compute();
    workers_when(&service, |workers| workers.len() == 1).await;
    assert_eq!(self::place(&service, path).await, place);
    let queue = service.get("/v1/queue").await.expect(200).json();
    assert_eq!(
        [&queue["queued"], &queue["running"], &queue["parked"]],
        [1, 0, 0]
    );
    let worker = service
        .beside(&["--role", "worker", "--workers", "1"])
        .await;
    let ended = service.until_status(path, "succeeded").await;
    assert_eq!(ended["queue"], Value::Null);
    let workers = workers_when(&service, |workers| workers.len() == 2).await;
    let roles = workers
        .iter()
        .map(|worker| (&worker["role"], &worker["workers"]));
    assert_eq!(
        roles.collect::<Vec<_>>(),
        [(&json!("api"), &json!(0)), (&json!("worker"), &json!(1))]
    );
    // A process that stops in order is not listed any more.
    worker.stop().await;
    workers_when(&service, |workers| workers.len() == 1).await;
    let again = service
        .post_json("/v1/jobs", &short_job())
        .await
        .expect(202);
    assert_eq!(again.json()["queue"]["waits_for"], "no-worker");
    let empty = service.get("/v1/queue").await.expect(200).json();
    assert!(empty["oldest_age_seconds"].is_number(), "{empty}");
}

#[tokio::test]
async fn a_job_waits_behind_a_running_job_or_behind_jobs_of_its_key() {
    let service = Service::with(&["--workers", "1"]).await;
    let before = service.get("/v1/queue").await.expect(200).json();
    assert_eq!(
        before,
        json!({"queued": 0, "running": 0, "parked": 0,
        "oldest_age_seconds": null, "owners": []})
    );
    workers_when(&service, |workers| workers.len() == 1).await;
    let running = service.submit(&long_job(1)).await;
    service.until_status(&running, "running").await;
    let mut answers = Vec::new();
    for seed in 2..=3 {
        let answer = service
            .post_json("/v1/jobs", &long_job(seed))
            .await
            .expect(202);
        answers.push(answer.json()["queue"].clone());
    }
    assert_eq!(
        answers[0],
        json!({"ahead": 0, "waits_for": "worker", "not_before": null})
    );
    assert_eq!(
        answers[1],
        json!({"ahead": 1, "waits_for": "other-jobs", "not_before": null})
    );
    let queue = service.get("/v1/queue").await.expect(200).json();
    assert_eq!(
        [&queue["queued"], &queue["running"], &queue["parked"]],
        [2, 1, 0]
    );
    assert!(
        queue["oldest_age_seconds"].as_f64().unwrap() < 600.0,
        "{queue}"
    );
    let own = &queue["owners"][0];
    assert_eq!(
        (&own["owner"], &own["own"]),
        (&json!("anonymous"), &json!(true))
    );
    assert_eq!([&own["queued"], &own["running"]], [2, 1]);
    assert_eq!(own["weight"], 1.0);
    assert!(own["virtual_seconds"].is_number(), "{own}");
    let workers = workers_when(&service, |workers| workers[0]["running"] == 1).await;
    let worker = &workers[0];
    assert_eq!([&worker["workers"], &worker["parked"]], [1, 0]);
    assert_eq!(worker["version"], env!("CARGO_PKG_VERSION"));
    assert!(
        worker["memory_bytes_taken"].as_u64().unwrap() > 0,
        "{worker}"
    );
    // A small job takes its memory from the part for small work.
    assert_eq!(worker["memory_bytes_free"], worker["memory_bytes_max"]);
}

/// A job with parts waits like its parts, and a cancelled job waits for nothing.
#[tokio::test]
async fn a_job_with_parts_tells_why_its_parts_wait() {
    let service = Service::idle(&[]).await;
    let grid = json!({"grid": {"train": {"learner": {"name": "perceptron"},
        "data": short_job()["train"]["data"]}, "over": {"seed": [1, 2]}}});
    let answer = service.post_json("/v1/jobs", &grid).await.expect(202);
    assert_eq!(answer.json()["queue"]["waits_for"], "no-worker");
    let parts = format!("/v1/jobs?parent={}", answer.json()["id"].as_str().unwrap());
    let parts = service.get(&parts).await.expect(200).json();
    for part in parts["items"].as_array().unwrap() {
        assert_eq!(part["queue"], Value::Null);
        let path = format!("/v1/jobs/{}", part["id"].as_str().unwrap());
        assert_eq!(place(&service, &path).await["waits_for"], "no-worker");
    }
    let queue = service.get("/v1/queue").await.expect(200).json();
    assert_eq!(queue["queued"], 2);
    let path = format!("{}/cancel", answer.header("location").unwrap());
    let cancelled = service.post(&path).await.expect(202).json();
    assert_eq!(
        (&cancelled["status"], &cancelled["queue"]),
        (&json!("cancelled"), &Value::Null)
    );
}

#[tokio::test]
async fn queue_shows_a_key_only_the_counts_of_other_keys() {
    let service = Service::idle(&[]).await;
    let (id, secret) = service.key(named("the first key")).await;
    let first = Caller {
        service: &service,
        authorization: Some(format!("Bearer {secret}")),
    };
    let second = Caller::new(&service, named("the second key")).await;
    for (caller, jobs) in [(&first, 2), (&second, 1)] {
        for _ in 0..jobs {
            let headers = [
                ("content-type", "application/json"),
                ("authorization", caller.authorization.as_deref().unwrap()),
            ];
            let body = short_job().to_string();
            let request = crate::service::request("POST", "/v1/jobs", &headers, body);
            service.send(request).await.expect(202);
        }
    }
    let queue = second.get("/v1/queue").await.expect(200);
    assert!(
        !queue.text().contains(&id) && !queue.text().contains("first"),
        "{}",
        queue.text()
    );
    let queue = queue.json();
    assert_eq!([&queue["queued"], &queue["running"]], [3, 0]);
    let owners = queue["owners"].as_array().unwrap();
    assert_eq!(owners.len(), 2);
    assert_eq!(
        owners[0],
        json!({"owner": null, "own": false, "queued": 2, "running": 0,
        "parked": 0, "weight": null, "virtual_seconds": null})
    );
    assert_eq!(
        (&owners[1]["queued"], &owners[1]["weight"]),
        (&json!(1), &json!(1.0))
    );
    assert_eq!(owners[1]["own"], true);
    let own = first.get("/v1/queue").await.expect(200).json()["owners"][0].clone();
    assert_eq!((&own["owner"], &own["own"]), (&json!(id), &json!(true)));
    // Every key sees the processes.
    let workers = second.get("/v1/workers").await.expect(200).json();
    assert_eq!(workers, json!({"items": [], "next_cursor": null}));
}
