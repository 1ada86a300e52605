//! Experiments: their parts, progress, figures, cancellation and refusals.

use serde_json::{Value, json};

use crate::service::{Answer, Service, request, short_job, until};

/// A sweep of a few points with this many runs per point. The estimate allows for far more mistakes than occur,
/// so the service splits the sweep into many parts.
fn sweep(runs: u64) -> Value {
    json!({"experiment": {"name": "mistake-bound-sweep", "seed": 7, "params": {
        "n": [15], "learners": ["directed-drift-async"],
        "batch_sizes": [1, 2], "max_mistakes": 10_000_000, "runs": runs}}})
}

/// A sweep of many parts that takes about a minute.
fn long_sweep() -> Value {
    json!({"experiment": {"name": "mistake-bound-sweep", "seed": 7, "params": {
        "n": [11], "learners": ["directed-drift-async"],
        "batch_sizes": [1], "max_mistakes": 10_000_000, "runs": 20_000}}})
}

async fn figure(service: &Service, path: &str, accept: &str) -> Answer {
    let path = format!("{path}/figure");
    service
        .send(request("GET", &path, &[("accept", accept)], ""))
        .await
}

async fn parts(service: &Service, path: &str) -> Vec<Value> {
    let id = path.rsplit('/').next().unwrap();
    let list = service
        .get(&format!("/v1/jobs?parent={id}&limit=100"))
        .await;
    list.expect(200).json()["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn an_experiment_is_run_by_parts_and_gathered() {
    let service = Service::start().await;
    let job = service.run(&sweep(200)).await;
    assert_eq!(
        (&job["status"], &job["task"]),
        (&json!("succeeded"), &json!("experiment"))
    );
    let total = job["parts"]["total"].as_u64().unwrap();
    assert!(total >= 2, "{}", job["parts"]);
    assert_eq!(job["parts"]["left"], 0);
    assert_eq!(job["progress"]["fraction"], 1.0);
    let result = &job["result"];
    assert_eq!(result["runs"], result["runs_planned"]);
    for series in result["series"].as_array().unwrap() {
        for point in series["points"].as_array().unwrap() {
            let [low, y, high] = ["low", "y", "high"].map(|key| point[key].as_f64().unwrap());
            assert!(low < y && y < high, "{point}");
            assert_eq!(point["runs"], 200);
        }
    }
    let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    let parts = parts(&service, &path).await;
    assert_eq!(parts.len() as u64, total);
    for (part, number) in parts.iter().zip((0..total).rev()) {
        assert_eq!(
            (&part["parent"], &part["part"]),
            (&job["id"], &json!(number))
        );
        assert_eq!(
            (&part["status"], &part["task"]),
            (&json!("succeeded"), &json!("experiment_part"))
        );
    }
    // Lists omit the parts of an experiment, and clients cannot change a part.
    let listed = service.get("/v1/jobs").await.expect(200).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let part = format!("/v1/jobs/{}", parts[0]["id"].as_str().unwrap());
    assert_eq!(service.delete(&part).await.problem(409), "wrong-state");
    let cancel = service.post(&format!("{part}/cancel")).await;
    assert_eq!(cancel.problem(409), "wrong-state");
    let document = figure(&service, &path, "application/json").await;
    assert_eq!(document.expect(200).json(), *result);
    assert_eq!(service.delete(&path).await.expect(204).body.len(), 0);
    assert_eq!(service.get(&part).await.problem(404), "not-found");
}

#[tokio::test]
async fn experiment_result_does_not_depend_on_the_number_of_workers() {
    let mut results = Vec::new();
    for workers in ["1", "4"] {
        let service = Service::with(&["--workers", workers]).await;
        let job = service.run(&sweep(200)).await;
        assert_eq!(job["status"], "succeeded");
        results.push(job["result"].to_string());
    }
    assert_eq!(results[0], results[1]);
}

#[tokio::test]
async fn experiment_figure_is_served_as_svg_csv_or_json() {
    let service = Service::start().await;
    let job = service.run(&sweep(200)).await;
    let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    let picture = figure(&service, &path, "*/*").await.expect(200);
    assert_eq!(picture.header("content-type"), Some("image/svg+xml"));
    assert!(picture.text().starts_with("<svg "));
    let table = figure(&service, &path, "text/csv").await.expect(200);
    let table = table.text();
    let header = "kind,label,x,y,low,high,runs,censored";
    assert_eq!(table.lines().next(), Some(header));
    assert!(table.lines().any(|line| line.starts_with("measured,")));
    let png = figure(&service, &path, "image/png").await;
    assert_eq!(png.problem(406), "not-acceptable");
    let other = service.submit(&short_job()).await;
    let none = figure(&service, &other, "*/*").await;
    assert_eq!(none.problem(404), "not-found");
}

#[tokio::test]
async fn running_experiment_is_cancelled_with_its_result_so_far() {
    let service = Service::with(&["--workers", "1"]).await;
    let path = service.submit(&long_sweep()).await;
    let watched = until("a hundredth of the experiment", async || {
        let job = service.get(&path).await.expect(200).json();
        // An event reports every hundredth.
        let done = job["progress"]["fraction"].as_f64().unwrap() >= 0.01;
        done.then_some(job)
    })
    .await;
    assert_eq!(watched["status"], "running");
    assert!(watched["progress"]["seconds_left"].as_f64().unwrap() > 0.0);
    assert!(watched["result"].is_null());
    let so_far = figure(&service, &path, "application/json").await;
    let so_far = so_far.expect(200).json();
    let runs = |figure: &Value| figure["runs"].as_u64().unwrap();
    assert!(0 < runs(&so_far) && so_far["runs"] != so_far["runs_planned"]);
    service.post(&format!("{path}/cancel")).await.expect(202);
    let job = service.until_status(&path, "cancelled").await;
    assert!(runs(&job["result"]) >= runs(&so_far));
    assert_eq!(job["parts"]["left"], 0);
    for part in parts(&service, &path).await {
        let status = part["status"].as_str().unwrap();
        assert!(["succeeded", "cancelled"].contains(&status), "{status}");
    }
    let events = service.get(&format!("{path}/events")).await.expect(200);
    let text = events.text();
    let told: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("event: "))
        .collect();
    assert_eq!(told[..2], ["status", "status"]);
    assert_eq!(told.last(), Some(&"result"));
    assert!(told.contains(&"progress"), "{text}");
    let again = service.post(&format!("{path}/cancel")).await;
    assert_eq!(again.expect(200).json()["status"], "cancelled");
}

