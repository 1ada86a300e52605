//! API keys: the routes that need a key, and records that only their owner's key can reach.

use halfspace::config::NewKey;
use halfspace::records::schedule::Weight;
use serde_json::{Value, json};

use crate::service::contract::DOCUMENT;
use crate::service::{Answer, Service, request, short_job};

/// A key without its own limits.
pub fn named(name: &str) -> NewKey {
    NewKey {
        name: name.to_owned(),
        jobs: None,
        bytes: None,
        sessions: None,
        weight: Weight::default(),
        adopt_anonymous: false,
    }
}

/// A client with or without a secret.
pub struct Caller<'a> {
    pub service: &'a Service,
    pub authorization: Option<String>,
}

impl<'a> Caller<'a> {
    pub async fn new(service: &'a Service, new: NewKey) -> Self {
        let (_, secret) = service.key(new).await;
        Self {
            service,
            authorization: Some(format!("Bearer {secret}")),
        }
    }

    pub async fn send(&self, method: &str, path: &str, media_type: &str, body: &str) -> Answer {
        let mut headers = vec![("prefer", "wait=30")];
        if !body.is_empty() {
            headers.push(("content-type", media_type));
        }
        if let Some(authorization) = &self.authorization {
            headers.push(("authorization", authorization));
        }
        let request = request(method, path, &headers, body.to_owned());
        self.service.send(request).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", "").await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, "application/json", &body.to_string())
            .await
    }
}

/// Every operation below `/v1` and `/v2`: its method and the template of its path.
fn operations() -> Vec<(&'static str, &'static str)> {
    let mut operations = Vec::new();
    for (path, methods) in DOCUMENT["paths"].as_object().unwrap() {
        if path.starts_with("/v1/") || path == "/v2" || path.starts_with("/v2/") {
            for method in methods.as_object().unwrap().keys() {
                operations.push((method.as_str(), path.as_str()));
            }
        }
    }
    assert!(operations.len() > 30, "{operations:?}");
    // Deletions come last, so that the other operations find the records.
    operations.sort_by_key(|&(method, _)| method == "delete");
    operations
}

