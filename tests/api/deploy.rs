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
                // Every secret also comes from a file.
                let setting = variable.strip_suffix("_FILE").unwrap_or(&variable);
                assert!(variables.contains(setting), "{file}: {variable}");
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
fn the_image_has_the_version_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("Dockerfile")).unwrap();
    let line = format!("ARG VERSION={}\n", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&line), "{line}");
}

#[test]
fn dockerignore_admits_what_the_build_reads() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ignored = fs::read_to_string(root.join(".dockerignore")).unwrap();
    for path in [
        "console",
        "docs/reference/metrics.md",
        "build.rs",
        "migrations",
    ] {
        assert!(ignored.contains(&format!("\n!{path}\n")), "{path}");
        assert!(root.join(path).exists(), "{path}");
    }
}

#[test]
fn compose_file_names_existing_files_and_settings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compose = fs::read_to_string(root.join("docker-compose.yml")).unwrap();
    for file in ["deploy/haproxy.cfg", "deploy/cluster.env", "deploy/secrets"] {
        assert!(compose.contains(file) && root.join(file).exists(), "{file}");
    }
    // Every setting has a default. The file that documents the settings names each default.
    let documented = fs::read_to_string(root.join("deploy/cluster.env")).unwrap();
    for (at, _) in compose.match_indices("${") {
        let (variable, _) = compose[at + 2..].split_once('}').unwrap();
        let (name, default) = variable.split_once(":-").unwrap();
        assert!(
            documented.contains(&format!("{name}={default}\n")),
            "{variable}"
        );
    }
    // Every secret is a file in the default folder.
    let mut secrets = 0;
    for line in compose
        .lines()
        .filter_map(|line| line.trim().strip_prefix("file: "))
    {
        let path = line.replace("${SECRETS:-./deploy/secrets}", "deploy/secrets");
        assert!(root.join(&path).is_file(), "{line}");
        secrets += 1;
    }
    assert_eq!(secrets, 3);
    // Every published port is bound to the loopback address.
    assert_eq!(
        compose.matches("ports:").count(),
        compose.matches("\"127.0.0.1:${PORT:-8080}:8080\"").count()
    );
    // Every service has limits, and every volume a name.
    let (_, services) = compose.split_once("\nservices:\n").unwrap();
    let (services, _) = services.split_once("\nsecrets:\n").unwrap();
    for service in services
        .split("\n\n")
        .filter(|part| part.contains("\n    image: ") || part.contains("<<: *"))
    {
        let has = |text| service.contains(text);
        let inherits = has("<<: *hardened") || has("<<: *process");
        let limits = ["mem_limit:", "pids_limit:", "logging: *logging"];
        assert!(inherits || limits.into_iter().all(has), "{service}");
        assert!(!has("- /data"), "{service}");
    }
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
