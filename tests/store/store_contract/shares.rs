//! Shares of owners, levels of jobs, and the resulting order of claims.

use halfspace::records::schedule::{CREDIT_SECONDS, Weight};
use halfspace::records::{ApiKey, Rank, SecretDigest};

use super::api_keys::key;
use super::*;
use crate::service::until;

fn job_of(name: &str, number: i64) -> Job {
    Job {
        owner: Owner::new(name),
        ..job(number)
    }
}

pub(super) async fn owner_with_many_jobs_does_not_starve_another(backend: &dyn Backend) {
    let store = open(backend).await;
    for number in 0..1_000 {
        store.insert_job(&job_of("a", number), None).await.unwrap();
    }
    // This job is the last by creation and by the owner's name.
    store.insert_job(&job_of("b", 1_000), None).await.unwrap();
    let first = claim(&store, "w", LONG).await.unwrap();
    assert_eq!(first.job.owner, Owner::new("a"));
    store
        .heartbeat(&first.lease, &paying(1.0), at(101))
        .await
        .unwrap();
    // Another process knows of the payment too.
    let other = open(backend).await;
    let next = claim(&other, "v", LONG).await.unwrap();
    assert_eq!(next.job.owner, Owner::new("b"));
}

pub(super) async fn priorities_order_only_the_jobs_of_one_owner(backend: &dyn Backend) {
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
        numbers.push(claim(&store, "w", LONG).await.unwrap().job.id);
    }
    // The claim of the first job is charged, so the other owner is next.
    assert_eq!(numbers, [2, 3, 1, 0].map(|number| job(number).id));
}

pub(super) async fn claims_of_an_owner_take_the_lowest_level_and_each_eighth_the_oldest(
    backend: &dyn Backend,
) {
    let store = open(backend).await;
    let long = Job {
        demand: Demand {
            seconds: 3_600.0,
            memory_bytes: 0,
        },
        ..job(1)
    };
    store.insert_job(&long, None).await.unwrap();
    for number in 2..=20 {
        let short = Job {
            demand: Demand {
                seconds: 0.1,
                memory_bytes: 0,
            },
            ..job(number)
        };
        store.insert_job(&short, None).await.unwrap();
    }
    let mut numbers = Vec::new();
    for _ in 0..9 {
        numbers.push(claim(&store, "w", LONG).await.unwrap().job.id);
    }
    let expected = [2, 3, 4, 5, 6, 7, 8, 1, 9];
    assert_eq!(numbers, expected.map(|number| job(number).id));
}

fn paying(unpaid_seconds: f64) -> Beat<'static> {
    Beat {
        lease_seconds: LONG,
        spent: Spent {
            seconds: unpaid_seconds,
            unpaid_seconds,
            level: 0,
        },
        ..Beat::default()
    }
}

async fn virtual_seconds(store: &Store, name: &str) -> f64 {
    let line = store.line(&Owner::new(name), u64::MAX).await.unwrap();
    line.virtual_seconds
}

/// Heartbeats, requeues and ends charge the owner. The next claim is for the owner with the fewest virtual
/// seconds.
pub(super) async fn computed_seconds_are_charged_by_weight(backend: &dyn Backend) {
    let store = open(backend).await;
    let heavy = ApiKey {
        weight: Weight::try_from(4.0).unwrap(),
        ..key(1)
    };
    let digest = SecretDigest::of("heavy");
    store.insert_api_key(&heavy, &digest, false).await.unwrap();
    let heavy = Owner::from(heavy.id);
    for number in [0, 2] {
        let own = job_of(heavy.as_str(), number);
        store.insert_job(&own, None).await.unwrap();
    }
    let [first, second] = [
        claim(&store, "w", LONG).await.unwrap(),
        claim(&store, "w", LONG).await.unwrap(),
    ];
    for number in [1, 3] {
        let other = job_of("zz", number);
        store.insert_job(&other, None).await.unwrap();
    }
    assert_eq!([&first.job.owner, &second.job.owner], [&heavy, &heavy]);
    let before = virtual_seconds(&store, heavy.as_str()).await;
    let paid = async || virtual_seconds(&store, heavy.as_str()).await - before;
    store
        .heartbeat(&first.lease, &paying(8.0), at(101))
        .await
        .unwrap();
    assert_eq!(paid().await, 2.0);
    let requeue = Requeue {
        spent: paying(4.0).spent,
        ..Requeue::default()
    };
    store
        .requeue_job(&first.lease, &requeue, at(102))
        .await
        .unwrap();
    assert_eq!(paid().await, 3.0);
    let end = JobEnd {
        spent: paying(2.0).spent,
        ..success(2)
    };
    assert_eq!(
        store.finish_job(&second.lease, &end).await.unwrap(),
        Fenced::Done
    );
    assert_eq!(paid().await, 3.5);
    // A stale lease charges nothing.
    let stale = store.heartbeat(&first.lease, &paying(8.0), at(103)).await;
    assert_eq!(stale.unwrap(), Heartbeat::Lost);
    store.pay(&[(heavy.clone(), 2.0)]).await.unwrap();
    assert_eq!(paid().await, 4.0);
    let next = claim(&store, "w", LONG).await.unwrap();
    assert_eq!(next.job.owner, Owner::new("zz"));
}

