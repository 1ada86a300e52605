//! The cost of checkpoints, measured on the same long jobs in two programs: one writes a checkpoint every second,
//! which is the shortest interval, and the other writes none.
//!
//! `cargo bench --bench checkpoints [seconds]` starts both programs on free ports of the loopback address and gives
//! them the jobs in turn. A job takes about `seconds` seconds (10 by default). The benchmark compares the smallest
//! `result.seconds` of each side, and fails if the results differ. On a shared machine, do not rely on the seconds.

use std::io::{BufRead, BufReader, Read, Result, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

const ROUNDS: usize = 3;

/// Number of examples of the first attempt at a job. The benchmark raises it until the job takes the wanted time.
const PROBED: u64 = 5_000;
const TRIES_MAX: u32 = 20;

fn main() -> Result<()> {
    let seconds = std::env::args().find_map(|text| text.parse().ok());
    let seconds: f64 = seconds.unwrap_or(10.0);
    let directory = tempfile::tempdir()?;
    let without = Program::start(&directory.path().join("without"), "86400")?;
    let with = Program::start(&directory.path().join("with"), "1")?;
    println!(
        "{:<50} {:>10} {:>10} {:>8} {:>12} {:>12}",
        "", "without, s", "with, s", "ratio", "checkpoints", "bytes each"
    );
    for (name, job) in jobs(&[&without, &with])? {
        let [mut plain, mut kept] = job;
        let mut examples = PROBED;
        for _ in 0..TRIES_MAX {
            for job in [&mut plain, &mut kept] {
                job["train"]["stop"]["max_examples"] = json!(examples);
            }
            let took = without.run(&plain)?["seconds"].as_f64().unwrap_or(seconds);
            if took >= 0.8 * seconds {
                break;
            }
            // A short run says little about a long one, and the work of a kernel grows with the square of the
            // examples.
            let longer = (seconds / took).clamp(1.1, 20.0);
            let is_kernel = name.starts_with("kernel");
            let longer = if is_kernel { longer.sqrt() } else { longer };
            examples = (examples as f64 * longer) as u64;
        }
        let (count, bytes) = with.checkpoints()?;
        let mut least = [f64::INFINITY; 2];
        let mut expected = Value::Null;
        for _ in 0..ROUNDS {
            let sides = [(&without, &plain), (&with, &kept)];
            for (least, (program, job)) in least.iter_mut().zip(sides) {
                let mut result = program.run(job)?;
                *least = least.min(result["seconds"].as_f64().unwrap_or(f64::NAN));
                result["seconds"] = Value::Null;
                result["model"] = Value::Null;
                match expected.is_null() {
                    true => expected = result,
                    false => assert_eq!(expected, result, "{name}: another result"),
                }
            }
        }
        let (count_after, bytes_after) = with.checkpoints()?;
        let made = count_after - count;
        println!(
            "{name:<50} {:>10.2} {:>10.2} {:>8.4} {made:>12.0} {:>12.0}",
            least[0],
            least[1],
            least[1] / least[0],
            (bytes_after - bytes) / made,
        );
    }
    Ok(())
}

/// Each job once per program, because the programs have different dataset ids.
fn jobs(programs: &[&Program; 2]) -> Result<Vec<(&'static str, [Value; 2])>> {
    let mut datasets = Vec::new();
    for program in programs {
        let body = json!({"data": {"generated": {"n": 1001, "target": {"binary_weights": {}},
            "sampling": "uniform", "count": 50_000, "noise": 0.1}}, "seed": 1});
        let made = program.ask("POST", "/v1/datasets", Some(&body))?;
        datasets.push(made["id"].clone());
    }
    let job = |learner: &str, params: Value, data: Value| {
        json!({"train": {"learner": {"name": learner, "params": params}, "data": data, "seed": 1,
            "stop": {"max_examples": PROBED, "max_passes": 1_u64 << 40}}})
    };
    let of_dataset = |order: &str| {
        let job = |id: &Value| {
            job(
                "perceptron",
                json!({"order": order}),
                json!({"dataset": id}),
            )
        };
        [job(&datasets[0]), job(&datasets[1])]
    };
    let noise = json!({"generated": {"n": 256, "target": {"binary_weights": {}},
        "sampling": "uniform", "count": 200_000, "noise": 0.5}});
    let kernel = job("kernel-perceptron", json!({}), noise);
    let wide = json!({"generated": {"n": 1_000_000, "target": {"binary_weights": {}},
        "sampling": "uniform-positive"}});
    let wide = job("directed-drift", json!({}), wide);
    let narrow = json!({"generated": {"n": 101, "target": {"binary_weights": {}},
        "sampling": "uniform-positive"}});
    let narrow = job("directed-drift", json!({}), narrow);
    Ok(vec![
        ("perceptron, n = 1001, stored", of_dataset("cyclic")),
        (
            "perceptron, n = 1001, stored, shuffled",
            of_dataset("shuffled"),
        ),
        (
            "kernel perceptron, n = 256, labels at random",
            [kernel.clone(), kernel],
        ),
        ("directed drift, n = 101", [narrow.clone(), narrow]),
        ("directed drift, n = 1,000,000", [wide.clone(), wide]),
    ])
}

/// A running program, which is killed when the value is dropped.
struct Program {
    child: Child,
    address: String,
    _stdout: BufReader<ChildStdout>,
}

impl Program {
    fn start(directory: &Path, checkpoint_seconds: &str) -> Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_halfspace"))
            .args(["--listen", "127.0.0.1:0", "--log", "error"])
            .args(["--workers", "1", "--resident-bytes-max", "1"])
            .args(["--checkpoint-seconds", checkpoint_seconds, "--data-dir"])
            .arg(directory)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let address = line.trim_end().rsplit('/').next().unwrap_or_default();
        Ok(Self {
            address: address.to_owned(),
            child,
            _stdout: stdout,
        })
    }

    /// Runs a job, which must end within a minute, and returns its result.
    fn run(&self, job: &Value) -> Result<Value> {
        let ended = self.ask("POST", "/v1/jobs", Some(job))?;
        match ended["status"].as_str() {
            Some("succeeded") => Ok(ended["result"].clone()),
            _ => Err(std::io::Error::other(ended.to_string())),
        }
    }

    fn checkpoints(&self) -> Result<(f64, f64)> {
        let text = self.exchange("GET", "/metrics", None)?;
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|number| number.trim().parse().ok())
                .unwrap_or(0.0)
        };
        Ok((
            number("halfspace_checkpoints_total "),
            number("halfspace_checkpoint_bytes_total "),
        ))
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let answer = self.exchange(method, path, body)?;
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        if !answer.starts_with("HTTP/1.1 2") {
            return Err(std::io::Error::other(answer));
        }
        Ok(serde_json::from_str(body)?)
    }

    /// Sends a request on a new connection and returns the whole answer.
    fn exchange(&self, method: &str, path: &str, body: Option<&Value>) -> Result<String> {
        let mut connection = TcpStream::connect(&self.address)?;
        let body = body.map_or_else(String::new, Value::to_string);
        let (host, length) = (&self.address, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nprefer: wait=60\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        connection.write_all(head.as_bytes())?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
