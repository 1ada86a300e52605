//! The history of each store under test: the operations of its processes and the answers to its clients. When the
//! last process of a store has ended, its history is compared with a sequential model.
//!
//! A process enters the history when it starts and leaves it when it ends, so no test can forget the check. Only the
//! fault suite keeps histories, because other tests change stores behind the backs of processes.

pub mod checker;
pub mod holds;
pub mod model;
mod record;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread::JoinHandle;

use serde_json::Value;
use sha2::{Digest, Sha256};

use self::model::{Action, End, Interval};
use self::record::{Jobs, Line, Sight};
use super::Answer;

/// Log directive with which a process records its operations.
pub const DIRECTIVE: &str = "halfspace::history=trace";

/// Whether this test binary keeps histories.
pub const IS_KEPT: bool = matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"faults");

/// The name of a database that every server has.
const OF_EACH_SERVER: &str = "postgres";

/// The histories by the name of their store, and by the addresses of their processes.
static STORES: LazyLock<Mutex<HashMap<String, Arc<History>>>> = LazyLock::new(Mutex::default);
static DOORS: LazyLock<Mutex<HashMap<SocketAddr, Arc<History>>>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct History {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Number of processes that ever entered. `living` counts those that have not left.
    entered: usize,
    living: usize,
    lines: Vec<Line>,
    sights: Vec<Sight>,
    lapses: Vec<Interval>,
}

impl Inner {
    /// Keeps an event. Claims and releases that found no job are dropped: they are the most frequent and prove
    /// nothing.
    fn keep(&mut self, line: Line) {
        match self
            .lines
            .iter()
            .rposition(|call| line.is_nothing_for(call))
        {
            Some(call) => drop(self.lines.swap_remove(call)),
            None => self.lines.push(line),
        }
    }
}

/// A process in the history of its store. Dropping the member leaves the history.
pub struct Member {
    history: Arc<History>,
    process: usize,
    reader: Option<JoinHandle<()>>,
}

impl Member {
    /// Enters a process that is about to start. Returns `None` if no history is kept.
    pub fn enter(data_dir: &Path, settings: &[&str]) -> Option<Self> {
        if !IS_KEPT {
            return None;
        }
        let name = store_name(data_dir, settings);
        let history = Arc::clone(locked(&STORES).entry(name).or_default());
        let mut inner = locked(&history.inner);
        inner.entered += 1;
        inner.living += 1;
        let process = inner.entered;
        drop(inner);
        Some(Self {
            history,
            process,
            reader: None,
        })
    }

    /// Keeps the events of the process's log, and passes all other lines on.
    pub fn read(&mut self, log: impl Read + Send + 'static, mut rest: Option<File>) {
        let (history, process) = (Arc::clone(&self.history), self.process);
        self.reader = Some(std::thread::spawn(move || {
            // The log of a killed process may end with half a line.
            for line in BufReader::new(log).lines().map_while(Result::ok) {
                match (Line::parsed(process, &line), &mut rest) {
                    (Some(line), _) => locked(&history.inner).keep(line),
                    (None, Some(file)) => writeln!(file, "{line}").unwrap(),
                    (None, None) => eprintln!("{line}"),
                }
            }
        }));
    }

    /// Registers the address at which clients reach the process.
    pub fn answers_at(&self, address: SocketAddr) {
        let history = Arc::clone(&self.history);
        locked(&DOORS).insert(address, history);
    }
}

impl Drop for Member {
    /// Checks the history if no process is left. The process must have ended.
    fn drop(&mut self) {
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        let mut inner = locked(&self.history.inner);
        inner.living -= 1;
        if inner.living > 0 {
            return;
        }
        let jobs = Jobs::of(&inner.lines, &inner.sights, &inner.lapses);
        drop(inner);
        let violations = violations(&jobs);
        let told = format!(
            "{} operations on {} jobs",
            jobs.len(),
            jobs.operations.len()
        );
        match violations.is_empty() {
            true => println!("HISTORY of {told}: as the model"),
            // The test has already failed. A second panic would hide its reason.
            false if std::thread::panicking() => eprintln!("{}", violations.join("\n")),
            false => panic!(
                "a history of {told} has violations:\n{}",
                violations.join("\n")
            ),
        }
    }
}

