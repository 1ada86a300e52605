//! `multipart/form-data`: a form with a file acts like the request whose body is the file.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::json;

use crate::service::{Answer, Service, request};

const TABLE: &str = "colour,size,ill\nred,1,no\nblue,2,yes\nred,3,no\nblue,2,yes\n";
const BOUNDARY: &str = "----halfspace4f1";
const DATASETS: &str = "/v1/datasets";

/// A part: headers and content.
type Part = (String, String);

fn field(name: &str, text: &str) -> Part {
    let headers = format!("content-disposition: form-data; name=\"{name}\"");
    (headers, text.to_owned())
}

fn file(file_name: &str, media_type: &str, text: &str) -> Part {
    let (mut headers, text) = field("file", text);
    headers += &format!("; filename=\"{file_name}\"");
    if !media_type.is_empty() {
        headers += &format!("\r\ncontent-type: {media_type}");
    }
    (headers, text)
}

fn csv() -> Part {
    file("data.csv", "application/octet-stream", TABLE)
}

fn form(parts: &[Part], boundary: &str) -> String {
    let parts = parts.iter();
    let text: String = parts
        .map(|(headers, text)| format!("--{boundary}\r\n{headers}\r\n\r\n{text}\r\n"))
        .collect();
    text + &format!("--{boundary}--\r\n")
}

async fn post(service: &Service, path: &str, parts: &[Part]) -> Answer {
    let media_type = format!("multipart/form-data; boundary={BOUNDARY}");
    service
        .post_as(path, &media_type, form(parts, BOUNDARY))
        .await
}

#[tokio::test]
async fn multipart_form_acts_like_its_file() {
    let service = Service::start().await;
    let plain = service
        .post_as("/v1/datasets?labels=ill", "text/csv", TABLE)
        .await;
    let plain = plain.expect(201).json();
    let labels = || field("labels", "ill");
    for (path, parts) in [
        (DATASETS, vec![labels(), csv()]),
        ("/v1/datasets?labels=ill", vec![csv()]),
        (
            DATASETS,
            vec![labels(), file("any", "text/csv; charset=utf-8", TABLE)],
        ),
        (
            DATASETS,
            vec![
                labels(),
                file("DATA.CSV", "application/vnd.ms-excel", TABLE),
            ],
        ),
        (
            DATASETS,
            vec![labels(), file("data.csv", "text/plain", TABLE)],
        ),
        (DATASETS, vec![labels(), file("data.csv", "", TABLE)]),
        (
            DATASETS,
            vec![labels(), file("t.tsv", "", &TABLE.replace(',', "\t"))],
        ),
        (
            "/v1/datasets?positive=yes",
            vec![labels(), field("name", "a b&c=d"), csv()],
        ),
    ] {
        let stored = post(&service, path, &parts).await.expect(201).json();
        for member in ["sha256", "table", "encoding_sha256"] {
            assert_eq!(stored[member], plain[member], "{parts:?}");
        }
        let is_named = parts.iter().any(|part| *part == field("name", "a b&c=d"));
        assert_eq!(
            stored["name"],
            if is_named {
                json!("a b&c=d")
            } else {
                json!(null)
            }
        );
    }
}

/// Each route that takes data takes a form.
#[tokio::test]
async fn every_route_of_data_accepts_a_multipart_form() {
    let service = Service::start().await;
    let labels = || field("labels", "ill");
    let train = "/v1/learners/perceptron/train?seed=1";
    let job = post(&service, train, &[labels(), csv()])
        .await
        .expect(200)
        .json();
    let model = job["result"]["model"].as_str().expect("a model").to_owned();
    let rows = || file("rows.csv", "", "size,colour\n2,blue\n3,red\n");
    let predicted = post(&service, &format!("/v1/models/{model}/predict"), &[rows()]).await;
    assert_eq!(
        predicted.expect(200).json()["predicted_classes"],
        json!(["yes", "no"])
    );
    let evaluated = post(&service, &format!("/v1/models/{model}/evaluate"), &[csv()]).await;
    assert_eq!(evaluated.expect(200).json()["errors"], 0);
    let session = json!({"learner": {"name": "perceptron"}, "n": 3});
    let session = service
        .post_json("/v1/sessions", &session)
        .await
        .expect(201)
        .json();
    let path = format!(
        "/v1/sessions/{}/examples",
        session["id"].as_str().expect("an id")
    );
    let lines = file(
        "a.ndjson",
        "",
        "{\"x\": \"101\", \"y\": 1}\n{\"x\": \"011\", \"y\": -1}\n",
    );
    let learnt = post(&service, &path, &[lines]).await.expect(200);
    assert_eq!(learnt.text().lines().count(), 2, "{}", learnt.text());
    let path = path.replace("examples", "predict");
    let bits = file("rows.csv", "", "1,0,1\n");
    post(&service, &path, &[bits]).await.expect(200);
}

/// The fingerprint covers the fields and the bytes of the file, but not the boundary.
#[tokio::test]
async fn multipart_retry_may_have_another_boundary() {
    let service = Service::start().await;
    let send = async |parts: &[Part], boundary: &str| {
        let media_type = format!("multipart/form-data; boundary={boundary}");
        let headers = [("content-type", &*media_type), ("idempotency-key", "k")];
        let request = request("POST", DATASETS, &headers, form(parts, boundary));
        service.send(request).await
    };
    let parts = [field("labels", "ill"), csv()];
    let first = send(&parts, "one").await.expect(201).json();
    let again = send(&parts, "two").await.expect(201);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.json()["id"], first["id"]);
    let other_field = [field("labels", "colour"), csv()];
    let other_file = [
        field("labels", "ill"),
        file("data.csv", "", &TABLE.replace('3', "4")),
    ];
    for parts in [other_field, other_file] {
        let mismatch = send(&parts, "one").await;
        assert_eq!(mismatch.problem(422), "idempotency-mismatch");
    }
}

