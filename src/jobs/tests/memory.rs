//! Memory: jobs stay within their bounds, and without enough memory they wait, are refused or fail.

use bytes::Bytes;
use halfspace_core::bits::SparseMatrix;
use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_core::learners::engine::run::{Run, StopFlag};
use halfspace_core::learners::engine::shared_work::FixedSeats;
use halfspace_core::learners::sample::data::RealMatrix;
use halfspace_core::learners::sample::examples::Examples;
use halfspace_formats::{Buffers, StoredExamples};

use super::yielding::job_of;
use super::*;
use crate::jobs::tasks::task::About;
use crate::jobs::tasks::{Task as _, Train};
use crate::records::queue::WaitsFor;
use crate::records::task::TaskSpec;

const MIB: u64 = 1 << 20;

/// The features with pseudo-random labels, three quarters of them positive.
fn labelled(features: Features) -> Data {
    let rows = features.rows();
    let mut labels = BitVector::zeros(rows);
    (0..rows).for_each(|row| labels.set(row, (row * 2_654_435_761) >> 7 & 3 != 0));
    Data::new(features, Labels::of_signs(labels))
}

fn boolean(n: usize, rows: usize) -> Data {
    let mut matrix = BitMatrix::new(n);
    let words = n.div_ceil(64);
    let mut state = 1_u64;
    for _ in 0..rows {
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state.rotate_left(17)
        };
        let mut row: Vec<u64> = (0..words).map(|_| next()).collect();
        if !n.is_multiple_of(64) {
            row[words - 1] &= (1 << (n % 64)) - 1;
        }
        matrix.push_row(&row);
    }
    labelled(Features::Boolean(matrix))
}

fn real(n: usize, rows: usize) -> Data {
    let values = (0..n * rows).map(|at| (at * 7_919 % 1_009) as f64 / 1_009.0);
    labelled(Features::Real(RealMatrix::from_values(n, values.collect())))
}

/// The data as a stored blob, which is read as a whole up to `whole_bytes_max` bytes.
fn stored(data: &Data, whole_bytes_max: u64) -> JobSample {
    let mut bytes = Vec::new();
    halfspace_formats::write_blocks(data, None, None, None, &mut bytes).unwrap();
    let buffers = Buffers {
        whole_bytes_max,
        window_bytes: whole_bytes_max.min(MIB),
    };
    let (source, digest) = (
        Box::new(Bytes::from(bytes)),
        halfspace_formats::digest(data, None, None, None),
    );
    let opened = StoredExamples::open(source, digest, buffers, StopFlag::default());
    JobSample::Stored(Arc::new(opened.unwrap()))
}

/// A data description without declarations.
fn no_data() -> Value {
    json!({"assume": null, "generated": null})
}

/// A job of the anonymous owner.
fn job(task: &Value, sample: Data) -> NewJob {
    let mut new = job_of(task.clone(), Some(sample), None);
    new.job.owner = Owner::anonymous();
    new
}

/// Checked work that holds data up to `resident_bytes` as a whole.
fn work(
    spec: &JobSpec,
    sample: JobSample,
    model: Option<LoadedModel>,
    resident_bytes: u64,
) -> Result<CheckedTask, ResolveError> {
    let allowance = Allowance {
        resident_bytes,
        ..Allowance::UNLIMITED
    };
    let inputs = Inputs {
        sample: Some(sample),
        model,
        ..Inputs::of(7)
    };
    resolve(spec, inputs, &allowance)
}

/// Computes within the bound alone, and returns the peak before the documents.
fn peak(work: &CheckedTask, bound: u64, run: &Run) -> u64 {
    let budget = MemoryBudget::new(1 << 40);
    let grant = budget.try_take(bound).unwrap();
    let clock = Arc::new(ManualClock::new(Timestamp::from_milliseconds(1)));
    let ids = Ids::new(clock, rand::rngs::StdRng::seed_from_u64(1));
    let job = Job::queued(
        ids.id(),
        Owner::anonymous(),
        "train",
        Value::Null,
        7,
        Timestamp::from_milliseconds(1),
    );
    let mut peak = 0;
    let mut about = || {
        peak = grant.peak();
        About {
            ids: &ids,
            job: &job,
            seconds: 0.0,
        }
    };
    let computed = grant.within(|| work.task.compute(None, run, &mut about));
    computed.unwrap();
    assert!(peak > 0);
    peak
}

