//! Leases: only the holder may compute and change a job.

use super::*;

/// Tries everything that a worker can do under a lost lease, and asserts that nothing changes.
async fn assert_lost(store: &Store, lease: &Lease) {
    let before = get(store, lease.job).await;
    let kept = store.checkpoint(lease.job).await.unwrap();
    let saved = store.save_checkpoint(lease, b"stale").await.unwrap();
    assert_eq!(saved, Fenced::Lost);
    assert_eq!(store.checkpoint(lease.job).await.unwrap(), kept);
    let told = story(store, lease.job).await;
    let mut unknown = model(1);
    unknown.summary.id = model(77).summary.id;
    let end = JobEnd {
        model: Some(unknown.clone()),
        trace: Some(b"stale".into()),
        ..success(1)
    };
    assert_eq!(store.finish_job(lease, &end).await.unwrap(), Fenced::Lost);
    assert_eq!(
        store
            .requeue_job(lease, &Requeue::default(), at(200))
            .await
            .unwrap(),
        Fenced::Lost
    );
    let progress = Progress {
        examples: 99,
        ..Progress::default()
    };
    for progress in [None, Some(&progress)] {
        let beat = store
            .heartbeat(lease, &beating(progress), at(200))
            .await
            .unwrap();
        assert_eq!(beat, Heartbeat::Lost);
    }
    assert_eq!(get(store, lease.job).await, before);
    assert_eq!(story(store, lease.job).await, told);
    assert_eq!(
        store.find(&owner(), unknown.summary.id).await.unwrap(),
        None
    );
    assert_ne!(
        store.trace(&owner(), lease.job).await.unwrap().as_deref(),
        Some(&b"stale"[..])
    );
}

pub(super) async fn a_stale_lease_writes_nothing(backend: &dyn Backend) {
    let store = open(backend).await;
    let stale = claimed(&store, NONE).await;
    // Another worker, another attempt.
    let held = claim(&store, "b", NONE).await.unwrap().lease;
    assert_eq!((held.job, held.attempt), (stale.job, 2));
    assert_lost(&store, &stale).await;
    // The same worker, another attempt.
    let latest = claim(&store, "b", LONG).await.unwrap().lease;
    assert_eq!(latest.attempt, 3);
    assert_lost(&store, &held).await;
    // A lease needs the right worker, attempt and job.
    assert_lost(
        &store,
        &Lease {
            worker: worker("a"),
            ..latest.clone()
        },
    )
    .await;
    assert_lost(
        &store,
        &Lease {
            attempt: 2,
            ..latest.clone()
        },
    )
    .await;
    store.insert_job(&job(2), None).await.unwrap();
    assert_lost(
        &store,
        &Lease {
            job: job(2).id,
            ..latest.clone()
        },
    )
    .await;
    assert_eq!(
        store.finish_job(&latest, &success(1)).await.unwrap(),
        Fenced::Done
    );
}

pub(super) async fn ended_job_is_final(backend: &dyn Backend) {
    let store = open(backend).await;
    for (number, status) in [
        (1, Status::Succeeded),
        (2, Status::Failed),
        (3, Status::Cancelled),
    ] {
        store.insert_job(&job(number), None).await.unwrap();
        let lease = claim(&store, "a", NONE).await.unwrap().lease;
        let end = if status == Status::Failed {
            failure()
        } else {
            success(number)
        };
        let end = JobEnd { status, ..end };
        assert_eq!(store.finish_job(&lease, &end).await.unwrap(), Fenced::Done);
        assert_lost(&store, &lease).await;
        assert_eq!(claim(&store, "b", LONG).await, None);
        assert_eq!(
            store.release_all_leases(&RELEASE, at(300)).await.unwrap(),
            0
        );
        store.insert_job(&job(number), None).await.unwrap();
        assert_eq!(get(&store, lease.job).await.status, status);
    }
}

