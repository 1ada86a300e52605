//! `POST /v1/learners/{name}/train`: formats of the body, options of the query, and the result.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::service::{Answer, Service, long_job, request};

const LIBSVM: &str = "text/x-libsvm";

/// The same four labelled examples in every format: media type, query, body.
const SAME: [(&str, &str, &str); 8] = [
    (LIBSVM, "", "1 1:1 3:1\n-1 2:1\n1 1:1 2:1 3:1\n-1 3:1\n"),
    (
        LIBSVM,
        "n=3",
        "1 1:1 3:1 # a comment\n0 2:1\n\n1 1:1 2:1 3:1\n0 3:1",
    ),
    (
        "text/csv",
        "labels=first",
        "1,1,0,1\n-1,0,1,0\n1,1,1,1\n-1,0,0,1\n",
    ),
    (
        "text/csv",
        "labels=class&header=true",
        "a,b,c,class\n1,0,1,1\n0,1,0,0\n1,1,1,1\n0,0,1,0\n",
    ),
    (
        "text/csv",
        "labels=last",
        "+1,-1,+1,1\r\n-1,+1,-1,0\r\n1,1,1,1\r\n-1,-1,1,0\r\n",
    ),
    (
        "application/x-ndjson",
        "",
        "{\"x\":\"101\",\"y\":1}\n{\"x\":[0,1,0],\"y\":-1}\n{\"y\":1,\"x\":\"111\"}\n{\"x\":\"001\",\"y\":-1}\n",
    ),
    (
        "application/json",
        "",
        r#"{"labelled": {"examples": [{"x": "101", "y": 1}, {"x": [0, 1, 0], "y": 0},
            {"x": [1.0, 1, 1], "y": 1}, {"x": "001", "y": 0}]}}"#,
    ),
    // Rows 101, 010, 111, 001 and labels 1010, most significant bit first.
    (
        "application/json",
        "",
        r#"{"packed": {"n": 3, "rows": "oEDgIA==", "labels": "oA=="}}"#,
    ),
];

async fn send(
    service: &Service,
    media_type: &str,
    query: &str,
    body: impl Into<axum::body::Body>,
) -> Answer {
    let path = format!("/v1/learners/perceptron/train?{query}");
    service.post_as(&path, media_type, body).await
}

#[tokio::test]
async fn equal_data_in_every_format_have_one_digest_and_one_result() {
    let service = Service::start().await;
    let mut seen: Option<(Value, Value)> = None;
    for (media_type, query, body) in SAME {
        let job = send(&service, media_type, query, body)
            .await
            .expect(200)
            .json();
        let found = (
            job["data_sha256"].clone(),
            job["result"]["hypothesis"].clone(),
        );
        assert!(found.0.is_string());
        assert_eq!(
            *seen.get_or_insert_with(|| found.clone()),
            found,
            "{media_type} {query}"
        );
    }
    let other = send(&service, LIBSVM, "", "1 1:1 3:1\n-1 2:1\n")
        .await
        .expect(200)
        .json();
    assert_ne!(Some(other["data_sha256"].clone()), seen.map(|seen| seen.0));
}

#[tokio::test]
async fn half_space_data_in_every_format_have_one_digest() {
    let service = Service::start().await;
    let same = [
        ("application/x-ndjson", "", "\"10110\"\n\"11011\"\n"),
        ("application/x-ndjson", "", "10110\n11011"),
        (
            "application/x-ndjson",
            "",
            "{\"x\":\"10110\"}\n{\"x\":[1,1,0,1,1]}\n",
        ),
        ("text/csv", "labels=none", "1,0,1,1,0\n1,1,0,1,1\n"),
        (LIBSVM, "labels=none", "1:1 3:1 4:1\n1:1 2:1 4:1 5:1\n"),
        (
            "application/json",
            "",
            r#"{"half_space": {"examples": ["10110", "11011"]}}"#,
        ),
        (
            "application/json",
            "",
            r#"{"packed": {"n": 5, "rows": "DRs=", "bit_order": "little"}}"#,
        ),
    ];
    let mut seen = None;
    for (media_type, query, body) in same {
        let path = format!("/v1/learners/directed-drift/train?seed=1&{query}");
        let job = service
            .post_as(&path, media_type, body)
            .await
            .expect(200)
            .json();
        let digest = job["data_sha256"].clone();
        assert!(digest.is_string());
        assert_eq!(
            *seen.get_or_insert_with(|| digest.clone()),
            digest,
            "{media_type} {query}"
        );
    }
}