/// Asserts that the peak is within the bound, and prints both.
fn check(what: &str, work: &CheckedTask) {
    let bound = work.demand.memory_bytes;
    // Helpers help with work of any size.
    let helped = Run {
        stop: StopFlag::with_helpers(Arc::new(FixedSeats::new(2, 0))),
        ..Run::default()
    };
    for (run, threads) in [(Run::default(), 1), (helped, 3)] {
        let peak = peak(work, bound, &run);
        println!(
            "{what}, {threads} threads: {} of {} KiB",
            peak >> 10,
            bound >> 10
        );
        assert!(
            peak <= bound,
            "{what}, {threads} threads: {peak} of {bound} bytes"
        );
    }
}

#[test]
fn every_learner_keeps_to_its_memory_bound() {
    let resident = 64 * MIB;
    let (dense, wide, numbers) = (boolean(65, 4_000), boolean(4_001, 500), real(40, 1_000));
    // Few features are active, as kernel Winnow expects.
    let mut rows = BitMatrix::new(64);
    (0..4_000).for_each(|row| rows.push_row(&[0b1011 << (row % 60)]));
    let sparse = labelled(Features::Boolean(rows));
    for entry in CATALOGUE {
        let task = json!({"train": {
            "learner": {"name": entry.name},
            "stop": {"max_passes": 3, "max_examples": 12_000},
            "trace": true,
        }});
        let spec = json!({"task": task, "data": no_data()});
        let spec: JobSpec = serde_json::from_value(spec).unwrap();
        let mut tried = 0;
        for data in [dense.clone(), wide.clone(), sparse.clone(), numbers.clone()] {
            for whole_bytes_max in [resident, 0] {
                let sample = stored(&data, whole_bytes_max);
                // Not every learner accepts every sample.
                let Ok(work) = work(&spec, sample, None, whole_bytes_max) else {
                    continue;
                };
                check(entry.name, &work);
                tried += 1;
            }
        }
        assert!(tried > 0, "{} took no sample", entry.name);
    }
}

#[test]
fn sparse_data_in_parts_keep_to_a_bound_below_their_size() {
    let params = json!({"reading": "unsigned"});
    let train =
        json!({"learner": {"name": "perceptron", "params": params}, "stop": {"max_passes": 2}});
    let spec = json!({"task": {"train": train}, "data": no_data()});
    let spec: JobSpec = serde_json::from_value(spec).unwrap();
    for (rows, active) in [(2_000_000, 1), (100_000, 100), (2_000, 15_000)] {
        let n = active * 3;
        let mut matrix = SparseMatrix::new(n, false);
        for row in 0..rows {
            (0..active).for_each(|at| matrix.push((3 * at + row % 3) as u32, 1.0));
            matrix.end_row();
        }
        let data = labelled(Features::Sparse(matrix));
        let work = work(&spec, stored(&data, MIB), None, MIB).unwrap();
        check(&format!("{rows} rows of {active}"), &work);
        let (bound, whole) = (work.demand.memory_bytes, data.shape().memory_bytes());
        assert!(bound < whole, "{bound} of {whole} bytes");
    }
}

#[test]
fn every_question_about_a_sample_keeps_to_its_memory_bound() {
    for (name, data) in [
        ("separability", boolean(40, 400)),
        ("separability", boolean(600, 300)),
        ("separability", real(10, 300)),
        ("separability", boolean(9, 100_000)),
        ("maximum_margin", boolean(100, 40)),
        ("maximum_margin", real(60, 20)),
        ("maximum_margin", boolean(600, 30)),
        ("version_space", boolean(16, 10_000)),
    ] {
        let task = match name {
            "version_space" => json!({name: {"list": 100, "max_seconds": 2}}),
            "separability" => {
                json!({name: {"bias": true, "convention": "strict", "max_seconds": 2}})
            }
            _ => json!({name: {"bias": true, "max_seconds": 2}}),
        };
        let what = format!("{name} {:?}", data.features().n());
        let spec = json!({"task": task, "data": no_data()});
        let spec = serde_json::from_value(spec).unwrap();
        check(&what, &work(&spec, stored(&data, 0), None, 0).unwrap());
    }
}

#[test]
fn evaluation_keeps_to_its_memory_bound_for_each_kind() {
    for learner in ["kernel-perceptron", "perceptron", "directed-drift"] {
        evaluation_keeps_to_its_bound(learner);
    }
}

