//! The query of `POST /v1/learners/{name}/train` is the document of `POST /v1/jobs` with dots between nested names:
//! every field gives the same job both ways, and a fault has the same place.

use std::collections::BTreeSet;

use halfspace_core::learners::catalogue::{self, CATALOGUE};
use halfspace_core::learners::engine::parameters::ParameterKind;
use serde_json::{Value, json};

use crate::service::contract::DOCUMENT;
use crate::service::{Answer, SECRET, Service, request};

const JSON: &str = "application/json";

const CALLBACKS: [&str; 2] = ["--callback-secret", SECRET];

/// Pointer to a field in the document of a job.
fn pointer(field: &str) -> String {
    let below = field.replace('.', "/");
    match field.split('.').next() {
        Some("params") => format!("/train/learner/{below}"),
        Some("name" | "callback" | "priority") => format!("/{below}"),
        _ => format!("/train/{below}"),
    }
}

/// The fields that need features with names.
const OF_NAMES: [&str; 2] = ["minimum_count", "discard"];

/// Data for a learner, of a kind that the field needs.
fn data_for(learner: &str, field: &str) -> Value {
    match OF_NAMES.contains(&field) {
        true => json!({"labelled": {"examples": [
            {"x": ["a", "b"], "y": 1}, {"x": ["b", "c"], "y": -1}]}}),
        false => data(learner),
    }
}

fn data(learner: &str) -> Value {
    match learner.starts_with("directed-drift") {
        true => json!({"half_space": {"examples": ["101", "110"], "assume": "uniform-positive"}}),
        false => json!({"labelled": {"assume": "uniform", "examples": [
            {"x": "101", "y": 1}, {"x": "010", "y": -1}, {"x": "110", "y": 1}, {"x": "001", "y": -1}]}}),
    }
}

/// The answers to a training with this field, by the query and by the document.
async fn both(service: &Service, learner: &str, field: &str, value: &Value) -> [Answer; 2] {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(Value::to_string).collect();
            values.join(",")
        }
        value => value.to_string(),
    };
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair(field, &text);
    let mut job =
        json!({"train": {"learner": {"name": learner}, "data": data_for(learner, field)}});
    if field != "seed" {
        query.append_pair("seed", "1");
        job["train"]["seed"] = json!(1);
    }
    let mut place = &mut job;
    for name in pointer(field).split('/').skip(1) {
        place = &mut place[name];
    }
    *place = value.clone();
    let path = format!("/v1/learners/{learner}/train?{}", query.finish());
    let headers = [("content-type", JSON), ("prefer", "wait=0")];
    let body = data_for(learner, field).to_string();
    [
        service.send(request("POST", &path, &headers, body)).await,
        service.post_json("/v1/jobs", &job).await,
    ]
}

/// What two jobs of one request have in common.
async fn asked(service: &Service, answer: &Answer) -> Value {
    let path = format!("/v1/jobs/{}", answer.json()["id"].as_str().unwrap());
    let job = service.get(&path).await.expect(200).json();
    let fields = [
        "task",
        "request",
        "learner",
        "warm_start",
        "seed",
        "name",
        "priority",
        "data_sha256",
    ];
    let same = fields.map(|field| (field, &job[field]));
    json!([same, job["callback"]["url"]])
}

/// The id of a model, which another service has trained.
async fn model(service: &Service) -> Value {
    let other = Service::start().await;
    let (path, body) = ("/v1/learners/perceptron/train?seed=1", data("perceptron"));
    let trained = other.post_json(path, &body).await.expect(200).json();
    let path = format!(
        "/v1/models/{}",
        trained["result"]["model"].as_str().unwrap()
    );
    let file = other.get(&path).await.expect(200).json();
    let imported = service.post_json("/v1/models", &file).await;
    imported.expect(201).json()["id"].take()
}

