//! Training on a dataset that is larger than the memory limit of the process.
//!
//! Run `cargo bench --bench larger_than_memory [dataset MiB] [limit MiB]` as a user who may create control groups.
//! The sizes default to 1024 and 128. A process without a limit stores the dataset and trains on it, then a process
//! with the limit repeats the training. The results must be equal.
//!
//! `cargo bench --bench larger_than_memory texts [million entries] [limit MiB]` uploads texts as LIBSVM, by default
//! 1000 million active entries under 1024 MiB, trains for three passes, and reads the stored file once from the disk
//! beside it.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

#[path = "../tests/service/memory_limit.rs"]
mod memory_limit;
mod texts;

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Error, Read, Result, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use memory_limit::MemoryLimit;
use serde_json::{Value, json};
use texts::{ACTIVE, is_positive, words};

/// Features per example, which take 128 bytes.
const N: u64 = 1024;

/// Bytes of a body of all texts, or more.
const LARGE: &str = "1099511627776";
/// Passes over the texts.
const PASSES: u64 = 3;

fn main() -> Result<()> {
    let mut sizes = std::env::args().filter_map(|text| text.parse::<u64>().ok());
    let (size, limit) = (sizes.next(), sizes.next());
    let of_texts = std::env::args().any(|text| text == "texts");
    let limit_bytes = limit.unwrap_or(if of_texts { 1024 } else { 128 }) << 20;
    match MemoryLimit::new(limit_bytes) {
        Ok(limit) if of_texts => texts(size.unwrap_or(1000) * 1_000_000, limit_bytes, &limit),
        Ok(limit) => bits(size.unwrap_or(1024) << 20, limit_bytes, &limit),
        Err(why) => {
            println!("skipped: {why}");
            Ok(())
        }
    }
}

fn bits(dataset_bytes: u64, limit_bytes: u64, limit: &MemoryLimit) -> Result<()> {
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
        let learner = json!({"name": learner});
        expected.push(free.trained(&learner, &data, 1, "free")?.0);
    }
    drop(free);
    let bounded = Service::start(directory.path(), &["--workers", "1"])?;
    limit.hold(bounded.child.id()).map_err(Error::other)?;
    for (learner, expected) in ["directed-drift", "perceptron"].iter().zip(expected) {
        let learner = json!({"name": learner});
        let (found, _) = bounded.trained(&learner, &data, 1, "bounded")?;
        assert_eq!(found, expected, "another result under the limit");
    }
    bounded.print_peaks(limit);
    Ok(())
}

fn texts(entries: u64, limit_bytes: u64, limit: &MemoryLimit) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let memory = (limit_bytes - limit_bytes / 8).to_string();
    let settings = [
        "--workers",
        "1",
        "--memory-bytes-max",
        &memory,
        "--body-bytes-max",
        LARGE,
    ];
    let service = Service::start(directory.path(), &settings)?;
    limit.hold(service.child.id()).map_err(Error::other)?;
    let begun = Instant::now();
    let (dataset, text_bytes) = service.upload(entries / ACTIVE as u64)?;
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "upload: {text_bytes} bytes of LIBSVM in {seconds:.1} s, {:.0} MB/s, written by one core and read by the other",
        text_bytes as f64 / seconds / 1e6
    );
    let file = largest_file(directory.path())?;
    let bytes = std::fs::metadata(&file)?.len();
    println!(
        "stored: {bytes} bytes, {:.2} per active entry",
        bytes as f64 / entries as f64
    );
    let learner = json!({"name": "perceptron", "params": {"reading": "unsigned"}});
    let data = json!({"dataset": dataset["id"]});
    let (_, seconds) = service.trained(&learner, &data, PASSES, "texts")?;
    let read = read_from_disk(&file)?;
    println!(
        "disk: the file in {read:.2} s, {:.0} MB/s; {PASSES} passes of reading alone take {:.2} of the job",
        bytes as f64 / read / 1e6,
        PASSES as f64 * read / seconds
    );
    service.print_peaks(limit);
    Ok(())
}

