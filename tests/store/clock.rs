//! Clock jumps of ten years, forwards and backwards, while the service runs and while it is stopped. It deletes
//! nothing early, and still deletes old records after their retention.

use std::sync::Arc;

use bytes::Bytes;
use halfspace::jobs::{Ids, Jobs, JobsConfig};
use halfspace::records::{Job, KeyClaim, ManualClock, Owner, Status, Timestamp};
use halfspace::storage::{Blobs, Store, postgres, sqlite};
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::json;
use tempfile::TempDir;

use crate::service::TestDatabase;

const HOUR_MS: u64 = 3_600_000;
const TEN_YEARS_MS: i64 = 10 * 365 * 86_400_000;

/// A store that outlives the processes over it, and the clock of their machine.
struct Rig {
    directory: TempDir,
    database: Option<TestDatabase>,
    clock: Arc<ManualClock>,
    seed: u64,
}

impl Rig {
    fn new(database: Option<TestDatabase>) -> Self {
        let start = Timestamp::from_milliseconds(1_800_000_000_000);
        Self {
            directory: tempfile::tempdir().unwrap(),
            database,
            clock: Arc::new(ManualClock::new(start)),
            seed: 0,
        }
    }

    /// Starts a process that keeps ended jobs for two days.
    async fn process(&mut self) -> (Arc<Store>, Arc<Jobs>) {
        let store: Arc<Store> = match &self.database {
            None => {
                let path = self.directory.path().join("db");
                Arc::new(sqlite::open(&path).await.unwrap())
            }
            Some(database) => Arc::new(postgres::open(&database.place()).await.unwrap()),
        };
        let blobs = Blobs::local(&self.directory.path().join("blobs")).unwrap();
        self.seed += 1;
        let random = StdRng::seed_from_u64(self.seed);
        let ids = Ids::new(Arc::clone(&self.clock) as _, random);
        let config = JobsConfig {
            retention_days: 2,
            ..JobsConfig::default()
        };
        let jobs = Jobs::new(Arc::clone(&store), blobs, Arc::new(ids), config, None);
        jobs.sweep.once().await.unwrap();
        (store, jobs)
    }
}

/// Stores an ended job with an idempotency key and an orphan blob.
async fn leave_things(store: &Store, jobs: &Jobs, directory: &TempDir, number: u32) -> Job {
    let now = jobs.ids.now();
    let job = Job {
        status: Status::Cancelled,
        finished_at: Some(now),
        ..Job::queued(
            jobs.ids.id(),
            Owner::anonymous(),
            "train",
            json!({}),
            1,
            now,
        )
    };
    let key = KeyClaim {
        key: number.to_string(),
        fingerprint: String::new(),
        answer: None,
    };
    store
        .insert_ended_job(&job, None, None, Some(&key))
        .await
        .unwrap();
    let blobs = Blobs::local(&directory.path().join("blobs")).unwrap();
    blobs
        .put(&format!("datasets/{number}/data"), Bytes::from_static(b"x"))
        .await
        .unwrap();
    job
}

/// Whether the job, the key and the blob exist.
async fn there(store: &Store, directory: &TempDir, job: &Job, number: u32) -> [bool; 3] {
    let owner = Owner::anonymous();
    let blobs = Blobs::local(&directory.path().join("blobs")).unwrap();
    let key = number.to_string();
    [
        store.find(&owner, job.id).await.unwrap().is_some(),
        store.idempotency_key(&owner, &key).await.unwrap().is_some(),
        blobs
            .get(&format!("datasets/{number}/data"))
            .await
            .unwrap()
            .is_some(),
    ]
}

