//! Every example of the OpenAPI document works: the service answers a request made of examples with a declared
//! success.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use halfspace_core::learners::catalogue::CATALOGUE;
use serde_json::{Map, Value, json};

use crate::service::contract::{DOCUMENT, assert_valid};
use crate::service::{Answer, Object, Service, SourceServer, long_job, request};

/// The end of each id in the examples. The prefix tells the kind of thing.
const EXAMPLE_ID: &str = "0198c1a5e0f77b3c9d2e4f5061728394";

/// Parameters without examples: two values from an earlier answer, and one that needs a configured service.
const WITHOUT_EXAMPLE: [&str; 7] = [
    "cursor",
    "encoding",
    "callback",
    "class",
    // This says the same as `positive`, which has an example.
    "label_threshold",
    // These need features with names.
    "minimum_count",
    "discard",
];

const JSON: &str = "application/json";

/// A request made of examples.
struct Example<'d> {
    operation: &'d Value,
    /// Media type, name of the example and value.
    body: Option<(&'d str, &'d str, &'d Value)>,
    /// Name of the parameter examples: a media type, a learner, or nothing.
    set: &'d str,
    /// The one optional parameter of the request.
    optional: Option<&'d str>,
}

/// The examples of a media type or parameter under their names. A single example has an empty name.
fn examples(part: &Value) -> Vec<(&str, &Value)> {
    let named = part["examples"].as_object().into_iter().flatten();
    let named = named.map(|(name, example)| (name.as_str(), &example["value"]));
    let single = part.get("example").map(|value| ("", value));
    single.into_iter().chain(named).collect()
}

fn parameters(operation: &Value) -> impl Iterator<Item = &Value> {
    operation["parameters"].as_array().into_iter().flatten()
}

/// All requests that the examples of an operation make.
fn requests(operation: &Value) -> Vec<Example<'_>> {
    let content = operation["requestBody"]["content"].as_object();
    let mut bodies = Vec::new();
    for (media_type, content) in content.into_iter().flatten() {
        let of_type = examples(content);
        assert!(
            !of_type.is_empty(),
            "{} {media_type}",
            operation["operationId"]
        );
        let of_type = of_type.into_iter();
        bodies.extend(of_type.map(|(name, value)| (media_type.as_str(), name, value)));
    }
    let json_body = bodies.iter().find(|body| body.0 == JSON).copied();
    let plain = |body| Example {
        operation,
        body,
        set: "",
        optional: None,
    };
    let mut requests: Vec<Example> = match bodies.is_empty() {
        true => vec![plain(None)],
        false => bodies.iter().map(|&body| plain(Some(body))).collect(),
    };
    for example in &mut requests {
        example.set = example.body.map_or("", |body| body.0);
    }
    let mut learners = Vec::new();
    for parameter in parameters(operation) {
        let name = parameter["name"].as_str().unwrap();
        let of_parameter = examples(parameter);
        let is_bare = WITHOUT_EXAMPLE.contains(&name);
        assert_eq!(of_parameter.is_empty(), is_bare, "{operation:#}: {name}");
        for (set, _) in of_parameter {
            let mut example = plain(json_body);
            if set.is_empty() && parameter["required"] != true {
                example.optional = Some(name);
                requests.push(example);
            } else if !set.is_empty() && !set.contains('/') && !learners.contains(&set) {
                learners.push(set);
                example.set = set;
                requests.push(example);
            }
        }
    }
    requests
}

