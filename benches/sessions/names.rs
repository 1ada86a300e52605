//! Sessions over names: 1,000,000 examples of ten names each, 100,000 different names, 2 and 50 classes; and the same
//! words as texts.
//!
//! One client sends all examples in one stream and reads the answers meanwhile. After that, 16 connections predict one
//! example of 100 names per request, first alone and then beside another stream of examples. The session of 50 classes
//! that join is killed and resumed five times, and its model must equal that of the undisturbed one. The program prints
//! the rate, the time that a restart takes until the session answers, the size of the stored state, the resident
//! memory, the times of the predictions, and the processor time of the service, which tells more than a rate on a
//! machine that is not quiet. In the end it prints the figures with a goal.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::Instant;

use super::{Result, opened, post, resident_bytes, send, start, stop};

const EXAMPLES: u64 = 1_000_000;
const NAMES: u64 = 100_000;
const CLASSES: u64 = 50;
const KILLS: usize = 5;
const ACTIVE: u64 = 10;
const CONNECTIONS: usize = 16;
/// Predictions per connection.
const PREDICTIONS: usize = 500;
/// Examples of the stream beside which a session predicts.
const BESIDE: usize = 100_000;
const NDJSON: &str = "application/x-ndjson";

/// The figures of a session that have a goal.
struct Figures {
    name: String,
    /// Examples per second.
    rate: f64,
    /// The 99th percentile of the times of predictions, in milliseconds: alone, and beside a stream.
    p99: [f64; 2],
    /// What the session learnt.
    learnt: String,
}

pub fn measure(directory: &Path) -> Result<()> {
    println!("{EXAMPLES} examples, {ACTIVE} of {NAMES} names each");
    let mut all = Vec::new();
    for (learner, active) in [("perceptron", ""), ("winnow", r#", "active": 10"#)] {
        let asked = format!(
            r#"{{"learner": {{"name": "{learner}"}}, "vocabulary": "open", "seed": 1{active}}}"#
        );
        let name = format!("{learner}, 2 classes");
        all.push(run(directory, &name, &asked, &lines(2), 0)?);
    }
    let texts = texts(directory)?;
    for multiclass in ["one-vs-rest", "joint"] {
        let asked = format!(
            r#"{{"learner": {{"name": "perceptron"}}, "vocabulary": "open", "seed": 1, "classes": "open",
                "multiclass": "{multiclass}"}}"#
        );
        let (name, lines) = (format!("{CLASSES} classes, {multiclass}"), lines(CLASSES));
        let undisturbed = run(directory, &name, &asked, &lines, 0)?;
        let name = format!("{name}, killed {KILLS} times");
        let killed = run(directory, &name, &asked, &lines, KILLS)?;
        assert!(
            undisturbed.learnt == killed.learnt,
            "a killed session equals the undisturbed one"
        );
        all.extend([undisturbed, killed]);
    }
    println!(
        "{:44} {:>12} {:>12} {:>12}",
        "", "examples/s", "p99", "p99 beside"
    );
    println!(
        "{:44} {:>12} {:>12} {:>12}",
        "goal", ">= 100000", "<= 2 ms", ""
    );
    for Figures {
        name, rate, p99, ..
    } in all
    {
        println!(
            "{name:44} {rate:>12.0} {:>9.2} ms {:>9.2} ms",
            p99[0], p99[1]
        );
    }
    println!(
        "{:44} {texts:>12.0}  (goal: >= 50000)",
        "perceptron, texts of ten words"
    );
    Ok(())
}

/// The examples per second of a session that reads the same words in texts.
fn texts(directory: &Path) -> Result<f64> {
    let (child, address) = start(&directory.join("texts"))?;
    let asked =
        r#"{"learner": {"name": "perceptron"}, "vocabulary": "open", "seed": 1, "extraction": {}}"#;
    let path = opened(&address, asked)?;
    let text = |line: &String| {
        let line = line
            .replace("\",\"", " ")
            .replace("[\"", "{\"text\":\"")
            .replace("\"]", "\"}");
        assert!(line.starts_with("{\"x\":{\"text\":\"w"), "{line}");
        line
    };
    let lines: Vec<String> = lines(2).iter().map(text).collect();
    let seconds = learn(&address, &path, &lines)?;
    stop(child)?;
    Ok(lines.len() as f64 / seconds)
}

