//! `/v1/jobs`: submit, list, read, wait, cancel, delete.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::service::{Service, endless, long_job, request, short_job, train};

#[tokio::test]
async fn a_job_is_accepted_then_found_at_its_location() {
    let service = Service::start().await;
    let answer = service
        .post_json("/v1/jobs", &short_job())
        .await
        .expect(202);
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(answer.header("preference-applied"), None);
    let location = answer.header("location").unwrap().to_owned();
    assert_eq!(location, format!("/v1/jobs/{}", answer.id()));
    let job = service.until_status(&location, "succeeded").await;
    assert_eq!(job["result"]["termination"]["reason"], "converged");
    assert_eq!(
        job["result"]["training"],
        json!({"errors": 0, "examples": 5})
    );
    assert_eq!(job["attempt"], 1);
    assert!(job["error"].is_null());
    for time in ["created_at", "started_at", "finished_at"] {
        assert!(job[time].as_str().unwrap().ends_with('Z'), "{time}");
    }
}

#[tokio::test]
async fn a_job_waited_for_is_answered_with_its_result() {
    let service = Service::start().await;
    let headers = [("content-type", "application/json"), ("prefer", "wait=30")];
    let body = short_job().to_string();
    let answer = service
        .send(request("POST", "/v1/jobs", &headers, body))
        .await
        .expect(200);
    assert_eq!(answer.header("preference-applied"), Some("wait=30"));
    assert_eq!(answer.header("retry-after"), None);
    let job = answer.json();
    assert_eq!(job["status"], "succeeded");
    let path = answer.header("location").unwrap();
    assert_eq!(service.get(path).await.expect(200).json(), job);
}

#[tokio::test]
async fn job_answers_202_after_its_wait_and_goes_on() {
    let service = Service::start().await;
    let headers = [("content-type", "application/json"), ("prefer", "wait=1")];
    let body = long_job(1).to_string();
    let answer = service
        .send(request("POST", "/v1/jobs", &headers, body))
        .await
        .expect(202);
    assert_eq!(answer.json()["status"], "running");
    assert_eq!(answer.header("preference-applied"), None);
    let path = answer.header("location").unwrap();
    assert_eq!(
        service.get(path).await.expect(200).json()["status"],
        "running"
    );
}

#[tokio::test]
async fn get_job_can_wait_for_its_end() {
    let service = Service::start().await;
    let path = service.submit(&short_job()).await;
    let answer = service
        .send(request("GET", &path, &[("prefer", "wait=30")], ""))
        .await;
    assert_eq!(answer.header("preference-applied"), Some("wait=30"));
    assert_eq!(answer.expect(200).json()["status"], "succeeded");
}

#[tokio::test]
async fn job_shows_its_name_seed_and_parameters() {
    let service = Service::start().await;
    let mut body = train(
        json!({"name": "directed-drift-sync", "params": {"batch_size": 64}}),
        endless(31),
    );
    body["name"] = json!("a name, Größe 1");
    body["train"]["seed"] = json!(9_007_199_254_740_991_u64);
    let job = service.run(&body).await;
    assert_eq!(job["task"], "train");
    assert_eq!(job["name"], body["name"]);
    assert_eq!(job["learner"], body["train"]["learner"]);
    assert_eq!(job["seed"], body["train"]["seed"]);
    assert!(job["data_sha256"].is_null());
    let result = &job["result"];
    assert_eq!(result["termination"]["reason"], "confident");
    assert_eq!(result["termination"]["confidence"], 0.99);
    assert_eq!(result["target"], json!({"recovered": true, "distance": 0}));
}

#[tokio::test]
async fn job_list_is_paged_newest_first_without_gap_or_duplicate() {
    let service = Service::idle(&[]).await;
    let mut submitted = Vec::new();
    for _ in 0..7 {
        submitted.push(service.submit(&short_job()).await);
    }
    submitted.reverse();
    let mut listed = Vec::new();
    let mut path = "/v1/jobs?limit=3".to_owned();
    let mut sizes = Vec::new();
    loop {
        let page = service.get(&path).await.expect(200).json();
        sizes.push(page["items"].as_array().unwrap().len());
        for job in page["items"].as_array().unwrap() {
            listed.push(format!("/v1/jobs/{}", job["id"].as_str().unwrap()));
        }
        // A job that is submitted meanwhile is newer than the cursor, so no later page lists it.
        service.submit(&short_job()).await;
        let Some(cursor) = page["next_cursor"].as_str() else {
            break;
        };
        path = format!("/v1/jobs?limit=3&cursor={cursor}");
    }
    assert_eq!(listed, submitted);
    assert_eq!(sizes, [3, 3, 1]);
}

#[tokio::test]
async fn job_list_page_holds_twenty_by_default() {
    let service = Service::idle(&[]).await;
    for _ in 0..21 {
        service.submit(&short_job()).await;
    }
    let count = async |path: &str| {
        let page = service.get(path).await.expect(200).json();
        page["items"].as_array().unwrap().len()
    };
    assert_eq!(count("/v1/jobs").await, 20);
    assert_eq!(count("/v1/jobs?limit=100").await, 21);
}

