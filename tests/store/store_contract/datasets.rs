//! Datasets, and the jobs that read them.

use super::*;
use halfspace::records::Names;
use halfspace::records::id::DatasetKind;

async fn one(store: &Store, number: i64) -> Option<Dataset> {
    let id = dataset(number).summary.id;
    store.find(&owner(), id).await.unwrap()
}

async fn deletion(store: &Store, number: i64) -> DeleteDatasetOutcome {
    let id = dataset(number).summary.id;
    store.delete_dataset(&owner(), id).await.unwrap()
}

fn deleted(number: i64) -> DeleteDatasetOutcome {
    DeleteDatasetOutcome::Deleted {
        data_key: dataset(number).summary.data_key,
    }
}

pub(super) async fn datasets_are_kept_listed_and_deleted(backend: &dyn Backend) {
    let store = open(backend).await;
    let bare = Dataset {
        summary: DatasetSummary {
            name: None,
            facts: DataFacts {
                kind: LabelsKind::Unlabelled,
                values: RowsKind::Real,
                zero_bit_value: 0,
                assume: None,
                class_examples: None,
                repetitions: Repetitions::Uncounted("too many".into()),
                ..dataset(2).summary.facts
            },
            seed: None,
            ..dataset(2).summary
        },
        names: Names::default(),
    };
    let all = [dataset(1), bare, dataset(3)];
    for dataset in &all {
        store.insert(dataset, None).await.unwrap();
        // A retry after a lost answer.
        store.insert(dataset, None).await.unwrap();
    }
    for dataset in &all {
        let found = store.find(&owner(), dataset.summary.id).await.unwrap();
        assert_eq!(found.as_ref(), Some(dataset));
    }
    let first = Page::<DatasetKind>::new(2, None);
    let slice = store.list(&owner(), &first).await.unwrap();
    assert_eq!(
        slice.items,
        [all[2].summary.clone(), all[1].summary.clone()]
    );
    let rest = Page::new(2, slice.next);
    let slice = store.list(&owner(), &rest).await.unwrap();
    assert_eq!(slice.items, [all[0].summary.clone()]);
    assert_eq!(slice.next, None);
    // Another owner does not see the datasets.
    let (stranger, id) = (Owner::new("other"), all[0].summary.id);
    assert_eq!(store.find(&stranger, id).await.unwrap(), None);
    let listed = store.list(&stranger, &first).await.unwrap();
    assert!(listed.items.is_empty());
    let refused = store.delete_dataset(&stranger, id).await.unwrap();
    assert_eq!(refused, DeleteDatasetOutcome::NotFound);
    assert_eq!(deletion(&store, 1).await, deleted(1));
    assert_eq!(deletion(&store, 1).await, DeleteDatasetOutcome::NotFound);
    assert_eq!(one(&store, 1).await, None);
    assert!(one(&store, 3).await.is_some());
}

pub(super) async fn a_job_is_stored_only_with_its_dataset(backend: &dyn Backend) {
    let store = open(backend).await;
    let running = Job {
        status: Status::Running,
        attempt: 1,
        ..reading_job(1, 1)
    };
    let missing = |stored: Result<(), StoreError>| match stored {
        Err(StoreError::DatasetMissing(id)) => assert_eq!(id, dataset(1).summary.id),
        other => panic!("{other:?}"),
    };
    for _ in 0..2 {
        missing(store.insert_job(&reading_job(1, 1), None).await);
        let stored = store
            .insert_running_job(&running, &worker("a"), LONG, None)
            .await;
        missing(stored.map(|_| ()));
        // The refused job has left neither a row nor events.
        assert_eq!(store.find(&owner(), job(1).id).await.unwrap(), None);
        assert_eq!(store.events(None, job(1).id, 0, 10).await.unwrap(), []);
        // A dataset of another owner does not satisfy the job.
        let mut of_a_stranger = dataset(1);
        of_a_stranger.summary.owner = Owner::new("other");
        store.insert(&of_a_stranger, None).await.unwrap();
    }
    store.insert(&dataset(2), None).await.unwrap();
    store.insert_job(&reading_job(2, 2), None).await.unwrap();
    assert_eq!(get(&store, job(2).id).await, reading_job(2, 2));
    let claim = claim(&store, "a", LONG).await.unwrap();
    assert_eq!(claim.job.dataset, Some(dataset(2).summary.id));
}

pub(super) async fn a_job_pins_its_dataset_until_it_ends(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert(&dataset(1), None).await.unwrap();
    store.insert(&dataset(2), None).await.unwrap();
    store.insert_job(&reading_job(1, 1), None).await.unwrap();
    store.insert_job(&reading_job(2, 1), None).await.unwrap();
    let pinned_by = |number| DeleteDatasetOutcome::Pinned {
        job: job(number).id,
    };
    assert_eq!(deletion(&store, 1).await, pinned_by(1));
    let lease = claim(&store, "a", LONG).await.unwrap().lease;
    assert_eq!(deletion(&store, 1).await, pinned_by(1));
    store
        .requeue_job(&lease, &Requeue::default(), at(2))
        .await
        .unwrap();
    assert_eq!(deletion(&store, 1).await, pinned_by(1));
    // Another dataset can be deleted.
    assert_eq!(deletion(&store, 2).await, deleted(2));
    store.cancel_job(&owner(), job(1).id, at(3)).await.unwrap();
    assert_eq!(deletion(&store, 1).await, pinned_by(2));
    let lease = claim(&store, "a", LONG).await.unwrap().lease;
    store.finish_job(&lease, &success(2)).await.unwrap();
    assert_eq!(deletion(&store, 1).await, deleted(1));
    // The ended job still names its dataset.
    let ended = get(&store, job(2).id).await;
    assert_eq!(ended.dataset, Some(dataset(1).summary.id));
    let again = store.insert_job(&reading_job(3, 1), None).await;
    assert!(matches!(again, Err(StoreError::DatasetMissing(_))));
}