#[tokio::test]
async fn training_reads_compressed_bodies_like_plain_ones() {
    let service = Service::start().await;
    let (media_type, query, body) = SAME[0];
    let plain = send(&service, media_type, query, body)
        .await
        .expect(200)
        .json();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(body.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(body.as_bytes(), 3).unwrap();
    for (coding, body) in [("gzip", gzip), ("zstd", zstd), ("identity", body.into())] {
        let headers = [("content-type", media_type), ("content-encoding", coding)];
        let path = "/v1/learners/perceptron/train";
        let answer = service.send(request("POST", path, &headers, body)).await;
        let job = answer.expect(200).json();
        assert_eq!(job["data_sha256"], plain["data_sha256"], "{coding}");
        assert_eq!(
            job["result"]["hypothesis"], plain["result"]["hypothesis"],
            "{coding}"
        );
    }
}

#[tokio::test]
async fn train_query_means_the_same_as_a_job_body() {
    let service = Service::start().await;
    let query = "seed=7&trace=true&name=by+hand&stop.max_passes=20&stop.max_mistakes=100\
                 &stop.max_examples=1000&stop.max_seconds=9.5&params.order=shuffled\
                 &params.bias=false&params.reading=unsigned&params.eta=2";
    let by_query = send(&service, SAME[0].0, query, SAME[0].2)
        .await
        .expect(200)
        .json();
    let body = json!({"name": "by hand", "train": {
        "learner": {"name": "perceptron", "params": {
            "order": "shuffled", "bias": false, "reading": "unsigned", "eta": 2}},
        "data": serde_json::from_str::<Value>(SAME[6].2).unwrap(),
        "seed": 7, "trace": true, "stop": {"max_passes": 20, "max_mistakes": 100,
            "max_examples": 1000, "max_seconds": 9.5}}});
    let by_body = service.run(&body).await;
    for same in ["name", "seed", "data_sha256", "learner"] {
        assert_eq!(by_query[same], by_body[same], "{same}");
    }
    for same in [
        "hypothesis",
        "mistakes",
        "updates",
        "examples",
        "passes",
        "termination",
        "bound",
    ] {
        assert_eq!(by_query["result"][same], by_body["result"][same], "{same}");
    }
}

#[tokio::test]
async fn train_query_accepts_a_list_parameter() {
    let service = Service::start().await;
    let initial = send(
        &service,
        SAME[0].0,
        "params.initial=1,2,3,4&stop.max_mistakes=1",
        SAME[0].2,
    )
    .await;
    let learner = initial.expect(200).json()["learner"].clone();
    assert_eq!(learner["params"]["initial"], json!([1, 2, 3, 4]));
}

#[tokio::test]
async fn train_route_accepts_generated_data() {
    let service = Service::start().await;
    let body = r#"{"generated": {"n": 25, "target": {"binary_weights": {}},
        "sampling": "reflected", "count": 5000}}"#;
    let path = "/v1/learners/directed-drift-sync/train?seed=3&stop.confidence=0.9&stop.rule=per-hypothesis";
    let job = service
        .post_as(path, "application/json", body)
        .await
        .expect(200)
        .json();
    assert_eq!(job["result"]["termination"]["rule"], "per-hypothesis");
    assert!(job["result"]["target"]["distance"].is_u64());
}

#[tokio::test]
async fn training_without_a_wait_is_accepted_with_202() {
    let service = Service::start().await;
    let headers = [("content-type", "application/json"), ("prefer", "wait=0")];
    let data = long_job(1)["train"]["data"].to_string();
    let path = "/v1/learners/directed-drift/train?stop.max_seconds=300";
    let answer = service
        .send(request("POST", path, &headers, data))
        .await
        .expect(202);
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert!(answer.header("location").is_some());
}

#[tokio::test]
#[ignore = "reads ../shared/data: scripts/real-data runs it"]
async fn real_data_the_mushrooms_are_learnt_with_129_mistakes_in_14_passes() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/agaricus.txt.train");
    let body = std::fs::read(&file).unwrap();
    let service = Service::start().await;
    let query = "params.reading=unsigned&params.bias=false&stop.max_passes=50";
    let job = send(&service, LIBSVM, query, body).await.expect(200).json();
    let result = &job["result"];
    assert_eq!(result["termination"]["reason"], "converged");
    assert_eq!(result["mistakes"], 129);
    assert_eq!(result["passes"], 14);
    assert_eq!(result["training"], json!({"errors": 0, "examples": 6513}));
    assert_eq!(result["bound"]["theorem"], "Novikoff");
    assert!(result["bound"]["mistakes_at_most"].as_f64().unwrap() >= 129.0);
    assert_eq!(result["bound"]["respected"], true);
}
