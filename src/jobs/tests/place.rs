//! The reasons why a queued job waits, as this process sees them.

use super::*;
use crate::records::queue::WaitsFor;

async fn reason(rig: &Rig, id: JobId) -> WaitsFor {
    let job = rig.job(id).await;
    rig.jobs
        .queue
        .place(&job, &rig.jobs.processes)
        .await
        .unwrap()
        .waits_for
}

#[tokio::test]
async fn queue_place_names_worker_pause_and_disk() {
    let rig = Rig::new(JobsConfig::default()).await;
    let id = rig.queued().await.id;
    assert_eq!(reason(&rig, id).await, WaitsFor::NoWorker);
    rig.jobs.processes.report().await.unwrap();
    assert_eq!(reason(&rig, id).await, WaitsFor::AboutToStart);
    // The process dies while it computes the job.
    rig.claim(0).await;
    let release = ReleaseTerms {
        deaths_max: 5,
        pause_seconds: 3_600.0,
    };
    let now = rig.jobs.ids.now();
    assert_eq!(rig.store.release_expired(&release, now).await.unwrap(), 1);
    let place = rig
        .jobs
        .queue
        .place(&rig.job(id).await, &rig.jobs.processes)
        .await
        .unwrap();
    assert_eq!(place.waits_for, WaitsFor::BackOff);
    assert!(place.not_before.is_some());
    // Another process releases the reserve of the full disk. Its lock keeps others from restoring the file.
    let reserve = rig.directory.path().join("db-reserve");
    let file = std::fs::File::options().write(true).open(&reserve).unwrap();
    file.lock().unwrap();
    file.set_len(0).unwrap();
    assert_eq!(reason(&rig, id).await, WaitsFor::StorageFull);
}

#[tokio::test]
async fn queue_place_of_a_claimed_job_is_about_to_start() {
    let rig = Rig::new(JobsConfig::default()).await;
    let queued = rig.queued().await;
    rig.claim(3_600).await;
    let place = rig
        .jobs
        .queue
        .place(&queued, &rig.jobs.processes)
        .await
        .unwrap();
    assert_eq!((place.ahead, place.waits_for), (0, WaitsFor::AboutToStart));
    // The worker is busy now.
    rig.jobs.processes.report().await.unwrap();
    let next = rig.queued().await.id;
    assert_eq!(reason(&rig, next).await, WaitsFor::Worker);
    let last = rig.queued().await.id;
    assert_eq!(reason(&rig, last).await, WaitsFor::OtherJobs);
}
