//! A store with a record of each kind, and the requests that read these records.

use std::path::PathBuf;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use clap::Parser;
use halfspace::app;
use halfspace::config::{CommandLine, Settings};
use halfspace::storage::{BlobLocation, Blobs, ScratchDir};
use halfspace_core::learners::engine::random::Generator;
use http_body_util::BodyExt;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use crate::service::{TestBucket, TestDatabase, request, until};

pub type Answers = Vec<(String, (StatusCode, String))>;

/// A part of a record, whose bits a test can flip.
#[derive(Clone, Debug)]
pub struct Thing {
    /// The id in the report of a check.
    pub id: String,
    pub part: Part,
    pub is_read: bool,
}

#[derive(Clone, Debug)]
pub enum Part {
    Blob(String),
    Column {
        table: &'static str,
        /// The column with the record's id, by which the row is found.
        key: &'static str,
        column: &'static str,
        kind: Kind,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Bytes,
    Number,
}

impl Thing {
    pub fn shown(&self) -> String {
        match &self.part {
            Part::Blob(key) => format!("the blob {key}"),
            Part::Column { table, column, .. } => format!("{table}.{column} of {}", self.id),
        }
    }

    pub fn is_blob(&self) -> bool {
        matches!(self.part, Part::Blob(_))
    }
}

fn key(thing: &Thing) -> &str {
    match &thing.part {
        Part::Blob(key) => key,
        Part::Column { .. } => panic!("{thing:?} is no blob"),
    }
}

/// A store, the parts to damage, and the requests that read the parts.
pub struct DamagedStore {
    pub directory: TempDir,
    pub database: Option<TestDatabase>,
    pub settings: Settings,
    blobs: Blobs,
    pub things: Vec<Thing>,
    questions: Vec<(&'static str, String, String)>,
}

struct Asked<'a>(&'a app::Service);

impl Asked<'_> {
    async fn send(&self, mut request: Request<Body>) -> (StatusCode, String) {
        let host = axum::http::HeaderValue::from_static("localhost");
        request.headers_mut().insert("host", host);
        let answer = self.0.router().oneshot(request).await.unwrap();
        let status = answer.status();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    async fn post(&self, path: &str, headers: &[(&str, &str)], body: String) -> Value {
        let (status, body) = self.send(request("POST", path, headers, body)).await;
        assert!(status.is_success(), "{path}: {status} {body}");
        serde_json::from_str(&body).unwrap_or_default()
    }

    async fn post_json(&self, path: &str, body: &Value) -> Value {
        let headers = [("content-type", "application/json"), ("prefer", "wait=30")];
        self.post(path, &headers, body.to_string()).await
    }
}

fn lines(n: usize, rows: usize, real: bool) -> String {
    let mut random = Generator::seed_from_u64(5);
    let mut text = String::new();
    for row in 0..rows {
        let x: Vec<f64> = (0..n)
            .map(|_| match real {
                true => random.random_range(0..64).into(),
                false => random.random_range(0..2).into(),
            })
            .collect();
        let line = json!({"x": x, "y": if (row / 3) % 2 == 0 { 1 } else { -1 }});
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text
}

/// Passes of a job that never ends.
const ENDLESS: u64 = 1 << 50;

/// A training on XOR, on which the perceptron never converges. Shorter trainings have a higher priority.
fn exclusive_or(passes: u64) -> Value {
    let priority = if passes == ENDLESS { 0 } else { 5 };
    json!({"priority": priority, "train": {"learner": {"name": "perceptron"}, "seed": 9,
        "stop": {"max_passes": passes, "max_seconds": 3_600}, "data": {"labelled": {"examples": [
            {"x": "00", "y": -1}, {"x": "01", "y": 1}, {"x": "10", "y": 1}, {"x": "11", "y": -1}]}}}})
}

impl DamagedStore {
    pub async fn make(database: Option<TestDatabase>, bucket: Option<TestBucket>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = database.as_ref().map(TestDatabase::url);
        let places = bucket
            .as_ref()
            .map(TestBucket::settings)
            .unwrap_or_default();
        let line = [
            "halfspace",
            "--data-dir",
            directory.path().to_str().unwrap(),
            "--database-url",
            url.as_deref().unwrap_or("sqlite"),
            "--workers",
            "1",
            "--checkpoint-seconds",
            "1",
        ];
        let line = line.into_iter().chain(places.iter().map(String::as_str));
        let settings = CommandLine::try_parse_from(line).unwrap().settings;
        let blobs = match settings.blob_url.place().unwrap() {
            BlobLocation::Bucket(bucket) => {
                let scratch = ScratchDir::below(directory.path());
                Blobs::bucket(&bucket, &settings.s3_access(), scratch, 1 << 30).unwrap()
            }
            _ => Blobs::local(&directory.path().join("blobs")).unwrap(),
        };
        let mut store = Self {
            directory,
            database,
            settings,
            blobs,
            things: Vec::new(),
            questions: Vec::new(),
        };
        let interrupted = store.interrupted(ENDLESS).await;
        let service = store.open().await;
        let asked = Asked(&service);
        let ndjson = [("content-type", "application/x-ndjson")];
        let mut datasets = Vec::new();
        for (n, real) in [(70, false), (66, true)] {
            let made = asked
                .post("/v1/datasets?name=one", &ndjson, lines(n, 150, real))
                .await;
            datasets.push(made["id"].as_str().unwrap().to_owned());
        }
        let row = |row: usize| match row % 3 {
            0 => "u,1.5,p\n",
            1 => "v,2.5,q\n",
            _ => "u,,p\n",
        };
        let table = format!("word,number,y\n{}", (0..150).map(row).collect::<String>());
        let path = "/v1/datasets?missing=mean&name=one";
        let csv = [("content-type", "text/csv")];
        let made = asked.post(path, &csv, table).await;
        datasets.push(made["id"].as_str().unwrap().to_owned());
        let train = json!({"train": {"learner": {"name": "perceptron"}, "trace": true, "seed": 3,
            "stop": {"max_passes": 3}, "data": {"dataset": datasets[0]}}});
        let trained = asked.post_json("/v1/jobs", &train).await;
        let model = trained["result"]["model"].as_str().unwrap().to_owned();
        let mut sessions = Vec::new();
        for rows in [5, 5_000] {
            let new = json!({"learner": {"name": "perceptron"}, "n": 5, "seed": 7});
            let made = asked.post_json("/v1/sessions", &new).await;
            let id = made["id"].as_str().unwrap().to_owned();
            let path = format!("/v1/sessions/{id}/examples");
            asked.post(&path, &ndjson, lines(5, rows, false)).await;
            sessions.push(id);
        }
        let json = [("content-type", "application/json")];
        let waiting = asked
            .post("/v1/jobs", &json, exclusive_or(ENDLESS).to_string())
            .await;
        let waiting = waiting["id"].as_str().unwrap().to_owned();
        store.close(&service).await;
        let job = trained["id"].as_str().unwrap().to_owned();
        store.ask_of(&model, &datasets, &sessions, &job);
        store.name_things(&model, &datasets, &sessions, [&job, &waiting, &interrupted]);
        store
    }

    /// A job that was interrupted and has left a checkpoint.
    pub async fn interrupted(&self, passes: u64) -> String {
        for _ in 0..5 {
            let id = self.interrupted_once(passes).await;
            let kept = self.open().await;
            let checkpoint = kept.jobs().store.checkpoint(id.parse().unwrap()).await;
            self.close(&kept).await;
            if checkpoint.unwrap().is_some() {
                return id;
            }
        }
        panic!("{passes} passes end before they can be interrupted");
    }

    async fn interrupted_once(&self, passes: u64) -> String {
        let service = self.open().await;
        let asked = Asked(&service);
        let json = [("content-type", "application/json")];
        let job = asked
            .post("/v1/jobs", &json, exclusive_or(passes).to_string())
            .await;
        let id = job["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/jobs/{id}");
        service.jobs().start();
        until("the job to run", async || {
            let (_, job) = asked.send(request("GET", &path, &[], "")).await;
            let job: Value = serde_json::from_str(&job).unwrap();
            let is_begun = job["progress"]["examples"].as_u64() > Some(0);
            is_begun.then_some(())
        })
        .await;
        service.jobs().stop(Duration::from_secs(5)).await;
        self.close(&service).await;
        id
    }

    fn ask_of(&mut self, model: &str, datasets: &[String], sessions: &[String], job: &str) {
        let mut get = |path: String| self.questions.push(("GET", path, String::new()));
        for path in ["models", "datasets", "sessions", "jobs"] {
            get(format!("/v1/{path}"));
        }
        get(format!("/v1/models/{model}"));
        get(format!("/v2/models/{model}"));
        for path in ["", "/trace", "/events"] {
            get(format!("/v1/jobs/{job}{path}"));
        }
        for dataset in datasets {
            get(format!("/v1/datasets/{dataset}"));
            for offset in [0, 60, 120] {
                get(format!(
                    "/v1/datasets/{dataset}/examples?limit=64&offset={offset}"
                ));
            }
        }
        for session in sessions {
            get(format!("/v1/sessions/{session}"));
        }
        let mut post = |path: String, body: Value| {
            self.questions.push(("POST", path, body.to_string()));
        };
        let ones = "1".repeat(70);
        post(
            format!("/v1/models/{model}/predict"),
            json!({"labelled": {"examples": [{"x": ones, "y": 1}]}}),
        );
        for what in ["predict", "evaluate"] {
            post(
                format!("/v1/models/{model}/{what}"),
                json!({"dataset": datasets[0]}),
            );
        }
        post(
            format!("/v1/sessions/{}/predict", sessions[0]),
            json!({"labelled": {"examples": [{"x": "11111", "y": 1}]}}),
        );
    }

    fn name_things(
        &mut self,
        model: &str,
        datasets: &[String],
        sessions: &[String],
        [job, waiting, interrupted]: [&str; 3],
    ) {
        use Kind::{Bytes, Number, Text};
        let columns: &[(&str, &str, &str, Kind, &str, bool)] = &[
            ("models", "id", "document", Text, model, true),
            ("models", "id", "learner", Text, model, true),
            ("models", "id", "job", Text, model, true),
            ("models", "id", "n", Number, model, true),
            ("models", "id", "created_at", Number, model, true),
            ("model_digests", "model", "digest", Bytes, model, true),
            (
                "model_digests",
                "model",
                "document_digest",
                Bytes,
                model,
                true,
            ),
            ("datasets", "id", "name", Text, &datasets[0], true),
            ("datasets", "id", "sha256", Text, &datasets[0], true),
            ("datasets", "id", "data_key", Text, &datasets[0], true),
            ("datasets", "id", "class_examples", Text, &datasets[1], true),
            ("datasets", "id", "examples", Number, &datasets[1], true),
            (
                "dataset_digests",
                "dataset",
                "names_digest",
                Bytes,
                &datasets[1],
                true,
            ),
            ("sessions", "id", "spec", Text, &sessions[0], true),
            ("sessions", "id", "position", Number, &sessions[0], true),
            ("sessions", "id", "tally", Text, &sessions[0], true),
            ("sessions", "id", "created_at", Number, &sessions[1], true),
            (
                "sessions",
                "id",
                "position_digest",
                Bytes,
                &sessions[1],
                true,
            ),
            (
                "session_log",
                "session",
                "examples",
                Bytes,
                &sessions[0],
                true,
            ),
            (
                "session_log",
                "session",
                "position",
                Number,
                &sessions[0],
                true,
            ),
            (
                "session_log",
                "session",
                "digest",
                Bytes,
                &sessions[0],
                true,
            ),
            (
                "session_snapshots",
                "session",
                "state",
                Bytes,
                &sessions[1],
                true,
            ),
            (
                "session_snapshots",
                "session",
                "position",
                Number,
                &sessions[1],
                true,
            ),
            ("jobs", "id", "result", Text, job, true),
            ("jobs", "id", "spec", Text, job, true),
            ("jobs", "id", "seed", Number, job, true),
            ("jobs", "id", "model", Text, job, true),
            ("jobs", "id", "finished_at", Number, job, true),
            ("jobs", "id", "spec", Text, waiting, true),
            ("traces", "job", "body", Bytes, job, true),
            ("checkpoints", "job", "body", Bytes, interrupted, false),
        ];
        let column = |&(table, key, column, kind, id, is_read): &(_, _, _, _, &str, _)| Thing {
            id: id.to_owned(),
            part: Part::Column {
                table,
                key,
                column,
                kind,
            },
            is_read,
        };
        let blob = |(key, id): (String, &str), is_read| Thing {
            id: id.to_owned(),
            part: Part::Blob(key),
            is_read,
        };
        let of_dataset = |id: &'_ String| (format!("datasets/{id}/data"), id.clone());
        for (key, id) in datasets.iter().map(of_dataset) {
            // The requests read all rows of these short datasets.
            self.things.push(blob((key, &id), true));
        }
        let cells = format!("datasets/{}/cells", datasets[2]);
        self.things.push(blob((cells, &datasets[2]), false));
        let key = format!("jobs/{waiting}/0/data");
        self.things.push(blob((key, waiting), false));
        self.things.extend(columns.iter().map(column));
    }

    async fn open(&self) -> app::Service {
        app::Service::open(&self.settings).await.unwrap()
    }

    async fn close(&self, service: &app::Service) {
        service.jobs().store.close().await;
    }

    /// The answers of a new service, which has nothing in its cache.
    pub async fn ask_all(&self) -> Answers {
        self.try_ask_all().await.expect("a service that starts")
    }

    /// Like [`Self::ask_all`], or `None` if the service does not start.
    pub async fn try_ask_all(&self) -> Option<Answers> {
        let service = app::Service::open(&self.settings).await.ok()?;
        let asked = Asked(&service);
        let mut answers = Vec::new();
        for (method, path, body) in &self.questions {
            let headers = [("content-type", "application/json")];
            let headers = if body.is_empty() { &[][..] } else { &headers };
            let answer = asked
                .send(request(method, path, headers, body.clone()))
                .await;
            answers.push((format!("{method} {path} {body}"), answer));
        }
        self.close(&service).await;
        Some(answers)
    }

    pub fn checkpoint_of(job: &str) -> Thing {
        Thing {
            id: job.to_owned(),
            part: Part::Column {
                table: "checkpoints",
                key: "job",
                column: "body",
                kind: Kind::Bytes,
            },
            is_read: false,
        }
    }

    pub async fn result_of(&self, job: &str) -> Value {
        let service = self.open().await;
        service.jobs().start();
        let asked = Asked(&service);
        let path = format!("/v1/jobs/{job}");
        let mut result = until("the job to end", async || {
            let (_, job) = asked.send(request("GET", &path, &[], "")).await;
            let job: Value = serde_json::from_str(&job).unwrap();
            (job["status"] == "succeeded").then(|| job["result"].clone())
        })
        .await;
        service.jobs().stop(Duration::from_secs(5)).await;
        self.close(&service).await;
        for other in ["seconds", "model"] {
            result[other] = Value::Null;
        }
        result
    }

    pub async fn blob(&self, thing: &Thing) -> Vec<u8> {
        self.blobs.get(key(thing)).await.unwrap().unwrap().to_vec()
    }

    pub async fn replace_blob(&self, thing: &Thing, bytes: Option<Vec<u8>>) {
        match bytes {
            Some(bytes) => self.blobs.put(key(thing), bytes.into()).await,
            None => self.blobs.delete(key(thing)).await,
        }
        .unwrap();
    }

    pub fn database_file(&self) -> PathBuf {
        self.directory.path().join("halfspace.sqlite")
    }
}
