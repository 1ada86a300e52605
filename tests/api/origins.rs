//! Cross-origin requests, foreign hosts, and the security headers of answers.

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_FRAME_OPTIONS};

use super::keys::named;
use crate::service::{Answer, Program, Service, Slow, request};

/// Posts a request for a construction, which stores nothing.
async fn post(service: &Service, headers: &[(&str, &str)]) -> Answer {
    let path = "/v1/constructions/monotone-cnf";
    let body = r#"{"variables": 3, "satisfying": 2}"#;
    let all = [&[("content-type", "application/json")], headers].concat();
    service.send(request("POST", path, &all, body)).await
}

const HOST: (&str, &str) = ("host", "127.0.0.1:8080");

#[tokio::test]
async fn cross_origin_pages_cannot_change_anything() {
    let service = Service::idle(&[]).await;
    for headers in [
        vec![("origin", "http://evil.example"), HOST],
        vec![("origin", "null"), HOST],
        vec![("origin", "http://127.0.0.1:9000"), HOST],
        vec![("sec-fetch-site", "cross-site"), HOST],
        vec![("sec-fetch-site", "same-site"), HOST],
        vec![
            ("sec-fetch-site", "cross-site"),
            ("origin", "http://127.0.0.1:8080"),
            HOST,
        ],
        vec![("sec-fetch-site", "nonsense"), HOST],
    ] {
        let answer = post(&service, &headers).await;
        assert_eq!(answer.problem(403), "foreign-origin", "{headers:?}");
    }
}

