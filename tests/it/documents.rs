//! The documents for users are true: the tests send their requests to a real service and compare their tables
//! with the program.
//!
//! A block of language `sh` is a script that runs. The block after it is the expected output: a `json` block is
//! contained in the last document that the script prints, and a `text` block is the whole output.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use clap::CommandFactory;
use halfspace::config::CommandLine;
use halfspace::http::codes::Code;
use halfspace::http::limits::Limits;
use halfspace_core::learners::catalogue::{CATALOGUE, DataKinds, DefaultStop, Entry};
use halfspace_core::learners::parameters::{Kind, Parameter};
use serde_json::Value;

use crate::service::contract::DOCUMENT;

/// Timeout of the start and of each request.
const PATIENCE: Duration = Duration::from_secs(60);

/// Longest README, in lines.
const README_LINES_MAX: usize = 200;

/// Longest line of Markdown in characters, except tables, links and code.
const LINE_CHARACTERS_MAX: usize = 120;

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

/// The text of a page of the repository.
fn page(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
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

/// Runs all scripts of a page in one directory against a fresh service.
fn run_page(path: &str) {
    let data = tempfile::tempdir().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let settings = format!("max-time = {}\nfail-with-body\n", PATIENCE.as_secs());
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

/// The pages with scripts, and the number of their scripts.
const SCRIPTED: [(&str, usize); 5] = [
    ("README.md", 3),
    ("docs/tutorial.md", 23),
    ("docs/how-to/sessions.md", 4),
    ("docs/how-to/sweeps.md", 2),
    ("docs/how-to/tables.md", 4),
];

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
fn the_requests_of_the_documents_are_answered_as_they_say() {
    if curl_is_missing() {
        eprintln!("skipped: there is no curl here");
        return;
    }
    std::thread::scope(|scope| {
        for (path, _) in SCRIPTED {
            scope.spawn(move || run_page(path));
        }
    });
}

#[test]
fn the_table_of_learners_is_the_catalogue() {
    let rows = CATALOGUE.iter().map(|entry| learner_row(entry));
    expect_table(
        "docs/reference/learners.md",
        "| learner | learns | data | parameters (default) | guarantee |",
        rows,
    );
    let readme = page("README.md");
    assert!(readme.contains(&format!("**{} learners**", CATALOGUE.len())));
    for entry in CATALOGUE {
        let name = format!("`{}`", entry.name);
        let is_variant = matches!(
            entry.name,
            "directed-drift-async" | "amp" | "reinforced-amp"
        );
        assert!(is_variant || readme.contains(&name), "README.md: {name}");
    }
}

#[test]
fn the_table_of_default_limits_is_the_catalogue() {
    let rows = CATALOGUE.iter().map(|entry| {
        let confidence = "confidence 0.99 under `anytime`";
        let limits = match entry.default_stop {
            DefaultStop::Confidence => format!("{confidence} on fresh examples, and one pass"),
            DefaultStop::Passes(passes) => format!("{passes} passes"),
            DefaultStop::PassesOrConfidence(passes) => {
                format!("{passes} passes, or {confidence} on an unlimited stream of fresh examples")
            }
            DefaultStop::Mistakes(mistakes) => format!("{mistakes} mistakes"),
            DefaultStop::Own => "limits of the learner itself".to_owned(),
        };
        let rules: Vec<_> = entry
            .confidence_rules
            .iter()
            .map(|rule| format!("`{}`", rule.name()))
            .collect();
        let rules = if rules.is_empty() {
            "none".to_owned()
        } else {
            rules.join(", ")
        };
        format!("| `{}` | {limits} | {rules} |", entry.name)
    });
    expect_table(
        "docs/reference/learners.md",
        "| learner | default limits | confidence rules |",
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
        "docs/reference/settings.md",
        "| flag | environment variable | default | meaning |",
        rows.into_iter(),
    );
    let page = page("docs/reference/settings.md");
    for command in command.get_subcommands() {
        let name = command.get_name();
        assert!(
            page.contains(&format!("| `{name}` |")),
            "settings.md: {name}"
        );
    }
}

#[test]
fn the_table_of_limits_is_the_answer() {
    let schema = &DOCUMENT["components"]["schemas"]["Limits"]["properties"];
    let defaults = serde_json::to_value(Limits::default()).unwrap();
    let command = CommandLine::command();
    let flags: BTreeSet<_> = command
        .get_arguments()
        .filter_map(clap::Arg::get_long)
        .collect();
    let defaults: BTreeMap<_, _> = defaults.as_object().unwrap().iter().collect();
    let rows = defaults.into_iter().map(|(name, default)| {
        let flag = name.replace('_', "-");
        let setting = match flags.contains(&*flag) {
            true => format!("`--{flag}`"),
            false => "fixed".to_owned(),
        };
        let default = match name.as_str() {
            "memory_bytes_max" => "from the machine".to_owned(),
            _ => default.to_string(),
        };
        let meaning = schema[name]["description"].as_str().expect("a meaning");
        let meaning = meaning.replace('\n', " ");
        format!("| `{name}` | {default} | {setting} | {meaning} |")
    });
    expect_table(
        "docs/reference/limits.md",
        "| limit | default | setting | meaning |",
        rows,
    );
}

#[test]
fn the_table_of_problems_is_the_table_of_codes() {
    let mut codes = Code::ALL.to_vec();
    codes.sort_by_key(|code| (code.status(), code.name()));
    let rows = codes.iter().map(|code| {
        let (name, status) = (code.name(), code.status().as_u16());
        let (title, help) = (code.title(), code.help());
        format!("| `{name}` | {status} | {title}. | {help} |")
    });
    expect_table(
        "docs/reference/problems.md",
        "| code | status | meaning | remedy |",
        rows,
    );
}

/// The metrics of the program: the kind of each name.
fn metrics() -> BTreeMap<String, &'static str> {
    let mut found = BTreeMap::new();
    for source in files("src", "rs") {
        let text = page(&source);
        for kind in ["counter", "gauge", "histogram"] {
            for (at, call) in text.match_indices(&format!("{kind}!(")) {
                let argument = text[at + call.len()..].trim_start();
                let name = argument
                    .strip_prefix('"')
                    .and_then(|rest| rest.split('"').next());
                let name =
                    name.unwrap_or_else(|| panic!("{source}: a metric without a literal name"));
                let before = found.insert(name.to_owned(), kind);
                assert!(before.is_none_or(|before| before == kind), "{name}");
            }
        }
    }
    found
}

#[test]
fn the_page_of_metrics_lists_every_metric() {
    let page = page("docs/reference/metrics.md");
    let rows = page
        .lines()
        .filter(|line| line.starts_with("| `halfspace_"));
    let mut listed = BTreeMap::new();
    for row in rows {
        let cells: Vec<_> = row.split(" | ").collect();
        let name = cells[0].trim_start_matches("| ").trim_matches('`');
        let before = listed.insert(name.to_owned(), cells[1]);
        assert!(before.is_none(), "{name} stands there twice");
    }
    let metrics = metrics();
    assert!(metrics.len() > 20, "{metrics:?}");
    assert_eq!(listed, metrics);
}

/// The files below a folder with this extension, as paths from the root of the repository.
fn files(folder: &str, extension: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut waiting = vec![root.join(folder)];
    let mut found = Vec::new();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).unwrap();
            waiting.extend(entries.map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|found| found == extension) {
            let path = path.strip_prefix(root).unwrap();
            found.push(path.to_str().unwrap().to_owned());
        }
    }
    found.sort();
    found
}