/// The job was computed from data that existed, and no longer needs them.
pub(super) async fn an_ended_job_needs_no_dataset(backend: &dyn Backend) {
    let store = open(backend).await;
    let ended = Job {
        data_key: None,
        dataset: Some(dataset(1).summary.id),
        ..ended_job(1)
    };
    store
        .insert_ended_job(&ended, None, None, None)
        .await
        .unwrap();
    assert_eq!(get(&store, ended.id).await, ended);
}

/// Two stores act as two processes. One deletes each dataset while the other stores a job that reads it.
pub(super) async fn dataset_is_either_deleted_or_pinned_by_a_racing_job(backend: &dyn Backend) {
    const DATASETS: i64 = 40;
    let stores = [open(backend).await, open(backend).await];
    for number in 0..DATASETS {
        stores[0].insert(&dataset(number), None).await.unwrap();
    }
    for number in 0..DATASETS {
        let reader = reading_job(number, number);
        let id = dataset(number).summary.id;
        let owner = owner();
        let (inserted, deletion) = tokio::join!(
            stores[0].insert_job(&reader, None),
            stores[1].delete_dataset(&owner, id),
        );
        let is_there = stores[0].find(&owner, id).await.unwrap().is_some();
        match (inserted, deletion.unwrap()) {
            (Ok(()), DeleteDatasetOutcome::Pinned { job }) => {
                assert_eq!(job, reader.id);
                assert!(is_there);
            }
            (Err(StoreError::DatasetMissing(_)), DeleteDatasetOutcome::Deleted { .. }) => {
                assert!(!is_there);
            }
            other => panic!("{other:?}"),
        }
    }
}

pub(super) async fn blobs_of_datasets_and_jobs_are_in_use(backend: &dyn Backend) {
    let store = open(backend).await;
    for number in 1..=3 {
        store.insert(&dataset(number), None).await.unwrap();
        store.insert_job(&job(number), None).await.unwrap();
    }
    store.insert_job(&reading_job(4, 1), None).await.unwrap();
    let mut expected: Vec<String> = (1..=3).map(|n| dataset(n).summary.data_key).collect();
    expected.extend((1..=3).map(|n| job(n).data_key.unwrap()));
    for limit in 1..=7 {
        let mut found: Vec<String> = Vec::new();
        loop {
            let after = found.last().cloned();
            let keys = store
                .data_keys_in_use(after.as_deref(), limit)
                .await
                .unwrap();
            assert!(keys.len() <= limit as usize);
            found.extend(keys.iter().cloned());
            if keys.len() < limit as usize {
                break;
            }
        }
        assert_eq!(found, expected);
    }
    store
        .delete_dataset(&owner(), dataset(2).summary.id)
        .await
        .unwrap();
    let keys = store.data_keys_in_use(None, 10).await.unwrap();
    assert_eq!(keys.len(), 5);
}

/// The end of an import.
fn import(number: i64) -> JobEnd {
    JobEnd {
        model: None,
        trace: None,
        dataset: Some(dataset(number)),
        ..success(1)
    }
}

pub(super) async fn end_of_an_import_stores_its_dataset_under_the_lease(backend: &dyn Backend) {
    let store = open(backend).await;
    let lost = claimed(&store, NONE).await;
    let lease = claim(&store, "w", LONG).await.unwrap().lease;
    let finished = store.finish_job(&lost, &import(1)).await.unwrap();
    assert_eq!((finished, one(&store, 1).await), (Fenced::Lost, None));
    let finished = store.finish_job(&lease, &import(2)).await.unwrap();
    assert_eq!(finished, Fenced::Done);
    assert_eq!(one(&store, 2).await, Some(dataset(2)));
    let used = store.usage(&owner()).await.unwrap().own.stored_bytes;
    assert_eq!(used, dataset(2).summary.bytes);
}

pub(super) async fn end_of_an_import_beyond_the_quota_changes_nothing(backend: &dyn Backend) {
    let mut quotas = Quotas::UNLIMITED;
    quotas.per_owner.stored_bytes = 1000;
    let store = backend.open_limited(quotas).await.unwrap();
    store.insert(&dataset(1), None).await.unwrap();
    store.insert_job(&job(1), None).await.unwrap();
    let lease = claim(&store, "w", LONG).await.unwrap().lease;
    let refused = store.finish_job(&lease, &import(2)).await;
    assert!(
        matches!(refused, Err(StoreError::OverQuota(_))),
        "{refused:?}"
    );
    assert_eq!(get(&store, job(1).id).await.status, Status::Running);
    assert_eq!(one(&store, 2).await, None);
    let failed = store.finish_job(&lease, &failure()).await.unwrap();
    assert_eq!(failed, Fenced::Done);
}
