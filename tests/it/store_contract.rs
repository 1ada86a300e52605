//! What every store must do, as one suite that runs over each backend.
//!
//! A case knows only [`Backend`] and `dyn Store`. A backend joins with one implementation of
//! [`Backend`] and one line at the end of this file.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use halfspace::records::id::JobKind;
use halfspace::records::{
    Event, EventKind, Job, JobError, JobId, Model, ModelId, ModelSummary, Owner, Page, Progress,
    Status, Timestamp,
};
use halfspace::storage::{
    CancelOutcome, Claim, ClaimTerms, DeleteOutcome, Fenced, Heartbeat, JobEnd, JobFilter, Lease,
    ModelFilter, SqliteStore, Store, StoreError, Swept, WorkerId,
};
use serde_json::{Value, json};

/// One database, made for one case and gone after it.
#[async_trait]
trait Backend: Send + Sync {
    /// Connects to the database, as a process does when it starts.
    async fn open(&self) -> Result<Arc<dyn Store>, StoreError>;
    /// Makes the database look as if a program with schema `version` had written it.
    async fn pretend_schema(&self, version: i64);
}

// What the cases are written in.

/// Long enough that no lease runs out during a case.
const LONG: u32 = 3_600;
/// Run out as soon as it is given, so that no case has to wait.
const NONE: u32 = 0;

fn at(second: i64) -> Timestamp {
    Timestamp::from_milliseconds(1_700_000_000_000 + second * 1_000)
}

fn terms(lease_seconds: u32) -> ClaimTerms {
    ClaimTerms {
        lease_seconds,
        attempts_max: 3,
    }
}

fn worker(name: &str) -> WorkerId {
    WorkerId::new(name)
}

fn owner() -> Owner {
    Owner::anonymous()
}

/// The job number `number`, queued, made at second `number`.
fn job(number: i64) -> Job {
    let mut random = [0x11; 10];
    random[..8].copy_from_slice(&number.to_be_bytes());
    Job {
        id: JobId::new(at(number), random),
        owner: owner(),
        task: "train".into(),
        learner: Some("perceptron".into()),
        name: Some(format!("number {number}")),
        status: Status::Queued,
        spec: json!({"train": {"learner": {"name": "perceptron", "params": {}}}}),
        data_key: Some(format!("jobs/{number:06}/0/data")),
        data_sha256: Some("ab".repeat(32)),
        seed: (1 << 53) - 1,
        attempt: 0,
        created_at: at(number),
        started_at: None,
        finished_at: None,
        progress: Progress::default(),
        result: None,
        error: None,
        model: None,
        cancel_requested: false,
        priority: 0,
    }
}

fn running_job(number: i64) -> Job {
    Job {
        status: Status::Running,
        attempt: 1,
        started_at: Some(at(number)),
        ..job(number)
    }
}

fn ended_job(number: i64) -> Job {
    Job {
        status: Status::Succeeded,
        finished_at: Some(at(number + 1)),
        result: Some(json!({"mistakes": 3})),
        model: Some(model(number).id),
        ..running_job(number)
    }
}

fn model(number: i64) -> Model {
    let mut random = [0x22; 10];
    random[..8].copy_from_slice(&number.to_be_bytes());
    Model {
        id: ModelId::new(at(number), random),
        owner: owner(),
        job: Some(job(number).id),
        name: None,
        learner: "perceptron".into(),
        kind: "linear".into(),
        n: 3,
        document: json!({"hypothesis": {"kind": "linear", "weights": [1, -2, 3], "bias": 0}}),
        created_at: at(number),
    }
}

/// An end with everything that a job can leave.
fn success(number: i64) -> JobEnd {
    JobEnd {
        status: Status::Succeeded,
        result: Some(json!({"mistakes": 3})),
        error: None,
        finished_at: at(number + 1),
        progress: Progress {
            examples: 10,
            mistakes: 3,
            passes: 2,
            fraction: Some(1.0),
        },
        model: Some(model(number)),
        trace: Some(vec![0, 1, 255]),
    }
}

fn failure() -> JobEnd {
    JobEnd {
        status: Status::Failed,
        result: None,
        error: Some(JobError {
            code: "solver".into(),
            detail: "it did not converge".into(),
        }),
        model: None,
        trace: None,
        ..success(0)
    }
}

async fn open(backend: &dyn Backend) -> Arc<dyn Store> {
    backend.open().await.unwrap()
}

async fn get(store: &dyn Store, id: JobId) -> Job {
    store.job(&owner(), id).await.unwrap().unwrap()
}

async fn claim(store: &dyn Store, name: &str, lease_seconds: u32) -> Option<Claim> {
    store
        .claim_job(&worker(name), &terms(lease_seconds), at(100))
        .await
        .unwrap()
}

/// Stores job 1 and has worker `a` claim it.
async fn claimed(store: &dyn Store, lease_seconds: u32) -> Lease {
    store.insert_job(&job(1)).await.unwrap();
    claim(store, "a", lease_seconds).await.unwrap().lease
}

