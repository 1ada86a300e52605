//! Training on a dataset that is larger than the memory limit of the process.
//!
//! Run `cargo bench --bench larger_than_memory [dataset MiB] [limit MiB]` as a user who may create control groups.
//! The sizes default to 1024 and 128. A process without a limit stores the dataset and trains on it, then a process
//! with the limit repeats the training. The results must be equal.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

#[path = "../tests/service/memory_limit.rs"]
mod memory_limit;

use std::io::{BufRead, BufReader, Error, Read, Result, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use memory_limit::MemoryLimit;
use serde_json::{Value, json};

/// Features per example, which take 128 bytes.
const N: u64 = 1024;

fn main() -> Result<()> {
    let mut sizes = std::env::args().filter_map(|text| text.parse::<u64>().ok());
    let dataset_bytes = sizes.next().unwrap_or(1024) << 20;
    let limit_bytes = sizes.next().unwrap_or(128) << 20;
    let limit = match MemoryLimit::new(limit_bytes) {
        Ok(limit) => limit,
        Err(why) => {
            println!("skipped: {why}");
            return Ok(());
        }
    };
    let directory = tempfile::tempdir()?;
    let free = Service::start(directory.path(), &["--state-bytes-max", "1099511627776"])?;
    let data = json!({"generated": {"n": N, "count": dataset_bytes / (N / 8),
        "target": {"binary_weights": {}}, "sampling": "uniform", "noise": 0.01}});
    let dataset = free.post("/v1/datasets", &json!({"data": data, "seed": 1}))?;
    println!(
        "dataset of {} bytes, a limit of {limit_bytes}:",
        dataset["bytes"]
    );
    let data = json!({"dataset": dataset["id"]});
    let mut expected = Vec::new();
    for learner in ["directed-drift", "perceptron"] {
        expected.push(free.trained(learner, &data, "free")?);
    }
    drop(free);
    let bounded = Service::start(directory.path(), &["--workers", "1"])?;
    limit.hold(bounded.child.id()).map_err(Error::other)?;
    for (learner, expected) in ["directed-drift", "perceptron"].iter().zip(expected) {
        let found = bounded.trained(learner, &data, "bounded")?;
        assert_eq!(found, expected, "another result under the limit");
    }
    println!(
        "most memory, cache of files included: {:?} bytes",
        limit.peak_bytes()
    );
    println!(
        "most of the process alone: {:?} KiB",
        bounded.own_peak_kibibytes()
    );
    Ok(())
}

struct Service {
    child: Child,
    /// Kept open while the program runs, because it writes more than its first line.
    _stdout: BufReader<ChildStdout>,
    address: String,
}

impl Service {
    fn start(directory: &Path, settings: &[&str]) -> Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_halfspace"))
            .args(["--listen", "127.0.0.1:0", "--log", "error", "--data-dir"])
            .arg(directory)
            .args(settings)
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let address = line.trim_end().rsplit('/').next().unwrap_or_default();
        let address = address.to_owned();
        Ok(Self {
            child,
            _stdout: stdout,
            address,
        })
    }

    /// Trains for one pass, waits for the end and prints the speed.
    fn trained(&self, learner: &str, data: &Value, name: &str) -> Result<Value> {
        let begun = Instant::now();
        let job = json!({"train": {"learner": {"name": learner}, "data": data, "seed": 2,
            "stop": {"max_passes": 1, "max_seconds": 3600}}});
        let mut job = self.post("/v1/jobs", &job)?;
        let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap_or_default());
        while job["finished_at"].is_null() {
            std::thread::sleep(Duration::from_millis(20));
            job = self.exchange("GET", &path, "")?;
        }
        assert_eq!(job["status"], "succeeded", "{job}");
        let mut result = job["result"].take();
        let rate = result["examples"].as_f64().unwrap_or(0.0) / begun.elapsed().as_secs_f64();
        println!(
            "{name:<8} {learner:<16} {rate:>12.0} examples/s of one pass, with the digest before and \
             the errors after; {} seconds",
            result["seconds"]
        );
        result["model"].take();
        result["seconds"].take();
        Ok(result)
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.exchange("POST", path, &body.to_string())
    }

    fn exchange(&self, method: &str, path: &str, body: &str) -> Result<Value> {
        let mut connection = TcpStream::connect(&self.address)?;
        let (address, length) = (&self.address, body.len());
        write!(
            connection,
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        serde_json::from_str(body).map_err(|_| Error::other(answer.clone()))
    }

    /// Peak resident memory of the process, where the system reports it.
    fn own_peak_kibibytes(&self) -> Option<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