#[tokio::test]
async fn faulty_multipart_forms_are_refused() {
    let service = Service::start().await;
    let labels = || field("labels", "ill");
    let no_name = ("content-disposition: form-data".to_owned(), "x".to_owned());
    let long = (
        format!("{}\r\nx-long: {}", csv().0, "x".repeat(9_000)),
        TABLE.to_owned(),
    );
    for (parts, status, code, detail) in [
        (vec![], 400, "schema", "no file"),
        (vec![labels()], 400, "schema", "no file"),
        (
            vec![csv(), labels()],
            400,
            "schema",
            "`labels` stands after the file",
        ),
        (vec![labels(), csv(), csv()], 400, "schema", "two files"),
        (vec![no_name, csv()], 400, "schema", "no name"),
        (vec![labels(), long], 400, "schema", "8192 bytes"),
        (
            vec![field("labels", &"x".repeat(200_000)), csv()],
            400,
            "schema",
            "65536 bytes",
        ),
        (
            vec![labels(), labels(), csv()],
            400,
            "invalid-parameter",
            "more than once",
        ),
        (
            vec![field("colour", "red"), csv()],
            400,
            "invalid-parameter",
            "unknown parameter",
        ),
        (
            vec![labels(), file("a.pdf", "application/pdf", "%PDF")],
            415,
            "unsupported-media-type",
            "a.pdf",
        ),
        (
            vec![labels(), file("data", "", TABLE)],
            415,
            "unsupported-media-type",
            ".csv",
        ),
        (
            vec![labels(), file("f", "multipart/mixed; boundary=x", "")],
            415,
            "unsupported-media-type",
            "multipart/mixed",
        ),
    ] {
        let answer = post(&service, DATASETS, &parts).await;
        assert_eq!(answer.problem(status), code, "{}", answer.text());
        assert!(
            answer.text().contains(detail),
            "{detail}: {}",
            answer.text()
        );
    }
    let whole = form(&[labels(), csv()], BOUNDARY);
    let media_type = format!("multipart/form-data; boundary={BOUNDARY}");
    for length in [0, 20, 100, whole.len() - 10, whole.len() - 4] {
        let answer = service
            .post_as(DATASETS, &media_type, whole[..length].to_owned())
            .await;
        assert_eq!(answer.problem(400), "schema", "{length}: {}", answer.text());
    }
    for media_type in ["multipart/form-data", "multipart/form-data; boundary="] {
        let answer = service.post_as(DATASETS, media_type, whole.clone()).await;
        assert_eq!(answer.problem(400), "schema", "{}", answer.text());
    }
    let both = post(&service, "/v1/datasets?labels=ill", &[labels(), csv()]).await;
    assert_eq!(both.problem(400), "invalid-parameter");
    let headers = [("content-type", &*media_type), ("content-encoding", "gzip")];
    let packed = service
        .send(request("POST", DATASETS, &headers, whole))
        .await;
    assert_eq!(packed.problem(415), "unsupported-media-type");
    // A route without data takes no form.
    let other = post(&service, "/v1/jobs", &[csv()]).await;
    assert_eq!(other.problem(415), "unsupported-media-type");
    assert_eq!(
        service.get("/v1/datasets").await.expect(200).json()["items"],
        json!([])
    );
}

/// A header of a gigabyte is refused after some kilobytes, before and after the file.
#[tokio::test]
async fn multipart_header_of_any_length_takes_little_memory() {
    let service = Service::start().await;
    let media_type = format!("multipart/form-data; boundary={BOUNDARY}");
    let head = format!("--{BOUNDARY}\r\nx-long: ");
    let after = form(&[field("labels", "ill"), csv()], BOUNDARY).replace("--\r\n", "\r\nx-long: ");
    for begin in [head, after] {
        let taken = Arc::new(AtomicU64::new(0));
        let count = taken.clone();
        let endless = (0..1024).map(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(Bytes::from_static(&[b'x'; 1 << 20]))
        });
        let begin = stream::iter([Ok::<_, std::io::Error>(Bytes::from(begin))]);
        let body = Body::from_stream(begin.chain(stream::iter(endless)));
        let headers = [("content-type", &*media_type)];
        let answer = service.open(request("POST", DATASETS, &headers, body));
        assert_eq!(answer.await.status(), 400);
        // The rest of a refused body is drained up to 64 MiB.
        let taken = taken.load(Ordering::Relaxed);
        assert!(taken < 70, "{taken} MiB");
    }
}

#[tokio::test]
async fn multipart_form_of_another_origin_is_refused() {
    let service = Service::start().await;
    let media_type = format!("multipart/form-data; boundary={BOUNDARY}");
    let headers = [
        ("content-type", &*media_type),
        ("origin", "http://evil.example"),
        ("host", "127.0.0.1:8080"),
    ];
    let body = form(&[field("labels", "ill"), csv()], BOUNDARY);
    let answer = service
        .send(request("POST", DATASETS, &headers, body))
        .await;
    assert_eq!(answer.problem(403), "foreign-origin");
}