pub(super) async fn a_worker_that_gets_its_job_back_cannot_use_the_old_lease(
    backend: &dyn Backend,
) {
    let store = open(backend).await;
    let old = claimed(&store, LONG).await;
    assert_eq!(
        store
            .requeue_job(&old, &Requeue::default(), at(101))
            .await
            .unwrap(),
        Fenced::Done
    );
    let new = claim(&store, "a", LONG).await.unwrap().lease;
    // Worker and attempt are equal. Only the count of claims distinguishes the leases.
    assert_eq!((&new.worker, new.attempt), (&old.worker, old.attempt));
    assert_lost(&store, &old).await;
    assert_eq!(
        store.finish_job(&new, &success(1)).await.unwrap(),
        Fenced::Done
    );
}

pub(super) async fn a_heartbeat_keeps_the_lease_and_stores_progress(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&store, NONE).await;
    let progress = Progress {
        examples: 5,
        mistakes: 2,
        passes: 1,
        fraction: Some(0.25),
        ..Progress::default()
    };
    let held = Heartbeat::Held {
        cancel_requested: false,
    };
    let beat = store
        .heartbeat(&lease, &beating(Some(&progress)), at(101))
        .await
        .unwrap();
    assert_eq!(beat, held);
    // The heartbeat has renewed an expired lease.
    assert_eq!(claim(&store, "b", LONG).await, None);
    assert_eq!(get(&store, lease.job).await.progress, progress);
    assert_eq!(
        store
            .heartbeat(&lease, &beating(None), at(102))
            .await
            .unwrap(),
        held
    );
    assert_eq!(get(&store, lease.job).await.progress, progress);
    assert_eq!(
        story(&store, lease.job).await,
        ["queued", "running", "progress"]
    );
    let last = events(&store, lease.job).await.pop().unwrap();
    assert_eq!(
        (last.at, last.body),
        (at(101), serde_json::to_value(progress).unwrap())
    );
}

pub(super) async fn a_lease_that_ran_out_is_taken_and_costs_an_attempt(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&store, NONE).await;
    let taken = claim(&store, "b", LONG).await.unwrap();
    assert_eq!((taken.job.id, taken.job.attempt), (lease.job, 2));
    assert_eq!(claim(&store, "c", LONG).await, None);
    assert_eq!(
        story(&store, lease.job).await,
        ["queued", "running", "queued", "running"]
    );
    // The job keeps the time at which a worker first started it.
    let later = store
        .claim_job(&worker("c"), &terms(LONG), at(500))
        .await
        .unwrap();
    assert_eq!(later, None);
    assert_eq!(get(&store, lease.job).await.started_at, Some(at(100)));
}

/// The second death makes the job a suspect. Each further death is charged until the job is poisoned.
pub(super) async fn deaths_of_a_suspect_job_are_capped(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job(1), None).await.unwrap();
    for attempt in 1..=5 {
        let claim = claim(&store, "a", NONE).await.unwrap();
        assert_eq!(claim.lease.attempt, attempt);
        assert_eq!(claim.alone.is_some(), attempt > 2, "{attempt}");
    }
    let stale = Lease {
        job: job(1).id,
        worker: worker("a"),
        attempt: 5,
        claim: 5,
    };
    assert_eq!(claim(&store, "a", LONG).await, None);
    let ended = get(&store, job(1).id).await;
    assert_eq!((ended.status, ended.attempt), (Status::Failed, 5));
    assert_eq!(ended.error.unwrap().code, JobError::POISONED);
    assert_eq!(ended.finished_at, Some(at(100)));
    let told = story(&store, job(1).id).await;
    assert_eq!(told[told.len() - 2..], ["failed", "result"]);
    assert_lost(&store, &stale).await;
}

/// The heartbeat of a worker that computes the job or holds it parked.
fn computed(seconds: f64, is_parked: bool) -> Beat<'static> {
    Beat {
        lease_seconds: NONE,
        spent: Spent {
            seconds,
            ..Spent::default()
        },
        is_parked,
        ..Beat::default()
    }
}

