//! Small bodies that expand to large ones: refusals name the limit, come early and cost little.

use std::convert::Infallible;
use std::io::Write;

use axum::body::Body;
use axum::http::{HeaderValue, Request};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::future::{Either, select};
use futures_util::{StreamExt, stream};
use halfspace::config::NewKey;
use halfspace::http::limits::Limits;
use http_body_util::BodyExt;
use serde_json::json;

use super::keys::{Caller, named};
use crate::service::{Answer, Program, Service, processor_ticks, request, short_job, until};

const BOMB_BYTES: usize = 3 << 30;

/// Processor time per request, in ticks of 10 ms.
const TICKS_MAX: u64 = if cfg!(debug_assertions) { 200 } else { 50 };

/// 3 GiB of repeated `unit`, compressed to 98 KB in frames of 128 MiB.
fn zstd_bomb(unit: &str) -> Vec<u8> {
    const FRAME_BYTES: usize = 128 << 20;
    let text = unit.repeat(FRAME_BYTES / unit.len());
    let frame = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let bomb = frame.repeat(BOMB_BYTES / text.len());
    assert!(bomb.len() < 400_000, "{}", bomb.len());
    bomb
}

/// 96 MiB of repeated `unit`, which gzip compresses to 98 KB.
fn gzip_bomb(unit: &str) -> Vec<u8> {
    let text = unit.repeat((96 << 20) / unit.len());
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 110_000, "{}", bomb.len());
    bomb
}

struct Attack {
    program: Program,
    model: String,
    session: String,
}

impl Attack {
    async fn on(program: Program) -> Self {
        let client = program.client();
        let path = client.submit(&short_job()).await;
        let job = client.until_status(&path, "succeeded").await;
        let session = json!({"learner": {"name": "perceptron"}, "n": 3});
        let session = client.post("/v1/sessions", &session, None).await.unwrap();
        Self {
            model: job["result"]["model"].as_str().unwrap().to_owned(),
            session: session.expect(201).id(),
            program,
        }
    }

    /// Every route that decompresses bodies, with its formats.
    fn routes(&self) -> Vec<(String, &'static str)> {
        let lines = [
            "application/x-ndjson",
            "text/csv",
            "text/x-libsvm",
            "text/x-arff",
        ];
        let (model, session) = (&self.model, &self.session);
        let of_lines = [
            "/v1/datasets".to_owned(),
            "/v1/learners/perceptron/train".to_owned(),
            format!("/v1/models/{model}/predict"),
            format!("/v1/models/{model}/evaluate"),
            format!("/v1/sessions/{session}/examples"),
        ];
        let of_json = ["/v1/jobs".to_owned(), "/v1/models".to_owned()];
        let inference = format!("/v2/models/{model}/infer");
        let mut routes = Vec::new();
        for path in of_lines {
            routes.extend(lines.map(|format| (path.clone(), format)));
            routes.push((path, "application/json"));
        }
        routes.extend(of_json.map(|path| (path, "application/json")));
        routes.push((inference, "application/json"));
        routes
    }

