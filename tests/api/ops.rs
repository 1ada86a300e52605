//! The routes for operators: liveness, readiness, metrics, version and documents.

use halfspace::records::process::REVISION;

use crate::service::{Service, request, short_job};

#[tokio::test]
async fn a_service_that_runs_is_alive_and_ready() {
    let service = Service::start().await;
    for path in ["/livez", "/readyz"] {
        assert_eq!(service.get(path).await.expect(200).json()["status"], "ok");
    }
    let version = service.get("/version").await.expect(200).json();
    assert_eq!(version["name"], "halfspace");
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(version["revision"], serde_json::json!(REVISION));
}

#[tokio::test]
async fn a_service_that_stops_is_alive_not_ready_and_takes_no_job() {
    let service = Service::start().await;
    service.stop().await;
    service.get("/livez").await.expect(200);
    let ready = service.get("/readyz").await;
    assert_eq!(ready.header("retry-after"), Some("1"));
    assert_eq!(ready.problem(503), "stopping");
    let job = service.post_json("/v1/jobs", &short_job()).await;
    assert_eq!(job.header("retry-after"), Some("1"));
    assert_eq!(job.problem(503), "stopping");
}

#[tokio::test]
async fn metrics_count_the_exchanges_of_each_route() {
    let service = Service::start().await;
    service.get("/v1/learners/perceptron").await.expect(200);
    let metrics = service.get("/metrics").await.expect(200);
    assert!(
        metrics
            .header("content-type")
            .unwrap()
            .starts_with("text/plain")
    );
    let text = metrics.text();
    let line = text.lines().find(|line| {
        line.starts_with("halfspace_http_request_seconds_count")
            && line.contains("route=\"/v1/learners/{name}\"")
            && line.contains("status=\"200\"")
    });
    assert!(line.is_some(), "{text}");
    assert!(
        !text.contains("/v1/learners/perceptron"),
        "a path is no label"
    );
}

#[tokio::test]
async fn every_metric_has_a_help_text() {
    let service = Service::start().await;
    let metrics = service.get("/metrics").await.expect(200);
    let names = |start| {
        let lines = metrics.text().lines();
        let named = lines.filter_map(move |line| line.strip_prefix(start)?.split(' ').next());
        named.collect::<std::collections::BTreeSet<_>>()
    };
    assert!(names("# TYPE ").contains("halfspace_build_info"));
    assert_eq!(names("# TYPE "), names("# HELP "));
}

#[tokio::test]
async fn openapi_document_is_served() {
    let service = Service::start().await;
    let served = service.get("/openapi.json").await.expect(200);
    assert_eq!(served.text(), halfspace::http::document());
}

#[tokio::test]
async fn the_docs_load_nothing_from_outside() {
    let service = Service::start().await;
    let moved = service.get("/docs").await;
    assert!(moved.status.is_redirection(), "{}", moved.status);
    let page = service.get("/docs/").await.expect(200);
    let initializer = service
        .get("/docs/swagger-initializer.js")
        .await
        .expect(200);
    assert!(initializer.text().contains("/openapi.json"));
    assert!(!initializer.text().contains("petstore"));
    for text in [page.text(), initializer.text()] {
        for address in text.split(['"', '\'', ' ', '(']) {
            let foreign = ["http:", "https:", "//"]
                .iter()
                .any(|start| address.starts_with(start));
            // A comment may begin with two slashes.
            let comment = address.starts_with("//") && !address[2..].contains('.');
            assert!(!foreign || comment, "{address}");
        }
    }
    let mut parts = 0;
    for part in page.text().split(['"', '\'']) {
        if part.ends_with(".js") || part.ends_with(".css") {
            let path = format!("/docs/{}", part.trim_start_matches("./"));
            service.get(&path).await.expect(200);
            parts += 1;
        }
    }
    assert!(parts >= 3, "{}", page.text());
}

#[tokio::test]
async fn a_foreign_host_is_refused_unless_it_is_allowed() {
    let service = Service::with(&["--allowed-hosts", "learn.example"]).await;
    let host = async |host: &str| {
        service
            .send(request("GET", "/livez", &[("host", host)], ""))
            .await
    };
    for own in [
        "localhost",
        "LOCALHOST:8080",
        "127.0.0.1:1",
        "[::1]:80",
        "learn.example:80",
    ] {
        host(own).await.expect(200);
    }
    for foreign in ["evil.example", "localhost.evil.example", "10.0.0.1", ""] {
        let answer = host(foreign).await;
        assert_eq!(answer.json()["errors"][0]["parameter"], "Host", "{foreign}");
        assert_eq!(answer.problem(403), "foreign-host", "{foreign}");
    }
}

#[tokio::test]
async fn plain_request_id_is_kept_and_any_other_replaced() {
    let service = Service::start().await;
    let sent = async |id: &str| {
        let answer = service
            .send(request("GET", "/livez", &[("x-request-id", id)], ""))
            .await;
        answer.header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(sent("trace-1_2.3").await, "trace-1_2.3");
    let long = "x".repeat(65);
    for odd in ["a b", "a\"b", "", &long] {
        let given = sent(odd).await;
        assert!(given.starts_with("req_"), "{given}");
    }
    let ids = [sent("").await, sent("").await];
    assert_ne!(ids[0], ids[1]);
}

/// A label has a bounded number of values whatever methods clients send.
#[tokio::test]
async fn metrics_label_unknown_methods_as_other() {
    let service = Service::start().await;
    service.open(request("BREW", "/v1/learners", &[], "")).await;
    let metrics = service.get("/metrics").await.expect(200);
    assert!(metrics.text().contains("method=\"other\""));
    assert!(!metrics.text().contains("BREW"));
}