/// Sends the lines, with so many kills in between.
fn run(
    directory: &Path,
    name: &str,
    asked: &str,
    lines: &[String],
    kills: usize,
) -> Result<Figures> {
    let own = directory.join(name.replace([' ', ','], "-"));
    let (mut child, mut address) = start(&own)?;
    let path = opened(&address, asked)?;
    let (mut seconds, mut processor, mut restored) = (0.0, 0.0, Vec::new());
    for (part, some) in lines.chunks(lines.len().div_ceil(kills + 1)).enumerate() {
        if part > 0 {
            stop(child)?;
            (child, address) = start(&own)?;
            let begun = Instant::now();
            let answer = send(&address, "GET", &path, NDJSON, b"")?;
            assert!(answer.contains("\"position\""), "{answer}");
            restored.push(begun.elapsed().as_secs_f64());
        }
        let before = processor_seconds(child.id());
        seconds += learn(&address, &path, some)?;
        processor += processor_seconds(child.id()) - before;
    }
    let rate = lines.len() as f64 / seconds;
    let each = processor / lines.len() as f64 * 1e6;
    println!("{name}: {rate:.0} examples/s, {each:.1} us of processor time each");
    for seconds in restored {
        println!("    restored in {:.2} s", seconds);
    }
    let before = processor_seconds(child.id());
    let alone = latencies(&address, &path)?;
    let each = (processor_seconds(child.id()) - before) / alone.len() as f64 * 1e6;
    println!("    {each:.0} us of processor time per prediction");
    let beside = thread::scope(|scope| {
        let stream = scope.spawn(|| learn(&address, &path, &lines[..BESIDE]));
        let beside = latencies(&address, &path);
        let ended = stream.join().expect("a thread that does not panic");
        ended.and(beside)
    })?;
    let memory = resident_bytes(child.id())? / 1e6;
    let stored = stored_bytes(&own)? as f64 / 1e6;
    println!("    resident {memory:.0} MB, stored {stored:.1} MB");
    for (times, place) in [(&alone, ""), (&beside, " beside a stream")] {
        println!(
            "    a prediction{place}: median {:.2} ms, p99 {:.2} ms, at most {:.2} ms",
            percentile(times, 50),
            percentile(times, 99),
            percentile(times, 100)
        );
    }
    let answer = post(&address, &format!("{path}/model"), "application/json", b"")?;
    let head = answer.lines().find(|line| line.starts_with("location: "));
    let model = &head.expect("a saved model")["location: ".len()..];
    let document = send(&address, "GET", model, NDJSON, b"")?;
    stop(child)?;
    let model: serde_json::Value = serde_json::from_str(&content(&document))?;
    let learnt = ["hypothesis", "features", "classes", "mistakes", "updates"];
    Ok(Figures {
        name: name.to_owned(),
        rate,
        p99: [percentile(&alone, 99), percentile(&beside, 99)],
        learnt: learnt.map(|name| model[name].to_string()).concat(),
    })
}

/// Sends the lines in one stream while another thread reads the answers. Returns the seconds until the last answer.
fn learn(address: &str, path: &str, lines: &[String]) -> Result<f64> {
    let begun = Instant::now();
    let connection = TcpStream::connect(address)?;
    let mut sending = connection.try_clone()?;
    let length: usize = lines.iter().map(String::len).sum();
    thread::scope(|scope| {
        scope.spawn(move || -> Result<()> {
            write!(
                sending,
                "POST {path}/examples HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
                 content-type: {NDJSON}\r\ncontent-length: {length}\r\n\r\n"
            )?;
            // The lines of a client that has some at once.
            for some in lines.chunks(100) {
                sending.write_all(some.concat().as_bytes())?;
            }
            Ok(())
        });
        let mut answers = 0;
        for line in BufReader::new(connection).split(b'\n') {
            answers += usize::from(line?.starts_with(b"{\"position\""));
        }
        assert_eq!(answers, lines.len());
        Ok(begun.elapsed().as_secs_f64())
    })
}

