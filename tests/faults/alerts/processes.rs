//! Alerts on processes: kills, restarts, missing workers, versions and file handles.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{Scrapes, Target, healthy, service};
use crate::service::{Program, Slow};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_killed_process_is_down() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = service(directory.path(), &[]);
    let mut target = Target::only(&program);
    scrapes.minute(std::slice::from_ref(&target)).await;
    program.kill();
    target.client = None;
    scrapes.minutes(4, &[target]).await;
    scrapes.fire(&["HalfspaceDown"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_service_without_processes_is_absent() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let mut program = service(directory.path(), &[]);
    scrapes.minute(&[Target::only(&program)]).await;
    program.terminate();
    assert!(program.ended().await.success());
    // The scraper finds no process any more.
    scrapes.minutes(8, &[]).await;
    scrapes.fire(&["HalfspaceAbsent"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_service_whose_workers_are_scaled_away_has_no_worker() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let api = service(directory.path(), &["--role", "api"]);
    let mut worker = service(directory.path(), &["--role", "worker"]);
    let both = [
        Target::at("a", "api", &api),
        Target::at("b", "worker", &worker),
    ];
    scrapes.minutes(2, &both).await;
    worker.terminate();
    assert!(worker.ended().await.success());
    let [only, _] = both;
    scrapes.minutes(8, &[only]).await;
    scrapes.fire(&["HalfspaceNoWorker"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_process_that_dies_again_and_again_is_restarting() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let (mut starts, mut last) = (0, 0.0);
    while starts < 4 {
        let program = service(directory.path(), &[]);
        let started_at = program.client().metric("process_start_time_seconds").await;
        // The metric has whole seconds, so a second start within a second does not count.
        if started_at > last {
            scrapes.minute(&[Target::only(&program)]).await;
            (starts, last) = (starts + 1, started_at);
        }
        program.kill();
    }
    scrapes.fire(&["HalfspaceRestarting"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn a_rollout_that_stops_halfway_leaves_two_versions() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let older = directory.path().join("older");
    with_version(&older, "0.0.9");
    let data = directory.path().join("data");
    let api = Program::start_unrecorded(None, &data, &["--role", "api"]);
    let worker = Program::start_unrecorded(Some(&older), &data, &["--role", "worker"]);
    let targets = [
        Target::at("a", "api", &api),
        Target::at("b", "worker", &worker),
    ];
    scrapes.minutes(65, &targets).await;
    scrapes.fire(&["HalfspaceVersionsDiffer"]);
}

/// Writes the program with another version of the same length.
fn with_version(path: &Path, version: &str) {
    let present = env!("CARGO_PKG_VERSION").as_bytes();
    assert_eq!(present.len(), version.len());
    let mut program = std::fs::read(env!("CARGO_BIN_EXE_halfspace")).unwrap();
    let mut at = 0;
    while let Some(found) = memchr::memmem::find(&program[at..], present) {
        at += found;
        program[at..at + present.len()].copy_from_slice(version.as_bytes());
    }
    std::fs::write(path, program).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn connections_take_the_file_handles() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start_with_limit("ulimit -n 100", directory.path(), &["--workers", "1"]);
    let mut held = Vec::new();
    let used = async || {
        let [open, most] = ["process_open_fds", "process_max_fds"];
        program.client().metric(open).await / program.client().metric(most).await
    };
    while used().await <= 0.82 {
        let client = Slow::connect([127, 0, 0, 1], program.client().address).await;
        held.push(client.unwrap());
        assert!(
            held.len() < 1_000,
            "{} of the handles are used",
            used().await
        );
    }
    healthy(program.client(), 1).await;
    scrapes.minutes(14, &[Target::only(&program)]).await;
    scrapes.fire(&["HalfspaceFileHandles"]);
}
