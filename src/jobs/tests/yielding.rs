//! Preemption: running jobs yield to others, and a preempted job ends as if it had not been disturbed.

use halfspace_core::learners::catalogue::CATALOGUE;
use serde_json::Map;

use super::*;
use crate::jobs::worker::solitude::Solitude;
use crate::records::{Event, EventKind};
use crate::storage::Alone;

/// Settings under which jobs yield after a few milliseconds.
fn hasty(workers: usize) -> JobsConfig {
    JobsConfig {
        workers,
        slice: Duration::from_millis(20),
        progress_interval: Duration::from_millis(5),
        checkpoint_every: Duration::from_secs(3_600),
        ..JobsConfig::default()
    }
}

/// A job of owner a.
pub(super) fn job_of(task: Value, sample: Option<Data>, model: Option<LoadedModel>) -> NewJob {
    let spec = json!({"task": task, "data": {"assume": null, "generated": null}});
    let spec: JobSpec = serde_json::from_value(spec).unwrap();
    let data_sha256 = sample
        .as_ref()
        .map(|data| hex::encode(halfspace_formats::digest(data, None, None, None)));
    let sample = sample.map(Into::into);
    let work = resolved(&spec, 7, sample, model).unwrap();
    let mut new = new_job(&spec, 7, work);
    new.job.owner = Owner::new("a");
    new.job.data_sha256 = data_sha256;
    new
}

pub(super) fn of_owner(owner: &str, mut new: NewJob) -> NewJob {
    new.job.owner = Owner::new(owner);
    new
}

impl Rig {
    pub(super) async fn submit(&self, new: NewJob) -> Job {
        self.jobs
            .worker
            .submit(new, Duration::ZERO, || {})
            .await
            .unwrap()
    }

    async fn events_of(&self, job: &Job) -> Vec<Event> {
        self.store.events(None, job.id, 0, 10_000).await.unwrap()
    }

    pub(super) async fn end_of(&self, job: &Job) -> Job {
        let ended = self
            .jobs
            .queue
            .wait(&job.owner, job.id, TIMEOUT)
            .await
            .unwrap();
        assert!(ended.status.is_ended(), "{ended:?}");
        ended
    }