/// All pages for users.
fn pages() -> Vec<String> {
    let mut pages = files("docs", "md");
    pages.push("README.md".to_owned());
    pages
}

/// The targets of the links of a page, outside of code.
fn links(page: &str) -> Vec<String> {
    let mut targets = Vec::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        let found = line.split("](").skip(1);
        targets.extend(found.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())));
    }
    targets
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept
        .trim_start_matches('#')
        .trim()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wrong = Vec::new();
    for path in pages() {
        for target in links(&page(&path)) {
            if target.starts_with("https://") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let folder = root.join(&path).parent().unwrap().to_owned();
            let file: PathBuf = match file {
                "" => root.join(&path),
                file => folder.join(file),
            };
            let is_there = match heading {
                "" => file.exists(),
                heading => fs::read_to_string(&file).is_ok_and(|text| {
                    let mut headings = text.lines().filter(|line| line.starts_with('#'));
                    headings.any(|line| anchor(line) == heading)
                }),
            };
            if !is_there {
                wrong.push(format!("{path}: {target}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_index_links_every_page_and_the_readme_is_short() {
    let lines = page("README.md").lines().count();
    assert!(lines <= README_LINES_MAX, "README.md has {lines} lines");
    let index = links(&page("docs/README.md"));
    for path in files("docs", "md") {
        let below = path.strip_prefix("docs/").unwrap();
        let is_linked = index
            .iter()
            .any(|target| target.split('#').next() == Some(below));
        assert!(
            is_linked || below == "README.md",
            "docs/README.md: no link to {below}"
        );
    }
}

#[test]
fn lines_of_the_pages_are_short() {
    let mut long = Vec::new();
    for path in pages() {
        let text = page(&path);
        let lines = text.lines().zip(1..).filter(|(line, _)| {
            !line.starts_with('|')
                && !line.contains("](")
                && line.chars().count() > LINE_CHARACTERS_MAX
        });
        // The page of the gallery is generated.
        if path != "docs/figures/README.md" {
            long.extend(lines.map(|(_, number)| format!("{path}:{number}")));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// Asserts that a page holds exactly this table.
fn expect_table(path: &str, head: &str, rows: impl Iterator<Item = String>) {
    let columns = head.matches('|').count() - 1;
    let rule = format!("|{}", "---|".repeat(columns));
    let mut table = format!("{head}\n{rule}\n");
    for row in rows {
        table.push_str(&row);
        table.push('\n');
    }
    let table = format!("\n\n{table}\n");
    assert!(
        page(path).contains(&table),
        "{path} should have this table:{table}"
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