#[tokio::test]
async fn job_list_is_filtered_by_status_task_and_learner() {
    let service = Service::start().await;
    let ended = service.run(&short_job()).await;
    let drift = train(json!({"name": "directed-drift-async"}), endless(21));
    let drift = service.run(&drift).await;
    let running = service.submit(&long_job(1)).await;
    service.until_status(&running, "running").await;
    let ids = async |query: &str| -> Vec<Value> {
        let page = service
            .get(&format!("/v1/jobs?{query}"))
            .await
            .expect(200)
            .json();
        let items = page["items"].as_array().unwrap();
        items.iter().map(|job| job["id"].clone()).collect()
    };
    assert_eq!(ids("status=running").await.len(), 1);
    assert_eq!(ids("learner=perceptron").await, [ended["id"].clone()]);
    assert_eq!(
        ids("status=succeeded").await,
        [drift["id"].clone(), ended["id"].clone()]
    );
    assert_eq!(
        ids("status=succeeded&learner=directed-drift-async").await,
        [drift["id"].clone()]
    );
    assert_eq!(ids("task=train").await.len(), 3);
    assert!(ids("task=other").await.is_empty());
    assert!(ids("status=failed").await.is_empty());
}

#[tokio::test]
async fn a_running_job_is_cancelled_and_keeps_what_it_learnt() {
    let service = Service::start().await;
    let path = service.submit(&long_job(3)).await;
    service.until_status(&path, "running").await;
    let cancel = format!("{path}/cancel");
    service.post(&cancel).await.expect(202);
    let job = service.until_status(&path, "cancelled").await;
    assert_eq!(job["result"]["termination"]["reason"], "cancelled");
    let model = job["result"]["model"].as_str().unwrap();
    service
        .get(&format!("/v1/models/{model}"))
        .await
        .expect(200);
    service.post(&cancel).await.expect(200);
}

#[tokio::test]
async fn an_ended_job_is_final() {
    let service = Service::start().await;
    let job = service.run(&short_job()).await;
    let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    let cancel = service.post(&format!("{path}/cancel")).await;
    assert_eq!(cancel.problem(409), "wrong-state");
    assert_eq!(service.get(&path).await.expect(200).json(), job);
}

#[tokio::test]
async fn a_queued_job_is_cancelled_without_a_result() {
    let service = Service::idle(&[]).await;
    let path = service.submit(&short_job()).await;
    let job = service
        .post(&format!("{path}/cancel"))
        .await
        .expect(202)
        .json();
    assert_eq!(job["status"], "cancelled");
    assert!(job["result"].is_null());
    assert!(job["started_at"].is_null());
}

#[tokio::test]
async fn a_job_is_deleted_only_when_it_has_ended_and_its_model_stays() {
    let service = Service::start().await;
    let running = service.submit(&long_job(4)).await;
    service.until_status(&running, "running").await;
    assert_eq!(service.delete(&running).await.problem(409), "wrong-state");
    let job = service.run(&short_job()).await;
    let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    service.delete(&path).await.expect(204);
    assert_eq!(service.delete(&path).await.problem(404), "not-found");
    for below in ["", "/events", "/trace"] {
        let answer = service.get(&format!("{path}{below}")).await;
        assert_eq!(answer.problem(404), "not-found", "{below}");
    }
    assert_eq!(
        service.post(&format!("{path}/cancel")).await.problem(404),
        "not-found"
    );
    let model = job["result"]["model"].as_str().unwrap();
    service
        .get(&format!("/v1/models/{model}"))
        .await
        .expect(200);
}

#[tokio::test]
async fn concurrent_cancels_of_a_job_are_accepted_once() {
    let service = Service::start().await;
    let path = service.submit(&long_job(5)).await;
    service.until_status(&path, "running").await;
    let cancel = format!("{path}/cancel");
    let (one, other) = tokio::join!(service.post(&cancel), service.post(&cancel));
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 202]);
    service.until_status(&path, "cancelled").await;
}

#[tokio::test]
async fn the_queue_is_bounded_and_a_full_one_still_cancels_and_deletes() {
    let service = Service::idle(&["--jobs-queued-max", "2"]).await;
    let first = service.submit(&short_job()).await;
    service.submit(&short_job()).await;
    let answer = service.post_json("/v1/jobs", &short_job()).await;
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(answer.problem(503), "queue-full");
    service.post(&format!("{first}/cancel")).await.expect(202);
    service.delete(&first).await.expect(204);
    service.submit(&short_job()).await;
}

