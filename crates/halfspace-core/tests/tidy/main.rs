//! Tests the rules of the source code that the compiler does not check.

mod cycles;
mod names;

use std::fs;
use std::path::{Path, PathBuf};

/// The folders with code of the packages. Cargo keeps the order of the packages.
const CODE: [&str; 2] = ["crates", "src"];

/// The modules of each package in order. A module imports only modules before it.
const PACKAGES: [(&str, &[&str]); 3] = [
    (
        "crates/halfspace-core/src/",
        &[
            "memory",
            "suggestions",
            "bits",
            "learners",
            "theory",
            "samples",
            "figures",
            "constructions",
            "separability",
            "certificates",
            "experiments",
            "explanations",
        ],
    ),
    (
        "crates/halfspace-formats/src/",
        &[
            "remedy",
            "error",
            "numbers",
            "dates",
            "written_number",
            "cell",
            "charset",
            "classes",
            "vocabulary",
            "texts",
            "encoding",
            "stored",
            "options",
            "building",
            "content_coding",
            "utf8_reader",
            "tables",
            "plain_words",
            "option_text",
            "repairs",
            "readers",
            "extent",
        ],
    ),
    (
        "src/",
        &[
            "memory",
            "records",
            "traces",
            "storage",
            "callbacks",
            "jobs",
            "http",
            "config",
            "app",
            "commands",
        ],
    ),
];

/// Modules of equal rank, which must not import each other.
const APART: [(&str, &str); 6] = [
    ("theory", "constructions"),
    ("theory", "separability"),
    ("theory", "certificates"),
    ("constructions", "separability"),
    ("constructions", "certificates"),
    ("separability", "certificates"),
];

/// Names that no library crate and no record may use: no runtime, no web, no database, no clock.
const OUTSIDE: [&str; 6] = ["tokio", "axum", "sqlx", "hyper", "SystemTime", "Instant"];

/// The places of unsafe code: the allocator and its one option.
const UNSAFE: [&str; 2] = [
    "crates/halfspace-core/src/memory/allocator.rs",
    "src/memory.rs",
];

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 80;
const LINE_CHARACTERS_MAX: usize = 120;

struct Source {
    /// Path from the root of the repository.
    path: String,
    text: String,
}

impl Source {
    /// The text before the unit tests, or an empty text for a file that holds only tests.
    fn code(&self) -> &str {
        if self.path.contains("/tests/") || self.path.ends_with("/tests.rs") {
            return "";
        }
        let end = self.text.find("#[cfg(test)]\nmod tests {");
        &self.text[..end.unwrap_or(self.text.len())]
    }

    /// The lines of the code, numbered from 1, without comments and without the contents of strings.
    fn lines(&self) -> Vec<(usize, String)> {
        self.code()
            .lines()
            .map(without_texts)
            .zip(1..)
            .map(|(line, number)| (number, line))
            .collect()
    }

    /// The modules of the file's package, and the place of the file's module among them. `main.rs`, `lib.rs` and
    /// packages without an order have none.
    fn module(&self) -> Option<(&'static [&'static str], usize)> {
        PACKAGES.iter().find_map(|(folder, modules)| {
            let below = self.path.strip_prefix(folder)?;
            let module = below.split('/').next()?.trim_end_matches(".rs");
            let place = modules.iter().position(|known| *known == module)?;
            Some((*modules, place))
        })
    }
}

/// A line without its comment and without the text between its quotes.
fn without_texts(line: &str) -> String {
    let mut kept = String::new();
    let mut quoted = false;
    let mut previous = ' ';
    for (at, character) in line.char_indices() {
        if !quoted && line[at..].starts_with("//") {
            break;
        }
        let is_quote = character == '"' && previous != '\\' && !line[at..].starts_with("\"'");
        if is_quote {
            quoted = !quoted;
        }
        if !quoted || is_quote {
            kept.push(character);
        }
        previous = if previous == '\\' { ' ' } else { character };
    }
    kept
}