#[tokio::test]
async fn queued_experiment_is_cancelled_without_a_result() {
    let service = Service::idle(&[]).await;
    let path = service.submit(&sweep(200)).await;
    let empty = figure(&service, &path, "application/json").await;
    assert_eq!(empty.expect(200).json()["runs"], 0);
    assert_eq!(service.delete(&path).await.problem(409), "wrong-state");
    let cancelled = service.post(&format!("{path}/cancel")).await.expect(202);
    let job = cancelled.json();
    assert_eq!(
        (&job["status"], &job["result"]),
        (&json!("cancelled"), &Value::Null)
    );
    for part in parts(&service, &path).await {
        assert_eq!(part["status"], "cancelled");
    }
    service.delete(&path).await.expect(204);
}

#[tokio::test]
async fn the_parts_of_an_experiment_need_room_in_the_queue() {
    let service = Service::idle(&["--jobs-queued-max", "1"]).await;
    let never = service.post_json("/v1/jobs", &sweep(200)).await;
    assert_eq!(never.problem(413), "too-large");
    let service = Service::idle(&["--jobs-queued-max", "60"]).await;
    // The service has no worker.
    for _ in 0..59 {
        service.submit(&short_job()).await;
    }
    let refused = service.post_json("/v1/jobs", &sweep(200)).await;
    assert_eq!(
        refused.header("retry-after").map(str::is_empty),
        Some(false)
    );
    assert_eq!(refused.problem(503), "queue-full");
    let listed = service.get("/v1/jobs").await.expect(200).json();
    let items = listed["items"].as_array().unwrap();
    assert!(items.iter().all(|job| job["task"] == "train"));
}