    /// Sends a body and returns the answer and its processor time in ticks.
    async fn send(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (Answer, u64) {
        let pid = self.program.pid();
        let before = processor_ticks(pid).unwrap_or(0);
        let client = self.program.client();
        let answer = client.send("POST", path, headers, body).await;
        (answer.unwrap(), processor_ticks(pid).unwrap_or(0) - before)
    }
}

/// Asserts a refusal for the ratio. A stream into a session may have begun its answer.
#[track_caller]
fn refused_for_its_ratio(answer: &Answer, about: &str) {
    let text = answer.text();
    // A session limits the number of lines first.
    let limits = ["decompression_ratio_max", "session_lines_max: 1000000"];
    assert!(
        limits.iter().any(|limit| text.contains(limit)),
        "{about}: {text}"
    );
    assert!(text.contains("too-large"), "{about}: {text}");
}

#[tokio::test]
async fn bomb_of_newlines_is_refused_at_the_ratio_on_every_route() {
    let directory = tempfile::tempdir().unwrap();
    let attack = Attack::on(Program::start(directory.path(), &[])).await;
    for (coding, bomb) in [("zstd", zstd_bomb("\n")), ("gzip", gzip_bomb("\n"))] {
        for (path, format) in attack.routes() {
            // Gzip bodies are refused equally late on every route.
            if coding == "gzip" && path != "/v1/datasets" {
                continue;
            }
            let headers = [("content-type", format), ("content-encoding", coding)];
            let (answer, ticks) = attack.send(&path, &headers, &bomb).await;
            let about = format!("{path} {format} {coding}");
            refused_for_its_ratio(&answer, &about);
            assert!(ticks <= TICKS_MAX, "{about}: {ticks} ticks");
        }
    }
}

/// A limit below the bytes without a ratio: the service skips the empty lines, and only their decompression takes time.
#[tokio::test]
async fn empty_lines_cost_only_their_decompression() {
    let directory = tempfile::tempdir().unwrap();
    let settings = ["--body-bytes-max", "16000000"];
    let attack = Attack::on(Program::start(directory.path(), &settings)).await;
    for unit in ["\n", "\r\n"] {
        let bomb = zstd_bomb(unit);
        for (path, format) in attack.routes() {
            // JSON has no lines, and a session counts empty lines.
            if format == "application/json" || path.contains("/sessions/") {
                continue;
            }
            let headers = [("content-type", format), ("content-encoding", "zstd")];
            let (answer, ticks) = attack.send(&path, &headers, &bomb).await;
            let about = format!("{path} {format} {unit:?}");
            let text = answer.text();
            assert!(text.contains("limit body_bytes_max"), "{about}: {text}");
            assert!(ticks <= TICKS_MAX, "{about}: {ticks} ticks");
        }
    }
}

#[tokio::test]
async fn decompression_ratio_max_is_a_setting_and_a_limit() {
    let small = |limits: &mut Limits| limits.decompression_ratio_max = 20;
    let service = Service::limited(&[], small).await;
    let limits = service.get("/v1/limits").await.expect(200).json();
    assert_eq!(limits["decompression_ratio_max"], 20);
    let post = async |rows: usize| {
        let body = zstd::encode_all("1,0,1\n".repeat(rows).as_bytes(), 1).unwrap();
        let headers = [("content-type", "text/csv"), ("content-encoding", "zstd")];
        service
            .send(request("POST", "/v1/datasets?labels=first", &headers, body))
            .await
    };
    // Six bytes a row: the limit begins at 16 MiB.
    post((16 << 20) / 6).await.expect(201);
    let answer = post((17 << 20) / 6).await;
    let detail = answer.json()["detail"].to_string();
    assert_eq!(answer.problem(413), "too-large");
    assert!(detail.contains("decompression_ratio_max is 20"), "{detail}");
    assert!(detail.contains("16777216"), "{detail}");
}

/// Bytes that a process has written, where the system reports them.
fn written_bytes(pid: u32) -> Option<u64> {
    let counts = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let line = counts
        .lines()
        .find_map(|line| line.strip_prefix("wchar: "))?;
    line.parse().ok()
}

/// Dense rows of 1,048,576 features would take 2.4 GiB for a body of 4.5 KB.
#[tokio::test]
async fn sparse_rows_take_no_more_room_than_their_active_features() {
    let directory = tempfile::tempdir().unwrap();
    let attack = Attack::on(Program::start(directory.path(), &[])).await;
    for row in ["+1 1048576:0.5\n", "+1 1048576:1\n"] {
        let rows = if row.contains('.') { 300 } else { 20_000 };
        let before = written_bytes(attack.program.pid());
        let headers = [("content-type", "text/x-libsvm")];
        let body = format!("-1 1:1\n{}", row.repeat(rows));
        let (answer, ticks) = attack.send("/v1/datasets", &headers, body.as_bytes()).await;
        let stored = answer.expect(201).json()["bytes"].as_u64().unwrap();
        assert!(stored < 24 * rows as u64, "{stored} bytes");
        assert!(ticks <= 10 * TICKS_MAX, "{ticks} ticks");
        if let (Some(before), Some(after)) = (before, written_bytes(attack.program.pid())) {
            assert!(after - before < 5_000_000, "{}", after - before);
        }
    }
}

/// Packed rows of 1,048,576 features would take 2.4 GiB in the log of a session, and in a question about all rows.
#[tokio::test]
async fn sessions_keep_sparse_rows_and_questions_about_all_rows_count_the_packed_ones() {
    let directory = tempfile::tempdir().unwrap();
    let attack = Attack::on(Program::start(directory.path(), &[])).await;
    let client = attack.program.client();
    let headers = [("content-type", "text/x-libsvm")];
    let body = format!("-1 1:1\n{}", "+1 1048576:1\n".repeat(20_000));
    let session = json!({"learner": {"name": "perceptron"}, "n": 1_048_576});
    let session = client
        .post("/v1/sessions", &session, None)
        .await
        .unwrap()
        .expect(201)
        .id();
    let before = written_bytes(attack.program.pid());
    let path = format!("/v1/sessions/{session}/examples");
    let (answer, ticks) = attack.send(&path, &headers, body.as_bytes()).await;
    answer.expect(200);
    assert!(ticks <= 10 * TICKS_MAX, "{ticks} ticks");
    if let (Some(before), Some(after)) = (before, written_bytes(attack.program.pid())) {
        // The answers, the log and a snapshot of the weights.
        assert!(after - before < 60_000_000, "{}", after - before);
    }
    let (answer, _) = attack.send("/v1/datasets", &headers, body.as_bytes()).await;
    let dataset = answer.expect(201).id();
    let job = json!({"separability": {"data": {"dataset": dataset}}});
    let answer = client.post("/v1/jobs", &job, None).await.unwrap();
    assert_eq!(answer.problem(413), "too-large");
}

/// 240 MB of stored rows in about 60 KB.
#[tokio::test]
async fn stored_ratio_max_bounds_stored_bytes_by_bytes_sent() {
    let directory = tempfile::tempdir().unwrap();
    let attack = Attack::on(Program::start(directory.path(), &[])).await;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let row = "5,".repeat(999);
    let rows = format!("{row}1\n{row}0\n").repeat(15_000);
    encoder.write_all(rows.as_bytes()).unwrap();
    let body = encoder.finish().unwrap();
    let before = written_bytes(attack.program.pid());
    let headers = [("content-type", "text/csv"), ("content-encoding", "gzip")];
    let path = "/v1/datasets?labels=last&header=false";
    let (answer, ticks) = attack.send(path, &headers, &body).await;
    let detail = answer.json()["detail"].to_string();
    assert_eq!(answer.problem(413), "too-large");
    assert!(detail.contains("stored_ratio_max is 1000"), "{detail}");
    assert!(ticks <= 10 * TICKS_MAX, "{ticks} ticks");
    if let (Some(before), Some(after)) = (before, written_bytes(attack.program.pid())) {
        assert!(after - before < 70_000_000, "{}", after - before);
    }
    // So many rows are free.
    let few = format!("{row}1\n{row}0\n").repeat(4);
    let (answer, _) = attack.send(path, &headers[..1], few.as_bytes()).await;
    answer.expect(201);
}

#[tokio::test]
async fn slow_reading_of_a_body_is_refused_and_names_read_seconds_max() {
    let service = Service::limited(&[], |limits| limits.read_seconds_max = Some(0.05)).await;
    let row = "1,0.5,0.25,0.125\n";
    let headers = [("content-type", "text/csv")];
    for path in ["/v1/datasets", "/v1/previews"] {
        let path = format!("{path}?labels=first&header=false");
        let body = row.repeat((32 << 20) / row.len());
        let answer = service.send(request("POST", &path, &headers, body)).await;
        let detail = answer.json()["detail"].to_string();
        assert_eq!(answer.problem(413), "too-large");
        assert!(
            detail.contains("read_seconds_max seconds of computing: 0.05"),
            "{detail}"
        );
        let small = service.send(request("POST", &path, &headers, row)).await;
        assert!(small.status.is_success(), "{}", small.text());
    }
}

/// A body of `rows` rows of 512 stored bytes each. The body ends on a signal.
fn held_back(rows: usize) -> (Body, tokio::sync::oneshot::Sender<()>) {
    let row = format!("{}\n", "10".repeat(2048));
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let first = Bytes::from(row.repeat(rows));
    let frames = stream::once(async move { Ok::<_, Infallible>(first) });
    let last = stream::once(async move {
        let _ = ended.await;
        Ok(Bytes::from_static(b"\n"))
    });
    (Body::from_stream(frames.chain(last)), end)
}

/// Sends a request with `Expect: 100-continue`, so that the service need not read the rest of a refused body.
async fn streamed(service: &Service, mut request: Request<Body>) -> Answer {
    let expect = HeaderValue::from_static("100-continue");
    request.headers_mut().insert("expect", expect);
    let (parts, body) = service.open(request).await.into_parts();
    Answer {
        status: parts.status,
        headers: parts.headers,
        body: body.collect().await.unwrap().to_bytes(),
    }
}

#[tokio::test]
async fn concurrent_uploads_of_one_key_keep_its_quota() {
    let small = |limits: &mut Limits| limits.upload_memory_bytes_max = 10_000;
    let service = Service::limited(&[], small).await;
    let new = NewKey {
        bytes: Some(1_000_000),
        ..named("small")
    };
    let small = Caller::new(&service, new).await;
    let other = Caller::new(&service, named("other")).await;
    let post = async |caller: &Caller<'_>, body| {
        let authorization = caller.authorization.as_deref().unwrap();
        let headers = [
            ("content-type", "application/x-ndjson"),
            ("authorization", authorization),
        ];
        streamed(&service, request("POST", "/v1/datasets", &headers, body)).await
    };
    // Each body stores 600 KB. Neither ends before one of them is refused.
    let ((one, end_one), (two, end_two)) = (held_back(1200), held_back(1200));
    let one = std::pin::pin!(post(&small, one));
    let two = std::pin::pin!(post(&small, two));
    let ((refused, left), end) = match select(one, two).await {
        Either::Left(first) => (first, end_two),
        Either::Right(first) => (first, end_one),
    };
    assert_eq!(refused.problem(429), "quota-full");
    let detail = refused.json()["detail"].to_string();
    assert!(
        detail.contains("stored_bytes_per_key_max is 1000000"),
        "{detail}"
    );
    // The uploads of other keys are counted separately.
    let (body, end_other) = held_back(1200);
    end_other.send(()).unwrap();
    post(&other, body).await.expect(201);
    end.send(()).unwrap();
    left.await.expect(201);
    // The reservations are released: only the stored dataset counts.
    let (body, end) = held_back(700);
    end.send(()).unwrap();
    post(&small, body).await.expect(201);
    let (body, end) = held_back(300);
    end.send(()).unwrap();
    assert_eq!(post(&small, body).await.problem(429), "quota-full");
}

#[tokio::test]
async fn aborted_upload_frees_its_reserved_bytes() {
    let settings = ["--stored-bytes-max", "1000000"];
    let small = |limits: &mut Limits| limits.upload_memory_bytes_max = 10_000;
    let service = Service::limited(&settings, small).await;
    let post = async |body| {
        let headers = [("content-type", "application/x-ndjson")];
        streamed(&service, request("POST", "/v1/datasets", &headers, body)).await
    };
    let ((one, _end_one), (two, _end_two)) = (held_back(1200), held_back(1200));
    {
        let one = std::pin::pin!(post(one));
        let two = std::pin::pin!(post(two));
        let (refused, _broken_off) = select(one, two).await.factor_first();
        assert_eq!(refused.problem(507), "storage-full");
    }
    until("its bytes to be free", async || {
        let (body, end) = held_back(1200);
        end.send(()).unwrap();
        let answer = post(body).await;
        (answer.status == 201).then_some(())
    })
    .await;
}
