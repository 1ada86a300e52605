//! Small requests that ask for much memory, disk or computing, each alone and many at once, in a control group of 512
//! MiB. The process must survive, each request may take only a bounded amount per byte sent, and requests of another
//! key must be answered. The short form tries a sample of the table, the long form all of it.
//!
//! The routes come from the API document. If you add a route with a body or a parameter in its path, add an entry
//! here.

mod bodies;

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::scale::{Scale, report};
use crate::service::{Client, MemoryLimit, Program, create_key, memory_peak, processor_ticks};
use bodies::Body;

const MIB: u64 = 1 << 20;

/// The memory of the control group.
const GROUP_BYTES: u64 = 512 * MIB;

/// Address space without a control group. The allocator reserves more than it uses.
const ADDRESS_KIBIBYTES: u64 = 8 << 20;

/// Memory of the process that the group does not count: the pages of the program, which other processes share.
const PROGRAM_BYTES: u64 = 64 * MIB;

/// Concurrent copies of a request, in the short and in the long form.
const COPIES: [usize; 2] = [12, 32];

/// One request may take this much beyond what the process had before, and so much more per byte sent.
const MEMORY_FREE: u64 = 300 * MIB;
const DISK_FREE: u64 = 160 * MIB;
const DISK_PER_BYTE: u64 = 2_200;
const PROCESSOR_SECONDS: f64 = if cfg!(debug_assertions) { 40.0 } else { 12.0 };

/// Bytes of a body under test, which may take a second to read per 32 MiB: a program that is not optimised is slower
/// than the default limit supposes.
const BODY_BYTES: &str = "268435456";

/// Time to answer all copies of a request, and one request of another key.
const DEADLINE: Duration = Duration::from_secs(240);
const DEADLINE_OF_OTHERS: Duration = Duration::from_secs(30);

/// Pause of the other key before it sends a refused request again.
const PAUSE_OF_OTHERS: Duration = Duration::from_millis(250);

/// A hostile request.
struct Attack {
    /// The method and the path of the document.
    route: String,
    method: &'static str,
    /// The path of the document.
    path: String,
    body: Body,
    /// Bytes of disk beside those of the bounds: what the request itself asks to store.
    asked_bytes: u64,
}

/// What one or many copies of a request took.
#[derive(Clone, Debug)]
struct Taken {
    statuses: Vec<(u16, usize)>,
    /// The memory before, and the largest memory since.
    before_bytes: u64,
    peak_bytes: u64,
    disk_bytes: u64,
    seconds: f64,
}

/// The service under attack, and two callers.
struct Stage {
    program: Program,
    /// Holds the control group while the program runs.
    _limit: Option<MemoryLimit>,
    attacker: String,
    other: String,
    model: String,
    other_model: String,
    dataset: String,
    job: String,
    session: String,
    _home: TempDir,
}

fn other_program() -> Option<PathBuf> {
    std::env::var_os("HALFSPACE_FAULTS_PROGRAM").map(PathBuf::from)
}

impl Stage {
    async fn begin() -> Self {
        let home = tempfile::tempdir().unwrap();
        let keys = ["attacker", "other"].map(|name| create_key(home.path(), &[], name).1);
        let [attacker, other] = keys.map(|secret| format!("Bearer {secret}"));
        let memory = (GROUP_BYTES / 100 * 70).to_string();
        let mut settings = vec!["--memory-bytes-max", &memory, "--workers", "2"];
        let executable = other_program();
        if executable.is_none() {
            settings.extend(["--body-bytes-max", BODY_BYTES]);
        }
        let limit = MemoryLimit::new(GROUP_BYTES);
        let program = match &limit {
            Ok(_) => Program::start_unrecorded(executable.as_deref(), home.path(), &settings),
            Err(why) => {
                eprintln!("no control group: {why}");
                let limit = format!("ulimit -v {ADDRESS_KIBIBYTES}");
                Program::start_with_limit(&limit, home.path(), &settings)
            }
        };
        if let Ok(limit) = &limit {
            limit.hold(program.pid()).unwrap();
        }
        let mut stage = Self {
            program,
            _limit: limit.ok(),
            attacker,
            other,
            model: String::new(),
            other_model: String::new(),
            dataset: String::new(),
            job: String::new(),
            session: String::new(),
            _home: home,
        };
        stage.make().await;
        stage
    }

