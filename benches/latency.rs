//! Latency of the service while it computes, and the time until a cancelled job stops.
//!
//! `cargo bench --bench latency` starts the program on a free port of the loopback address. It sends requests to
//! `/livez`, first while the service is idle and then under twice as many running jobs as cores. After that it cancels
//! jobs of several kinds. The p99 of `/livez` under this load should be below 50 ms, and a cancelled job should be idle
//! within 250 ms.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::io::{BufRead, BufReader, Read, Result, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const REQUESTS: usize = 2_000;
const CANCELS: usize = 20;

/// Timeout of every wait here.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Jobs that end only when they are stopped: name and body.
const KINDS: [(&str, &str); 3] = [
    (
        "directed-drift, n = 401",
        r#"{"train": {"learner": {"name": "directed-drift"}, "stop": {"max_seconds": 600},
            "data": {"generated": {"n": 401, "target": {"binary_weights": {}},
                "sampling": "uniform-positive"}}}}"#,
    ),
    (
        "directed-drift-async, n = 1,048,576",
        r#"{"train": {"learner": {"name": "directed-drift-async"}, "stop": {"max_seconds": 600},
            "data": {"generated": {"n": 1048576, "target": {"binary_weights": {}},
                "sampling": "uniform-positive"}}}}"#,
    ),
    (
        "perceptron, random order, 4,000 x 65,536",
        r#"{"train": {"learner": {"name": "perceptron", "params": {"order": "random"}},
            "stop": {"max_seconds": 600, "max_passes": 1000000000},
            "data": {"generated": {"n": 65536, "target": {"binary_weights": {}},
                "sampling": "uniform", "count": 4000, "noise": 0.3}}}}"#,
    ),
];

fn main() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let cores = std::thread::available_parallelism()?.get();
    let jobs = 2 * cores;
    let mut child = Command::new(env!("CARGO_BIN_EXE_halfspace"))
        .args(["--listen", "127.0.0.1:0", "--log", "error", "--workers"])
        .arg(jobs.to_string())
        .arg("--data-dir")
        .arg(directory.path())
        .stdout(Stdio::piped())
        .spawn()?;
    let measured = measure(&mut child, cores, jobs);
    child.kill()?;
    child.wait()?;
    measured
}

fn measure(child: &mut Child, cores: usize, jobs: usize) -> Result<()> {
    let mut banner = BufReader::new(child.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?);
    let mut line = String::new();
    banner.read_line(&mut line)?;
    let address = line.trim_end().rsplit('/').next().unwrap_or_default();
    println!("{cores} cores, {jobs} workers, {REQUESTS} requests of /livez, milliseconds");
    println!("{:44} {:>8} {:>8} {:>8}", "", "p50", "p99", "max");
    report("idle, one connection", livez(address, true)?);
    report("idle, a connection a request", livez(address, false)?);
    for (kind, body) in KINDS {
        let paths: Result<Vec<String>> = (0..jobs).map(|_| submit(address, body)).collect();
        let paths = paths?;
        println!("{jobs} x {kind}");
        report("  loaded, one connection", livez(address, true)?);
        report("  loaded, a connection a request", livez(address, false)?);
        for path in &paths {
            cancel(address, path)?;
        }
    }
    println!("{CANCELS} cancels of a job that runs alone, request to end on disk, milliseconds");
    println!("{:44} {:>8} {:>8} {:>8}", "", "p50", "p99", "max");
    for (kind, body) in KINDS {
        let mut times = Vec::new();
        let mut ticks = 0;
        for _ in 0..CANCELS {
            let path = submit(address, body)?;
            let begun = Instant::now();
            cancel(address, &path)?;
            times.push(begun.elapsed());
            let before = processor_ticks(child.id());
            std::thread::sleep(Duration::from_millis(100));
            ticks = ticks.max(processor_ticks(child.id()) - before);
        }
        report(kind, times);
        println!("    processor time in the 100 ms after an end: at most {ticks} ticks of 10 ms");
    }
    Ok(())
}

/// Times of consecutive requests to `/livez`, with a pause before each.
fn livez(address: &str, keep: bool) -> Result<Vec<Duration>> {
    let mut connection = TcpStream::connect(address)?;
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let begun = Instant::now();
        if !keep {
            connection = TcpStream::connect(address)?;
        }
        let (status, _) = exchange(&mut connection, "GET", "/livez", "", "")?;
        times.push(begun.elapsed());
        assert_eq!(status, 200);
        // Without a pause the client would measure its own share of the processor.
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(times)
}

/// Submits a job and waits until it runs and shows progress. Returns its path.
fn submit(address: &str, body: &str) -> Result<String> {
    let mut connection = TcpStream::connect(address)?;
    let headers = "content-type: application/json\r\n";
    let (status, job) = exchange(&mut connection, "POST", "/v1/jobs", headers, body)?;
    assert_eq!(status, 202, "{job}");
    let id = job
        .split("\"id\":\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let path = format!("/v1/jobs/{}", id.unwrap_or_default());
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let (_, job) = exchange(&mut connection, "GET", &path, "", "")?;
        if job.contains("\"status\":\"running\"") {
            // After this time the job is past its start and computes in its loop.
            std::thread::sleep(Duration::from_millis(100));
            return Ok(path);
        }
        assert!(Instant::now() < deadline, "{job}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn cancel(address: &str, path: &str) -> Result<()> {
    let mut connection = TcpStream::connect(address)?;
    let (status, job) = exchange(&mut connection, "POST", &format!("{path}/cancel"), "", "")?;
    assert_eq!(status, 202, "{job}");
    let (_, job) = exchange(&mut connection, "GET", path, "prefer: wait=30\r\n", "")?;
    assert!(job.contains("\"status\":\"cancelled\""), "{job}");
    Ok(())
}

/// One exchange on a connection that stays open.
fn exchange(
    connection: &mut TcpStream,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> Result<(u16, String)> {
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(TIMEOUT))?;
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    );
    connection.write_all(request.as_bytes())?;
    let mut reader = BufReader::new(connection);
    let mut status = String::new();
    reader.read_line(&mut status)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let status = status.split(' ').nth(1).and_then(|text| text.parse().ok());
    Ok((
        status.unwrap_or(0),
        String::from_utf8_lossy(&body).into_owned(),
    ))
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| {
        let index = (share * (times.len() - 1) as f64).round() as usize;
        times[index].as_secs_f64() * 1e3
    };
    println!("{what:44} {:8.2} {:8.2} {:8.2}", at(0.5), at(0.99), at(1.0));
}

/// Processor time of a process in ticks, or 0 where the system does not report it.
fn processor_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    fields
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum()
}
