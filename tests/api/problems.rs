//! Errors: every route answers with the same kind of problem document, and every code has a page.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use serde_json::json;

use crate::service::{Service, request, short_job};

pub(super) fn codes() -> Vec<&'static str> {
    let table = include_str!("../../src/http/codes.rs");
    let (_, table) = table.split_once("codes! {\n").unwrap();
    let (table, _) = table.split_once("\n}").unwrap();
    let entries = table
        .lines()
        .filter(|line| line.starts_with("    ") && line.as_bytes()[4].is_ascii_uppercase());
    entries
        .map(|line| line.split('"').nth(1).unwrap())
        .collect()
}

#[tokio::test]
async fn every_code_of_the_contract_has_a_page() {
    let service = Service::start().await;
    assert!(codes().len() > 30);
    for code in codes() {
        let page = service.get(&format!("/problems/{code}")).await.expect(200);
        assert!(
            page.header("content-type")
                .unwrap()
                .starts_with("text/html")
        );
        assert!(page.text().contains(code), "{code}");
    }
    assert_eq!(
        service.get("/problems/no-such").await.problem(404),
        "not-found"
    );
}

#[tokio::test]
async fn unknown_path_is_a_problem_of_404() {
    let service = Service::start().await;
    for path in [
        "/v1",
        "/v1/jobs/",
        "/v2/jobs",
        "/v1/learners/perceptron/train/x",
        "/%ff",
    ] {
        assert_eq!(service.get(path).await.problem(404), "not-found", "{path}");
    }
}

#[tokio::test]
async fn wrong_method_is_answered_with_the_allowed_ones() {
    let service = Service::start().await;
    let cases = [
        ("PUT", "/v1/jobs", "GET,HEAD,POST"),
        ("POST", "/v1/learners", "GET,HEAD"),
        ("GET", "/v1/learners/perceptron/train", "POST"),
        (
            "PATCH",
            "/v1/jobs/job_01a1f8857c5d7cb8ab751e5f15d8876d",
            "DELETE,GET,HEAD",
        ),
        ("POST", "/livez", "GET,HEAD"),
    ];
    for (method, path, allowed) in cases {
        let answer = service.send(request(method, path, &[], "")).await;
        let mut named: Vec<&str> = answer
            .header("allow")
            .unwrap()
            .split(',')
            .map(str::trim)
            .collect();
        named.sort_unstable();
        assert_eq!(named.join(","), allowed, "{method} {path}");
        assert_eq!(answer.problem(405), "method-not-allowed");
    }
}

#[tokio::test]
async fn problem_repeats_only_the_request_id_of_the_headers() {
    let service = Service::start().await;
    let headers = [("x-request-id", "one-1"), ("x-evil", "<script>")];
    let answer = service.send(request("GET", "/nothing", &headers, "")).await;
    assert_eq!(answer.json()["request_id"], "one-1");
    assert!(!answer.text().contains("<script>"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
}

#[tokio::test]
async fn problem_lists_the_first_errors_and_counts_all() {
    let service = Service::start().await;
    let mut job = short_job();
    let params: serde_json::Map<_, _> = (0..30).map(|i| (format!("p{i}"), json!(i))).collect();
    job["train"]["learner"]["params"] = params.into();
    let answer = service.post_json("/v1/jobs", &job).await;
    let document = answer.json();
    assert_eq!(answer.problem(400), "invalid-parameter");
    assert_eq!(document["errors"].as_array().unwrap().len(), 20);
    assert!(document["detail"].as_str().unwrap().contains("30 errors"));
}

/// A client that sends its whole body before it reads must receive the answer and not a broken connection.
#[tokio::test]
async fn refused_request_is_read_to_the_end_of_its_body() {
    let service = Service::start().await;
    let cases = [
        ("/v1/learners/none/train", "text/csv"),
        ("/v1/learners/perceptron/train?header=maybe", "text/csv"),
        ("/v1/learners/perceptron/train", "text/plain"),
        ("/v1/jobs", "text/plain"),
        ("/v1/models/none/predict", "text/csv"),
        ("/v1/nowhere", "text/csv"),
    ];
    for (path, media_type) in cases {
        let read = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&read);
        let frames = stream::iter(0..50).map(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(Bytes::from_static(&[b'1'; 4096]))
        });
        let headers = [("content-type", media_type)];
        let body = Body::from_stream(frames);
        let answer = service.open(request("POST", path, &headers, body)).await;
        assert!(answer.status().is_client_error(), "{path}");
        assert_eq!(read.load(Ordering::Relaxed), 50, "{path}");
    }
}
