//! `POST /v1/datasets/import`: objects of buckets become datasets in jobs, and nothing outside the allowed prefixes is
//! fetched.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::service::{Answer, Object, Service, SourceServer, request, until};

/// 60 rows of numbers, words, truth values and gaps.
const PARQUET: &[u8] =
    include_bytes!("../../crates/halfspace-formats/src/tests/parquet_files/zstd.parquet");

const CSV: &str = "a,b,class\n1,0,yes\n0,1,no\n1,1,yes\n0,1,yes\n";

/// A server, and a service that may read `s3://lake/in/`.
async fn rig() -> (SourceServer, Service) {
    let server = SourceServer::start().await;
    let service = with(&server, &[]).await;
    (server, service)
}

async fn with(server: &SourceServer, further: &[&str]) -> Service {
    let settings = server.settings("s3://lake/in/");
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let settings = [settings.as_slice(), &["--workers", "2"], further].concat();
    Service::with(&settings).await
}

async fn import(service: &Service, query: &str, body: &Value) -> Answer {
    let path = format!("/v1/datasets/import?{query}");
    service.post_json(&path, body).await
}

/// Imports an object and returns the job after its end.
async fn imported(service: &Service, query: &str, body: &Value) -> Value {
    let path = format!("/v1/datasets/import?{query}");
    let headers = [("content-type", "application/json"), ("prefer", "wait=30")];
    let answer = service.send(request("POST", &path, &headers, body.to_string()));
    answer.await.expect(200).json()
}

