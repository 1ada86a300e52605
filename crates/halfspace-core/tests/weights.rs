//! Weights of examples: whole ones beside the same run over repeated rows, and parts beside learners that are written
//! from their definitions.

mod states;

use std::sync::Arc;

use halfspace_core::bits::{BitVector, SparseMatrix, SparseRow};
use halfspace_core::learners::catalogue::{CATALOGUE, find};
use halfspace_core::learners::engine::assume::Assume;
use halfspace_core::learners::engine::check::check;
use halfspace_core::learners::engine::committee::Multiclass;
use halfspace_core::learners::engine::holdout::{HeldOut, Holdout, HoldoutPart};
use halfspace_core::learners::engine::input::{Input, TaskError};
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Run, RunLimits};
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::{train, train_from};
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::linear::linear_weights::LinearWeights;
use halfspace_core::learners::sample::classes::{ClassCodes, planes_for};
use halfspace_core::learners::sample::data::{Data, Features, Labels, RealMatrix};
use halfspace_core::learners::sample::weights::{ClassWeights, RowWeights, Weighing, Weight};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use states::States;

/// Examples by their active features and codes.
struct Examples {
    n: usize,
    classes: usize,
    rows: Vec<(Vec<u32>, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Bits,
    Sparse,
    Reals,
}

impl Examples {
    /// Examples whose class is told by their first features, some of them wrongly.
    fn random(random: &mut StdRng, classes: usize) -> Self {
        let (n, count) = (random.random_range(2..20), random.random_range(10..90));
        let row = |_: i32| {
            let ids: Vec<u32> = (0..n as u32).filter(|_| random.random_bool(0.4)).collect();
            let code = match random.random_range(0..6) {
                0 => random.random_range(0..classes as u32),
                _ => ids.iter().take(2).sum::<u32>() % classes as u32,
            };
            (ids, code)
        };
        let mut rows: Vec<_> = (0..count).map(row).collect();
        for (class, row) in rows.iter_mut().take(classes).enumerate() {
            row.1 = class as u32;
        }
        Self { n, classes, rows }
    }

    fn data(&self, form: Form) -> Data {
        let mut matrix = SparseMatrix::new(self.n, false);
        let mut planes = vec![BitVector::zeros(self.rows.len()); planes_for(self.classes)];
        for (row, (ids, code)) in self.rows.iter().enumerate() {
            matrix.push_row(SparseRow { ids, values: None });
            for (bit, plane) in planes.iter_mut().enumerate() {
                plane.set(row, code >> bit & 1 == 1);
            }
        }
        let value = |row: &(Vec<u32>, u32), id: usize| match row.0.contains(&(id as u32)) {
            true => 0.3 + id as f64 / 7.0,
            false => -0.4,
        };
        let values = self.rows.iter();
        let values = values.flat_map(|row| (0..self.n).map(move |id| value(row, id)));
        let features = match form {
            Form::Sparse => Features::Sparse(matrix),
            Form::Bits => Features::Boolean(matrix.packed()),
            Form::Reals => Features::Real(RealMatrix::from_values(self.n, values.collect())),
        };
        Data::new(features, Labels::Labelled(ClassCodes::of_planes(planes)))
    }
}

fn task(learner: &str, params: &Value, classes: usize) -> Task {
    let entry = find(learner).expect("listed");
    let params = params.as_object().expect("an object");
    Task {
        parameters: Parameters::from_json(entry.parameters, params).expect("parameters"),
        classes,
        limits: RunLimits {
            max_passes: Some(4),
            max_mistakes: Some(60),
            max_examples: None,
        },
        trace: true,
        ..Task::of(entry, Seed(7))
    }
}

fn sample(data: &Data) -> Input<'_> {
    Input::Sample { data, assume: None }
}

fn run(task: &Task, data: &Data) -> RunOutcome {
    check(task, sample(data), u64::MAX).expect("a task");
    train(task, sample(data), &Run::default()).expect("nobody stops it")
}

fn weights(values: &[f64]) -> Weighing {
    let rows = values
        .iter()
        .map(|&value| Weight::new(value).expect("in the range"));
    Weighing {
        classes: None,
        rows: Some(RowWeights::new(rows.collect())),
    }
}

