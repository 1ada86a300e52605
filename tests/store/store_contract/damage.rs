//! Damaged rows are not served, and they hold up no other records.

use halfspace::records::session::{LogEntry, SessionAppend};

use halfspace::records::{Callback, KeyClaim};
use halfspace::storage::{AppendOutcome, BusyReceivers};

use super::*;

#[track_caller]
fn assert_corrupt<T: std::fmt::Debug>(found: Result<T, StoreError>) {
    assert!(matches!(found, Err(StoreError::Corrupt(_))), "{found:?}");
}

pub(super) async fn a_damaged_model_is_not_read(backend: &dyn Backend) {
    let store = open(backend).await;
    let id = model(1).summary.id;
    store.insert(&model(1), None).await.unwrap();
    let read = async || store.find(&owner(), id).await;
    let filter = ModelFilter::default();
    let listed = async || store.models(&owner(), &filter, &Page::new(5, None)).await;
    assert_eq!(read().await.unwrap(), Some(model(1)));
    // Lists do not read documents, so a damaged document does not affect them.
    let damage = "UPDATE models SET document = replace(document, '-2', '-3') \
                  RETURNING CAST(1 AS BIGINT)";
    backend.number(damage).await;
    assert_corrupt(read().await);
    assert_eq!(listed().await.unwrap().items.len(), 1);
    let damage = "UPDATE models SET document = replace(document, '-3', '-2'), n = 2 \
                  RETURNING CAST(1 AS BIGINT)";
    backend.number(damage).await;
    assert_corrupt(read().await);
    assert_corrupt(listed().await);
    assert!(store.delete(&owner(), id).await.unwrap());
    assert!(listed().await.unwrap().items.is_empty());
    assert_eq!(
        backend.number("SELECT COUNT(*) FROM model_digests").await,
        0
    );
}

pub(super) async fn a_damaged_dataset_is_not_read(backend: &dyn Backend) {
    let store = open(backend).await;
    let id = dataset(1).summary.id;
    store.insert(&dataset(1), None).await.unwrap();
    let read = async || store.find(&owner(), id).await;
    assert_eq!(read().await.unwrap(), Some(dataset(1)));
    for damage in [
        "UPDATE datasets SET features = replace(features, 'one', 'ond') RETURNING CAST(1 AS BIGINT)",
        "UPDATE datasets SET features = replace(features, 'ond', 'one'), class_examples = '[2,1]' \
         RETURNING CAST(1 AS BIGINT)",
    ] {
        backend.number(damage).await;
        assert_corrupt(read().await);
    }
    assert_corrupt(
        store
            .list(&owner(), &Page::<DatasetKind>::new(5, None))
            .await,
    );
    let deleted = store.delete_dataset(&owner(), id).await.unwrap();
    assert!(matches!(deleted, DeleteDatasetOutcome::Deleted { .. }));
}

/// Every model and dataset has a row of digests. A missing row reveals a damaged id.
pub(super) async fn missing_digest_of_a_record_is_damage(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert(&model(1), None).await.unwrap();
    store.insert(&dataset(1), None).await.unwrap();
    for damage in [
        "DELETE FROM model_digests RETURNING CAST(1 AS BIGINT)",
        "DELETE FROM dataset_digests RETURNING CAST(1 AS BIGINT)",
    ] {
        backend.number(damage).await;
    }
    let filter = ModelFilter::default();
    assert_corrupt(store.find(&owner(), model(1).summary.id).await);
    assert_corrupt(store.models(&owner(), &filter, &Page::new(5, None)).await);
    assert_corrupt(store.find(&owner(), dataset(1).summary.id).await);
    assert_corrupt(
        store
            .list(&owner(), &Page::<DatasetKind>::new(5, None))
            .await,
    );
}

/// The digest and the JSON of an answer are one text. Damage of either part is found.
pub(super) async fn damaged_idempotent_answer_is_not_repeated(backend: &dyn Backend) {
    let store = open(backend).await;
    let claim = KeyClaim {
        key: "a".to_owned(),
        fingerprint: "of a".to_owned(),
        answer: Some(json!({"seed": 7})),
    };
    store.insert_job(&job(1), Some(&claim)).await.unwrap();
    let read = async || store.idempotency_key(&owner(), "a").await;
    let whole = read().await.unwrap().unwrap();
    assert_eq!(whole.answer, claim.answer);
    for damage in [
        "UPDATE idempotency_keys SET answer = replace(answer, '7', '6') RETURNING CAST(1 AS BIGINT)",
        "UPDATE idempotency_keys SET answer = substr(replace(answer, '6', '7'), 2) \
         RETURNING CAST(1 AS BIGINT)",
        "UPDATE idempotency_keys SET answer = '' RETURNING CAST(1 AS BIGINT)",
    ] {
        backend.number(damage).await;
        assert_corrupt(read().await);
        assert_corrupt(store.insert_job(&job(2), Some(&claim)).await);
    }
}