pub(super) async fn returning_owner_begins_near_the_least_virtual_seconds(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job_of("a", 1), None).await.unwrap();
    let long = claim(&store, "w", LONG).await.unwrap().lease;
    let begun = virtual_seconds(&store, "a").await;
    store
        .heartbeat(&long, &paying(1_000.0), at(101))
        .await
        .unwrap();
    store.insert_job(&job_of("b", 2), None).await.unwrap();
    let late = virtual_seconds(&store, "b").await;
    assert_eq!(late, begun + 1_000.0 - CREDIT_SECONDS);
    // While no owner is active, a new owner enters relative to the last position.
    for _ in 0..2 {
        store.finish_job(&long, &success(1)).await.unwrap();
        let other = claim(&store, "w", LONG).await;
        if let Some(other) = other {
            store.finish_job(&other.lease, &success(2)).await.unwrap();
        }
    }
    store.tend_shares().await.unwrap();
    store.insert_job(&job_of("c", 3), None).await.unwrap();
    assert_eq!(
        virtual_seconds(&store, "c").await,
        begun + 1_000.0 - CREDIT_SECONDS
    );
    // An owner's virtual seconds do not decay.
    store.insert_job(&job_of("a", 4), None).await.unwrap();
    assert_eq!(virtual_seconds(&store, "a").await, begun + 1_000.0);
}

pub(super) async fn owner_is_active_only_with_jobs_after_tending_shares(backend: &dyn Backend) {
    let store = open(backend).await;
    let active = "SELECT COUNT(*) FROM owner_shares WHERE active = TRUE";
    store.insert_job(&job_of("a", 1), None).await.unwrap();
    let lease = claim(&store, "w", LONG).await.unwrap().lease;
    store.tend_shares().await.unwrap();
    assert_eq!(backend.number(active).await, 1, "its job runs");
    store.finish_job(&lease, &success(1)).await.unwrap();
    store.tend_shares().await.unwrap();
    assert_eq!(backend.number(active).await, 0);
    // An owner whose activation was lost is found again.
    store.insert_job(&job_of("a", 2), None).await.unwrap();
    let silenced = "UPDATE owner_shares SET active = FALSE RETURNING CAST(claims AS BIGINT)";
    backend.number(silenced).await;
    assert_eq!(claim(&store, "w", LONG).await, None);
    store.tend_shares().await.unwrap();
    assert!(claim(&store, "w", LONG).await.is_some());
}

pub(super) async fn line_names_the_jobs_that_could_go_first(backend: &dyn Backend) {
    let store = open(backend).await;
    let owner = Owner::new("a");
    store.insert_job(&job_of("a", 1), None).await.unwrap();
    let running = claim(&store, "w", LONG).await.unwrap();
    let line = store.line(&owner, u64::MAX).await.unwrap();
    assert_eq!((line.own, line.other), (None, None));
    let short = Job {
        demand: Demand {
            seconds: 0.0,
            memory_bytes: 10,
        },
        ..job_of("a", 2)
    };
    store.insert_job(&short, None).await.unwrap();
    store.insert_job(&job_of("b", 3), None).await.unwrap();
    store
        .heartbeat(&running.lease, &paying(6.0), at(101))
        .await
        .unwrap();
    let line = store.line(&owner, 10).await.unwrap();
    assert_eq!(line.own, Some(Rank::new(0, 0, short.id)));
    let other = line.other.unwrap();
    assert!(line.virtual_seconds - other > 4.0, "{line:?}");
    assert!(line.interrupts(&Rank::new(0, 0, running.job.id)));
    assert_eq!(store.line(&owner, 9).await.unwrap().own, None);
}