    pub(super) async fn until(&self, what: &str, is_so: impl AsyncFn() -> bool) {
        let so = async {
            while !is_so().await {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = tokio::time::timeout(TIMEOUT, so).await;
        waited.unwrap_or_else(|_| panic!("waited too long for {what}"));
    }
}

#[tokio::test]
async fn short_jobs_go_before_long_ones_of_the_same_owner_and_of_others() {
    for (workers, owner) in [(1, "a"), (1, "b"), (2, "a"), (2, "b")] {
        let rig = Rig::new(hasty(workers)).await;
        rig.jobs.start();
        let mut long = Vec::new();
        for _ in 0..3 * workers {
            long.push(rig.submit(of_owner("a", new_train(endless(3_600.0)))).await);
        }
        rig.until("the permits to be taken", async || {
            rig.jobs.worker.permits.available_permits() == 0
        })
        .await;
        // Owner a then leads any other owner by more than `LEAD_SECONDS_MAX`.
        rig.store.pay(&[(Owner::new("a"), 60.0)]).await.unwrap();
        for _ in 0..5 {
            let short = of_owner(owner, new_train(json!({"max_passes": 3})));
            let ended = rig.end_of(&rig.submit(short).await).await;
            assert_eq!((ended.status, ended.attempt), (Status::Succeeded, 1));
        }
        let stopped = rig.jobs.stop(TIMEOUT).await;
        assert!(stopped);
        for job in &long {
            let job = rig.jobs.queue.job(&job.owner, job.id).await.unwrap();
            assert_eq!(
                (job.status, job.attempt),
                (Status::Queued, 0),
                "{workers}, {owner}"
            );
        }
    }
}

#[tokio::test]
async fn job_yields_to_no_later_job_of_the_same_length() {
    let rig = Rig::new(hasty(1)).await;
    rig.jobs.start();
    let job = rig.submit(new_train(endless(0.3))).await;
    // The second job is as long as the first and comes later.
    let other = rig.submit(new_train(endless(0.3))).await;
    for job in [job, other] {
        let ended = rig.end_of(&job).await;
        let told = rig.events_of(&job).await;
        let statuses = told.iter().filter(|event| event.kind == EventKind::Status);
        assert_eq!(statuses.count(), 3, "{told:?}");
        assert_eq!(ended.attempt, 1);
    }
    assert!(rig.jobs.stop(TIMEOUT).await);
}

#[tokio::test]
async fn suspects_of_one_death_run_one_after_the_other() {
    for workers in [2, 3] {
        let rig = Rig::new(hasty(workers)).await;
        let terms = ReleaseTerms {
            deaths_max: 5,
            pause_seconds: 0.0,
        };
        let mut suspects = Vec::new();
        for _ in 0..workers {
            suspects.push(rig.queued().await);
        }
        for _ in 0..2 {
            for _ in &suspects {
                rig.claim(60).await;
            }
            let now = rig.jobs.ids.now();
            let released = rig.store.release_all_leases(&terms, now).await;
            assert_eq!(released.unwrap(), workers as u64);
        }
        rig.jobs.start();
        for job in &suspects {
            assert_eq!(rig.end_of(job).await.status, Status::Succeeded);
        }
        assert!(rig.jobs.stop(TIMEOUT).await);
    }
}

#[tokio::test]
async fn refused_suspect_keeps_the_solitude_of_the_first_one() {
    let rig = Rig::new(hasty(2)).await;
    let begin = || Solitude::begin(&rig.jobs.worker, Alone { death_seconds: 0.0 });
    let has_suspect = || rig.jobs.worker.has_suspect.load(Ordering::Relaxed);
    let first = begin().unwrap();
    assert!(begin().is_none() && has_suspect());
    drop(first);
    assert!(!has_suspect() && begin().is_some());
}

/// Labelled examples with `n` random features. The label is the majority of the bits.
pub(super) fn sample(n: usize, examples: usize) -> Data {
    let mut matrix = BitMatrix::new(n);
    let mut labels = BitVector::zeros(examples);
    let mut random = rand::rngs::StdRng::seed_from_u64(3);
    for row in 0..examples {
        let bits = rand::RngExt::random::<u64>(&mut random) >> (64 - n);
        matrix.push_row(&[bits]);
        let majority = bits.count_ones() as usize > n / 2;
        // Every ninth label is wrong, so that no learner converges early.
        labels.set(row, majority != (row % 9 == 0));
    }
    Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
}

/// The fields of a result that do not depend on time.
pub(super) fn settled(job: &Job) -> Value {
    let mut result = job.result.clone().unwrap();
    for changing in ["model", "seconds", "job"] {
        forget(&mut result, changing);
    }
    result
}

fn forget(document: &mut Value, field: &str) {
    match document {
        Value::Array(items) => items.iter_mut().for_each(|item| forget(item, field)),
        Value::Object(fields) => {
            fields.remove(field);
            fields.values_mut().for_each(|value| forget(value, field));
        }
        _ => {}
    }
}

/// Sums over the jobs of a test.
#[derive(Debug, Default)]
struct Preempted {
    /// Short jobs that ended while a long job was running on the only worker.
    parkings: usize,
    /// Number of times that a job went back to the queue with its state.
    requeues: usize,
    /// Computed seconds of the undisturbed jobs, and of the same jobs when preempted.
    seconds: [f64; 2],
}

impl Preempted {
    /// Runs a job alone, and then beside short jobs of its owner on the only worker.
    async fn compare(&mut self, name: &str, rig: &Rig, new: impl Fn() -> NewJob) {
        let undisturbed = rig.submit(new()).await;
        let undisturbed = rig.end_of(&undisturbed).await;
        let disturbed = rig.submit(new()).await;
        for short in 0.. {
            assert!(short < 10_000, "{name}");
            let other = of_owner("a", new_train(json!({"max_passes": 1})));
            rig.end_of(&rig.submit(other).await).await;
            let long = rig.job_of(&disturbed).await;
            if long.status.is_ended() {
                break;
            }
            self.parkings += usize::from(long.status == Status::Running);
        }
        let disturbed = rig.end_of(&disturbed).await;
        assert_eq!(settled(&disturbed), settled(&undisturbed), "{name}");
        assert_eq!(disturbed.attempt, 1);
        let events = rig.events_of(&disturbed).await;
        let runs = events
            .iter()
            .filter(|event| event.body["status"] == "running");
        self.requeues += runs.count() - 1;
        for (sum, job) in self.seconds.iter_mut().zip([undisturbed, disturbed]) {
            let result = job.result.unwrap_or_default();
            *sum += result["seconds"].as_f64().unwrap_or(0.0);
        }
    }
}

#[tokio::test]
async fn a_preempted_training_of_every_learner_ends_as_if_undisturbed() {
    let rig = Rig::new(hasty(1)).await;
    rig.jobs.start();
    let mut preempted = Preempted::default();
    for entry in CATALOGUE {
        let task = json!({"train": {
            "learner": {"name": entry.name, "params": Map::new()},
            "stop": {"max_examples": 30_000, "max_passes": 1_u64 << 40},
            "trace": true,
        }});
        let new = || job_of(task.clone(), Some(sample(13, 100)), None);
        preempted.compare(entry.name, &rig, new).await;
    }
    assert!(rig.jobs.stop(TIMEOUT).await);
    println!("{preempted:?}");
}

#[tokio::test]
async fn a_preempted_job_of_every_other_task_ends_as_if_undisturbed() {
    let rig = Rig::new(hasty(1)).await;
    rig.jobs.start();
    let training = json!({"learner": {"name": "kernel-perceptron"}, "stop": {"max_passes": 3},
        "trace": false});
    let trained = job_of(json!({"train": training}), Some(sample(40, 3_000)), None);
    let trained = rig.end_of(&rig.submit(trained).await).await;
    let model = trained.model.unwrap();
    let owner = Owner::new("a");
    let loaded = rig.jobs.models.load(&owner, model).await.unwrap();
    let slow = json!({"learner": {"name": "kernel-perceptron"}, "trace": false,
        "stop": {"max_examples": 3_000, "max_passes": 1_u64 << 40}});
    let mut preempted = Preempted::default();
    for (name, task, sample) in [
        ("evaluate", json!({"model": model}), Some(sample(40, 6_000))),
        (
            "separability",
            json!({"bias": true, "convention": "strict"}),
            Some(sample(40, 2_000)),
        ),
        (
            "maximum_margin",
            json!({"bias": true}),
            Some(sample(40, 2_000)),
        ),
        ("version_space", json!({"list": 100}), Some(sample(24, 40))),
        (
            "grid",
            json!({"train": slow, "over": {"seed": [1, 2, 3]}}),
            Some(sample(40, 3_000)),
        ),
        (
            "experiment",
            json!({"name": "mistake-bound-sweep", "params": {"runs": 200}}),
            None,
        ),
    ] {
        let before = preempted.parkings + preempted.requeues;
        let model = (name == "evaluate").then(|| loaded.clone());
        let new = || job_of(json!({name: task.clone()}), sample.clone(), model.clone());
        preempted.compare(name, &rig, new).await;
        println!(
            "{name}: {} preemptions",
            preempted.parkings + preempted.requeues - before
        );
    }
    assert!(rig.jobs.stop(TIMEOUT).await);
    println!("{preempted:?}");
}

impl Rig {
    async fn job_of(&self, job: &Job) -> Job {
        self.jobs.queue.job(&job.owner, job.id).await.unwrap()
    }
}
