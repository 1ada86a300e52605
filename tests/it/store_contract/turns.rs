//! Owners take turns: nobody's job waits for all the jobs of another.

use super::*;
use crate::service::until;

fn job_of(name: &str, number: i64) -> Job {
    Job {
        owner: Owner::new(name),
        ..job(number)
    }
}

pub(super) async fn one_owner_does_not_starve_another(backend: &dyn Backend) {
    let store = open(backend).await;
    for number in 0..1_000 {
        store.insert_job(&job_of("a", number), None).await.unwrap();
    }
    // Made last, and by the last in the order of names.
    store.insert_job(&job_of("b", 1_000), None).await.unwrap();
    let mut owners = Vec::new();
    for _ in 0..4 {
        owners.push(claim(&*store, "w", LONG).await.unwrap().job.owner);
    }
    assert_eq!(owners, ["a", "b", "a", "a"].map(Owner::new));
    // Another process begins with turns of its own.
    store.insert_job(&job_of("b", 1_001), None).await.unwrap();
    let other = open(backend).await;
    let mut owners = Vec::new();
    for _ in 0..2 {
        owners.push(claim(&*other, "v", LONG).await.unwrap().job.owner);
    }
    assert!(owners.contains(&Owner::new("b")), "{owners:?}");
}

pub(super) async fn priorities_are_among_the_jobs_of_one_owner(backend: &dyn Backend) {
    let store = open(backend).await;
    for number in 0..3 {
        let priority = i32::try_from(number).unwrap() * 100;
        let urgent = Job {
            priority,
            ..job_of("a", number)
        };
        store.insert_job(&urgent, None).await.unwrap();
    }
    store.insert_job(&job_of("b", 3), None).await.unwrap();
    let mut numbers = Vec::new();
    for _ in 0..4 {
        numbers.push(claim(&*store, "w", LONG).await.unwrap().job.id);
    }
    assert_eq!(numbers, [2, 3, 1, 0].map(|number| job(number).id));
}

pub(super) async fn a_lease_that_ran_out_has_its_owners_turn(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job_of("b", 1), None).await.unwrap();
    let lost = claim(&*store, "w", NONE).await.unwrap().lease;
    for number in 2..5 {
        store.insert_job(&job_of("a", number), None).await.unwrap();
    }
    let first = claim(&*store, "w", LONG).await.unwrap();
    assert_eq!(first.job.owner, Owner::new("a"));
    let second = claim(&*store, "w", LONG).await.unwrap();
    assert_eq!((second.job.id, second.job.attempt), (lost.job, 2));
}

pub(super) async fn turns_come_to_everybody_however_many_claim(backend: &dyn Backend) {
    const OWNERS: i64 = 5;
    const JOBS: i64 = 8;
    let stores = [open(backend).await, open(backend).await];
    for number in 0..OWNERS * JOBS {
        let name = format!("owner {}", number % OWNERS);
        stores[0]
            .insert_job(&job_of(&name, number), None)
            .await
            .unwrap();
    }
    let claimers = (0..4).map(|claimer| {
        let store = Arc::clone(&stores[claimer % 2]);
        tokio::spawn(async move {
            let mut claimed = Vec::new();
            while let Some(claim) = claim(&*store, &format!("w{claimer}"), LONG).await {
                claimed.push(claim.job.id);
            }
            claimed
        })
    });
    let claimed = futures_util::future::join_all(claimers).await;
    let claimed: Vec<JobId> = claimed.into_iter().flat_map(Result::unwrap).collect();
    let different: HashSet<&JobId> = claimed.iter().collect();
    assert_eq!(claimed.len() as i64, OWNERS * JOBS);
    assert_eq!(different.len(), claimed.len());
}

/// Over SQLite the plan of the statement says the same; see `storage/sql/tests.rs`.
#[tokio::test]
async fn a_claim_over_postgres_reads_few_of_many() {
    const CLAIMS: i64 = 20;
    let Some(backend) = backends::over_postgres().await else {
        return;
    };
    let store = open(&backend).await;
    store.insert_job(&job_of("a", 1), None).await.unwrap();
    let filled = backend
        .number(
            "WITH filled AS (INSERT INTO jobs (id, owner, task, status, seed, attempt, priority, \
             created_at, progress, cancel_requested, event_sequence, spec) \
             SELECT 'job_018bcfe568007000b333' || lpad(to_hex(i), 12, '0'), owner, task, status, \
             seed, attempt, priority, created_at, progress, cancel_requested, event_sequence, spec \
             FROM generate_series(1, 100000) AS i, jobs RETURNING 1) SELECT COUNT(*) FROM filled",
        )
        .await;
    assert_eq!(filled, 100_000);
    let waiting = store.usage(&Owner::new("a")).await.unwrap();
    assert_eq!(waiting.own.jobs_queued, 100_001);
    store.insert_job(&job_of("b", 2), None).await.unwrap();
    let before = read_of_index(&backend).await;
    let claimer = open(&backend).await;
    let mut owners = Vec::new();
    for _ in 0..CLAIMS {
        owners.push(claim(&*claimer, "w", LONG).await.unwrap().job.owner);
    }
    assert!(owners[..2].contains(&Owner::new("b")), "{owners:?}");
    // What a connection has read is told at the latest when it ends.
    claimer.close().await;
    until("the server to tell what was read", async || {
        let scans =
            "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'jobs_to_claim'";
        (backend.number(scans).await >= CLAIMS).then_some(())
    })
    .await;
    let read = read_of_index(&backend).await - before;
    assert!((CLAIMS..20 * CLAIMS).contains(&read), "{read}");
}

/// Entries that the index of claims has given away.
async fn read_of_index(backend: &dyn Backend) -> i64 {
    let read = "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'jobs_to_claim'";
    backend.number(read).await
}
