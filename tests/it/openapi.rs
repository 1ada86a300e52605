//! The OpenAPI document: the committed file equals the served one. The document declares all errors, and its
//! schemas refuse invalid requests.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::service::contract::{DOCUMENT, is_valid};
use crate::service::{Service, program, short_job};

/// Request bodies that the service accepts. Each uses a different form, learner or field.
fn fixtures() -> Vec<Value> {
    let half_space = json!({"half_space": {"examples": ["10110", "01111"]}});
    let labelled = json!({"labelled": {"examples": [{"x": "10", "y": 1}, {"x": "01", "y": 0}]}});
    let real =
        json!({"labelled": {"examples": [{"x": [0.5, -1.25], "y": 1}, {"x": [0, 1e-3], "y": -1}]}});
    let signed =
        json!({"half_space": {"examples": [[-1, 1, 1], [1, 1, -1]], "assume": "reflected"}});
    let packed = json!({"packed": {"n": 3, "rows": "oEDgIA=="}});
    let packed_labels = json!({"packed": {"n": 3, "rows": "BQIHBA==", "labels": "BQ==",
        "bit_order": "little", "assume": "uniform"}});
    let weights = json!({"binary_weights": {"weights": "10110"}});
    let generated = |plan: Value| json!({"generated": plan});
    let fresh =
        generated(json!({"n": 5, "target": {"binary_weights": {}}, "sampling": "reflected"}));
    let noisy = generated(
        json!({"n": 5, "target": weights, "sampling": "uniform", "count": 50,
        "noise": 0.1, "density": 0.25}),
    );
    let job = |learner: Value, data: &Value| json!({"train": {"learner": learner, "data": data}});
    let drift = json!({"name": "directed-drift"});
    let perceptron = json!({"name": "perceptron"});
    let stops = json!({"confidence": 0.9, "rule": "per-hypothesis", "max_passes": 1,
        "max_mistakes": 10, "max_examples": 100, "max_seconds": 9.5});
    let mut full = job(
        json!({"name": "directed-drift-async",
        "params": {"batch_size": 3, "initial": "00000"}}),
        &fresh,
    );
    full["name"] = json!("everything");
    full["train"]["seed"] = json!(0);
    full["train"]["trace"] = json!(true);
    full["train"]["stop"] = stops;
    let mut nulls = job(perceptron.clone(), &labelled);
    nulls["name"] = Value::Null;
    nulls["train"]["seed"] = Value::Null;
    nulls["train"]["stop"] = json!({"confidence": null, "rule": null, "max_passes": null});
    vec![
        job(drift.clone(), &half_space),
        job(drift.clone(), &labelled),
        job(drift, &packed),
        job(
            json!({"name": "directed-drift-sync", "params": {"batch_size": 8}}),
            &fresh,
        ),
        job(json!({"name": "directed-drift-async"}), &signed),
        full,
        job(perceptron.clone(), &labelled),
        job(perceptron.clone(), &packed_labels),
        job(perceptron, &real),
        nulls,
        job(
            json!({"name": "perceptron", "params": {"order": "random", "bias": false, "eta": 0.5,
            "initial": [1, -1], "reading": "unsigned"}}),
            &labelled,
        ),
        job(
            json!({"name": "perceptron", "params": {"order": "shuffled", "initial": 2}}),
            &noisy,
        ),
        job(json!({"name": "pocket", "params": {"eta": 2}}), &noisy),
        short_job(),
    ]
}

/// The client compares every exchange with the served schema: see `contract`.
#[tokio::test]
async fn every_fixture_is_accepted_and_valid() {
    let service = Service::start().await;
    for body in fixtures() {
        let job = service.run(&body).await;
        assert_eq!(job["status"], "succeeded", "{body}");
        let data = &body["train"]["data"];
        if data.get("generated").is_none() {
            let model = job["result"]["model"].as_str().unwrap();
            let path = format!("/v1/models/{model}/predict");
            let mut examples = data.clone();
            for form in examples.as_object_mut().unwrap().values_mut() {
                form.as_object_mut().unwrap().remove("assume");
            }
            service.post_json(&path, &examples).await.expect(200);
        }
        let learner = body["train"]["learner"]["name"].as_str().unwrap();
        let path = format!("/v1/learners/{learner}/train?max_passes=1");
        service.post_json(&path, data).await.expect(200);
    }
}

