//! Workers whose data, store or clients fail: unreadable and damaged data, lost answers of the store, cancellations
//! and time limits.

mod checkpoints;
mod datasets;
mod helped;
mod layouts;
mod memory;
mod place;
mod yielding;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use halfspace_core::bits::{BitMatrix, BitVector};
use halfspace_core::learners::engine::run::Interrupt;
use halfspace_core::learners::sample::data::{Data, Features, Labels};
use halfspace_core::memory::MemoryBudget;
use rand::SeedableRng;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::worker::checkpoints::{Checkpoint, StartState};
use super::worker::compute::{Computation, Computed};
use super::worker::parking::PermitSlot;
use super::{
    Allowance, CheckedTask, Ids, Inputs, JobSample, Jobs, JobsConfig, JobsError, LoadedModel,
    NewJob, ResolveError, resolve,
};
use crate::records::idempotency::KEPT_MS;
use crate::records::task::JobSpec;
use crate::records::{Job, JobId, KeyClaim, ManualClock, Owner, Status, Timestamp};
use crate::storage::sql::faults::{self, InjectedFault};
use crate::storage::{Blobs, Claim, ClaimTerms, ReleaseTerms, Requeue, Store, sqlite};

const HOUR_MS: u64 = 3_600_000;

/// Longer than any of these tests should take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A text of the statement that inserts a job.
const INSERT_JOB: &str = "INSERT INTO jobs";

/// A job service over a store of its own, with one worker that has not started.
struct Rig {
    jobs: Arc<Jobs>,
    store: Arc<Store>,
    clock: Arc<ManualClock>,
    directory: TempDir,
}

impl Rig {
    async fn new(config: JobsConfig) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let store = Arc::new(sqlite::open(&path).await.unwrap());
        let blobs = Blobs::local(&directory.path().join("blobs")).unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_milliseconds(1)));
        let ids = Arc::new(Ids::new(
            Arc::clone(&clock) as _,
            rand::rngs::StdRng::seed_from_u64(1),
        ));
        Self {
            jobs: Jobs::new(Arc::clone(&store), blobs, ids, config, None),
            store,
            clock,
            directory,
        }
    }

    /// A queued job with data of its own.
    async fn queued(&self) -> Job {
        let new = new_train(json!({"max_passes": 3}));
        self.jobs
            .worker
            .submit(new, Duration::ZERO, || {})
            .await
            .unwrap()
    }

    /// A queued job that computes until it is stopped.
    async fn queued_endless(&self) -> Job {
        let new = new_train(endless(3_600.0));
        self.jobs
            .worker
            .submit(new, Duration::ZERO, || {})
            .await
            .unwrap()
    }

    /// Claims the next job in the queue for this process, as a worker does.
    async fn claim(&self, lease_seconds: u32) -> Claim {
        let terms = ClaimTerms {
            lease_seconds,
            memory_bytes_max: u64::MAX,
        };
        let now = self.jobs.ids.now();
        let release = ReleaseTerms {
            deaths_max: 5,
            pause_seconds: 0.0,
        };
        self.store.release_expired(&release, now).await.unwrap();
        let claim = self
            .store
            .claim_job(&self.jobs.processes.id, &terms, now)
            .await;
        claim.unwrap().unwrap()
    }

    async fn until_running(&self, id: JobId) {
        let mut changes = self.jobs.queue.subscribe();
        let running = async {
            while self.job(id).await.status != Status::Running {
                self.jobs.queue.changed(&mut changes, id).await;
            }
        };
        tokio::time::timeout(TIMEOUT, running).await.unwrap();
    }

    async fn job(&self, id: JobId) -> Job {
        self.jobs.queue.job(&Owner::anonymous(), id).await.unwrap()
    }

    fn blob(&self, job: &Job) -> PathBuf {
        let key = job.data_key.as_deref().unwrap();
        self.directory.path().join("blobs").join(key)
    }

    async fn ended(&self, id: JobId) -> Job {
        let owner = Owner::anonymous();
        let job = self.jobs.queue.wait(&owner, id, TIMEOUT).await.unwrap();
        assert!(job.status.is_ended(), "{job:?}");
        job
    }

    async fn error_code(&self, id: JobId) -> String {
        let job = self.ended(id).await;
        assert_eq!(job.status, Status::Failed);
        job.error.unwrap().code
    }
}

