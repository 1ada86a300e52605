//! Every refusal says how to mend the request: a real request, here or in another test, provokes each code of the
//! table, and the detail names the parameter, header, route, setting or change that helps.

use std::io::Error;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use super::keys::named;
use super::problems::codes;
use crate::service::{Answer, Service, SourceServer, long_job, request, short_job, train};

const CSV: &str = "text/csv";
const JSON: &str = "application/json";
const LIBSVM: &str = "text/x-libsvm";
const NDJSON: &str = "application/x-ndjson";
const TRAIN: &str = "/v1/learners/perceptron/train?stop.max_passes=1";
const DATASETS: &str = "/v1/datasets";
const TABLE: &str = "a,class\n0,x\n1,y\n";

/// Codes that need another process, a full disk or a long time. Each stands with a text of the test that
/// provokes it.
const ELSEWHERE: [(&str, &str, &str); 10] = [
    (
        "data-corrupt",
        "data-corrupt",
        include_str!("../store/damage.rs"),
    ),
    (
        "internal",
        "internal",
        include_str!("../faults/alerts/requests.rs"),
    ),
    ("no-memory", "no-memory", include_str!("memory.rs")),
    (
        "session-busy",
        "sixteen_writers",
        include_str!("sessions.rs"),
    ),
    ("storage-full", "storage-full", include_str!("uploads.rs")),
    ("timeout", "timeout", include_str!("sessions.rs")),
    (
        "too-many-at-once",
        "too-many-at-once",
        include_str!("permits.rs"),
    ),
    (
        "too-many-connections",
        "half of connections_max",
        include_str!("../faults/tenants.rs"),
    ),
    (
        "unavailable",
        "unavailable",
        include_str!("../store/blobs/store_away.rs"),
    ),
    (
        "stalled",
        "liveness_tells_a_stall",
        include_str!("../../src/http/operations/mod.rs"),
    ),
];

/// Further faults with the code of another one, so that each detail names its remedy.
const FURTHER: [(&str, &str); 17] = [
    ("wrong-shape", "rows of two lengths"),
    ("bad-value", "no bit"),
    ("bad-value", "no base64"),
    ("bad-label", "two codings"),
    ("bad-label", "a line without"),
    ("bad-index", "no order"),
    ("schema", "a form without a file"),
    ("syntax", "no gzip"),
    ("unsupported-media-type", "another coding"),
    ("wrong-state", "a dataset in use"),
    ("wrong-state", "an ended session"),
    ("quota-full", "sessions"),
    ("inexpressible", "a receipt"),
    ("inexpressible", "a program"),
    ("intractable", "the time of an answer"),
    ("bad-callback", "no secret"),
    ("bad-source", "no such object"),
];

/// Whether a detail names what mends the request: something in code, a route, a setting, or a change to make.
fn names_a_remedy(detail: &str) -> bool {
    const NAMES: [&str; 8] = [
        "`",
        "--",
        "GET /",
        "POST /",
        "_max",
        "Retry-After",
        "Content-Type",
        "Accept",
    ];
    const CHANGES: [&str; 25] = [
        "send", "use", "write", "remove", "rename", "say", "name", "add", "delete", "cancel",
        "wait", "retry", "give", "export", "omit", "set", "raise", "declare", "must", "are:",
        "train", "request", "convert", "supports", "upload",
    ];
    let mut words =
        detail.split(|character: char| !(character.is_alphanumeric() || character == ':'));
    NAMES.iter().any(|name| detail.contains(name))
        || words.any(|word| CHANGES.contains(&word.to_lowercase().as_str()))
}

/// A job over labelled examples, with some members replaced.
fn job(learner: &str, more: Value) -> Value {
    let data = json!({"labelled": {"examples": [{"x": "10", "y": 1}, {"x": "01", "y": -1}]}});
    let mut job = train(json!({"name": learner}), data);
    for (name, value) in more.as_object().unwrap() {
        job["train"][name] = value.clone();
    }
    job
}