#[tokio::test]
async fn jobs_sent_at_once_all_end_with_the_result_of_one_alone() {
    let service = Service::start().await;
    let alone = service.run(&short_job()).await;
    let jobs = futures_util::future::join_all((0..12).map(|index| {
        let service = &service;
        async move {
            if index % 2 == 0 {
                return service.run(&short_job()).await;
            }
            let path = service.submit(&short_job()).await;
            service.until_status(&path, "succeeded").await
        }
    }));
    let jobs = jobs.await;
    for job in &jobs {
        assert_eq!(job["result"]["hypothesis"], alone["result"]["hypothesis"]);
        assert_eq!(job["data_sha256"], alone["data_sha256"]);
    }
    let ids: HashSet<String> = jobs.iter().map(|job| job["id"].to_string()).collect();
    assert_eq!(ids.len(), jobs.len());
}

#[tokio::test]
async fn malformed_job_id_is_not_found() {
    let service = Service::start().await;
    let model = "mdl_01a1f8857c607000abcd36b85fbaafef";
    for id in ["x", "job_", "job_01a1f8857c5d7cb8ab751e5f15d8876d", model] {
        let answer = service.get(&format!("/v1/jobs/{id}")).await;
        assert_eq!(answer.problem(404), "not-found", "{id}");
    }
}

#[tokio::test]
async fn unknown_query_parameters_are_refused() {
    let service = Service::start().await;
    let answer = service
        .post_as("/v1/jobs?seed=1", "application/json", "{}")
        .await;
    assert_eq!(answer.problem(400), "invalid-parameter");
    for path in [
        "/v1/limits?x=1",
        "/v1/learners?x=1",
        "/v1/learners/pocket?x",
    ] {
        assert_eq!(service.get(path).await.problem(400), "invalid-parameter");
    }
}

#[tokio::test]
async fn job_can_be_repeated_by_its_request() {
    let service = Service::start().await;
    let rows = "1,0,1,1\n0,1,1,-1\n".repeat(20);
    let dataset = service
        .send(request(
            "POST",
            "/v1/datasets?labels=last&header=false",
            &[("content-type", "text/csv")],
            rows,
        ))
        .await
        .expect(201)
        .id()
        .to_owned();
    let stored = json!({"dataset": dataset});
    let generated = json!({"generated": {"n": 7, "target": {"disjunction": {"size": 2}},
        "sampling": "uniform", "count": 50}});
    let training = json!({"learner": {"name": "winnow", "params": {"alpha": 1.5}}, "data": stored, "holdout": 0.2,
        "trace": true, "stop": {"max_passes": 3}, "seed": 5});
    let plain = json!({"learner": {"name": "winnow"}, "data": stored, "seed": 5});
    let requests = [
        json!({"train": training, "name": "again", "priority": 2}),
        json!({"train": {"learner": {"name": "perceptron"}, "data": generated}}),
        json!({"separability": {"data": stored}}),
        json!({"maximum_margin": {"data": stored, "bias": false}}),
        json!({"grid": {"train": plain, "over": {"learner.params.alpha": [1.5, 2]}}}),
        json!({"compare": {"data": stored, "folds": 2, "seed": 3,
            "learners": [{"name": "winnow", "params": {}}, {"name": "perceptron", "params": {}}]}}),
        json!({"experiment": {"name": "false-stop-rate",
            "params": {"n": [3], "deltas": [0.5], "runs": 10}, "seed": 1}}),
    ];
    for body in requests {
        let headers = [("content-type", "application/json"), ("prefer", "wait=30")];
        let send = async |body: &Value| {
            let sent = request("POST", "/v1/jobs", &headers, body.to_string());
            service.send(sent).await.expect(200).json()
        };
        let first = send(&body).await;
        let again = send(&first["request"]).await;
        assert_eq!(first["request"], again["request"], "{body}");
        assert_eq!(first["seed"], again["seed"]);
        let task = first["task"].as_str().unwrap();
        for (name, value) in body[task].as_object().unwrap() {
            if !value.is_object() {
                assert_eq!(first["request"][task][name], *value, "{body}");
            }
        }
        let counts = |job: &Value| job["result"]["mistakes"].clone();
        assert_eq!(counts(&first), counts(&again));
    }
    let inline = service.post_json("/v1/jobs", &short_job()).await.json();
    assert!(inline["request"]["train"]["learner"].is_object());
    assert!(inline["request"]["train"].get("data").is_none());
}

#[tokio::test]
async fn job_list_leaves_out_long_parts_of_results() {
    let service = Service::start().await;
    let headers = [("content-type", "application/json"), ("prefer", "wait=30")];
    let sent = request("POST", "/v1/jobs", &headers, short_job().to_string());
    let job = service.send(sent).await.expect(200).json();
    assert!(job["result"]["hypothesis"].is_object());
    let listed = service.get("/v1/jobs").await.expect(200).json()["items"][0].clone();
    assert!(listed["result"]["hypothesis"].is_null() && listed["request"].is_null());
    assert_eq!(listed["result"]["mistakes"], job["result"]["mistakes"]);
}