/// curl and HTTP libraries send neither header. A page of the service sends the origin of the service. A client
/// other than a browser gains nothing by a false `Sec-Fetch-Site`.
#[tokio::test]
async fn requests_without_a_foreign_origin_are_accepted() {
    let service = Service::idle(&[]).await;
    for headers in [
        vec![],
        vec![("origin", "http://127.0.0.1:8080"), HOST],
        vec![("sec-fetch-site", "same-origin"), HOST],
        vec![
            ("sec-fetch-site", "none"),
            ("origin", "http://evil.example"),
            HOST,
        ],
    ] {
        post(&service, &headers).await.expect(200);
    }
    let foreign = [("origin", "http://evil.example"), HOST];
    let answer = service
        .send(request("GET", "/v1/learners", &foreign, ""))
        .await;
    let answer = answer.expect(200);
    assert_eq!(answer.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn cors_origins_may_send_and_read() {
    let listed = [
        "--cors-origins",
        "https://app.example,http://localhost:3000",
    ];
    let service = Service::idle(&listed).await;
    let app = ("origin", "https://app.example");
    let answer = post(&service, &[app, ("sec-fetch-site", "cross-site"), HOST])
        .await
        .expect(200);
    assert_eq!(
        answer.header("access-control-allow-origin"),
        Some("https://app.example")
    );
    let preflight = [
        app,
        HOST,
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "authorization,content-type",
        ),
    ];
    let answer = service
        .open(request("OPTIONS", "/v1/jobs", &preflight, ""))
        .await;
    assert_eq!(answer.status(), 200);
    assert_eq!(
        answer.headers()["access-control-allow-origin"],
        "https://app.example"
    );
    let other = post(&service, &[("origin", "https://other.example"), HOST]).await;
    assert_eq!(other.header("access-control-allow-origin"), None);
    assert_eq!(other.problem(403), "foreign-origin");
    let all = Service::idle(&["--cors-origins", "*"]).await;
    let answer = post(&all, &[("origin", "http://any.example"), HOST])
        .await
        .expect(200);
    let any = answer.header("access-control-allow-origin");
    assert_eq!(any, Some("http://any.example"));
}

#[tokio::test]
async fn cors_of_all_origins_ends_with_the_first_key() {
    let service = Service::idle(&["--cors-origins", "*"]).await;
    let (_, secret) = service.key(named("first")).await;
    let bearer = format!("Bearer {secret}");
    let headers = [
        ("origin", "http://any.example"),
        ("authorization", &bearer),
        HOST,
    ];
    // Paths without authentication show nothing to other origins either.
    for path in ["/version", "/v1/learners"] {
        let answer = service.send(request("GET", path, &headers, "")).await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
    let answer = post(&service, &headers).await;
    assert_eq!(answer.header("access-control-allow-origin"), None);
    assert!(answer.text().contains("--cors-origins"));
    assert_eq!(answer.problem(403), "foreign-origin");
    post(&service, &headers[1..]).await.expect(200);
}

/// The key is created while the service runs, and each kind of request is the first one after that.
#[tokio::test]
async fn cors_of_all_origins_ends_before_the_first_request_after_a_key() {
    let origin = ("origin", "http://any.example");
    for (method, path, status) in [
        ("POST", "/v1/constructions/monotone-cnf", 403),
        ("GET", "/v1/learners", 401),
        ("GET", "/version", 200),
        ("OPTIONS", "/v1/jobs", 200),
    ] {
        let service = Service::idle(&["--cors-origins", "*"]).await;
        service.key(named("first")).await;
        let headers = [
            origin,
            HOST,
            ("content-type", "application/json"),
            ("access-control-request-method", "POST"),
        ];
        let body = if method == "POST" { "{}" } else { "" };
        let answer = service.open(request(method, path, &headers, body)).await;
        assert_eq!(answer.status(), status, "{method} {path}");
        let allowed = answer.headers().get("access-control-allow-origin");
        assert_eq!(allowed, None, "{method} {path}");
    }
}

#[tokio::test]
async fn request_with_two_host_headers_is_refused() {
    let service = Service::idle(&[]).await;
    for hosts in [["localhost", "localhost"], ["localhost", "evil.example"]] {
        let headers = hosts.map(|host| ("host", host));
        let answer = service
            .send(request("GET", "/v1/learners", &headers, ""))
            .await;
        assert_eq!(answer.problem(400), "invalid-parameter");
    }
}

#[tokio::test]
async fn malformed_or_foreign_host_is_refused() {
    let service = Service::idle(&[]).await;
    for host in [
        "[::1]evil.example",
        "[::1]:8080.evil.example",
        "[::1%25lo]:8080",
        "evil.example@localhost",
        "localhost@evil.example",
        "localhost:8080:8080",
        "localhost:http",
        "localhost:65536",
        "::1",
        "localhost evil.example",
    ] {
        let answer = service
            .send(request("GET", "/v1/learners", &[("host", host)], ""))
            .await;
        assert_eq!(answer.problem(400), "invalid-parameter", "{host}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "localhost.",
        "[::2]",
        "127.0.0.2",
    ] {
        let answer = service
            .send(request("GET", "/v1/learners", &[("host", host)], ""))
            .await;
        assert_eq!(answer.problem(403), "foreign-host", "{host}");
    }
    for host in [
        "localhost",
        "LOCALHOST:1",
        "127.0.0.1:",
        "[::1]:8080",
        "[0:0::1]",
    ] {
        let answer = service
            .send(request("GET", "/v1/learners", &[("host", host)], ""))
            .await;
        answer.expect(200);
    }
}

/// RFC 9112, section 3.2.2: the host of an absolute request target replaces the Host header, also in the comparison
/// with the origin of a page.
#[tokio::test]
async fn host_of_an_absolute_target_replaces_the_header() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &[]);
    let client = program.client();
    let own = client.address.to_string();
    let get = async |target: &str, headers: &[(&str, &str)]| {
        let mut stream = Slow::connect([127, 0, 0, 1], client.address).await.unwrap();
        let mut head = format!("GET {target} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.send((head + "\r\n").as_bytes()).await.unwrap();
        stream.status().await.unwrap()
    };
    let foreign = "http://evil.example/v1/learners";
    assert_eq!(get(foreign, &[("host", &own)]).await, 403);
    assert_eq!(
        get("http://[::1]evil.example/livez", &[("host", &own)]).await,
        400
    );
    assert_eq!(
        get("http://evil.example@localhost/livez", &[("host", &own)]).await,
        400
    );
    let local = format!("http://{own}/v1/learners");
    assert_eq!(get(&local, &[("host", &own)]).await, 200);
    assert_eq!(get(&local, &[("host", "evil.example")]).await, 200);
    let path = format!("http://{own}/v1/constructions/monotone-cnf");
    let body = r#"{"variables": 3, "satisfying": 2}"#;
    let mut stream = Slow::connect([127, 0, 0, 1], client.address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nconnection: close\r\nhost: evil.example\r\norigin: http://evil.example\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.send(head.as_bytes()).await.unwrap();
    assert_eq!(stream.status().await.unwrap(), 403);
}

#[tokio::test]
async fn answers_forbid_caching_and_framing() {
    let service = Service::idle(&[]).await;
    for path in [
        "/v1/learners",
        "/v1/none",
        "/openapi.json",
        "/problems/schema",
        "/livez",
    ] {
        let answer = service.get(path).await;
        assert_eq!(
            answer.header(CACHE_CONTROL.as_str()),
            Some("no-store"),
            "{path}"
        );
        assert_eq!(
            answer.header(X_FRAME_OPTIONS.as_str()),
            Some("DENY"),
            "{path}"
        );
        let resource = answer.header("cross-origin-resource-policy");
        assert_eq!(resource, Some("same-origin"), "{path}");
        let policy = answer.header(CONTENT_SECURITY_POLICY.as_str()).unwrap();
        assert!(policy.contains("default-src 'none'"), "{path} {policy}");
    }
    let docs = service.open(request("GET", "/docs/", &[], "")).await;
    let policy = docs.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
    assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
}
