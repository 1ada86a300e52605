//! Idempotency keys: one record per key, and the key is stored together with its record or not at all.

use super::sessions::session;
use super::*;
use futures_util::future::join_all;
use halfspace::records::{KeyClaim, KeyRecord};

fn claim_of(key: &str) -> KeyClaim {
    KeyClaim {
        key: key.to_owned(),
        fingerprint: format!("of {key}"),
        answer: Some(json!({"seed": 7})),
    }
}

async fn kept(store: &Store, key: &str) -> Option<KeyRecord> {
    store.idempotency_key(&owner(), key).await.unwrap()
}

/// Asserts that the key was found to stand for `thing`.
#[track_caller]
fn taken<T: std::fmt::Debug>(stored: Result<T, StoreError>, thing: impl ToString) {
    match stored {
        Err(StoreError::KeyTaken(record)) => assert_eq!(record.thing, thing.to_string()),
        other => panic!("{other:?}"),
    }
}

pub(super) async fn idempotency_key_stands_for_one_record(backend: &dyn Backend) {
    let store = open(backend).await;
    let key = claim_of("a");
    let some = Some(&key);
    assert_eq!(kept(&store, "a").await, None);
    store.insert_job(&job(1), some).await.unwrap();
    let record = kept(&store, "a").await.unwrap();
    assert_eq!(record.thing, job(1).id.to_string());
    assert_eq!(
        (record.fingerprint, record.answer),
        (key.fingerprint.clone(), key.answer.clone())
    );
    // A retry after a lost answer.
    store.insert_job(&job(1), some).await.unwrap();
    // No other record of any kind is stored under the key.
    let first = job(1).id;
    taken(store.insert_job(&job(2), some).await, first);
    let (running, a) = (running_job(2), worker("a"));
    taken(
        store.insert_running_job(&running, &a, LONG, some).await,
        first,
    );
    let ended = ended_job(2);
    taken(
        store
            .insert_ended_job(&ended, Some(&model(2)), None, some)
            .await,
        first,
    );
    taken(store.insert(&model(2), some).await, first);
    taken(store.insert(&dataset(2), some).await, first);
    taken(store.insert(&session(2), some).await, first);
    assert_eq!(store.find(&owner(), job(2).id).await.unwrap(), None);
    assert_eq!(
        store.find(&owner(), model(2).summary.id).await.unwrap(),
        None
    );
    let id = dataset(2).summary.id;
    assert_eq!(store.find(&owner(), id).await.unwrap(), None);
    assert_eq!(store.find(&owner(), session(2).id).await.unwrap(), None);
    assert_eq!(events(&store, first).await.len(), 1);
    // A key belongs to its owner. Another owner neither sees the key nor is blocked by it.
    let stranger = Owner::new("other");
    assert_eq!(store.idempotency_key(&stranger, "a").await.unwrap(), None);
    let other = Job {
        owner: stranger,
        ..job(3)
    };
    store.insert_job(&other, some).await.unwrap();
}

pub(super) async fn idempotency_key_is_kept_with_every_kind_of_record(backend: &dyn Backend) {
    let store = open(backend).await;
    let keys = ["1", "2", "3", "4", "5"].map(claim_of);
    let (running, a) = (running_job(1), worker("a"));
    let insert = || store.insert_running_job(&running, &a, LONG, Some(&keys[0]));
    // A retry with the same key succeeds after a lost answer.
    assert_eq!(insert().await.unwrap(), insert().await.unwrap());
    for _ in 0..2 {
        let (ended, its_model) = (ended_job(2), model(2));
        let ended = store.insert_ended_job(&ended, Some(&its_model), None, Some(&keys[1]));
        ended.await.unwrap();
        store.insert(&model(3), Some(&keys[2])).await.unwrap();
        store.insert(&dataset(4), Some(&keys[3])).await.unwrap();
    }
    let opened = store.insert(&session(5), Some(&keys[4])).await;
    opened.unwrap();
    let things = [
        job(1).id.to_string(),
        job(2).id.to_string(),
        model(3).summary.id.to_string(),
        dataset(4).summary.id.to_string(),
        session(5).id.to_string(),
    ];
    for (key, thing) in keys.iter().zip(things) {
        assert_eq!(kept(&store, &key.key).await.unwrap().thing, thing);
    }
    // A deleted record keeps its key.
    assert!(store.delete(&owner(), model(3).summary.id).await.unwrap());
    taken(
        store.insert(&model(4), Some(&keys[2])).await,
        model(3).summary.id,
    );
}

pub(super) async fn refused_insert_keeps_no_idempotency_key(backend: &dyn Backend) {
    let store = open(backend).await;
    let key = claim_of("a");
    let refused = store.insert_job(&reading_job(1, 1), Some(&key)).await;
    assert!(matches!(refused, Err(StoreError::DatasetMissing(_))));
    assert_eq!(kept(&store, "a").await, None);
    let mut quotas = Quotas::UNLIMITED;
    quotas.per_owner.sessions = 0;
    let full = backend.open_limited(quotas).await.unwrap();
    let refused = full.insert(&session(1), Some(&key)).await;
    assert!(matches!(refused, Err(StoreError::OverQuota(_))));
    assert_eq!(kept(&store, "a").await, None);
    store.insert(&session(1), Some(&key)).await.unwrap();
}

pub(super) async fn idempotency_key_of_concurrent_inserts_stores_one(backend: &dyn Backend) {
    const KEYS: i64 = 10;
    const CLIENTS: i64 = 16;
    let stores = [open(backend).await, open(backend).await];
    for round in 0..KEYS {
        let key = &claim_of(&round.to_string());
        let inserts = (0..CLIENTS).map(|client| {
            let store = &stores[client as usize % 2];
            async move {
                let job = job(round * CLIENTS + client);
                match store.insert_job(&job, Some(key)).await {
                    Ok(()) => (true, job.id.to_string()),
                    Err(StoreError::KeyTaken(record)) => (false, record.thing),
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let outcomes = join_all(inserts).await;
        let winners = outcomes.iter().filter(|(is_first, _)| *is_first).count();
        assert_eq!(winners, 1, "{outcomes:?}");
        let things: HashSet<&String> = outcomes.iter().map(|(_, thing)| thing).collect();
        assert_eq!(things.len(), 1, "{outcomes:?}");
    }
    assert_eq!(
        stores[0].usage(&owner()).await.unwrap().all.jobs_queued,
        KEYS as u64
    );
}

pub(super) async fn idempotency_keys_are_swept_oldest_first(backend: &dyn Backend) {
    let store = open(backend).await;
    for second in 1..=5 {
        let key = claim_of(&second.to_string());
        store.insert_job(&job(second), Some(&key)).await.unwrap();
    }
    assert_eq!(store.sweep_idempotency_keys(at(5), 3).await.unwrap(), 3);
    assert_eq!(kept(&store, "3").await, None);
    assert!(kept(&store, "4").await.is_some());
    assert_eq!(store.sweep_idempotency_keys(at(5), 3).await.unwrap(), 1);
    assert_eq!(store.sweep_idempotency_keys(at(5), 3).await.unwrap(), 0);
    // The records outlive their keys, and the keys may be used again.
    assert_eq!(store.usage(&owner()).await.unwrap().all.jobs_queued, 5);
    store
        .insert_job(&job(6), Some(&claim_of("1")))
        .await
        .unwrap();
    taken(
        store.insert_job(&job(7), Some(&claim_of("5"))).await,
        job(5).id,
    );
}
