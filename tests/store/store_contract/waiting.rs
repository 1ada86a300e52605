//! The queue as clients see it: the load of each owner, and the state of a waiting job.

use halfspace::records::Role;
use halfspace::records::queue::{JobCounts, QueueLoad};
use halfspace::records::schedule::Weight;
use halfspace::records::{ApiKey, SecretDigest};

use super::api_keys::key;
use super::processes::report;
use super::*;

fn job_of(owner: &Owner, number: i64) -> Job {
    Job {
        owner: owner.clone(),
        ..job(number)
    }
}

fn counts(queued: u64, running: u64, parked: u64) -> JobCounts {
    JobCounts {
        queued,
        running,
        parked,
    }
}

pub(super) async fn the_load_of_the_queue_is_counted_by_owner(backend: &dyn Backend) {
    let store = open(backend).await;
    let load = async |owner: &Owner, max| store.queue_load(owner, max).await.unwrap();
    assert_eq!(load(&owner(), 10).await, QueueLoad::default());
    let heavy = ApiKey {
        weight: Weight::try_from(4.0).unwrap(),
        ..key(1)
    };
    let digest = SecretDigest::of("heavy");
    store.insert_api_key(&heavy, &digest, false).await.unwrap();
    let (heavy, busy, idle) = (
        Owner::from(heavy.id),
        Owner::new("busy"),
        Owner::new("idle"),
    );
    for number in 1..=2 {
        store
            .insert_job(&job_of(&heavy, number), None)
            .await
            .unwrap();
    }
    let parked = claim(&store, "w", LONG).await.unwrap();
    claim(&store, "w", LONG).await.unwrap();
    let beat = Beat {
        is_parked: true,
        ..beating(None)
    };
    store
        .heartbeat(&parked.lease, &beat, at(101))
        .await
        .unwrap();
    for number in 3..=6 {
        store
            .insert_job(&job_of(&busy, number), None)
            .await
            .unwrap();
    }
    store
        .insert_ended_job(
            &Job {
                owner: idle.clone(),
                ..ended_job(7)
            },
            None,
            None,
            None,
        )
        .await
        .unwrap();
    let all = load(&idle, 10).await;
    assert_eq!((all.all, all.oldest), (counts(4, 1, 1), Some(job(3).id)));
    let owners: Vec<_> = all
        .owners
        .iter()
        .map(|load| (&load.owner, load.jobs))
        .collect();
    assert_eq!(
        owners,
        [(&busy, counts(4, 0, 0)), (&heavy, counts(0, 1, 1))]
    );
    assert_eq!((all.owners[0].weight, all.owners[1].weight), (1.0, 4.0));
    let line = store.line(&heavy, u64::MAX).await.unwrap();
    assert_eq!(all.owners[1].virtual_seconds, line.virtual_seconds);
    assert_ne!(line.virtual_seconds, 0.0);
    // The limit keeps the asking owner, and the sums count the others too.
    let limited = load(&heavy, 1).await;
    assert_eq!(limited.owners, [all.owners[1].clone()]);
    assert_eq!((limited.all, limited.oldest), (all.all, all.oldest));
    assert_eq!(load(&idle, 1).await.owners, [all.owners[0].clone()]);
}

/// The parts of a job count in the queue, and the job counts once its parts have ended.
pub(super) async fn a_job_with_parts_waits_like_its_first_part(backend: &dyn Backend) {
    let store = open(backend).await;
    let subjobs = super::subjobs::stored(&store, 2).await;
    let parent = job(1).id;
    let load = store.queue_load(&owner(), 10).await.unwrap();
    assert_eq!(
        (load.all, load.oldest),
        (counts(2, 0, 0), Some(subjobs[0].id))
    );
    let waiting = async || Some(store.waiting(parent).await.unwrap()?.id);
    assert_eq!(waiting().await, Some(subjobs[0].id));
    for next in [Some(subjobs[1].id), None] {
        claim(&store, "a", LONG).await.unwrap();
        assert_eq!(waiting().await, next);
    }
}

pub(super) async fn a_waiting_job_names_its_pause(backend: &dyn Backend) {
    let store = open(backend).await;
    report(&store, "clock", Role::Api, 5).await;
    let lease = claimed(&store, LONG).await;
    let waiting = async || store.waiting(lease.job).await.unwrap();
    assert_eq!(waiting().await, None);
    let pause = Requeue {
        pause_seconds: 3_600.0,
        ..Requeue::default()
    };
    store.requeue_job(&lease, &pause, at(101)).await.unwrap();
    let paused = waiting().await.unwrap();
    assert_eq!((paused.id, paused.spec_schema), (lease.job, 1));
    assert_eq!(
        store.first_claimable(&owner(), u64::MAX).await.unwrap(),
        None
    );
    let now = store.processes().await.unwrap()[0].seen_at;
    let pause_ms = paused.not_before.unwrap().milliseconds() - now.milliseconds();
    assert!((3_590_000..=3_660_000).contains(&pause_ms), "{pause_ms}");
    // The pause ends without a write.
    backend
        .number("UPDATE jobs SET not_before = not_before - 3700 RETURNING claims")
        .await;
    assert_eq!(waiting().await.unwrap().not_before, None);
    let first = store.first_claimable(&owner(), u64::MAX).await.unwrap();
    assert_eq!(first, Some(lease.job));
    assert!(!store.is_too_full_for_claims().await.unwrap());
}