    /// Makes one thing of each kind for the attacker, and a model for the other caller.
    async fn make(&mut self) {
        let train =
            json!({"labelled": {"examples": [{"x": "110", "y": 1}, {"x": "001", "y": -1}]}});
        let path = "/v1/learners/perceptron/train";
        let trained = self.made(&self.attacker, path, &train).await;
        self.job = trained["id"].as_str().unwrap().to_owned();
        self.model = trained["result"]["model"].as_str().unwrap().to_owned();
        let trained = self.made(&self.other, path, &train).await;
        self.other_model = trained["result"]["model"].as_str().unwrap().to_owned();
        let session = json!({"learner": {"name": "perceptron"}, "n": 3});
        let made = self.made(&self.attacker, "/v1/sessions", &session).await;
        self.session = made["id"].as_str().unwrap().to_owned();
        let made = self
            .made(&self.attacker, "/v1/datasets", &json!({"data": train}))
            .await;
        self.dataset = made["id"].as_str().unwrap().to_owned();
    }

    async fn made(&self, key: &str, path: &str, body: &Value) -> Value {
        let sent = Sent {
            method: "POST",
            path,
            key,
            headers: vec![("content-type", "application/json"), ("prefer", "wait=30")],
            body: body.to_string().into_bytes().into(),
        };
        let (status, answer) = sent.exchange(self.program.client()).await.unwrap();
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        serde_json::from_str(&answer).unwrap()
    }

    /// Puts the ids of the stage into a path of the document.
    fn filled(&self, path: &str) -> String {
        let id = match path.split('/').nth(2) {
            Some("datasets") => &self.dataset,
            Some("jobs") => &self.job,
            Some("models") => &self.model,
            Some("sessions") => &self.session,
            _ => "",
        };
        let name = match path.contains("/samples/") {
            true => "monks-1",
            false => "perceptron",
        };
        let filled = path
            .replace("{id}", id)
            .replace("{name}", name)
            .replace("{version}", "1")
            .replace("{figure}", "mistake-curve")
            .replace("{code}", "schema");
        assert!(
            !filled.contains('{'),
            "{path} has a parameter that this test does not know"
        );
        filled
    }

    /// Sends copies of a request while the other caller works. `None` if the process died.
    async fn suffer(&self, attack: &Attack, copies: usize) -> Option<Taken> {
        let pid = self.program.pid();
        // The system forgets the peak so far.
        let _ = std::fs::write(format!("/proc/{pid}/clear_refs"), "5");
        let before_bytes = memory_peak(pid)?;
        let (ticks, written) = (processor_ticks(pid)?, written_bytes(pid));
        let client = self.program.client();
        let is_over = AtomicBool::new(false);
        let body: Arc<[u8]> = attack.body.bytes.clone().into();
        let path = match (self.filled(&attack.path), attack.body.query) {
            (path, "") => path,
            (path, query) => format!("{path}?{query}"),
        };
        let attacks = async {
            let sent = (0..copies).map(|_| {
                self.attack(attack, &path, Arc::clone(&body))
                    .exchange(client)
            });
            let answers = timeout(DEADLINE, join_all(sent)).await;
            is_over.store(true, Ordering::Relaxed);
            answers
        };
        let (answers, others) = tokio::join!(attacks, self.work_until(&is_over));
        let about = || format!("{} ({}), {copies} at once", attack.route, attack.body.what);
        let ticks = processor_ticks(pid).map(|now| now - ticks);
        let peak_bytes = memory_peak(pid);
        let (Some(ticks), Some(peak_bytes), Some(_)) = (ticks, peak_bytes, others) else {
            return None;
        };
        let answers = answers.unwrap_or_else(|_| panic!("{}: no answer", about()));
        let mut statuses: Vec<(u16, usize)> = Vec::new();
        for answer in answers {
            let (status, text) = answer?;
            assert!(
                status < 500 || is_busy(status, &text),
                "{}: {status} {text:.800}",
                about()
            );
            match statuses.iter_mut().find(|(known, _)| *known == status) {
                Some((_, count)) => *count += 1,
                None => statuses.push((status, 1)),
            }
        }
        Some(Taken {
            statuses,
            before_bytes,
            peak_bytes,
            disk_bytes: written_bytes(pid).saturating_sub(written),
            seconds: ticks as f64 / 100.0,
        })
    }