impl Drop for Rig {
    /// The end of a runtime waits for all computations, even after a panic of the test.
    fn drop(&mut self) {
        self.jobs.hub.stop_all(Interrupt::Suspended);
        assert!(std::thread::panicking() || faults::are_met());
    }
}

/// A computation without a job service around it. The computation stops when a test fails.
struct IsolatedComputation(Computation);

impl Drop for IsolatedComputation {
    fn drop(&mut self) {
        self.0.run.stop.raise(Interrupt::Suspended);
    }
}

/// More passes than any machine makes in `seconds_max` seconds.
fn endless(seconds_max: f64) -> Value {
    json!({"max_passes": 1_u64 << 50, "max_seconds": seconds_max})
}

/// Checked work under the limits of the default settings.
fn resolved(
    spec: &JobSpec,
    seed: u64,
    sample: Option<JobSample>,
    model: Option<LoadedModel>,
) -> Result<CheckedTask, ResolveError> {
    let config = JobsConfig::default();
    let allowance = Allowance {
        resident_bytes: config.resident_bytes_max,
        seconds: config.seconds_default,
        ..Allowance::UNLIMITED
    };
    let inputs = Inputs {
        sample,
        model,
        ..Inputs::of(seed)
    };
    resolve(spec, inputs, &allowance)
}

/// A training on the exclusive or of two features. No hyperplane classifies XOR correctly.
fn new_train(stop: Value) -> NewJob {
    let mut matrix = BitMatrix::new(2);
    let mut labels = BitVector::zeros(16);
    for row in 0..16 {
        matrix.push_row(&[row % 4]);
        labels.set(row as usize, row % 4 == 1 || row % 4 == 2);
    }
    let data = Data::new(Features::Boolean(matrix), Labels::of_signs(labels));
    let spec = json!({
        "task": {"train": {"learner": {"name": "perceptron"}, "stop": stop, "trace": false}},
        "data": {"assume": null, "generated": null}
    });
    let spec: JobSpec = serde_json::from_value(spec).unwrap();
    let data_sha256 = Some(hex::encode(halfspace_formats::digest(
        &data, None, None, None,
    )));
    let work = resolved(&spec, 1, Some(data.into()), None).unwrap();
    let mut new = new_job(&spec, 1, work);
    new.job.data_sha256 = data_sha256;
    new
}

/// A job of the anonymous owner. The ids are in the order of the calls.
fn new_job(spec: &JobSpec, seed: u64, work: CheckedTask) -> NewJob {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let at = Timestamp::from_milliseconds(1);
    let ids = Ids::new(
        Arc::new(ManualClock::new(at)),
        rand::rngs::StdRng::seed_from_u64(number),
    );
    let mut new = NewJob::new(&ids, Owner::anonymous(), spec, seed, work);
    let mut random = [0; 10];
    random[..8].copy_from_slice(&number.to_be_bytes());
    new.job.id = JobId::new(at, random);
    new
}