pub(super) async fn suspect_job_that_progresses_is_not_charged(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job(1), None).await.unwrap();
    for death in 1..20 {
        let claimed = claim(&store, "a", NONE).await.unwrap();
        let beat = computed(f64::from(death) * 2.0, false);
        store
            .heartbeat(&claimed.lease, &beat, at(100))
            .await
            .unwrap();
    }
    // A job that has computed long enough is no suspect any more.
    let claimed = claim(&store, "a", LONG).await.unwrap();
    assert_eq!(claimed.alone.map(|alone| alone.death_seconds), Some(38.0));
    let acquitted = Beat {
        is_acquitted: true,
        ..computed(69.0, false)
    };
    let beat = store.heartbeat(&claimed.lease, &acquitted, at(100)).await;
    assert!(matches!(beat.unwrap(), Heartbeat::Held { .. }));
    assert_eq!(claim(&store, "a", LONG).await.unwrap().alone, None);
}

/// A worker that still prepares a job has no seconds to report.
pub(super) async fn heartbeat_before_the_computation_keeps_seconds_and_level(
    backend: &dyn Backend,
) {
    let store = open(backend).await;
    let lease = claimed(&store, LONG).await;
    let spent = Spent {
        seconds: 5_000.0,
        unpaid_seconds: 0.0,
        level: 12,
    };
    for spent in [spent, Spent::default()] {
        let beat = Beat {
            spent,
            ..beating(None)
        };
        store.heartbeat(&lease, &beat, at(101)).await.unwrap();
    }
    let kept = "SELECT COUNT(*) FROM jobs WHERE computed_seconds = 5000 AND level = 12";
    assert_eq!(backend.number(kept).await, 1);
}

pub(super) async fn parked_job_is_not_charged_for_the_death_of_its_process(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job(1), None).await.unwrap();
    for _ in 0..9 {
        let claimed = claim(&store, "a", NONE).await.unwrap();
        assert_eq!(claimed.alone, None);
        let beat = computed(1.0, true);
        store
            .heartbeat(&claimed.lease, &beat, at(100))
            .await
            .unwrap();
    }
    assert_eq!(get(&store, job(1).id).await.status, Status::Running);
}

pub(super) async fn a_job_pauses_after_a_death(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&store, NONE).await;
    let hours = ReleaseTerms {
        pause_seconds: 3_600.0,
        ..RELEASE
    };
    assert_eq!(store.release_expired(&hours, at(101)).await.unwrap(), 1);
    assert_eq!(claim(&store, "b", LONG).await, None);
    // The pause does not delay other jobs.
    store.insert_job(&job(2), None).await.unwrap();
    assert_eq!(claim(&store, "b", LONG).await.unwrap().job.id, job(2).id);
    assert_eq!(get(&store, lease.job).await.status, Status::Queued);
}

pub(super) async fn requeued_job_keeps_its_checkpoint_and_progress(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&store, LONG).await;
    let progress = Progress {
        examples: 7,
        ..Progress::default()
    };
    let requeue = Requeue {
        checkpoint: Some(b"state"),
        progress: Some(&progress),
        switch_seconds: Some(0.25),
        ..Requeue::default()
    };
    let requeued = store.requeue_job(&lease, &requeue, at(101)).await.unwrap();
    assert_eq!(requeued, Fenced::Done);
    let kept = store.checkpoint(lease.job).await.unwrap();
    assert_eq!(kept.as_deref(), Some(&b"state"[..]));
    let again = claim(&store, "b", LONG).await.unwrap();
    assert_eq!((again.job.progress, again.switch_seconds), (progress, 0.25));
    assert_eq!(again.lease.attempt, 1);
}

pub(super) async fn cancelled_job_of_a_vanished_worker_is_not_claimed_again(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&store, NONE).await;
    store
        .cancel_job(&owner(), lease.job, at(101))
        .await
        .unwrap();
    assert_eq!(claim(&store, "b", LONG).await, None);
    let ended = get(&store, lease.job).await;
    assert_eq!((ended.status, ended.attempt), (Status::Cancelled, 1));
    assert_eq!(
        story(&store, lease.job).await,
        ["queued", "running", "cancelled", "result"]
    );
    assert_lost(&store, &lease).await;
}

