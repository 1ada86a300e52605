//! Jobs that have subjobs: how these are claimed, counted, cancelled, gathered and deleted.

use halfspace::records::Callback;
use halfspace::storage::BusyReceivers;

use super::*;

const PARENT: i64 = 1;

/// The job that waits for `subjobs` subjobs.
fn parent(subjobs: u32) -> Job {
    Job {
        task: "experiment".into(),
        learner: None,
        lineage: JobTree::Parent {
            subjobs,
            left: subjobs,
        },
        ..job(PARENT)
    }
}

/// The subjobs of the parent. Their numbers follow the parent's number.
fn subjobs(count: u32) -> Vec<Job> {
    let subjob = |index: u32| Job {
        name: None,
        data_key: None,
        created_at: at(PARENT),
        lineage: JobTree::Subjob {
            parent: parent(count).id,
            index,
        },
        ..job(PARENT + 1 + i64::from(index))
    };
    (0..count).map(subjob).collect()
}

pub(super) async fn stored(store: &Store, count: u32) -> Vec<Job> {
    let subjobs = subjobs(count);
    store
        .insert_subjobs(&parent(count), &subjobs, None)
        .await
        .unwrap();
    subjobs
}

async fn claimed_as(store: &Store, name: &str) -> Lease {
    claim(store, name, LONG).await.unwrap().lease
}

async fn finish(store: &Store, lease: &Lease, end: JobEnd) {
    assert_eq!(store.finish_job(lease, &end).await.unwrap(), Fenced::Done);
}

/// The end of a subjob, which stores no model.
fn counted(result: u64) -> JobEnd {
    JobEnd {
        result: Some(json!(result)),
        model: None,
        trace: None,
        finished_at: at(110),
        ..success(1)
    }
}

fn cancelled(result: Option<Value>) -> JobEnd {
    JobEnd {
        status: Status::Cancelled,
        result,
        ..counted(0)
    }
}

fn left(job: &Job) -> u32 {
    match job.lineage {
        JobTree::Parent { left, .. } => left,
        lineage => panic!("{lineage:?}"),
    }
}

async fn results(store: &Store) -> Vec<(u32, Status, Option<Value>)> {
    let all = store.subjobs(parent(1).id, None, 1_000).await.unwrap();
    let outcome = |outcome: halfspace::records::SubjobOutcome| {
        (outcome.index, outcome.status, outcome.result)
    };
    all.into_iter().map(outcome).collect()
}

pub(super) async fn subjobs_are_taken_and_gathered_once(backend: &dyn Backend) {
    let store = open(backend).await;
    let subjobs = stored(&store, 3).await;
    for subjob in &subjobs {
        assert_eq!(get(&store, subjob.id).await, *subjob);
        assert_eq!(story(&store, subjob.id).await, ["queued"]);
    }
    assert_eq!(get(&store, parent(3).id).await, parent(3));
    let usage = store.usage(&owner()).await.unwrap();
    assert_eq!(usage.own.jobs_queued, 4);
    let first = claim(&store, "a", LONG).await.unwrap();
    assert_eq!(first.job.id, subjobs[0].id);
    let second = claimed_as(&store, "b").await;
    let running = get(&store, parent(3).id).await;
    assert_eq!((running.status, running.attempt), (Status::Running, 0));
    assert_eq!(running.started_at, Some(at(100)));
    finish(&store, &second, counted(1)).await;
    let third = claimed_as(&store, "b").await;
    assert_eq!(claim(&store, "c", LONG).await, None);
    finish(&store, &third, counted(2)).await;
    let running = get(&store, parent(3).id).await;
    assert_eq!((running.status, left(&running)), (Status::Running, 1));
    let progress = Progress {
        examples: 20,
        mistakes: 6,
        passes: 4,
        fraction: Some(2.0 / 3.0),
        seconds_left: Some(5.0),
        ..Progress::default()
    };
    assert_eq!(running.progress, progress);
    finish(&store, &first.lease, counted(0)).await;
    let gathering = claim(&store, "c", LONG).await.unwrap();
    assert_eq!((gathering.job.id, left(&gathering.job)), (parent(3).id, 0));
    assert_eq!(claim(&store, "a", LONG).await, None);
    let succeeded = |index: u32| (index, Status::Succeeded, Some(json!(index)));
    assert_eq!(results(&store).await, [0, 1, 2].map(succeeded));
    let after = store.subjobs(parent(3).id, Some(subjobs[0].id), 1).await;
    assert_eq!(after.unwrap()[0].job, subjobs[1].id);
    finish(&store, &gathering.lease, success(PARENT)).await;
    let story = story(&store, parent(3).id).await;
    let expected = [
        "queued", "running", "progress", "progress", "progress", "running",
    ];
    assert_eq!(story[..6], expected);
    assert_eq!(story[6..], ["succeeded", "result"]);
}