#[cfg(unix)]
#[tokio::test]
async fn unreadable_data_delay_no_other_job_and_cost_an_attempt() {
    let rig = Rig::new(JobsConfig {
        lease_seconds: 3_600,
        ..JobsConfig::default()
    })
    .await;
    let unreadable = rig.queued().await;
    let path = rig.blob(&unreadable);
    std::fs::remove_file(&path).unwrap();
    // A link to itself cannot be opened, but the error differs from that of a missing file.
    std::os::unix::fs::symlink(&path, &path).unwrap();
    let good = rig.queued().await;
    rig.jobs.start();
    assert_eq!(rig.ended(good.id).await.status, Status::Succeeded);
    // Three events: queued, running and queued again.
    let given_back = async {
        let mut changes = rig.jobs.queue.subscribe();
        while rig
            .store
            .events(None, unreadable.id, 0, 9)
            .await
            .unwrap()
            .len()
            < 3
        {
            rig.jobs.queue.changed(&mut changes, unreadable.id).await;
        }
    };
    tokio::time::timeout(TIMEOUT, given_back).await.unwrap();
    let job = rig.job(unreadable.id).await;
    assert_eq!((job.status, job.attempt), (Status::Queued, 1));
    assert!(rig.jobs.stop(TIMEOUT).await);
}

#[cfg(unix)]
#[tokio::test]
async fn job_with_permanently_unreadable_data_fails() {
    let rig = Rig::new(JobsConfig {
        unread_pause: Duration::ZERO,
        attempts_max: 3,
        ..JobsConfig::default()
    })
    .await;
    let unreadable = rig.queued().await;
    let path = rig.blob(&unreadable);
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&path, &path).unwrap();
    rig.jobs.start();
    assert_eq!(rig.error_code(unreadable.id).await, "data-missing");
    assert_eq!(rig.job(unreadable.id).await.attempt, 3);
    assert!(rig.jobs.stop(TIMEOUT).await);
}

#[tokio::test]
async fn missing_or_changed_data_fail_their_job() {
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
    assert!(rig.jobs.stop(TIMEOUT).await);
    assert!(!path.exists());
}

#[tokio::test]
async fn job_insert_with_a_lost_answer_is_repeated() {
    let rig = Rig::new(JobsConfig::default()).await;
    faults::plan(INSERT_JOB, &[InjectedFault::LostAnswer]);
    let job = rig.queued().await;
    rig.jobs.start();
    assert_eq!(rig.ended(job.id).await.status, Status::Succeeded);
    assert!(rig.jobs.stop(TIMEOUT).await);
}

fn keyed(fingerprint: &str) -> NewJob {
    let claim = KeyClaim {
        key: "k".to_owned(),
        fingerprint: fingerprint.to_owned(),
        answer: None,
    };
    NewJob {
        key: Some(claim),
        ..new_train(json!({"max_passes": 3}))
    }
}

#[tokio::test]
async fn job_insert_with_a_lost_answer_holds_its_idempotency_key() {
    let rig = Rig::new(JobsConfig::default()).await;
    faults::plan(INSERT_JOB, &[InjectedFault::LostAnswer]);
    let job = rig
        .jobs
        .worker
        .submit(keyed("a"), Duration::ZERO, || {})
        .await
        .unwrap();
    // A later request under the same key is refused, whether it is queued or computed at once, and its data are
    // deleted.
    for timeout in [Duration::ZERO, TIMEOUT] {
        match rig.jobs.worker.submit(keyed("a"), timeout, || {}).await {
            Err(JobsError::KeyTaken(record)) => assert_eq!(record.thing, job.id.to_string()),
            other => panic!("{other:?}"),
        }
    }
    let blobs = rig.jobs.datasets.blobs.list("jobs").await.unwrap();
    assert_eq!(blobs.len(), 1);
    assert!(rig.blob(&job).exists());
}

#[tokio::test]
async fn idempotency_key_is_kept_for_a_day() {
    let rig = Rig::new(JobsConfig::default()).await;
    rig.jobs.sweep.once().await.unwrap();
    rig.jobs
        .worker
        .submit(keyed("a"), Duration::ZERO, || {})
        .await
        .unwrap();
    let mut hours = 0;
    loop {
        rig.jobs.sweep.once().await.unwrap();
        let key = rig.store.idempotency_key(&Owner::anonymous(), "k").await;
        if key.unwrap().is_none() {
            break;
        }
        rig.clock.advance_milliseconds(HOUR_MS);
        hours += 1;
    }
    // Times are remembered by the hour.
    assert_eq!(hours, KEPT_MS / HOUR_MS + 1);
    rig.jobs
        .worker
        .submit(keyed("b"), Duration::ZERO, || {})
        .await
        .unwrap();
}

