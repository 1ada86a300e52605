//! Tests that the layout of the examples changes nothing: every learner gives the same result on sparse and on dense
//! rows.

mod states;

use std::sync::Arc;

use halfspace_core::bits::{BitMatrix, BitVector, SparseMatrix, SparseRow};
use halfspace_core::learners::catalogue::{CATALOGUE, find};
use halfspace_core::learners::decision::Decision;
use halfspace_core::learners::engine::check::check;
use halfspace_core::learners::engine::committee::Multiclass;
use halfspace_core::learners::engine::entry::LearnerEntry;
use halfspace_core::learners::engine::evaluate::evaluate;
use halfspace_core::learners::engine::holdout::HeldOut;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{HelperSeats, Run, RunLimits, StopFlag};
use halfspace_core::learners::engine::shared_work::FixedSeats;
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::{train, train_from};
use halfspace_core::learners::predict::{check_fit, for_each_decisions};
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::learners::sample::classes::{ClassCodes, planes_for};
use halfspace_core::learners::sample::data::{Data, Features, Labels, RealMatrix};
use halfspace_core::learners::sample::source::Presentation;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};

use states::States;

/// The same examples with sparse rows and with dense ones.
struct Twins {
    sparse: Data,
    dense: Data,
}

impl Twins {
    /// Random examples of two classes whose labels follow few of the features, some of them wrongly.
    fn new(random: &mut Xoshiro256PlusPlus, n: usize, examples: usize, is_real: bool) -> Self {
        Self::of_classes(random, 2, n, examples, is_real)
    }

    fn of_classes(
        random: &mut Xoshiro256PlusPlus,
        classes: u32,
        n: usize,
        examples: usize,
        is_real: bool,
    ) -> Self {
        let mut sparse = SparseMatrix::new(n, is_real);
        let (mut bits, mut values) = (BitMatrix::new(n), Vec::new());
        let mut codes = Vec::new();
        let density = random.random_range(0.02..0.4);
        for _ in 0..examples {
            let active = |id: &u32| (*id, random.random::<f64>() < density);
            let ids = (0..n as u32).collect::<Vec<_>>();
            let ids: Vec<u32> = ids
                .iter()
                .map(active)
                .filter(|one| one.1)
                .map(|one| one.0)
                .collect();
            let own: Vec<f64> = ids.iter().map(|_| random.random_range(-8.0..8.0)).collect();
            let row_values = is_real.then_some(own.as_slice());
            sparse.push_row(SparseRow {
                ids: &ids,
                values: row_values,
            });
            let mut dense = vec![0.0; n];
            let mut packed = BitVector::zeros(n);
            for (&id, value) in ids.iter().zip(&own) {
                dense[id as usize] = *value;
                packed.set(id as usize, true);
            }
            values.extend(dense);
            bits.push_row(packed.words());
            let code = ids.iter().filter(|&&id| id < 8).count() as u32 % (classes + 1);
            let noise = u32::from(random.random::<f64>() < 0.05);
            codes.push((u32::from(code == 1) + code / 2 + noise) % classes);
        }
        let dense = match is_real {
            true => Features::Real(RealMatrix::from_values(n, values)),
            false => Features::Boolean(bits),
        };
        let mut planes = vec![BitVector::zeros(examples); planes_for(classes as usize)];
        for (row, code) in codes.iter().enumerate() {
            for (bit, plane) in planes.iter_mut().enumerate() {
                plane.set(row, code >> bit & 1 == 1);
            }
        }
        let labels = Labels::Labelled(ClassCodes::of_planes(planes));
        Self {
            sparse: Data::new(Features::Sparse(sparse), labels.clone()),
            dense: Data::new(dense, labels),
        }
    }
}

fn sample(data: &Data) -> Input<'_> {
    Input::Sample { data, assume: None }
}

fn task(entry: &'static LearnerEntry, params: &Value, seed: u64) -> Option<Task> {
    let params = params.as_object().expect("an object");
    let parameters = Parameters::from_json(entry.parameters, params).ok()?;
    Some(Task {
        parameters,
        trace: true,
        limits: RunLimits {
            max_passes: Some(9),
            max_examples: Some(2_000),
            ..RunLimits::default()
        },
        ..Task::of(entry, Seed(seed))
    })
}

fn outcome(task: &Task, data: &Data) -> Option<RunOutcome> {
    check(task, sample(data), u64::MAX).ok()?;
    Some(train(task, sample(data), &Run::default()).expect("nobody stops it"))
}

