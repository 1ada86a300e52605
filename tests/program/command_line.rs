//! The learning commands: inside their process and against a running service.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use clap::Parser;
use halfspace::config::CommandLine;
use halfspace::config::given::command_line;
use serde_json::{Value, json};

use crate::service::{Program, program};

/// A majority of three, once each, with the label in the last column.
const TABLE: &str =
    "a,b,c,label\n0,0,0,-1\n0,0,1,-1\n0,1,0,-1\n0,1,1,1\n1,0,0,-1\n1,0,1,1\n1,1,0,1\n1,1,1,1\n";

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        home.write("table.csv", TABLE);
        home
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// Runs a command in this directory with this standard input.
    fn run_with(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = program();
        let command = command.args(arguments).current_dir(self.path());
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        child.wait_with_output().unwrap()
    }

    #[track_caller]
    fn output(&self, arguments: &[&str]) -> String {
        let output = self.run_with(arguments, "");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.output(arguments)).unwrap()
    }

    /// Runs a command without a result. Returns the exit status and the message.
    fn failure(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.run_with(arguments, "");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }
}

/// The result of a job without the members that differ between two equal jobs.
fn facts(job: &Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.retain(|name, _| !["model", "seconds", "jobs"].contains(&name.as_str()));
                members.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut facts = json!([job["result"], job["learner"], job["seed"]]);
    strip(&mut facts);
    facts
}

#[test]
fn train_command_gives_the_same_result_in_process_and_on_a_server() {
    let home = Home::new();
    // The label of a number is the majority of its five lowest bits.
    let lines = (0..400_u32).map(|row| {
        let bits = row.wrapping_mul(2_654_435_761) >> 12;
        let sign = if (bits & 31).count_ones() > 2 {
            '+'
        } else {
            '-'
        };
        let active = (0..20).filter(|bit| bits >> bit & 1 == 1);
        let active: String = active.map(|bit| format!(" {}:1", bit + 1)).collect();
        format!("{sign}1{active}\n")
    });
    let data = home.path().join("majority.libsvm");
    fs::write(&data, lines.collect::<String>()).unwrap();
    let train = [
        "train",
        data.to_str().unwrap(),
        "--learner",
        "perceptron",
        "--seed",
        "1",
    ];
    let params = [
        "--param",
        "params.reading=unsigned",
        "--param",
        "params.bias=true",
    ];
    let inside = home.json(&[&train[..], &params].concat());
    assert_eq!(
        inside["result"]["training"],
        json!({"errors": 0, "examples": 400})
    );
    assert!(inside["result"]["mistakes"].as_u64() > Some(5));
    let server = Program::start(&home.path().join("data"), &[]);
    let address = format!("http://{}", server.client().address);
    let running = home.json(&[&train[..], &params, &["--server", &address]].concat());
    assert_eq!(facts(&running), facts(&inside));
    server.kill();
}

#[test]
fn train_command_tells_the_address_of_its_job_after_a_signal() {
    let home = Home::new();
    // No hypothesis is right on both examples, so the training goes on.
    home.write("contradiction.csv", "a,b,label\n0,1,1\n0,1,-1\n");
    let server = Program::start(&home.path().join("data"), &[]);
    let address = format!("http://{}", server.client().address);
    let mut train = vec!["train", "contradiction.csv", "--learner", "perceptron"];
    train.extend(["--server", &*address, "--param", "stop.max_seconds=60"]);
    train.extend(["--param", "stop.max_passes=1000000000"]);
    let told = format!("the job continues at {address}/v1/jobs/job_");
    for _ in 0..4 {
        let mut command = program();
        command.args(&train).current_dir(home.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        // The progress stands on one line, whose beginning is `running`.
        said.read_until(b'g', &mut Vec::new()).unwrap();
        let kill = ["-TERM", &child.id().to_string()];
        assert!(Command::new("kill").args(kill).status().unwrap().success());
        let mut rest = String::new();
        said.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1), "{rest}");
        assert!(rest.contains(&told), "{rest}");
    }
    server.kill();
}