/// All events of a job, after checking what holds for every job: numbers from 1 without gaps; a job that has
/// ended has its final status and its result last and once, and no other has them.
async fn events(store: &dyn Store, id: JobId) -> Vec<Event> {
    let events = store.events(None, id, 0, 1_000).await.unwrap();
    let numbers: Vec<i64> = events.iter().map(|event| event.sequence).collect();
    assert_eq!(numbers, (1..=events.len() as i64).collect::<Vec<_>>());
    let status = get(store, id).await.status;
    let final_places = |events: &[Event]| -> Vec<usize> {
        let is_final = |event: &Event| match event.kind {
            EventKind::Progress => false,
            EventKind::Result => true,
            EventKind::Status => event.body["status"]
                .as_str()
                .unwrap()
                .parse::<Status>()
                .unwrap()
                .is_ended(),
        };
        (0..events.len())
            .filter(|&place| is_final(&events[place]))
            .collect()
    };
    let expected = if status.is_ended() {
        vec![events.len() - 2, events.len() - 1]
    } else {
        vec![]
    };
    assert_eq!(final_places(&events), expected);
    events
}

/// The events of a job in short: a status by its name, others by their kind.
async fn story(store: &dyn Store, id: JobId) -> Vec<String> {
    let told = |event: Event| match event.kind {
        EventKind::Status => event.body["status"].as_str().unwrap().to_owned(),
        kind => kind.as_str().to_owned(),
    };
    events(store, id).await.into_iter().map(told).collect()
}

// Status paths.

async fn a_queued_job_is_stored_whole(backend: &dyn Backend) {
    let store = open(backend).await;
    let job = Job {
        priority: -7,
        ..job(1)
    };
    store.insert_job(&job).await.unwrap();
    assert_eq!(get(&*store, job.id).await, job);
    assert_eq!(story(&*store, job.id).await, ["queued"]);
    assert_eq!(store.queued_count().await.unwrap(), 1);
    // Once more is not twice, and does not overwrite.
    store
        .insert_job(&Job {
            name: None,
            ..job.clone()
        })
        .await
        .unwrap();
    assert_eq!(get(&*store, job.id).await, job);
    assert_eq!(story(&*store, job.id).await, ["queued"]);
    assert_eq!(store.job(&owner(), self::job(2).id).await.unwrap(), None);
}

async fn a_job_succeeds_with_model_and_trace(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job(1)).await.unwrap();
    let Claim {
        job: running,
        lease,
    } = claim(&*store, "a", LONG).await.unwrap();
    let expected = Job {
        status: Status::Running,
        attempt: 1,
        started_at: Some(at(100)),
        ..job(1)
    };
    assert_eq!(running, expected);
    assert_eq!((lease.job, lease.attempt), (job(1).id, 1));
    assert_eq!(get(&*store, running.id).await, running);
    assert_eq!(store.queued_count().await.unwrap(), 0);

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
        model: Some(model(1).id),
        ..expected
    };
    assert_eq!(get(&*store, expected.id).await, expected);
    assert_eq!(
        store.model(&owner(), model(1).id).await.unwrap(),
        Some(model(1))
    );
    assert_eq!(store.trace(&owner(), expected.id).await.unwrap(), trace);
    assert_eq!(
        story(&*store, expected.id).await,
        ["queued", "running", "succeeded", "result"]
    );
    let last = events(&*store, expected.id).await.pop().unwrap();
    assert_eq!(
        last.body,
        json!({"status": "succeeded", "result": result, "error": null})
    );
    assert_eq!((last.at, last.job), (finished_at, expected.id));
    assert_eq!(claim(&*store, "b", LONG).await, None);
}

async fn a_job_fails_with_its_error(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&*store, LONG).await;
    assert_eq!(
        store.finish_job(&lease, &failure()).await.unwrap(),
        Fenced::Done
    );
    let ended = get(&*store, lease.job).await;
    assert_eq!((ended.status, ended.result), (Status::Failed, None));
    assert_eq!(ended.error, failure().error);
    assert_eq!(
        story(&*store, lease.job).await,
        ["queued", "running", "failed", "result"]
    );
    let last = events(&*store, lease.job).await.pop().unwrap();
    assert_eq!(last.body["error"]["code"], "solver");
    assert_eq!(store.trace(&owner(), lease.job).await.unwrap(), None);
}

async fn a_running_job_is_cancelled_by_its_worker(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&*store, LONG).await;
    let beat = |cancel_requested| Heartbeat::Held { cancel_requested };
    assert_eq!(
        store.heartbeat(&lease, LONG, None, at(101)).await.unwrap(),
        beat(false)
    );
    let outcome = store
        .cancel_job(&owner(), lease.job, at(102))
        .await
        .unwrap();
    assert_eq!(
        outcome,
        CancelOutcome::Requested(get(&*store, lease.job).await)
    );
    assert_eq!(
        store.heartbeat(&lease, LONG, None, at(103)).await.unwrap(),
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
    let ended = get(&*store, lease.job).await;
    assert_eq!(
        (ended.status, ended.model),
        (Status::Cancelled, Some(model(1).id))
    );
    let again = store
        .cancel_job(&owner(), lease.job, at(105))
        .await
        .unwrap();
    assert_eq!(again, CancelOutcome::AlreadyRequested(ended));
    assert_eq!(
        story(&*store, lease.job).await,
        ["queued", "running", "cancelled", "result"]
    );
}

