//! `/v1/constructions`: jobs train on the constructed data, inline and as a dataset.

use serde_json::{Value, json};

use crate::service::{Service, train};

async fn construct(service: &Service, name: &str, body: &Value, status: u16) -> Value {
    let path = format!("/v1/constructions/{name}");
    let answer = service.post_as(&path, "application/json", body.to_string());
    answer.await.expect(status).json()
}

#[tokio::test]
async fn the_kernel_perceptron_errs_on_every_example_of_its_adversary() {
    let service = Service::start().await;
    let mut body = json!({"n": 400, "size": 100, "seed": 5});
    let shown = construct(&service, "kernel-perceptron-adversary", &body, 200).await;
    assert_eq!(shown["examples"], 102);
    assert_eq!(shown["seed"], 5);
    body["store"] = json!(true);
    body["name"] = json!("worst case");
    let stored = construct(&service, "kernel-perceptron-adversary", &body, 201).await;
    let path = format!(
        "/v1/datasets/{}",
        stored["data"]["dataset"].as_str().unwrap()
    );
    let dataset = service.get(&path).await.expect(200).json();
    assert_eq!(dataset["name"], "worst case");
    assert_eq!(dataset["class_examples"][1], 1);
    let learner = json!({"name": "kernel-perceptron",
        "params": {"kernel": {"conjunctions": "monotone"}}});
    for answer in [shown, stored] {
        let mut job = train(learner.clone(), answer["data"].clone());
        job["train"]["stop"] = json!({"max_passes": 1});
        let job = service.run(&job).await;
        assert_eq!(job["result"]["mistakes"], 102);
        assert_eq!(job["result"]["examples"], 102);
        assert_eq!(job["data_sha256"], dataset["sha256"]);
    }
}

#[tokio::test]
async fn training_kernel_winnow_counts_the_assignments_of_a_formula() {
    let service = Service::start().await;
    // The formula `y1 or y2` has three satisfying assignments.
    for (at_least, expected) in [(3, 1), (4, -1)] {
        let body = json!({"variables": 2, "clauses": [[1, 2]], "at_least": at_least,
            "store": true});
        let built = construct(&service, "winnow-counting", &body, 201).await;
        let parameters = &built["parameters"];
        for (name, value) in [("u", 6), ("v", 4), ("w", 9), ("m", 431)] {
            assert_eq!(parameters[name], value, "{name}");
        }
        let learner = json!({"name": "kernel-winnow",
            "params": {"alpha": built["alpha"], "theta": built["theta"],
                "max_active": built["active"]}});
        let mut job = train(learner, built["data"].clone());
        job["train"]["stop"] = json!({"max_passes": 1});
        let result = service.run(&job).await["result"].clone();
        assert_eq!(result["mistakes"], built["examples"], "each is a mistake");
        let path = format!("/v1/models/{}/predict", result["model"].as_str().unwrap());
        let query = json!({"unlabelled": {"examples": [built["query"]]}}).to_string();
        let predicted = service.post_as(&path, "application/json", query).await;
        let predicted = predicted.expect(200).json();
        assert_eq!(
            predicted["predictions"],
            json!([expected]),
            "K = {at_least}"
        );
    }
}

#[tokio::test]
async fn monotone_cnf_has_the_requested_number_of_assignments() {
    let service = Service::start().await;
    let body = json!({"variables": 3, "satisfying": 5});
    let built = construct(&service, "monotone-cnf", &body, 200).await;
    let clauses: Vec<Vec<u32>> = serde_json::from_value(built["clauses"].clone()).unwrap();
    let holds = |assignment: u32| {
        let is_true = |variable: &u32| assignment >> (variable - 1) & 1 == 1;
        clauses.iter().all(|clause| clause.iter().any(is_true))
    };
    assert_eq!((0..8).filter(|&a| holds(a)).count(), 5, "{clauses:?}");
    let text = json!({"variables": 70, "satisfying": "590295810358705651712"});
    let built = construct(&service, "monotone-cnf", &text, 200).await;
    assert_eq!(built["clauses"], json!([[1]]), "half of all assignments");
}

#[tokio::test]
async fn construction_points_at_parameters_out_of_range() {
    let service = Service::start().await;
    let adversary = "kernel-perceptron-adversary";
    let formula = |changes: Value| {
        let mut body = json!({"variables": 2, "clauses": [[1, 2]], "at_least": 1});
        for (name, value) in changes.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    for (name, body, status, code, pointer) in [
        (
            adversary,
            json!({"n": 30, "size": 1}),
            400,
            "out-of-range",
            "/n",
        ),
        (
            adversary,
            json!({"n": 0, "size": 1}),
            400,
            "out-of-range",
            "/n",
        ),
        (
            adversary,
            json!({"n": 400, "size": 0}),
            400,
            "out-of-range",
            "/size",
        ),
        (
            adversary,
            json!({"n": 400, "size": 40_000}),
            400,
            "out-of-range",
            "/size",
        ),
        (adversary, json!({"n": 400}), 400, "schema", ""),
        (
            adversary,
            json!({"n": 100_000, "size": 10_000}),
            422,
            "answer-too-long",
            "/store",
        ),
        (
            "winnow-counting",
            formula(json!({"variables": 9})),
            400,
            "out-of-range",
            "/variables",
        ),
        (
            "winnow-counting",
            formula(json!({"clauses": []})),
            400,
            "out-of-range",
            "/clauses",
        ),
        (
            "winnow-counting",
            formula(json!({"clauses": [[1, 3]]})),
            400,
            "out-of-range",
            "/clauses",
        ),
        (
            "winnow-counting",
            formula(json!({"clauses": [[1]]})),
            400,
            "schema",
            "/clauses/0",
        ),
        (
            "winnow-counting",
            formula(json!({"at_least": 0})),
            400,
            "out-of-range",
            "/at_least",
        ),
        (
            "winnow-counting",
            formula(json!({"at_least": 5})),
            400,
            "out-of-range",
            "/at_least",
        ),
        (
            "winnow-counting",
            formula(json!({"alpha": 1})),
            400,
            "out-of-range",
            "/alpha",
        ),
        (
            "winnow-counting",
            json!({"variables": 8, "clauses": [[1, 2]], "at_least": 1}),
            422,
            "answer-too-long",
            "/store",
        ),
        (
            adversary,
            json!({"n": 1_048_580, "size": 10, "store": true}),
            400,
            "out-of-range",
            "/n",
        ),
        (
            adversary,
            json!([400, 5, null, false, null]),
            400,
            "schema",
            "",
        ),
        (
            "winnow-counting",
            formula(json!({"alpha": 1000})),
            400,
            "out-of-range",
            "/alpha",
        ),
        (
            "winnow-counting",
            formula(json!({"clauses": [[1, 2, 2]]})),
            400,
            "schema",
            "/clauses/0",
        ),
        (
            "monotone-cnf",
            json!({"variables": 3, "satisfying": 8}),
            400,
            "out-of-range",
            "/satisfying",
        ),
        (
            "monotone-cnf",
            json!({"variables": 3, "satisfying": "many"}),
            400,
            "schema",
            "/satisfying",
        ),
    ] {
        let path = format!("/v1/constructions/{name}");
        let answer = service
            .post_as(&path, "application/json", body.to_string())
            .await;
        let problem = answer.json();
        assert_eq!(answer.problem(status), code, "{body}: {problem}");
        assert_eq!(
            problem["errors"][0]["pointer"], pointer,
            "{body}: {problem}"
        );
    }
    let list = service.get("/v1/datasets").await.expect(200).json();
    assert!(list["items"].as_array().unwrap().is_empty());
}
