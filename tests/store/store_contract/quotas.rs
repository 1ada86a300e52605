//! Limits per owner and in total: exact under concurrent writes, and equal to the stored records.

use halfspace::records::session::{LogEntry, SessionAppend, SessionRecord};
use halfspace::records::{KeyQuotas, SecretDigest};
use halfspace::storage::{AppendOutcome, Limit, OverQuota, Usage};
use proptest::prelude::{Strategy, any};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::sessions::{session, tally};
use super::*;

fn refused<T: std::fmt::Debug>(outcome: Result<T, StoreError>) -> OverQuota {
    match outcome {
        Err(StoreError::OverQuota(over)) => over,
        other => panic!("{other:?}"),
    }
}

fn other() -> Owner {
    Owner::new("other")
}

fn job_of_bytes(number: i64, data_bytes: u64) -> Job {
    Job {
        data_bytes,
        ..job(number)
    }
}

pub(super) async fn sessions_of_an_owner_are_limited(backend: &dyn Backend) {
    let mut quotas = Quotas::UNLIMITED;
    quotas.per_owner.sessions = 2;
    let store = backend.open_limited(quotas).await.unwrap();
    store.insert(&session(1), None).await.unwrap();
    store.insert(&session(2), None).await.unwrap();
    let over = refused(store.insert(&session(3), None).await);
    assert_eq!((over.limit, over.max, over.used), (Limit::Sessions, 2, 2));
    let others = SessionRecord {
        owner: other(),
        ..session(4)
    };
    store.insert(&others, None).await.unwrap();
    assert!(store.delete(&owner(), session(1).id).await.unwrap());
    store.insert(&session(3), None).await.unwrap();
}

pub(super) async fn stored_bytes_are_limited_per_owner_and_in_all(backend: &dyn Backend) {
    let mut quotas = Quotas::UNLIMITED;
    quotas.per_owner.stored_bytes = 1_000;
    quotas.in_all.stored_bytes = 1_500;
    let store = backend.open_limited(quotas).await.unwrap();
    store.insert(&dataset(1), None).await.unwrap();
    let over = refused(store.insert(&dataset(2), None).await);
    let expected = OverQuota {
        limit: Limit::StoredBytesPerKey,
        max: 1_000,
        used: 552,
        asked: 552,
    };
    assert_eq!(over, expected);
    assert_eq!(
        store.find(&owner(), dataset(2).summary.id).await.unwrap(),
        None
    );
    let over = refused(store.insert_job(&job_of_bytes(1, 449), None).await);
    assert_eq!(over.limit, Limit::StoredBytesPerKey);
    store.insert_job(&job_of_bytes(2, 448), None).await.unwrap();
    // Storing a record again needs no further space.
    store.insert_job(&job_of_bytes(2, 448), None).await.unwrap();
    store.insert(&dataset(1), None).await.unwrap();
    let mut others = dataset(3);
    others.summary.owner = other();
    let over = refused(store.insert(&others, None).await);
    let named = (over.limit, over.max, over.used);
    assert_eq!(named, (Limit::StoredBytes, 1_500, 1_000));
    // An ended job releases its data, and a deleted record releases everything.
    let cancelled = store.cancel_job(&owner(), job(2).id, at(9)).await;
    cancelled.unwrap();
    store.insert(&others, None).await.unwrap();
    let id = dataset(1).summary.id;
    let deleted = store.delete_dataset(&owner(), id).await.unwrap();
    assert!(matches!(deleted, DeleteDatasetOutcome::Deleted { .. }));
    let left = store.usage(&owner()).await.unwrap();
    assert_eq!((left.own.stored_bytes, left.all.stored_bytes), (0, 552));
}