/// Each field of the document with learners and values, as the query parameters document them.
fn fields() -> Vec<(String, String, Value)> {
    let parameters = &DOCUMENT["paths"]["/v1/learners/{name}/train"]["post"]["parameters"];
    let mut fields = Vec::new();
    for parameter in parameters.as_array().unwrap() {
        let name = parameter["name"].as_str().unwrap();
        if parameter["in"] != "query" {
            continue;
        }
        if let Some(value) = parameter.get("example") {
            fields.push((name.to_owned(), "perceptron".to_owned(), value.clone()));
        }
        for (learner, example) in parameter["examples"].as_object().into_iter().flatten() {
            if catalogue::find(learner).is_some() {
                fields.push((name.to_owned(), learner.clone(), example["value"].clone()));
            }
        }
    }
    fields.retain(|(name, ..)| name != "assume" && name != "warm_start");
    // The parameter is documented as a text, because it is a number or a text depending on the learner.
    for (name, learner, value) in &mut fields {
        let entry = catalogue::find(learner).unwrap();
        let mut known = entry.parameters.iter();
        let known = known.find(|known| name.strip_prefix("params.") == Some(known.name));
        let is_number = known.is_some_and(|known| {
            let kind = &known.kind;
            matches!(
                kind,
                ParameterKind::Weights { .. }
                    | ParameterKind::Count { .. }
                    | ParameterKind::Factor { .. }
            )
        });
        if let Value::String(text) = &value
            && is_number
        {
            *value = serde_json::from_str(text).unwrap();
        }
    }
    let hook = json!("https://example.com/hook");
    fields.push(("callback".to_owned(), "perceptron".to_owned(), hook));
    let texts = ["true", "7"].map(|text| ("name".to_owned(), "winnow".to_owned(), json!(text)));
    fields.extend(texts);
    for (name, value) in OF_NAMES.into_iter().zip([json!(2), json!(0.5)]) {
        fields.push((name.to_owned(), "winnow".to_owned(), value));
    }
    let list = json!([1, 2, 3, 4]);
    fields.push(("params.initial".to_owned(), "perceptron".to_owned(), list));
    fields
}

/// The names of all fields, as the schemas of the document have them.
fn names() -> BTreeSet<String> {
    let schemas = &DOCUMENT["components"]["schemas"];
    let mut names = BTreeSet::new();
    for (schema, above) in [
        ("TrainRequest", ""),
        ("StopSpec", "stop."),
        ("JobRequest", ""),
    ] {
        let properties = schemas[schema]["properties"].as_object().unwrap();
        let values = properties
            .iter()
            .filter(|(_, schema)| schema["$ref"].is_null());
        names.extend(values.map(|(name, _)| format!("{above}{name}")));
    }
    let learners = CATALOGUE.iter().flat_map(|entry| entry.parameters);
    names.extend(learners.map(|parameter| format!("params.{}", parameter.name)));
    names
}

#[tokio::test]
async fn train_query_and_document_give_the_same_job_for_every_field() {
    let service = Service::idle(&CALLBACKS).await;
    let mut fields = fields();
    let model = model(&service).await;
    fields.push(("warm_start".to_owned(), "perceptron".to_owned(), model));
    let tested: BTreeSet<String> = fields.iter().map(|(name, ..)| name.clone()).collect();
    assert_eq!(tested, names());
    for (field, learner, value) in fields {
        let [by_query, by_document] = both(&service, &learner, &field, &value).await;
        let told = format!("{learner} {field}={value}: {}", by_query.text());
        let (by_query, by_document) = (by_query.expect(202), by_document.expect(202));
        let job = asked(&service, &by_query).await;
        assert_eq!(job, asked(&service, &by_document).await, "{told}");
    }
}

#[tokio::test]
async fn train_query_and_document_name_the_same_faulty_field() {
    let service = Service::idle(&CALLBACKS).await;
    let long = "x".repeat(257);
    for (learner, field, value) in [
        ("perceptron", "seed", json!(-1)),
        ("perceptron", "trace", json!(1)),
        ("perceptron", "holdout", json!(2)),
        ("perceptron", "holdout", json!(0.001)),
        ("perceptron", "warm_start", json!("mdl_none")),
        (
            "perceptron",
            "warm_start",
            json!("mdl_018bcfe568017000b333333333333333"),
        ),
        ("perceptron", "name", json!(long)),
        ("perceptron", "callback", json!("http://127.0.0.1/")),
        ("perceptron", "priority", json!(11)),
        ("directed-drift", "stop.confidence", json!(1)),
        ("perceptron", "stop.confidence", json!(0.9)),
        ("winnow", "stop.error", json!(0)),
        ("directed-drift", "stop.rule", json!("never")),
        ("perceptron", "stop.max_passes", json!(0)),
        ("perceptron", "stop.max_passes", json!("many")),
        ("perceptron", "stop.max_mistakes", json!(0.5)),
        ("perceptron", "stop.max_examples", json!(-1)),
        ("perceptron", "stop.max_seconds", json!(0)),
        ("perceptron", "stop.max_seconds", json!(1e9)),
        ("perceptron", "stop.max_pases", json!(1)),
        ("perceptron", "params.eta", json!(0)),
        ("perceptron", "params.order", json!("upwards")),
        ("perceptron", "params.initial", json!([1, 2])),
        ("perceptron", "params.etta", json!(1)),
        ("winnow", "params.alpha", json!(1)),
        ("kernel-perceptron", "params.kernel.max_literals", json!(0)),
        ("kernel-perceptron", "params.kernel.degree", json!(2)),
        ("perceptron", "wait", json!(1)),
    ] {
        let [by_query, by_document] = both(&service, learner, field, &value).await;
        let told = format!(
            "{field}={value}: {} {}",
            by_query.text(),
            by_document.text()
        );
        assert!(by_query.status.is_client_error(), "{told}");
        assert!(by_document.status.is_client_error(), "{told}");
        assert_eq!(by_query.json()["errors"][0]["parameter"], field, "{told}");
        let place = &by_document.json()["errors"][0]["pointer"];
        assert_eq!(*place, *pointer(field), "{told}");
    }
}

