//! Checkpoints: jobs resume from them, and go on without them.

use super::*;

/// Settings under which a job takes checkpoints as often as possible.
fn often() -> JobsConfig {
    JobsConfig {
        checkpoint_every: Duration::from_millis(1),
        progress_interval: Duration::from_millis(1),
        ..JobsConfig::default()
    }
}

impl Rig {
    /// Waits for a checkpoint of the job other than `before`.
    async fn until_checkpoint(&self, id: JobId, before: Option<&[u8]>) -> Vec<u8> {
        let another = async {
            loop {
                let kept = self.store.checkpoint(id).await.unwrap();
                if let Some(kept) = kept.filter(|kept| Some(kept.as_slice()) != before) {
                    return kept;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(TIMEOUT, another).await.unwrap()
    }
}

#[tokio::test]
async fn job_continues_when_its_checkpoints_find_no_room() {
    let rig = Rig::new(often()).await;
    let id = rig.queued_endless().await.id;
    faults::plan("INSERT INTO checkpoints", &[InjectedFault::Full]);
    rig.jobs.start();
    let first = rig.until_checkpoint(id, None).await;
    assert!(faults::are_met());
    rig.until_checkpoint(id, Some(&first)).await;
    assert_eq!(rig.job(id).await.status, Status::Running);
    // The last state is stored when the process stops, and the attempt is not charged.
    assert!(rig.jobs.stop(TIMEOUT).await);
    let job = rig.job(id).await;
    assert_eq!((job.status, job.attempt), (Status::Queued, 0));
    let sealed = rig.store.checkpoint(id).await.unwrap().unwrap();
    let left = Checkpoint::open(&job, &sealed).unwrap();
    assert!(left.counts.examples >= job.progress.examples);
}

#[tokio::test]
async fn a_damaged_checkpoint_makes_a_job_begin_from_the_beginning() {
    let rig = Rig::new(often()).await;
    let id = rig.queued().await.id;
    let lease = rig.claim(3_600).await.lease;
    rig.store.save_checkpoint(&lease, b"damaged").await.unwrap();
    let now = rig.jobs.ids.now();
    rig.store
        .requeue_job(&lease, &Requeue::default(), now)
        .await
        .unwrap();
    rig.jobs.start();
    let job = rig.ended(id).await;
    assert_eq!(job.status, Status::Succeeded);
    assert_eq!(job.result.unwrap()["passes"], 3);
    assert_eq!(rig.store.checkpoint(id).await.unwrap(), None);
}

#[tokio::test]
async fn job_with_an_unavailable_checkpoint_is_retried_later() {
    let rig = Rig::new(often()).await;
    let id = rig.queued().await.id;
    let lease = rig.claim(3_600).await.lease;
    rig.store.save_checkpoint(&lease, b"state").await.unwrap();
    let now = rig.jobs.ids.now();
    let requeue = Requeue::default();
    rig.store.requeue_job(&lease, &requeue, now).await.unwrap();
    faults::plan(
        "SELECT body FROM checkpoints",
        &[InjectedFault::Unavailable; 2],
    );
    rig.jobs.start();
    let given_back = async {
        let mut changes = rig.jobs.queue.subscribe();
        while rig.store.events(None, id, 0, 9).await.unwrap().len() < 5 {
            rig.jobs.queue.changed(&mut changes, id).await;
        }
    };
    tokio::time::timeout(TIMEOUT, given_back).await.unwrap();
    let job = rig.job(id).await;
    assert_eq!((job.status, job.attempt), (Status::Queued, 1));
    assert!(rig.store.checkpoint(id).await.is_err());
}

#[tokio::test]
async fn max_seconds_counts_over_all_attempts() {
    let rig = Rig::new(often()).await;
    let job = rig.queued_endless().await;
    rig.jobs.start();
    let sealed = rig.until_checkpoint(job.id, None).await;
    assert!(rig.jobs.stop(TIMEOUT).await);
    let mut left = Checkpoint::open(&job, &sealed).unwrap();
    left.seconds = 3_600.0;
    let mut start_state = StartState::of(job.id, rig.jobs.worker.helped_stop_flag());
    let counts = left.counts;
    start_state.resume(left);
    let permit = Arc::clone(&rig.jobs.worker.permits)
        .acquire_owned()
        .await
        .unwrap();
    let work = new_train(endless(3_600.0)).work;
    let mut computation = IsolatedComputation(rig.jobs.worker.threads.compute(
        &job,
        work,
        start_state,
        PermitSlot::new(permit),
        MemoryBudget::unlimited().try_take(0).expect("room"),
    ));
    let ended = tokio::time::timeout(TIMEOUT, computation.0.ended()).await;
    let Computed::Ended { end, .. } = ended.unwrap() else {
        panic!("it ends by its time");
    };
    let result = end.result.unwrap();
    assert!(result["seconds"].as_f64().unwrap() >= 3_600.0);
    assert_eq!(result["termination"]["reason"], "limit");
    let detail = result["termination"]["detail"].as_str().unwrap();
    assert!(detail.contains("max_seconds"), "{detail}");
    assert!(result["examples"].as_u64().unwrap() >= counts.examples);
}
