//! Properties of the database under a store: durability, schema versions, and sharing by several processes.

use super::*;

pub(super) async fn data_survive_reopening(backend: &dyn Backend) {
    let store = open(backend).await;
    store
        .insert_ended_job(&ended_job(1), Some(&model(1)), Some(b"curve"), None)
        .await
        .unwrap();
    store.insert_job(&job(2), None).await.unwrap();
    store.ping().await.unwrap();
    store.close().await;
    assert!(matches!(
        store.ping().await,
        Err(StoreError::Unavailable(_))
    ));
    assert!(matches!(
        store.insert_job(&job(3), None).await,
        Err(StoreError::Unavailable(_))
    ));
    let store = open(backend).await;
    store.ping().await.unwrap();
    assert_eq!(get(&store, job(1).id).await, ended_job(1));
    assert_eq!(
        store.find(&owner(), model(1).summary.id).await.unwrap(),
        Some(model(1))
    );
    assert_eq!(
        store.trace(&owner(), job(1).id).await.unwrap().unwrap(),
        b"curve"
    );
    assert_eq!(
        story(&store, job(1).id).await,
        ["queued", "running", "succeeded", "result"]
    );
    assert_eq!(claim(&store, "a", LONG).await.unwrap().job.id, job(2).id);
}

pub(super) async fn data_survive_a_process_that_did_not_close(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&store, LONG).await;
    drop(store);
    let store = open(backend).await;
    assert_eq!(get(&store, lease.job).await.status, Status::Running);
    assert_eq!(
        store.release_all_leases(&RELEASE, at(200)).await.unwrap(),
        1
    );
    assert_eq!(claim(&store, "b", LONG).await.unwrap().lease.attempt, 2);
}

pub(super) async fn newer_schema_of_the_database_is_refused(backend: &dyn Backend) {
    open(backend).await.close().await;
    backend.pretend_schema(9_999).await;
    let refused = backend.open().await.map(|_| ());
    let Err(StoreError::Newer {
        found: 9_999,
        supported,
    }) = refused
    else {
        panic!("{refused:?}");
    };
    assert!(supported >= 1);
}

/// A development version of the program with other tables has made the store.
pub(super) async fn foreign_schema_of_the_same_version_is_refused(backend: &dyn Backend) {
    open(backend).await.close().await;
    let other = "UPDATE _sqlx_migrations SET checksum = substr(checksum, 2) RETURNING version";
    backend.number(other).await;
    let refused = backend.open().await.map(|_| ());
    assert!(
        matches!(refused, Err(StoreError::OtherSchema)),
        "{refused:?}"
    );
    let told = refused.unwrap_err().to_string();
    assert!(
        told.contains("start with an empty data directory"),
        "{told}"
    );
}

pub(super) async fn stores_share_one_database(backend: &dyn Backend) {
    // All stores create the schema at the same time.
    let stores = futures_util::future::join_all((0..8).map(|_| backend.open())).await;
    let mut stores = stores.into_iter().map(Result::unwrap);
    let (first, second) = (stores.next().unwrap(), stores.next().unwrap());
    first.insert_job(&job(1), None).await.unwrap();
    second.insert_job(&job(2), None).await.unwrap();
    let lease = claim(&second, "b", LONG).await.unwrap().lease;
    assert_eq!(lease.job, job(1).id);
    assert_eq!(claim(&first, "a", LONG).await.unwrap().job.id, job(2).id);
    // The request of one process reaches the worker in another.
    first.cancel_job(&owner(), lease.job, at(1)).await.unwrap();
    let beat = second
        .heartbeat(&lease, &beating(None), at(2))
        .await
        .unwrap();
    assert_eq!(
        beat,
        Heartbeat::Held {
            cancel_requested: true
        }
    );
    second.finish_job(&lease, &success(1)).await.unwrap();
    assert_eq!(get(&first, lease.job).await.status, Status::Succeeded);
}

/// A client that disconnects drops the future at any point. The database then has either the whole write or
/// nothing of it.
pub(super) async fn dropped_write_leaves_the_whole_record_or_nothing(backend: &dyn Backend) {
    let store = open(backend).await;
    let mut done = 0;
    for number in 0..60 {
        let stored = ended_job(number);
        let stored_model = model(number);
        let write = store.insert_ended_job(&stored, Some(&stored_model), Some(b"curve"), None);
        tokio::select! {
            biased;
            outcome = write => { outcome.unwrap(); done += 1 }
            () = yield_often(number * number / 4) => {}
        }
    }
    // The store still works, and every stored record is whole.
    store.insert_job(&job(100), None).await.unwrap();
    let mut whole = 0;
    for number in 0..60 {
        let model = store
            .find(&owner(), model(number).summary.id)
            .await
            .unwrap();
        let trace = store.trace(&owner(), job(number).id).await.unwrap();
        let found = store.find(&owner(), job(number).id).await.unwrap();
        assert_eq!(
            (model.is_some(), trace.is_some()),
            (found.is_some(), found.is_some())
        );
        if found.is_some() {
            assert_eq!(events(&store, job(number).id).await.len(), 4);
            whole += 1;
        }
    }
    // A commit may succeed although its caller is gone.
    assert!(whole >= done);
}

async fn yield_often(times: i64) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

pub(super) async fn writers_of_two_stores_wait_for_each_other(backend: &dyn Backend) {
    const JOBS: i64 = 60;
    let stores = [open(backend).await, open(backend).await];
    for number in 0..JOBS {
        stores[0].insert_job(&job(number), None).await.unwrap();
    }
    let cancel_all = |store: &Arc<Store>| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut first = 0;
            for number in 0..JOBS {
                // The cancellation reads before it writes, so another writer can make its snapshot outdated.
                match store
                    .cancel_job(&owner(), job(number).id, at(1))
                    .await
                    .unwrap()
                {
                    CancelOutcome::Cancelled(_) => first += 1,
                    CancelOutcome::AlreadyRequested(_) => {}
                    other => panic!("{other:?}"),
                }
            }
            first
        })
    };
    let [first, second] = stores.each_ref().map(cancel_all);
    assert_eq!(first.await.unwrap() + second.await.unwrap(), JOBS);
}

pub(super) async fn a_database_has_one_name_and_one_place_for_blobs(backend: &dyn Backend) {
    let (one, other) = (open(backend).await, open(backend).await);
    assert_eq!(one.blob_place().await.unwrap(), None);
    // The first process names the database.
    let (first, second) = tokio::join!(one.database_name("a"), other.database_name("b"));
    let name = first.unwrap();
    assert_eq!(second.unwrap(), name);
    assert!(["a", "b"].contains(&&*name));
    assert_eq!(one.blob_place().await.unwrap(), None);
    let places = tokio::join!(one.record_blob_place("c"), other.record_blob_place("d"));
    let place = places.0.unwrap();
    assert_eq!(places.1.unwrap(), place);
    assert!(["c", "d"].contains(&&*place));
    let again = open(backend).await;
    assert_eq!(again.database_name("e").await.unwrap(), name);
    assert_eq!(again.blob_place().await.unwrap(), Some(place));
}
