//! Names that a run leaves out: beside the same run over examples from which they were removed beforehand, and from
//! every state that the run hands over.

mod states;

use std::ops::ControlFlow;
use std::sync::Arc;

use halfspace_core::bits::{BitVector, SparseMatrix, SparseRow};
use halfspace_core::learners::catalogue::find;
use halfspace_core::learners::decision::Decision;
use halfspace_core::learners::engine::check::check;
use halfspace_core::learners::engine::committee::Multiclass;
use halfspace_core::learners::engine::holdout::HeldOut;
use halfspace_core::learners::engine::input::{Input, TaskError};
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::pruning::Pruning;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Run, RunLimits};
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::{train, train_from};
use halfspace_core::learners::predict::for_each_decisions;
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::learners::sample::classes::{ClassCodes, planes_for};
use halfspace_core::learners::sample::data::{Data, Features, Labels};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use states::States;

/// Examples by their names and codes.
#[derive(Clone)]
struct Examples {
    n: usize,
    classes: usize,
    rows: Vec<(Vec<u32>, u32)>,
}

impl Examples {
    /// Examples whose class is told by their most frequent names, some of them wrongly. Later names are rarer.
    fn random(random: &mut StdRng) -> Self {
        let (n, classes) = (random.random_range(2..40), random.random_range(2..5));
        let count = random.random_range(5..150);
        let row = |_| {
            let is_active = |id: &u32| random.random_range(0.0..1.0) < 2.0 / f64::from(id + 3);
            let ids: Vec<u32> = (0..n as u32).filter(is_active).collect();
            let code = match random.random_range(0..8) {
                0 => random.random_range(0..classes as u32),
                _ => ids.iter().take(2).sum::<u32>() % classes as u32,
            };
            (ids, code)
        };
        let rows = (0..count).map(row).collect();
        Self { n, classes, rows }
    }

    fn data(&self) -> Data {
        let mut matrix = SparseMatrix::new(self.n, false);
        let mut planes = vec![BitVector::zeros(self.rows.len()); planes_for(self.classes)];
        for (row, (ids, code)) in self.rows.iter().enumerate() {
            matrix.push_row(SparseRow { ids, values: None });
            for (bit, plane) in planes.iter_mut().enumerate() {
                plane.set(row, code >> bit & 1 == 1);
            }
        }
        let labels = Labels::Labelled(ClassCodes::of_planes(planes));
        Data::new(Features::Sparse(matrix), labels)
    }

    /// The first `read` examples of several passes, one after the other, each without its names of fewer than `minimum`
    /// examples so far; and the counts of the first pass.
    fn unrolled(&self, minimum: u32, read: usize) -> (Self, Vec<u32>) {
        let mut counts = vec![0; self.n];
        let passes = self.rows.iter().cycle().take(read).enumerate();
        let mut rows = Vec::new();
        for (at, (ids, code)) in passes {
            if at < self.rows.len() {
                ids.iter().for_each(|&id| counts[id as usize] += 1);
            }
            let is_kept = |id: &u32| counts[*id as usize] >= minimum;
            rows.push((ids.iter().copied().filter(is_kept).collect(), *code));
        }
        (Self { rows, ..*self }, counts)
    }

    fn only(&self, features: &[u32]) -> Self {
        let only = |ids: &[u32]| {
            ids.iter()
                .copied()
                .filter(|id| features.contains(id))
                .collect()
        };
        let rows = self.rows.iter().map(|(ids, code)| (only(ids), *code));
        Self {
            rows: rows.collect(),
            ..*self
        }
    }

    fn errors(&self, predictor: &Predictor) -> u64 {
        let mut predicted = Vec::new();
        let see = |decisions: &[Decision]| {
            predicted.extend(decisions.iter().map(|decision| decision.class));
            ControlFlow::Continue(())
        };
        for_each_decisions(predictor, &self.data(), 0.0, see);
        let wrong = self
            .rows
            .iter()
            .zip(predicted)
            .filter(|((_, code), own)| code != own);
        wrong.count() as u64
    }
}