impl Example<'_> {
    fn id(&self) -> &str {
        self.operation["operationId"].as_str().unwrap()
    }

    /// The value of a parameter in this request.
    fn value(&self, parameter: &Value) -> Option<String> {
        let is_wanted = |set: &str| match set {
            "" => parameter["required"] == true || self.optional == parameter["name"].as_str(),
            set => set == self.set,
        };
        let found = examples(parameter);
        let (_, value) = found.into_iter().find(|(set, _)| is_wanted(set))?;
        let is_learner = parameter["in"] == "path" && parameter["name"] == "name";
        Some(match value {
            // A set of parameters for a learner goes to that learner.
            Value::String(_) if is_learner && !self.set.is_empty() && !self.set.contains('/') => {
                self.set.to_owned()
            }
            Value::String(text) => text.clone(),
            value => value.to_string(),
        })
    }

    async fn send(&self, service: &Service, method: &str, path: &str) -> Answer {
        let (mut path, mut query) = (path.to_owned(), Vec::new());
        let mut headers = Vec::new();
        for parameter in parameters(self.operation) {
            let name = parameter["name"].as_str().unwrap();
            let Some(value) = self.value(parameter) else {
                continue;
            };
            let value = self.with_things(service, value).await;
            match parameter["in"].as_str().unwrap() {
                "path" => path = path.replace(&format!("{{{name}}}"), &value),
                "query" => query.push(format!("{name}={value}")),
                _ => headers.push((name, value)),
            }
        }
        let mut body = Vec::new();
        if let Some(("multipart/form-data", _, value)) = self.body {
            let form = value["file"].as_str().unwrap();
            let head = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.csv\"";
            body = format!("{head}\r\n\r\n{form}\r\n--b--\r\n").into_bytes();
            headers.push(("content-type", "multipart/form-data; boundary=b".to_owned()));
        } else if let Some((media_type, name, value)) = self.body {
            headers.push(("content-type", media_type.to_owned()));
            body = match value {
                Value::String(text) if name == "base64" => BASE64_STANDARD.decode(text).unwrap(),
                Value::String(text) => text.clone().into(),
                value => self.with_things(service, value.to_string()).await.into(),
            };
        }
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (*name, &**value))
            .collect();
        service
            .send(request(&method.to_uppercase(), &path, &headers, body))
            .await
    }

    /// Makes the things that the text names by example ids, and replaces the ids.
    async fn with_things(&self, service: &Service, mut text: String) -> String {
        for prefix in ["job_", "mdl_", "ds_", "ses_"] {
            let example = format!("{prefix}{EXAMPLE_ID}");
            if text.contains(&example) {
                let id = self.make(service, prefix).await;
                text = text.replace(&example, &id);
            }
        }
        text
    }

    async fn make(&self, service: &Service, prefix: &str) -> String {
        let is_named = self
            .body
            .is_some_and(|(media_type, ..)| media_type == "text/x-vw");
        let [first, second] = match is_named {
            true => [json!(["a", "b"]), json!(["c"])],
            false => [json!("110"), json!("001")],
        };
        let data = json!({"labelled": {"examples": [{"x": first, "y": 1}, {"x": second, "y": 0}]}});
        let train = json!({"train": {"learner": {"name": "perceptron"}, "data": data,
            "trace": true}});
        let cover = json!({"experiment": {"name": "separable-fraction",
            "params": {"dimensions": [3], "points_per_dimension": [1.0], "runs": 5}}});
        let made = match (prefix, self.id()) {
            ("job_", "cancel_job") => service
                .post_json("/v1/jobs", &long_job(1))
                .await
                .expect(202),
            ("job_", "get_job_figure") => return text_of(&service.run(&cover).await["id"]),
            ("job_", _) => return text_of(&service.run(&train).await["id"]),
            ("mdl_", _) => return text_of(&service.run(&train).await["result"]["model"]),
            ("ds_", "encode_dataset") => {
                let names: Vec<String> = (1..12).map(|at| format!("x{at}")).collect();
                let bits = |bit: &str| [bit; 11].join(",");
                let table = format!("{},y\n{},1\n{},0\n", names.join(","), bits("1"), bits("0"));
                let dataset = service.post_as("/v1/datasets", "text/csv", table);
                dataset.await.expect(201)
            }
            ("ds_", _) => {
                let dataset = service
                    .post_json("/v1/datasets", &json!({"data": data}))
                    .await;
                dataset.expect(201)
            }
            _ => {
                let learner = json!({"name": "perceptron"});
                let session = match is_named {
                    true => json!({"learner": learner, "vocabulary": "open"}),
                    false => json!({"learner": learner, "n": 3}),
                };
                service
                    .post_json("/v1/sessions", &session)
                    .await
                    .expect(201)
            }
        };
        text_of(&made.json()["id"])
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A job that a request submitted succeeds.
async fn assert_succeeds(service: &Service, answer: &Answer) {
    let location = answer.header("location").unwrap();
    service.until_status(location, "succeeded").await;
}

/// One service per operation, so that an idempotency key is new in each operation. The client compares every
/// exchange with the declared responses: see `contract`.
#[tokio::test]
async fn openapi_examples_are_all_answered_with_success() {
    let mut sent = 0;
    let mut failed = Vec::new();
    let lake = SourceServer::start().await;
    let table = Object::bytes("a,b,c,y\n1,1,0,1\n1,0,1,1\n0,0,1,0\n0,1,0,0\n");
    lake.put("lake/tables/majority.csv", table);
    let settings = lake.settings("s3://lake/tables/");
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let settings = [settings.as_slice(), &["--workers", "2"]].concat();
    for (path, item) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let service = Service::with(&settings).await;
            for example in requests(operation) {
                let answer = example.send(&service, method, path).await;
                sent += 1;
                let id = example.id();
                if !answer.status.is_success() {
                    let (set, optional) = (example.set, example.optional);
                    let said = answer.text();
                    failed.push(format!("{id} {set} {optional:?}: {said}"));
                } else if matches!(id, "create_job" | "train_learner" | "run_figure") {
                    assert_succeeds(&service, &answer).await;
                }
                assert_headers(id, &answer);
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(sent > 150, "{sent}");
}

/// Each parameter of each learner is a query parameter of a training.
#[test]
fn openapi_training_lists_the_parameters_of_all_learners() {
    let train = &DOCUMENT["paths"]["/v1/learners/{name}/train"]["post"];
    let mut documented = 0;
    for entry in CATALOGUE {
        for known in entry.parameters {
            let mut found =
                parameters(train).filter(|found| found["name"] == format!("params.{}", known.name));
            let parameter = found.next().expect(known.name);
            assert!(found.next().is_none(), "{} stands there twice", known.name);
            let text = parameter["description"].as_str().unwrap();
            assert!(text.contains(&format!("`{}`", entry.name)), "{text}");
            documented += 1;
        }
    }
    assert!(documented > 30, "{documented}");
}

/// Each example of a parameter fits the schema of the parameter.
#[test]
fn examples_of_parameters_fit_their_schemas() {
    for (path, item) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for (parameter, index) in parameters(operation).zip(0..) {
                let path = path.replace('/', "~1");
                let pointer = format!("/paths/{path}/{method}/parameters/{index}/schema");
                for (_, value) in examples(parameter) {
                    assert_valid(&pointer, value);
                }
            }
        }
    }
}