async fn a_job_may_succeed_after_its_cancel(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&*store, LONG).await;
    store
        .cancel_job(&owner(), lease.job, at(102))
        .await
        .unwrap();
    assert_eq!(
        store.finish_job(&lease, &success(1)).await.unwrap(),
        Fenced::Done
    );
    let ended = get(&*store, lease.job).await;
    assert_eq!(ended.status, Status::Succeeded);
    let again = store
        .cancel_job(&owner(), lease.job, at(105))
        .await
        .unwrap();
    assert_eq!(again, CancelOutcome::Ended(ended));
}

async fn a_queued_job_is_cancelled_at_once(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job(1)).await.unwrap();
    let stranger = store
        .cancel_job(&Owner::new("other"), job(1).id, at(5))
        .await
        .unwrap();
    assert_eq!(stranger, CancelOutcome::NotFound);
    let outcome = store.cancel_job(&owner(), job(1).id, at(5)).await.unwrap();
    let ended = get(&*store, job(1).id).await;
    assert_eq!(outcome, CancelOutcome::Cancelled(ended.clone()));
    assert_eq!(
        (ended.status, ended.result.as_ref()),
        (Status::Cancelled, None)
    );
    assert_eq!((ended.finished_at, ended.started_at), (Some(at(5)), None));
    assert_eq!(
        story(&*store, job(1).id).await,
        ["queued", "cancelled", "result"]
    );
    let again = store.cancel_job(&owner(), job(1).id, at(6)).await.unwrap();
    assert_eq!(again, CancelOutcome::AlreadyRequested(ended));
    assert_eq!(claim(&*store, "a", LONG).await, None);
    assert_eq!(store.queued_count().await.unwrap(), 0);
    let missing = store.cancel_job(&owner(), job(2).id, at(6)).await.unwrap();
    assert_eq!(missing, CancelOutcome::NotFound);
}

async fn a_job_is_stored_running(backend: &dyn Backend) {
    let store = open(backend).await;
    let job = running_job(1);
    let lease = store
        .insert_running_job(&job, &worker("a"), LONG)
        .await
        .unwrap();
    assert_eq!(get(&*store, job.id).await, job);
    assert_eq!(story(&*store, job.id).await, ["queued", "running"]);
    assert_eq!(claim(&*store, "b", LONG).await, None);
    // Asked again by the same worker it is the same lease; anybody else is refused.
    let again = store
        .insert_running_job(&job, &worker("a"), LONG)
        .await
        .unwrap();
    assert_eq!(again, lease);
    let other = store.insert_running_job(&job, &worker("b"), LONG).await;
    assert!(matches!(other, Err(StoreError::Conflict(_))), "{other:?}");
    assert_eq!(story(&*store, job.id).await, ["queued", "running"]);
    assert_eq!(
        store.finish_job(&lease, &success(1)).await.unwrap(),
        Fenced::Done
    );
    assert_eq!(
        story(&*store, job.id).await,
        ["queued", "running", "succeeded", "result"]
    );
}

async fn a_job_is_stored_ended(backend: &dyn Backend) {
    let store = open(backend).await;
    for _ in 0..2 {
        let stored = store
            .insert_ended_job(&ended_job(1), Some(&model(1)), Some(b"curve"))
            .await;
        stored.unwrap();
        assert_eq!(get(&*store, job(1).id).await, ended_job(1));
        let expected = ["queued", "running", "succeeded", "result"];
        assert_eq!(story(&*store, job(1).id).await, expected);
    }
    let times: Vec<_> = events(&*store, job(1).id)
        .await
        .iter()
        .map(|event| event.at)
        .collect();
    assert_eq!(times, [at(1), at(1), at(2), at(2)]);
    assert_eq!(
        store.model(&owner(), model(1).id).await.unwrap(),
        Some(model(1))
    );
    assert_eq!(
        store.trace(&owner(), job(1).id).await.unwrap().unwrap(),
        b"curve"
    );
    assert_eq!(claim(&*store, "a", LONG).await, None);
    store
        .insert_ended_job(
            &Job {
                model: None,
                ..ended_job(2)
            },
            None,
            None,
        )
        .await
        .unwrap();
    assert_eq!(store.trace(&owner(), job(2).id).await.unwrap(), None);
}

async fn a_job_is_stored_only_as_what_it_is(backend: &dyn Backend) {
    let store = open(backend).await;
    assert!(store.insert_job(&running_job(1)).await.is_err());
    assert!(
        store
            .insert_running_job(&job(1), &worker("a"), LONG)
            .await
            .is_err()
    );
    assert!(store.insert_ended_job(&job(1), None, None).await.is_err());
    let unfinished = Job {
        finished_at: None,
        ..ended_job(1)
    };
    assert!(
        store
            .insert_ended_job(&unfinished, None, None)
            .await
            .is_err()
    );
    assert_eq!(store.job(&owner(), job(1).id).await.unwrap(), None);
    let lease = claimed(&*store, LONG).await;
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
    // A failure says why, and nothing else has an error.
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
    assert_eq!(story(&*store, lease.job).await, ["queued", "running"]);
}

// Leases.