pub(super) async fn damaged_result_of_a_job_is_not_read(backend: &dyn Backend) {
    let store = open(backend).await;
    store
        .insert_ended_job(&ended_job(1), None, Some(b"trace"), None)
        .await
        .unwrap();
    let id = job(1).id;
    backend
        .number("UPDATE jobs SET result = replace(result, '3', '2') RETURNING CAST(1 AS BIGINT)")
        .await;
    assert_corrupt(store.find(&owner(), id).await);
    assert_corrupt(
        store
            .jobs(&owner(), &JobFilter::default(), &Page::new(5, None), |_| ())
            .await,
    );
    assert_corrupt(store.events(None, id, 3, 10).await);
    // The events before the damaged one are served.
    assert_eq!(store.events(None, id, 0, 3).await.unwrap().len(), 3);
    let deleted = store.delete_job(&owner(), id).await.unwrap();
    assert!(matches!(deleted, DeleteOutcome::Deleted { .. }));
}

/// A job whose request is damaged fails at the claim, and the next jobs are claimed.
pub(super) async fn damaged_request_of_a_job_delays_no_other(backend: &dyn Backend) {
    let store = open(backend).await;
    let told = Job {
        callback: Some(Callback::new("https://example.com/")),
        ..job(1)
    };
    store.insert_job(&told, None).await.unwrap();
    backend
        .number("UPDATE jobs SET spec = replace(spec, 'perceptron', 'perceptros') RETURNING CAST(1 AS BIGINT)")
        .await;
    store.insert_job(&job(2), None).await.unwrap();
    let taken = claim(&store, "a", LONG).await.unwrap();
    assert_eq!(taken.job.id, job(2).id);
    assert_corrupt(store.find(&owner(), job(1).id).await);
    let failed =
        "SELECT COUNT(*) FROM jobs WHERE status = 'failed' AND error LIKE '%data-corrupt%'";
    assert_eq!(backend.number(failed).await, 1);
    // A damaged end is not delivered, and the next callback does not wait.
    assert!(
        store
            .claim_callback(&worker("a"), LONG, &BusyReceivers::default())
            .await
            .unwrap()
            .is_none()
    );
    let given_up = "SELECT COUNT(*) FROM callbacks WHERE state = 'given-up'";
    assert_eq!(backend.number(given_up).await, 1);
    let deleted = store.delete_job(&owner(), job(1).id).await.unwrap();
    assert!(matches!(deleted, DeleteOutcome::Deleted { .. }));
}

/// A subjob whose parent's row is damaged ends, and so does the parent.
pub(super) async fn a_damaged_parent_lets_its_subjobs_end(backend: &dyn Backend) {
    let store = open(backend).await;
    super::subjobs::stored(&store, 1).await;
    let lease = claim(&store, "a", LONG).await.unwrap().lease;
    backend
        .number("UPDATE jobs SET seed = seed - 1 WHERE parent IS NULL RETURNING CAST(1 AS BIGINT)")
        .await;
    let ended = store.finish_job(&lease, &failure()).await.unwrap();
    assert_eq!(ended, Fenced::Done);
    let failed = "SELECT COUNT(*) FROM jobs WHERE status = 'failed'";
    assert_eq!(backend.number(failed).await, 2);
}

pub(super) async fn a_damaged_session_is_not_read(backend: &dyn Backend) {
    let store = open(backend).await;
    let record = super::sessions::session(1);
    store.insert(&record, None).await.unwrap();
    let append = |position, examples, entry| SessionAppend {
        id: record.id,
        position,
        tally: super::sessions::tally(position + examples),
        entry,
    };
    let state = append(0, 5, LogEntry::Snapshot(b"state".to_vec()));
    let log = append(5, 2, LogEntry::Examples(b"log".to_vec()));
    for one in [state, log] {
        let done = store.append_examples(&owner(), &[one]).await.unwrap();
        assert_eq!(done, [AppendOutcome::Done]);
    }
    let read = async || store.session_state(&owner(), record.id).await;
    let stored = read().await.unwrap().unwrap();
    assert_eq!((stored.record.position, stored.log.len()), (7, 1));
    for [one, other] in [["perceptron", "perceptros"], ["perceptros", "perceptron"]] {
        let damage = match one {
            "perceptron" => {
                "UPDATE sessions SET spec = replace(spec, 'perceptron', 'perceptros') \
                 RETURNING CAST(1 AS BIGINT)"
            }
            _ => {
                "UPDATE sessions SET spec = replace(spec, 'perceptros', 'perceptron') \
                 RETURNING CAST(1 AS BIGINT)"
            }
        };
        backend.number(damage).await;
        assert_eq!(read().await.is_err(), other == "perceptros");
        let listed = store
            .list(&owner(), &Page::<SessionKind>::new(5, None))
            .await;
        assert_eq!(listed.is_err(), other == "perceptros");
    }
    for (damage, is_damaged) in [
        (
            "UPDATE sessions SET tally = replace(tally, 'mistakes\":3', 'mistakes\":4') \
             RETURNING CAST(1 AS BIGINT)",
            true,
        ),
        (
            "UPDATE sessions SET tally = replace(tally, 'mistakes\":4', 'mistakes\":3') \
             RETURNING CAST(1 AS BIGINT)",
            false,
        ),
    ] {
        backend.number(damage).await;
        let listed = store
            .list(&owner(), &Page::<SessionKind>::new(5, None))
            .await;
        assert_eq!(listed.is_err(), is_damaged);
    }
    let damage = "UPDATE session_snapshots SET state = (SELECT examples FROM session_log) \
                  RETURNING CAST(1 AS BIGINT)";
    backend.number(damage).await;
    assert_corrupt(read().await);
    assert!(store.find(&owner(), record.id).await.is_ok());
    assert!(store.delete(&owner(), record.id).await.unwrap());
}
