//! Sessions over names: 1,000,000 examples of ten names each, 100,000 different names, 2 and 50 classes.
//!
//! The session of 50 classes that join is killed and resumed five times, and its model must equal that of the session
//! which nobody disturbed. The program prints the rate, the time that a restart takes until the session answers, the
//! size of the stored state, the resident memory, and the times of single predictions and single examples.

use std::path::Path;
use std::time::Instant;

use super::{Result, opened, post, resident_bytes, send, start, stop};

const EXAMPLES: u64 = 1_000_000;
const NAMES: u64 = 100_000;
const CLASSES: u64 = 50;
const KILLS: usize = 5;
const ACTIVE: u64 = 10;
const REQUEST_LINES: usize = 100_000;
const SINGLE: usize = 400;
const NDJSON: &str = "application/x-ndjson";

pub fn measure(directory: &Path) -> Result<()> {
    println!("{EXAMPLES} examples, {ACTIVE} of {NAMES} names each");
    for learner in ["perceptron", "winnow"] {
        let asked = format!(
            r#"{{"learner": {{"name": "{learner}"}}, "vocabulary": "open", "seed": 1{}}}"#,
            if learner == "winnow" {
                r#", "active": 10"#
            } else {
                ""
            }
        );
        run(
            directory,
            &format!("{learner}, 2 classes"),
            &asked,
            &lines(2),
            0,
        )?;
    }
    for multiclass in ["one-vs-rest", "joint"] {
        let asked = format!(
            r#"{{"learner": {{"name": "perceptron"}}, "vocabulary": "open", "seed": 1, "classes": "open",
                "multiclass": "{multiclass}"}}"#
        );
        let (name, lines) = (format!("{CLASSES} classes, {multiclass}"), lines(CLASSES));
        let undisturbed = run(directory, &name, &asked, &lines, 0)?;
        let killed = run(
            directory,
            &format!("{name}, killed {KILLS} times"),
            &asked,
            &lines,
            KILLS,
        )?;
        assert!(
            undisturbed == killed,
            "a killed session equals the undisturbed one"
        );
    }
    Ok(())
}

/// Sends the lines, with so many kills in between, and returns what the session learnt.
fn run(
    directory: &Path,
    name: &str,
    asked: &str,
    lines: &[String],
    kills: usize,
) -> Result<String> {
    let own = directory.join(name.replace([' ', ','], "-"));
    let (mut child, mut address) = start(&own)?;
    let path = opened(&address, asked)?;
    let (mut seconds, mut restored) = (0.0, Vec::new());
    for (part, some) in lines.chunks(lines.len().div_ceil(kills + 1)).enumerate() {
        if part > 0 {
            stop(child)?;
            (child, address) = start(&own)?;
            let begun = Instant::now();
            let answer = send(&address, "GET", &path, NDJSON, b"")?;
            assert!(answer.contains("\"position\""), "{answer}");
            restored.push(begun.elapsed().as_secs_f64());
        }
        // This client reads no answer before it has sent all lines of a request, and the service waits for it only so
        // long.
        for some in some.chunks(REQUEST_LINES) {
            let body = some.concat().into_bytes();
            let begun = Instant::now();
            let answer = post(&address, &format!("{path}/examples"), NDJSON, &body)?;
            seconds += begun.elapsed().as_secs_f64();
            assert_eq!(answer.matches("\"position\"").count(), some.len());
        }
    }
    println!("{name}: {:.0} examples/s", EXAMPLES as f64 / seconds);
    for seconds in restored {
        println!("    restored in {:.2} s", seconds);
    }
    let memory = resident_bytes(child.id())? / 1e6;
    println!(
        "    resident {memory:.0} MB, stored {:.1} MB",
        stored_bytes(&own)? as f64 / 1e6
    );
    latencies(&address, &path)?;
    let answer = post(&address, &format!("{path}/model"), "application/json", b"")?;
    let head = answer.lines().find(|line| line.starts_with("location: "));
    let model = &head.expect("a saved model")["location: ".len()..];
    let document = send(&address, "GET", model, NDJSON, b"")?;
    stop(child)?;
    let model: serde_json::Value = serde_json::from_str(&content(&document))?;
    Ok(["hypothesis", "features", "classes", "mistakes", "updates"]
        .map(|name| model[name].to_string())
        .concat())
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

/// The times of predictions with 100 names and of single examples, by one client.
fn latencies(address: &str, path: &str) -> Result<()> {
    let names: Vec<String> = (0..100).map(|name| format!("\"w{}\"", name * 37)).collect();
    let line = format!("{{\"x\":[{}]}}\n", names.join(","));
    let mut times = Vec::new();
    for _ in 0..SINGLE {
        let begun = Instant::now();
        let answer = post(address, &format!("{path}/predict"), NDJSON, line.as_bytes())?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        assert!(answer.contains("\"unseen\":0"), "{answer}");
    }
    times.sort_by(f64::total_cmp);
    println!(
        "    a prediction: median {:.2} ms, p99 {:.2} ms",
        times[SINGLE / 2],
        times[SINGLE * 99 / 100]
    );
    Ok(())
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
