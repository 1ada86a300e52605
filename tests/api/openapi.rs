//! The OpenAPI document: the committed file equals the served one, it declares all errors, and its schemas refuse
//! invalid requests.

use std::collections::HashSet;

use halfspace::records::Page;
use halfspace::records::id::JobKind;
use halfspace::records::schedule::SECONDS_DEFAULT;
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
async fn job_fixtures_are_accepted_and_match_the_schema() {
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
        let path = format!("/v1/learners/{learner}/train?stop.max_passes=1");
        service.post_json(&path, data).await.expect(200);
    }
}

/// Both the schema and the service refuse these requests. Without this test a schema that accepts
/// everything would pass.
#[tokio::test]
async fn request_that_the_schema_refuses_is_refused_by_the_service() {
    let service = Service::start().await;
    let good = &fixtures()[0];
    let spoils: [(&str, Value); 8] = [
        ("/train/learner/name", json!("perceptrom")),
        ("/train/learner/params", json!({"colour": 1})),
        ("/train/stop", json!({"confidence": 1})),
        ("/train/stop", json!({"max_passes": 0})),
        ("/train/seed", json!(-1)),
        ("/train/colour", json!(1)),
        ("/train/data", json!({"half_space": {"examples": []}})),
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

/// A choice of one property is an object with optional properties, because clients of a `oneOf` send `{}`.
#[tokio::test]
async fn choice_of_one_property_refuses_zero_or_two() {
    let schemas = &DOCUMENT["components"]["schemas"];
    let service = Service::start().await;
    let data = json!({"labelled": {"examples": [{"x": "1", "y": 1}]}});
    let train = json!({"learner": {"name": "perceptron"}, "data": data});
    let job = json!({"train": train, "separability": {"data": data}});
    let both = json!({"labelled": {"examples": [{"x": "1", "y": 1}]}, "dataset": "ds_1"});
    for (choice, others, path, bodies) in [
        ("JobRequest", 3, "/v1/jobs", [json!({}), job]),
        (
            "Data",
            0,
            "/v1/learners/perceptron/train",
            [json!({}), both],
        ),
    ] {
        let schema = &schemas[choice];
        assert!(schema.get("oneOf").is_none() && schema.get("required").is_none());
        if others == 0 {
            assert_eq!([&schema["minProperties"], &schema["maxProperties"]], [1, 1]);
        }
        let names = schema["properties"].as_object().unwrap().keys();
        let names = names.filter(|name| !["callback", "name", "priority"].contains(&name.as_str()));
        let names: Vec<_> = names.collect();
        assert_eq!(
            names.len() + others,
            schema["properties"].as_object().unwrap().len()
        );
        for body in bodies {
            let answer = service.post_json(path, &body).await;
            assert_eq!(answer.problem(400), "schema", "{body}");
            let detail = answer.json()["detail"].as_str().unwrap().to_owned();
            assert!(
                names.iter().all(|name| detail.contains(name.as_str())),
                "{detail}"
            );
        }
    }
}

/// Generated clients decode exactly these shapes: see `tests/clients`.
#[test]
fn openapi_unions_are_tagged_nullable_or_of_distinct_json_types() {
    fn visit(value: &Value, place: &str, tagged: &mut usize) {
        let fields = match value {
            Value::Object(fields) => fields,
            Value::Array(items) => return items.iter().for_each(|item| visit(item, place, tagged)),
            _ => return,
        };
        for keyword in ["anyOf", "const"] {
            assert!(!fields.contains_key(keyword), "{place}: {keyword}");
        }
        if let Some(Value::Array(types)) = fields.get("type") {
            assert!(types.len() == 2 && types[1] == "null", "{place}: {types:?}");
        }
        if let Some(Value::Array(values)) = fields.get("enum") {
            assert!(values.iter().all(Value::is_string), "{place}: {values:?}");
        }
        if let Some(Value::Array(variants)) = fields.get("oneOf") {
            let is_nullable =
                variants[0]["$ref"].is_string() && variants[1] == json!({"type": "null"});
            if let Some(discriminator) = fields.get("discriminator") {
                assert_tagged(variants, discriminator);
                *tagged += 1;
            } else if !(is_nullable && variants.len() == 2) {
                let mut types: Vec<_> = variants.iter().map(|one| one["type"].as_str()).collect();
                types.sort_unstable();
                types.dedup();
                let differ = types.len() == variants.len() && types[0].is_some();
                assert!(
                    differ && place.starts_with("/components/"),
                    "{place}: {variants:?}"
                );
            }
        }
        for (name, field) in fields {
            let is_value = name.starts_with("example") && !place.ends_with("/properties");
            if !is_value {
                visit(field, &format!("{place}/{name}"), tagged);
            }
        }
    }
    let mut tagged = 0;
    visit(&DOCUMENT, "", &mut tagged);
    assert_eq!(tagged, 8);
}

/// Each variant is a component with a required tag of one value, which the mapping leads to the component.
#[track_caller]
fn assert_tagged(variants: &[Value], discriminator: &Value) {
    let tag = discriminator["propertyName"].as_str().unwrap();
    let mapping = discriminator["mapping"].as_object().unwrap();
    let references = variants.iter().map(|variant| &variant["$ref"]);
    assert!(references.eq(mapping.values()), "{discriminator}");
    for (value, reference) in mapping {
        let pointer = reference.as_str().unwrap().strip_prefix('#').unwrap();
        let variant = DOCUMENT.pointer(pointer).unwrap();
        let parts = variant["allOf"].as_array();
        let own = parts.and_then(|parts| parts.last()).unwrap_or(variant);
        assert_eq!(
            own["properties"][tag]["enum"],
            json!([value]),
            "{reference}"
        );
        let required = own["required"].as_array().unwrap();
        assert!(required.contains(&json!(tag)), "{reference}");
    }
}

/// Descriptions state two defaults, each of which has one constant.
#[test]
fn openapi_descriptions_state_the_defaults_in_force() {
    fn visit(name: &str, value: &Value, seconds: &mut usize) {
        let description = value["description"].as_str().unwrap_or_default();
        if name == "max_seconds" && description.contains("when absent") {
            let stated = format!("{SECONDS_DEFAULT} when absent");
            assert!(description.contains(&stated), "{description}");
            *seconds += 1;
        }
        if let Some(members) = value.as_object() {
            members
                .iter()
                .for_each(|(name, value)| visit(name, value, seconds));
        }
    }
    let mut seconds = 0;
    visit("", &DOCUMENT["components"], &mut seconds);
    assert!(seconds >= 5, "{seconds} places");
    let lists = DOCUMENT["paths"]["/v1/jobs"]["get"]["parameters"]
        .as_array()
        .unwrap();
    let limit = lists
        .iter()
        .find(|parameter| parameter["name"] == "limit")
        .unwrap();
    let stated = format!("{} when absent", Page::<JobKind>::LIMIT_DEFAULT);
    assert!(
        limit["description"].as_str().unwrap().contains(&stated),
        "{limit}"
    );
}

#[test]
fn committed_openapi_document_is_the_served_one() {
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
fn openapi_operations_declare_their_errors_as_problems() {
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
const VERBS: [&str; 23] = [
    "analyse",
    "bound",
    "cancel",
    "check",
    "construct",
    "count",
    "create",
    "delete",
    "draw",
    "encode",
    "evaluate",
    "explain",
    "follow",
    "get",
    "import",
    "infer",
    "learn",
    "list",
    "predict",
    "preview",
    "run",
    "save",
    "train",
];

#[test]
fn openapi_operation_ids_are_unique_and_of_verb_and_noun() {
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
fn openapi_references_all_resolve() {
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