pub(super) async fn quotas_may_be_set_per_key(backend: &dyn Backend) {
    let mut quotas = Quotas::UNLIMITED;
    quotas.per_owner.jobs_queued = 1;
    let store = backend.open_limited(quotas).await.unwrap();
    let mut key = super::api_keys::key(1);
    key.quotas = KeyQuotas {
        jobs_queued_max: Some(3),
        ..KeyQuotas::default()
    };
    let digest = SecretDigest::of("secret");
    store.insert_api_key(&key, &digest, false).await.unwrap();
    for number in 1..=4 {
        let job = Job {
            owner: key.id.into(),
            ..job(number)
        };
        let stored = store.insert_job(&job, None).await;
        assert_eq!(stored.is_ok(), number <= 3, "{stored:?}");
    }
    let standing = store.usage(&key.id.into()).await.unwrap();
    assert_eq!(standing.own_max.jobs_queued, 3);
    assert_eq!(standing.own.jobs_queued, 3);
    store.insert_job(&job(5), None).await.unwrap();
    refused(store.insert_job(&job(6), None).await);
}

/// Two processes store jobs near the limit. Over PostgreSQL the usage also approaches the limit from afar.
pub(super) async fn quotas_hold_exactly_under_concurrent_inserts(backend: &dyn Backend) {
    // The server allows 300 connections. Transactions run one by one when less space than that is left.
    for (room, clients, offset) in [(10, 32, 0), (310, 340, 10_000)] {
        for per_owner in [true, false] {
            let mut quotas = Quotas::UNLIMITED;
            let before = open(backend).await.usage(&owner()).await.unwrap().own;
            let limit = if per_owner {
                &mut quotas.per_owner
            } else {
                &mut quotas.in_all
            };
            limit.jobs_queued = before.jobs_queued + room;
            let stores = [
                backend.open_limited(quotas).await.unwrap(),
                backend.open_limited(quotas).await.unwrap(),
            ];
            let first = offset + if per_owner { 0 } else { 1_000 };
            // As many concurrent inserts as a process has connections, repeatedly.
            let inserts = (0..32).map(|client| {
                let store = Arc::clone(&stores[client as usize % 2]);
                tokio::spawn(async move {
                    let mut stored = 0;
                    for number in (client..clients).step_by(32) {
                        match store.insert_job(&job(first + number), None).await {
                            Ok(()) => stored += 1,
                            Err(StoreError::OverQuota(_)) => {}
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                    stored
                })
            });
            let stored = futures_util::future::join_all(inserts).await;
            let stored: u64 = stored.into_iter().map(Result::unwrap).sum();
            assert_eq!(stored, room);
            let after = stores[0].usage(&owner()).await.unwrap();
            assert_eq!(after.own.jobs_queued, before.jobs_queued + room);
            assert_eq!(after.all, after.own);
        }
    }
}

pub(super) async fn quotas_do_not_stop_the_end_of_accepted_jobs(backend: &dyn Backend) {
    let mut quotas = Quotas::UNLIMITED;
    quotas.per_owner = Usage {
        jobs_queued: 1,
        stored_bytes: 10,
        sessions: 0,
    };
    let store = backend.open_limited(quotas).await.unwrap();
    store.insert_job(&job_of_bytes(1, 10), None).await.unwrap();
    let lease = claim(&store, "w", LONG).await.unwrap().lease;
    store.insert_job(&job(2), None).await.unwrap();
    // A job may return to a full queue and leave the queue again.
    assert_eq!(
        store
            .requeue_job(&lease, &Requeue::default(), at(5))
            .await
            .unwrap(),
        Fenced::Done
    );
    let standing = store.usage(&owner()).await.unwrap();
    assert_eq!(standing.own.jobs_queued, 2);
    refused(store.insert_job(&job(3), None).await);
    let lease = claim(&store, "w", LONG).await.unwrap().lease;
    // The model is larger than the free space.
    let finished = store.finish_job(&lease, &success(1)).await.unwrap();
    assert_eq!(finished, Fenced::Done);
    let standing = store.usage(&owner()).await.unwrap();
    assert!(standing.own.stored_bytes > 10, "{standing:?}");
    // A job that was not acknowledged stores nothing.
    let (ended, left) = (ended_job(4), model(4));
    refused(
        store
            .insert_ended_job(&ended, Some(&left), None, None)
            .await,
    );
    assert_eq!(store.find(&owner(), job(4).id).await.unwrap(), None);
    // Cancellations and deletions work at every limit.
    let cancelled = store.cancel_job(&owner(), job(2).id, at(9)).await;
    assert!(matches!(cancelled.unwrap(), CancelOutcome::Cancelled(_)));
    assert!(store.delete(&owner(), model(1).summary.id).await.unwrap());
    assert!(matches!(
        store.delete_job(&owner(), job(2).id).await.unwrap(),
        DeleteOutcome::Deleted { .. }
    ));
    let standing = store.usage(&owner()).await.unwrap();
    assert_eq!(standing.own, Usage::default());
}

pub(super) async fn session_append_is_refused_beyond_the_quota(backend: &dyn Backend) {
    let mut quotas = Quotas::UNLIMITED;
    quotas.per_owner.stored_bytes = 100;
    let store = backend.open_limited(quotas).await.unwrap();
    store.insert(&session(1), None).await.unwrap();
    let append = |position, entry| {
        [SessionAppend {
            id: session(1).id,
            position,
            tally: tally(position + 1),
            entry,
        }]
    };
    let log = |bytes: usize| LogEntry::Examples(vec![7; bytes]);
    let written = store
        .append_examples(&owner(), &append(0, log(60)))
        .await
        .unwrap();
    assert_eq!(written, [AppendOutcome::Done]);
    let written = store
        .append_examples(&owner(), &append(1, log(41)))
        .await
        .unwrap();
    let [AppendOutcome::OverQuota(over)] = written[..] else {
        panic!("{written:?}");
    };
    assert_eq!((over.used, over.asked, over.max), (60, 41, 100));
    let found = store.find(&owner(), session(1).id).await.unwrap();
    assert_eq!(found.unwrap().position, 1);
    // A snapshot replaces the log and its bytes.
    let snapshot = LogEntry::Snapshot(vec![1; 90]);
    let written = store
        .append_examples(&owner(), &append(1, snapshot))
        .await
        .unwrap();
    assert_eq!(written, [AppendOutcome::Done]);
    let standing = store.usage(&owner()).await.unwrap();
    assert_eq!(standing.own.stored_bytes, 90);
    assert!(store.delete(&owner(), session(1).id).await.unwrap());
    let standing = store.usage(&owner()).await.unwrap();
    assert_eq!(standing.own, Usage::default());
}

/// Random operations of two processes on jobs, models, datasets and sessions of two owners. The counters equal
/// the counted records.
pub(super) async fn usage_counters_equal_the_stored_records(backend: &dyn Backend) {
    let stores = [open(backend).await, open(backend).await];
    let deeds = proptest::collection::vec((any::<u8>(), 0..12_i64, any::<bool>()), 300);
    let deeds = deeds.new_tree(&mut TestRunner::deterministic()).unwrap();
    let mut leases = Vec::new();
    for (place, (deed, number, is_others)) in deeds.current().into_iter().enumerate() {
        let owner = if is_others { other() } else { owner() };
        let made = number + if is_others { 500 } else { 0 };
        do_one(&stores[place % 2], deed, made, &owner, &mut leases).await;
    }
    let all = stores[0].usage(&owner()).await.unwrap().all;
    let own = stores[0].usage(&owner()).await.unwrap().own;
    let others = stores[0].usage(&other()).await.unwrap().own;
    assert_eq!(all.jobs_queued, own.jobs_queued + others.jobs_queued);
    assert_eq!(all.stored_bytes, own.stored_bytes + others.stored_bytes);
    assert_eq!(all.sessions, own.sessions + others.sessions);
    let count = async |statement| u64::try_from(backend.number(statement).await).unwrap();
    let queued = count("SELECT COUNT(*) FROM jobs WHERE status = 'queued'").await;
    let sessions = count("SELECT COUNT(*) FROM sessions").await;
    let bytes = count(
        "SELECT CAST(\
         (SELECT COALESCE(SUM(data_bytes), 0) FROM jobs WHERE finished_at IS NULL) \
         + (SELECT COALESCE(SUM(bytes), 0) FROM datasets) \
         + (SELECT COALESCE(SUM(octet_length(document)), 0) FROM models) \
         + (SELECT COALESCE(SUM(length(examples)), 0) FROM session_log) \
         + (SELECT COALESCE(SUM(length(state)), 0) FROM session_snapshots) AS BIGINT)",
    )
    .await;
    assert!(queued > 0 && sessions > 0 && bytes > 0);
    assert_eq!(
        (all.jobs_queued, all.stored_bytes, all.sessions),
        (queued, bytes, sessions)
    );
}

/// The operation may fail.
async fn do_one(store: &Store, deed: u8, number: i64, owner: &Owner, leases: &mut Vec<Lease>) {
    let job = Job {
        owner: owner.clone(),
        ..job_of_bytes(number, 100 + number.unsigned_abs())
    };
    match deed % 16 {
        0..3 => drop(store.insert_job(&job, None).await),
        3 => {
            let running = Job {
                owner: owner.clone(),
                data_bytes: 50,
                ..running_job(number)
            };
            let worker = worker("w");
            let stored = store.insert_running_job(&running, &worker, LONG, None);
            leases.extend(stored.await);
        }
        4..6 => {
            let lease_seconds = if deed < 128 { LONG } else { NONE };
            let claimed = claim(store, "w", lease_seconds).await;
            leases.extend(claimed.map(|claim| claim.lease));
        }
        6 => {
            if let Some(lease) = leases.pop() {
                let end = if deed < 128 {
                    success(number + 100)
                } else {
                    failure()
                };
                drop(store.finish_job(&lease, &end).await);
            }
        }
        7 => {
            if let Some(lease) = leases.pop() {
                store
                    .requeue_job(&lease, &Requeue::default(), at(1))
                    .await
                    .unwrap();
            }
        }
        8 => drop(store.cancel_job(owner, job.id, at(2)).await.unwrap()),
        9 => drop(store.delete_job(owner, job.id).await.unwrap()),
        10 if deed < 40 => drop(store.sweep_jobs(at(2), 2).await.unwrap()),
        10 if deed < 60 => drop(store.release_all_leases(&RELEASE, at(3)).await.unwrap()),
        10 | 11 => {
            let mut model = model(number);
            model.summary.owner = owner.clone();
            drop(store.insert(&model, None).await);
        }
        12 => drop(store.delete(owner, model(number).summary.id).await),
        13 => {
            let mut dataset = dataset(number);
            dataset.summary.owner = owner.clone();
            drop(store.insert(&dataset, None).await);
        }
        14 => drop(
            store
                .delete_dataset(owner, dataset(number).summary.id)
                .await,
        ),
        _ => learn(store, deed, number, owner).await,
    }
}

async fn learn(store: &Store, deed: u8, number: i64, owner: &Owner) {
    let session = SessionRecord {
        owner: owner.clone(),
        ..session(number)
    };
    if deed < 64 {
        drop(store.insert(&session, None).await);
        return;
    }
    if deed > 224 {
        drop(store.delete(owner, session.id).await);
        return;
    }
    let Ok(Some(found)) = store.find(owner, session.id).await else {
        drop(store.insert(&session, None).await);
        return;
    };
    let append = SessionAppend {
        id: found.id,
        position: found.position,
        tally: tally(found.position + 1),
        entry: if deed < 160 {
            LogEntry::Examples(vec![1; 33])
        } else {
            LogEntry::Snapshot(vec![2; 21])
        },
    };
    store.append_examples(owner, &[append]).await.unwrap();
}