/// The file with the most bytes below a directory.
fn largest_file(directory: &Path) -> Result<PathBuf> {
    let (mut folders, mut largest) = (vec![directory.to_owned()], (0, PathBuf::new()));
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let (entry, path) = entry.map(|entry| (entry.metadata(), entry.path()))?;
            match entry? {
                entry if entry.is_dir() => folders.push(path),
                entry => largest = largest.max((entry.len(), path)),
            }
        }
    }
    Ok(largest.1)
}

/// The seconds of reading a file when the system has none of it in memory.
fn read_from_disk(file: &Path) -> Result<f64> {
    if let Err(why) = std::fs::write("/proc/sys/vm/drop_caches", "3") {
        println!("parts of the file may be in memory: {why}");
    }
    let (mut file, mut buffer) = (File::open(file)?, vec![0; 1 << 20]);
    let begun = Instant::now();
    while file.read(&mut buffer)? > 0 {}
    Ok(begun.elapsed().as_secs_f64())
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

    /// Sends texts as one body of LIBSVM lines. Each word has a random weight, and their sum gives the label.
    fn upload(&self, texts: u64) -> Result<(Value, u64)> {
        let connection = TcpStream::connect(&self.address)?;
        let mut to = BufWriter::with_capacity(1 << 16, connection);
        write!(
            to,
            "POST /v1/datasets HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\
             content-type: text/x-libsvm\r\ntransfer-encoding: chunked\r\n\r\n",
            self.address
        )?;
        let (mut ids, mut chunk, mut bytes) = (Vec::new(), Vec::new(), 0);
        for text in 0..texts {
            words(text, &mut ids);
            chunk.extend_from_slice(if is_positive(&ids) { b"+1" } else { b"-1" });
            for word in &ids {
                write!(chunk, " {word}:1")?;
            }
            chunk.push(b'\n');
            if chunk.len() >= 1 << 16 || text + 1 == texts {
                write!(to, "{:x}\r\n", chunk.len())?;
                to.write_all(&chunk)?;
                to.write_all(b"\r\n")?;
                bytes += chunk.len() as u64;
                chunk.clear();
            }
        }
        to.write_all(b"0\r\n\r\n")?;
        to.flush()?;
        Ok((document(to.get_mut())?, bytes))
    }

    /// Trains for some passes, waits for the end and prints the speed. Returns the result and the seconds of the job.
    fn trained(
        &self,
        learner: &Value,
        data: &Value,
        passes: u64,
        name: &str,
    ) -> Result<(Value, f64)> {
        let begun = Instant::now();
        let job = json!({"train": {"learner": learner, "data": data, "seed": 2,
            "stop": {"max_passes": passes, "max_seconds": 3600}}});
        let mut job = self.post("/v1/jobs", &job)?;
        assert!(job["id"].is_string(), "{job}");
        let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap_or_default());
        while job["finished_at"].is_null() {
            std::thread::sleep(Duration::from_millis(20));
            job = self.exchange("GET", &path, "")?;
        }
        assert_eq!(job["status"], "succeeded", "{job}");
        let mut result = job["result"].take();
        let seconds = begun.elapsed().as_secs_f64();
        let learner = learner["name"].as_str().unwrap_or_default();
        println!(
            "{name:<8} {learner:<16} {seconds:.2} s for {passes} passes of {} examples, with the digest before and the \
             errors after; passes alone {} s",
            result["examples"], result["seconds"]
        );
        result["model"].take();
        result["seconds"].take();
        Ok((result, seconds))
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
        document(&mut connection)
    }

    fn print_peaks(&self, limit: &MemoryLimit) {
        println!(
            "most memory, cache of files included: {:?} bytes",
            limit.peak_bytes()
        );
        println!(
            "most of the process alone: {:?} KiB",
            self.own_peak_kibibytes()
        );
    }

    /// Peak resident memory of the process, where the system reports it.
    fn own_peak_kibibytes(&self) -> Option<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }
}

/// The document of an answer.
fn document(connection: &mut TcpStream) -> Result<Value> {
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    serde_json::from_str(body).map_err(|_| Error::other(answer.clone()))
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