#[test]
fn whole_weights_are_repeated_rows_for_every_learner() {
    let mut random = StdRng::seed_from_u64(1);
    let mut compared = vec![0; CATALOGUE.len()];
    for case in 0..1_700 {
        let which = case % CATALOGUE.len();
        let entry = CATALOGUE[which];
        let classes = if case % 3 == 0 {
            random.random_range(3..6)
        } else {
            2
        };
        let form = [Form::Bits, Form::Sparse, Form::Reals][random.random_range(0..3)];
        let has_order = entry.parameters.iter().any(|own| own.name == "order");
        let order = ["cyclic", "shuffled"][random.random_range(0..2)];
        let params = if has_order {
            json!({"order": order})
        } else {
            json!({})
        };
        let mut plain = task(entry.name, &params, classes);
        plain.holdout = (case % 5 == 0).then_some(HeldOut::Share(0.3));
        if case % 2 == 0 && classes > 2 && entry.name.ends_with("perceptron") && entry.data.parts {
            plain.multiclass = Multiclass::Joint;
        }
        let examples = Examples::random(&mut random, classes);
        let data = examples.data(form);
        if check(&plain, sample(&data), u64::MAX).is_err() {
            continue;
        }
        let of_rows: Vec<f64> = examples
            .rows
            .iter()
            .map(|_| f64::from(random.random_range(1..5)))
            .collect();
        let of_classes: Vec<f64> = (0..classes)
            .map(|_| f64::from(random.random_range(1..4)))
            .collect();
        let weighted = Task {
            weighing: Weighing {
                classes: (case % 4 == 0).then(|| {
                    let each = of_classes.iter().map(|&value| Weight::new(value).unwrap());
                    ClassWeights::Each(each.collect())
                }),
                ..weights(&of_rows)
            },
            ..plain.clone()
        };
        let shown: Vec<usize> = match plain.holdout {
            None => (0..examples.rows.len()).collect(),
            Some(held_out) => {
                let holdout = Holdout::new(held_out, examples.rows.len() as u64, plain.seed);
                let rows = holdout.expect("two parts").rows(HoldoutPart::Shown);
                rows.into_iter().map(|row| row as usize).collect()
            }
        };
        let copies = |&row: &usize| {
            let class = if case % 4 == 0 {
                of_classes[examples.rows[row].1 as usize]
            } else {
                1.0
            };
            std::iter::repeat_n(row, (of_rows[row] * class) as usize)
        };
        let repeated: Vec<usize> = shown.iter().flat_map(copies).collect();
        let repeated = data.select(&repeated);
        plain.holdout = None;
        let (found, expected) = (run(&weighted, &data), run(&plain, &repeated));
        let said = format!("case {case}: {} {params} {form:?}", entry.name);
        assert_eq!(found.counts, expected.counts, "{said}");
        assert_eq!(found.predictor, expected.predictor, "{said}");
        assert_eq!(
            found.termination.reason, expected.termination.reason,
            "{said}"
        );
        assert_eq!(found.trace, expected.trace, "{said}");
        let own = |outcome: &RunOutcome| -> Vec<_> {
            let members = outcome.members.iter();
            members.map(|own| (own.mistakes, own.updates)).collect()
        };
        assert_eq!(own(&found), own(&expected), "{said}");
        if entry.name != "perspectron" {
            let bound = |outcome: &RunOutcome| {
                let bound = outcome.bound.as_ref();
                bound.map(|bound| (bound.mistakes_at_most, bound.respected))
            };
            assert_eq!(bound(&found), bound(&expected), "{said}");
        }
        // A claim about fresh examples does not survive that some of them are shown again.
        let grounds = &found.grounds;
        assert!(
            !matches!(grounds.tested, Some(Ok(_)))
                && grounds.compressed.is_err()
                && grounds.kept.is_none(),
            "{said}"
        );
        assert_eq!(found.termination.confidence, None, "{said}");
        compared[which] += 1;
    }
    // Learners of half-spaces read labelled examples, too.
    for (entry, compared) in CATALOGUE.iter().zip(&compared) {
        assert!(*compared >= 10, "{}: {compared}", entry.name);
    }
}

fn linear(member: &Hypothesis) -> &LinearWeights {
    match member {
        Hypothesis::Linear(own) => own,
        other => panic!("{other:?}"),
    }
}

/// Perceptrons by their definition, one per class, over bits of 0 and 1 with a bias in the last place. Weights are
/// counted in thousandths.
struct Replica {
    weights: Vec<Vec<i64>>,
    /// The sum of the weights after each example.
    sums: Vec<Vec<i64>>,
    mistakes: u64,
}