#[tokio::test]
async fn named_figure_is_run_as_an_experiment() {
    let service = Service::start().await;
    let figures = service.get("/v1/experiments").await.expect(200).json();
    let first = &figures["items"][0];
    assert_eq!(first["name"], "fang-venkatesh-figure-1");
    assert_eq!(first["experiment"]["params"]["runs"], 1_000);
    let path = "/v1/experiments/fang-venkatesh-figure-1";
    let body = json!({"seed": 3, "name": "small", "params": {
        "n": [11], "normalised_batch_sizes": [1.0], "runs": 20}});
    let headers = [
        ("content-type", "application/json"),
        ("prefer", "wait=30"),
        ("idempotency-key", "one"),
    ];
    let send = async || {
        let request = request("POST", path, &headers, body.to_string());
        service.send(request).await.expect(200)
    };
    let job = send().await.json();
    assert_eq!(
        (&job["status"], &job["name"]),
        (&json!("succeeded"), &json!("small"))
    );
    assert_eq!(job["seed"], 3);
    let again = send().await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.json()["id"], job["id"]);
    // The task `experiment` gives the same result.
    let task =
        json!({"experiment": {"name": "mistake-bound-sweep", "seed": 3, "params": body["params"]}});
    assert_eq!(service.run(&task).await["result"], job["result"]);
    let none = service
        .post_json("/v1/experiments/figure-0", &json!({}))
        .await;
    assert_eq!(none.problem(404), "not-found");
    for (params, pointer) in [
        (json!({"runs": "many"}), "/params/runs"),
        (json!({"size": 3}), "/params/size"),
        (json!({"n": [11, 1]}), "/params/n/1"),
    ] {
        let refused = service.post_json(path, &json!({"params": params})).await;
        assert!(refused.status.is_client_error());
        let problem = refused.json();
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
    }
}

#[tokio::test]
async fn experiment_points_at_parameters_out_of_range() {
    let service = Service::idle(&["--parts-seconds-max", "5"]).await;
    let with = |name: &str, params: Value| json!({"experiment": {"name": name, "params": params}});
    let many: Vec<u64> = (1..=1_000).collect();
    for (params, status, code, pointer) in [
        (json!({"runs": 0}), 400, "invalid-parameter", "params/runs"),
        (
            json!({"n": [1], "normalised_batch_sizes": [1.0]}),
            400,
            "invalid-parameter",
            "params/n/0",
        ),
        (json!({"n": []}), 400, "invalid-parameter", "params/n"),
        (
            json!({"batch_sizes": [5, 0]}),
            400,
            "invalid-parameter",
            "params/batch_sizes/1",
        ),
        (
            json!({"learners": ["nobody"]}),
            400,
            "invalid-parameter",
            "params/learners/0",
        ),
        (json!({"n": "eleven"}), 400, "schema", "params/n"),
        (json!({"batches": [5]}), 400, "schema", "params/batches"),
        (
            json!({"n": [11, 21], "batch_sizes": many}),
            422,
            "intractable",
            "params",
        ),
        (
            json!({"n": [101], "runs": 100_000}),
            422,
            "intractable",
            "params",
        ),
    ] {
        let body = with("mistake-bound-sweep", params);
        let refused = service.post_json("/v1/jobs", &body).await;
        assert_eq!(refused.problem(status), code, "{body}");
        let problem = refused.json();
        let pointer = format!("/experiment/{pointer}");
        assert_eq!(problem["errors"][0]["pointer"], *pointer, "{problem}");
        if code == "intractable" {
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("max: "), "{detail}");
        }
    }
    let unknown = service
        .post_json("/v1/jobs", &with("bake-off", json!({})))
        .await;
    assert_eq!(unknown.json()["errors"][0]["pointer"], "/experiment/name");
    assert_eq!(unknown.problem(400), "schema");
    let listed = service.get("/v1/jobs").await.expect(200).json();
    assert_eq!(listed["items"], json!([]));
}

#[tokio::test]
async fn named_figure_needs_no_body() {
    let service = Service::idle(&[]).await;
    let path = "/v1/experiments/cover-figure-1";
    let asked = service.send(request("POST", path, &[], "")).await;
    let job = asked.expect(202).json();
    assert_eq!(job["task"], "experiment");
    let headers = [("content-type", "application/json")];
    let asked = service.send(request("POST", path, &headers, "")).await;
    asked.expect(202);
    let keyed = [("idempotency-key", "once")];
    let [first, again] = [(); 2].map(|()| request("POST", path, &keyed, ""));
    let first = service.send(first).await.expect(202).json();
    assert_eq!(
        service.send(again).await.expect(202).json()["id"],
        first["id"]
    );
    // A body of another media type is an error and does not count as an omitted body.
    let headers = [("content-type", "text/csv")];
    let refused = service.send(request("POST", path, &headers, "1,2")).await;
    assert!(refused.problem(415).contains("media-type"));
    let refused = service.send(request("POST", path, &[], "{}")).await;
    assert_eq!(refused.status, 415);
}
