//! `halfspace backup`: copies of a store that is in use, and services that run on the copies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::service::{Client, Program, long_job, short_job, train, until};

/// Total number of examples that each session learns.
const SESSION_EXAMPLES: usize = 3_000;

/// Examples per request to a session.
const PART: usize = 100;

/// The command line of a backup, without settings from the environment.
fn command(data_dir: &Path, target: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_halfspace"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("HALFSPACE_")) {
        command.env_remove(name);
    }
    command
        .arg("backup")
        .arg(target)
        .arg("--data-dir")
        .arg(data_dir);
    command.stdin(Stdio::null());
    command
}

async fn backup(data_dir: &Path, target: &Path) -> Output {
    let mut command = command(data_dir, target);
    let output = tokio::task::spawn_blocking(move || command.output());
    output.await.unwrap().unwrap()
}

/// Runs a backup that must succeed and returns its output.
async fn backed_up(data_dir: &Path, target: &Path) -> String {
    let output = backup(data_dir, target).await;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    assert!(!incomplete(target).exists());
    String::from_utf8(output.stdout).unwrap()
}

fn incomplete(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap().to_str().unwrap();
    target.with_file_name(format!("{name}.incomplete"))
}

/// Reads all pages of a list.
async fn all(client: Client, list: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let mut query = "limit=100".to_owned();
    loop {
        let page = client
            .get(&format!("{list}?{query}"))
            .await
            .expect(200)
            .json();
        items.extend(page["items"].as_array().unwrap().clone());
        let Some(cursor) = page["next_cursor"].as_str() else {
            return items;
        };
        query = format!("limit=100&cursor={cursor}");
    }
}

async fn post(client: Client, path: &str, body: &Value) -> Value {
    let answer = client.post(path, body, None).await.unwrap();
    assert!(answer.status.is_success(), "{}", answer.text());
    answer.json()
}

fn path_of(list: &str, document: &Value) -> String {
    format!("{list}/{}", document["id"].as_str().unwrap())
}

/// Labelled examples of n = 24 as NDJSON, the same at each call.
fn lines(count: usize) -> Vec<String> {
    let line = |index: usize| {
        let bits = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x: String = (0..24)
            .map(|bit| if bits >> bit & 5 == 5 { '1' } else { '0' })
            .collect();
        let y = if x[..3].contains('1') { 1 } else { -1 };
        format!("{{\"x\":\"{x}\",\"y\":{y}}}\n")
    };
    (0..count).map(line).collect()
}

async fn upload(client: Client, examples: usize) -> Value {
    let headers = [("content-type", "application/x-ndjson")];
    let body = lines(examples).concat();
    let answer = client
        .send("POST", "/v1/datasets", &headers, body.as_bytes())
        .await;
    answer.unwrap().expect(201).json()
}

/// Teaches a session the next part. Returns the number of examples that the session has learnt.
async fn feed_part(client: Client, path: &str, lines: &[String]) -> usize {
    let session = client.get(path).await.expect(200).json();
    let stands = session["position"].as_u64().unwrap() as usize;
    let part = lines[stands..lines.len().min(stands + PART)].concat();
    let if_match = format!("\"{stands}\"");
    let headers = [
        ("content-type", "application/x-ndjson"),
        ("if-match", if_match.as_str()),
    ];
    let path = format!("{path}/examples");
    let answer = client.send("POST", &path, &headers, part.as_bytes()).await;
    stands + answer.unwrap().expect(200).text().lines().count()
}

/// Teaches a session all remaining examples and returns its document.
async fn fed_to_the_end(client: Client, path: &str, lines: &[String]) -> Value {
    while feed_part(client, path, lines).await < lines.len() {}
    client.get(path).await.expect(200).json()
}

/// A training on inline data, which lie in a blob while the job is queued.
fn job_with_data(seed: u64) -> Value {
    let examples: Vec<Value> = lines(40)
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let data = json!({"labelled": {"examples": examples}});
    let mut job = train(json!({"name": "perceptron"}), data);
    job["train"]["seed"] = json!(seed);
    job
}