fn decisions(predictor: &Predictor, data: &Data, zero: f64) -> Vec<Decision> {
    let mut all = Vec::new();
    for_each_decisions(predictor, data, zero, |decisions| {
        all.extend_from_slice(decisions);
        std::ops::ControlFlow::Continue(())
    });
    all
}

/// [`outcome`] with a thread that helps with work of any size.
fn helped_outcome(task: &Task, data: &Data) -> Option<RunOutcome> {
    check(task, sample(data), u64::MAX).ok()?;
    let seats: Arc<dyn HelperSeats> = Arc::new(FixedSeats::new(1, 0));
    let run = Run {
        stop: StopFlag::with_helpers(seats),
        ..Run::default()
    };
    Some(train(task, sample(data), &run).expect("nobody stops it"))
}

/// Trains and predicts on both layouts. Returns whether the learner takes such data.
#[track_caller]
fn assert_alike(task: &Task, twins: &Twins, other: &Twins) -> bool {
    let found = outcome(task, &twins.sparse);
    assert_eq!(found, helped_outcome(task, &twins.sparse));
    assert_eq!(found, outcome(task, &twins.dense), "{}", task.entry.name);
    let Some(found) = found else { return false };
    for data in [twins, other] {
        let fit = check_fit(&found.predictor, &data.sparse, false);
        assert_eq!(fit, check_fit(&found.predictor, &data.dense, false));
        if fit.is_err() {
            continue;
        }
        for zero in [0.0, -1.0] {
            let sparse = decisions(&found.predictor, &data.sparse, zero);
            assert_eq!(sparse, decisions(&found.predictor, &data.dense, zero));
        }
        let evaluated =
            |data: &Data| evaluate(&found.predictor, data, 0.0, &Run::default()).expect("read");
        assert_eq!(evaluated(&data.sparse), evaluated(&data.dense));
    }
    true
}

#[test]
fn the_perceptron_learns_alike_from_sparse_and_dense_rows() {
    let entry = find("perceptron").expect("listed");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut updates = 0;
    for case in 0..200 {
        let n = random.random_range(1..200);
        let examples = random.random_range(1..150);
        let is_real = case % 4 == 3;
        let bias = random.random::<bool>();
        let weights = n + usize::from(bias);
        let initial = match random.random_range(0..4) {
            0 | 1 => json!(0),
            2 => json!(random.random_range(-3..4)),
            _ => json!(
                (0..weights)
                    .map(|_| random.random_range(-2.0..2.0))
                    .collect::<Vec<f64>>()
            ),
        };
        let mut params = json!({
            "bias": bias,
            "eta": ([1.0, 0.1, 3.0, 0.3337][random.random_range(0..4)]),
            "order": (["cyclic", "shuffled", "random"][random.random_range(0..3)]),
            "initial": initial,
        });
        if !is_real {
            params["reading"] = json!(["signed", "unsigned"][case % 2]);
        }
        if case % 3 == 1 {
            params["thickness"] = json!(2.5);
        }
        let mut task = task(entry, &params, case as u64).expect("parameters");
        task.holdout = (case % 5 == 0).then_some(HeldOut::Share(0.3));
        let twins = Twins::new(&mut random, n, examples, is_real);
        let other = Twins::new(&mut random, n, 70, case % 2 == 0);
        if assert_alike(&task, &twins, &other) {
            updates += outcome(&task, &twins.dense)
                .expect("trained")
                .counts
                .updates;
        }
    }
    assert!(updates > 10_000, "{updates}");
}

#[test]
fn every_learner_gives_the_same_result_on_sparse_rows() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    for entry in CATALOGUE {
        let mut trained = 0;
        for case in 0..12 {
            let n = [5, 12, 64, 70][case % 4];
            let order = ["cyclic", "shuffled", "random"][case % 3];
            let params = [json!({ "order": order }), json!({})];
            let task = params
                .iter()
                .find_map(|params| task(entry, params, case as u64));
            let task = task.expect("parameters");
            let twins = Twins::new(&mut random, n, 90, case % 2 == 1);
            let other = Twins::new(&mut random, n, 70, case % 2 == 0);
            trained += usize::from(assert_alike(&task, &twins, &other));
        }
        assert!(trained > 0, "{}", entry.name);
    }
}