pub(super) async fn requeue_costs_no_attempt(backend: &dyn Backend) {
    let store = open(backend).await;
    let mut lease = claimed(&store, LONG).await;
    for _ in 0..5 {
        assert_eq!(
            store
                .requeue_job(&lease, &Requeue::default(), at(101))
                .await
                .unwrap(),
            Fenced::Done
        );
        let queued = get(&store, lease.job).await;
        assert_eq!((queued.status, queued.attempt), (Status::Queued, 0));
        assert_lost(&store, &lease).await;
        lease = claim(&store, "a", LONG).await.unwrap().lease;
        assert_eq!(lease.attempt, 1);
    }
    assert_eq!(store.usage(&owner()).await.unwrap().all.jobs_queued, 0);
}

pub(super) async fn requeue_of_a_cancelled_job_ends_it(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&store, LONG).await;
    store
        .cancel_job(&owner(), lease.job, at(101))
        .await
        .unwrap();
    assert_eq!(
        store
            .requeue_job(&lease, &Requeue::default(), at(102))
            .await
            .unwrap(),
        Fenced::Done
    );
    assert_eq!(get(&store, lease.job).await.status, Status::Cancelled);
    let expected = ["queued", "running", "queued", "cancelled", "result"];
    assert_eq!(story(&store, lease.job).await, expected);
    assert_eq!(claim(&store, "b", LONG).await, None);
}

pub(super) async fn release_of_all_leases_costs_an_attempt(backend: &dyn Backend) {
    let store = open(backend).await;
    for number in 1..=3 {
        store.insert_job(&job(number), None).await.unwrap();
    }
    let first = claim(&store, "a", LONG).await.unwrap().lease;
    let second = claim(&store, "a", LONG).await.unwrap().lease;
    store
        .cancel_job(&owner(), second.job, at(101))
        .await
        .unwrap();
    assert_eq!(
        store.release_all_leases(&RELEASE, at(102)).await.unwrap(),
        2
    );
    let released = get(&store, first.job).await;
    assert_eq!((released.status, released.attempt), (Status::Queued, 1));
    assert_eq!(get(&store, second.job).await.status, Status::Cancelled);
    assert_lost(&store, &first).await;
    assert_lost(&store, &second).await;
    assert_eq!(
        story(&store, first.job).await,
        ["queued", "running", "queued"]
    );
    assert_eq!(
        store.release_all_leases(&RELEASE, at(103)).await.unwrap(),
        0
    );
    let again = claim(&store, "b", LONG).await.unwrap();
    assert_eq!((again.job.id, again.lease.attempt), (first.job, 2));
}

pub(super) async fn claims_go_by_priority_then_level_then_age(backend: &dyn Backend) {
    let store = open(backend).await;
    for (number, priority, seconds) in [
        (4, 0, 9.0),
        (3, 0, 9.0),
        (1, 0, 100.0),
        (2, -1, 0.0),
        (6, 9, 50.0),
        (5, 9, 60.0),
    ] {
        let queued = Job {
            priority,
            demand: Demand {
                seconds,
                memory_bytes: 0,
            },
            ..job(number)
        };
        store.insert_job(&queued, None).await.unwrap();
    }
    for expected in [5, 6, 3, 4, 1, 2] {
        assert_eq!(
            claim(&store, "a", LONG).await.unwrap().job.id,
            job(expected).id
        );
    }
    assert_eq!(claim(&store, "a", LONG).await, None);
}

pub(super) async fn no_job_is_claimed_twice(backend: &dyn Backend) {
    const JOBS: i64 = 200;
    const WORKERS: usize = 16;
    let stores = [open(backend).await, open(backend).await];
    for number in 0..JOBS {
        stores[0].insert_job(&job(number), None).await.unwrap();
    }
    let claim_until_none = |index: usize| {
        let store = stores[index % 2].clone();
        tokio::spawn(async move {
            let mut taken = Vec::new();
            while let Some(claim) = claim(&store, &format!("worker {index}"), LONG).await {
                taken.push(claim.job.id);
            }
            taken
        })
    };
    let mut taken = Vec::new();
    for worker in (0..WORKERS).map(claim_until_none).collect::<Vec<_>>() {
        taken.extend(worker.await.unwrap());
    }
    assert_eq!(taken.len(), JOBS as usize);
    assert_eq!(taken.iter().collect::<HashSet<_>>().len(), JOBS as usize);
    for &id in taken.iter().step_by(50) {
        assert_eq!(story(&stores[1], id).await, ["queued", "running"]);
    }
}