impl Replica {
    fn learn(&mut self, (ids, code): &(Vec<u32>, u32), step: i64, joint: bool) {
        let classes = self.weights.len();
        let places = || {
            ids.iter()
                .map(|&id| id as usize)
                .chain([self.weights[0].len() - 1])
        };
        let places: Vec<usize> = places().collect();
        let scores: Vec<i64> = self
            .weights
            .iter()
            .map(|own| places.iter().map(|&at| own[at]).sum())
            .collect();
        let best = (0..classes)
            .max_by_key(|&class| (scores[class], classes - class))
            .expect("a class");
        let is_two = classes == 1;
        let predicted = if is_two {
            u32::from(scores[0] >= 0)
        } else {
            best as u32
        };
        self.mistakes += u64::from(predicted != *code);
        for (class, &score) in scores.iter().enumerate() {
            let is_own = if is_two {
                *code == 1
            } else {
                class == *code as usize
            };
            let learns = match joint {
                true => predicted != *code && (is_own || class == best),
                false => (score >= 0) != is_own,
            };
            if learns {
                let amount = if is_own { step } else { -step };
                places
                    .iter()
                    .for_each(|&at| self.weights[class][at] += amount);
            }
        }
        for (sums, own) in self.sums.iter_mut().zip(&self.weights) {
            sums.iter_mut()
                .zip(own)
                .for_each(|(sum, weight)| *sum += weight);
        }
    }
}

#[test]
fn parts_of_weights_are_parts_of_steps() {
    let mut random = StdRng::seed_from_u64(2);
    for case in 0..400 {
        let classes = if case % 2 == 0 {
            2
        } else {
            random.random_range(3..9)
        };
        let form = [Form::Bits, Form::Sparse][random.random_range(0..2)];
        let learner = ["perceptron", "averaged-perceptron"][random.random_range(0..2)];
        let joint = classes > 2 && case % 3 == 0;
        let mut task = task(
            learner,
            &json!({"order": "cyclic", "reading": "unsigned"}),
            classes,
        );
        task.limits = RunLimits {
            max_passes: Some(3),
            ..RunLimits::default()
        };
        if joint {
            task.multiclass = Multiclass::Joint;
        }
        let examples = Examples::random(&mut random, classes);
        let thousandths: Vec<u32> = examples
            .rows
            .iter()
            .map(|_| 50 * random.random_range(1..90))
            .collect();
        let of_rows: Vec<f64> = thousandths
            .iter()
            .map(|&own| f64::from(own) / 1000.0)
            .collect();
        task.weighing = weights(&of_rows);
        let found = run(&task, &examples.data(form));
        let members = if classes == 2 { 1 } else { classes };
        let zeros = vec![vec![0; examples.n + 1]; members];
        let mut replica = Replica {
            weights: zeros.clone(),
            sums: zeros,
            mistakes: 0,
        };
        let (mut presented, mut passes) = (0, 0);
        while passes < found.counts.passes {
            for (row, thousandths) in examples.rows.iter().zip(&thousandths) {
                for copy in 0..thousandths.div_ceil(1000) {
                    let step = (thousandths - 1000 * copy).min(1000);
                    replica.learn(row, step.into(), joint);
                    presented += 1;
                }
            }
            passes += 1;
        }
        let said = format!("case {case}: {learner}, {classes} classes, {form:?}, joint {joint}");
        assert_eq!(found.counts.mistakes, replica.mistakes, "{said}");
        assert_eq!(found.counts.examples, presented, "{said}");
        for (class, member) in found.predictor.members().iter().enumerate() {
            let Hypothesis::Linear(own) = member else {
                panic!("linear weights");
            };
            let (own, bias) = own.numbers();
            let own = own.into_iter().chain(bias);
            let (expected, count) = match learner {
                "perceptron" => (&replica.weights[class], 1),
                _ => (&replica.sums[class], presented),
            };
            for (own, &expected) in own.zip(expected) {
                let expected = expected as f64 / 1000.0 / count as f64;
                assert!(
                    (own - expected).abs() <= 1e-12 * expected.abs(),
                    "{said}: {own} {expected}"
                );
            }
        }
        assert_eq!((found.bound, found.best), (None, None), "{said}");
        assert!(found.no_bound.expect("a reason").contains("not whole"));
    }
}

