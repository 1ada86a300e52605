//! Processes: their reports by the clock of the database, and the jobs under their leases.

use std::time::Duration;

use halfspace::records::Role;
use halfspace::records::process::{Process, ProcessMemory};
use halfspace::storage::ProcessReport;

use super::*;

/// Stores the report of a process with two workers.
pub(super) async fn report(store: &Store, name: &str, role: Role, memory_bytes_free: u64) {
    let worker = worker(name);
    let report = ProcessReport {
        worker: &worker,
        role,
        workers: 2,
        memory: ProcessMemory {
            memory_bytes_max: 1 << 40,
            memory_bytes_taken: 7,
            memory_bytes_free,
        },
        elapsed: Duration::from_secs(100),
    };
    store.report_process(&report).await.unwrap();
}

async fn only(store: &Store) -> Process {
    let mut processes = store.processes().await.unwrap();
    assert_eq!(processes.len(), 1, "{processes:?}");
    processes.remove(0)
}

pub(super) async fn a_process_is_listed_until_it_stops(backend: &dyn Backend) {
    let store = open(backend).await;
    assert_eq!(store.processes().await.unwrap(), []);
    report(&store, "a", Role::Worker, 5).await;
    let other = open(backend).await;
    let first = only(&other).await;
    assert_eq!((first.id.as_str(), first.role), ("a", Role::Worker));
    assert_eq!((first.workers, first.running, first.parked), (2, 0, 0));
    assert_eq!(first.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(first.memory.memory_bytes_max, 1 << 40);
    assert_eq!(first.memory.memory_bytes_taken, 7);
    assert_eq!((first.memory.memory_bytes_free, first.spec_schema), (5, 1));
    let ran_ms = first.seen_at.milliseconds() - first.started_at.milliseconds();
    assert!((99_000..=101_000).contains(&ran_ms), "{ran_ms}");
    // A later report changes the memory and the time of the report, and not the start.
    report(&other, "a", Role::Worker, 6).await;
    let later = only(&store).await;
    assert_eq!(later.memory.memory_bytes_free, 6);
    assert_eq!(later.started_at, first.started_at);
    assert!(later.seen_at >= first.seen_at);
    report(&store, "b", Role::Api, 6).await;
    store.forget_process(&worker("a")).await.unwrap();
    assert_eq!(only(&store).await.role, Role::Api);
    // A process that is alone on the store forgets the dead.
    store.release_all_leases(&RELEASE, at(100)).await.unwrap();
    assert_eq!(store.processes().await.unwrap(), []);
}

/// A report is old if the clock of the database says so. A clock that jumped back leaves reports of the future.
pub(super) async fn silent_processes_are_forgotten(backend: &dyn Backend) {
    let store = open(backend).await;
    for name in ["a", "b", "c"] {
        report(&store, name, Role::All, 5).await;
    }
    let old = "UPDATE processes SET seen_at = seen_at - 61 WHERE id = 'a' RETURNING workers";
    let late = "UPDATE processes SET seen_at = seen_at - 25 WHERE id = 'c' RETURNING workers";
    let future = "UPDATE processes SET seen_at = seen_at + 86400 WHERE id = 'b' RETURNING workers";
    for text in [old, future] {
        backend.number(text).await;
    }
    let listed = only(&store).await;
    assert_eq!((listed.id.as_str(), listed.is_prompt), ("c", true));
    backend.number(late).await;
    assert!(!only(&store).await.is_prompt);
    let stored = "SELECT COUNT(*) FROM processes";
    assert_eq!(backend.number(stored).await, 3);
    report(&store, "c", Role::All, 5).await;
    assert_eq!(backend.number(stored).await, 1);
    // A process that was frozen reports again, and its start is still right.
    report(&store, "a", Role::All, 5).await;
    let processes = store.processes().await.unwrap();
    assert_eq!(processes.len(), 2);
    let apart_ms = processes[0].started_at.milliseconds() - processes[1].started_at.milliseconds();
    assert!(apart_ms.abs() < 60_000, "{processes:?}");
}

pub(super) async fn a_process_is_listed_with_the_jobs_under_its_leases(backend: &dyn Backend) {
    let store = open(backend).await;
    for name in ["a", "b"] {
        report(&store, name, Role::All, 5).await;
    }
    let mut leases = Vec::new();
    for (number, name) in [(1, "a"), (2, "a"), (3, "b")] {
        store.insert_job(&job(number), None).await.unwrap();
        leases.push(claim(&store, name, LONG).await.unwrap().lease);
    }
    let parked = Beat {
        is_parked: true,
        ..beating(None)
    };
    store.heartbeat(&leases[0], &parked, at(101)).await.unwrap();
    let counts = async || {
        let mut processes = store.processes().await.unwrap();
        processes.sort_by(|one, other| one.id.cmp(&other.id));
        let counts = processes.iter().map(|held| (held.running, held.parked));
        let alone: Vec<_> = processes.iter().map(|held| held.alone).collect();
        (counts.collect::<Vec<_>>(), alone)
    };
    assert_eq!(counts().await, (vec![(1, 1), (1, 0)], vec![false, false]));
    let alone = "UPDATE jobs SET alone = TRUE WHERE lease_owner = 'b' RETURNING claims";
    backend.number(alone).await;
    store.finish_job(&leases[1], &success(2)).await.unwrap();
    assert_eq!(counts().await, (vec![(0, 1), (1, 0)], vec![false, true]));
}