/// Does everything that a worker can do under a lease that is not its own any more, and checks that nothing changes.
async fn assert_lost(store: &dyn Store, lease: &Lease) {
    let before = get(store, lease.job).await;
    let told = story(store, lease.job).await;
    let unknown = Model {
        id: model(77).id,
        ..model(1)
    };
    let end = JobEnd {
        model: Some(unknown.clone()),
        trace: Some(b"stale".into()),
        ..success(1)
    };
    assert_eq!(store.finish_job(lease, &end).await.unwrap(), Fenced::Lost);
    assert_eq!(
        store.requeue_job(lease, at(200)).await.unwrap(),
        Fenced::Lost
    );
    let progress = Progress {
        examples: 99,
        ..Progress::default()
    };
    for progress in [None, Some(&progress)] {
        let beat = store
            .heartbeat(lease, LONG, progress, at(200))
            .await
            .unwrap();
        assert_eq!(beat, Heartbeat::Lost);
    }
    assert_eq!(get(store, lease.job).await, before);
    assert_eq!(story(store, lease.job).await, told);
    assert_eq!(store.model(&owner(), unknown.id).await.unwrap(), None);
    assert_ne!(
        store.trace(&owner(), lease.job).await.unwrap().as_deref(),
        Some(&b"stale"[..])
    );
}

async fn a_stale_lease_writes_nothing(backend: &dyn Backend) {
    let store = open(backend).await;
    let stale = claimed(&*store, NONE).await;
    // Another worker, another attempt.
    let held = claim(&*store, "b", NONE).await.unwrap().lease;
    assert_eq!((held.job, held.attempt), (stale.job, 2));
    assert_lost(&*store, &stale).await;
    // The same worker, another attempt.
    let latest = claim(&*store, "b", LONG).await.unwrap().lease;
    assert_eq!(latest.attempt, 3);
    assert_lost(&*store, &held).await;
    // Neither half of a right lease suffices, nor a right lease of another job.
    assert_lost(
        &*store,
        &Lease {
            worker: worker("a"),
            ..latest.clone()
        },
    )
    .await;
    assert_lost(
        &*store,
        &Lease {
            attempt: 2,
            ..latest.clone()
        },
    )
    .await;
    store.insert_job(&job(2)).await.unwrap();
    assert_lost(
        &*store,
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

async fn ended_is_final(backend: &dyn Backend) {
    let store = open(backend).await;
    for (number, status) in [
        (1, Status::Succeeded),
        (2, Status::Failed),
        (3, Status::Cancelled),
    ] {
        store.insert_job(&job(number)).await.unwrap();
        let lease = claim(&*store, "a", NONE).await.unwrap().lease;
        let end = if status == Status::Failed {
            failure()
        } else {
            success(number)
        };
        let end = JobEnd { status, ..end };
        assert_eq!(store.finish_job(&lease, &end).await.unwrap(), Fenced::Done);
        assert_lost(&*store, &lease).await;
        assert_eq!(claim(&*store, "b", LONG).await, None);
        assert_eq!(store.release_all_leases(at(300)).await.unwrap(), 0);
        store.insert_job(&job(number)).await.unwrap();
        assert_eq!(get(&*store, lease.job).await.status, status);
    }
}

async fn a_worker_that_gets_its_job_back_cannot_use_the_old_lease(backend: &dyn Backend) {
    let store = open(backend).await;
    let old = claimed(&*store, LONG).await;
    assert_eq!(
        store.requeue_job(&old, at(101)).await.unwrap(),
        Fenced::Done
    );
    let new = claim(&*store, "a", LONG).await.unwrap().lease;
    // Worker and attempt are the same: only the count of claims tells the leases apart.
    assert_eq!((&new.worker, new.attempt), (&old.worker, old.attempt));
    assert_lost(&*store, &old).await;
    assert_eq!(
        store.finish_job(&new, &success(1)).await.unwrap(),
        Fenced::Done
    );
}

async fn a_heartbeat_keeps_the_lease_and_stores_progress(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&*store, NONE).await;
    let progress = Progress {
        examples: 5,
        mistakes: 2,
        passes: 1,
        fraction: Some(0.25),
    };
    let held = Heartbeat::Held {
        cancel_requested: false,
    };
    let beat = store
        .heartbeat(&lease, LONG, Some(&progress), at(101))
        .await
        .unwrap();
    assert_eq!(beat, held);
    // It had run out, and now holds again.
    assert_eq!(claim(&*store, "b", LONG).await, None);
    assert_eq!(get(&*store, lease.job).await.progress, progress);
    assert_eq!(
        store.heartbeat(&lease, LONG, None, at(102)).await.unwrap(),
        held
    );
    assert_eq!(get(&*store, lease.job).await.progress, progress);
    assert_eq!(
        story(&*store, lease.job).await,
        ["queued", "running", "progress"]
    );
    let last = events(&*store, lease.job).await.pop().unwrap();
    assert_eq!(
        (last.at, last.body),
        (at(101), serde_json::to_value(progress).unwrap())
    );
}

async fn a_lease_that_ran_out_is_taken_and_costs_an_attempt(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&*store, NONE).await;
    let taken = claim(&*store, "b", LONG).await.unwrap();
    assert_eq!((taken.job.id, taken.job.attempt), (lease.job, 2));
    assert_eq!(claim(&*store, "c", LONG).await, None);
    assert_eq!(
        story(&*store, lease.job).await,
        ["queued", "running", "running"]
    );
    // It says when work on it first began.
    let later = store
        .claim_job(&worker("c"), &terms(LONG), at(500))
        .await
        .unwrap();
    assert_eq!(later, None);
    assert_eq!(get(&*store, lease.job).await.started_at, Some(at(100)));
}

