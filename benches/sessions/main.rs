//! Examples per second that sessions learn, each on disk before its answer, beside the write rate of the disk.
//!
//! `cargo bench --bench sessions` starts the program on a free port of the loopback address and sends NDJSON: one
//! stream into one session, then 64 concurrent streams into 64 sessions. After that one client, and then 64 clients,
//! send single lines, one per request. The baseline repeats a write of 4 KiB with `fdatasync` in the same directory,
//! before and after. Last comes the memory of a session of directed drift.
//!
//! `cargo bench --bench sessions -- names` measures sessions over names instead: see `names.rs`.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

mod names;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Result, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const LEARNERS: [&str; 4] = [
    "directed-drift",
    "perceptron",
    "winnow",
    "kernel-perceptron",
];
const SESSIONS: usize = 64;
const STREAM_LINES: usize = 500_000;
const LINES_OF_EACH: usize = 30_000;
const SINGLE_LINES: usize = 100;
const SYNCS: usize = 2_000;

/// Number of sessions whose memory is measured, and the number of their features.
const HELD: usize = 200;
const HELD_N: usize = 1_000_000;

/// Features per example.
const N: usize = 64;

fn main() -> Result<()> {
    let directory = tempfile::tempdir()?;
    if std::env::args().any(|argument| argument == "names") {
        return names::measure(directory.path());
    }
    let (child, address) = start(directory.path())?;
    let measured = measure(&child, &address, directory.path());
    stop(child)?;
    measured
}

/// Starts the program on a data directory. Returns its address, too.
fn start(directory: &Path) -> Result<(Child, String)> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_halfspace"))
        .args(["--listen", "127.0.0.1:0", "--log", "error", "--data-dir"])
        .arg(directory)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut banner = BufReader::new(child.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?);
    let mut line = String::new();
    banner.read_line(&mut line)?;
    let address = line.trim_end().rsplit('/').next().unwrap_or_default();
    Ok((child, address.to_owned()))
}

/// Kills the program.
fn stop(mut child: Child) -> Result<()> {
    child.kill()?;
    child.wait()?;
    Ok(())
}

fn measure(child: &Child, address: &str, directory: &Path) -> Result<()> {
    println!("n = {N}");
    println!("{:48} {:>12} {:>12}", "", "a second", "a sync");
    let before = rate(SYNCS, || syncs(directory))?;
    report("baseline: 4 KiB written and synced", before, before);
    let stream = lines(STREAM_LINES);
    for learner in LEARNERS {
        let path = open(address, learner, N)?;
        let taken = rate(STREAM_LINES, || learn(address, &path, &stream))?;
        report(&format!("examples, one stream, {learner}"), taken, before);
    }
    let paths: Result<Vec<String>> = (0..SESSIONS)
        .map(|_| open(address, "perceptron", N))
        .collect();
    let paths = paths?;
    let each = lines(LINES_OF_EACH);
    let taken = rate(SESSIONS * LINES_OF_EACH, || {
        at_once(&paths, |path| learn(address, path, &each))
    })?;
    let name = format!("examples, {SESSIONS} streams, perceptron");
    report(&name, taken, before);
    let line = lines(1);
    let single = |path: &str| (0..SINGLE_LINES).try_for_each(|_| learn(address, path, &line));
    let taken = rate(SINGLE_LINES, || single(&paths[0]))?;
    report("requests of one line, one client", taken, before);
    let taken = rate(SESSIONS * SINGLE_LINES, || at_once(&paths, single))?;
    let name = format!("requests of one line, {SESSIONS} clients");
    report(&name, taken, before);
    let after = rate(SYNCS, || syncs(directory))?;
    report("baseline, again", after, before);
    hold(address, child.id())
}

fn report(name: &str, rate: f64, baseline: f64) {
    println!("{name:48} {rate:>12.0} {:>12.2}", rate / baseline);
}

fn rate(count: usize, work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

/// Measures the memory that active sessions add to the program.
fn hold(address: &str, pid: u32) -> Result<()> {
    let line = format!("\"{}\"\n", "10".repeat(HELD_N / 2)).into_bytes();
    // The first request of this size leaves buffers behind.
    learn(address, &open(address, "directed-drift", HELD_N)?, &line)?;
    let before = resident_bytes(pid)?;
    for _ in 0..HELD {
        learn(address, &open(address, "directed-drift", HELD_N)?, &line)?;
    }
    let each = (resident_bytes(pid)? - before) / HELD as f64;
    println!(
        "resident memory of a session of directed-drift, n = {HELD_N}: {each:.0} bytes, {:.2} n bits",
        8.0 * each / HELD_N as f64
    );
    Ok(())
}

/// Resident memory on Linux, and 0 elsewhere.
fn resident_bytes(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok());
    Ok(1024.0 * kibibytes.unwrap_or_default())
}

/// Does the same work on every session, in a separate thread each.
fn at_once(paths: &[String], work: impl Fn(&str) -> Result<()> + Sync) -> Result<()> {
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = paths
            .iter()
            .map(|path| scope.spawn(move || work(path)))
            .collect();
        let mut ends = threads.into_iter().map(|thread| thread.join());
        ends.try_for_each(|end| end.expect("a thread that does not panic"))
    })
}

fn syncs(directory: &Path) -> Result<()> {
    let mut file = File::create(directory.join("baseline"))?;
    for _ in 0..SYNCS {
        file.write_all(&[1; 4096])?;
        file.sync_data()?;
    }
    Ok(())
}

/// Examples of a disjunction of three features.
fn lines(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut text = String::new();
    for _ in 0..count {
        let mut word = u64::MAX;
        for _ in 0..2 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word &= state;
        }
        let label = if word & 0b111 == 0 { -1 } else { 1 };
        let bits: String = (0..N)
            .map(|j| if word >> j & 1 == 1 { '1' } else { '0' })
            .collect();
        text.push_str(&format!("{{\"x\":\"{bits}\",\"y\":{label}}}\n"));
    }
    text.into_bytes()
}

/// Opens a session and returns its path.
fn open(address: &str, learner: &str, n: usize) -> Result<String> {
    opened(
        address,
        &format!(r#"{{"learner": {{"name": "{learner}"}}, "n": {n}, "seed": 1}}"#),
    )
}

/// Opens the session of a request and returns its path.
fn opened(address: &str, body: &str) -> Result<String> {
    let answer = post(address, "/v1/sessions", "application/json", body.as_bytes())?;
    let head = answer.lines().find(|line| line.starts_with("location: "));
    Ok(head.expect("an open session")["location: ".len()..].to_owned())
}

fn learn(address: &str, path: &str, lines: &[u8]) -> Result<()> {
    let answer = post(
        address,
        &format!("{path}/examples"),
        "application/x-ndjson",
        lines,
    )?;
    let sent = lines.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(answer.matches("\"position\"").count(), sent);
    Ok(())
}

/// Sends a request on a new connection and returns the whole answer.
fn post(address: &str, path: &str, media_type: &str, body: &[u8]) -> Result<String> {
    send(address, "POST", path, media_type, body)
}

fn send(address: &str, method: &str, path: &str, media_type: &str, body: &[u8]) -> Result<String> {
    let mut connection = TcpStream::connect(address)?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: {media_type}\r\ncontent-length: {length}\r\n\r\n"
    );
    connection.write_all(head.as_bytes())?;
    connection.write_all(body)?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    connection.shutdown(Shutdown::Both).ok();
    Ok(answer)
}