/// The file of a model of a small table, and the path of the model.
async fn model(service: &Service) -> (Value, String) {
    let trained = service
        .post_as(&format!("{TRAIN}&seed=1"), CSV, TABLE)
        .await;
    let id = trained.expect(200).json()["result"]["model"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/v1/models/{id}");
    (service.get(&path).await.expect(200).json(), path)
}

/// The answer to a body of data.
async fn data(media_type: &str, body: impl Into<Body>) -> Answer {
    let service = Service::start().await;
    service.post_as(DATASETS, media_type, body).await
}

async fn submitted(job: Value) -> Answer {
    Service::idle(&[]).await.post_json("/v1/jobs", &job).await
}

async fn with_headers(path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
    let service = Service::start().await;
    service.send(request("POST", path, headers, body)).await
}

/// Changes a member of the file of a model, and imports the file.
async fn imported(name: &str, value: Value) -> Answer {
    let service = Service::start().await;
    let (mut file, _) = model(&service).await;
    file[name] = value;
    service.post_json("/v1/models", &file).await
}

/// The answer of a session after some examples.
async fn session(asked: Value, headers: &[(&str, &str)]) -> Answer {
    let service = Service::start().await;
    let opened = service
        .post_json("/v1/sessions", &asked)
        .await
        .expect(201)
        .json();
    let path = format!("/v1/sessions/{}/examples", opened["id"].as_str().unwrap());
    let examples = json!({"labelled": {"examples": [{"x": "101", "y": 1}, {"x": "111", "y": 1}]}});
    let headers = [&[("content-type", JSON)], headers].concat();
    service
        .send(request("POST", &path, &headers, examples.to_string()))
        .await
}

/// Two requests under one Idempotency-Key, with a deletion between them if `deletes`.
async fn repeated(second: &str, deletes: bool) -> Answer {
    let service = Service::start().await;
    let headers = [("content-type", CSV), ("idempotency-key", "k")];
    let send = async |body: &str| {
        let body = body.to_owned();
        service
            .send(request("POST", DATASETS, &headers, body))
            .await
    };
    let id = send(TABLE).await.expect(201).id();
    if deletes {
        service
            .delete(&format!("{DATASETS}/{id}"))
            .await
            .expect(204);
    }
    send(second).await
}

/// A second request under a key whose first request never ends.
async fn in_flight() -> Answer {
    let service = Service::start().await;
    let (begun, is_read) = tokio::sync::oneshot::channel();
    let body = Body::from_stream(stream::once(async {
        begun.send(()).unwrap();
        std::future::pending::<Result<String, Error>>().await
    }));
    let headers = [("content-type", CSV), ("idempotency-key", "k")];
    let mut first = Box::pin(service.open(request("POST", DATASETS, &headers, body)));
    tokio::select! {
        answer = &mut first => panic!("{answer:?}"),
        begun = is_read => begun.unwrap(),
    }
    service
        .send(request("POST", DATASETS, &headers, TABLE))
        .await
}

/// Data that no format can read as they stand.
async fn unreadable(code: &str) -> Option<Answer> {
    let answer = match code {
        "syntax" => data(JSON, "{]").await,
        "schema" => data(JSON, "{\"date\": 1}").await,
        "out-of-range" => {
            let data = json!({"half_space": {"examples": ["10"], "assume": "uniform"}});
            self::data(JSON, json!({"data": data}).to_string()).await
        }
        "invalid-parameter" => {
            with_headers("/v1/datasets?header=maybe", &[("content-type", CSV)], TABLE).await
        }
        "rows of two lengths" => data(CSV, "a,class\n0,x\n1\n").await,
        "wrong-shape" => {
            let service = Service::start().await;
            let (_, path) = model(&service).await;
            let id = path.rsplit('/').next().unwrap();
            let tensor = json!({"name": "x", "shape": [2, 1], "datatype": "BOOL", "data": [true]});
            service
                .post_json(
                    &format!("/v2/models/{id}/infer"),
                    &json!({"inputs": [tensor]}),
                )
                .await
        }
        "empty-data" => data(CSV, "").await,
        "no bit" => data(NDJSON, "{\"x\": \"102\", \"y\": 1}\n").await,
        "bad-value" => data(LIBSVM, "1 1:x\n").await,
        "bad-label" => data(NDJSON, "{\"x\": \"10\", \"y\": \"\"}\n").await,
        "two codings" => {
            data(
                NDJSON,
                "{\"x\": \"10\", \"y\": 0}\n{\"x\": \"10\", \"y\": -1}\n",
            )
            .await
        }
        "a line without" => data(NDJSON, "{\"x\": \"10\", \"y\": 1}\n10\n").await,
        "bad-index" => data(LIBSVM, "1 7\n").await,
        "bad-name" => data(LIBSVM, "1 a:1 a:2\n").await,
        "no order" => data(LIBSVM, "1 2:1 1:1\n").await,
        "a form without a file" => {
            let body =
                "--b\r\ncontent-disposition: form-data; name=\"labels\"\r\n\r\nclass\r\n--b--\r\n";
            data("multipart/form-data; boundary=b", body).await
        }
        "no base64" => {
            data(
                JSON,
                "{\"data\": {\"packed\": {\"n\": 8, \"rows\": \"!!!!\"}}}",
            )
            .await
        }
        "unsupported" => data("text/x-arff", "@relation r\n@attribute a date\n").await,
        "bad-option" => {
            with_headers(
                "/v1/datasets?header=true",
                &[("content-type", LIBSVM)],
                "1 1:1\n",
            )
            .await
        }
        "too-deep" => data(JSON, "[".repeat(100)).await,
        "truncated" => data(JSON, "{").await,
        "no gzip" => {
            with_headers(
                DATASETS,
                &[("content-type", CSV), ("content-encoding", "gzip")],
                TABLE,
            )
            .await
        }
        "unreadable" => {
            let frames = [Ok(Bytes::from_static(b"a,cl")), Err(Error::other("gone"))];
            let body = Body::from_stream(stream::iter(frames));
            let service = Service::start().await;
            let request = request("POST", DATASETS, &[("content-type", CSV)], body);
            let (parts, body) = service.open(request).await.into_parts();
            Answer {
                status: parts.status,
                headers: parts.headers,
                body: body.collect().await.unwrap().to_bytes(),
            }
        }
        "table-option" => data(CSV, "1,2\n3,4\n").await,
        "unsupported-media-type" => data("text/plain", TABLE).await,
        "another coding" => {
            with_headers(
                DATASETS,
                &[("content-type", CSV), ("content-encoding", "br")],
                TABLE,
            )
            .await
        }
        _ => return None,
    };
    Some(answer)
}

/// Requests that the service refuses for who sends them, or for what it holds.
async fn not_allowed(code: &str) -> Option<Answer> {
    let service = Service::start().await;
    let answer = match code {
        "foreign-host" => {
            service
                .send(request("GET", "/livez", &[("host", "evil.example")], ""))
                .await
        }
        "foreign-origin" => {
            let headers = [("content-type", CSV), ("origin", "http://evil.example")];
            service
                .send(request("POST", DATASETS, &headers, TABLE))
                .await
        }
        "not-found" => {
            service
                .get("/v1/jobs/job_018bcfe568007000b333333333333333")
                .await
        }
        "method-not-allowed" => service.send(request("PUT", "/v1/jobs", &[], "")).await,
        "not-acceptable" => {
            let id = service.post_as(DATASETS, CSV, TABLE).await.expect(201).id();
            let path = format!("{DATASETS}/{id}/examples");
            service
                .send(request("GET", &path, &[("accept", "image/png")], ""))
                .await
        }
        "wrong-state" => {
            let job = service.run(&short_job()).await;
            service
                .post(&format!("/v1/jobs/{}/cancel", job["id"].as_str().unwrap()))
                .await
        }
        "a dataset in use" => {
            let service = Service::idle(&[]).await;
            let id = service.post_as(DATASETS, CSV, TABLE).await.expect(201).id();
            service
                .submit(&train(
                    json!({"name": "perceptron"}),
                    json!({"dataset": id}),
                ))
                .await;
            service.delete(&format!("{DATASETS}/{id}")).await
        }
        "unauthorized" => {
            service.key(named("a")).await;
            service.get("/v1/jobs").await
        }
        "too-many-jobs" | "queue-full" => {
            let limit = if code == "queue-full" {
                "--jobs-queued-max"
            } else {
                "--jobs-queued-per-key-max"
            };
            let service = Service::idle(&[limit, "1"]).await;
            service.submit(&long_job(1)).await;
            service.post_json("/v1/jobs", &long_job(2)).await
        }
        "quota-full" => {
            let service = Service::with(&["--stored-bytes-per-key-max", "5000"]).await;
            let rows = format!("a,b,class\n{}", "1,1,0\n".repeat(300));
            for _ in 0..10 {
                let answer = service.post_as(DATASETS, CSV, rows.clone()).await;
                if !answer.status.is_success() {
                    return Some(answer);
                }
            }
            panic!("the quota never filled");
        }
        "sessions" => {
            let service = Service::with(&["--sessions-max", "1"]).await;
            let asked = json!({"learner": {"name": "perceptron"}, "n": 3});
            service.post_json("/v1/sessions", &asked).await.expect(201);
            service.post_json("/v1/sessions", &asked).await
        }
        "too-large" => {
            let service = Service::limited(&[], |limits| limits.n_max = 64).await;
            service.post_as(DATASETS, LIBSVM, "1 65:1\n").await
        }
        "idempotency-in-flight" => in_flight().await,
        "idempotency-gone" => repeated(TABLE, true).await,
        "idempotency-mismatch" => repeated("a,class\n1,x\n0,y\n", false).await,
        "stopping" => {
            service.stop().await;
            service.post_json("/v1/jobs", &short_job()).await
        }
        _ => return None,
    };
    Some(answer)
}

/// Requests whose parts do not fit together.
async fn unfit(code: &str) -> Option<Answer> {
    let none = "018bcfe568007000b333333333333333";
    let answer = match code {
        "stale-position" => {
            session(
                json!({"learner": {"name": "perceptron"}, "n": 3}),
                &[("if-match", "\"7\"")],
            )
            .await
        }
        "an ended session" => {
            let asked =
                json!({"learner": {"name": "perceptron"}, "n": 3, "stop": {"max_examples": 1}});
            session(asked, &[]).await
        }
        "unknown-learner" => submitted(job("perceptrom", json!({}))).await,
        "not-on-line" => {
            let service = Service::start().await;
            service
                .post_json(
                    "/v1/sessions",
                    &json!({"learner": {"name": "pocket"}, "n": 3}),
                )
                .await
        }
        "unknown-dataset" => {
            submitted(job(
                "perceptron",
                json!({"data": {"dataset": format!("dat_{none}")}}),
            ))
            .await
        }
        "unknown-model" => {
            submitted(job(
                "perceptron",
                json!({"warm_start": format!("mdl_{none}")}),
            ))
            .await
        }
        "unknown-model-format" => imported("format", json!("halfspace-model/99")).await,
        "model-altered" => imported("classes", json!(["y", "x"])).await,
        "wrong-model" => imported("features", json!(["a", "b"])).await,
        "wrong-data" => {
            submitted(job(
                "winnow",
                json!({"data": {"labelled": {"examples": [{"x": [0.5], "y": 1}]}}}),
            ))
            .await
        }
        "inexpressible" | "a receipt" | "a program" => {
            let service = Service::start().await;
            let learner = if code == "inexpressible" {
                "kernel-perceptron"
            } else {
                "perceptron"
            };
            let path = format!("/v1/learners/{learner}/train?stop.max_passes=1&seed=1");
            let trained = service
                .post_as(&path, CSV, "a,class\n0.5,x\n1.5,y\n0.25,x\n")
                .await;
            let trained = match trained.status.is_success() {
                true => trained,
                false => service.post_as(&path, CSV, TABLE).await,
            };
            let id = trained.expect(200).json()["result"]["model"]
                .as_str()
                .unwrap()
                .to_owned();
            let model = format!("/v1/models/{id}");
            match code {
                "inexpressible" => service.get(&format!("{model}/weights.npy")).await,
                "a program" => service.get(&format!("{model}/code?language=excel")).await,
                _ => {
                    let file = service.get(&model).await.expect(200).json();
                    let copy = service
                        .post_json("/v1/models", &file)
                        .await
                        .expect(201)
                        .id();
                    service.get(&format!("/v1/models/{copy}/receipt")).await
                }
            }
        }
        "answer-too-long" => {
            let service = Service::start().await;
            let path = "/v1/constructions/kernel-perceptron-adversary";
            service
                .post_json(path, &json!({"n": 100_000, "size": 10_000}))
                .await
        }
        "intractable" => {
            let target = json!({"binary_weights": {}});
            let data =
                json!({"generated": {"n": 101, "target": target, "sampling": "uniform-positive"}});
            submitted(job("directed-drift", json!({"data": data}))).await
        }
        "the time of an answer" => {
            let service = Service::with(&["--answer-seconds-max", "0.001"]).await;
            let data = json!({"labelled": {"examples": [
                {"x": "1".repeat(20), "y": 1}, {"x": "0".repeat(20), "y": -1}]}});
            let job = train(json!({"name": "kernel-winnow"}), data);
            let headers = [("content-type", JSON), ("prefer", "wait=30")];
            let ran = request("POST", "/v1/jobs", &headers, job.to_string());
            let ran = service.send(ran).await;
            // On a busy machine already the check of the job takes that long.
            if ran.status == 422 {
                return Some(ran);
            }
            let job = ran.expect(200).json();
            let id = job["result"]["model"].as_str();
            let rows = format!("{}\n", ["1"; 20].join(",")).repeat(40);
            service
                .post_as(&format!("/v1/models/{}/predict", id.unwrap()), CSV, rows)
                .await
        }
        "wrong-stop" => {
            let service = Service::start().await;
            let asked =
                json!({"learner": {"name": "perceptron"}, "n": 3, "stop": {"max_passes": 3}});
            service.post_json("/v1/sessions", &asked).await
        }
        "wrong-start" => {
            let service = Service::start().await;
            let (_, path) = model(&service).await;
            let id = path.rsplit('/').next().unwrap();
            service
                .post_json("/v1/jobs", &job("perceptron", json!({"warm_start": id})))
                .await
        }
        "bad-source" | "no such object" => {
            let lake = SourceServer::start().await;
            let settings = lake.settings("s3://lake/in/");
            let settings: Vec<&str> = match code {
                "bad-source" => Vec::new(),
                _ => settings.iter().map(String::as_str).collect(),
            };
            let asked = json!({"source": "s3://lake/in/none.csv"});
            Service::with(&settings)
                .await
                .post_json("/v1/datasets/import", &asked)
                .await
        }
        "no secret" | "bad-callback" => {
            let settings: &[&str] = match code {
                "bad-callback" => &[
                    "--callback-secret",
                    "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
                ],
                _ => &[],
            };
            let mut job = short_job();
            job["callback"] = json!("http://10.0.0.1/");
            Service::idle(settings)
                .await
                .post_json("/v1/jobs", &job)
                .await
        }
        _ => return None,
    };
    Some(answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_problem_code_is_provoked_and_names_a_remedy() {
    let mut faults = Vec::new();
    let first = codes().into_iter().map(|code| (code, code));
    for (code, fault) in first.chain(FURTHER) {
        if let Some((_, named, test)) = ELSEWHERE.iter().find(|(known, ..)| *known == fault) {
            if !test.contains(named) {
                faults.push(format!("{code}: its test is gone"));
            }
            continue;
        }
        let answer = match unreadable(fault).await {
            Some(answer) => Some(answer),
            None => match not_allowed(fault).await {
                Some(answer) => Some(answer),
                None => unfit(fault).await,
            },
        };
        let Some(answer) = answer else {
            faults.push(format!(
                "{code}, {fault}: no request provokes it; add one to this file"
            ));
            continue;
        };
        let problem = answer.json();
        let detail = problem["detail"].as_str().unwrap_or_default();
        println!("{code}: {detail}");
        let is_told = names_a_remedy(detail);
        if problem["code"] != code || !is_told {
            faults.push(format!("{code}, {fault}: {problem}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn names_a_remedy_finds_details_without_one() {
    for detail in [
        "There is no such job.",
        "The value is not finite.",
        "Two of them differ.",
    ] {
        assert!(!names_a_remedy(detail), "{detail}");
    }
    for detail in [
        "`labels=last`",
        "Raise --body-bytes-max.",
        "the limit n_max is 64",
        "Write such an example as 1:0.",
    ] {
        assert!(names_a_remedy(detail), "{detail}");
    }
}