/// Everything that the model does not explain, by job.
fn violations(jobs: &Jobs) -> Vec<String> {
    let mut found = Vec::new();
    for (job, operations) in &jobs.operations {
        if let Err(violation) = checker::check(operations) {
            found.push(format!("{job}: {violation}"));
        }
    }
    for ((job, claim), acts) in &jobs.holds {
        if let Err(violation) = holds::check(acts) {
            found.push(format!("{job}, claim {claim}: {violation}"));
        }
    }
    found
}

/// The name of a store, which is the same for all of its processes: the database's name for every address of
/// PostgreSQL, and otherwise the data directory.
fn store_name(data_dir: &Path, settings: &[&str]) -> String {
    let given = settings.windows(2).find(|pair| pair[0] == "--database-url");
    let url = given.map_or("sqlite", |pair| pair[1]);
    let path = url.split('?').next().unwrap_or_default();
    match path.rsplit('/').next() {
        Some(name) if url.starts_with("postgres") && name != OF_EACH_SERVER => name.to_owned(),
        _ if url.starts_with("postgres") => url.to_owned(),
        _ => data_dir.display().to_string(),
    }
}

/// A request of a client, made before the request is sent.
pub struct Asked {
    history: Arc<History>,
    /// The job that the path names.
    job: Option<Arc<str>>,
    credential: String,
    call_ns: u64,
}

impl Asked {
    /// A request to an address, or `None` if the process there has no history.
    pub fn of(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Option<Self> {
        if !IS_KEPT {
            return None;
        }
        let history = Arc::clone(locked(&DOORS).get(&address)?);
        let job = path.strip_prefix("/v1/jobs/");
        let job = job.map(|job| job.trim_end_matches("/cancel"));
        let credential = headers.iter().find(|(name, _)| *name == "authorization");
        Some(Self {
            history,
            job: job.filter(|job| !job.contains(['/', '?'])).map(Arc::from),
            credential: credential.map_or_else(String::new, |(_, value)| (*value).to_owned()),
            call_ns: monotonic_ns(),
        })
    }

    /// Records that the test itself has made all leases expire.
    pub fn leases_ran_out(&self) {
        locked(&self.history.inner).lapses.push(self.until_now());
    }

    fn until_now(&self) -> Interval {
        Interval {
            call_ns: self.call_ns,
            answer_ns: Some(monotonic_ns()),
        }
    }

    /// Records the views of jobs in the answer.
    pub fn answered(self, answer: &Answer) {
        let at = self.until_now();
        let mut seen = Vec::new();
        if answer.status == 404 || answer.status == 204 {
            seen.extend(self.job.map(|job| (job, Action::SeenNowhere)));
        } else if answer.status.is_success()
            && let Ok(body) = serde_json::from_slice::<Value>(&answer.body)
        {
            // A list leaves out parts of results, so only a job without a result is the same in a list.
            let listed = body["items"].as_array().into_iter().flatten();
            let listed = listed.filter(|job| job["result"].is_null());
            seen.extend(listed.chain([&body]).filter_map(sight));
        }
        let sights = seen.into_iter().map(|(job, action)| Sight {
            job,
            credential: self.credential.clone(),
            action,
            at,
        });
        locked(&self.history.inner).sights.extend(sights);
    }
}

/// The view of a job in a document, or `None` for other documents.
fn sight(document: &Value) -> Option<(Arc<str>, Action)> {
    let job = document["id"]
        .as_str()
        .filter(|id| id.starts_with("job_"))?;
    let action = match document["status"].as_str()? {
        "queued" => Action::SeenQueued,
        "running" => Action::SeenRunning,
        status => Action::SeenEnded(End {
            status: status.into(),
            finished_at: document["finished_at"].as_str()?.into(),
            result: Some(&document["result"])
                .filter(|result| !result.is_null())
                .map(digest),
        }),
    };
    Some((job.into(), action))
}

/// Digests a result as the processes do. A served result also has the tag `task`.
fn digest(result: &Value) -> model::Digest {
    let mut result = result.clone();
    if let Some(members) = result.as_object_mut() {
        members.remove("task");
    }
    let digest = Sha256::digest(result.to_string());
    u64::from_be_bytes(digest[..8].try_into().unwrap())
}

/// The clock of the processes, or 0 where they have none.
fn monotonic_ns() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }
    #[cfg(not(target_os = "linux"))]
    0
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