pub(super) async fn many_subjobs_are_counted_exactly(backend: &dyn Backend) {
    let stores = [open(backend).await, open(backend).await];
    let count = 60;
    stored(&stores[0], count).await;
    let mut workers = tokio::task::JoinSet::new();
    for number in 0..6 {
        let store = Arc::clone(&stores[number % 2]);
        workers.spawn(async move {
            let name = number.to_string();
            let mut gathered = 0;
            loop {
                let Some(claim) = claim(&store, &name, LONG).await else {
                    let parent = get(&store, parent(count).id).await;
                    if parent.status.is_ended() {
                        return gathered;
                    }
                    tokio::task::yield_now().await;
                    continue;
                };
                if let JobTree::Parent { left, .. } = claim.job.lineage {
                    assert_eq!(left, 0);
                    gathered += 1;
                }
                finish(&store, &claim.lease, counted(0)).await;
            }
        });
    }
    assert_eq!(workers.join_all().await.iter().sum::<u32>(), 1);
    let story = story(&stores[0], parent(count).id).await;
    let shown = story.iter().filter(|event| *event == "progress").count();
    assert_eq!(shown, 60);
    let ended = get(&stores[0], parent(count).id).await;
    assert_eq!((ended.status, left(&ended)), (Status::Succeeded, 0));
}

pub(super) async fn failed_subjob_fails_its_parent_and_siblings(backend: &dyn Backend) {
    let store = open(backend).await;
    let subjobs = stored(&store, 4).await;
    let (first, second) = (claimed_as(&store, "a").await, claimed_as(&store, "b").await);
    finish(&store, &second, failure()).await;
    let failed = get(&store, parent(4).id).await;
    assert_eq!((failed.status, left(&failed)), (Status::Failed, 1));
    let error = failed.error.unwrap();
    assert_eq!(error.code, "solver");
    let expected = format!("part 1 ({}) failed: it did not converge", subjobs[1].id);
    assert_eq!(error.detail, expected);
    assert_eq!(
        story(&store, parent(4).id).await,
        ["queued", "running", "failed", "result"]
    );
    for subjob in &subjobs[2..] {
        let expected = ["queued", "cancelled", "result"];
        assert_eq!(story(&store, subjob.id).await, expected);
    }
    // The worker of another subjob learns of the cancellation.
    let beat = store
        .heartbeat(&first, &beating(None), at(101))
        .await
        .unwrap();
    let cancel_requested = true;
    assert_eq!(beat, Heartbeat::Held { cancel_requested });
    finish(&store, &first, cancelled(None)).await;
    assert_eq!(claim(&store, "a", LONG).await, None);
    let failed = get(&store, parent(4).id).await;
    assert_eq!((failed.status, left(&failed)), (Status::Failed, 0));
    // A subjob that has already failed is not marked as cancelled.
    let other = get(&store, subjobs[1].id).await;
    assert!(!other.cancel_requested && other.status == Status::Failed);
}

pub(super) async fn poisoned_subjob_fails_its_parent(backend: &dyn Backend) {
    let store = open(backend).await;
    let subjobs = stored(&store, 1).await;
    for _ in 0..5 {
        assert!(claim(&store, "a", NONE).await.is_some());
    }
    assert_eq!(claim(&store, "a", LONG).await, None);
    let failed = get(&store, parent(1).id).await;
    assert_eq!(failed.status, Status::Failed);
    assert_eq!(failed.error.unwrap().code, JobError::POISONED);
    assert_eq!(get(&store, subjobs[0].id).await.status, Status::Failed);
}

