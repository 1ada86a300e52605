//! A process dies while it stores an object of a bucket as a dataset: the next one begins again with the same version
//! of the object, and nothing of the first attempt remains.

use std::path::Path;

use serde_json::{Value, json};

use crate::service::{Client, Object, Program, SourceServer, until};

/// A part of an object that the service asks for at once.
const PART_BYTES: u64 = 4 << 20;

/// Rows of numbers, which are written to the spool while they arrive.
fn table() -> Vec<u8> {
    let row = |row: usize| {
        format!(
            "{}.5,{}.25,{},{}\n",
            row % 1000,
            row % 777,
            row % 13,
            row % 2
        )
    };
    (0..1_200_000).map(row).collect::<String>().into_bytes()
}

struct Rig {
    server: SourceServer,
    directory: tempfile::TempDir,
    settings: Vec<String>,
}

impl Rig {
    async fn new() -> Self {
        let server = SourceServer::start().await;
        server.put("lake/in/t.csv", Object::bytes(table()));
        Self {
            settings: server.settings("s3://lake/in/"),
            directory: tempfile::tempdir().unwrap(),
            server,
        }
    }

    fn start(&self) -> Program {
        let settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        Program::start(self.directory.path(), &settings)
    }

    /// Begins an import and kills the process after it has read three parts. Returns the path of the job.
    async fn killed(&self) -> String {
        self.server.hold_from(3 * PART_BYTES);
        let program = self.start();
        let body = json!({"source": "s3://lake/in/t.csv"});
        let path = "/v1/datasets/import?labels=last&header=false";
        let answer = program.client().post(path, &body, None).await.unwrap();
        let job = answer.expect(202).header("location").unwrap().to_owned();
        until("three parts", async || {
            let job = program.client().get(&job).await.json();
            (job["progress"]["bytes"] == 3 * PART_BYTES).then_some(())
        })
        .await;
        program.kill();
        self.server.release();
        job
    }
}

/// The files below a directory that is read to the bottom.
fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

async fn datasets(client: Client) -> Vec<Value> {
    let list = client.get("/v1/datasets").await.expect(200).json();
    list["items"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn import_begins_again_after_a_kill_and_makes_one_dataset() {
    let rig = Rig::new().await;
    let job = rig.killed().await;
    let program = rig.start();
    let client = program.client();
    let ended = client.until_status(&job, "succeeded").await;
    let table = table();
    let uploaded = {
        let sent = client.send(
            "POST",
            "/v1/datasets?labels=last&header=false",
            &[("content-type", "text/csv")],
            &table,
        );
        sent.await.unwrap().expect(201).json()
    };
    assert_eq!(ended["result"]["sha256"], uploaded["sha256"]);
    let stored = datasets(client).await;
    assert_eq!(stored.len(), 2, "{stored:?}");
    assert_eq!(stored[1]["id"], ended["result"]["dataset"]);
    let blobs = files(&rig.directory.path().join("blobs/datasets"));
    assert_eq!(blobs.len(), 2, "{blobs:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn import_after_a_kill_refuses_another_version_of_the_object() {
    let rig = Rig::new().await;
    let job = rig.killed().await;
    rig.server
        .put("lake/in/t.csv", Object::bytes(table()).version(2));
    let program = rig.start();
    let client = program.client();
    let ended = client.until_status(&job, "failed").await;
    assert_eq!(ended["error"]["code"], "source-changed", "{ended}");
    assert_eq!(datasets(client).await, [] as [Value; 0]);
    let blobs = files(&rig.directory.path().join("blobs/datasets"));
    assert!(blobs.is_empty(), "{blobs:?}");
}
