//! Checkpoints: the state of a job that an attempt stores for the next one.

use super::*;

async fn kept(store: &Store, job: JobId) -> Option<Vec<u8>> {
    store.checkpoint(job).await.unwrap()
}

pub(super) async fn a_checkpoint_is_kept_for_the_next_claim(backend: &dyn Backend) {
    let store = open(backend).await;
    let first = claimed(&store, NONE).await;
    assert_eq!(kept(&store, first.job).await, None);
    let large: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    for body in [b"one".as_slice(), &large, b""] {
        let saved = store.save_checkpoint(&first, body).await.unwrap();
        assert_eq!(saved, Fenced::Done);
        assert_eq!(kept(&store, first.job).await.as_deref(), Some(body));
    }
    // The first worker is slow and has lost the job to another, so its writes are fenced off.
    let second = claim(&store, "b", LONG).await.unwrap().lease;
    assert_eq!(kept(&store, first.job).await.as_deref(), Some(&b""[..]));
    let saved = store.save_checkpoint(&second, b"further").await.unwrap();
    assert_eq!(saved, Fenced::Done);
    let late = store.save_checkpoint(&first, b"late").await.unwrap();
    assert_eq!(late, Fenced::Lost);
    assert_eq!(kept(&store, first.job).await.unwrap(), b"further");
    // The checkpoint survives a requeue and the end of a process.
    store
        .requeue_job(&second, &Requeue::default(), at(101))
        .await
        .unwrap();
    assert_eq!(kept(&store, first.job).await.unwrap(), b"further");
    let late = store.save_checkpoint(&second, b"late").await.unwrap();
    assert_eq!(late, Fenced::Lost);
    claim(&store, "b", LONG).await.unwrap();
    assert_eq!(
        store.release_all_leases(&RELEASE, at(102)).await.unwrap(),
        1
    );
    assert_eq!(kept(&store, first.job).await.unwrap(), b"further");
}

pub(super) async fn checkpoint_is_deleted_by_every_end_of_its_job(backend: &dyn Backend) {
    let store = open(backend).await;
    let saved = |lease: Lease| {
        let store = Arc::clone(&store);
        async move {
            let saved = store.save_checkpoint(&lease, b"state").await.unwrap();
            assert_eq!(saved, Fenced::Done);
            lease
        }
    };
    let finished = saved(claimed(&store, LONG).await).await;
    store.finish_job(&finished, &success(1)).await.unwrap();
    assert_eq!(kept(&store, finished.job).await, None);
    // The job is cancelled while it is queued with a checkpoint.
    store.insert_job(&job(2), None).await.unwrap();
    let queued = saved(claim(&store, "a", LONG).await.unwrap().lease).await;
    store
        .requeue_job(&queued, &Requeue::default(), at(103))
        .await
        .unwrap();
    let cancelled = store.cancel_job(&owner(), queued.job, at(104)).await;
    let requested = |outcome| matches!(outcome, CancelOutcome::Requested(_));
    assert!(requested(cancelled.unwrap()));
    let again = store.cancel_job(&owner(), queued.job, at(104)).await;
    assert!(matches!(again.unwrap(), CancelOutcome::AlreadyRequested(_)));
    // The cancelled job keeps its learnt state until a worker ends it.
    let claimed = claim(&store, "a", LONG).await.unwrap();
    assert!(claimed.job.cancel_requested);
    let end = JobEnd {
        status: Status::Cancelled,
        ..success(2)
    };
    store.finish_job(&claimed.lease, &end).await.unwrap();
    assert_eq!(kept(&store, queued.job).await, None);
    // The job fails as poisoned.
    store.insert_job(&job(3), None).await.unwrap();
    for _ in 0..5 {
        saved(claim(&store, "a", NONE).await.unwrap().lease).await;
    }
    assert_eq!(claim(&store, "a", NONE).await, None);
    assert_eq!(get(&store, job(3).id).await.status, Status::Failed);
    assert_eq!(kept(&store, job(3).id).await, None);
}

pub(super) async fn checkpoint_is_deleted_only_with_its_own_job(backend: &dyn Backend) {
    let store = open(backend).await;
    let first = claimed(&store, LONG).await;
    store.insert_job(&job(2), None).await.unwrap();
    let second = claim(&store, "a", LONG).await.unwrap().lease;
    for lease in [&first, &second] {
        let body = lease.job.to_string();
        let saved = store.save_checkpoint(lease, body.as_bytes()).await.unwrap();
        assert_eq!(saved, Fenced::Done);
    }
    store.finish_job(&first, &success(1)).await.unwrap();
    store.delete_job(&owner(), first.job).await.unwrap();
    let body = second.job.to_string().into_bytes();
    assert_eq!(kept(&store, second.job).await, Some(body));
}