pub(super) async fn queued_subjobs_are_cancelled_at_once(backend: &dyn Backend) {
    let store = open(backend).await;
    // More subjobs than one statement writes.
    let subjobs = stored(&store, 501).await;
    let id = parent(501).id;
    let stranger = store.cancel_job(&Owner::new("other"), id, at(5)).await;
    assert_eq!(stranger.unwrap(), CancelOutcome::NotFound);
    let outcome = store.cancel_job(&owner(), id, at(5)).await.unwrap();
    let ended = get(&store, id).await;
    assert_eq!(outcome, CancelOutcome::Cancelled(ended.clone()));
    assert_eq!((ended.status, left(&ended)), (Status::Cancelled, 0));
    assert_eq!(ended.result, None);
    assert_eq!(story(&store, id).await, ["queued", "cancelled", "result"]);
    for subjob in [&subjobs[0], &subjobs[499], &subjobs[500]] {
        let expected = ["queued", "cancelled", "result"];
        assert_eq!(story(&store, subjob.id).await, expected);
    }
    assert_eq!(claim(&store, "a", LONG).await, None);
    let usage = store.usage(&owner()).await.unwrap();
    assert_eq!(usage.own.jobs_queued, 0);
    let again = store.cancel_job(&owner(), id, at(6)).await.unwrap();
    assert_eq!(again, CancelOutcome::AlreadyRequested(ended));
}

pub(super) async fn running_subjobs_are_cancelled_and_the_rest_is_gathered(backend: &dyn Backend) {
    let store = open(backend).await;
    stored(&store, 4).await;
    let id = parent(4).id;
    let (done, running) = (claimed_as(&store, "a").await, claimed_as(&store, "b").await);
    let vanished = claim(&store, "c", NONE).await.unwrap().lease;
    finish(&store, &done, counted(0)).await;
    let outcome = store.cancel_job(&owner(), id, at(5)).await.unwrap();
    let asked = get(&store, id).await;
    assert_eq!(outcome, CancelOutcome::Requested(asked.clone()));
    assert_eq!((asked.status, left(&asked)), (Status::Running, 2));
    let again = store.cancel_job(&owner(), id, at(6)).await.unwrap();
    assert_eq!(again, CancelOutcome::AlreadyRequested(asked));
    let beat = store
        .heartbeat(&running, &beating(None), at(101))
        .await
        .unwrap();
    let cancel_requested = true;
    assert_eq!(beat, Heartbeat::Held { cancel_requested });
    // A cancelled subjob that is requeued ends at once.
    assert_eq!(
        store
            .requeue_job(&running, &Requeue::default(), at(102))
            .await
            .unwrap(),
        Fenced::Done
    );
    assert_eq!(get(&store, running.job).await.status, Status::Cancelled);
    // A subjob whose worker vanished ends too. Then a worker gathers the results.
    let gathering = claim(&store, "d", LONG).await.unwrap();
    assert_eq!(gathering.job.id, id);
    assert!(gathering.job.cancel_requested);
    assert_eq!(get(&store, vanished.job).await.status, Status::Cancelled);
    // Even a gathering that is requeued does not end without a result.
    assert_eq!(
        store
            .requeue_job(&gathering.lease, &Requeue::default(), at(103))
            .await
            .unwrap(),
        Fenced::Done
    );
    assert_eq!(get(&store, id).await.status, Status::Running);
    let gathering = claimed_as(&store, "d").await;
    finish(&store, &gathering, cancelled(Some(json!("so far")))).await;
    let ended = get(&store, id).await;
    assert_eq!(ended.status, Status::Cancelled);
    assert_eq!(ended.result, Some(json!("so far")));
    assert_eq!(
        story(&store, id).await,
        [
            "queued",
            "running",
            "progress",
            "running",
            "running",
            "cancelled",
            "result"
        ]
    );
}