/// The body of an answer, which may come in chunks.
fn content(answer: &str) -> String {
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    if !head.to_lowercase().contains("transfer-encoding: chunked") {
        return body.to_owned();
    }
    let (mut whole, mut rest) = (String::new(), body);
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).expect("the size of a chunk");
        whole += &after[..size];
        rest = after[size..].trim_start_matches("\r\n");
    }
    whole
}

/// The times of predictions with 100 names in ascending order, in milliseconds. Each connection sends the next request
/// when it has the answer to the last one.
fn latencies(address: &str, path: &str) -> Result<Vec<f64>> {
    let names: Vec<String> = (0..100).map(|name| format!("\"w{}\"", name * 37)).collect();
    let line = format!("{{\"x\":[{}]}}\n", names.join(","));
    let request = format!(
        "POST {path}/predict HTTP/1.1\r\nhost: {address}\r\ncontent-type: {NDJSON}\r\ncontent-length: {}\r\n\r\n{line}",
        line.len()
    );
    let mut times = thread::scope(|scope| {
        let all = (0..CONNECTIONS).map(|_| scope.spawn(|| predicted(address, &request)));
        let all: Vec<_> = all.collect();
        let mut times = Vec::new();
        for one in all {
            times.extend(one.join().expect("a thread that does not panic")?);
        }
        Ok::<_, std::io::Error>(times)
    })?;
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// The times of one connection.
fn predicted(address: &str, request: &str) -> Result<Vec<f64>> {
    let connection = TcpStream::connect(address)?;
    connection.set_nodelay(true)?;
    let (mut sending, mut answers) = (connection.try_clone()?, BufReader::new(connection));
    let mut times = Vec::new();
    for _ in 0..PREDICTIONS {
        let begun = Instant::now();
        sending.write_all(request.as_bytes())?;
        let (mut line, mut is_whole) = (String::new(), false);
        // The answer comes in chunks, of which the last one is empty.
        while !line.starts_with("0\r") {
            line.clear();
            answers.read_line(&mut line)?;
            is_whole |= line.contains("\"unseen\":0");
        }
        answers.read_line(&mut line)?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        assert!(is_whole, "a prediction of known names");
    }
    Ok(times)
}

fn percentile(times: &[f64], hundredths: usize) -> f64 {
    times[(times.len() - 1) * hundredths / 100]
}

/// The processor time that a program has used on Linux, and 0 elsewhere.
fn processor_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may have spaces. The times in hundredths of a second are the fields 14 and 15.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let times = fields.split_whitespace().skip(11).take(2);
    times
        .filter_map(|time| time.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}

fn stored_bytes(directory: &Path) -> Result<u64> {
    let files = std::fs::read_dir(directory)?;
    files.map(|file| Ok(file?.metadata()?.len())).sum()
}

/// Lines whose names come one after the other, most of them early, and whose class follows from the first name.
fn lines(classes: u64) -> Vec<String> {
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let line = |at: u64| {
        let known = (at / 5 + 10).min(NAMES);
        let mut x: Vec<String> = (1..ACTIVE)
            .map(|_| format!("\"w{}\"", draw(known)))
            .collect();
        let first = draw(known);
        x.push(format!("\"w{first}\""));
        // Every tenth label is drawn.
        let class = if draw(10) == 0 {
            draw(classes)
        } else {
            first % classes
        };
        let y = match classes {
            2 => format!("{}", 2 * class as i64 - 1),
            _ => format!("\"class {class}\""),
        };
        format!("{{\"x\":[{}],\"y\":{y}}}\n", x.join(","))
    };
    (0..EXAMPLES).map(line).collect()
}
