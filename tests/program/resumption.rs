//! A long job whose process is killed or stopped resumes from its last checkpoint, with the same result as if it had
//! not been interrupted.

use std::path::Path;

use serde_json::{Value, json};

use crate::service::{Client, Program, TestDatabase, endless, train, until};

/// Examples of the first try. The number grows if the job was too short to be interrupted twice.
const EXAMPLES: u64 = 1_000_000;

const SETTINGS: [&str; 6] = [
    "--checkpoint-seconds",
    "1",
    "--lease-seconds",
    "2",
    "--workers",
    "2",
];

/// A job on generated examples, and a job on a sample in a different order each pass.
fn jobs() -> [Value; 2] {
    let mut drawn = train(json!({"name": "directed-drift"}), endless(201));
    drawn["train"]["stop"] = json!({"max_examples": EXAMPLES});
    drawn["train"]["trace"] = json!(true);
    let row = |row: usize| {
        let x: String = (0..20)
            .map(|bit| if row >> bit & 1 == 1 { '1' } else { '0' })
            .collect();
        json!({"x": x, "y": if (row * 7919).is_multiple_of(3) { 1 } else { -1 }})
    };
    let examples: Vec<Value> = (0..400).map(row).collect();
    let learner = json!({"name": "perceptron", "params": {"order": "shuffled"}});
    let mut shuffled = train(learner, json!({"labelled": {"examples": examples}}));
    shuffled["train"]["stop"] = json!({"max_examples": EXAMPLES, "max_passes": 1_u64 << 50});
    shuffled["train"]["holdout"] = json!(0.2);
    [drawn, shuffled].map(|mut job| {
        job["train"]["seed"] = json!(5);
        job
    })
}

async fn submitted(client: Client, job: &Value) -> String {
    let answer = client.post("/v1/jobs", job, None).await.unwrap();
    answer.expect(202).header("location").unwrap().to_owned()
}

/// The part of the result that must be the same for each run of a job.
fn settled(job: &Value) -> Value {
    let mut result = job["result"].clone();
    result["model"] = Value::Null;
    result["seconds"] = Value::Null;
    result
}

/// Waits for the first checkpoint of a process, which follows the first progress. Returns `None` if the job
/// ended without a checkpoint.
async fn until_checkpoint(client: Client, path: &str) -> Option<()> {
    until("a checkpoint", || async move {
        let metrics = client.get("/metrics").await.expect(200);
        let counter = "halfspace_checkpoints_total ";
        if metrics.text().lines().any(|line| line.starts_with(counter)) {
            return Some(Some(()));
        }
        let job = client.get(path).await.expect(200).json();
        (job["status"] == "succeeded").then_some(None)
    })
    .await
}

/// The example counts in the progress of an ended job, one list per time that the job ran.
async fn shown(client: Client, path: &str) -> Vec<Vec<u64>> {
    let events = client.get(&format!("{path}/events")).await.expect(200);
    let mut attempts = Vec::new();
    for line in events.text().lines() {
        let Some(data) = line.strip_prefix("data: ") else {
            continue;
        };
        let data: Value = serde_json::from_str(data).unwrap();
        if data["status"] == "running" {
            attempts.push(Vec::new());
        } else if let (Some(examples), Some(last)) =
            (data["examples"].as_u64(), attempts.last_mut())
        {
            last.push(examples);
        }
    }
    attempts
}

#[tokio::test]
async fn a_long_job_goes_on_after_sigkill_and_sigterm() {
    goes_on("sqlite").await;
    if let Some(database) = TestDatabase::new().await {
        goes_on(&database.url()).await;
    }
}

async fn goes_on(database_url: &str) {
    let settings = [&SETTINGS[..], &["--database-url", database_url]].concat();
    let directory = tempfile::tempdir().unwrap();
    for mut job in jobs() {
        let path = loop {
            if let Some(path) = disturbed(directory.path(), &settings, &job).await {
                break path;
            }
            let stop = &mut job["train"]["stop"]["max_examples"];
            *stop = json!(4 * stop.as_u64().unwrap());
        };
        let program = Program::start(directory.path(), &settings);
        let client = program.client();
        let undisturbed = submitted(client, &job).await;
        let ended = client.until_status(&path, "succeeded").await;
        // The kill counts as an attempt, and the stop does not.
        assert_eq!(ended["attempt"], 2);
        let attempts = shown(client, &path).await;
        assert_eq!(attempts.len(), 3, "{attempts:?}");
        // The first progress of an attempt precedes its first checkpoint.
        assert!(attempts[1][0] >= attempts[0][0], "{attempts:?}");
        // A stop loses no work. The rest of the job may end before progress is reported.
        let after_stop = attempts[2].first();
        assert!(
            after_stop.is_none() || after_stop >= attempts[1].last(),
            "{attempts:?}"
        );
        for shown in &attempts {
            assert!(
                shown.is_sorted() && shown.first() != Some(&0),
                "{attempts:?}"
            );
        }
        let undisturbed = client.until_status(&undisturbed, "succeeded").await;
        assert_eq!(settled(&ended), settled(&undisturbed));
        assert_eq!(undisturbed["attempt"], 1);
    }
}

/// Runs a job whose process is killed after a checkpoint, and whose next process is stopped after another
/// checkpoint. Returns `None` if the job ended earlier.
async fn disturbed(directory: &Path, settings: &[&str], job: &Value) -> Option<String> {
    let program = Program::start(directory, settings);
    let path = submitted(program.client(), job).await;
    until_checkpoint(program.client(), &path).await?;
    program.kill();
    let mut program = Program::start(directory, settings);
    until_checkpoint(program.client(), &path).await?;
    program.terminate();
    assert!(program.ended().await.success());
    let program = Program::start(directory, &[settings, &["--role", "api"]].concat());
    let job = program.client().get(&path).await.expect(200).json();
    (job["status"] == "queued").then_some(path)
}