/// Records that are acknowledged before a backup begins.
struct Known {
    jobs: Vec<Value>,
    datasets: Vec<Value>,
    models: Vec<Value>,
    sessions: Vec<String>,
}

/// Makes ended jobs with their models, a running job, queued jobs behind it, datasets and sessions.
async fn populated(client: Client) -> (Known, String) {
    let mut models = Vec::new();
    for _ in 0..3 {
        let answer = client.post("/v1/jobs", &short_job(), Some("wait=30")).await;
        let job = answer.unwrap().expect(200).json();
        models.push(json!({"id": job["result"]["model"]}));
    }
    let datasets = vec![upload(client, 200).await, upload(client, 4_000).await];
    let blocker = post(client, "/v1/jobs", &long_job(1)).await;
    let blocker = path_of("/v1/jobs", &blocker);
    client.until_status(&blocker, "running").await;
    for seed in 0..3 {
        post(client, "/v1/jobs", &job_with_data(seed)).await;
    }
    let data = json!({"dataset": datasets[1]["id"]});
    post(client, "/v1/jobs", &train(json!({"name": "winnow"}), data)).await;
    let mut sessions = Vec::new();
    for learner in ["directed-drift", "perceptron", "winnow"] {
        let asked = json!({"learner": {"name": learner}, "n": 24, "seed": 9});
        let session = post(client, "/v1/sessions", &asked).await;
        sessions.push(path_of("/v1/sessions", &session));
    }
    let jobs = all(client, "/v1/jobs").await;
    let known = Known {
        jobs,
        datasets,
        models,
        sessions,
    };
    (known, blocker)
}

/// Requests that create, change and delete records while a backup is taken.
struct Load<'a> {
    client: Client,
    is_over: &'a AtomicBool,
    rounds: AtomicU64,
}

