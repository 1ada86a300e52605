//! Every limit of `GET /v1/limits` is exceeded once, and the refusal names it, as `docs/reference/limits.md` promises.

use std::fmt::Write as _;

use axum::body::Body;
use futures_util::{StreamExt, stream};
use halfspace::http::ConnectionUse;
use halfspace::http::limits::Limits;
use serde_json::{Value, json};

use super::uploads::gzip;
use crate::service::{Answer, Object, Service, SourceServer, long_job, request, short_job, train};

const CSV: &str = "text/csv";
const JSON: &str = "application/json";
const LIBSVM: &str = "text/x-libsvm";
const NDJSON: &str = "application/x-ndjson";
const TRAIN: &str = "/v1/learners/perceptron/train";

/// A service with a smaller limit.
async fn with(change: impl FnOnce(&mut Limits)) -> Service {
    Service::limited(&[], change).await
}

fn jobs() -> Value {
    let data = json!({"labelled": {"examples": [{"x": "10", "y": 1}, {"x": "01", "y": -1}]}});
    train(json!({"name": "perceptron"}), data)
}

/// A body of data to train on.
async fn trained(service: &Service, media_type: &str, body: impl Into<Body>) -> Answer {
    let labels = if media_type == CSV {
        "?labels=first"
    } else {
        ""
    };
    let path = format!("{TRAIN}{labels}");
    service.post_as(&path, media_type, body).await
}

async fn session(service: &Service) -> String {
    let asked = json!({"learner": {"name": "perceptron"}, "n": 3});
    let opened = service.post_json("/v1/sessions", &asked).await.expect(201);
    format!("/v1/sessions/{}/examples", opened.id())
}

/// Bodies and questions that are too long, too deep or too wide.
async fn too_large(limit: &str) -> Option<Answer> {
    Some(match limit {
        "body_bytes_max" => {
            let service = Service::with(&["--body-bytes-max", "10"]).await;
            trained(&service, CSV, "1,0\n0,1\n1,1\n").await
        }
        "json_body_bytes_max" => {
            let service = with(|limits| limits.json_body_bytes_max = 10).await;
            trained(&service, JSON, "{           ").await
        }
        "source_bytes_max" => {
            let lake = SourceServer::start().await;
            lake.put("lake/in/a.csv", Object::bytes("1,0\n0,1\n1,1\n"));
            let mut settings = lake.settings("s3://lake/in/");
            settings.extend(["--source-bytes-max".to_owned(), "10".to_owned()]);
            let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
            let service = Service::with(&settings).await;
            let asked = json!({"source": "s3://lake/in/a.csv"});
            service.post_json("/v1/datasets/import", &asked).await
        }
        "json_depth_max" => trained(&Service::start().await, JSON, "[".repeat(33)).await,
        "line_bytes_max" => {
            let service = with(|limits| limits.line_bytes_max = 10).await;
            trained(&service, CSV, "1,0,1,0,1,0,1\n").await
        }
        "classes_max" => {
            let lines = (0..4097).map(|class| format!("c{class},1\n"));
            let body: String = lines.collect();
            trained(&Service::start().await, CSV, body).await
        }
        "model_entries_max" => {
            let service = Service::start().await;
            let asked = json!({"learner": {"name": "perceptron"}, "n": 1 << 20, "classes": "open"});
            let opened = service.post_json("/v1/sessions", &asked).await.expect(201);
            let path = format!("/v1/sessions/{}/examples", opened.id());
            let lines = (0..17).map(|class| format!("c{class} {}:1\n", class + 1));
            let body: String = lines.collect();
            service.post_as(&path, LIBSVM, body).await
        }
        "session_names_max" => {
            let service = Service::start().await;
            let asked = json!({"learner": {"name": "perceptron"}, "vocabulary": "open"});
            let opened = service.post_json("/v1/sessions", &asked).await.expect(201);
            let path = format!("/v1/sessions/{}/examples", opened.id());
            let mut line = "1".to_owned();
            (0..=1 << 22).for_each(|name| write!(line, " {name:x}").unwrap());
            service.post_as(&path, LIBSVM, line).await
        }
        "example_names_max" => {
            let service = Service::start().await;
            let names: Vec<String> = (0..2000).map(|name| format!("a{name}")).collect();
            let path = format!("{TRAIN}?conjunctions=2");
            service
                .post_as(&path, LIBSVM, format!("1 {}\n", names.join(" ")))
                .await
        }
        "names_max" => {
            let service = with(|limits| limits.names_max = 2).await;
            trained(&service, LIBSVM, "1 a b\n-1 c\n").await
        }
        "n_max" => {
            let row = "1".repeat((1 << 20) + 1);
            trained(&Service::start().await, NDJSON, row).await
        }
        "decompression_ratio_max" => {
            let headers = [("content-type", CSV), ("content-encoding", "gzip")];
            let service = with(|limits| limits.decompression_ratio_max = 10).await;
            let body = gzip("1,0\n".repeat(5 << 20).as_bytes());
            let path = format!("{TRAIN}?labels=first");
            service.send(request("POST", &path, &headers, body)).await
        }
        "stored_ratio_max" => {
            let service = with(|limits| limits.stored_ratio_max = 1).await;
            let rows = format!("{}1\n{}0\n", "5,".repeat(999), "5,".repeat(999)).repeat(5_000);
            let path = "/v1/datasets?labels=last&header=false";
            service.post_as(path, CSV, rows).await
        }
        "state_bytes_max" => {
            let service = Service::with(&["--state-bytes-max", "1000"]).await;
            trained(&service, CSV, "1,0\n0,1\n".repeat(1_000)).await
        }
        "memory_bytes_max" => {
            let service = Service::with(&["--memory-bytes-max", "134217728"]).await;
            trained(&service, LIBSVM, "+1 1048576:0.5\n".repeat(20)).await
        }
        "read_seconds_max" => {
            let service = with(|limits| limits.read_seconds_max = Some(1e-6)).await;
            trained(&service, CSV, "1,0\n0,1\n".repeat(50_000)).await
        }
        "model_bytes_max" => {
            let service = with(|limits| limits.model_bytes_max = 10).await;
            let file = json!({"format": "halfspace-model/1"});
            service.post_json("/v1/models", &file).await
        }
        "session_lines_max" => {
            let service = Service::start().await;
            let path = session(&service).await;
            service.post_as(&path, NDJSON, "\n".repeat(1_000_001)).await
        }
        "session_idle_seconds" => {
            let service = with(|limits| limits.session_idle_seconds = 1).await;
            let headers = [("content-type", NDJSON)];
            let never = stream::pending::<Result<String, std::convert::Infallible>>();
            let begun = stream::iter([Ok("{\"x\": \"101\", \"y\": 1}\n".to_owned())]);
            let body = Body::from_stream(begun.chain(never));
            let asked = request("POST", &session(&service).await, &headers, body);
            let (parts, body) = service.open(asked).await.into_parts();
            let body = http_body_util::BodyExt::collect(body).await.unwrap();
            Answer {
                status: parts.status,
                headers: parts.headers,
                body: body.to_bytes(),
            }
        }
        "query_pairs_max" => {
            let pairs: Vec<_> = (0..1_001).map(|at| format!("a{at}=1")).collect();
            let path = format!("/v1/jobs?{}", pairs.join("&"));
            Service::start().await.get(&path).await
        }
        "answer_bytes_max" => {
            let service = with(|limits| limits.answer_bytes_max = 10).await;
            let stored = service.post_as("/v1/datasets?labels=first", CSV, "1,0\n0,1\n");
            let id = stored.await.expect(201).id();
            let path = format!("/v1/datasets/{id}/examples");
            service.get(&path).await
        }
        "answer_seconds_max" => {
            let service = Service::with(&["--answer-seconds-max", "0.0001"]).await;
            service
                .get("/v1/theory/cover?points=10000&dimension=5000")
                .await
        }
        _ => return None,
    })
}