    fn attack<'a>(&'a self, attack: &'a Attack, path: &'a str, body: Arc<[u8]>) -> Sent<'a> {
        let mut headers = Vec::new();
        if !body.is_empty() {
            headers.push(("content-type", attack.body.media_type));
        }
        headers.extend(
            attack
                .body
                .coding
                .map(|coding| ("content-encoding", coding)),
        );
        Sent {
            method: attack.method,
            path,
            key: &self.attacker,
            headers,
            body,
        }
    }

    /// Requests of the other caller until the attack is over. `None` if the process died.
    ///
    /// Each must be met. While the attack holds the memory or the permits, the contract is a 503 that asks to retry, so
    /// a client that retries is met within the deadline. No other failure is allowed.
    async fn work_until(&self, is_over: &AtomicBool) -> Option<usize> {
        let done = AtomicUsize::new(0);
        let predict = format!("/v1/models/{}/predict", self.other_model);
        let examples = json!({"unlabelled": {"examples": ["101"]}}).to_string();
        let rows = "{\"x\": \"101\", \"y\": 1}\n";
        let json = "application/json";
        let requests = [
            ("POST", predict.as_str(), json, examples.as_str()),
            ("GET", "/v1/limits", json, ""),
            ("POST", "/v1/datasets", "application/x-ndjson", rows),
        ];
        while !is_over.load(Ordering::Relaxed) {
            for (method, path, media_type, body) in requests {
                let met = async {
                    loop {
                        let sent = Sent {
                            method,
                            path,
                            key: &self.other,
                            headers: vec![("content-type", media_type)],
                            body: body.as_bytes().into(),
                        };
                        let (status, text) = sent.exchange(self.program.client()).await?;
                        if (200..300).contains(&status) {
                            return Some(());
                        }
                        assert!(is_busy(status, &text), "{path}: {status} {text}");
                        sleep(PAUSE_OF_OTHERS).await;
                    }
                };
                let met = timeout(DEADLINE_OF_OTHERS, met).await;
                met.expect("an answer to the other key")?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            sleep(Duration::from_millis(10)).await;
        }
        Some(done.into_inner())
    }

    /// Deletes the datasets and cancels the jobs of the attacker, so that one attack does not disturb the next.
    async fn clear(&self) {
        for (list, method, suffix) in [("datasets", "DELETE", ""), ("jobs", "POST", "/cancel")] {
            let path = format!("/v1/{list}?limit=1000");
            let Some((_, text)) = self.tell("GET", &path).await else {
                return;
            };
            let found: Value = serde_json::from_str(&text).unwrap_or_default();
            for item in found["items"].as_array().into_iter().flatten() {
                let id = item["id"].as_str().unwrap_or_default();
                if id != self.dataset && id != self.job {
                    let _ = self.tell(method, &format!("/v1/{list}/{id}{suffix}")).await;
                }
            }
        }
    }

    async fn tell(&self, method: &'static str, path: &str) -> Option<(u16, String)> {
        let sent = Sent {
            method,
            path,
            key: &self.attacker,
            headers: Vec::new(),
            body: Arc::default(),
        };
        sent.exchange(self.program.client()).await
    }
}

/// Whether the service refuses a request for lack of memory or permits, which a retry mends.
fn is_busy(status: u16, text: &str) -> bool {
    status == 503 && (text.contains("_max") || text.contains("no-memory"))
}

/// Bytes that a process has written to the disk, where the system reports them.
fn written_bytes(pid: u32) -> u64 {
    let counts = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let mut lines = counts.lines();
    let line = lines.find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

/// A request on a connection of its own.
struct Sent<'a> {
    method: &'static str,
    path: &'a str,
    key: &'a str,
    headers: Vec<(&'static str, &'a str)>,
    body: Arc<[u8]>,
}

impl Sent<'_> {
    /// Sends the request and reads the answer at the same time, because a refusal may come before the body was sent.
    /// `None` if the connection breaks.
    async fn exchange(self, client: Client) -> Option<(u16, String)> {
        let stream = TcpStream::connect(client.address).await.ok()?;
        let (mut reader, mut writer) = stream.into_split();
        let mut head = format!(
            "{} {} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: {}\r\ncontent-length: {}\r\n",
            self.method,
            self.path,
            client.address,
            self.key,
            self.body.len()
        );
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        head.push_str("\r\n");
        let body = self.body;
        let sending = tokio::spawn(async move {
            // The server may close the connection of a refused request.
            let _ = writer.write_all(head.as_bytes()).await;
            let _ = writer.write_all(&body).await;
            writer
        });
        let mut answer = Vec::new();
        // A program that is killed resets the connection, perhaps after a part of the answer.
        let _ = reader.read_to_end(&mut answer).await;
        drop(sending.await);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1)?.parse().ok()?;
        let (_, text) = answer.split_once("\r\n\r\n")?;
        Some((status, text.to_owned()))
    }
}