async fn attempts_are_capped(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job(1)).await.unwrap();
    for attempt in 1..=3 {
        assert_eq!(
            claim(&*store, "a", NONE).await.unwrap().lease.attempt,
            attempt
        );
    }
    let stale = Lease {
        job: job(1).id,
        worker: worker("a"),
        attempt: 3,
        claim: 3,
    };
    store.insert_job(&job(2)).await.unwrap();
    // Fresh work goes first; then the poisoned job is ended on the way to nothing.
    assert_eq!(claim(&*store, "a", LONG).await.unwrap().job.id, job(2).id);
    assert_eq!(claim(&*store, "a", LONG).await, None);
    let ended = get(&*store, job(1).id).await;
    assert_eq!((ended.status, ended.attempt), (Status::Failed, 3));
    assert_eq!(ended.error.unwrap().code, JobError::POISONED);
    assert_eq!(ended.finished_at, Some(at(100)));
    let expected = [
        "queued", "running", "running", "running", "failed", "result",
    ];
    assert_eq!(story(&*store, job(1).id).await, expected);
    assert_lost(&*store, &stale).await;
}

async fn a_poisoned_job_is_passed_over(backend: &dyn Backend) {
    let store = open(backend).await;
    store
        .insert_job(&Job {
            priority: 1,
            ..job(1)
        })
        .await
        .unwrap();
    for _ in 0..3 {
        claim(&*store, "a", NONE).await.unwrap();
    }
    store.insert_job(&job(2)).await.unwrap();
    // By priority the poisoned job comes first, and the same claim goes on to the next.
    assert_eq!(claim(&*store, "a", LONG).await.unwrap().job.id, job(2).id);
    assert_eq!(get(&*store, job(1).id).await.status, Status::Failed);
}

async fn a_cancelled_job_whose_worker_vanished_is_not_begun_again(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&*store, NONE).await;
    store
        .cancel_job(&owner(), lease.job, at(101))
        .await
        .unwrap();
    assert_eq!(claim(&*store, "b", LONG).await, None);
    let ended = get(&*store, lease.job).await;
    assert_eq!((ended.status, ended.attempt), (Status::Cancelled, 1));
    assert_eq!(
        story(&*store, lease.job).await,
        ["queued", "running", "cancelled", "result"]
    );
    assert_lost(&*store, &lease).await;
}

async fn requeue_does_not_charge(backend: &dyn Backend) {
    let store = open(backend).await;
    let mut lease = claimed(&*store, LONG).await;
    for _ in 0..5 {
        assert_eq!(
            store.requeue_job(&lease, at(101)).await.unwrap(),
            Fenced::Done
        );
        let queued = get(&*store, lease.job).await;
        assert_eq!((queued.status, queued.attempt), (Status::Queued, 0));
        assert_lost(&*store, &lease).await;
        lease = claim(&*store, "a", LONG).await.unwrap().lease;
        assert_eq!(lease.attempt, 1);
    }
    assert_eq!(store.queued_count().await.unwrap(), 0);
}

async fn a_job_to_be_cancelled_is_not_queued_again(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&*store, LONG).await;
    store
        .cancel_job(&owner(), lease.job, at(101))
        .await
        .unwrap();
    assert_eq!(
        store.requeue_job(&lease, at(102)).await.unwrap(),
        Fenced::Done
    );
    assert_eq!(get(&*store, lease.job).await.status, Status::Cancelled);
    let expected = ["queued", "running", "queued", "cancelled", "result"];
    assert_eq!(story(&*store, lease.job).await, expected);
    assert_eq!(claim(&*store, "b", LONG).await, None);
}

async fn releasing_all_leases_charges(backend: &dyn Backend) {
    let store = open(backend).await;
    for number in 1..=3 {
        store.insert_job(&job(number)).await.unwrap();
    }
    let first = claim(&*store, "a", LONG).await.unwrap().lease;
    let second = claim(&*store, "a", LONG).await.unwrap().lease;
    store
        .cancel_job(&owner(), second.job, at(101))
        .await
        .unwrap();
    assert_eq!(store.release_all_leases(at(102)).await.unwrap(), 2);
    let released = get(&*store, first.job).await;
    assert_eq!((released.status, released.attempt), (Status::Queued, 1));
    assert_eq!(get(&*store, second.job).await.status, Status::Cancelled);
    assert_lost(&*store, &first).await;
    assert_lost(&*store, &second).await;
    assert_eq!(
        story(&*store, first.job).await,
        ["queued", "running", "queued"]
    );
    assert_eq!(store.release_all_leases(at(103)).await.unwrap(), 0);
    // What was never begun goes first.
    assert_eq!(claim(&*store, "b", LONG).await.unwrap().job.id, job(3).id);
    let again = claim(&*store, "b", LONG).await.unwrap();
    assert_eq!((again.job.id, again.lease.attempt), (first.job, 2));
}

async fn claims_go_by_priority_then_attempts_then_age(backend: &dyn Backend) {
    let store = open(backend).await;
    // Job 1 was begun before.
    claimed(&*store, LONG).await;
    store.release_all_leases(at(101)).await.unwrap();
    for (number, priority) in [(4, 0), (3, 0), (2, -1), (5, 9), (6, 9)] {
        store
            .insert_job(&Job {
                priority,
                ..job(number)
            })
            .await
            .unwrap();
    }
    for expected in [5, 6, 3, 4, 1, 2] {
        assert_eq!(
            claim(&*store, "a", LONG).await.unwrap().job.id,
            job(expected).id
        );
    }
    assert_eq!(claim(&*store, "a", LONG).await, None);
}

