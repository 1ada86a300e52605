//! Long requests end within three seconds after another process revokes their key, with a problem, and release their
//! permits.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use crate::service::{
    Answer, Client, Program, Slow, TIMEOUT, TestDatabase, create_key, long_job, revoke_key,
    short_job, until,
};

/// The gauge of open event streams.
const EVENT_STREAMS: &str = "halfspace_permits_in_use{kind=\"event-streams\"}";

/// Longest time that a request may outlive the key.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

const LOOPBACK: [u8; 4] = [127, 0, 0, 1];
const CHUNKED: (&str, &str) = ("transfer-encoding", "chunked");
const NDJSON: (&str, &str) = ("content-type", "application/x-ndjson");
const JSON: (&str, &str) = ("content-type", "application/json");
const MANY_EXAMPLES: usize = 4_000;

/// A service and a key with which the test creates records.
struct Tenant<'p> {
    client: Client,
    home: &'p Path,
    settings: &'p [&'p str],
    id: String,
    bearer: String,
}

impl<'p> Tenant<'p> {
    fn new(client: Client, home: &'p Path, settings: &'p [&'p str], name: &str) -> Self {
        let (id, secret) = create_key(home, settings, name);
        Self {
            client,
            home,
            settings,
            id,
            bearer: format!("Bearer {secret}"),
        }
    }

    fn revoke(&self) {
        revoke_key(self.home, self.settings, &self.id);
    }

    async fn post(&self, path: &str, body: &Value, wait: &str) -> Answer {
        let headers = [JSON, ("authorization", &self.bearer), ("prefer", wait)];
        let body = body.to_string();
        let answer = self.client.send("POST", path, &headers, body.as_bytes());
        answer.await.unwrap()
    }

    async fn open(&self, line: &str, headers: &[(&str, &str)]) -> Slow {
        let own = [("authorization", self.bearer.as_str())];
        let headers = [headers, &own].concat();
        let opened = Slow::open(LOOPBACK, self.client.address, line, &headers);
        opened.await.unwrap()
    }

    /// Starts a long job and returns its path when the job runs.
    async fn running(&self) -> String {
        let answer = self.post("/v1/jobs", &long_job(1), "wait=0").await;
        let path = answer.expect(202).header("location").unwrap().to_owned();
        let headers = [("authorization", self.bearer.as_str())];
        until("the job to run", async || {
            let job = self.client.send("GET", &path, &headers, b"").await.unwrap();
            (job.json()["status"] == "running").then_some(())
        })
        .await;
        path
    }

    /// Opens one long request of each kind. Each comes with a name and a flag for a received response head,
    /// after which the status can no longer report the end.
    async fn lasting(&self) -> Vec<(&'static str, bool, Slow)> {
        let job = self.running().await;
        let trained = self.post("/v1/jobs", &short_job(), "wait=30").await;
        let model = trained.expect(200).json()["result"]["model"].clone();
        let model = model.as_str().unwrap().to_owned();
        let session = json!({"learner": {"name": "perceptron"}, "n": 3});
        let session = self.post("/v1/sessions", &session, "wait=0").await;
        let session = session.expect(201).id();
        let mut all = Vec::new();
        let mut events = self.open(&format!("GET {job}/events"), &[]).await;
        events.until("event: progress").await.unwrap();
        all.push(("events", true, events));
        let wait = [("prefer", "wait=60")];
        let waiting = self.open(&format!("GET {job}"), &wait).await;
        all.push(("a wait for a job", false, waiting));
        let body = long_job(2).to_string();
        let length = body.len().to_string();
        let key = ("idempotency-key", "the-same");
        let headers = [JSON, key, wait[0], ("content-length", &length)];
        let mut submitting = self.open("POST /v1/jobs", &headers).await;
        submitting.send(body.as_bytes()).await.unwrap();
        all.push(("a job that is waited for", false, submitting));
        let line = format!("POST /v1/sessions/{session}/examples");
        let mut learning = self.open(&line, &[NDJSON, CHUNKED]).await;
        learning
            .chunk("{\"x\": \"101\", \"y\": 1}\n")
            .await
            .unwrap();
        learning.until("\"position\":1").await.unwrap();
        all.push(("a session stream", true, learning));
        let line = format!("POST /v1/models/{model}/predict");
        let mut predicting = self.open(&line, &[NDJSON, CHUNKED]).await;
        predicting.chunk("\"101\"\n").await.unwrap();
        predicting.until("\"prediction\":").await.unwrap();
        all.push(("predictions", true, predicting));
        let line = "POST /v1/datasets";
        let mut large = self.open(line, &[NDJSON, CHUNKED]).await;
        large.chunk(&"\"0110\"\n".repeat(20_000)).await.unwrap();
        all.push(("a large upload", false, large));
        let mut small = self.open(line, &[NDJSON, ("content-length", "100")]).await;
        small.send(b"\"01").await.unwrap();
        all.push(("a small upload", false, small));
        all
    }

    /// Begins a large download and does not read the rest.
    async fn download(&self) -> Slow {
        let examples = vec!["01".repeat(1_000); MANY_EXAMPLES];
        let dataset = json!({"data": {"half_space": {"examples": examples}}});
        let dataset = self.post("/v1/datasets", &dataset, "wait=0").await;
        let dataset = dataset.expect(201).id();
        let line = format!("GET /v1/datasets/{dataset}/examples?limit={MANY_EXAMPLES}");
        let mut download = self.open(&line, &[]).await;
        download.until("\"items\"").await.unwrap();
        download
    }
}

fn assert_cut_off(name: &str, has_begun: bool, answer: &[u8]) {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n").expect(name);
    if !has_begun {
        assert!(head.starts_with("HTTP/1.1 401"), "{name}: {text}");
        let problem: Value = serde_json::from_str(body).expect(name);
        assert_eq!(problem["code"], "unauthorized", "{name}");
        assert!(problem["detail"].as_str().unwrap().contains("revoked"));
        return;
    }
    assert!(head.starts_with("HTTP/1.1 200"), "{name}: {head}");
    let problem = |line: &str| -> Value { serde_json::from_str(line).expect(name) };
    let problem = match name {
        "events" => {
            let (_, last) = body.split_once("event: error\n").expect(name);
            let line = last.lines().next().unwrap();
            problem(line.strip_prefix("data: ").expect(name))
        }
        _ => {
            let line = body.lines().find(|line| line.starts_with("{\"error\":"));
            problem(line.expect(name))["error"].clone()
        }
    };
    assert_eq!(problem["code"], "unauthorized", "{name}: {problem}");
    assert_eq!(problem["status"], 401, "{name}");
    assert!(
        body.ends_with("\r\n0\r\n\r\n"),
        "{name}: it is cut off, and not ended"
    );
}

async fn a_revoked_key_ends_what_lasts(settings: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let settings = [settings, &["--workers", "3"]].concat();
    let program = Program::start(directory.path(), &settings);
    let client = program.client();
    let one = Tenant::new(client, directory.path(), &settings, "one");
    let two = Tenant::new(client, directory.path(), &settings, "two");
    until("the service to heed the keys", async || {
        let answer = client.get("/v1/jobs").await;
        (answer.status == 401).then_some(())
    })
    .await;
    let lasting = one.lasting().await;
    let download = one.download().await;
    let others = two.running().await;
    let mut others = two.open(&format!("GET {others}/events"), &[]).await;
    others.until("event: progress").await.unwrap();
    assert_eq!(client.metric(EVENT_STREAMS).await, 2.0);

    one.revoke();
    let revoked = Instant::now();
    let ends = lasting.into_iter().map(|(name, has_begun, slow)| {
        tokio::spawn(async move {
            let answer = timeout_at(revoked + ENDS_WITHIN, slow.whole()).await;
            let answer = answer.unwrap_or_else(|_| panic!("{name} goes on"));
            assert_cut_off(name, has_begun, &answer);
            (name, revoked.elapsed())
        })
    });
    for end in ends.collect::<Vec<_>>() {
        let (name, after) = end.await.unwrap();
        println!("{name} ended {} ms after the revocation", after.as_millis());
    }
    // The client receives the bytes that were sent before. The rest of the answer never comes.
    let read = timeout(TIMEOUT, download.whole()).await;
    let read = read.expect("an end of the download").len();
    assert!(read < MANY_EXAMPLES * 2_000 * 3 / 4, "{read} bytes came");
    // The requests have released their permits, and the request of the other key continues.
    until("what they held to be free", async || {
        let streams = client.metric(EVENT_STREAMS).await;
        let uploads = "halfspace_permits_in_use{kind=\"uploads\"}";
        let lines = "halfspace_permits_in_use{kind=\"streams\"}";
        let held = client.metric(uploads).await + client.metric(lines).await;
        (streams == 1.0 && held == 0.0).then_some(())
    })
    .await;
    let more = timeout(TIMEOUT, others.read_on()).await;
    more.expect("another event").expect("a stream that goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revoked_key_ends_its_streams_over_sqlite() {
    a_revoked_key_ends_what_lasts(&[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revoked_key_ends_its_streams_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        a_revoked_key_ends_what_lasts(&["--database-url", &database.url()]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_key_ends_anonymous_streams() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &[]);
    let client = program.client();
    let path = client.submit(&long_job(1)).await;
    client.until_status(&path, "running").await;
    let open = async |line: String, headers: &[(&str, &str)]| {
        let opened = Slow::open(LOOPBACK, client.address, &line, headers).await;
        opened.unwrap()
    };
    let mut events = open(format!("GET {path}/events"), &[]).await;
    events.until("event: progress").await.unwrap();
    let waiting = open(format!("GET {path}"), &[("prefer", "wait=60")]).await;
    create_key(directory.path(), &[], "first");
    let ends_by = Instant::now() + ENDS_WITHIN;
    for slow in [events, waiting] {
        let answer = timeout_at(ends_by, slow.whole()).await.expect("an end");
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.contains("\"code\":\"unauthorized\""), "{answer}");
        assert!(answer.contains("The request needs an API key"), "{answer}");
    }
}