#[test]
fn commands_all_accept_a_trained_model() {
    let home = Home::new();
    let train = [
        "train",
        "table.csv",
        "--learner",
        "perceptron",
        "--out",
        "model.json",
        "--receipt",
        "receipt.json",
        "--seed",
        "1",
    ];
    let job = home.json(&train);
    assert_eq!(
        job["result"]["training"],
        json!({"errors": 0, "examples": 8})
    );
    let rows = TABLE
        .lines()
        .skip(1)
        .map(|line| line.rsplit_once(',').unwrap());
    let predicted = home.output(&[
        "predict",
        "model.json",
        "table.csv",
        "--param",
        "labels=label",
    ]);
    let predicted = predicted
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    for ((_, label), document) in rows.zip(predicted) {
        assert_eq!(document["prediction"].to_string(), label);
    }
    let evaluation = home.json(&["evaluate", "model.json", "table.csv"]);
    assert_eq!(evaluation["errors"], 0);
    let explanation = home.json(&["explain", "model.json", "--top", "2"]);
    assert_eq!(explanation["terms"].as_array().unwrap().len(), 2);
    let checks = home.output(&["verify", "receipt.json", "table.csv"]);
    assert!(
        checks.lines().all(|line| line.starts_with("equal")),
        "{checks}"
    );
}

#[test]
fn a_comparison_writes_the_best_model_and_the_figure() {
    let home = Home::new();
    let compare = [
        "compare",
        "table.csv",
        "--folds",
        "2",
        "--seed",
        "3",
        "--out",
        "best.json",
        "--figure",
        "figure.svg",
        "--param",
        "stop.max_passes=50",
        "--learner",
        "perceptron",
        "--learner",
        "winnow",
    ];
    let job = home.json(&compare);
    assert_eq!(job["result"]["learners"].as_array().unwrap().len(), 2);
    assert_eq!(facts(&home.json(&compare)), facts(&job));
    let figure = fs::read_to_string(home.path().join("figure.svg")).unwrap();
    assert!(
        figure.starts_with("<svg") || figure.starts_with("<?xml"),
        "{figure:.60}"
    );
    assert_eq!(
        home.json(&["evaluate", "best.json", "table.csv"])["examples"],
        8
    );
}