async fn no_job_is_claimed_twice(backend: &dyn Backend) {
    const JOBS: i64 = 200;
    const WORKERS: usize = 16;
    let stores = [open(backend).await, open(backend).await];
    for number in 0..JOBS {
        stores[0].insert_job(&job(number)).await.unwrap();
    }
    let claim_until_none = |index: usize| {
        let store = stores[index % 2].clone();
        tokio::spawn(async move {
            let mut taken = Vec::new();
            while let Some(claim) = claim(&*store, &format!("worker {index}"), LONG).await {
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
        assert_eq!(story(&*stores[1], id).await, ["queued", "running"]);
    }
}

// Reading, deleting, sweeping.

async fn events_are_read_from_a_number_on(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&*store, LONG).await;
    for second in 0..5 {
        let progress = Progress {
            examples: second as u64,
            ..Progress::default()
        };
        store
            .heartbeat(&lease, LONG, Some(&progress), at(second))
            .await
            .unwrap();
    }
    store.finish_job(&lease, &success(1)).await.unwrap();
    let all = events(&*store, lease.job).await;
    assert_eq!(all.len(), 9);
    for after in 0..=9 {
        let rest = store
            .events(Some(&owner()), lease.job, after, 1_000)
            .await
            .unwrap();
        assert_eq!(rest, all[after as usize..]);
        let three = store.events(None, lease.job, after, 3).await.unwrap();
        assert_eq!(three, all[after as usize..(after as usize + 3).min(9)]);
    }
    let stranger = Owner::new("other");
    assert_eq!(
        store
            .events(Some(&stranger), lease.job, 0, 10)
            .await
            .unwrap(),
        []
    );
    assert_eq!(store.events(None, job(2).id, 0, 10).await.unwrap(), []);
}

async fn pages_neither_repeat_nor_skip(backend: &dyn Backend) {
    let store = open(backend).await;
    for number in 1..=55 {
        store.insert_job(&job(number)).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut page = Page::<JobKind>::default();
    for (count, newcomer) in [(20, 60), (20, 61), (15, 62)] {
        let slice = store
            .jobs(&owner(), &JobFilter::default(), &page)
            .await
            .unwrap();
        assert_eq!(slice.items.len(), count);
        seen.extend(slice.items.iter().map(|job| job.id));
        store.insert_job(&job(newcomer)).await.unwrap();
        assert_eq!(slice.next.is_some(), count == 20);
        // As it comes back from a client.
        let after = slice.next.map(|cursor| cursor.to_string().parse().unwrap());
        page = Page::new(20, after);
    }
    let expected: Vec<_> = (1..=55).rev().map(|number| job(number).id).collect();
    assert_eq!(seen, expected);
    let slice = store
        .jobs(&owner(), &JobFilter::default(), &Page::new(3, None))
        .await
        .unwrap();
    let newest: Vec<_> = slice.items.iter().map(|job| job.id).collect();
    assert_eq!(newest, [62, 61, 60].map(|number| job(number).id));
}

async fn lists_are_filtered(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job(1)).await.unwrap();
    store
        .insert_job(&Job {
            learner: Some("winnow".into()),
            ..job(2)
        })
        .await
        .unwrap();
    store
        .insert_job(&Job {
            task: "experiment".into(),
            learner: None,
            ..job(3)
        })
        .await
        .unwrap();
    store
        .insert_ended_job(&ended_job(4), None, None)
        .await
        .unwrap();
    let status = |status| JobFilter {
        status: Some(status),
        ..JobFilter::default()
    };
    let task = |task: &str| JobFilter {
        task: Some(task.into()),
        ..JobFilter::default()
    };
    let learner = |name: &str| JobFilter {
        learner: Some(name.into()),
        ..JobFilter::default()
    };
    for (filter, expected) in [
        (JobFilter::default(), vec![4, 3, 2, 1]),
        (status(Status::Queued), vec![3, 2, 1]),
        (status(Status::Succeeded), vec![4]),
        (status(Status::Failed), vec![]),
        (task("experiment"), vec![3]),
        (learner("winnow"), vec![2]),
        (learner("' OR 1 = 1 --"), vec![]),
        (
            JobFilter {
                learner: Some("perceptron".into()),
                ..status(Status::Queued)
            },
            vec![1],
        ),
    ] {
        let slice = store
            .jobs(&owner(), &filter, &Page::default())
            .await
            .unwrap();
        let found: Vec<_> = slice.items.iter().map(|job| job.id).collect();
        let expected: Vec<_> = expected.into_iter().map(|number| job(number).id).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
}

async fn owners_do_not_see_each_other(backend: &dyn Backend) {
    let store = open(backend).await;
    store
        .insert_ended_job(&ended_job(1), Some(&model(1)), Some(b"curve"))
        .await
        .unwrap();
    let stranger = Owner::new("other");
    let (job, model) = (job(1).id, model(1).id);
    assert_eq!(store.job(&stranger, job).await.unwrap(), None);
    assert_eq!(store.trace(&stranger, job).await.unwrap(), None);
    assert_eq!(
        store.delete_job(&stranger, job).await.unwrap(),
        DeleteOutcome::NotFound
    );
    let jobs = store
        .jobs(&stranger, &JobFilter::default(), &Page::default())
        .await
        .unwrap();
    assert_eq!(jobs.items, []);
    assert_eq!(store.model(&stranger, model).await.unwrap(), None);
    assert!(!store.delete_model(&stranger, model).await.unwrap());
    let models = store
        .models(&stranger, &ModelFilter::default(), &Page::default())
        .await
        .unwrap();
    assert_eq!(models.items, []);
    assert!(store.model(&owner(), model).await.unwrap().is_some());
}

async fn only_what_ended_is_deleted(backend: &dyn Backend) {
    let store = open(backend).await;
    let delete = async |id| store.delete_job(&owner(), id).await.unwrap();
    store.insert_job(&job(1)).await.unwrap();
    assert_eq!(delete(job(1).id).await, DeleteOutcome::NotEnded);
    let lease = claim(&*store, "a", LONG).await.unwrap().lease;
    assert_eq!(delete(job(1).id).await, DeleteOutcome::NotEnded);
    store.finish_job(&lease, &success(1)).await.unwrap();
    let data_key = job(1).data_key;
    assert_eq!(delete(job(1).id).await, DeleteOutcome::Deleted { data_key });
    assert_eq!(delete(job(1).id).await, DeleteOutcome::NotFound);
    assert_eq!(store.job(&owner(), job(1).id).await.unwrap(), None);
    assert_eq!(store.events(None, job(1).id, 0, 10).await.unwrap(), []);
    assert_eq!(store.trace(&owner(), job(1).id).await.unwrap(), None);
    // The model outlives its job.
    assert_eq!(
        store.model(&owner(), model(1).id).await.unwrap(),
        Some(model(1))
    );
}

async fn sweeping_takes_the_oldest_ends_first(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job(1)).await.unwrap();
    for number in 2..=5 {
        store
            .insert_ended_job(&ended_job(number), Some(&model(number)), None)
            .await
            .unwrap();
    }
    store
        .insert_ended_job(
            &Job {
                data_key: None,
                ..ended_job(6)
            },
            None,
            None,
        )
        .await
        .unwrap();
    let keys = |numbers: &[i64]| -> Vec<String> {
        numbers
            .iter()
            .filter_map(|&number| job(number).data_key)
            .collect()
    };
    assert_eq!(
        store.data_keys_in_use(None, 100).await.unwrap(),
        keys(&[1, 2, 3, 4, 5])
    );
    // Job n ended at second n + 1.
    let mut swept = store.sweep_jobs(at(5), 1).await.unwrap();
    assert_eq!(
        swept,
        Swept {
            jobs: 1,
            data_keys: keys(&[2])
        }
    );
    swept = store.sweep_jobs(at(5), 10).await.unwrap();
    assert_eq!(
        swept,
        Swept {
            jobs: 1,
            data_keys: keys(&[3])
        }
    );
    assert_eq!(store.sweep_jobs(at(5), 10).await.unwrap(), Swept::default());
    let all = store.data_keys_in_use(None, 2).await.unwrap();
    assert_eq!(all, keys(&[1, 4]));
    assert_eq!(
        store.data_keys_in_use(Some(&all[1]), 2).await.unwrap(),
        keys(&[5])
    );
    swept = store.sweep_jobs(at(1_000), 10).await.unwrap();
    assert_eq!((swept.jobs, swept.data_keys.len()), (3, 2));
    // What waits is never swept, however old.
    assert_eq!(get(&*store, job(1).id).await.status, Status::Queued);
    assert!(store.model(&owner(), model(2).id).await.unwrap().is_some());
}

async fn models_are_kept_listed_and_deleted(backend: &dyn Backend) {
    let store = open(backend).await;
    for number in 1..=3 {
        store.insert_model(&model(number)).await.unwrap();
    }
    let winnow = Model {
        kind: "winnow".into(),
        learner: "winnow".into(),
        job: None,
        ..model(4)
    };
    store.insert_model(&winnow).await.unwrap();
    store
        .insert_model(&Model {
            document: Value::Null,
            ..winnow.clone()
        })
        .await
        .unwrap();
    assert_eq!(
        store.model(&owner(), winnow.id).await.unwrap(),
        Some(winnow.clone())
    );
    let first = store
        .models(&owner(), &ModelFilter::default(), &Page::new(3, None))
        .await
        .unwrap();
    let ids = |items: &[ModelSummary]| items.iter().map(|model| model.id).collect::<Vec<_>>();
    assert_eq!(ids(&first.items), [4, 3, 2].map(|number| model(number).id));
    assert_eq!(
        (first.items[0].kind.as_str(), first.items[0].job),
        ("winnow", None)
    );
    let rest = Page::new(3, first.next);
    let rest = store
        .models(&owner(), &ModelFilter::default(), &rest)
        .await
        .unwrap();
    assert_eq!((ids(&rest.items), rest.next), (vec![model(1).id], None));
    for filter in [
        ModelFilter {
            kind: Some("winnow".into()),
            ..ModelFilter::default()
        },
        ModelFilter {
            learner: Some("winnow".into()),
            ..ModelFilter::default()
        },
    ] {
        let found = store
            .models(&owner(), &filter, &Page::default())
            .await
            .unwrap();
        assert_eq!(ids(&found.items), [winnow.id]);
    }
    assert!(store.delete_model(&owner(), winnow.id).await.unwrap());
    assert!(!store.delete_model(&owner(), winnow.id).await.unwrap());
    assert_eq!(store.model(&owner(), winnow.id).await.unwrap(), None);
}

// The database under it.

async fn data_survive_reopening(backend: &dyn Backend) {
    let store = open(backend).await;
    store
        .insert_ended_job(&ended_job(1), Some(&model(1)), Some(b"curve"))
        .await
        .unwrap();
    store.insert_job(&job(2)).await.unwrap();
    store.ping().await.unwrap();
    store.close().await;
    assert!(matches!(
        store.ping().await,
        Err(StoreError::Unavailable(_))
    ));
    assert!(matches!(
        store.insert_job(&job(3)).await,
        Err(StoreError::Unavailable(_))
    ));
    let store = open(backend).await;
    store.ping().await.unwrap();
    assert_eq!(get(&*store, job(1).id).await, ended_job(1));
    assert_eq!(
        store.model(&owner(), model(1).id).await.unwrap(),
        Some(model(1))
    );
    assert_eq!(
        store.trace(&owner(), job(1).id).await.unwrap().unwrap(),
        b"curve"
    );
    assert_eq!(
        story(&*store, job(1).id).await,
        ["queued", "running", "succeeded", "result"]
    );
    assert_eq!(claim(&*store, "a", LONG).await.unwrap().job.id, job(2).id);
}

async fn data_survive_a_process_that_did_not_close(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&*store, LONG).await;
    drop(store);
    let store = open(backend).await;
    assert_eq!(get(&*store, lease.job).await.status, Status::Running);
    assert_eq!(store.release_all_leases(at(200)).await.unwrap(), 1);
    assert_eq!(claim(&*store, "b", LONG).await.unwrap().lease.attempt, 2);
}

async fn a_newer_schema_is_refused(backend: &dyn Backend) {
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

async fn two_stores_share_one_database(backend: &dyn Backend) {
    // Both make the schema at once.
    let (first, second) = tokio::join!(backend.open(), backend.open());
    let (first, second) = (first.unwrap(), second.unwrap());
    first.insert_job(&job(1)).await.unwrap();
    second.insert_job(&job(2)).await.unwrap();
    let lease = claim(&*second, "b", LONG).await.unwrap().lease;
    assert_eq!(lease.job, job(1).id);
    assert_eq!(claim(&*first, "a", LONG).await.unwrap().job.id, job(2).id);
    // A request to cancel reaches the worker beside the other store.
    first.cancel_job(&owner(), lease.job, at(1)).await.unwrap();
    let beat = second.heartbeat(&lease, LONG, None, at(2)).await.unwrap();
    assert_eq!(
        beat,
        Heartbeat::Held {
            cancel_requested: true
        }
    );
    second.finish_job(&lease, &success(1)).await.unwrap();
    assert_eq!(get(&*first, lease.job).await.status, Status::Succeeded);
}

/// Makes a test of each case, on a fresh database each.
macro_rules! contract {
    ($backend:ident, $new:expr, [$($case:ident),+ $(,)?]) => {
        mod $backend {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    super::$case(&$new).await;
                }
            )+
        }
    };
}