/// A valid body for each operation on one record, with its media type.
fn body_for(method: &str, template: &str) -> (&'static str, &'static str) {
    const JSON: &str = "application/json";
    let labelled = r#"{"labelled": {"examples": [{"x": "110", "y": 1}]}}"#;
    match (method, template) {
        ("post", path) if path.ends_with("/infer") => (
            JSON,
            r#"{"inputs": [{"name": "x", "shape": [1, 3], "datatype": "BOOL", "data": [1, 0, 1]}]}"#,
        ),
        ("post", path) if path.ends_with("/predict") => {
            (JSON, r#"{"unlabelled": {"examples": ["101"]}}"#)
        }
        ("post", "/v1/sessions/{id}/examples" | "/v1/models/{id}/evaluate") => (JSON, labelled),
        _ => (JSON, ""),
    }
}

/// One record of each kind.
struct Things {
    job: String,
    model: String,
    dataset: String,
    session: String,
    experiment: String,
}

impl Things {
    async fn made_by(caller: &Caller<'_>) -> Self {
        let mut asked = short_job();
        asked["train"]["trace"] = json!(true);
        let job = caller.post("/v1/jobs", &asked).await.expect(200).json();
        let data = json!({"data": {"half_space": {"examples": ["101", "111"]}}});
        let dataset = caller.post("/v1/datasets", &data).await.expect(201);
        let session = json!({"learner": {"name": "perceptron"}, "n": 3});
        let session = caller.post("/v1/sessions", &session).await.expect(201);
        let experiment = json!({"experiment": {"name": "mistake-bound-sweep",
            "params": {"n": [3], "learners": ["directed-drift"], "runs": 1}}});
        let experiment = caller.post("/v1/jobs", &experiment).await.expect(200);
        Self {
            job: job["id"].as_str().unwrap().to_owned(),
            model: job["result"]["model"].as_str().unwrap().to_owned(),
            dataset: dataset.id(),
            session: session.id(),
            experiment: experiment.id(),
        }
    }

    fn ids(&self) -> [&str; 5] {
        [
            &self.job,
            &self.model,
            &self.dataset,
            &self.session,
            &self.experiment,
        ]
    }

    /// The path of a record, or `None` where the path names no record of a key.
    fn path(&self, template: &str) -> Option<String> {
        let id = match template.split('/').nth(2)? {
            "jobs" if template.ends_with("/figure") => &self.experiment,
            "jobs" => &self.job,
            "models" => &self.model,
            "datasets" => &self.dataset,
            "sessions" => &self.session,
            _ => return None,
        };
        let path = template.replace("{id}", id).replace("{version}", "1");
        let query = match template.ends_with("/code") {
            true => "?language=python",
            false => "",
        };
        (path != template).then(|| path + query)
    }

    /// The documents of all records as the caller sees them.
    async fn seen_by(&self, caller: &Caller<'_>) -> Vec<Value> {
        let mut seen = Vec::new();
        for (kind, id) in ["jobs", "models", "datasets", "sessions", "jobs"]
            .iter()
            .zip(self.ids())
        {
            let path = format!("/v1/{kind}/{id}");
            seen.push(caller.get(&path).await.expect(200).json());
        }
        seen
    }
}

#[tokio::test]
async fn key_sees_no_resource_of_another_key_on_any_route() {
    let service = Service::start().await;
    let a = Caller::new(&service, named("a")).await;
    let b = Caller::new(&service, named("b")).await;
    let things = Things::made_by(&a).await;
    let before = things.seen_by(&a).await;
    let mut of_things = 0;
    for (method, template) in operations() {
        let Some(path) = things.path(template) else {
            // The route names no record, or lists the caller's own records.
            if method == "get" && !template.contains('{') {
                let answer = b.get(template).await;
                let text = answer.text();
                let shown = things.ids().iter().any(|id| text.contains(id));
                assert!(!shown, "{template}: {text}");
                if let Some(items) = answer.json()["items"].as_array()
                    && ![
                        "/v1/learners",
                        "/v1/experiments",
                        "/v1/samples",
                        "/v1/workers",
                    ]
                    .contains(&template)
                {
                    assert!(items.is_empty(), "{template}: {items:?}");
                }
            }
            continue;
        };
        let (media_type, body) = body_for(method, template);
        let answer = b
            .send(&method.to_uppercase(), &path, media_type, body)
            .await;
        assert_eq!(answer.problem(404), "not-found", "{method} {template}");
        of_things += 1;
    }
    assert!(of_things >= 20, "{of_things}");
    assert_eq!(things.seen_by(&a).await, before);
    // A body cannot name a record of another key either.
    let (dataset, model) = (&things.dataset, &things.model);
    let on_dataset = json!({"train": {"learner": {"name": "perceptron"},
        "data": {"dataset": dataset}}});
    let refused = b.post("/v1/jobs", &on_dataset).await;
    assert_eq!(refused.problem(422), "unknown-dataset");
    let from_model = json!({"evaluate": {"model": model,
        "data": {"half_space": {"examples": ["101"]}}}});
    let refused = b.post("/v1/jobs", &from_model).await;
    assert_eq!(refused.problem(422), "unknown-model");
    // The owner's requests reach the records, so the refused requests were valid.
    for (method, template) in operations() {
        if let Some(path) = things.path(template) {
            let (media_type, body) = body_for(method, template);
            let answer = a
                .send(&method.to_uppercase(), &path, media_type, body)
                .await;
            assert_ne!(answer.status, 404, "{method} {template}");
            assert_ne!(answer.status, 401, "{method} {template}");
        }
    }
}

#[tokio::test]
async fn two_keys_may_use_one_idempotency_key() {
    let service = Service::start().await;
    let mut ids = Vec::new();
    for name in ["a", "b"] {
        let caller = Caller::new(&service, named(name)).await;
        let authorization = caller.authorization.unwrap();
        for _ in 0..2 {
            let headers = [
                ("content-type", "application/json"),
                ("idempotency-key", "the-same"),
                ("authorization", authorization.as_str()),
            ];
            let body = r#"{"learner": {"name": "perceptron"}, "n": 3}"#;
            let request = request("POST", "/v1/sessions", &headers, body);
            ids.push(service.send(request).await.expect(201).id());
        }
    }
    assert_eq!(ids[0], ids[1]);
    assert_eq!(ids[2], ids[3]);
    assert_ne!(ids[0], ids[2]);
}

#[tokio::test]
async fn request_without_a_valid_key_is_refused_on_every_route() {
    let service = Service::start().await;
    let a = Caller::new(&service, named("a")).await;
    let secret = a.authorization.clone().unwrap();
    let changed = format!("{}x", &secret[..secret.len() - 1]);
    for authorization in [None, Some("Basic YTpi".to_owned()), Some(changed)] {
        let caller = Caller {
            service: &service,
            authorization,
        };
        for (method, template) in operations() {
            let path = template.replace("{version}", "1");
            let answer = caller.send(&method.to_uppercase(), &path, "", "").await;
            assert_eq!(answer.problem(401), "unauthorized", "{method} {template}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
        // A request without a key learns nothing about unknown paths either.
        let answer = caller.get("/v1/nothing").await;
        assert_eq!(answer.problem(401), "unauthorized");
        for path in ["/livez", "/readyz", "/version", "/metrics", "/openapi.json"] {
            caller.get(path).await.expect(200);
        }
        caller.get("/problems/unauthorized").await.expect(200);
        caller.get("/docs/").await.expect(200);
    }
    a.get("/v1/jobs").await.expect(200);
}

#[tokio::test]
async fn openapi_document_states_where_a_key_is_needed() {
    for (path, methods) in DOCUMENT["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            let is_ours = path.starts_with("/v1") || path.starts_with("/v2");
            let no_key = (!is_ours).then(|| json!([]));
            assert_eq!(operation.get("security"), no_key.as_ref(), "{path}");
            let responses = &operation["responses"];
            assert_eq!(responses["401"].is_object(), is_ours, "{path}");
            assert!(responses["403"].is_object(), "{path}");
        }
    }
    assert_eq!(DOCUMENT["security"], json!([{}, {"bearer": []}]));
    let scheme = &DOCUMENT["components"]["securitySchemes"]["bearer"];
    assert_eq!(scheme["scheme"], "bearer");
}

#[tokio::test]
async fn anonymous_resources_belong_to_the_key_that_adopts_them() {
    let service = Service::start().await;
    let job = service.run(&short_job()).await;
    let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    let first = Caller::new(&service, named("first")).await;
    let heir = NewKey {
        adopt_anonymous: true,
        ..named("heir")
    };
    let heir = Caller::new(&service, heir).await;
    // The process may cache for a moment that the service is open.
    crate::service::until("the service to need a key", async || {
        (service.get("/v1/jobs").await.status == 401).then_some(())
    })
    .await;
    assert_eq!(first.get(&path).await.problem(404), "not-found");
    assert_eq!(heir.get(&path).await.expect(200).json()["id"], job["id"]);
}