/// The sources of all packages, without their tests and benchmarks.
fn code() -> Vec<Source> {
    CODE.iter().flat_map(|folder| sources(folder)).collect()
}

/// All sources.
fn all() -> Vec<Source> {
    let others = ["tests", "benches"].map(sources);
    code()
        .into_iter()
        .chain(others.into_iter().flatten())
        .collect()
}

/// The root of the repository.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.join("../..").canonicalize().unwrap()
}

/// The Rust sources below a folder of the repository.
fn sources(folder: &str) -> Vec<Source> {
    let mut sources = files(folder);
    sources.retain(|source| source.path.ends_with(".rs"));
    assert!(!sources.is_empty());
    sources
}

/// The files below a folder of the repository, without those that others wrote or a build made.
fn files(folder: &str) -> Vec<Source> {
    const LEFT_OUT: [&str; 5] = ["target", "node_modules", "vendor", ".git", "__pycache__"];
    let root = root();
    let (mut waiting, mut files) = (vec![root.join(folder)], Vec::new());
    while let Some(path) = waiting.pop() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !LEFT_OUT.contains(&&*name) {
            let entries = fs::read_dir(&path).unwrap();
            waiting.extend(entries.map(|entry| entry.unwrap().path()));
        } else if path.is_file() {
            // A file that is no text has no words.
            let text = fs::read_to_string(&path).unwrap_or_default();
            let path = path.strip_prefix(&root).unwrap().to_str().unwrap();
            files.push(Source {
                path: path.to_owned(),
                text,
            });
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

#[track_caller]
fn assert_none(rule: &str, found: &[String]) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

/// Whether a line has this word, and not only as a part of a longer word.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The modules that a line names.
fn named_modules(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).flat_map(|rest| {
        let group = rest
            .strip_prefix('{')
            .map(|list| list.split('}').next().unwrap_or_default());
        let names = group.unwrap_or(rest).split(',');
        let count = if group.is_some() { usize::MAX } else { 1 };
        let is_part = |character: char| character.is_alphanumeric() || character == '_';
        names.take(count).map(move |name| {
            let name = name.trim();
            name.split(|character| !is_part(character))
                .next()
                .unwrap_or_default()
        })
    })
}

#[test]
fn modules_import_only_modules_before_them() {
    let mut found = Vec::new();
    for source in code() {
        let Some((modules, own)) = source.module() else {
            continue;
        };
        for (number, line) in source.lines() {
            if line.contains("crate::{") && !line.contains('}') {
                found.push(format!(
                    "{}:{number}: name the modules one by one",
                    source.path
                ));
            }
            for name in named_modules(&line) {
                let Some(other) = modules.iter().position(|known| *known == name) else {
                    continue;
                };
                let pair = (modules[other.min(own)], modules[other.max(own)]);
                if other > own || APART.contains(&pair) {
                    found.push(format!(
                        "{}:{number}: {} imports {name}",
                        source.path, modules[own]
                    ));
                }
            }
        }
    }
    assert_none("an import points to a later module", &found);
}

#[test]
fn every_module_has_a_place_in_the_order() {
    let root = root();
    let mut unknown = Vec::new();
    for (folder, ordered) in PACKAGES {
        let library = fs::read_to_string(root.join(folder).join("lib.rs")).unwrap();
        let modules = library.lines().filter_map(|line| {
            let line = line.strip_prefix("pub ").unwrap_or(line);
            line.strip_prefix("mod ")?.strip_suffix(';')
        });
        let missing = modules.filter(|name| *name != "tests" && !ordered.contains(name));
        unknown.extend(missing.map(|name| format!("{folder}: {name}")));
    }
    assert_none("a module has no place in the order", &unknown);
}

#[test]
fn libraries_and_records_name_no_runtime_database_http_or_clock() {
    let mut found = Vec::new();
    // The programs in `examples` measure the libraries, so they have a clock.
    for source in code().iter().filter(|source| {
        let is_library = source.path.starts_with("crates/") && !source.path.contains("/examples/");
        is_library || source.path.starts_with("src/records/")
    }) {
        for (number, line) in source.lines() {
            let named = OUTSIDE.iter().filter(|word| has_word(&line, word));
            found.extend(named.map(|word| format!("{}:{number}: {word}", source.path)));
        }
    }
    assert_none("a library or a record knows the outside", &found);
}

/// The replay is a second implementation. From the core it takes the examples in memory, and the two words for how a
/// committee learns.
#[test]
fn the_replay_shares_no_code_with_the_learners() {
    let sources = code();
    let own = sources
        .iter()
        .filter(|source| source.path.starts_with("crates/halfspace-verify/"));
    let mut found = Vec::new();
    for source in own {
        let imports = source.text.match_indices("halfspace_core::");
        let shared = imports.filter(|(at, _)| {
            let text = &source.text[*at + "halfspace_core::learners::".len()..];
            !text.starts_with("sample::data::")
                && !text.starts_with("engine::committee::Multiclass")
        });
        found.extend(shared.map(|(at, _)| format!("{}: byte {at}", source.path)));
    }
    assert_none("the replay uses the core", &found);
}

#[test]
fn unsafe_code_stands_in_two_places_with_its_reason() {
    let mut found = Vec::new();
    for source in code() {
        let original: Vec<&str> = source.text.lines().collect();
        for (number, line) in source.lines() {
            if !has_word(&line, "unsafe") {
                continue;
            }
            let above = original[..number - 1].iter().rev();
            let mut above = above.take_while(|line| {
                let line = line.trim();
                line.starts_with("//") || line.starts_with("#[") || line.is_empty()
            });
            let has_reason =
                above.any(|line| line.contains("SAFETY:") || line.contains("# Safety"));
            let own_line = original[number - 1].contains("SAFETY:");
            let is_its_place = UNSAFE.iter().any(|place| source.path.starts_with(place));
            if !is_its_place || !(has_reason || own_line) {
                found.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    assert_none("unsafe elsewhere, or without SAFETY", &found);
}

#[test]
fn code_has_no_unwrap_outside_tests_and_no_marks_of_unfinished_work() {
    let mut found = Vec::new();
    for source in code() {
        for (number, line) in source.lines() {
            let words = [".unwrap()", "todo!", "unimplemented!", "dbg!"];
            let named = words.iter().filter(|word| line.contains(*word));
            found.extend(named.map(|word| format!("{}:{number}: {word}", source.path)));
        }
    }
    let marks = [
        concat!("FIX", "ME"),
        concat!("TO", "DO"),
        concat!("XX", "X"),
    ];
    for source in all() {
        for (line, number) in source.text.lines().zip(1..) {
            let named = marks.iter().filter(|mark| has_word(line, mark));
            found.extend(named.map(|mark| format!("{}:{number}: {mark}", source.path)));
        }
    }
    assert_none("not finished", &found);
}

/// Work of a route on a thread of the runtime, or in the blocking pool without a limit of time, holds up everyone.
#[test]
fn routes_compute_and_write_long_answers_at_one_place() {
    let mut found = Vec::new();
    let places = [
        ("spawn_blocking", "src/http/computing.rs"),
        ("block_in_place", ""),
        ("axum::Json", ""),
    ];
    for source in code()
        .iter()
        .filter(|source| source.path.starts_with("src/http/"))
    {
        for (number, line) in source.lines() {
            for (word, place) in places {
                let is_axum_json = word == "axum::Json"
                    && line.starts_with("use axum::{")
                    && has_word(&line, "Json");
                if source.path != place && (line.contains(word) || is_axum_json) {
                    found.push(format!("{}:{number}: {word}", source.path));
                }
            }
        }
    }
    assert_none("use `computing` and `answer::Json`", &found);
}

/// Other writers would not escape what steers a terminal.
#[test]
fn output_for_people_goes_through_one_module() {
    let mut found = Vec::new();
    for source in code() {
        // The examples of the crates print the results of measurements.
        if source.path.contains("/examples/") {
            continue;
        }
        for (number, line) in source.lines() {
            let line: String = line.split_whitespace().collect();
            let is_raw = ["print!(", "println!(", "stdout().write", "stderr().write"]
                .iter()
                .any(|raw| line.contains(raw));
            let is_opened = line.contains("io::stdout()") || line.contains("io::stderr()");
            let is_shown = line.contains("Shown(") || line.contains(".is_terminal()");
            // The progress line moves the cursor itself, and escapes its text.
            let is_progress =
                source.path.ends_with("commands/learning.rs") && line.contains("write!(");
            if is_raw || (is_opened && !is_shown && !is_progress) {
                found.push(format!("{}:{number}: {line}", source.path));
            }
        }
    }
    assert_none("output is not escaped; use app::terminal", &found);
}

#[test]
fn tests_do_not_sleep_a_thread() {
    let word = ["thread", "sleep"].join("::");
    let mut found = Vec::new();
    for source in code().into_iter().chain(sources("tests")) {
        let lines = source
            .text
            .lines()
            .zip(1..)
            .filter(|(line, _)| line.contains(&word));
        found.extend(lines.map(|(_, number)| format!("{}:{number}", source.path)));
    }
    assert_none("a thread sleeps", &found);
}

/// A test that a machine cannot run goes through `skipped`, which continuous integration turns into a failure.
#[test]
fn tests_are_skipped_at_one_place() {
    let words = ["skipped", "skipping"].map(|word| format!("\"{word}"));
    let mut found = Vec::new();
    for source in code().into_iter().chain(sources("tests")) {
        let is_place =
            source.path == "tests/service/skip.rs" || source.path.ends_with("tidy/main.rs");
        let lines = source.text.lines().zip(1..);
        let lines = lines.filter(|(line, _)| {
            let prints = line.contains("println!(") || line.contains("print!(");
            !is_place && prints && words.iter().any(|word| line.contains(word))
        });
        found.extend(lines.map(|(_, number)| format!("{}:{number}", source.path)));
    }
    assert_none("a test is skipped without `skipped`", &found);
}

/// Such a name says nothing about the content, so unrelated code gathers behind it.
#[test]
fn no_file_or_type_has_a_name_that_fits_everything() {
    let mut found = Vec::new();
    for source in all() {
        let mut parts = source.path.split('/');
        if parts.any(|part| ["utils", "helpers", "common"].contains(&part.trim_end_matches(".rs")))
        {
            found.push(source.path.clone());
        }
        for (number, line) in source.lines() {
            let mut words = line.split(|character: char| !character.is_alphanumeric());
            if words.any(|word| word.ends_with("Manager")) {
                found.push(format!("{}:{number}", source.path));
            }
        }
    }
    assert_none("name the file or the type after its subject", &found);
}

#[test]
fn every_source_file_begins_with_a_module_comment() {
    let silent = all()
        .into_iter()
        .filter(|source| !source.text.starts_with("//! "));
    assert_none(
        "no //! at the top",
        &silent.map(|source| source.path).collect::<Vec<_>>(),
    );
}

#[test]
fn files_and_lines_keep_their_maximum_length() {
    let mut found = Vec::new();
    for source in code() {
        let lines = source.code().lines().count();
        if lines > FILE_LINES_MAX {
            found.push(format!("{}: {lines} lines", source.path));
        }
    }
    for source in all() {
        for (line, number) in source.text.lines().zip(1..) {
            let characters = line.chars().count();
            if characters > LINE_CHARACTERS_MAX {
                found.push(format!("{}:{number}: {characters} characters", source.path));
            }
        }
    }
    assert_none("too long", &found);
}

#[test]
fn functions_keep_their_maximum_length() {
    let mut found = Vec::new();
    for source in code() {
        let lines = source.lines();
        for (index, (number, line)) in lines.iter().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let is_function =
                has_word(line, "fn") && line.trim_start().starts_with(['p', 'f', 'a', 'u', 'c']);
            if !is_function || line.trim_end().ends_with(';') {
                continue;
            }
            // A function formatted by rustfmt ends at the brace below its own first letter.
            let end = format!("{}}}", " ".repeat(indent));
            let length = lines[index..]
                .iter()
                .position(|(_, line)| line.starts_with(&end));
            let length = length.map_or(0, |length| length + 1);
            if length > FUNCTION_LINES_MAX {
                found.push(format!("{}:{number}: {length} lines", source.path));
            }
        }
    }
    assert_none("a function is too long", &found);
}

/// A replaced character makes one name of two, so the readers of bodies use `error::name` and `error::legible`.
#[test]
fn readers_replace_no_byte_of_a_name() {
    let is_reader = |source: &Source| source.path.starts_with("crates/halfspace-formats/src/");
    for source in code().into_iter().filter(is_reader) {
        let found = source
            .lines()
            .into_iter()
            .find(|(_, line)| line.contains("from_utf8_lossy"));
        assert!(found.is_none(), "{}: {found:?}", source.path);
    }
}

/// An untagged enum refuses a value without a reason. A visitor names what it expects.
#[test]
fn no_request_is_read_as_an_untagged_enum() {
    for source in code() {
        let lines = source.lines();
        let mut derived = false;
        for (number, line) in lines {
            match line.trim() {
                line if line.starts_with("#[derive(") => derived = line.contains("Deserialize"),
                line if line.contains("untagged") => {
                    assert!(!derived, "{}, line {number}: {line}", source.path);
                }
                line if line.starts_with("#[") => {}
                _ => derived = false,
            }
        }
    }
}

/// Files in which a learner's name is also the value of something else, such as the option `header`.
const OTHER_MEANINGS: [(&str, &str); 2] = [
    ("crates/halfspace-formats/src/option_text.rs", "auto"),
    ("src/http/document/mod.rs", "auto"),
];

/// A learner's name appears only in the learner's own file, so that a renamed learner changes one file.
#[test]
fn learner_names_appear_only_in_their_own_files() {
    let names: Vec<&str> = halfspace_core::learners::catalogue::CATALOGUE
        .iter()
        .map(|entry| entry.name)
        .collect();
    let mut found = Vec::new();
    for source in code() {
        // The file of a module of one learner is named after its folder.
        let path = source.path.trim_end_matches("/mod.rs");
        let own = path.rsplit('/').next().unwrap_or_default();
        let own = own.trim_end_matches(".rs").replace('_', "-");
        for (line, number) in source.code().lines().zip(1..) {
            let code = line.split("//").next().unwrap_or_default();
            for name in &names {
                let is_named = code.contains(&format!("\"{name}\""));
                let is_own = own == *name
                    && source
                        .path
                        .starts_with("crates/halfspace-core/src/learners/");
                let is_other = OTHER_MEANINGS.contains(&(source.path.as_str(), *name));
                // The second implementation shares nothing with the catalogue and therefore has names of its own.
                let is_second = source.path.starts_with("crates/halfspace-verify/src/");
                if is_named && !is_own && !is_other && !is_second {
                    found.push(format!("{}:{number}: {name}", source.path));
                }
            }
        }
    }
    assert_none("a learner is named outside its file", &found);
}

#[test]
fn source_scanner_finds_modules_and_words() {
    assert_eq!(
        without_texts("let a = \"crate::app\"; // crate::http"),
        "let a = \"\"; "
    );
    assert_eq!(
        without_texts("let quote = '\"'; tokio"),
        "let quote = '\"'; tokio"
    );
    let modules = |line| named_modules(line).collect::<Vec<_>>();
    assert_eq!(modules("use crate::jobs::Jobs;"), ["jobs"]);
    assert_eq!(modules("use crate::{jobs::Jobs, http};"), ["jobs", "http"]);
    assert!(has_word("use tokio::time;", "tokio") && !has_word("use tokio_util;", "tokio"));
}
