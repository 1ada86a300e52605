//! README.md is true: the tests send its requests to a real service and compare its tables with the catalogue
//! and the command line.
//!
//! A block of language `sh` is a script that runs. The block after it is the expected output: a `json` block is
//! contained in the last document that the script prints, and a `text` block is the whole output.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use clap::CommandFactory;
use halfspace::config::CommandLine;
use halfspace_core::learners::engine::catalogue::{CATALOGUE, DataKinds, Entry};
use halfspace_core::learners::engine::parameters::{Kind, Parameter};
use serde_json::Value;

const README: &str = include_str!("../../README.md");

/// Timeout of the start and of each request.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running service, which ends with the test that started it.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn start(data_dir: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_halfspace"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("HALFSPACE_")) {
            command.env_remove(name);
        }
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "warn"])
            .arg("--data-dir")
            .arg(data_dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = child.stdout.take().unwrap();
        let mut service = Self {
            child,
            address: String::new(),
        };
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                // The receiver reads only the first line. The thread reads the rest so that the pipe stays
                // open.
                let _ = sender.send(line);
            }
        });
        let first = receiver.recv_timeout(PATIENCE).expect("the first line");
        let (_, address) = first.split_once("http://").expect("an address");
        service.address = address.to_owned();
        service
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The fenced blocks of the page: language and text.
fn blocks() -> Vec<(&'static str, String)> {
    let mut blocks: Vec<(&str, String)> = Vec::new();
    let mut is_open = false;
    for line in README.lines() {
        match (line.strip_prefix("```"), is_open) {
            (Some(language), false) => {
                blocks.push((language, String::new()));
                is_open = true;
            }
            (Some(_), true) => is_open = false,
            (None, true) => {
                let (_, text) = blocks.last_mut().unwrap();
                text.push_str(line);
                text.push('\n');
            }
            (None, false) => {}
        }
    }
    assert!(!is_open, "a block is not closed");
    blocks
}

fn curl_is_missing() -> bool {
    let tried = Command::new("curl").arg("--version").output();
    tried.is_err()
}

/// Runs a block in a directory. The settings file of curl in that directory limits curl's time.
fn run(script: &str, directory: &Path) -> Output {
    Command::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(directory)
        .env("HOME", directory)
        .env("CURL_HOME", directory)
        .env("NO_PROXY", "*")
        .output()
        .expect("bash runs")
}

/// Whether `whole` contains `part`. Objects may have further members.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part.iter().all(|(name, part)| {
            let member = whole.get(name);
            member.is_some_and(|member| contains(member, part))
        }),
        (whole, part) => whole == part,
    }
}

#[test]
fn the_requests_of_the_readme_are_answered_as_it_says() {
    if curl_is_missing() {
        eprintln!("skipped: there is no curl here");
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let settings = format!("max-time = {}\nfail-with-body\n", PATIENCE.as_secs());
    fs::write(directory.path().join(".curlrc"), settings).unwrap();
    let service = Service::start(data.path());
    let blocks = blocks();
    let scripts = blocks
        .iter()
        .enumerate()
        .filter(|(_, (language, _))| *language == "sh");
    let mut requests = 0;
    for (at, (_, script)) in scripts {
        requests += 1;
        let script = script.replace("localhost:8080", &service.address);
        let output = run(&script, directory.path());
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}\n{printed}\n{errors}");
        let (language, expected) = &blocks[at + 1];
        match *language {
            "json" => {
                let expected: Value = serde_json::from_str(expected).expect("the README's JSON");
                let last = printed.lines().rfind(|line| !line.is_empty());
                let answer: Value = serde_json::from_str(last.unwrap_or_default())
                    .unwrap_or_else(|error| panic!("{script}\n{printed}\n{error}"));
                assert!(contains(&answer, &expected), "{script}\n{printed}");
            }
            "text" => assert_eq!(printed, expected.as_str(), "{script}"),
            other => panic!("a request is followed by ```{other}"),
        }
    }
    assert_eq!(requests, 23);
}

#[test]
fn the_table_of_learners_is_the_catalogue() {
    let rows = CATALOGUE.iter().map(|entry| learner_row(entry));
    expect_table(
        "| learner | learns | data | parameters (default) | guarantee |",
        rows,
    );
}

#[test]
fn the_table_of_settings_is_the_command_line() {
    let command = CommandLine::command();
    let arguments = command
        .get_arguments()
        .filter(|argument| argument.get_env().is_some());
    let rows: Vec<_> = arguments.map(setting_row).collect();
    assert!(rows.len() > 10);
    expect_table(
        "| flag | environment variable | default | meaning |",
        rows.into_iter(),
    );
}

/// Asserts that the page holds exactly this table.
fn expect_table(head: &str, rows: impl Iterator<Item = String>) {
    let columns = head.matches('|').count() - 1;
    let rule = format!("|{}", "---|".repeat(columns));
    let mut table = format!("{head}\n{rule}\n");
    for row in rows {
        table.push_str(&row);
        table.push('\n');
    }
    let table = format!("\n\n{table}\n");
    assert!(
        README.contains(&table),
        "README.md should have this table:{table}"
    );
}

fn learner_row(entry: &Entry) -> String {
    let parameters: Vec<_> = entry.parameters.iter().map(parameter).collect();
    let cells = [
        format!("`{}`", entry.name),
        entry.learns.to_owned(),
        data(entry.data),
        parameters.join(", "),
        format!("{}: {}", entry.guarantee.theorem, entry.guarantee.bound),
    ];
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    format!("| {} |", cells.join(" | "))
}

fn data(kinds: DataKinds) -> String {
    let labels = match (kinds.half_space, kinds.labelled) {
        (true, true) => "half-space or labelled",
        (true, false) => "half-space",
        _ => "labelled",
    };
    let features = if kinds.real {
        "Boolean or real"
    } else {
        "Boolean"
    };
    format!("{labels}; {features}")
}

fn parameter(parameter: &Parameter) -> String {
    let default = match &parameter.kind {
        Kind::Flag { default } => default.to_string(),
        Kind::Choice { options, default } => {
            let others = options.iter().filter(|option| *option != default);
            let others: Vec<_> = others.map(|option| format!("or {option}")).collect();
            format!("{default}, {}", others.join(" "))
        }
        Kind::Number { default, .. } | Kind::Weights { default, .. } | Kind::Factor { default } => {
            default.to_string()
        }
        Kind::Count { default, .. } | Kind::Decimal { default } => (*default).to_owned(),
        Kind::Bits => "random".to_owned(),
    };
    format!("`{}` ({default})", parameter.name)
}

fn setting_row(argument: &clap::Arg) -> String {
    let flag = argument.get_long().expect("every setting is a flag");
    let variable = argument.get_env().expect("and a variable");
    let defaults = argument.get_default_values().iter();
    let defaults: Vec<_> = defaults.map(|value| value.to_string_lossy()).collect();
    let mut default = match defaults.as_slice() {
        [] => "none".to_owned(),
        _ => format!("`{}`", defaults.join(",")),
    };
    for value in argument.get_possible_values() {
        if !defaults.contains(&value.get_name().into()) {
            default.push_str(&format!(" or `{}`", value.get_name()));
        }
    }
    let help = argument.get_help().expect("and explained").to_string();
    let variable = variable.to_string_lossy();
    format!("| `--{flag}` | `{variable}` | {default} | {help} |")
}
