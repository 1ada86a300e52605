//! Tests that what the documents and the comments name exists: files, folders, routes, settings, and names of the code.
//!
//! Only spans between single back quotes that consist of one name are checked. Other tests compare the page of the
//! settings and the OpenAPI document with the program, so these tell which flags, variables and routes exist.

use std::collections::HashSet;

use super::{Source, assert_none, files};

const ENDINGS: [&str; 9] = [
    ".rs", ".mjs", ".py", ".md", ".json", ".yaml", ".toml", ".sql", ".svg",
];

/// Options of commands that are no settings.
const OPTIONS: [&str; 11] = [
    "--adopt-anonymous",
    "--check",
    "--class",
    "--format",
    "--help",
    "--json",
    "--key",
    "--max-seconds",
    "--param",
    "--server",
    "--verify",
];

/// Names of other libraries, examples of a rule, and files that a user makes.
const OTHERS: [&str; 12] = [
    "--flag=value",
    "OOMKilled",
    "SVMlight",
    "ip_network",
    "process_threads",
    "process_virtual_memory_bytes",
    "process_virtual_memory_max_bytes",
    "StreamReader",
    "SyncIoBridge",
    "lease_seconds_max",
    "mi_option_purge_delay",
    "receipt.json",
];

/// All that a document may name.
struct Repository {
    files: Vec<Source>,
    /// The words of the code without its comments.
    words: HashSet<String>,
    routes: Vec<String>,
    settings: String,
}

impl Repository {
    fn read() -> Self {
        let files = files("");
        let text = |path: &str| {
            let found = files.iter().find(|file| file.path == path);
            found.unwrap_or_else(|| panic!("no {path}")).text.clone()
        };
        let document: serde_json::Value =
            serde_json::from_str(&text("openapi/openapi.json")).unwrap();
        let routes = document["paths"].as_object().unwrap().keys().cloned();
        let code = files.iter().filter(|file| !file.path.ends_with(".md"));
        let lines = code.flat_map(|file| file.text.lines());
        let lines = lines.filter(|line| !line.trim_start().starts_with("//"));
        let is_part = |character: char| character.is_alphanumeric() || character == '_';
        let words = lines.flat_map(|line| line.split(move |character| !is_part(character)));
        Self {
            words: words.map(str::to_owned).collect(),
            routes: routes.collect(),
            settings: text("docs/reference/settings.md"),
            files,
        }
    }

    /// Whether a span of a document names nothing, or something that exists.
    fn has(&self, span: &str) -> bool {
        let is_name = |text: &str, also: &str| {
            let is_part = |character: char| character.is_alphanumeric() || also.contains(character);
            !text.is_empty() && text.chars().all(is_part)
        };
        let first = span.split([' ', '=']).next().unwrap_or_default();
        let path = ["GET ", "POST ", "DELETE "]
            .iter()
            .find_map(|method| span.strip_prefix(method));
        let path = path.unwrap_or(span);
        if OTHERS.contains(&span) {
            true
        } else if is_name(span, "_-./") && ENDINGS.iter().any(|ending| span.ends_with(ending)) {
            self.has_file(span)
        } else if is_name(span, "_-./") && span.ends_with('/') && !span.starts_with('/') {
            let below = format!("/{span}");
            let mut paths = self.files.iter().map(|file| &file.path);
            paths.any(|path| path.starts_with(span) || path.contains(&below))
        } else if ["/v1/", "/v2/"].iter().any(|root| path.starts_with(root)) {
            self.has_route(path.split(['?', ' ']).next().unwrap_or_default())
        } else if first.starts_with("--") && is_name(first, "-") && first.len() > 2 {
            OPTIONS.contains(&first) || self.settings.contains(&format!("`{first}`"))
        } else if first.starts_with("HALFSPACE_") && is_name(first, "_") {
            self.words.contains(first) || self.settings.contains(&format!("`{first}`"))
        } else if is_name(span, "_:") {
            span.split("::")
                .all(|word| !is_of_code(word) || self.words.contains(word))
        } else {
            true
        }
    }

    /// Whether a file has this path or ends with it. `NAME` stands for any.
    fn has_file(&self, named: &str) -> bool {
        let is_open =
            named.contains("NAME") || named.contains("VERSION") || named.contains("your-");
        let below = format!("/{named}");
        let mut paths = self.files.iter().map(|file| &file.path);
        is_open
            || named.starts_with(['.', '/'])
            || paths.any(|path| path == named || path.ends_with(&below))
    }

    /// Whether this is a route, or the beginning of one.
    fn has_route(&self, named: &str) -> bool {
        self.routes.iter().any(|route| {
            let mut parts = route.split('/');
            named.split('/').filter(|part| !part.is_empty()).all({
                parts.next();
                move |part| {
                    parts.next().is_some_and(|own| {
                        own == part || own.starts_with('{') || part.starts_with('{')
                    })
                }
            })
        })
    }
}

/// Whether a word looks like a name of the code: words joined by lines below or by capitals. The index of a formula has
/// one letter.
fn is_of_code(word: &str) -> bool {
    let parts: Vec<&str> = word.split('_').collect();
    let is_snake = parts.len() > 1
        && parts.iter().all(|part| part.len() > 1)
        && !word.contains(char::is_uppercase);
    let capitals = word.chars().filter(|letter| letter.is_uppercase()).count();
    let is_camel = word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase);
    is_snake || is_camel && capitals > 1 && !word.contains('_')
}

/// The spans between single back quotes outside of blocks of code, with the numbers of their lines.
fn spans<'t>(lines: impl Iterator<Item = (usize, &'t str)>) -> Vec<(usize, &'t str)> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (number, line) in lines {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let spans = line.split('`').skip(1).step_by(2);
            found.extend(spans.map(|span| (number, span)));
        }
    }
    found
}

#[test]
fn documents_and_comments_name_only_what_exists() {
    let repository = Repository::read();
    let mut found = Vec::new();
    for Source { path, text } in &repository.files {
        let lines = (1..).zip(text.lines());
        let spans = match path.rsplit_once('.') {
            // A change may name what is gone.
            Some((_, "md")) if path != "CHANGELOG.md" => spans(lines),
            Some((_, "rs")) => spans(lines.filter_map(|(number, line)| {
                let comment = line.trim_start().strip_prefix("//")?;
                Some((number, comment.trim_start_matches(['/', '!'])))
            })),
            _ => continue,
        };
        let missing = spans.iter().filter(|(_, span)| !repository.has(span));
        found.extend(missing.map(|(number, span)| format!("{path}:{number}: {span}")));
    }
    assert_none("a document or a comment names what does not exist", &found);
}

#[test]
fn a_name_that_does_not_exist_is_found() {
    let repository = Repository::read();
    for gone in [
        "model_cache.rs",
        "src/http/nowhere/",
        "GET /v1/mirrors/{id}",
        "/v1/jobs/{id}/mirror",
        "--no-such-setting",
        concat!("HALFSPACE_NO", "_SUCH_SETTING=1"),
        concat!("session", "_of_nothing"),
        concat!("Mirror", "Cache::new"),
    ] {
        assert!(!repository.has(gone), "{gone}");
    }
    for known in [
        "src/config.rs",
        "tests/store/",
        "POST /v1/jobs/{id}/cancel",
        "/v1/theory",
        "--data-dir ./data",
        "LearnerEntry",
        "w_i",
        "a plain sentence",
    ] {
        assert!(repository.has(known), "{known}");
    }
}
