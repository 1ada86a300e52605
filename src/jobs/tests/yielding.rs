//! How running jobs yield to others, and what preempted jobs come to.

use serde_json::Map;

use super::*;
use crate::learners::catalogue::CATALOGUE;
use crate::records::{Event, EventKind};

/// Jobs that yield after a few milliseconds.
fn hasty(workers: usize) -> JobsConfig {
    JobsConfig {
        workers,
        slice: Duration::from_millis(20),
        progress_interval: Duration::from_millis(5),
        checkpoint_every: Duration::from_secs(3_600),
        ..JobsConfig::default()
    }
}

/// A training of an owner, by its task and its data.
pub(super) fn job_of(owner: &str, task: Value, data: Value, sample: Option<Data>) -> NewJob {
    let spec = json!({"task": task, "data": data});
    let spec: JobSpec = serde_json::from_value(spec).unwrap();
    let data_sha256 = sample.as_ref().map(|data| hex(&formats::digest(data)));
    let sample = sample.map(Into::into);
    let work = resolve(&spec, 7, sample, None, Allowance::UNLIMITED).unwrap();
    NewJob {
        owner: Owner::new(owner),
        spec,
        seed: 7,
        work: Arc::new(work),
        data_sha256,
        ..new_train(json!({}))
    }
}

fn of_owner(owner: &str, new: NewJob) -> NewJob {
    NewJob {
        owner: Owner::new(owner),
        ..new
    }
}

impl Rig {
    pub(super) async fn submit(&self, new: NewJob) -> Job {
        self.jobs.submit(new, Duration::ZERO).await.unwrap()
    }

    async fn events_of(&self, job: &Job) -> Vec<Event> {
        self.store.events(None, job.id, 0, 10_000).await.unwrap()
    }

    pub(super) async fn end_of(&self, job: &Job) -> Job {
        let ended = self.jobs.wait(&job.owner, job.id, PATIENCE).await.unwrap();
        assert!(ended.status.is_ended(), "{ended:?}");
        ended
    }

    async fn until(&self, what: &str, is_so: impl AsyncFn() -> bool) {
        let so = async {
            while !is_so().await {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, so).await;
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
            rig.jobs.permits.available_permits() == 0
        })
        .await;
        // So that another owner leads by more than one second.
        rig.store.pay(&[(Owner::new("a"), 60.0)]).await.unwrap();
        for _ in 0..5 {
            let short = of_owner(owner, new_train(json!({"max_passes": 3})));
            let ended = rig.end_of(&rig.submit(short).await).await;
            assert_eq!((ended.status, ended.attempt), (Status::Succeeded, 1));
        }
        let stopped = rig.jobs.stop(PATIENCE).await;
        assert!(stopped);
        for job in &long {
            let job = rig.jobs.job(&job.owner, job.id).await.unwrap();
            assert_eq!(
                (job.status, job.attempt),
                (Status::Queued, 0),
                "{workers}, {owner}"
            );
        }
    }
}

#[tokio::test]
async fn a_job_without_a_waiting_one_never_yields() {
    let rig = Rig::new(hasty(1)).await;
    rig.jobs.start();
    let job = rig.submit(new_train(endless(0.3))).await;
    // As long, and later.
    let other = rig.submit(new_train(endless(0.3))).await;
    for job in [job, other] {
        let ended = rig.end_of(&job).await;
        let told = rig.events_of(&job).await;
        let statuses = told.iter().filter(|event| event.kind == EventKind::Status);
        assert_eq!(statuses.count(), 3, "{told:?}");
        assert_eq!(ended.attempt, 1);
    }
    assert!(rig.jobs.stop(PATIENCE).await);
}

/// Half-space examples of one weight vector, none of them zero.
fn sample(n: usize, examples: usize) -> Data {
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
    Data::new(Features::Boolean(matrix), Labels::Labelled(labels))
}

/// What must be the same whenever a job is run.
fn settled(job: &Job) -> Value {
    let mut result = job.result.clone().unwrap();
    for changing in ["model", "seconds"] {
        if let Some(value) = result.get_mut(changing) {
            *value = Value::Null;
        }
    }
    result
}

/// Every learner, preempted again and again by short jobs of its owner, ends as if undisturbed.
#[tokio::test]
async fn a_preempted_training_of_every_learner_ends_as_if_undisturbed() {
    let data = json!({"assume": null, "generated": null});
    let mut went_back = 0;
    for entry in CATALOGUE {
        let task = json!({"train": {
            "learner": {"name": entry.name, "params": Map::new()},
            "stop": {"max_examples": 30_000, "max_passes": 1_u64 << 40},
            "trace": true,
        }});
        let new = || job_of("a", task.clone(), data.clone(), Some(sample(13, 100)));
        let rig = Rig::new(hasty(1)).await;
        let undisturbed = rig.submit(new()).await;
        rig.jobs.start();
        let undisturbed = rig.end_of(&undisturbed).await;
        let disturbed = rig.submit(new()).await;
        let mut short = 0;
        while !rig.job_of(&disturbed).await.status.is_ended() {
            let other = rig
                .submit(of_owner("a", new_train(json!({"max_passes": 1}))))
                .await;
            rig.end_of(&other).await;
            short += 1;
            assert!(short < 10_000, "{}", entry.name);
        }
        let disturbed = rig.end_of(&disturbed).await;
        assert_eq!(settled(&disturbed), settled(&undisturbed), "{}", entry.name);
        assert_eq!(disturbed.attempt, 1);
        let claims = rig.events_of(&disturbed).await;
        let begun = claims
            .iter()
            .filter(|event| event.body["status"] == "running");
        went_back += begun.count() - 1;
        assert!(rig.jobs.stop(PATIENCE).await);
    }
    // Some were stored and claimed again; the others were parked, which leaves no trace.
    println!("{went_back} preemptions");
}

impl Rig {
    async fn job_of(&self, job: &Job) -> Job {
        self.jobs.job(&job.owner, job.id).await.unwrap()
    }
}