/// Jobs, experiments and figures of theorems that ask for too much.
async fn too_much(limit: &str) -> Option<Answer> {
    let service = Service::idle(&["--parts-seconds-max", "5"]).await;
    let submit = async |job: Value| service.post_json("/v1/jobs", &job).await;
    let experiment =
        |params: Value| json!({"experiment": {"name": "mistake-bound-sweep", "params": params}});
    let compare = |learners: usize, folds: u32| {
        json!({"compare": {"data": jobs()["train"]["data"], "folds": folds,
            "learners": vec![json!({"name": "perceptron"}); learners]}})
    };
    let grid = |training: Value, lists: [usize; 2]| {
        let seeds = |count: usize| (1..=count).collect::<Vec<_>>();
        json!({"grid": {"train": training,
            "over": {"seed": seeds(lists[0]), "stop.max_passes": seeds(lists[1])}}})
    };
    let mut job = jobs();
    Some(match limit {
        "seconds_max" => {
            job["train"]["stop"] = json!({"max_seconds": 86_401});
            submit(job).await
        }
        "parts_seconds_max" => submit(experiment(json!({"n": [101], "runs": 100_000}))).await,
        "experiment_points_max" => {
            let many: Vec<u64> = (1..=1_000).collect();
            submit(experiment(json!({"n": [11, 21], "batch_sizes": many}))).await
        }
        "grid_trainings_max" => submit(grid(job["train"].clone(), [101, 100])).await,
        "parts_request_bytes_max" => {
            let wide = json!([{"x": "1".repeat(4_000), "y": 1}]);
            job["train"]["data"] = json!({"labelled": {"examples": wide}});
            let initial = vec![0.123_456_789; 4_000];
            job["train"]["learner"]["params"] = json!({"initial": initial});
            submit(grid(job["train"].clone(), [100, 100])).await
        }
        "compare_folds_max" => submit(compare(1, 101)).await,
        "compare_learners_max" => submit(compare(101, 2)).await,
        "name_characters_max" => {
            job["name"] = json!("x".repeat(257));
            submit(job).await
        }
        "theta_digits_max" => {
            job["train"]["learner"] =
                json!({"name": "winnow", "params": {"theta": "1".repeat(10_001)}});
            submit(job).await
        }
        "job_ids_max" => {
            let none = "job_018bcfe568007000b333333333333333";
            let ids = json!({"ids": vec![none; 1_001]});
            service.post_json("/v1/jobs/cancel", &ids).await
        }
        "dichotomies_max" => {
            let path = "/v1/theory/cover?points=10001&dimension=5";
            service.get(path).await
        }
        "exact_analysis_n_max" => service.get("/v1/theory/directed-drift?n=513").await,
        "version_space_n_max" => {
            let open = json!({"half_space": {"examples": ["1".repeat(33)]}});
            let asked = json!({"version_space": {"data": open}});
            let headers = [("content-type", JSON), ("prefer", "wait=30")];
            let service = Service::start().await;
            let asked = request("POST", "/v1/jobs", &headers, asked.to_string());
            service.send(asked).await
        }
        _ => return None,
    })
}