/// Random parameters of a learner.
fn parameters_of(name: &str, random: &mut Xoshiro256PlusPlus, is_real: bool) -> Value {
    let pick = |random: &mut Xoshiro256PlusPlus, values: &[Value]| {
        values[random.random_range(0..values.len())].clone()
    };
    let mut params = match name {
        "winnow" => json!({
            "alpha": pick(random, &[json!(2), json!(1.5), json!(3)]),
            "theta": pick(random, &[json!("4"), json!("7.5"), json!("60")]),
            "negated_literals": random.random::<bool>(),
        }),
        "kernel-perceptron" => json!({
            "kernel.conjunctions": pick(random, &[json!("monotone"), json!("all")]),
            "order": pick(random, &[json!("cyclic"), json!("shuffled"), json!("random")]),
        }),
        "kernel-winnow" => {
            json!({"max_active": 24, "theta": pick(random, &[json!("9"), json!("80.5")])})
        }
        _ => json!({
            "bias": random.random::<bool>(),
            "eta": pick(random, &[json!(1), json!(0.1), json!(0.3337)]),
            "initial": pick(random, &[json!(0), json!(2), json!(0.7)]),
        }),
    };
    if name == "kernel-perceptron" && random.random::<bool>() {
        params["kernel.max_literals"] = json!(random.random_range(1..5));
    }
    if name.contains("perceptron") && !name.contains("kernel") && !is_real {
        params["reading"] = pick(random, &[json!("signed"), json!("unsigned")]);
    }
    if random.random::<bool>() {
        let is_share = name.contains("winnow");
        params["thickness"] = if is_share { json!(0.3) } else { json!(3.5) };
    }
    params
}

#[test]
fn learners_of_sparse_rows_learn_alike_from_dense_ones() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(29);
    let takes_sparse = |entry: &&LearnerEntry| entry.presentation == Presentation::LabelledSparse;
    let entries: Vec<_> = CATALOGUE.iter().copied().filter(takes_sparse).collect();
    let names: Vec<_> = entries.iter().map(|entry| entry.name).collect();
    for expected in [
        "averaged-perceptron",
        "kernel-perceptron",
        "kernel-winnow",
        "pocket",
        "winnow",
    ] {
        assert!(names.contains(&expected), "{names:?}");
    }
    let mut trained = vec![0; entries.len()];
    for case in 0..1_000 {
        let entry = entries[case % entries.len()];
        let is_real = entry.data.real && random.random_range(0..4) == 0;
        let n = match entry.name {
            "kernel-winnow" => random.random_range(1..25),
            _ => random.random_range(1..160),
        };
        let classes = [2, 2, 3, 5][random.random_range(0..4)];
        let params = parameters_of(entry.name, &mut random, is_real);
        let Some(mut task) = task(entry, &params, case as u64) else {
            panic!("{}: {params}", entry.name)
        };
        task.classes = classes as usize;
        if random.random_range(0..3) == 0 {
            task.multiclass = Multiclass::Joint;
        }
        task.holdout = (case % 5 == 0).then_some(HeldOut::Share(0.3));
        let rows = random.random_range(1..140);
        let twins = Twins::of_classes(&mut random, classes, n, rows, is_real);
        let other = Twins::of_classes(&mut random, classes, n, 70, is_real);
        trained[case % entries.len()] += usize::from(assert_alike(&task, &twins, &other));
    }
    assert!(
        trained.iter().all(|&count| count > 40),
        "{names:?}: {trained:?}"
    );
}

#[test]
fn a_run_goes_on_from_a_state_of_the_other_layout() {
    let entry = find("perceptron").expect("listed");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    for params in [
        json!({}),
        json!({"reading": "unsigned", "eta": 0.3337, "initial": 0.1}),
    ] {
        let task = task(entry, &params, 1).expect("parameters");
        let twins = Twins::new(&mut random, 100, 130, false);
        let states = |data: &Data| {
            let kept = Arc::new(States::default());
            let run = Run {
                checkpoints: Some(kept.clone()),
                ..Run::default()
            };
            let outcome = train(&task, sample(data), &run).expect("nobody stops it");
            let states = std::mem::take(&mut *kept.0.lock().expect("unpoisoned"));
            (outcome, states)
        };
        let (outcome, found) = states(&twins.sparse);
        assert_eq!(
            (&outcome, &found),
            (&states(&twins.dense).0, &states(&twins.dense).1)
        );
        let run = Run {
            checkpoints: Some(Arc::new(States::default())),
            ..Run::default()
        };
        let resumed = train_from(
            &task,
            sample(&twins.dense),
            Some(&found[found.len() / 2]),
            &run,
        );
        assert_eq!(resumed, Ok(outcome));
    }
}
