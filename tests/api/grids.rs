//! Grids: a job with one training per combination of the listed values.

use serde_json::{Value, json};

use crate::service::{Service, short_job, until};

fn grid(over: Value) -> Value {
    let train = short_job()["train"].clone();
    json!({"grid": {"train": train, "over": over}})
}

#[tokio::test]
async fn a_grid_trains_over_the_product_of_its_lists() {
    let service = Service::start().await;
    let over = json!({"learner.params.order": ["cyclic", "shuffled"], "seed": [1, 2, 3]});
    let job = service.run(&grid(over)).await;
    assert_eq!(
        (&job["status"], &job["task"]),
        (&json!("succeeded"), &json!("grid"))
    );
    let trainings = job["result"]["trainings"].as_array().unwrap();
    assert_eq!(trainings.len(), 6);
    let over = json!({"learner.params.order": "shuffled", "seed": 1});
    assert_eq!(trainings[3]["over"], over);
    for training in trainings {
        assert_eq!(training["training"], json!({"errors": 0, "examples": 5}));
        assert_eq!(training["reason"], "converged");
    }
    assert!(
        trainings[0]["mistakes"].as_u64()
            >= job["result"]["best"]
                .as_u64()
                .and_then(|best| { trainings[best as usize]["mistakes"].as_u64() })
    );
    // A training of the grid has the result of the same single training, except for the model.
    let path = format!("/v1/jobs/{}", trainings[3]["job"].as_str().unwrap());
    let part = service.get(&path).await.expect(200).json();
    let mut alone = short_job();
    alone["train"]["learner"]["params"] = json!({"order": "shuffled"});
    alone["train"]["seed"] = json!(1);
    let alone = service.run(&alone).await;
    for field in ["hypothesis", "mistakes", "updates", "examples", "training"] {
        assert_eq!(part["result"][field], alone["result"][field], "{field}");
    }
    assert_eq!((&part["seed"], &part["task"]), (&json!(1), &json!("train")));
    assert!(part["result"]["model"].is_null());
    assert_eq!(part["data_sha256"], alone["data_sha256"]);
    // The job stored its data once and has deleted them.
    let blobs = service.directory().join("blobs/jobs");
    until("the data to be gone", async || {
        let left = std::fs::read_dir(&blobs).map_or(0, |entries| entries.count());
        (left == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn job_list_leaves_out_the_long_result_of_a_grid() {
    let service = Service::start().await;
    let mut results = Vec::new();
    for seeds in [2, 400] {
        let seeds: Vec<u64> = (0..seeds).collect();
        let job = service.run(&grid(json!({"seed": seeds}))).await;
        results.push(job["result"].clone());
    }
    let page = service.get("/v1/jobs").await.expect(200).json();
    assert!(results[1].to_string().len() > 64 * 1024);
    assert_eq!(page["items"][0]["result"], Value::Null);
    assert_eq!(page["items"][0]["status"], "succeeded");
    assert_eq!(page["items"][1]["result"], results[0]);
}

#[tokio::test]
async fn grid_pins_its_dataset_until_it_ends() {
    let service = Service::idle(&[]).await;
    let body = json!({"data": short_job()["train"]["data"]});
    let dataset = service.post_json("/v1/datasets", &body).await;
    let dataset = dataset.expect(201).json()["id"].clone();
    let mut grid = grid(json!({"stop.max_passes": [1, 20], "holdout": [0.2, 0.4]}));
    grid["grid"]["train"]["data"] = json!({"dataset": dataset});
    let path = service.submit(&grid).await;
    let dataset = format!("/v1/datasets/{}", dataset.as_str().unwrap());
    assert_eq!(service.delete(&dataset).await.problem(409), "wrong-state");
    service.compute();
    let job = service.until_status(&path, "succeeded").await;
    let trainings = job["result"]["trainings"].as_array().unwrap();
    assert_eq!(trainings[0]["holdout"]["examples"], 1);
    assert_eq!(trainings[3]["holdout"]["examples"], 2);
    service.delete(&dataset).await.expect(204);
}

#[tokio::test]
async fn a_grid_that_cannot_run_is_refused_at_its_place() {
    let service = Service::idle(&[]).await;
    let many: Vec<u64> = (0..10_001).collect();
    let fields = (0..33).map(|field| (format!("learner.params.p{field}"), json!([1])));
    let fields = Value::Object(fields.collect());
    // Each of the trainings would be stored with the long name.
    let long = json!({"learner.name": ["x".repeat(1 << 20)], "seed": many[..100]});
    for (over, pointer, code) in [
        (json!({}), "", "invalid-parameter"),
        (json!({"seed": []}), "/seed", "invalid-parameter"),
        (json!({"seed": 5}), "/seed", "schema"),
        (json!({"seed": [1, -1]}), "/seed/1", "invalid-parameter"),
        (json!({"seed": many}), "", "invalid-parameter"),
        (fields, "", "invalid-parameter"),
        (long, "", "invalid-parameter"),
        (json!({"data": [1]}), "/data/0", "invalid-parameter"),
        (
            json!({"learner.params.order": ["cyclic", "upwards"]}),
            "/learner.params.order/1",
            "invalid-parameter",
        ),
        (
            json!({"learner.params.alpha": [3]}),
            "/learner.params.alpha/0",
            "invalid-parameter",
        ),
        (
            json!({"seed": [1, 2], "learner.name": ["perceptron", "nobody"]}),
            "/learner.name/1",
            "unknown-learner",
        ),
        (
            json!({"stop.max_seconds": [1, 1e9]}),
            "/stop.max_seconds/1",
            "out-of-range",
        ),
        (json!({"seed": [4, 4]}), "/seed/1", "invalid-parameter"),
    ] {
        let refused = service.post_json("/v1/jobs", &grid(over.clone())).await;
        assert!(refused.status.is_client_error(), "{over}");
        let problem = refused.json();
        assert_eq!(problem["code"], code, "{problem}");
        let pointer = format!("/grid/over{pointer}");
        assert_eq!(problem["errors"][0]["pointer"], *pointer, "{problem}");
    }
    for (field, value) in [
        ("trace", json!(true)),
        ("warm_start", json!("mdl_018bcfe568017000b333333333333333")),
    ] {
        let mut body = grid(json!({"seed": [1]}));
        body["grid"]["train"][field] = value;
        let refused = service.post_json("/v1/jobs", &body).await;
        let pointer = format!("/grid/train/{field}");
        assert_eq!(refused.json()["errors"][0]["pointer"], *pointer);
    }
    // The weights of the target would be stored with each training too.
    let mut wide = grid(json!({"seed": many[..100]}));
    let target = json!({"binary_weights": {"weights": "1".repeat(700_000)}});
    wide["grid"]["train"]["data"] = json!({"generated":
        {"n": 700_000, "target": target, "sampling": "uniform", "count": 5}});
    let refused = service.post_json("/v1/jobs", &wide).await.json();
    assert_eq!(refused["code"], "invalid-parameter", "{refused}");
    assert_eq!(refused["errors"][0]["pointer"], "/grid/over", "{refused}");
    let listed = service.get("/v1/jobs").await.expect(200).json();
    assert_eq!(listed["items"], json!([]));
}

/// A training counts with what its own limits allow.
#[tokio::test]
async fn a_grid_of_more_seconds_than_parts_seconds_max_is_refused() {
    let service = Service::idle(&[]).await;
    let generated =
        json!({"generated": {"n": 501, "target": {"binary_weights": {}}, "sampling": "uniform"}});
    let endless = |over: Value| {
        let train = json!({"learner": {"name": "perceptron"}, "data": generated, "seed": 1});
        json!({"grid": {"train": train, "over": over}})
    };
    let seeds: Vec<u64> = (1..=10_000).collect();
    let over = [
        json!({"seed": seeds, "stop.max_seconds": [86_400]}),
        json!({"seed": seeds[..2], "stop.max_seconds": [86_400, 1]}),
        json!({"stop.max_seconds": [86_400, 2], "learner.params.order": ["cyclic"]}),
        json!({"seed": seeds, "stop.max_examples": [2_000_000_000_u64]}),
    ];
    for over in over {
        let refused = service.post_json("/v1/jobs", &endless(over.clone())).await;
        let problem = refused.json();
        assert_eq!(refused.problem(422), "intractable", "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("parts_seconds_max: 86400"), "{detail}");
        assert!(detail.contains("max_seconds"), "{detail}");
        assert_eq!(problem["errors"][0]["pointer"], "/grid", "{problem}");
    }
    for over in [
        json!({"seed": seeds, "stop.max_seconds": [8.6]}),
        json!({"seed": seeds[..100], "stop.max_seconds": [86_400], "stop.max_examples": [1000]}),
    ] {
        service
            .post_json("/v1/jobs", &endless(over))
            .await
            .expect(202);
    }
}