/// Both the schema and the service refuse these requests. Without this test a schema that accepts
/// everything would pass.
#[tokio::test]
async fn what_the_schema_refuses_the_service_refuses() {
    let service = Service::start().await;
    let good = &fixtures()[0];
    let spoils: [(&str, Value); 9] = [
        ("/train/learner/name", json!("perceptrom")),
        ("/train/learner/params", json!({"colour": 1})),
        ("/train/stop", json!({"confidence": 1})),
        ("/train/stop", json!({"max_passes": 0})),
        ("/train/seed", json!(-1)),
        ("/train/colour", json!(1)),
        ("/train/data", json!({"half_space": {"examples": []}})),
        ("/train/data", json!({"half_space": {"examples": ["12"]}})),
        (
            "/train/data",
            json!({"half_space": {"examples": ["1"]}, "unlabelled": {"examples": ["1"]}}),
        ),
    ];
    for (pointer, value) in spoils {
        let mut body = good.clone();
        let (above, name) = pointer.rsplit_once('/').unwrap();
        body.pointer_mut(above).unwrap()[name] = value;
        assert!(!is_valid("/components/schemas/JobRequest", &body), "{body}");
        let answer = service.post_json("/v1/jobs", &body).await;
        assert!(answer.status.is_client_error(), "{body}");
    }
}

#[test]
fn the_committed_document_is_the_served_one() {
    let committed = include_str!("../../openapi/openapi.json");
    assert!(
        committed == halfspace::http::document(),
        "openapi/openapi.json is old: halfspace openapi > openapi/openapi.json"
    );
    let printed = program().arg("openapi").output().unwrap();
    assert!(printed.status.success());
    assert!(committed.as_bytes() == printed.stdout);
}

#[test]
fn every_operation_declares_its_errors_as_problems() {
    assert!(DOCUMENT["openapi"].as_str().unwrap().starts_with("3.1"));
    let mut operations = 0;
    for (path, item) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            operations += 1;
            let responses = operation["responses"].as_object().unwrap();
            let errors = || {
                responses
                    .iter()
                    .filter(|(status, _)| status.as_str() >= "400")
            };
            for (status, response) in errors() {
                let schema = &response["content"]["application/problem+json"]["schema"]["$ref"];
                assert_eq!(
                    schema, "#/components/schemas/Problem",
                    "{method} {path} {status}"
                );
            }
            assert!(
                errors().any(|(status, _)| status.starts_with('4')),
                "{method} {path}"
            );
            assert!(
                errors().any(|(status, _)| status.starts_with('5')),
                "{method} {path}"
            );
            let described = |name: &str| {
                operation[name]
                    .as_str()
                    .is_some_and(|text| !text.is_empty())
            };
            assert!(
                described("summary") && described("description") && described("operationId"),
                "{method} {path}"
            );
        }
    }
    assert!(operations >= 20);
}

/// The words that an operation id may begin with.
const VERBS: [&str; 19] = [
    "analyse",
    "bound",
    "cancel",
    "check",
    "construct",
    "count",
    "create",
    "delete",
    "evaluate",
    "follow",
    "get",
    "import",
    "infer",
    "learn",
    "list",
    "predict",
    "run",
    "save",
    "train",
];

#[test]
fn every_operation_has_its_own_id_of_a_verb_and_a_noun() {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let operations = paths
        .values()
        .flat_map(|path| path.as_object().unwrap().values());
    let mut ids = HashSet::new();
    for operation in operations {
        let id = operation["operationId"].as_str().unwrap();
        let (verb, noun) = id.split_once('_').unwrap_or((id, ""));
        assert!(VERBS.contains(&verb) && !noun.is_empty(), "{id}");
        assert!(ids.insert(id), "{id} names two operations");
    }
}

#[test]
fn every_reference_of_the_document_leads_somewhere() {
    fn visit(value: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    let pointer = reference.strip_prefix('#').unwrap();
                    assert!(DOCUMENT.pointer(pointer).is_some(), "{reference}");
                }
                fields.values().for_each(visit);
            }
            Value::Array(items) => items.iter().for_each(visit),
            _ => {}
        }
    }
    visit(&DOCUMENT);
}
