//! Traces: the spans that a collector receives over OTLP, and collectors that do not answer.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::json;
use tokio::net::TcpListener;

use crate::service::{Program, Receiver, SECRET, TestDatabase, until};

/// The trace and the span of the client.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CLIENT_SPAN: &str = "b7ad6b7169203331";

/// A collector that keeps all spans.
struct Collector {
    endpoint: String,
    spans: Arc<Mutex<Vec<Span>>>,
}

impl Collector {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let spans = Arc::<Mutex<Vec<Span>>>::default();
        let received = Arc::clone(&spans);
        let receive = async move |body: Bytes| {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            let scopes = request
                .resource_spans
                .into_iter()
                .flat_map(|resource| resource.scope_spans);
            received
                .lock()
                .unwrap()
                .extend(scopes.flat_map(|scope| scope.spans));
        };
        let router = Router::new().route("/v1/traces", post(receive));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { endpoint, spans }
    }

    /// The span of this name in the trace of the client.
    async fn span(&self, name: &str) -> Span {
        until(name, async || {
            let spans = self.spans.lock().unwrap();
            let mut spans = spans.iter().filter(|span| hex(&span.trace_id) == TRACE);
            spans.find(|span| span.name == name).cloned()
        })
        .await
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_its_job_in_another_process_and_its_callback_are_one_trace() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let (collector, receiver) = (Collector::start().await, Receiver::start().await);
    let url = database.url();
    let start = |role| {
        let settings = [
            "--database-url",
            &url,
            "--role",
            role,
            "--otlp-endpoint",
            &collector.endpoint,
            "--callback-secret",
            SECRET,
            "--callback-allow",
            "127.0.0.0/8",
        ];
        Program::start(directory.path(), &settings)
    };
    let (api, _worker) = (start("api"), start("worker"));
    let examples = json!([{"x": "101", "y": 1}, {"x": "010", "y": -1}]);
    let job = json!({
        "train": {"learner": {"name": "perceptron"}, "data": {"labelled": {"examples": examples}}},
        "callback": receiver.url(),
    });
    let traceparent = format!("00-{TRACE}-{CLIENT_SPAN}-01");
    let headers = [
        ("content-type", "application/json"),
        ("traceparent", traceparent.as_str()),
    ];
    let answer = api
        .client()
        .send("POST", "/v1/jobs", &headers, job.to_string().as_bytes())
        .await;
    answer.unwrap().expect(202);
    let call = receiver.call().await;
    let carried = call.header("traceparent").to_owned();
    call.answer("204 No Content").await;

    let request = collector.span("POST /v1/jobs").await;
    assert_eq!(hex(&request.parent_span_id), CLIENT_SPAN);
    for name in ["job train", "callback"] {
        let span = collector.span(name).await;
        assert_eq!(span.parent_span_id, request.span_id, "{name}");
    }
    let callback = collector.span("callback").await;
    assert_eq!(carried, format!("00-{TRACE}-{}-01", hex(&callback.span_id)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hanging_or_absent_trace_collector_is_logged_once() {
    let directory = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let absent = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    for (name, address) in [("silent", silent.local_addr().unwrap()), ("absent", absent)] {
        let log = directory.path().join(name).with_extension("log");
        let endpoint = format!("http://{address}");
        let settings = ["--otlp-endpoint", endpoint.as_str()];
        let mut program =
            Program::start_logging("warn", &log, &directory.path().join(name), &settings);
        // More spans than the queue of the export takes.
        for _ in 0..4_000 {
            program.client().get("/livez").await.expect(200);
        }
        let warnings = || {
            std::fs::read_to_string(&log)
                .unwrap()
                .matches("spans cannot be exported")
                .count()
        };
        until("a warning", async || (warnings() > 0).then_some(())).await;
        program.terminate();
        assert!(program.ended().await.success());
        assert_eq!(warnings(), 1, "{name}");
    }
}
