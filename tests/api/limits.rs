//! `/v1/limits` shows the limits, and refusals name them alike.

use halfspace::http::limits::Limits;
use serde_json::json;

use crate::service::{Service, request, short_job, until};

#[tokio::test]
async fn limits_route_shows_the_settings() {
    let settings = ["--connections-max", "100", "--seconds-max", "1.5"];
    let service = Service::with(&settings).await;
    let limits = service.get("/v1/limits").await.expect(200).json();
    assert_eq!(limits["connections_max"], 100);
    assert_eq!(limits["event_streams_max"], 25);
    assert_eq!(limits["seconds_max"], 1.5);
    assert_eq!(limits["read_seconds_max"], 128.0);
    assert_eq!(limits["n_max"], 1_048_576);
    assert_eq!(limits["json_depth_max"], 32);
}

/// Each body exceeds one limit. The refusal names the limit and its value.
#[tokio::test]
async fn limit_error_names_the_limit_and_its_value() {
    let settings = [
        "--body-bytes-max",
        "2000",
        "--state-bytes-max",
        "1000",
        "--seconds-max",
        "10",
    ];
    let small = |limits: &mut Limits| {
        limits.n_max = 100;
        limits.json_body_bytes_max = 1000;
        limits.line_bytes_max = 500;
    };
    let service = Service::limited(&settings, small).await;
    let path = "/v1/learners/directed-drift/train";
    let wide = "1".repeat(101);
    let json = |form: serde_json::Value| form.to_string();
    let generated = json(
        json!({"generated": {"n": 101, "target": {"binary_weights": {}},
        "sampling": "uniform-positive", "count": 5}}),
    );
    let bodies = [
        (
            "application/x-ndjson",
            "".to_owned(),
            wide.clone(),
            413,
            "n_max",
            100,
        ),
        (
            "application/json",
            "".to_owned(),
            generated,
            413,
            "n_max",
            100,
        ),
        (
            "text/csv",
            "?n=101".to_owned(),
            "1,1".to_owned(),
            413,
            "n_max",
            100,
        ),
        (
            "application/x-ndjson",
            "".to_owned(),
            "101\n".repeat(501),
            413,
            "body_bytes_max",
            2000,
        ),
        (
            "application/json",
            "".to_owned(),
            " ".repeat(1001),
            413,
            "json_body_bytes_max",
            1000,
        ),
        (
            "text/csv",
            "".to_owned(),
            "1,".repeat(251),
            413,
            "line_bytes_max",
            500,
        ),
        (
            "application/x-ndjson",
            "?stop.max_seconds=11".to_owned(),
            "101".to_owned(),
            400,
            "seconds_max",
            10,
        ),
    ];
    for (media_type, query, body, status, limit, value) in bodies {
        let answer = service
            .post_as(&format!("{path}{query}"), media_type, body.clone())
            .await;
        let detail = answer.json()["detail"].to_string();
        assert!(detail.contains(limit), "{limit}: {detail}");
        assert!(detail.contains(&value.to_string()), "{limit}: {detail}");
        let code = if status == 413 {
            "too-large"
        } else {
            "out-of-range"
        };
        assert_eq!(answer.problem(status), code, "{limit}");
    }
    let mut job = short_job();
    job["name"] = json!("x".repeat(257));
    let answer = service.post_json("/v1/jobs", &job).await;
    assert!(
        answer.json()["detail"]
            .to_string()
            .contains("name_characters_max")
    );
    assert_eq!(answer.problem(400), "out-of-range");
    assert!(service.get("/v1/jobs").await.expect(200).json()["items"] == json!([]));
}

/// The limit counts decompressed bytes, so a small body cannot become a large one.
#[tokio::test]
async fn a_compressed_bomb_is_stopped_at_the_limit() {
    let settings = ["--body-bytes-max", "1000000"];
    let small = |limits: &mut Limits| limits.json_body_bytes_max = 1_000_000;
    let service = Service::limited(&settings, small).await;
    let zeros = vec![b'\n'; 200_000_000];
    let gzip = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&zeros).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = zstd::encode_all(&zeros[..], 1).unwrap();
    for (coding, bomb) in [("gzip", gzip), ("zstd", zstd)] {
        for (media_type, limit) in [
            ("text/x-libsvm", "limit body_bytes_max"),
            ("application/json", "limit json_body_bytes_max"),
        ] {
            let headers = [("content-type", media_type), ("content-encoding", coding)];
            let path = "/v1/learners/perceptron/train";
            let answer = service
                .send(request("POST", path, &headers, bomb.clone()))
                .await;
            assert!(answer.json()["detail"].to_string().contains(limit));
            assert_eq!(answer.problem(413), "too-large", "{coding} {media_type}");
        }
    }
}

/// A few bytes of a sparse format can cause much work and then count as an upload.
#[tokio::test]
async fn small_body_takes_an_upload_permit_only_for_much_work() {
    let service = Service::limited(&[], |limits| limits.uploads_max = 1).await;
    let path = "/v1/learners/perceptron/train?labels=first";
    let never = axum::body::Body::from_stream(futures_util::stream::pending::<
        Result<bytes::Bytes, std::convert::Infallible>,
    >());
    let post = |media_type, length: &str, body| {
        let headers = [("content-type", media_type), ("content-length", length)];
        request("POST", path, &headers, body)
    };
    let holder = service.open(post("text/csv", "100000", never));
    let look = async {
        until("the only permit to be taken", async || {
            let answer = service
                .open(post("text/x-libsvm", "19", "1 1048576:1\n-1 1:1".into()))
                .await;
            (answer.status() == 503).then_some(())
        })
        .await;
        for (media_type, length, body) in [
            ("text/csv", "8", "1,1\n-1,0"),
            ("text/x-libsvm", "7", "1 1:1\n1"),
        ] {
            let answer = service.open(post(media_type, length, body.into())).await;
            assert!(answer.status().is_success(), "{}", answer.status());
        }
    };
    tokio::select! {
        _ = holder => panic!("this body never ends"),
        () = look => {}
    }
}