pub(super) async fn cancelling_and_ending_subjobs_do_not_block_each_other(backend: &dyn Backend) {
    let stores = [open(backend).await, open(backend).await];
    let count = 40;
    stored(&stores[0], count).await;
    let id = parent(count).id;
    let mut workers = tokio::task::JoinSet::new();
    for number in 0..4 {
        let store = Arc::clone(&stores[number % 2]);
        workers.spawn(async move {
            let name = number.to_string();
            while !get(&store, id).await.status.is_ended() {
                if let Some(claim) = claim(&store, &name, LONG).await {
                    let end = match claim.job.lineage {
                        JobTree::Parent { .. } => cancelled(Some(json!("so far"))),
                        _ => counted(0),
                    };
                    finish(&store, &claim.lease, end).await;
                }
                tokio::task::yield_now().await;
            }
        });
    }
    while results(&stores[1]).await[4].1 != Status::Succeeded {
        tokio::task::yield_now().await;
    }
    let cancelled = stores[1].cancel_job(&owner(), id, at(5)).await.unwrap();
    workers.join_all().await;
    let ended = get(&stores[0], id).await;
    assert_eq!((ended.status, left(&ended)), (Status::Cancelled, 0));
    assert!(!matches!(cancelled, CancelOutcome::NotFound));
    let all = results(&stores[0]).await;
    assert!(all.iter().all(|(_, status, _)| status.is_ended()));
    events(&stores[0], id).await;
}

pub(super) async fn subjob_is_cancelled_and_deleted_only_with_its_parent(backend: &dyn Backend) {
    let store = open(backend).await;
    let subjobs = stored(&store, 2).await;
    let id = parent(2).id;
    let subjob_of = CancelOutcome::SubjobOf { parent: id };
    let outcome = store.cancel_job(&owner(), subjobs[0].id, at(5)).await;
    assert_eq!(outcome.unwrap(), subjob_of);
    let delete = async |id| store.delete_job(&owner(), id).await.unwrap();
    let subjob_of = DeleteOutcome::SubjobOf { parent: id };
    assert_eq!(delete(subjobs[0].id).await, subjob_of);
    assert_eq!(delete(id).await, DeleteOutcome::NotEnded);
    // Deleting a failed parent deletes a subjob that still runs.
    let (first, running) = (claimed_as(&store, "a").await, claimed_as(&store, "b").await);
    finish(&store, &first, failure()).await;
    assert_eq!(delete(subjobs[0].id).await, subjob_of);
    let data_key = parent(2).data_key;
    assert_eq!(delete(id).await, DeleteOutcome::Deleted { data_key });
    for subjob in &subjobs {
        assert_eq!(store.find(&owner(), subjob.id).await.unwrap(), None);
    }
    let beat = store.heartbeat(&running, &beating(None), at(101)).await;
    assert_eq!(beat.unwrap(), Heartbeat::Lost);
    assert_eq!(
        store.finish_job(&running, &counted(0)).await.unwrap(),
        Fenced::Lost
    );
}

pub(super) async fn a_lease_may_be_lost_while_subjobs_are_gathered(backend: &dyn Backend) {
    let store = open(backend).await;
    stored(&store, 1).await;
    let subjob = claimed_as(&store, "a").await;
    finish(&store, &subjob, counted(0)).await;
    let stale = claim(&store, "a", NONE).await.unwrap().lease;
    assert_eq!(stale.job, parent(1).id);
    let held = claimed_as(&store, "b").await;
    assert_eq!((held.job, held.attempt), (stale.job, 2));
    let written = store.finish_job(&stale, &success(PARENT)).await.unwrap();
    assert_eq!(written, Fenced::Lost);
    finish(&store, &held, success(PARENT)).await;
    assert_eq!(get(&store, held.job).await.status, Status::Succeeded);
}

pub(super) async fn subjobs_are_swept_with_their_parent(backend: &dyn Backend) {
    let store = open(backend).await;
    stored(&store, 4).await;
    for _ in 0..4 {
        let subjob = claimed_as(&store, "a").await;
        finish(&store, &subjob, counted(0)).await;
    }
    // The subjobs are needed until the parent has ended.
    let sweep = async |limit| store.sweep_jobs(at(1_000), limit).await.unwrap().jobs;
    assert_eq!(sweep(10).await, 0);
    let gathering = claimed_as(&store, "a").await;
    let end = JobEnd {
        finished_at: at(120),
        ..success(PARENT)
    };
    finish(&store, &gathering, end).await;
    assert_eq!(store.sweep_jobs(at(115), 10).await.unwrap().jobs, 0);
    assert_eq!((sweep(3).await, results(&store).await.len()), (3, 1));
    assert_eq!(get(&store, gathering.job).await.status, Status::Succeeded);
    assert_eq!((sweep(3).await, sweep(3).await), (2, 0));
    assert_eq!(store.find(&owner(), gathering.job).await.unwrap(), None);
}