#[test]
fn the_pocket_keeps_the_weights_with_the_lightest_errors() {
    // The same example under both labels: one of them is wrong under every hypothesis.
    for (form, heavy) in [
        (Form::Bits, 0),
        (Form::Sparse, 1),
        (Form::Reals, 0),
        (Form::Reals, 1),
    ] {
        let rows = vec![(vec![0], 0), (vec![0], 1), (vec![1], 1), (vec![1], 0)];
        let examples = Examples {
            n: 2,
            classes: 2,
            rows,
        };
        let mut of_rows = vec![0.4; 4];
        of_rows[heavy] = 0.5;
        of_rows[3 - heavy] = 0.45;
        for seed in 0..20 {
            let mut task = task("pocket", &json!({}), 2);
            (task.seed, task.limits.max_passes) = (Seed(seed), None);
            task.weighing = weights(&of_rows);
            let data = examples.data(form);
            let outcome = run(&task, &data);
            let Some(Hypothesis::Linear(own)) = outcome.predictor.one() else {
                panic!("linear weights");
            };
            let wrong = own.mistakes(
                &halfspace_core::learners::sample::source::Stream::next_block(
                    &mut halfspace_core::learners::sample::source::Presented::new(
                        &data,
                        task.entry.presentation,
                    ),
                )
                .unwrap()
                .unwrap(),
            );
            let light: u64 = [1 - heavy, 2 + heavy].iter().map(|at| 1 << at).sum();
            assert_eq!(wrong, light, "{form:?}, heavy {heavy}, seed {seed}");
            assert_eq!(outcome.training.map(|it| it.errors), Some(2));
        }
    }
}

#[test]
fn a_part_of_an_example_moves_the_perspectron_by_a_part_of_its_step() {
    let data = Examples {
        n: 2,
        classes: 2,
        rows: vec![(vec![0], 0)],
    }
    .data(Form::Reals);
    let first = |weight: f64| {
        let mut task = task("perspectron", &json!({}), 2);
        task.limits.max_passes = Some(1);
        task.weighing = weights(&[weight]);
        let outcome = run(&task, &data);
        assert!(outcome.bound.is_none() && outcome.no_bound.unwrap().contains("weights"));
        match outcome.predictor.one() {
            Some(Hypothesis::Linear(own)) => own.numbers().0,
            other => panic!("{other:?}"),
        }
    };
    let (whole, part) = (first(1.0), first(0.25));
    for (whole, part) in whole.iter().zip(&part) {
        assert!(
            *whole != 0.0 && (part / whole - 0.25).abs() < 1e-12,
            "{whole} {part}"
        );
    }
}

#[test]
fn balanced_classes_count_alike_among_the_shown_examples() {
    let mut random = StdRng::seed_from_u64(3);
    for case in 0..60 {
        let classes = random.random_range(2..6);
        let examples = Examples::random(&mut random, classes);
        let data = examples.data(Form::Bits);
        let mut task = task("perceptron", &json!({}), classes);
        task.holdout = (case % 2 == 0).then_some(HeldOut::Share(0.5));
        task.weighing.classes = Some(ClassWeights::Balanced);
        let shown: Vec<usize> = match task.holdout {
            None => (0..examples.rows.len()).collect(),
            Some(held_out) => {
                let holdout =
                    Holdout::new(held_out, examples.rows.len() as u64, task.seed).unwrap();
                holdout
                    .rows(HoldoutPart::Shown)
                    .into_iter()
                    .map(|row| row as usize)
                    .collect()
            }
        };
        let mut counts = vec![0; classes];
        shown
            .iter()
            .for_each(|&row| counts[examples.rows[row].1 as usize] += 1);
        let seen = counts.iter().filter(|count| **count > 0).count();
        let found = run(&task, &data).class_weights.expect("stated");
        for (class, weight) in found
            .iter()
            .enumerate()
            .filter(|(class, _)| counts[*class] > 0)
        {
            let exact = shown.len() as f64 / (seen * counts[class]) as f64;
            assert!(
                (weight.value() - exact).abs() <= 0.0005 + 1e-9,
                "{weight:?} {exact}"
            );
        }
        // The same weights as a list give the same run.
        let mut each = found.clone();
        each.resize(classes, Weight::ONE);
        let listed = Task {
            weighing: Weighing {
                classes: Some(ClassWeights::Each(each)),
                rows: None,
            },
            ..task.clone()
        };
        let (balanced, listed) = (run(&task, &data), run(&listed, &data));
        let numbers = |outcome: &RunOutcome| -> Vec<Vec<f64>> {
            let members = outcome.predictor.members().iter();
            members.map(|member| linear(member).numbers().0).collect()
        };
        // Their units may be of other sizes.
        assert_eq!(balanced.counts, listed.counts);
        for (one, other) in numbers(&balanced)
            .iter()
            .flatten()
            .zip(numbers(&listed).iter().flatten())
        {
            assert!((one - other).abs() <= 1e-12 * one.abs(), "{one} {other}");
        }
    }
}