/// Answers have the headers that the document declares for their status.
fn assert_headers(id: &str, answer: &Answer) {
    let wanted: &[&str] = match answer.status.as_u16() {
        201 => &["location"],
        202 => &["location", "retry-after"],
        _ => &[],
    };
    for name in wanted {
        assert!(answer.header(name).is_some(), "{id} has no {name}");
    }
}

/// The document declares the headers of created and accepted things, and its links lead to operations that
/// have the parameters of the link.
#[test]
fn openapi_links_lead_to_operations() {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let operations = paths
        .values()
        .flat_map(|item| item.as_object().unwrap().values());
    let operations: Map<String, Value> = operations
        .map(|operation| (text_of(&operation["operationId"]), operation.clone()))
        .collect();
    let mut links = 0;
    for (id, operation) in &operations {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let is_declared = |name: &str| response["headers"][name].is_object();
            let is_made = status == "201" || status == "202";
            assert!(!is_made || is_declared("Location"), "{id} {status}");
            assert!(status != "202" || is_declared("Retry-After"), "{id}");
            let of_response = response["links"].as_object();
            assert!(!is_made || of_response.is_some(), "{id} {status}");
            for link in of_response.into_iter().flat_map(Map::values) {
                links += 1;
                let target = &operations[link["operationId"].as_str().unwrap()];
                let has =
                    |name: &String| parameters(target).any(|parameter| parameter["name"] == *name);
                assert!(
                    link["parameters"].as_object().unwrap().keys().all(has),
                    "{id}: {link}"
                );
            }
        }
    }
    assert!(links > 20, "{links}");
}
