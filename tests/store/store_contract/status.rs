//! The statuses of a job, their transitions, and the records that each transition stores.

use super::*;

pub(super) async fn a_queued_job_is_stored_whole(backend: &dyn Backend) {
    let store = open(backend).await;
    let job = Job {
        priority: -7,
        ..job(1)
    };
    store.insert_job(&job, None).await.unwrap();
    assert_eq!(get(&store, job.id).await, job);
    assert_eq!(story(&store, job.id).await, ["queued"]);
    assert_eq!(store.usage(&owner()).await.unwrap().all.jobs_queued, 1);
    // Storing the job again neither duplicates nor overwrites it.
    store
        .insert_job(
            &Job {
                name: None,
                ..job.clone()
            },
            None,
        )
        .await
        .unwrap();
    assert_eq!(get(&store, job.id).await, job);
    assert_eq!(story(&store, job.id).await, ["queued"]);
    assert_eq!(store.find(&owner(), self::job(2).id).await.unwrap(), None);
}

pub(super) async fn a_job_succeeds_with_model_and_trace(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job(1), None).await.unwrap();
    let Claim {
        job: running,
        lease,
        ..
    } = claim(&store, "a", LONG).await.unwrap();
    let expected = Job {
        status: Status::Running,
        attempt: 1,
        started_at: Some(at(100)),
        ..job(1)
    };
    assert_eq!(running, expected);
    assert_eq!((lease.job, lease.attempt), (job(1).id, 1));
    assert_eq!(get(&store, running.id).await, running);
    assert_eq!(store.usage(&owner()).await.unwrap().all.jobs_queued, 0);

    assert_eq!(
        store.finish_job(&lease, &success(1)).await.unwrap(),
        Fenced::Done
    );
    let JobEnd {
        result,
        progress,
        finished_at,
        trace,
        ..
    } = success(1);
    let expected = Job {
        status: Status::Succeeded,
        result: result.clone(),
        progress,
        finished_at: Some(finished_at),
        model: Some(model(1).summary.id),
        ..expected
    };
    assert_eq!(get(&store, expected.id).await, expected);
    assert_eq!(
        store.find(&owner(), model(1).summary.id).await.unwrap(),
        Some(model(1))
    );
    assert_eq!(store.trace(&owner(), expected.id).await.unwrap(), trace);
    assert_eq!(
        story(&store, expected.id).await,
        ["queued", "running", "succeeded", "result"]
    );
    let last = events(&store, expected.id).await.pop().unwrap();
    assert_eq!(
        last.body,
        json!({"status": "succeeded", "result": result, "error": null})
    );
    assert_eq!((last.at, last.job), (finished_at, expected.id));
    assert_eq!(claim(&store, "b", LONG).await, None);
}

pub(super) async fn a_job_fails_with_its_error(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&store, LONG).await;
    assert_eq!(
        store.finish_job(&lease, &failure()).await.unwrap(),
        Fenced::Done
    );
    let ended = get(&store, lease.job).await;
    assert_eq!((ended.status, ended.result), (Status::Failed, None));
    assert_eq!(ended.error, failure().error);
    assert_eq!(
        story(&store, lease.job).await,
        ["queued", "running", "failed", "result"]
    );
    let last = events(&store, lease.job).await.pop().unwrap();
    assert_eq!(last.body["error"]["code"], "solver");
    assert_eq!(store.trace(&owner(), lease.job).await.unwrap(), None);
}

pub(super) async fn a_running_job_is_cancelled_by_its_worker(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&store, LONG).await;
    let beat = |cancel_requested| Heartbeat::Held { cancel_requested };
    assert_eq!(
        store
            .heartbeat(&lease, &beating(None), at(101))
            .await
            .unwrap(),
        beat(false)
    );
    let outcome = store
        .cancel_job(&owner(), lease.job, at(102))
        .await
        .unwrap();
    assert_eq!(
        outcome,
        CancelOutcome::Requested(get(&store, lease.job).await)
    );
    assert_eq!(
        store
            .heartbeat(&lease, &beating(None), at(103))
            .await
            .unwrap(),
        beat(true)
    );
    let again = store
        .cancel_job(&owner(), lease.job, at(104))
        .await
        .unwrap();
    assert!(matches!(again, CancelOutcome::AlreadyRequested(job) if job.cancel_requested));
    let end = JobEnd {
        status: Status::Cancelled,
        ..success(1)
    };
    assert_eq!(store.finish_job(&lease, &end).await.unwrap(), Fenced::Done);
    let ended = get(&store, lease.job).await;
    assert_eq!(
        (ended.status, ended.model),
        (Status::Cancelled, Some(model(1).summary.id))
    );
    let again = store
        .cancel_job(&owner(), lease.job, at(105))
        .await
        .unwrap();
    assert_eq!(again, CancelOutcome::AlreadyRequested(ended));
    assert_eq!(
        story(&store, lease.job).await,
        ["queued", "running", "cancelled", "result"]
    );
}

pub(super) async fn a_job_may_succeed_after_its_cancel(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&store, LONG).await;
    store
        .cancel_job(&owner(), lease.job, at(102))
        .await
        .unwrap();
    assert_eq!(
        store.finish_job(&lease, &success(1)).await.unwrap(),
        Fenced::Done
    );
    let ended = get(&store, lease.job).await;
    assert_eq!(ended.status, Status::Succeeded);
    let again = store
        .cancel_job(&owner(), lease.job, at(105))
        .await
        .unwrap();
    assert_eq!(again, CancelOutcome::Ended(ended));
}