#[tokio::test]
async fn job_insert_of_unknown_outcome_keeps_the_data() {
    let rig = Rig::new(JobsConfig::default()).await;
    faults::plan(
        INSERT_JOB,
        &[InjectedFault::LostAnswer, InjectedFault::Unavailable],
    );
    let new = new_train(json!({"max_passes": 3}));
    assert!(
        rig.jobs
            .worker
            .submit(new, Duration::ZERO, || {})
            .await
            .is_err()
    );
    let job = rig.claim(0).await.job;
    assert!(rig.blob(&job).exists());
    rig.jobs.start();
    assert_eq!(rig.ended(job.id).await.status, Status::Succeeded);
    assert!(rig.jobs.stop(TIMEOUT).await);
}

#[tokio::test]
async fn job_end_with_a_lost_answer_deletes_the_data() {
    let rig = Rig::new(JobsConfig::default()).await;
    let job = rig.queued().await;
    faults::plan("SET status = $5, result", &[InjectedFault::LostAnswer]);
    rig.jobs.start();
    assert_eq!(rig.ended(job.id).await.status, Status::Succeeded);
    assert!(rig.jobs.stop(TIMEOUT).await);
    assert!(!rig.blob(&job).exists());
}

#[tokio::test]
async fn suspended_job_is_requeued_after_store_errors() {
    let rig = Rig::new(JobsConfig::default()).await;
    let job = rig.queued_endless().await;
    rig.jobs.start();
    rig.until_running(job.id).await;
    faults::plan(
        "switch_seconds = COALESCE",
        &[InjectedFault::Unavailable; 2],
    );
    assert!(rig.jobs.stop(TIMEOUT).await);
    let job = rig.job(job.id).await;
    assert_eq!((job.status, job.attempt), (Status::Queued, 0));
}

#[tokio::test]
async fn cancel_is_obeyed_while_a_job_reads_its_data() {
    // No heartbeat reports the cancellation.
    let rig = Rig::new(JobsConfig {
        lease_seconds: 3_600,
        progress_interval: TIMEOUT * 100,
        ..JobsConfig::default()
    })
    .await;
    let id = rig.queued_endless().await.id;
    let leased_at = tokio::time::Instant::now();
    let claim = rig.claim(3_600).await;
    let permit = Arc::clone(&rig.jobs.worker.permits)
        .try_acquire_owned()
        .unwrap();
    let run = rig.jobs.worker.run_claim(claim, leased_at, permit);
    let owner = Owner::anonymous();
    // The run is polled first and reaches the reading of its data.
    let both = async { tokio::join!(biased; run, rig.jobs.queue.cancel(&owner, id)) };
    let ((), cancelled) = tokio::time::timeout(TIMEOUT, both).await.unwrap();
    assert!(cancelled.unwrap().1);
    assert_eq!(rig.job(id).await.status, Status::Cancelled);
}

#[tokio::test]
async fn time_limit_ends_a_computation_that_nothing_awaits() {
    let permits = Arc::new(tokio::sync::Semaphore::new(1));
    let permit = Arc::clone(&permits).try_acquire_owned().unwrap();
    let work = new_train(endless(0.01)).work;
    let memory = MemoryBudget::unlimited().try_take(0).unwrap();
    let permit = PermitSlot::new(permit);
    let rig = Rig::new(JobsConfig::default()).await;
    let job = rig.queued().await;
    let start_state = StartState::default();
    let computation = rig
        .jobs
        .worker
        .threads
        .compute(&job, work, start_state, permit, memory);
    let computation = IsolatedComputation(computation);
    let ended = tokio::time::timeout(TIMEOUT, permits.acquire()).await;
    assert!(ended.is_ok());
    assert_eq!(computation.0.run.stop.raised(), Some(Interrupt::TimeLimit));
}