pub(super) async fn jobs_ahead_are_counted_up_to_a_limit(backend: &dyn Backend) {
    let store = open(backend).await;
    for number in 1..=20 {
        store.insert_job(&job_of("a", number), None).await.unwrap();
        store
            .insert_job(&job_of("b", 100 + number), None)
            .await
            .unwrap();
    }
    let urgent = Job {
        priority: 3,
        ..job_of("a", 21)
    };
    store.insert_job(&urgent, None).await.unwrap();
    let ahead = async |job: &Job, limit| store.jobs_ahead(job, limit).await.unwrap();
    assert_eq!(ahead(&urgent, 10).await, 0);
    assert_eq!(ahead(&job_of("a", 1), 10).await, 1);
    assert_eq!(ahead(&job_of("a", 5), 10).await, 5);
    assert_eq!(ahead(&job_of("a", 20), 10).await, 10);
}

pub(super) async fn claim_passes_over_a_job_that_does_not_fit_in_memory(backend: &dyn Backend) {
    let store = open(backend).await;
    for (number, memory_bytes) in [(1, 1_000), (2, 10)] {
        let demanding = Job {
            demand: Demand {
                seconds: 1.0,
                memory_bytes,
            },
            ..job(number)
        };
        store.insert_job(&demanding, None).await.unwrap();
    }
    let little = ClaimTerms {
        memory_bytes_max: 999,
        ..terms(LONG)
    };
    let taken = store
        .claim_job(&worker("w"), &little, at(100))
        .await
        .unwrap();
    assert_eq!(taken.unwrap().job.id, job(2).id);
    let none = store
        .claim_job(&worker("w"), &little, at(100))
        .await
        .unwrap();
    assert_eq!(none, None);
    // This program does not know the schema of the jobs.
    let newer = "UPDATE jobs SET spec_schema = 2 RETURNING CAST(claims AS BIGINT)";
    backend.number(newer).await;
    assert_eq!(claim(&store, "w", LONG).await, None);
}

pub(super) async fn owners_are_all_served_by_concurrent_claims(backend: &dyn Backend) {
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
            while let Some(claim) = claim(&store, &format!("w{claimer}"), LONG).await {
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

/// Over SQLite the plan of the statement shows the same; see `storage/sql/tests.rs`.
#[tokio::test]
async fn claim_over_postgres_reads_few_of_many_jobs() {
    const CLAIMS: i64 = 20;
    let Some(backend) = backends::over_postgres().await else {
        return;
    };
    let store = open(&backend).await;
    store.insert_job(&job_of("a", 1), None).await.unwrap();
    // No claim takes these jobs, which have the digest of another job: they are younger than those that follow.
    let filled = backend
        .number(
            "WITH filled AS (INSERT INTO jobs (id, owner, task, status, seed, attempt, priority, \
             created_at, progress, cancel_requested, event_sequence, level, expected_seconds, \
             memory_bytes, spec_schema, digest, spec) \
             SELECT 'job_0f8bcfe568007000b333' || lpad(to_hex(i), 12, '0'), owner, task, status, \
             seed, attempt, priority, created_at, progress, cancel_requested, event_sequence, level, \
             expected_seconds, memory_bytes, spec_schema, digest, spec \
             FROM generate_series(1, 100000) AS i, jobs RETURNING 1) SELECT COUNT(*) FROM filled",
        )
        .await;
    assert_eq!(filled, 100_000);
    let waiting = store.usage(&Owner::new("a")).await.unwrap();
    assert_eq!(waiting.own.jobs_queued, 100_001);
    for number in 2..CLAIMS {
        store.insert_job(&job_of("a", number), None).await.unwrap();
    }
    store.insert_job(&job_of("b", CLAIMS), None).await.unwrap();
    let before = read_of_index(&backend).await;
    let claimer = open(&backend).await;
    for _ in 0..CLAIMS {
        assert!(claim(&claimer, "w", LONG).await.is_some());
    }
    // A connection reports its reads to the statistics at the latest when it closes.
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

/// Entries of the index of claims that were read.
async fn read_of_index(backend: &dyn Backend) -> i64 {
    let read = "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'jobs_to_claim'";
    backend.number(read).await
}
