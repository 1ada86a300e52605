//! The container files set only settings that the service has.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use clap::CommandFactory;
use halfspace::config::CommandLine;

/// The words of a text that begin with `start`, each up to the first character outside `of_word`.
fn words(text: &str, start: &str, of_word: fn(char) -> bool) -> BTreeSet<String> {
    let found = text.match_indices(start).map(|(at, _)| {
        let word: String = text[at..]
            .chars()
            .take_while(|&next| of_word(next))
            .collect();
        word
    });
    found.collect()
}

#[test]
fn settings_in_the_files_for_containers_are_settings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let command = CommandLine::command();
    let variables: BTreeSet<_> = command
        .get_arguments()
        .filter_map(|argument| argument.get_env()?.to_str())
        .collect();
    let flags: BTreeSet<_> = command
        .get_arguments()
        .filter_map(clap::Arg::get_long)
        .collect();
    let mut seen = 0;
    for file in ["docker-compose.yml", "Dockerfile"] {
        let text = fs::read_to_string(root.join(file)).unwrap();
        let of_variable = |next: char| next.is_ascii_uppercase() || next == '_';
        for start in ["HALFSPACE_", "AWS_"] {
            for variable in words(&text, start, of_variable) {
                assert!(variables.contains(&*variable), "{file}: {variable}");
                seen += 1;
            }
        }
        for line in text
            .lines()
            .filter(|line| line.contains("command: [\"serve\""))
        {
            for flag in words(line, "--", |next| next.is_ascii_lowercase() || next == '-') {
                assert!(flags.contains(&flag[2..]), "{file}: {flag}");
                seen += 1;
            }
        }
    }
    assert!(seen > 8, "{seen}");
}

#[test]
fn what_the_compose_file_asks_for_is_in_the_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compose = fs::read_to_string(root.join("docker-compose.yml")).unwrap();
    for file in ["deploy/haproxy.cfg", "deploy/cluster.env"] {
        assert!(
            compose.contains(file) && root.join(file).is_file(),
            "{file}"
        );
    }
    // Every password has a default. The file that documents the passwords names each default.
    let documented = fs::read_to_string(root.join("deploy/cluster.env")).unwrap();
    for (at, _) in compose.match_indices("${") {
        let (variable, _) = compose[at + 2..].split_once('}').unwrap();
        let (name, default) = variable.split_once(":-").unwrap();
        assert!(
            documented.contains(&format!("{name}={default}\n")),
            "{variable}"
        );
    }
    // Every published port is bound to the loopback address.
    for line in compose
        .lines()
        .filter(|line| line.trim_start().starts_with("- \"127"))
    {
        assert!(line.contains("127.0.0.1:8080:8080"), "{line}");
    }
    assert_eq!(
        compose.matches("ports:").count(),
        compose.matches("127.0.0.1:8080:8080").count()
    );
    // Images that are not built here have a pinned version.
    for line in compose
        .lines()
        .filter_map(|line| line.trim().strip_prefix("image: "))
    {
        assert!(
            line == "halfspace"
                || line
                    .rsplit_once(':')
                    .is_some_and(|(_, tag)| tag.contains('.'))
        );
    }
}
