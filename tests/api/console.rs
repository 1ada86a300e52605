//! The files of the console, the base path of a proxy, and compressed answers.

use std::io::Read;

use crate::service::{Service, request, short_job};
use flate2::read::GzDecoder;
use http_body_util::BodyExt;
use serde_json::Value;

#[tokio::test]
async fn console_page_loads_only_files_of_the_service() {
    let service = Service::start().await;
    let page = service.get("/").await.expect(200);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let text = page.text();
    let paths = text.split('"').filter(|part| part.starts_with("console/"));
    let mut files = 0;
    for path in paths {
        let file = service.get(&format!("/{path}")).await.expect(200);
        let policy = file.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'self'") && !policy.contains("unsafe"));
        assert_eq!(file.header("cache-control"), Some("no-cache"));
        files += 1;
    }
    assert!(files >= 5, "{text}");
    for outside in [
        "/console/",
        "/console/nothing.mjs",
        "/console/../Cargo.toml",
        "/console/vendor/SHA256SUMS",
    ] {
        assert_eq!(
            service.get(outside).await.problem(404),
            "not-found",
            "{outside}"
        );
    }
}

#[tokio::test]
async fn console_file_with_a_known_etag_is_not_sent_again() {
    let service = Service::start().await;
    let first = service.get("/console/console.css").await.expect(200);
    let tag = first.header("etag").unwrap();
    let asked = |tag: &str| request("GET", "/console/console.css", &[("if-none-match", tag)], "");
    let again = service.send(asked(tag)).await.expect(304);
    assert_eq!((again.header("etag"), again.text()), (Some(tag), ""));
    service.send(asked("W/\"other\"")).await.expect(200);
}

#[tokio::test]
async fn documents_are_compressed_for_clients_that_accept_gzip_and_streams_are_not() {
    let service = Service::start().await;
    let plain = service.get("/openapi.json").await.expect(200);
    assert_eq!(plain.header("content-encoding"), None);
    let gzip = [("accept-encoding", "gzip")];
    let packed = service
        .open(request("GET", "/openapi.json", &gzip, ""))
        .await;
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    let body = packed.into_body().collect().await.unwrap().to_bytes();
    let mut text = String::new();
    GzDecoder::new(&*body).read_to_string(&mut text).unwrap();
    assert_eq!(text, plain.text());
    let small = service
        .send(request("GET", "/livez", &gzip, ""))
        .await
        .expect(200);
    assert_eq!(small.header("content-encoding"), None);
    let job = service.post_json("/v1/jobs", &short_job()).await.json();
    let events = format!("/v1/jobs/{}/events", job["id"].as_str().unwrap());
    let stream = service.open(request("GET", &events, &gzip, "")).await;
    assert_eq!(stream.status(), 200);
    assert!(!stream.headers().contains_key("content-encoding"));
}

#[tokio::test]
async fn answers_name_the_base_path_and_probes_need_none() {
    let service = Service::with(&["--base-path", "/learn/here/"]).await;
    for path in ["/learn/here", "/learn/here?x=1"] {
        let moved = service.get(path).await;
        assert_eq!(
            (moved.status.as_u16(), moved.header("location")),
            (303, Some("/learn/here/"))
        );
    }
    service.get("/learn/here/").await.expect(200);
    service.get("/livez").await.expect(200);
    let job = service
        .post_json("/learn/here/v1/jobs", &short_job())
        .await
        .expect(202);
    let location = job.header("location").unwrap();
    assert!(
        location.starts_with("/learn/here/v1/jobs/job_"),
        "{location}"
    );
    service.get(location).await.expect(200);
    // The service of the tests checks that the page of a problem exists, without a base path.
    let missing = service
        .open(request("GET", "/learn/here/v1/models/mdl_1", &[], ""))
        .await;
    let problem = body_json(missing).await;
    assert_eq!(problem["instance"], "/learn/here/v1/models/mdl_1");
    let page = problem["type"].as_str().unwrap();
    assert!(page.starts_with("/learn/here/problems/"), "{page}");
    service.get(page).await.expect(200);
    let document = service
        .get("/learn/here/openapi.json")
        .await
        .expect(200)
        .json();
    assert_eq!(document["servers"][0]["url"], "/learn/here");
    let docs = service.get("/learn/here/docs").await;
    assert_eq!(docs.header("location"), Some("/learn/here/docs/"));
    let other = service
        .open(request("GET", "/learn/hereafter/v1/jobs", &[], ""))
        .await;
    assert_eq!(other.status(), 404);
}

async fn body_json(answer: axum::response::Response) -> Value {
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap()
}