async fn nothing_goes_by_a_jump(mut rig: Rig) {
    let (store, jobs) = rig.process().await;
    let mut left = Vec::new();
    let mut number = 0;
    // The clock jumps forwards, then backwards beyond the start, then to the right time. It jumps first while a
    // process runs and then between two processes.
    for jump in [TEN_YEARS_MS, -2 * TEN_YEARS_MS, TEN_YEARS_MS] {
        left.push((
            leave_things(&store, &jobs, &rig.directory, number).await,
            number,
        ));
        number += 1;
        rig.clock.jump_milliseconds(jump);
        jobs.sweep.once().await.unwrap();
        rig.clock.advance_milliseconds(HOUR_MS);
        jobs.sweep.once().await.unwrap();
    }
    for jump in [TEN_YEARS_MS, -2 * TEN_YEARS_MS, TEN_YEARS_MS] {
        let (store, jobs) = rig.process().await;
        left.push((
            leave_things(&store, &jobs, &rig.directory, number).await,
            number,
        ));
        number += 1;
        store.close().await;
        rig.clock.jump_milliseconds(jump);
        let (store, jobs) = rig.process().await;
        rig.clock.advance_milliseconds(HOUR_MS);
        jobs.sweep.once().await.unwrap();
        for (job, number) in &left {
            let found = there(&store, &rig.directory, job, *number).await;
            assert_eq!(found, [true; 3], "{number} after {jump}");
        }
        store.close().await;
    }
    // Records without a future time are deleted after one or two days of running service, and not before.
    let (store, jobs) = rig.process().await;
    for hour in 0..60 {
        rig.clock.advance_milliseconds(HOUR_MS);
        jobs.sweep.once().await.unwrap();
        let mut kept = Vec::new();
        for (job, number) in &left {
            kept.push(there(&store, &rig.directory, job, *number).await);
        }
        let all = |thing: usize| kept.iter().all(|there| there[thing]);
        assert!(hour >= 40 || all(0), "jobs after {hour} hours");
        assert!(hour >= 17 || all(1), "keys after {hour} hours");
    }
    let future: Vec<_> = left.iter().map(|(job, _)| job.created_at).collect();
    let latest = future.iter().max().unwrap();
    for (job, number) in &left {
        let is_future = job.created_at.milliseconds() > latest.milliseconds() - TEN_YEARS_MS / 2;
        let [job, key, _] = there(&store, &rig.directory, job, *number).await;
        assert_eq!([job, key], [is_future; 2], "{number}");
    }
    store.close().await;
}

/// Wrong clocks of processes have no effect on the list, which uses the clock of the database.
async fn processes_are_listed_by_the_clock_of_the_database(mut rig: Rig) {
    let mut all = Vec::new();
    for jump in [0, TEN_YEARS_MS, -2 * TEN_YEARS_MS] {
        rig.clock.jump_milliseconds(jump);
        let (store, jobs) = rig.process().await;
        jobs.processes.report().await.unwrap();
        all.push((store, jobs));
        for (_, jobs) in &all {
            let listed = jobs.processes.list().await.unwrap();
            assert_eq!(listed.len(), all.len(), "{listed:?}");
            let seen = listed.iter().map(|process| process.seen_at.milliseconds());
            let (first, last) = (seen.clone().min().unwrap(), seen.max().unwrap());
            assert!(last - first < 60_000, "{listed:?}");
        }
    }
    for (store, jobs) in all {
        jobs.start();
        assert!(jobs.stop(crate::service::TIMEOUT).await);
        store.close().await;
    }
    let (store, jobs) = rig.process().await;
    assert_eq!(jobs.processes.list().await.unwrap(), []);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_with_wrong_clocks_are_listed_over_sqlite() {
    processes_are_listed_by_the_clock_of_the_database(Rig::new(None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_with_wrong_clocks_are_listed_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        processes_are_listed_by_the_clock_of_the_database(Rig::new(Some(database))).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_loses_nothing_over_sqlite() {
    nothing_goes_by_a_jump(Rig::new(None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_loses_nothing_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        nothing_goes_by_a_jump(Rig::new(Some(database))).await;
    }
}