#[test]
fn commands_read_and_write_pipes() {
    let home = Home::new();
    let train = [
        "train",
        "-",
        "--format",
        "csv",
        "--learner",
        "perceptron",
        "--out",
        "model.json",
    ];
    let output = home.run_with(&train, TABLE);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let job: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(job["status"], "succeeded");
    // A reader that closes the pipe early ends the output, without a panic.
    let mut child = program()
        .arg("openapi")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut start = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn commands_learners_and_theory_need_no_data() {
    let home = Home::new();
    let learners = home.json(&["learners"]);
    assert!(learners["items"].as_array().unwrap().len() > 10);
    assert_eq!(home.json(&["learners", "winnow"])["name"], "winnow");
    let formula = home.json(&["theory", "compression", "examples=6513", "kept=129"]);
    assert!(formula["error_at_most"].as_f64().unwrap() < 0.1);
}

#[test]
fn exit_statuses_tell_a_wrong_command_line_from_failed_work() {
    let home = Home::new();
    home.write("bad.csv", "a,label\n1,1\n0\n");
    home.write("table", TABLE);
    let train = |file: &'static str| ["train", file, "--learner", "perceptron"];
    let wrong: [(&[&str], &str); 6] = [
        (
            &["train", "table.csv", "--learner", "perceptrom"],
            "perceptron",
        ),
        (
            &[&train("table.csv")[..], &["--param", "etta=2"]].concat(),
            "eta",
        ),
        (&train("none.csv"), "none.csv"),
        (&train("table"), "--format"),
        (&["theory", "survival", "error=2"], "error"),
        (&["predict", "none.json", "table.csv"], "none.json"),
    ];
    for (arguments, named) in wrong {
        let (status, message) = home.failure(arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {message}");
        assert!(message.contains(named), "{message}");
    }
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let nowhere = format!("http://{closed}");
    let failed: [(&[&str], &str); 2] = [
        (&train("bad.csv"), "line 3"),
        (
            &[&train("table.csv")[..], &["--server", &nowhere]].concat(),
            &nowhere,
        ),
    ];
    for (arguments, named) in failed {
        let (status, message) = home.failure(arguments);
        assert_eq!(status, Some(1), "{arguments:?}: {message}");
        assert!(message.contains(named), "{message}");
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let home = Home::new();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = program();
    command.args(["learners"]).current_dir(home.path());
    let status = command.stdout(full).stderr(Stdio::null()).status();
    assert_eq!(status.unwrap().code(), Some(1));
    let missing = [
        "train",
        "table.csv",
        "--learner",
        "perceptron",
        "--out",
        "none/m.json",
    ];
    let (status, message) = home.failure(&missing);
    assert_eq!(status, Some(2));
    assert!(message.contains("no folder none"), "{message}");
}

#[test]
fn predict_command_prints_predictions_before_a_late_error() {
    let home = Home::new();
    home.output(&[
        "train",
        "table.csv",
        "--learner",
        "perceptron",
        "--out",
        "m.json",
    ]);
    home.write("rows.ndjson", "{\"x\":\"011\"}\n{\"x\":\"01\"}\n");
    let output = home.run_with(&["predict", "m.json", "rows.ndjson"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("{\"prediction\":1"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 2"));
}

#[test]
fn train_command_reads_compressed_files_by_their_extension() {
    let home = Home::new();
    let file = fs::File::create(home.path().join("table.csv.gz")).unwrap();
    let mut packer = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    packer.write_all(TABLE.as_bytes()).unwrap();
    packer.finish().unwrap();
    let job = home.json(&["train", "table.csv.gz", "--learner", "perceptron"]);
    assert_eq!(job["result"]["training"]["errors"], 0);
}

#[tokio::test]
async fn predict_command_deletes_the_model_that_it_sent() {
    let home = Home::new();
    home.output(&[
        "train",
        "table.csv",
        "--learner",
        "perceptron",
        "--out",
        "m.json",
    ]);
    let service = Program::start(&home.path().join("data"), &[]);
    let address = service.client().address.to_string();
    home.output(&["predict", "m.json", "table.csv", "--server", &address]);
    home.output(&["explain", "m.json", "--server", &address]);
    let models = service.client().get("/v1/models").await.json();
    assert_eq!(models["items"], json!([]));
    service.kill();
}

#[test]
fn a_temporary_service_ends_with_its_input() {
    let mut service = program()
        .args([
            "serve",
            "--temporary",
            "--stop-with-input",
            "--listen",
            "127.0.0.1:0",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut start = [0; 20];
    service
        .stdout
        .take()
        .unwrap()
        .read_exact(&mut start)
        .unwrap();
    assert!(service.try_wait().unwrap().is_none());
    drop(service.stdin.take());
    assert!(service.wait().unwrap().success());
}

#[test]
fn help_shows_the_options_of_the_command_alone() {
    let help = |path: &[&str]| {
        let mut command = command_line(&[], &|_| None).unwrap();
        let found = path.iter().fold(&mut command, |command, name| {
            command.find_subcommand_mut(name).unwrap()
        });
        found.render_long_help().to_string()
    };
    let create = help(&["keys", "create"]);
    assert!(
        create.contains("--adopt-anonymous") && !create.contains("--data-dir"),
        "{create}"
    );
    assert!(!help(&["train"]).contains("--listen"));
    assert!(help(&["serve"]).contains("--listen"));
}

#[test]
fn listen_address_may_be_a_name() {
    let line = CommandLine::try_parse_from(["halfspace", "--listen", "localhost:8080"]).unwrap();
    assert!(line.settings.listen.ip().is_loopback());
}
