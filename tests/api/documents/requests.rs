//! The requests of the documents, sent to a real service.
//!
//! A block of language `sh` is a script to run, and the block after it is the expected output: a `json` block is
//! contained in the last document that the script prints, and a `text` block is the whole output.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use super::{page, pages};
use crate::service::skipped;

/// Timeout of the start and of each request.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The pages with scripts, and the number of their scripts.
const SCRIPTED: [(&str, usize); 10] = [
    ("README.md", 3),
    ("docs/tutorial.md", 27),
    ("docs/how-to/certificates.md", 5),
    ("docs/how-to/explain-a-model.md", 3),
    ("docs/how-to/names.md", 8),
    ("docs/how-to/texts.md", 6),
    ("docs/how-to/sessions.md", 5),
    ("docs/how-to/sweeps.md", 5),
    ("docs/how-to/programs.md", 2),
    ("docs/how-to/tables.md", 19),
];

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
        let first = receiver.recv_timeout(TIMEOUT).expect("the first line");
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

/// The fenced blocks of a page: language and text.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut blocks: Vec<(&str, String)> = Vec::new();
    let mut is_open = false;
    for line in page.lines() {
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

/// Whether `whole` contains `part`. Objects may have further members, also in lists.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part.iter().all(|(name, part)| {
            let member = whole.get(name);
            member.is_some_and(|member| contains(member, part))
        }),
        (Value::Array(whole), Value::Array(part)) => {
            let mut pairs = whole.iter().zip(part);
            whole.len() == part.len() && pairs.all(|(whole, part)| contains(whole, part))
        }
        (whole, part) => whole == part,
    }
}

/// Runs all scripts of a page in one directory against a fresh service.
fn run_page(path: &str) {
    let data = tempfile::tempdir().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let settings = format!("max-time = {}\nfail-with-body\n", TIMEOUT.as_secs());
    fs::write(directory.path().join(".curlrc"), settings).unwrap();
    let service = Service::start(data.path());
    let page = page(path);
    let blocks = blocks(&page);
    let scripts = blocks
        .iter()
        .enumerate()
        .filter(|(_, (language, _))| *language == "sh");
    for (at, (_, script)) in scripts {
        let script = script.replace("localhost:8080", &service.address);
        let output = run(&script, directory.path());
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{path}: {script}\n{printed}\n{errors}"
        );
        let (language, expected) = &blocks[at + 1];
        match *language {
            "json" => {
                let expected: Value = serde_json::from_str(expected).expect("the page's JSON");
                let last = printed.lines().rfind(|line| !line.is_empty());
                let answer: Value = serde_json::from_str(last.unwrap_or_default())
                    .unwrap_or_else(|error| panic!("{path}: {script}\n{printed}\n{error}"));
                assert!(contains(&answer, &expected), "{path}: {script}\n{printed}");
            }
            "text" => assert_eq!(printed, expected.as_str(), "{path}: {script}"),
            other => panic!("{path}: a request is followed by ```{other}"),
        }
    }
}

#[test]
fn the_pages_with_scripts_are_listed() {
    let mut found = BTreeMap::new();
    for path in pages() {
        let page = page(&path);
        let scripts = blocks(&page)
            .iter()
            .filter(|(language, _)| *language == "sh")
            .count();
        if scripts > 0 {
            found.insert(path, scripts);
        }
    }
    let listed = SCRIPTED.map(|(path, scripts)| (path.to_owned(), scripts));
    assert_eq!(found, BTreeMap::from(listed));
}

#[test]
fn document_requests_are_answered_as_written() {
    if curl_is_missing() {
        skipped("there is no curl here");
        return;
    }
    std::thread::scope(|scope| {
        for (path, _) in SCRIPTED {
            scope.spawn(move || run_page(path));
        }
    });
}