pub(super) async fn a_queued_job_is_cancelled_at_once(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job(1), None).await.unwrap();
    let stranger = store
        .cancel_job(&Owner::new("other"), job(1).id, at(5))
        .await
        .unwrap();
    assert_eq!(stranger, CancelOutcome::NotFound);
    let outcome = store.cancel_job(&owner(), job(1).id, at(5)).await.unwrap();
    let ended = get(&store, job(1).id).await;
    assert_eq!(outcome, CancelOutcome::Cancelled(ended.clone()));
    assert_eq!(
        (ended.status, ended.result.as_ref()),
        (Status::Cancelled, None)
    );
    assert_eq!((ended.finished_at, ended.started_at), (Some(at(5)), None));
    assert_eq!(
        story(&store, job(1).id).await,
        ["queued", "cancelled", "result"]
    );
    let again = store.cancel_job(&owner(), job(1).id, at(6)).await.unwrap();
    assert_eq!(again, CancelOutcome::AlreadyRequested(ended));
    assert_eq!(claim(&store, "a", LONG).await, None);
    assert_eq!(store.usage(&owner()).await.unwrap().all.jobs_queued, 0);
    let missing = store.cancel_job(&owner(), job(2).id, at(6)).await.unwrap();
    assert_eq!(missing, CancelOutcome::NotFound);
}

pub(super) async fn a_job_is_stored_running(backend: &dyn Backend) {
    let store = open(backend).await;
    let job = running_job(1);
    let lease = store
        .insert_running_job(&job, &worker("a"), LONG, None)
        .await
        .unwrap();
    assert_eq!(get(&store, job.id).await, job);
    assert_eq!(story(&store, job.id).await, ["queued", "running"]);
    assert_eq!(claim(&store, "b", LONG).await, None);
    // The same worker gets the same lease again, and another worker is refused.
    let again = store
        .insert_running_job(&job, &worker("a"), LONG, None)
        .await
        .unwrap();
    assert_eq!(again, lease);
    let other = store
        .insert_running_job(&job, &worker("b"), LONG, None)
        .await;
    assert!(matches!(other, Err(StoreError::Conflict(_))), "{other:?}");
    assert_eq!(story(&store, job.id).await, ["queued", "running"]);
    assert_eq!(
        store.finish_job(&lease, &success(1)).await.unwrap(),
        Fenced::Done
    );
    assert_eq!(
        story(&store, job.id).await,
        ["queued", "running", "succeeded", "result"]
    );
}

pub(super) async fn a_job_is_stored_ended(backend: &dyn Backend) {
    let store = open(backend).await;
    for _ in 0..2 {
        let stored = store
            .insert_ended_job(&ended_job(1), Some(&model(1)), Some(b"curve"), None)
            .await;
        stored.unwrap();
        assert_eq!(get(&store, job(1).id).await, ended_job(1));
        let expected = ["queued", "running", "succeeded", "result"];
        assert_eq!(story(&store, job(1).id).await, expected);
    }
    let times: Vec<_> = events(&store, job(1).id)
        .await
        .iter()
        .map(|event| event.at)
        .collect();
    assert_eq!(times, [at(1), at(1), at(2), at(2)]);
    assert_eq!(
        store.find(&owner(), model(1).summary.id).await.unwrap(),
        Some(model(1))
    );
    assert_eq!(
        store.trace(&owner(), job(1).id).await.unwrap().unwrap(),
        b"curve"
    );
    assert_eq!(claim(&store, "a", LONG).await, None);
    store
        .insert_ended_job(
            &Job {
                model: None,
                ..ended_job(2)
            },
            None,
            None,
            None,
        )
        .await
        .unwrap();
    assert_eq!(store.trace(&owner(), job(2).id).await.unwrap(), None);
}

pub(super) async fn job_is_stored_only_in_the_status_of_its_record(backend: &dyn Backend) {
    let store = open(backend).await;
    assert!(store.insert_job(&running_job(1), None).await.is_err());
    assert!(
        store
            .insert_running_job(&job(1), &worker("a"), LONG, None)
            .await
            .is_err()
    );
    assert!(
        store
            .insert_ended_job(&job(1), None, None, None)
            .await
            .is_err()
    );
    let unfinished = Job {
        finished_at: None,
        ..ended_job(1)
    };
    assert!(
        store
            .insert_ended_job(&unfinished, None, None, None)
            .await
            .is_err()
    );
    assert_eq!(store.find(&owner(), job(1).id).await.unwrap(), None);
    let lease = claimed(&store, LONG).await;
    for status in [Status::Queued, Status::Running] {
        assert!(
            store
                .finish_job(
                    &lease,
                    &JobEnd {
                        status,
                        ..success(1)
                    }
                )
                .await
                .is_err()
        );
    }
    // A failure needs an error, and no other end may have one.
    assert!(
        store
            .finish_job(
                &lease,
                &JobEnd {
                    error: None,
                    ..failure()
                }
            )
            .await
            .is_err()
    );
    let status = Status::Succeeded;
    assert!(
        store
            .finish_job(
                &lease,
                &JobEnd {
                    status,
                    ..failure()
                }
            )
            .await
            .is_err()
    );
    assert_eq!(story(&store, lease.job).await, ["queued", "running"]);
}
