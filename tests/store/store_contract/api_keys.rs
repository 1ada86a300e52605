//! API keys, and the adoption of records that were stored before the first key.

use halfspace::records::{ApiKey, ApiKeyId, KeyQuotas, SecretDigest};
use halfspace::storage::KeyLookup;

use super::sessions::session;
use super::*;
use halfspace::records::schedule::Weight;

pub(super) fn key(number: i64) -> ApiKey {
    let mut random = [0x55; 10];
    random[..8].copy_from_slice(&number.to_be_bytes());
    ApiKey {
        id: ApiKeyId::new(at(number), random),
        name: format!("number {number}"),
        created_at: at(number),
        revoked_at: None,
        quotas: KeyQuotas::default(),
        weight: Weight::default(),
    }
}

fn secret(number: i64) -> SecretDigest {
    SecretDigest::of(&format!("secret {number}"))
}

async fn found(store: &Store, number: i64) -> KeyLookup {
    store.find_api_key(Some(&secret(number))).await.unwrap()
}

pub(super) async fn api_key_is_found_by_its_secret_until_it_is_revoked(backend: &dyn Backend) {
    let store = open(backend).await;
    let limited = ApiKey {
        quotas: KeyQuotas {
            jobs_queued_max: Some(3),
            stored_bytes_max: None,
            sessions_max: Some(0),
        },
        ..key(2)
    };
    let keys = [key(1), limited.clone()];
    for (number, key) in (1..).zip(&keys) {
        let stored = store.insert_api_key(key, &secret(number), false).await;
        stored.unwrap();
    }
    assert_eq!(store.api_keys().await.unwrap(), keys);
    let other = open(backend).await;
    assert_eq!(found(&other, 2).await, KeyLookup::Known(limited.clone()));
    assert_eq!(found(&other, 3).await, KeyLookup::Unknown);
    for second in [50, 60] {
        let revoked = store.revoke_api_key(limited.id, at(second)).await;
        assert!(revoked.unwrap());
    }
    assert!(!store.revoke_api_key(key(9).id, at(70)).await.unwrap());
    assert_eq!(found(&other, 2).await, KeyLookup::Unknown);
    assert_eq!(found(&other, 1).await, KeyLookup::Known(key(1)));
    let listed = store.api_keys().await.unwrap();
    assert_eq!(listed[1].revoked_at, Some(at(50)));
}

pub(super) async fn a_store_that_ever_had_a_key_is_not_open(backend: &dyn Backend) {
    let store = open(backend).await;
    assert_eq!(found(&store, 1).await, KeyLookup::NoKeys);
    let nothing = store.find_api_key(None).await.unwrap();
    assert_eq!(nothing, KeyLookup::NoKeys);
    let stored = store.insert_api_key(&key(1), &secret(1), false).await;
    stored.unwrap();
    store.revoke_api_key(key(1).id, at(2)).await.unwrap();
    assert_eq!(found(&store, 1).await, KeyLookup::Unknown);
    let nothing = store.find_api_key(None).await.unwrap();
    assert_eq!(nothing, KeyLookup::Unknown);
}

pub(super) async fn api_key_can_adopt_anonymous_records(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job(1), None).await.unwrap();
    let (ended, left) = (ended_job(2), model(2));
    let stored = store.insert_ended_job(&ended, Some(&left), Some(b"curve"), None);
    stored.await.unwrap();
    store.insert(&dataset(3), None).await.unwrap();
    store.insert(&session(4), None).await.unwrap();
    let before = store.usage(&owner()).await.unwrap();
    let first = store.insert_api_key(&key(1), &secret(1), false).await;
    first.unwrap();
    assert_eq!(store.usage(&owner()).await.unwrap(), before);
    let adopting = store.insert_api_key(&key(2), &secret(2), true).await;
    adopting.unwrap();
    let heir = Owner::from(key(2).id);
    let after = store.usage(&heir).await.unwrap();
    assert_eq!((after.own, after.all), (before.own, before.all));
    let nobody = store.usage(&owner()).await.unwrap();
    assert_eq!(nobody.own, Default::default());
    assert!(store.find(&heir, job(1).id).await.unwrap().is_some());
    assert!(store.trace(&heir, job(2).id).await.unwrap().is_some());
    let events = store.events(Some(&heir), job(2).id, 0, 10).await.unwrap();
    assert_eq!(events.len(), 4);
    assert!(
        store
            .find(&heir, model(2).summary.id)
            .await
            .unwrap()
            .is_some()
    );
    assert!(store.find(&heir, session(4).id).await.unwrap().is_some());
    let dataset = dataset(3).summary.id;
    assert!(store.find(&heir, dataset).await.unwrap().is_some());
    assert_eq!(store.find(&owner(), dataset).await.unwrap(), None);
    // A worker can still claim the adopted job.
    assert_eq!(claim(&store, "w", LONG).await.unwrap().job.owner, heir);
}