/// SQLite in a directory of its own.
struct Sqlite(tempfile::TempDir);

impl Sqlite {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("store.sqlite")
    }
}

#[async_trait]
impl Backend for Sqlite {
    async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(SqliteStore::open(&self.path()).await?))
    }

    async fn pretend_schema(&self, version: i64) {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(self.path());
        let pool = sqlx::SqlitePool::connect_with(options).await.unwrap();
        sqlx::query(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             VALUES ($1, 'from the future', 1, x'00', 0)",
        )
        .bind(version)
        .execute(&pool)
        .await
        .unwrap();
        pool.close().await;
    }
}

contract!(
    sqlite,
    super::Sqlite::new(),
    [
        a_queued_job_is_stored_whole,
        a_job_succeeds_with_model_and_trace,
        a_job_fails_with_its_error,
        a_running_job_is_cancelled_by_its_worker,
        a_job_may_succeed_after_its_cancel,
        a_queued_job_is_cancelled_at_once,
        a_job_is_stored_running,
        a_job_is_stored_ended,
        a_job_is_stored_only_as_what_it_is,
        a_stale_lease_writes_nothing,
        ended_is_final,
        a_worker_that_gets_its_job_back_cannot_use_the_old_lease,
        a_heartbeat_keeps_the_lease_and_stores_progress,
        a_lease_that_ran_out_is_taken_and_costs_an_attempt,
        attempts_are_capped,
        a_poisoned_job_is_passed_over,
        a_cancelled_job_whose_worker_vanished_is_not_begun_again,
        requeue_does_not_charge,
        a_job_to_be_cancelled_is_not_queued_again,
        releasing_all_leases_charges,
        claims_go_by_priority_then_attempts_then_age,
        no_job_is_claimed_twice,
        events_are_read_from_a_number_on,
        pages_neither_repeat_nor_skip,
        lists_are_filtered,
        owners_do_not_see_each_other,
        only_what_ended_is_deleted,
        sweeping_takes_the_oldest_ends_first,
        models_are_kept_listed_and_deleted,
        data_survive_reopening,
        data_survive_a_process_that_did_not_close,
        a_newer_schema_is_refused,
        two_stores_share_one_database,
    ]
);
