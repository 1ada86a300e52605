//! If the place for blobs is unusable, the service does not start, and its error names the setting without showing a
//! secret.

use std::path::Path;

use tokio::net::{TcpListener, TcpSocket};

use crate::service::{Program, S3_SECRET, TestBucket, TestDatabase, TinyS3, until};

const TOKEN: &str = "s3cret-token";

/// Starts a service that must fail, and returns its output.
fn refused(directory: &Path, settings: &[String], role: &str) -> String {
    let mut settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    settings.extend(["--role", role, "--aws-session-token", TOKEN]);
    let (status, said) = Program::run(directory, &settings);
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(!said.contains("listens on"), "{said}");
    for secret in [S3_SECRET, TOKEN, "s3cret"] {
        assert!(!said.contains(secret), "{said}");
    }
    said
}

fn error(said: &str) -> &str {
    said.lines()
        .find(|line| line.starts_with("error: "))
        .unwrap()
}

/// The settings with another value for `name`.
fn with(settings: &[String], name: &str, value: &str) -> Vec<String> {
    let mut settings = settings.to_vec();
    let at = settings.iter().position(|setting| setting == name).unwrap();
    settings[at + 1] = value.to_owned();
    settings
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn start_names_the_operation_that_the_object_store_refuses() {
    let directory = tempfile::tempdir().unwrap();
    for (method, status, code, attempt) in [
        ("LIST", 403, "AccessDenied", "listed"),
        ("PUT", 403, "AccessDenied", "written"),
        ("GET", 403, "AccessDenied", "read"),
        ("DELETE", 403, "AccessDenied", "deleted"),
        ("", 403, "InvalidAccessKeyId", "listed"),
        ("", 403, "SignatureDoesNotMatch", "listed"),
        ("", 404, "NoSuchBucket", "listed"),
        ("", 301, "PermanentRedirect", "listed"),
    ] {
        let store = TinyS3::refusing(method, status, code).await;
        let bucket = TestBucket::at(store.address());
        for role in ["api", "worker"] {
            let said = refused(directory.path(), &bucket.settings(), role);
            let error = error(&said);
            let start = format!(
                "error: --blob-url {}: blobs cannot be {attempt} at this location",
                bucket.url()
            );
            assert!(error.starts_with(&start), "{error}");
            assert!(status == 301 || error.contains(code), "{error}");
            assert!(!error.contains("Headers"), "{error}");
        }
    }
    // The same store without refusals is usable.
    let store = TinyS3::on(TcpListener::bind("127.0.0.1:0").await.unwrap());
    let settings = TestBucket::at(store.address()).settings();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let program = Program::start(directory.path(), &settings);
    program.client().get("/readyz").await.expect(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn start_waits_for_a_late_object_store() {
    let directory = tempfile::tempdir().unwrap();
    // The socket refuses connections until the store listens.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut settings = TestBucket::at(socket.local_addr().unwrap()).settings();
    settings.extend(["--wait-for-stores", "60"].map(str::to_owned));
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let (data, log) = (directory.path().join("data"), directory.path().join("log"));
    let _program = Program::start_silent("info", &log, &data, &settings);
    let said = async |text: &str| {
        until(text, async || {
            let said = std::fs::read_to_string(&log).unwrap();
            said.contains(text).then_some(said)
        })
        .await
    };
    said("waiting for the stores").await;
    let _store = TinyS3::on(socket.listen(16).unwrap());
    assert!(!said("halfspace serves").await.contains(S3_SECRET));
}

#[test]
fn start_refuses_a_bad_blob_url_before_it_creates_anything() {
    let bucket = TestBucket::at("127.0.0.1:1".parse().unwrap()).settings();
    for (name, value, told) in [
        (
            "--blob-url",
            "s3cret",
            "--blob-url: the value must be folder",
        ),
        (
            "--blob-url",
            "s3://ada:s3cret@half/a",
            "AWS_SECRET_ACCESS_KEY",
        ),
        ("--blob-url", "s3://S3cret", "the name of a bucket"),
        (
            "--aws-endpoint-url",
            "s3cret",
            "--blob-url: AWS_ENDPOINT_URL",
        ),
        ("--aws-access-key-id", "", "AWS_ACCESS_KEY_ID"),
        (
            "--aws-access-key-id",
            "s3cret\n",
            "AWS_ACCESS_KEY_ID contains",
        ),
        // Nothing listens on port 1 of the loopback address, so the listing fails.
        (
            "--aws-region",
            "eu-central-1",
            "--blob-url s3://halfspace/it: blobs cannot be listed at this location",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut settings = bucket.clone();
        settings.extend(["--aws-region".to_owned(), "us-east-1".to_owned()]);
        let said = refused(directory.path(), &with(&settings, name, value), "all");
        assert!(error(&said).contains(told), "{said}");
        assert!(!directory.path().join("blobs").exists());
    }
    let directory = tempfile::tempdir().unwrap();
    let mut settings = bucket;
    settings.extend(["--blob-cache-bytes-max".to_owned(), "1000".to_owned()]);
    let said = refused(directory.path(), &settings, "all");
    assert!(
        error(&said).starts_with("error: --blob-cache-bytes-max"),
        "{said}"
    );
}

#[test]
fn start_refuses_a_blob_folder_that_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("blobs elsewhere");
    std::fs::write(&folder, b"a file").unwrap();
    let url = format!("file://{}", folder.display());
    let settings = ["--blob-url".to_owned(), url.clone()];
    let said = refused(&directory.path().join("data"), &settings, "all");
    assert!(
        error(&said).starts_with(&format!("error: --blob-url {url}: ")),
        "{said}"
    );
}

#[tokio::test]
async fn blobs_in_a_folder_elsewhere_are_kept_there() {
    let directory = tempfile::tempdir().unwrap();
    let (data_dir, folder) = (
        directory.path().join("data"),
        directory.path().join("elsewhere"),
    );
    let url = format!("file://{}", folder.display());
    let program = Program::start(&data_dir, &["--blob-url", &url]);
    let headers = [("content-type", "text/csv")];
    let stored = program
        .client()
        .send(
            "POST",
            "/v1/datasets?labels=first",
            &headers,
            b"1,1\n-1,0\n",
        )
        .await;
    let dataset = stored.unwrap().expect(201).id();
    assert!(
        folder
            .join("datasets")
            .join(&dataset)
            .join("data")
            .is_file()
    );
    assert!(!data_dir.join("blobs").exists());
    drop(program);
    // Without the setting the database would miss its blobs.
    let said = refused(&data_dir, &[], "all");
    assert!(
        error(&said).contains("--blob-url folder: the blobs of this database"),
        "{said}"
    );
    // A backup would lack the blobs.
    let target = directory.path().join("backup");
    let settings = ["--blob-url", &url, "backup", target.to_str().unwrap()];
    let (status, said) = Program::run(&data_dir, &settings);
    assert_eq!(status.code(), Some(1));
    assert!(
        error(&said).starts_with("error: --blob-url: a backup copies only a data directory"),
        "{said}"
    );
    assert!(!target.exists());
}

#[tokio::test]
async fn start_refuses_a_second_blob_location_for_one_database() {
    let (Some(database), Some(bucket)) = (TestDatabase::new().await, TestBucket::new()) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (directory.path().join("one"), directory.path().join("other"));
    let of = |bucket: &TestBucket| {
        let url = ["--database-url".to_owned(), database.url()];
        [bucket.settings(), url.to_vec()].concat()
    };
    let settings = of(&bucket);
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let first = Program::start(&one, &settings);
    let _second = Program::start(&other, &settings);
    first.client().get("/readyz").await.expect(200);
    // The folder of each process, and another prefix in the bucket.
    let folder = ["--database-url".to_owned(), database.url()];
    for settings in [folder.to_vec(), of(&TestBucket::new().unwrap())] {
        for role in ["api", "worker"] {
            let said = refused(&other, &settings, role);
            let error = error(&said);
            assert!(error.starts_with("error: --blob-url "), "{said}");
            assert!(error.contains("need the same location"), "{said}");
            assert!(error.contains(&bucket.url()), "{said}");
        }
    }
    // Another database does not take these blobs, because it would sweep every blob that it does not name.
    let said = refused(&directory.path().join("third"), &bucket.settings(), "all");
    assert!(
        error(&said).contains("belong to another database"),
        "{said}"
    );
}

/// The file-size limit of the process makes the disk of the blob cache look full.
#[cfg(unix)]
#[tokio::test]
async fn full_disk_under_the_blob_cache_is_reported_and_recovers() {
    let Some(bucket) = TestBucket::new() else {
        return;
    };
    const MEBIBYTES: u32 = 2_048;
    let directory = tempfile::tempdir().unwrap();
    let settings = bucket.settings();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let program = Program::start_on_a_small_disk(4 * MEBIBYTES, directory.path(), &settings);
    let client = program.client();
    let headers = [("content-type", "application/octet-stream")];
    let body = vec![0b1010_0101; 5 << 20];
    let stored = client
        .send("POST", "/v1/datasets?n=8192", &headers, &body)
        .await;
    let dataset = stored.unwrap().expect(201).id();
    let job = serde_json::json!({"train": {
        "learner": {"name": "directed-drift"},
        "data": {"dataset": dataset},
        "stop": {"max_passes": 1},
    }});
    let full = client.post("/v1/jobs", &job, None).await.unwrap();
    assert_eq!(full.problem(507), "storage-full");
    drop(program);
    let program = Program::start(directory.path(), &settings);
    let job = program
        .client()
        .post("/v1/jobs", &job, Some("wait=30"))
        .await;
    assert_eq!(job.unwrap().expect(200).json()["status"], "succeeded");
}