#[test]
fn a_weighted_run_goes_on_from_each_of_its_states() {
    let mut random = StdRng::seed_from_u64(4);
    let (mut states, mut case) = (0, 0);
    while states < 500 {
        case += 1;
        let learner = ["perceptron", "averaged-perceptron", "pocket", "perspectron"][case % 4];
        let classes = if case % 4 < 2 {
            random.random_range(2..4)
        } else {
            2
        };
        let order = if case % 8 < 4 { "cyclic" } else { "shuffled" };
        let params = if case % 4 < 2 {
            json!({"order": order})
        } else {
            json!({})
        };
        let mut task = task(learner, &params, classes);
        let examples = Examples::random(&mut random, classes);
        let of_rows: Vec<f64> = examples
            .rows
            .iter()
            .map(|_| f64::from(random.random_range(1..400)) / 100.0)
            .collect();
        task.weighing = weights(&of_rows);
        task.holdout = (case % 5 == 0).then_some(HeldOut::Share(0.3));
        let data = examples.data([Form::Bits, Form::Reals][case % 2]);
        let kept = Arc::new(States::default());
        let controls = Run {
            checkpoints: Some(kept.clone()),
            ..Run::default()
        };
        let outcome = train(&task, sample(&data), &controls).expect("nobody stops it");
        let found = std::mem::take(&mut *kept.0.lock().expect("unpoisoned"));
        for state in &found {
            let resumed = train_from(&task, sample(&data), Some(state), &controls);
            assert_eq!(
                resumed.as_ref(),
                Ok(&outcome),
                "case {case}, {learner}, {order}"
            );
        }
        states += found.len();
    }
}

#[test]
fn weights_that_a_learner_cannot_use_are_refused() {
    let mut random = StdRng::seed_from_u64(5);
    let examples = Examples::random(&mut random, 2);
    let data = examples.data(Form::Bits);
    let refused = |learner: &str, weighing: Weighing, data: &Data| {
        let task = Task {
            weighing,
            ..task(learner, &json!({}), 2)
        };
        match check(&task, sample(data), u64::MAX) {
            Err(TaskError::Field { field, detail }) => (field, detail),
            Err(TaskError::WrongData(detail)) => ("data", detail),
            other => panic!("{learner}: {other:?}"),
        }
    };
    let of_classes = |classes| Weighing {
        classes: Some(classes),
        rows: None,
    };
    let parts = weights(&vec![1.5; examples.rows.len()]);
    for entry in CATALOGUE.iter().filter(|entry| !entry.data.parts) {
        let (field, detail) = refused(entry.name, parts.clone(), &data);
        assert!(
            field == "data" && detail.contains("fractional weights"),
            "{detail}"
        );
        let (field, _) = refused(entry.name, of_classes(ClassWeights::Balanced), &data);
        assert_eq!(field, "class_weight");
    }
    let heavy = Task {
        weighing: weights(&vec![1000.0; examples.rows.len()]),
        ..task("perceptron", &json!({}), 2)
    };
    match check(&heavy, sample(&data), 10_000) {
        Err(TaskError::WrongData(detail)) => assert!(detail.contains("000 examples"), "{detail}"),
        other => panic!("{other:?}"),
    }
    let one = ClassWeights::Each(vec![Weight::ONE]);
    let (_, detail) = refused("perceptron", of_classes(one), &data);
    assert!(detail.contains("another number of classes"), "{detail}");
    let unlabelled = data.clone().with_labels(Labels::HalfSpace);
    let (_, detail) = refused(
        "directed-drift",
        of_classes(ClassWeights::Balanced),
        &unlabelled,
    );
    assert!(detail.contains("no labels"), "{detail}");
}