fn evaluation_keeps_to_its_bound(learner: &str) {
    let train = json!({"learner": {"name": learner}, "stop": {"max_passes": 1}, "trace": false});
    let spec = json!({"task": {"train": train}, "data": no_data()});
    let spec: JobSpec = serde_json::from_value(spec).unwrap();
    let TaskSpec::Train(train) = &spec.task else {
        panic!("a training");
    };
    let inputs = Inputs {
        sample: Some(boolean(200, 2_000).into()),
        ..Inputs::of(7)
    };
    let mut train = Train::new(train, &spec.data, inputs).unwrap();
    train.check(&Allowance::UNLIMITED).unwrap();
    let trained = train.run(None, &Run::default()).unwrap();
    let model = LoadedModel::from(trained.outcome.predictor);
    let id = crate::records::ModelId::new(Timestamp::from_milliseconds(1), [1; 10]);
    let spec = json!({"task": {"evaluate": {"model": id}}, "data": no_data()});
    let spec: JobSpec = serde_json::from_value(spec).unwrap();
    for whole_bytes_max in [64 * MIB, 0] {
        let sample = stored(&boolean(200, 20_000), whole_bytes_max);
        let work = work(&spec, sample, Some(model.clone()), whole_bytes_max).unwrap();
        check("evaluate", &work);
    }
}

#[tokio::test]
async fn job_that_never_fits_in_memory_is_refused() {
    let rig = Rig::new(with_memory(4 * MIB)).await;
    let new = |rows| {
        let task = json!({"train": {"learner": {"name": "perceptron"}, "stop": {"max_passes": 1}, "trace": false}});
        let sample = boolean(640, rows);
        job(&task, sample)
    };
    let refused = rig
        .jobs
        .worker
        .submit(new(100_000), Duration::ZERO, || {})
        .await;
    assert!(matches!(refused, Err(JobsError::NoMemory(full)) if full.is_final()));
    assert!(
        rig.jobs
            .worker
            .submit(new(10_000), Duration::ZERO, || {})
            .await
            .is_ok()
    );
}

/// Settings with one worker and a memory budget of `bytes`.
fn with_memory(bytes: u64) -> JobsConfig {
    JobsConfig {
        memory: MemoryBudget::new(bytes),
        ..JobsConfig::default()
    }
}

#[tokio::test]
async fn claim_passes_over_a_job_that_does_not_fit_in_memory_now() {
    for is_patient in [true, false] {
        let config = JobsConfig {
            passed_over_max: Duration::from_secs(if is_patient { 3_600 } else { 0 }),
            ..with_memory(64 * MIB)
        };
        let rig = Rig::new(config).await;
        let memory = rig.jobs.config.memory.clone();
        let other = memory.try_take(40 * MIB).unwrap();
        let task = json!({"train": {"learner": {"name": "perceptron"}, "stop": {"max_passes": 1}, "trace": false}});
        let mut ids = Vec::new();
        for rows in [300_000, 40_000, 1_000] {
            let sample = boolean(640, rows);
            let new = job(&task, sample);
            ids.push(rig.submit(new).await.id);
        }
        rig.jobs.processes.report().await.unwrap();
        rig.jobs.start();
        assert_eq!(rig.ended(ids[2]).await.status, Status::Succeeded);
        // This large job waits behind the job that was passed over for too long.
        if is_patient {
            assert_eq!(rig.ended(ids[1]).await.status, Status::Succeeded);
        } else {
            assert_waits_for_memory(&rig, ids[1]).await;
        }
        assert_waits_for_memory(&rig, ids[0]).await;
        drop(other);
        for id in ids {
            let job = rig.ended(id).await;
            assert_eq!((job.status, job.attempt), (Status::Succeeded, 1));
        }
        assert!(rig.jobs.stop(TIMEOUT).await);
        assert_eq!(memory.taken(), 0);
    }
}

async fn assert_waits_for_memory(rig: &Rig, id: JobId) {
    let job = rig.job(id).await;
    assert_eq!(job.status, Status::Queued);
    let place = rig
        .jobs
        .queue
        .place(&job, &rig.jobs.processes)
        .await
        .unwrap();
    assert_eq!(place.waits_for, WaitsFor::Memory);
}

#[tokio::test]
async fn a_job_that_grows_beyond_the_memory_fails_as_memory() {
    let rig = Rig::new(with_memory(5 * MIB / 2)).await;
    let task = json!({"train": {
        "learner": {"name": "kernel-perceptron"},
        "stop": {"max_passes": 1_000},
        "trace": false,
    }});
    // Equal examples have different labels, so every pass has mistakes, and each mistake adds a support vector.
    let sample = boolean(10, 2_200);
    let new = job(&task, sample);
    let id = rig.submit(new).await.id;
    rig.jobs.start();
    assert_eq!(rig.error_code(id).await, "memory");
    assert_eq!(rig.jobs.config.memory.taken(), 0);
}
