//! Makes cargo rebuild the program after a new file in `migrations`, and states the git revision of a release
//! build.
//!
//! A build outside of a git checkout states no revision. A container build passes the revision in
//! `SOURCE_REVISION` instead: see `src/records/process.rs`.

use std::path::Path;
use std::process::Command;

/// Files that change the program.
const SOURCES: [&str; 6] = [
    "build.rs",
    "Cargo.toml",
    "Cargo.lock",
    "console",
    "crates",
    "src",
];

/// Files that git writes with each commit and checkout.
const GIT_FILES: [&str; 2] = ["HEAD", "logs/HEAD"];

#[expect(
    clippy::disallowed_methods,
    reason = "cargo states the profile in a variable"
)]
fn main() {
    println!("cargo::rerun-if-changed=migrations");
    // A debug build would compile the program again after each commit.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        state_revision();
    }
}

/// Passes the revision to the compiler, with the suffix `-dirty` if a file differs from the commit.
fn state_revision() {
    // The sources may lie within the checkout of another project.
    let is_own = git(&["rev-parse", "--show-prefix"]).is_some_and(|prefix| prefix.is_empty());
    let revision = git(&[
        "describe",
        "--always",
        "--dirty",
        "--abbrev=40",
        "--exclude=*",
    ]);
    let Some(revision) = revision.filter(|_| is_own) else {
        return;
    };
    println!("cargo::rustc-env=CHECKOUT_REVISION={revision}");
    let files = GIT_FILES.map(|file| git(&["rev-parse", "--git-path", file]));
    let watched = SOURCES.into_iter().map(str::to_owned);
    for path in watched.chain(files.into_iter().flatten()) {
        // Cargo would run this program for every build if a file were missing.
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// The output of a git command, or `None` if the command fails or git is absent.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