/// Every attack: for each operation of the document one request at least.
fn attacks(scale: Scale) -> Vec<Attack> {
    let document: Value =
        serde_json::from_str(include_str!("../../../openapi/openapi.json")).unwrap();
    let (data, documents) = (bodies::of_data(scale), bodies::of_json());
    let workbook = data.iter().find(|body| body.media_type.contains("openxml"));
    let form = bodies::form(workbook.expect("a workbook"));
    let mut attacks = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (name, operation) in operations.as_object().unwrap() {
            let method = match name.as_str() {
                "get" => "GET",
                "post" => "POST",
                "delete" => "DELETE",
                _ => panic!("{name} {path} has a method that this test does not know"),
            };
            let mut add = |body: &Body| {
                let asked_bytes = match body.what {
                    "generated examples" | "a stored construction" => 1 << 30,
                    _ => 0,
                };
                attacks.push(Attack {
                    route: format!("{method} {path}"),
                    method,
                    path: match method {
                        // A deleted thing would be missing in later requests.
                        "DELETE" => path.replace("{id}", "00000000-0000-7000-8000-000000000000"),
                        _ => path.clone(),
                    },
                    body: body.clone(),
                    asked_bytes,
                });
            };
            let Some(content) = operation["requestBody"]["content"].as_object() else {
                add(&bodies::none());
                continue;
            };
            let takes = |media_type: &str| content.contains_key(media_type);
            data.iter()
                .filter(|body| takes(body.media_type))
                .for_each(&mut add);
            if takes("multipart/form-data") {
                add(&form);
            }
            if takes("application/json") {
                let is_met = |document: &&Body| scale.of(is_of_short_form(path, document), true);
                documents.iter().filter(is_met).for_each(&mut add);
            }
            bodies::of_route(path).iter().for_each(&mut add);
        }
    }
    attacks
}

/// Whether the short form sends this document to this route. All routes read documents with the same reader, so each
/// kind of document meets the routes that make examples or keep things, and one document meets every route.
fn is_of_short_form(path: &str, document: &Body) -> bool {
    const MET: [&str; 3] = ["/v1/datasets", "/v1/jobs", "/v1/models/{id}/predict"];
    MET.contains(&path) || document.what == "many maps of one member"
}

/// Whether the short form sends many copies of a request too. Each kind of body meets one route of each kind.
fn is_repeated(attack: &Attack) -> bool {
    let is_of_examples = attack.route == "POST /v1/models/{id}/predict";
    is_of_examples || !attack.body.media_type.starts_with("text/")
}

/// What exceeds the bounds of one request.
fn excess(attack: &Attack, taken: &Taken, copies: usize) -> Option<String> {
    let (sent, copies) = ((attack.body.bytes.len() * copies) as u64, copies as u64);
    let disk = copies * (DISK_FREE + attack.asked_bytes) + DISK_PER_BYTE * sent;
    let seconds = PROCESSOR_SECONDS * copies as f64;
    let grown = taken.peak_bytes.saturating_sub(taken.before_bytes);
    let is_within = taken.peak_bytes <= GROUP_BYTES + PROGRAM_BYTES
        && (copies > 1 || grown <= MEMORY_FREE)
        && taken.disk_bytes <= disk
        && taken.seconds <= seconds;
    (!is_within).then(|| {
        format!(
            "{} ({}), {copies} at once: {taken:?}",
            attack.route, attack.body.what
        )
    })
}

/// One line of the table.
fn told(attack: &Attack, taken: Option<&Taken>, copies: usize) {
    let sent = attack.body.bytes.len();
    let taken = taken.map_or_else(
        || "the process died".to_owned(),
        |taken| {
            let statuses = taken.statuses.iter();
            let statuses = statuses.map(|(status, count)| format!("{count} x {status}"));
            format!(
                "{}; {} MiB; disk {} MiB; {:.2} s",
                statuses.collect::<Vec<_>>().join(", "),
                taken.peak_bytes / MIB,
                taken.disk_bytes / MIB,
                taken.seconds
            )
        },
    );
    let (route, what) = (&attack.route, attack.body.what);
    report(
        "amplification",
        &format!("{route} | {what} | {copies} x {sent} bytes | {taken}"),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_requests_take_bounded_memory_disk_and_time() {
    let scale = Scale::from_environment();
    let only = other_program().is_some();
    let mut stage = Stage::begin().await;
    let mut faults = Vec::new();
    for attack in &attacks(scale) {
        for copies in [1, scale.of(COPIES[0], COPIES[1])] {
            let is_in_short_form = match copies {
                1 => !attack.body.bytes.is_empty(),
                _ => is_repeated(attack),
            };
            if !scale.of(is_in_short_form, true) {
                continue;
            }
            let taken = stage.suffer(attack, copies).await;
            told(attack, taken.as_ref(), copies);
            match taken {
                Some(taken) => {
                    faults.extend(excess(attack, &taken, copies));
                    if !attack.body.bytes.is_empty() {
                        stage.clear().await;
                    }
                }
                None => {
                    faults.push(format!(
                        "{} ({}): the process died",
                        attack.route, attack.body.what
                    ));
                    drop(stage);
                    stage = Stage::begin().await;
                }
            }
        }
    }
    assert!(only || faults.is_empty(), "{faults:#?}");
}