/// Quotas, and requests of one kind at once.
async fn too_many(limit: &str) -> Option<Answer> {
    let large = "1,0\n0,1\n".repeat(20_000);
    Some(match limit {
        "jobs_queued_max" | "jobs_queued_per_key_max" => {
            let flag = format!("--{}", limit.replace('_', "-"));
            let service = Service::idle(&[&flag, "1"]).await;
            service.submit(&long_job(1)).await;
            service.post_json("/v1/jobs", &long_job(2)).await
        }
        "stored_bytes_max" | "stored_bytes_per_key_max" => {
            let flag = format!("--{}", limit.replace('_', "-"));
            let service = Service::with(&[&flag, "1"]).await;
            let path = "/v1/datasets?labels=first";
            service.post_as(path, CSV, "1,0\n").await
        }
        "sessions_max" => {
            let service = Service::with(&["--sessions-max", "1"]).await;
            session(&service).await;
            let asked = json!({"learner": {"name": "perceptron"}, "n": 3});
            service.post_json("/v1/sessions", &asked).await
        }
        "uploads_max" => {
            let service = with(|limits| limits.uploads_max = 0).await;
            trained(&service, CSV, large).await
        }
        "streams_max" => {
            let service = with(|limits| limits.streams_max = 0).await;
            let model = service.run(&short_job()).await["result"]["model"].clone();
            let path = format!("/v1/models/{}/predict", model.as_str().unwrap());
            service
                .post_as(&path, NDJSON, "\"0110\"\n".repeat(20_000))
                .await
        }
        "event_streams_max" => {
            let service = with(|limits| limits.event_streams_max = Some(0)).await;
            let path = service.submit(&long_job(1)).await;
            service.get(&format!("{path}/events")).await
        }
        "constructions_max" => {
            let service = with(|limits| limits.constructions_max = 0).await;
            let path = "/v1/constructions/kernel-perceptron-adversary";
            service
                .post_json(path, &json!({"n": 400, "size": 100}))
                .await
        }
        "computations_max" => {
            let service = with(|limits| limits.computations_max = 0).await;
            service.get("/v1/theory/directed-drift?n=5").await
        }
        "connections_max" => {
            let service = Service::start().await;
            let mut asked = request("GET", "/v1/jobs", &[], "");
            asked.extensions_mut().insert(ConnectionUse::Reserve);
            service.send(asked).await
        }
        _ => return None,
    })
}

async fn refusal(limit: &str) -> Option<Answer> {
    match too_large(limit).await {
        Some(answer) => Some(answer),
        None => match too_much(limit).await {
            Some(answer) => Some(answer),
            None => too_many(limit).await,
        },
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_limit_is_named_by_the_refusal_that_it_causes() {
    let limits = Service::start().await.get("/v1/limits").await.expect(200);
    let limits = limits.json();
    let names = limits.as_object().unwrap().keys();
    let names = names.filter(|name| *name != "own").cloned();
    let told = |name: String| async move {
        match refusal(&name).await {
            None => Some(format!(
                "{name}: no request exceeds it; add one to this file"
            )),
            Some(answer) if answer.text().contains(&name) => None,
            Some(answer) => Some(format!("{name}: {}", answer.text())),
        }
    };
    // Some refusals come after five seconds.
    let told = stream::iter(names).map(told).buffer_unordered(6);
    let faults: Vec<_> = told.filter_map(async |fault| fault).collect().await;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
