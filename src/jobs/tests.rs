//! What a worker does when the data of a job cannot be read, are wrong, or are not wanted.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use serde_json::json;
use tempfile::TempDir;

use super::{Ids, Jobs, JobsConfig, NewTrain, hex, resolve};
use crate::bits::{BitMatrix, BitVector};
use crate::formats;
use crate::learners::data::{Data, Features, Labels};
use crate::learners::random::Generator;
use crate::records::train::TrainSpec;
use crate::records::{Job, JobId, ManualClock, Owner, Status, Timestamp};
use crate::storage::{Blobs, SqliteStore};

/// Longer than any of these tests should take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Jobs over a store of their own, with one worker that has not begun.
struct Rig {
    jobs: Arc<Jobs>,
    directory: TempDir,
}

impl Rig {
    async fn new(config: JobsConfig) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let store = Arc::new(SqliteStore::open(&path).await.unwrap());
        let blobs = Blobs::local(&directory.path().join("blobs")).unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_milliseconds(1)));
        let ids = Arc::new(Ids::new(clock, Generator::seed_from_u64(1)));
        Self {
            jobs: Jobs::new(store, blobs, ids, config),
            directory,
        }
    }

    /// A queued job with data of its own.
    async fn queued(&self) -> Job {
        let data = sample();
        let spec = json!({
            "learner": {"name": "perceptron"}, "stop": {"max_passes": 3}, "trace": false,
            "assume": null, "generated": null
        });
        let spec: TrainSpec = serde_json::from_value(spec).unwrap();
        let data_sha256 = Some(hex(&formats::digest(&data)));
        let job = resolve(&spec, 1, Some(Arc::new(data)), u64::MAX).unwrap();
        let new = NewTrain {
            owner: Owner::anonymous(),
            name: None,
            spec,
            seed: 1,
            job: Arc::new(job),
            data_sha256,
        };
        self.jobs.submit(new, Duration::ZERO).await.unwrap()
    }

    fn blob(&self, job: &Job) -> PathBuf {
        let key = job.data_key.as_deref().unwrap();
        self.directory.path().join("blobs").join(key)
    }

    async fn ended(&self, id: JobId) -> Job {
        let owner = Owner::anonymous();
        let job = self.jobs.wait(&owner, id, PATIENCE).await.unwrap();
        assert!(job.status.is_ended(), "{job:?}");
        job
    }

    async fn error_code(&self, id: JobId) -> String {
        let job = self.ended(id).await;
        assert_eq!(job.status, Status::Failed);
        job.error.unwrap().code
    }
}

/// The conjunction of two features, four times.
fn sample() -> Data {
    let mut matrix = BitMatrix::new(2);
    let mut labels = BitVector::zeros(16);
    for row in 0..16 {
        matrix.push_row(&[row % 4]);
        labels.set(row as usize, row % 4 == 3);
    }
    Data::new(Features::Boolean(matrix), Labels::Labelled(labels))
}

#[cfg(unix)]
#[tokio::test]
async fn a_job_whose_data_cannot_be_read_holds_up_nobody_and_is_charged() {
    let rig = Rig::new(JobsConfig {
        lease_seconds: 3_600,
        ..JobsConfig::default()
    })
    .await;
    let unreadable = rig.queued().await;
    let path = rig.blob(&unreadable);
    std::fs::remove_file(&path).unwrap();
    // A link to itself: to open it is an error, and not that there is nothing.
    std::os::unix::fs::symlink(&path, &path).unwrap();
    let good = rig.queued().await;
    rig.jobs.start();
    assert_eq!(rig.ended(good.id).await.status, Status::Succeeded);
    let owner = Owner::anonymous();
    let job = rig.jobs.job(&owner, unreadable.id).await.unwrap();
    assert_eq!((job.status, job.attempt), (Status::Running, 1));
    // Queued and begun, once.
    let events = rig.jobs.store().events(None, job.id, 0, 10).await.unwrap();
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(rig.jobs.stop(PATIENCE).await);
}

#[cfg(unix)]
#[tokio::test]
async fn a_job_whose_data_can_never_be_read_is_poisoned() {
    let rig = Rig::new(JobsConfig {
        lease_seconds: 0,
        attempts_max: 3,
        ..JobsConfig::default()
    })
    .await;
    let unreadable = rig.queued().await;
    let path = rig.blob(&unreadable);
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&path, &path).unwrap();
    rig.jobs.start();
    assert_eq!(rig.error_code(unreadable.id).await, "poisoned");
    assert!(rig.jobs.stop(PATIENCE).await);
}

#[tokio::test]
async fn data_that_are_gone_or_changed_fail_their_job() {
    let rig = Rig::new(JobsConfig::default()).await;
    let missing = rig.queued().await;
    std::fs::remove_file(rig.blob(&missing)).unwrap();
    let flipped = rig.queued().await;
    let path = rig.blob(&flipped);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    rig.jobs.start();
    assert_eq!(rig.error_code(missing.id).await, "data-missing");
    assert_eq!(rig.error_code(flipped.id).await, "data-corrupt");
    assert!(rig.jobs.stop(PATIENCE).await);
    assert!(!path.exists());
}