/// Faults of the whole document and of its fields are told in the words of the client.
#[tokio::test]
async fn malformed_job_document_is_refused_with_its_fault() {
    let service = Service::idle(&[]).await;
    let train = |member: Value| {
        let mut train = json!({"learner": {"name": "perceptron"}, "data": data("perceptron")});
        let (name, value) = (member[0].as_str().unwrap(), member[1].clone());
        train[name] = value;
        json!({ "train": train })
    };
    let two = json!({"train": train(json!(["seed", 1]))["train"], "compare": {}});
    let no_data = json!({"train": {"learner": {"name": "perceptron"}}});
    for (job, pointer, detail) in [
        (json!({}), "", "A job must have exactly one task."),
        (two, "", "A job must have exactly one task."),
        (
            no_data,
            "/train",
            "/train: The value does not match the schema: the member `data` is missing",
        ),
        (
            train(json!(["sed", 1])),
            "/train/sed",
            "/train/sed: The value does not match the schema: the member `sed` is unknown \
             (did you mean `seed`?)",
        ),
        (
            train(json!(["among", {"trainings": 2}])),
            "/train/among",
            "/train/among: The value does not match the schema: the member `among` is unknown",
        ),
    ] {
        let answer = service.post_json("/v1/jobs", &job).await;
        assert_eq!(answer.problem(400), "schema", "{job}");
        let problem = answer.json();
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
        let found = problem["detail"].as_str().unwrap();
        assert!(found.starts_with(detail), "{found}");
    }
}

#[tokio::test]
async fn train_query_keeps_decimals_as_written() {
    let service = Service::idle(&[]).await;
    let headers = [("content-type", JSON), ("prefer", "wait=0")];
    for (written, kept) in [
        ("1.7", json!("1.7")),
        ("1.5", json!(1.5)),
        ("1.70000000000000001", json!("1.70000000000000001")),
    ] {
        let path = format!("/v1/learners/winnow/train?seed=1&params.alpha={written}");
        let body = data("winnow").to_string();
        let by_query = service.send(request("POST", &path, &headers, body)).await;
        let job = format!(
            r#"{{"train": {{"learner": {{"name": "winnow", "params": {{"alpha": {written}}}}},
                "data": {}, "seed": 1}}}}"#,
            data("winnow")
        );
        let job = service
            .send(request("POST", "/v1/jobs", &headers, job))
            .await;
        for answer in [by_query, job] {
            let params = answer.expect(202).json()["learner"]["params"].take();
            assert_eq!(params, json!({"alpha": kept}));
        }
    }
}

#[tokio::test]
async fn train_query_error_names_the_full_path_of_a_parameter() {
    let service = Service::idle(&[]).await;
    for (learner, name, whole) in [
        ("perceptron", "max_passes", "stop.max_passes"),
        ("perceptron", "confidence", "stop.confidence"),
        ("perceptron", "eta", "params.eta"),
        ("perceptron", "etta", "params.eta"),
        (
            "kernel-perceptron",
            "kernel.conjunctions",
            "params.kernel.conjunctions",
        ),
        ("perceptron", "train.stop.max_passes", "stop.max_passes"),
        ("perceptron", "lables", "labels"),
    ] {
        let path = format!("/v1/learners/{learner}/train?{name}=1");
        let answer = service.post_json(&path, &data(learner)).await;
        assert_eq!(answer.problem(400), "invalid-parameter", "{name}");
        let error = &answer.json()["errors"][0];
        assert_eq!(error["parameter"], name);
        let detail = error["detail"].as_str().unwrap();
        assert!(
            detail.contains(&format!("(did you mean `{whole}`?)")),
            "{detail}"
        );
    }
}
