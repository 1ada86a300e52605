//! The documents for users are true: their requests are answered as they say, their tables agree with the program,
//! and their links lead somewhere.

mod requests;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};

/// Longest README, in lines.
const README_LINES_MAX: usize = 200;

/// Longest line of Markdown in characters, except tables, links and code.
const LINE_CHARACTERS_MAX: usize = 120;

/// The text of a page of the repository.
fn page(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
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
fn document_links_lead_to_files_and_headings() {
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
fn the_readme_is_short() {
    let lines = page("README.md").lines().count();
    assert!(lines <= README_LINES_MAX, "README.md has {lines} lines");
}

/// The README of its own folder or of `docs` links each page.
#[test]
fn readme_of_the_folder_or_docs_links_every_page() {
    let is_linked = |folder: &str, path: &str| {
        let Some(below) = path.strip_prefix(folder) else {
            return false;
        };
        let index = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{folder}README.md"));
        let Ok(text) = fs::read_to_string(index) else {
            return false;
        };
        links(&text)
            .iter()
            .any(|target| target.split('#').next() == Some(below))
    };
    for path in files("docs", "md") {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_found = is_linked("docs/", &path) || is_linked(&format!("{folder}/"), &path);
        assert!(is_found || path == "docs/README.md", "no link to {path}");
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