impl Load<'_> {
    /// Queues and cancels jobs, so that their blobs exist for milliseconds.
    async fn jobs(&self) {
        while !self.is_over.load(Ordering::Relaxed) {
            let job = post(self.client, "/v1/jobs", &job_with_data(77)).await;
            let cancel = format!("{}/cancel", path_of("/v1/jobs", &job));
            let cancelled = self.client.send("POST", &cancel, &[], b"").await;
            cancelled.unwrap().expect(202);
            self.rounds.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn datasets(&self) {
        while !self.is_over.load(Ordering::Relaxed) {
            let dataset = upload(self.client, 50).await;
            let path = path_of("/v1/datasets", &dataset);
            let deleted = self.client.send("DELETE", &path, &[], b"").await;
            deleted.unwrap().expect(204);
        }
    }

    async fn session(&self, path: &str, lines: &[String]) {
        while !self.is_over.load(Ordering::Relaxed) {
            if feed_part(self.client, path, lines).await == lines.len() {
                return;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backup_under_load_is_served_and_its_sessions_continue() {
    let directory = tempfile::tempdir().unwrap();
    let (data_dir, target) = (directory.path().join("data"), directory.path().join("copy"));
    let program = Program::start(&data_dir, &["--workers", "1"]);
    let client = program.client();
    let (known, blocker) = populated(client).await;
    let lines = lines(SESSION_EXAMPLES);
    let is_over = AtomicBool::new(false);
    let load = Load {
        client,
        is_over: &is_over,
        rounds: AtomicU64::new(0),
    };
    let taken = async {
        until("the load to begin", async || {
            (load.rounds.load(Ordering::Relaxed) > 2).then_some(())
        })
        .await;
        let printed = backed_up(&data_dir, &target).await;
        is_over.store(true, Ordering::Relaxed);
        printed
    };
    let sessions = &known.sessions;
    let (printed, ..) = tokio::join!(
        taken,
        load.jobs(),
        load.datasets(),
        load.session(&sessions[0], &lines),
        load.session(&sessions[1], &lines),
        load.session(&sessions[2], &lines),
    );
    assert!(
        printed.contains("to restore: halfspace --data-dir"),
        "{printed}"
    );
    assert!(load.rounds.load(Ordering::Relaxed) > 2);

    let restored = Program::start(&target, &["--workers", "1"]);
    let copy = restored.client();
    let cancel = format!("{blocker}/cancel");
    copy.send("POST", &cancel, &[], b"")
        .await
        .unwrap()
        .expect(202);
    let jobs = all(copy, "/v1/jobs").await;
    for job in &known.jobs {
        assert!(
            jobs.iter().any(|found| found["id"] == job["id"]),
            "{job} is lost"
        );
    }
    for job in &jobs {
        let path = path_of("/v1/jobs", job);
        let ended = until(&format!("{path} to end"), async || {
            let job = copy.get(&path).await.expect(200).json();
            (!job["finished_at"].is_null()).then_some(job)
        })
        .await;
        // A job whose data are missing in the copy would fail.
        let is_cancelled = ended["seed"] == 77 || path == blocker;
        let expected: &[&str] = match is_cancelled {
            true => &["cancelled", "succeeded"],
            false => &["succeeded"],
        };
        assert!(
            expected.contains(&ended["status"].as_str().unwrap()),
            "{ended}"
        );
    }
    for model in &known.models {
        let path = path_of("/v1/models", model);
        let expected = client.get(&path).await.expect(200).json();
        assert_eq!(copy.get(&path).await.expect(200).json(), expected);
    }
    for dataset in &known.datasets {
        let path = path_of("/v1/datasets", dataset);
        assert_eq!(copy.get(&path).await.expect(200).json(), *dataset);
        let data = json!({"dataset": dataset["id"]});
        // The digest in the job's document shows that the copy has the same data.
        let job = train(json!({"name": "perceptron"}), data);
        let answer = copy.post("/v1/jobs", &job, Some("wait=30")).await.unwrap();
        let job = answer.expect(200).json();
        assert_eq!(
            (&job["status"], &job["data_sha256"]),
            (&json!("succeeded"), &dataset["sha256"])
        );
    }
    for dataset in all(copy, "/v1/datasets").await {
        let path = format!("{}/examples", path_of("/v1/datasets", &dataset));
        copy.get(&path).await.expect(200);
    }
    for session in sessions {
        let expected = fed_to_the_end(client, session, &lines).await;
        assert_eq!(fed_to_the_end(copy, session, &lines).await, expected);
    }
}

#[tokio::test]
async fn backup_of_a_stopped_store_reports_a_lost_blob() {
    let directory = tempfile::tempdir().unwrap();
    let (data_dir, target) = (directory.path().join("data"), directory.path().join("copy"));
    let program = Program::start(&data_dir, &[]);
    let dataset = upload(program.client(), 100).await;
    program.kill();
    // The target directory exists and is empty.
    fs::create_dir(&target).unwrap();
    let printed = backed_up(&data_dir, &target).await;
    assert!(printed.contains(" 1 blobs of "), "{printed}");
    let program = Program::start(&target, &[]);
    let path = path_of("/v1/datasets", &dataset);
    assert_eq!(
        program.client().get(&path).await.expect(200).json(),
        dataset
    );
    let examples = program.client().get(&format!("{path}/examples")).await;
    assert_eq!(
        examples.expect(200).json()["items"]
            .as_array()
            .unwrap()
            .len(),
        100
    );
    drop(program);
    let key = format!("datasets/{}/data", dataset["id"].as_str().unwrap());
    fs::remove_file(data_dir.join("blobs").join(&key)).unwrap();
    let output = backup(&data_dir, &directory.path().join("poor")).await;
    assert!(output.status.success());
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains(&key), "{errors}");
}

/// Starts a backup and kills it when the copy begins to grow.
async fn killed(data_dir: &Path, target: &Path) {
    let mut child: Child = command(data_dir, target)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let unfinished = incomplete(target);
    until("the copy to begin", || {
        let begun = unfinished.join("blobs").exists() || child.try_wait().unwrap().is_some();
        async move { begun.then_some(()) }
    })
    .await;
    let _ = child.kill();
    child.wait().unwrap();
}

#[tokio::test]
async fn killed_backup_leaves_no_copy_that_looks_whole() {
    let directory = tempfile::tempdir().unwrap();
    let (data_dir, target) = (directory.path().join("data"), directory.path().join("copy"));
    let program = Program::start(&data_dir, &[]);
    let mut datasets = Vec::new();
    for _ in 0..20 {
        datasets.push(upload(program.client(), 500).await);
    }
    let mut interrupted = 0;
    for _ in 0..10 {
        killed(&data_dir, &target).await;
        if target.exists() {
            // The backup finished before the kill, so the copy is whole.
            fs::remove_dir_all(&target).unwrap();
            continue;
        }
        interrupted += 1;
    }
    assert!(interrupted > 0, "the kills came too late");
    let printed = backed_up(&data_dir, &target).await;
    assert!(printed.contains(" 20 blobs of "), "{printed}");
    let restored = Program::start(&target, &[]);
    for dataset in &datasets {
        let path = path_of("/v1/datasets", dataset);
        assert_eq!(
            restored.client().get(&path).await.expect(200).json(),
            *dataset
        );
    }
}

#[tokio::test]
async fn backup_refuses_a_bad_source_or_target_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let data_dir = at("data");
    drop(Program::start(&data_dir, &[]));
    fs::create_dir(at("full")).unwrap();
    fs::write(at("full").join("mine"), b"").unwrap();
    fs::write(at("file"), b"").unwrap();
    fs::create_dir(at("others.incomplete")).unwrap();
    fs::write(at("others.incomplete").join("mine"), b"").unwrap();
    fs::create_dir(at("wrong")).unwrap();
    fs::write(
        at("wrong").join("halfspace.sqlite"),
        "no database ".repeat(1_000),
    )
    .unwrap();
    fs::create_dir(at("bare")).unwrap();
    fs::write(at("bare").join("halfspace.sqlite"), b"").unwrap();
    let cases = [
        (&data_dir, at("full"), "not empty"),
        (&data_dir, at("file"), "not a directory"),
        (&data_dir, at("others"), "contains other files"),
        (
            &data_dir,
            data_dir.join("copy"),
            "inside the data directory",
        ),
        (&data_dir, PathBuf::from("/"), "needs a name"),
        (&at("nowhere"), at("copy"), "no embedded store"),
        (&at("bare"), at("copy"), "no embedded store"),
        (&at("wrong"), at("copy"), "damaged"),
    ];
    for (data_dir, target, reason) in &cases {
        let output = backup(data_dir, target).await;
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{target:?}");
        assert!(errors.contains(reason), "{target:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    assert!(!at("copy").exists() && !at("copy.incomplete").exists());
    assert!(!at("nowhere").exists());
    assert!(at("full").join("mine").exists() && at("others.incomplete").join("mine").exists());
    // A newer program has written the store.
    let database =
        sqlx::sqlite::SqliteConnectOptions::new().filename(data_dir.join("halfspace.sqlite"));
    let mut connection = sqlx::ConnectOptions::connect(&database).await.unwrap();
    sqlx::raw_sql("UPDATE _sqlx_migrations SET version = 9999 WHERE version = 1")
        .execute(&mut connection)
        .await
        .unwrap();
    sqlx::Connection::close(connection).await.unwrap();
    let output = backup(&data_dir, &at("copy")).await;
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("schema version 9999"), "{errors}");
    assert!(!at("copy").exists() && !at("copy.incomplete").exists());
}