fn task(learner: &str, params: &Value, classes: usize) -> Task {
    let entry = find(learner).expect("listed");
    let params = params.as_object().expect("an object");
    let mut task = Task {
        parameters: Parameters::from_json(entry.parameters, params).expect("in range"),
        classes,
        ..Task::of(entry, Seed(5))
    };
    task.read_names().expect("parameters that names can have");
    task
}

fn sample(data: &Data) -> Input<'_> {
    Input::Sample { data, assume: None }
}

const LEARNERS: [(&str, &str); 7] = [
    ("perceptron", r#"{"bias": true}"#),
    ("perceptron", r#"{"bias": false, "thickness": 1.5}"#),
    ("averaged-perceptron", r#"{"order": "cyclic"}"#),
    ("winnow", r#"{"theta": 4}"#),
    ("winnow", r#"{"theta": 6, "alpha": 1.5, "thickness": 0.2}"#),
    ("kernel-perceptron", "{}"),
    (
        "kernel-winnow",
        r#"{"theta": 9, "max_active": 24, "max_literals": 2}"#,
    ),
];

#[test]
fn a_name_counts_from_its_appearance_in_enough_examples_on() {
    let mut random = StdRng::seed_from_u64(8);
    let mut left_out = 0;
    for case in 0..700 {
        let (learner, params) = LEARNERS[case % LEARNERS.len()];
        let examples = Examples::random(&mut random);
        let (data, minimum) = (examples.data(), random.random_range(1..5));
        let mut task = task(
            learner,
            &serde_json::from_str(params).unwrap(),
            examples.classes,
        );
        let is_joint = case % 2 == 0 && learner == "perceptron" && examples.classes > 2;
        if is_joint {
            task.multiclass = Multiclass::Joint;
        }
        task.limits = RunLimits {
            max_passes: Some(random.random_range(1..4)),
            max_mistakes: (case % 5 == 0).then_some(9),
            max_examples: None,
        };
        task.pruning.minimum_count = Some(minimum);
        check(&task, sample(&data), u64::MAX).expect("a task");
        let outcome = train(&task, sample(&data), &Run::default()).expect("nobody stops it");
        let (unrolled, counts) = examples.unrolled(minimum, outcome.counts.examples as usize);
        let plain = Task {
            pruning: Pruning::default(),
            limits: RunLimits {
                max_passes: Some(1),
                ..task.limits
            },
            ..task.clone()
        };
        let expected = train(&plain, sample(&unrolled.data()), &Run::default()).expect("as above");
        let (own, other) = (outcome.counts, expected.counts);
        assert_eq!(
            (own.examples, own.mistakes, own.updates),
            (other.examples, other.mistakes, other.updates),
            "case {case}: {learner} {params}"
        );
        let features: Vec<u32> = (0..)
            .zip(&counts)
            .filter(|(_, count)| **count >= minimum)
            .map(|it| it.0)
            .collect();
        assert_eq!(outcome.features.as_ref(), Some(&features), "case {case}");
        left_out += examples.n - features.len();
        assert_eq!(outcome.predictor.n(), features.len().max(1));
        let shown = examples.only(&features);
        let errors = shown.errors(&expected.predictor);
        assert_eq!(
            outcome.training.map(|it| it.errors),
            Some(errors),
            "case {case}: {learner} {params}"
        );
        assert_withheld(&outcome);
    }
    assert!(left_out > 1_500, "{left_out}");
}

fn assert_withheld(outcome: &RunOutcome) {
    assert_eq!(outcome.bound, None);
    assert!(
        outcome
            .no_bound
            .expect("a reason")
            .contains("minimum_count")
    );
    assert!(outcome.members.iter().all(|member| member.bound.is_none()));
    assert!(outcome.grounds.kept.is_none() && outcome.best.is_none());
    assert!(outcome.grounds.survived.is_err() && outcome.grounds.compressed.is_err());
    let detail = outcome.termination.detail.as_ref().expect("a note");
    assert!(detail.contains("the hypothesis"), "{detail}");
}

#[test]
fn the_lightest_weights_are_dropped_and_the_others_stay() {
    let mut random = StdRng::seed_from_u64(9);
    for case in 0..200 {
        let (learner, params) = LEARNERS[case % 5];
        let examples = Examples::random(&mut random);
        let data = examples.data();
        let mut task = task(
            learner,
            &serde_json::from_str(params).unwrap(),
            examples.classes,
        );
        task.limits.max_passes = Some(3);
        let whole = train(&task, sample(&data), &Run::default()).expect("nobody stops it");
        let percent = random.random_range(5..95);
        let share = f64::from(percent) / 100.0;
        task.pruning.discard = Some(share);
        let outcome = train(&task, sample(&data), &Run::default()).expect("as above");
        assert_eq!(outcome.counts, whole.counts);
        let features = outcome.features.clone().expect("some");
        assert_eq!(
            features.len(),
            examples.n - percent as usize * examples.n / 100
        );
        let weight = |id: u32| {
            let own = whole.predictor.members().iter();
            own.map(|member| member.magnitudes().expect("weights")[id as usize])
                .fold(f64::MIN, f64::max)
        };
        let lightest = features
            .iter()
            .map(|&id| weight(id))
            .fold(f64::MAX, f64::min);
        let dropped = (0..examples.n as u32).filter(|id| !features.contains(id));
        assert!(
            dropped.map(weight).all(|own| own <= lightest),
            "case {case}"
        );
        let errors = examples.only(&features).errors(&whole.predictor);
        assert_eq!(
            outcome.training.map(|it| it.errors),
            Some(errors),
            "case {case}: {learner}"
        );
    }
}

#[test]
fn a_run_that_leaves_names_out_goes_on_from_each_of_its_states() {
    let mut random = StdRng::seed_from_u64(10);
    let (mut states, mut case) = (0, 0);
    while states < 600 {
        case += 1;
        let order = if case % 2 == 0 { "cyclic" } else { "shuffled" };
        let examples = Examples::random(&mut random);
        let data = examples.data();
        let mut task = task("perceptron", &json!({"order": order}), examples.classes);
        task.limits.max_passes = Some(random.random_range(1..4));
        task.limits.max_mistakes = (case % 3 == 0).then_some(15);
        task.holdout = (case % 5 == 0).then_some(HeldOut::Share(0.3));
        task.pruning = Pruning {
            minimum_count: Some(random.random_range(2..6)),
            discard: (case % 4 == 0).then_some(0.2),
        };
        let kept = Arc::new(States::default());
        let run = Run {
            checkpoints: Some(kept.clone()),
            ..Run::default()
        };
        let outcome = train(&task, sample(&data), &run).expect("nobody stops it");
        let found = std::mem::take(&mut *kept.0.lock().expect("unpoisoned"));
        for state in &found {
            let resumed = train_from(&task, sample(&data), Some(state), &run);
            assert_eq!(resumed.as_ref(), Ok(&outcome), "case {case}, {order}");
        }
        states += found.len();
    }
}

#[test]
fn tasks_that_cannot_leave_names_out_say_which_field_to_leave_out() {
    let mut random = StdRng::seed_from_u64(11);
    let examples = Examples::random(&mut random);
    let data = examples.data();
    let refused = |learner: &str, params: &Value, pruning: Pruning, names: bool| {
        let own = Task {
            pruning,
            names,
            ..task(learner, params, examples.classes)
        };
        match check(&own, sample(&data), u64::MAX) {
            Err(TaskError::Field { field, detail }) => (field, detail),
            other => panic!("{learner}: {other:?}"),
        }
    };
    let minimum = Pruning {
        minimum_count: Some(2),
        discard: None,
    };
    let discard = Pruning {
        minimum_count: None,
        discard: Some(0.5),
    };
    let (field, detail) = refused("perceptron", &json!({"order": "random"}), minimum, true);
    assert!(
        field == "minimum_count" && detail.contains("order"),
        "{detail}"
    );
    let (field, detail) = refused("kernel-perceptron", &json!({}), discard, true);
    assert!(
        field == "discard" && detail.contains("no weight per name"),
        "{detail}"
    );
    let (field, detail) = refused("perceptron", &json!({}), discard, false);
    assert!(field == "discard" && detail.contains("names"), "{detail}");
}