fn source(key: &str) -> Value {
    json!({"source": format!("s3://lake/{key}")})
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

async fn datasets(service: &Service) -> usize {
    let list = service.get("/v1/datasets").await.expect(200).json();
    list["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn source_becomes_the_dataset_of_the_same_upload() {
    let (server, service) = rig().await;
    let zstd = zstd::encode_all(CSV.as_bytes(), 1).unwrap();
    let jsonl = "{\"x\":\"101\",\"y\":1}\n{\"x\":\"010\",\"y\":-1}\n";
    for (key, object, query, media_type, body) in [
        ("t.csv", Object::bytes(CSV), "", "text/csv", CSV.as_bytes()),
        (
            "t.csv.gz",
            Object::bytes(gzip(CSV.as_bytes())),
            "labels=class",
            "text/csv",
            CSV.as_bytes(),
        ),
        (
            "t.csv.zst",
            Object::bytes(zstd),
            "",
            "text/csv",
            CSV.as_bytes(),
        ),
        (
            "coded",
            Object::bytes(gzip(CSV.as_bytes()))
                .of_type("text/csv")
                .encoded("gzip"),
            "",
            "text/csv",
            CSV.as_bytes(),
        ),
        (
            "a b/c=1/ü+.jsonl",
            Object::bytes(jsonl),
            "",
            "application/x-ndjson",
            jsonl.as_bytes(),
        ),
        (
            "t.parquet",
            Object::bytes(PARQUET).of_type("binary/octet-stream"),
            "labels=label&missing=drop",
            "application/vnd.apache.parquet",
            PARQUET,
        ),
    ] {
        let upload = format!("/v1/datasets?{query}");
        let uploaded = service.post_as(&upload, media_type, body.to_vec());
        let uploaded = uploaded.await.expect(201).json();
        let bytes = match key {
            "t.parquet" => PARQUET.len() as u64,
            "t.csv" => CSV.len() as u64,
            _ => 0,
        };
        server.put(&format!("lake/in/{key}"), object);
        let mut asked = source(&format!("in/{key}"));
        asked["name"] = json!("from the lake");
        let job = imported(&service, query, &asked).await;
        assert_eq!(
            (&job["status"], &job["task"]),
            (&json!("succeeded"), &json!("import")),
            "{job}"
        );
        let result = &job["result"];
        assert_eq!(result["sha256"], uploaded["sha256"], "{key}");
        assert_eq!(result["source"], asked["source"]);
        assert_eq!(result["media_type"], media_type);
        assert_eq!(job["progress"]["fraction"], 1.0);
        assert_eq!(job["progress"]["bytes"], job["progress"]["bytes_total"]);
        if bytes > 0 {
            assert_eq!(
                (&result["source_bytes"], &job["progress"]["bytes"]),
                (&json!(bytes), &json!(bytes))
            );
        }
        let path = format!("/v1/datasets/{}", result["dataset"].as_str().unwrap());
        let mut dataset = service.get(&path).await.expect(200).json();
        assert_eq!(dataset["name"], "from the lake");
        let mut uploaded = uploaded;
        for own in ["id", "name", "created_at"] {
            dataset[own].take();
            uploaded[own].take();
        }
        assert_eq!(dataset, uploaded, "{key}");
        // The dataset is used as any other.
        let train = json!({"train": {"learner": {"name": "perceptron"}, "data": {"dataset": result["dataset"]},
            "seed": 1, "stop": {"max_passes": 2}}});
        assert_eq!(service.run(&train).await["status"], "succeeded");
        service.delete(&path).await.expect(204);
    }
}

#[tokio::test]
async fn source_outside_the_prefixes_is_never_asked_for() {
    let (server, service) = rig().await;
    for key in [
        "lake/in",
        "lake/inside/x.csv",
        "lake/other/x.csv",
        "lake/secret.csv",
        "pond/in/x.csv",
    ] {
        server.put(key, Object::bytes(CSV));
    }
    for (address, named) in [
        ("s3://lake/inside/x.csv", "--sources"),
        ("s3://lake/in", "--sources"),
        ("s3://lake/other/x.csv", "--sources"),
        ("s3://pond/in/x.csv", "--sources"),
        ("s3://lake/in/../secret.csv", "`..`"),
        ("s3://lake/in/%2e%2e/secret.csv", "percent-encoding"),
        ("s3://lake/in/%2E%2E%2Fsecret.csv", "percent-encoding"),
        ("s3://lake/in/..%2fsecret.csv", "percent-encoding"),
        ("s3://lake/in\\..\\secret.csv", "percent-encoding"),
        ("s3://ada:pw@lake/in/x.csv", "credentials"),
        ("s3://lake/in/x.csv?versionId=1", "query"),
        ("s3://lake/in/x.csv#top", "fragment"),
        ("s3://lake/in/", "single /"),
        ("s3://lake/in//x.csv", "single /"),
        ("s3://lake", "name an object"),
        ("s3://lake/", "name an object"),
        ("s3://", "name of a bucket"),
        ("", "s3://bucket/key"),
        ("https://lake/in/x.csv", "s3://bucket/key"),
        ("file:///etc/passwd", "s3://bucket/key"),
        ("http://169.254.169.254/latest/meta-data", "s3://bucket/key"),
    ] {
        let answer = import(&service, "", &json!({"source": address})).await;
        let problem = answer.json();
        assert_eq!(answer.problem(422), "bad-source", "{address}");
        assert_eq!(problem["errors"][0]["pointer"], "/source");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(named), "{address}: {detail}");
        assert!(!detail.contains("pw"), "{detail}");
    }
    assert_eq!(server.requests(), [] as [&str; 0]);
    let long = format!("s3://lake/in/{}", "a".repeat(2000));
    import(&service, "", &json!({"source": long}))
        .await
        .problem(422);
    assert_eq!(datasets(&service).await, 0);
}

#[tokio::test]
async fn redirect_of_a_source_is_not_followed() {
    let elsewhere = SourceServer::start().await;
    elsewhere.put("lake/in/x.csv", Object::bytes(CSV));
    let (server, service) = rig().await;
    server.put("lake/other/x.csv", Object::bytes(CSV));
    for status in [301, 302, 303, 307, 308] {
        for location in [
            format!("location: http://{}/lake/in/x.csv\r\n", elsewhere.address()),
            format!("location: http://{}/lake/other/x.csv\r\n", server.address()),
            String::new(),
        ] {
            server.put("lake/in/x.csv", Object::answering(status, &location));
            let answer = import(&service, "", &source("in/x.csv")).await;
            let detail = answer.json()["detail"].as_str().unwrap().to_owned();
            assert_eq!(answer.problem(422), "bad-source", "{status}");
            assert!(detail.contains("redirect"), "{detail}");
        }
    }
    assert_eq!(elsewhere.requests(), [] as [&str; 0]);
    let own = server.requests();
    assert!(
        own.iter().all(|request| request == "HEAD /lake/in/x.csv"),
        "{own:?}"
    );
}

#[tokio::test]
async fn redirect_after_the_request_for_a_source_is_not_followed() {
    let elsewhere = SourceServer::start().await;
    elsewhere.put("lake/in/x.csv", Object::bytes(CSV));
    let server = SourceServer::start().await;
    let settings = server.settings("s3://lake/in/");
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let service = Service::idle(&settings).await;
    server.put("lake/in/x.csv", Object::bytes(CSV));
    let job = import(&service, "", &source("in/x.csv")).await.expect(202);
    let path = job.header("location").unwrap().to_owned();
    let location = format!("location: http://{}/lake/in/x.csv\r\n", elsewhere.address());
    server.put("lake/in/x.csv", Object::answering(307, &location));
    service.compute();
    let job = service.until_status(&path, "failed").await;
    assert_eq!(job["error"]["code"], "source-refused", "{job}");
    assert_eq!(elsewhere.requests(), [] as [&str; 0]);
    assert_eq!(datasets(&service).await, 0);
}

#[tokio::test]
async fn source_that_cannot_be_read_is_refused_with_the_reason() {
    let (server, service) = rig().await;
    for (object, named) in [
        (None, "no such object"),
        (
            Some(Object::answering(403, "")),
            "credentials of the service",
        ),
        (Some(Object::bytes(CSV).encoded("br")), "Content-Encoding"),
    ] {
        if let Some(object) = object {
            server.put("lake/in/x.csv", object);
        }
        let answer = import(&service, "", &source("in/x.csv")).await;
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert_eq!(answer.problem(422), "bad-source");
        assert!(detail.contains(named), "{detail}");
    }
    server.put("lake/in/x", Object::bytes(CSV).of_type("text/plain"));
    let answer = import(&service, "", &source("in/x")).await;
    assert!(
        answer.json()["detail"]
            .as_str()
            .unwrap()
            .contains("`format`")
    );
    assert_eq!(answer.problem(422), "bad-source");
    let mut asked = source("in/x");
    asked["format"] = json!("doc");
    let answer = import(&service, "", &asked).await;
    assert_eq!(answer.json()["errors"][0]["pointer"], "/format");
    assert_eq!(answer.problem(400), "out-of-range");
    asked["format"] = json!("text/csv; charset=klingon");
    let answer = import(&service, "", &asked).await;
    assert!(answer.text().contains("klingon"), "{}", answer.text());
    assert_eq!(answer.problem(422), "bad-source");
    asked["format"] = json!("text/csv; charset=latin1");
    let answer = import(&service, "charset=utf-8", &asked).await;
    assert_eq!(answer.problem(400), "bad-option");
    asked["format"] = json!("csv");
    assert_eq!(imported(&service, "", &asked).await["status"], "succeeded");
}

#[tokio::test]
async fn source_that_changed_since_the_request_is_refused() {
    let server = SourceServer::start().await;
    let settings = server.settings("s3://lake/in/");
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let service = Service::idle(&settings).await;
    server.put("lake/in/x.csv", Object::bytes(CSV));
    server.put("lake/in/y.csv", Object::bytes(CSV));
    let mut paths = Vec::new();
    for key in ["in/x.csv", "in/y.csv"] {
        let job = import(&service, "", &source(key)).await.expect(202);
        paths.push(job.header("location").unwrap().to_owned());
    }
    // The same length and another version; and no object.
    server.put("lake/in/x.csv", Object::bytes(CSV).version(2));
    server.put("lake/in/y.csv", Object::answering(404, ""));
    service.compute();
    for (path, code, named) in [
        (&paths[0], "source-changed", "send the request again"),
        (&paths[1], "source-missing", "no such object"),
    ] {
        let job = service.until_status(path, "failed").await;
        assert_eq!(job["error"]["code"], code, "{job}");
        assert!(
            job["error"]["detail"].as_str().unwrap().contains(named),
            "{job}"
        );
    }
    assert_eq!(datasets(&service).await, 0);
}

#[tokio::test]
async fn source_without_the_setting_names_the_setting() {
    let service = Service::start().await;
    let answer = import(&service, "", &source("in/x.csv")).await;
    assert!(
        answer.json()["detail"]
            .as_str()
            .unwrap()
            .contains("--sources")
    );
    assert_eq!(answer.problem(422), "bad-source");
}

#[tokio::test]
async fn source_with_bad_data_fails_its_job_at_the_place() {
    let (server, service) = rig().await;
    server.put(
        "lake/in/bad.jsonl",
        Object::bytes("{\"x\":\"101\",\"y\":1}\n{\"x\":\"1\",\"y\":1}\n"),
    );
    server.put(
        "lake/in/cut.csv.gz",
        Object::bytes(&gzip(CSV.as_bytes())[..30]),
    );
    server.put("lake/in/cut.parquet", Object::bytes(&PARQUET[..600]));
    server.put("lake/in/empty.csv", Object::bytes(""));
    for (key, named) in [
        ("in/bad.jsonl", "line 2"),
        ("in/cut.csv.gz", "gzip"),
        ("in/cut.parquet", "truncated"),
        ("in/empty.csv", ""),
    ] {
        let job = imported(&service, "", &source(key)).await;
        assert_eq!(
            (&job["status"], &job["error"]["code"]),
            (&json!("failed"), &json!("bad-data")),
            "{job}"
        );
        assert!(
            job["error"]["detail"].as_str().unwrap().contains(named),
            "{job}"
        );
    }
    let job = imported(&service, "assume=reflected&labels=class", &{
        server.put("lake/in/t.csv", Object::bytes(CSV));
        source("in/t.csv")
    })
    .await;
    assert!(
        job["error"]["detail"].as_str().unwrap().contains("assume"),
        "{job}"
    );
    assert_eq!(datasets(&service).await, 0);
}

#[tokio::test]
async fn import_options_are_checked_before_the_job_exists() {
    let (server, service) = rig().await;
    server.put("lake/in/t.csv", Object::bytes(CSV));
    for (query, code, status) in [
        ("lables=class", "invalid-parameter", 400),
        ("missing=maybe", "invalid-parameter", 400),
        ("assume=never", "invalid-parameter", 400),
        (
            "encoding=ds_0198c1a5e0f77b3c9d2e4f5061728394",
            "unknown-dataset",
            422,
        ),
        (
            "encoding=mdl_0198c1a5e0f77b3c9d2e4f5061728394",
            "unknown-model",
            422,
        ),
    ] {
        let answer = import(&service, query, &source("in/t.csv")).await;
        let name = query.split('=').next().unwrap();
        assert_eq!(answer.json()["errors"][0]["parameter"], name, "{query}");
        assert_eq!(answer.problem(status), code);
    }
    let spec =
        json!({"import": {"source": "s3://lake/in/t.csv", "parameters": {"missing": "maybe"}}});
    let answer = service.post_json("/v1/jobs", &spec).await;
    assert_eq!(
        answer.json()["errors"][0]["pointer"],
        "/import/parameters/missing"
    );
    assert_eq!(answer.problem(400), "invalid-parameter");
    let jobs = service.get("/v1/jobs").await.json();
    assert_eq!(jobs["items"], json!([]));
}

#[tokio::test]
async fn import_takes_the_encoding_of_a_dataset() {
    let (server, service) = rig().await;
    server.put("lake/in/t.csv", Object::bytes(CSV));
    server.put("lake/in/more.csv", Object::bytes("b,class,a\n1,no,0\n"));
    let job = imported(&service, "labels=class", &source("in/t.csv")).await;
    let id = job["result"]["dataset"].as_str().unwrap();
    let job = imported(&service, &format!("encoding={id}"), &source("in/more.csv")).await;
    let path = |job: &Value| {
        format!(
            "/v1/datasets/{}",
            job["result"]["dataset"].as_str().unwrap()
        )
    };
    let more = service.get(&path(&job)).await.expect(200).json();
    assert_eq!(more["features"], json!(["a", "b"]));
    assert_eq!(more["class_examples"], json!([1, 0]));
}

#[tokio::test]
async fn import_job_repeats_by_its_request() {
    let (server, service) = rig().await;
    server.put("lake/in/t.csv", Object::bytes(CSV));
    let mut asked = source("in/t.csv");
    asked["name"] = json!("twice");
    let job = imported(&service, "labels=class", &asked).await;
    let again = json!({"name": "twice",
        "import": {"source": "s3://lake/in/t.csv", "parameters": {"labels": "class"}}});
    assert_eq!(job["request"], again);
    let second = service.run(&again).await;
    assert_eq!(second["result"]["sha256"], job["result"]["sha256"]);
    assert_ne!(second["result"]["dataset"], job["result"]["dataset"]);
}

#[tokio::test]
async fn import_shows_its_bytes_and_ends_at_a_cancel() {
    let (server, service) = rig().await;
    let rows = "1,0,1\n0,1,0\n".repeat(1 << 20);
    server.put("lake/in/long.csv", Object::bytes(rows.clone()));
    server.hold_from(8 << 20);
    let answer = import(&service, "labels=last&header=false", &source("in/long.csv"))
        .await
        .expect(202);
    let path = answer.header("location").unwrap().to_owned();
    let job = until("the first parts", async || {
        let job = service.get(&path).await.expect(200).json();
        (job["progress"]["bytes"].as_u64() == Some(8 << 20)).then_some(job)
    })
    .await;
    assert_eq!(job["progress"]["bytes_total"], rows.len());
    let fraction = job["progress"]["fraction"].as_f64().unwrap();
    assert!((0.6..0.7).contains(&fraction), "{fraction}");
    service.post(&format!("{path}/cancel")).await.expect(202);
    let job = service.until_status(&path, "cancelled").await;
    assert_eq!(
        (&job["result"], &job["error"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(datasets(&service).await, 0);
    if !service.has_blobs_elsewhere() {
        assert!(!service.directory().join("blobs/datasets").exists());
    }
}

#[tokio::test]
async fn import_counts_against_the_quota() {
    let server = SourceServer::start().await;
    let service = with(&server, &["--stored-bytes-max", "4000"]).await;
    let numbers = |rows: usize| {
        let row = |row: usize| format!("{}.5,{}.25,{}\n", row, row * 3, row % 2);
        (0..rows).map(row).collect::<String>()
    };
    server.put("lake/in/small.csv", Object::bytes(numbers(10)));
    server.put("lake/in/large.csv", Object::bytes(numbers(2000)));
    let query = "labels=last&header=false";
    let job = imported(&service, query, &source("in/small.csv")).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    let limits = service.get("/v1/limits").await.json();
    let used = limits["own"]["stored_bytes"]["used"].as_u64();
    assert_eq!(used, job["result"]["bytes"].as_u64(), "{limits}");
    let job = imported(&service, query, &source("in/large.csv")).await;
    assert_eq!(
        (&job["status"], &job["error"]["code"]),
        (&json!("failed"), &json!("quota-full")),
        "{job}"
    );
    assert!(
        job["error"]["detail"]
            .as_str()
            .unwrap()
            .contains("stored_bytes"),
        "{job}"
    );
    assert_eq!(datasets(&service).await, 1);
}

#[tokio::test]
async fn source_larger_than_its_limit_is_refused_by_name() {
    let server = SourceServer::start().await;
    let service = with(&server, &["--source-bytes-max", "1000"]).await;
    server.put("lake/in/long.csv", Object::bytes(vec![b'1'; 1001]));
    let answer = import(&service, "", &source("in/long.csv")).await;
    assert!(
        answer.json()["detail"]
            .as_str()
            .unwrap()
            .contains("source_bytes_max")
    );
    assert_eq!(answer.problem(413), "too-large");
    server.put(
        "lake/in/bomb.csv.gz",
        Object::bytes(gzip("1,0\n".repeat(5000).as_bytes())),
    );
    let job = imported(
        &service,
        "labels=last&header=false",
        &source("in/bomb.csv.gz"),
    )
    .await;
    assert_eq!(job["error"]["code"], "too-large", "{job}");
    assert!(
        job["error"]["detail"]
            .as_str()
            .unwrap()
            .contains("source_bytes_max"),
        "{job}"
    );
}

#[tokio::test]
async fn imported_dataset_belongs_to_the_key_of_the_job() {
    let (server, service) = rig().await;
    server.put("lake/in/t.csv", Object::bytes(CSV));
    let key = |name: &str| halfspace::config::NewKey {
        name: name.to_owned(),
        jobs: None,
        bytes: None,
        sessions: None,
        weight: halfspace::records::schedule::Weight::default(),
        adopt_anonymous: false,
    };
    let (_, ada) = service.key(key("ada")).await;
    let (_, bob) = service.key(key("bob")).await;
    let send = |method: &'static str, path: String, secret: &str, body: String| {
        let bearer = format!("Bearer {secret}");
        let headers = [
            ("content-type", "application/json"),
            ("authorization", bearer.as_str()),
            ("prefer", "wait=30"),
        ];
        let sent = request(method, &path, &headers, body);
        async { service.send(sent).await }
    };
    let body = source("in/t.csv").to_string();
    let job = send("POST", "/v1/datasets/import".to_owned(), &ada, body).await;
    let job = job.expect(200).json();
    let path = format!(
        "/v1/datasets/{}",
        job["result"]["dataset"].as_str().unwrap()
    );
    send("GET", path.clone(), &bob, String::new())
        .await
        .problem(404);
    send("GET", path, &ada, String::new()).await.expect(200);
}