pub(super) async fn job_lists_omit_subjobs(backend: &dyn Backend) {
    let store = open(backend).await;
    let subjobs = stored(&store, 3).await;
    let id = parent(3).id;
    let page = Page::new(10, None);
    let list = async |filter: JobFilter| {
        let listed = store.jobs(&owner(), &filter, &page, |_| ()).await.unwrap();
        listed.items.iter().map(|job| job.id).collect::<Vec<_>>()
    };
    let of_status = |status| JobFilter {
        status: Some(status),
        ..JobFilter::default()
    };
    assert_eq!(list(JobFilter::default()).await, [id]);
    assert_eq!(list(of_status(Status::Queued)).await, [id]);
    let subjob = claimed_as(&store, "a").await;
    assert_eq!(list(of_status(Status::Queued)).await, []);
    assert_eq!(list(of_status(Status::Running)).await, [id]);
    let of_parent = |status| JobFilter {
        parent: Some(id),
        status,
        ..JobFilter::default()
    };
    let newest_first: Vec<JobId> = subjobs.iter().rev().map(|subjob| subjob.id).collect();
    assert_eq!(list(of_parent(None)).await, newest_first);
    assert_eq!(list(of_parent(Some(Status::Running))).await, [subjob.job]);
    let stranger = store
        .jobs(&Owner::new("other"), &of_parent(None), &page, |_| ())
        .await;
    assert!(stranger.unwrap().items.is_empty());
}

pub(super) async fn subjobs_are_stored_with_their_parent_or_not_at_all(backend: &dyn Backend) {
    let store = open(backend).await;
    let misfits = [
        (parent(2), subjobs(3)),
        (job(PARENT), subjobs(2)),
        (parent(2), subjobs(2).into_iter().rev().collect()),
        (parent(1), vec![running_job(2)]),
    ];
    for (parent, subjobs) in misfits {
        assert!(store.insert_subjobs(&parent, &subjobs, None).await.is_err());
    }
    let reading = Job {
        dataset: Some(dataset(1).summary.id),
        ..parent(2)
    };
    let missing = store.insert_subjobs(&reading, &subjobs(2), None).await;
    assert!(matches!(missing, Err(StoreError::DatasetMissing(_))));
    assert_eq!(store.find(&owner(), reading.id).await.unwrap(), None);
    assert_eq!(results(&store).await, []);
    // Storing the subjobs again does not duplicate them.
    for _ in 0..2 {
        stored(&store, 2).await;
    }
    assert_eq!(results(&store).await.len(), 2);
    assert_eq!(story(&store, reading.id).await, ["queued"]);
}

pub(super) async fn callback_is_owed_by_the_parent_and_not_by_its_subjobs(backend: &dyn Backend) {
    let store = open(backend).await;
    let calling = |number: i64| Job {
        id: job(number).id,
        callback: Some(Callback::new("https://receiver.example/")),
        ..parent(1)
    };
    let owed = async || {
        let nobody = BusyReceivers::default();
        store
            .claim_callback(&worker("d"), LONG, &nobody)
            .await
            .unwrap()
    };
    for (number, status) in [(100, Status::Failed), (200, Status::Cancelled)] {
        let parent = calling(number);
        let lineage = JobTree::Subjob {
            parent: parent.id,
            index: 0,
        };
        let subjob = Job {
            lineage,
            ..job(number + 1)
        };
        store
            .insert_subjobs(&parent, &[subjob], None)
            .await
            .unwrap();
        match status {
            Status::Failed => {
                let subjob = claimed_as(&store, "a").await;
                finish(&store, &subjob, failure()).await;
            }
            _ => drop(store.cancel_job(&owner(), parent.id, at(5)).await.unwrap()),
        }
        let claim = owed().await.unwrap();
        assert_eq!((claim.job.id, claim.job.status), (parent.id, status));
        assert_eq!(owed().await, None);
    }
}