#[test]
fn weights_are_rounded_to_thousandths_within_their_range() {
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 0.0004, 1000.01, 1e9] {
        assert_eq!(Weight::new(wrong), None, "{wrong}");
    }
    for (given, thousandths) in [
        (1.0, 1000),
        (0.001, 1),
        (1000.0, 1_000_000),
        (1.0 / 3.0, 333),
        (2.5, 2500),
    ] {
        assert_eq!(
            Weight::new(given).map(Weight::thousandths),
            Some(thousandths)
        );
    }
}

#[test]
fn weighted_runs_start_from_models_in_exact_units() {
    let mut random = StdRng::seed_from_u64(6);
    for case in 0..120 {
        let classes = random.random_range(2..5);
        let eta = [0.7, 0.006, 1.0, 0.011][case % 4];
        let params = json!({"eta": eta, "order": "cyclic", "reading": "unsigned"});
        let examples = Examples::random(&mut random, classes);
        let data = examples.data(Form::Bits);
        let mut first = task("perceptron", &params, classes);
        first.limits.max_mistakes = Some(random.random_range(1..4));
        let start = run(&first, &data).predictor;
        let of_rows: Vec<f64> = examples
            .rows
            .iter()
            .map(|_| f64::from(random.random_range(1..40)) / 10.0)
            .collect();
        let mut second = task("perceptron", &params, classes);
        if case % 3 == 0 && classes > 2 {
            second.multiclass = Multiclass::Joint;
        }
        (second.start, second.weighing) = (Some(Arc::new(start)), weights(&of_rows));
        let found = run(&second, &data);
        for member in found.predictor.members() {
            let LinearWeights::Integer(own) = linear(member) else {
                panic!("case {case}: whole multiples of a tenth of eta");
            };
            for (weight, units) in linear(member).numbers().0.iter().zip(own.weights()) {
                let tenths = (weight / eta * 10.0).round();
                assert_eq!(
                    *weight,
                    format!("{}e-4", tenths * (eta * 1000.0).round())
                        .parse::<f64>()
                        .unwrap(),
                    "{units}"
                );
            }
        }
    }
}

#[test]
fn large_weights_are_not_cut_off() {
    // The weights 50 and 100 multiply to 5,000.
    let rows = vec![(vec![0], 0), (vec![1], 1)];
    let examples = Examples {
        n: 2,
        classes: 2,
        rows,
    };
    let mut task = task("perceptron", &json!({}), 2);
    task.limits = RunLimits {
        max_passes: Some(1),
        ..RunLimits::default()
    };
    let weight = |value| Weight::new(value).expect("in the range");
    task.weighing = weights(&[50.0, 1.0]);
    task.weighing.classes = Some(ClassWeights::Each(vec![weight(100.0), weight(1.0)]));
    assert_eq!(
        run(&task, &examples.data(Form::Bits)).counts.examples,
        5_001
    );
    // One row of a class among many others is shown as often as these together.
    let rows = (0..5_000)
        .map(|row| (vec![0], u32::from(row > 0)))
        .collect();
    let examples = Examples {
        n: 1,
        classes: 2,
        rows,
    };
    task.weighing = Weighing {
        classes: Some(ClassWeights::Balanced),
        rows: None,
    };
    let found = run(&task, &examples.data(Form::Bits));
    let found = found.class_weights.expect("stated");
    assert_eq!(
        found
            .iter()
            .map(|own| own.thousandths())
            .collect::<Vec<_>>(),
        [2_500_000, 500]
    );
}

#[test]
fn an_error_that_needs_fresh_examples_is_refused_with_weights() {
    let rows = vec![(vec![0], 0), (vec![1], 1)];
    let examples = Examples {
        n: 2,
        classes: 2,
        rows,
    };
    let data = examples.data(Form::Bits);
    let mut task = task("perceptron", &json!({}), 2);
    (task.error, task.weighing) = (Some(0.1), weights(&[2.0, 1.0]));
    let assume = Some(Assume::Independent);
    let input = Input::Sample {
        data: &data,
        assume,
    };
    match check(&task, input, u64::MAX) {
        Err(TaskError::WrongStop { field, detail }) => {
            assert!(field == "error" && detail.contains("weights"), "{detail}");
        }
        other => panic!("{other:?}"),
    }
}
