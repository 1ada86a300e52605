//! Committees whose classes join when they appear, beside their definition in whole numbers.

use halfspace_core::bits::{BitMatrix, BitVector};
use halfspace_core::learners::catalogue::find;
use halfspace_core::learners::engine::check::check;
use halfspace_core::learners::engine::committee::Multiclass;
use halfspace_core::learners::engine::input::{Input, TaskError};
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::reason::Reason;
use halfspace_core::learners::engine::run::{Run, RunLimits};
use halfspace_core::learners::engine::session::{Session, SessionPlan};
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::linear::linear_weights::LinearWeights;
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::learners::sample::classes::{ClassCodes, planes_for};
use halfspace_core::learners::sample::data::{Data, Features, Labels};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

/// Examples of bits, which are read as 0 and 1, and their classes in the order of their first examples.
struct Examples {
    n: usize,
    classes: usize,
    rows: Vec<u64>,
    codes: Vec<u32>,
}

impl Examples {
    /// Examples whose class follows from the first bits, unless it is drawn.
    fn draw(random: &mut StdRng, classes: usize, count: usize, noise: f64) -> Self {
        let n = random.random_range(6..30);
        let (mut rows, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let row = random.random::<u64>() & random.random::<u64>() & ((1 << n) - 1);
            let class = match random.random_bool(noise) {
                true => random.random_range(0..classes),
                false => (row & 0x3f) as usize % classes,
            };
            rows.push(row);
            labels.push(class);
        }
        let mut order: Vec<usize> = Vec::new();
        for label in &labels {
            if !order.contains(label) {
                order.push(*label);
            }
        }
        let code = |label: &usize| order.iter().position(|known| known == label);
        let codes = labels.iter().filter_map(code).map(|code| code as u32);
        Self {
            n,
            codes: codes.collect(),
            rows,
            classes: order.len(),
        }
    }

    fn data(&self) -> Data {
        let mut bits = BitMatrix::new(self.n);
        self.rows.iter().for_each(|row| bits.push_row(&[*row]));
        let mut planes = vec![BitVector::zeros(self.rows.len()); planes_for(self.classes)];
        for (at, code) in self.codes.iter().enumerate() {
            for (bit, plane) in planes.iter_mut().enumerate() {
                plane.set(at, code >> bit & 1 == 1);
            }
        }
        let labels = Labels::Labelled(ClassCodes::of_planes(planes));
        Data::new(Features::Boolean(bits), labels)
    }

    /// The active coordinates of a row, with the constant last.
    fn active(&self, row: usize) -> impl Iterator<Item = usize> {
        let bits = self.rows[row];
        (0..self.n)
            .filter(move |j| bits >> j & 1 == 1)
            .chain([self.n])
    }
}

/// A committee of perceptrons that knows the classes so far.
struct Replica {
    multiclass: Multiclass,
    weights: Vec<Vec<i64>>,
    /// The sums of the weights after each example.
    sums: Vec<Vec<i64>>,
    mistakes: Vec<u64>,
}

impl Replica {
    fn new(multiclass: Multiclass) -> Self {
        Self {
            multiclass,
            weights: Vec::new(),
            sums: Vec::new(),
            mistakes: Vec::new(),
        }
    }

    /// Learns from a row. Returns the class that was predicted before, if any was known.
    fn learn(&mut self, examples: &Examples, row: usize) -> Option<u32> {
        let class = examples.codes[row];
        let score = |own: &Vec<i64>| examples.active(row).map(|j| own[j]).sum();
        let mut scores: Vec<i64> = self.weights.iter().map(score).collect();
        let most = scores.iter().max().copied();
        let first = |most| scores.iter().position(|score| *score == most);
        let predicted = most.and_then(first).map(|code| code as u32);
        if class as usize == self.weights.len() {
            self.weights.push(vec![0; examples.n + 1]);
            self.sums.push(vec![0; examples.n + 1]);
            self.mistakes.push(0);
            scores.push(0);
        }
        for (code, score) in (0..).zip(scores) {
            let learns = match self.multiclass {
                Multiclass::OneVsRest => (score >= 0) != (code == class),
                Multiclass::Joint => {
                    predicted.is_some_and(|other| other != class && [class, other].contains(&code))
                }
            };
            if learns {
                let sign = if code == class { 1 } else { -1 };
                let own = &mut self.weights[code as usize];
                examples.active(row).for_each(|j| own[j] += sign);
                self.mistakes[code as usize] += 1;
            }
        }
        for (sums, weights) in self.sums.iter_mut().zip(&self.weights) {
            sums.iter_mut().zip(weights).for_each(|(sum, w)| *sum += w);
        }
        predicted
    }
}

fn task(learner: &str, multiclass: Multiclass, classes: usize, passes: Option<u64>) -> Task {
    let entry = find(learner).expect("listed");
    let params = json!({"reading": "unsigned", "order": "cyclic"});
    let params = params.as_object().expect("an object");
    Task {
        classes,
        open: true,
        multiclass,
        parameters: Parameters::from_json(entry.parameters, params).expect("parameters"),
        limits: RunLimits {
            max_passes: passes,
            ..RunLimits::default()
        },
        ..Task::of(entry, Seed(1))
    }
}

fn trained(task: &Task, data: &Data) -> RunOutcome {
    let assume = None;
    let input = Input::Sample { data, assume };
    check(task, input, u64::MAX).expect("a task");
    train(task, input, &Run::default()).expect("an end")
}

/// The whole numbers of each member, the bias last.
fn whole(predictor: &Predictor) -> Vec<Vec<i64>> {
    let weights = |member: &Hypothesis| match member {
        Hypothesis::Linear(LinearWeights::Integer(own)) => {
            own.weights().into_iter().chain(own.bias()).collect()
        }
        _ => panic!("whole weights"),
    };
    predictor.members().iter().map(weights).collect()
}

#[test]
fn open_session_equals_its_definition_and_the_job() {
    let random = &mut StdRng::seed_from_u64(1);
    for number in 0..200 {
        let classes = random.random_range(1..=50);
        let count = random.random_range(1..400);
        let examples = Examples::draw(random, classes, count, 0.3);
        let multiclass = [Multiclass::OneVsRest, Multiclass::Joint][number % 2];
        let learner = ["perceptron", "averaged-perceptron"][number / 2 % 2];
        let plan = SessionPlan {
            task: task(learner, multiclass, 0, None),
            n: examples.n,
            real: false,
            assume: None,
        };
        let (mut session, data) = (
            Session::new(plan.clone()).expect("a session"),
            examples.data(),
        );
        assert_eq!(session.predictor(), None);
        let (mut replica, mut first) = (Replica::new(multiclass), 0);
        let mut mistakes = 0;
        while first < count {
            let end = (first + random.random_range(1..150)).min(count);
            let answers = session.learn(&data.rows(first..end), &Run::default());
            for (row, answer) in (first..end).zip(answers.expect("learnt")) {
                let predicted = replica.learn(&examples, row);
                assert_eq!(answer.prediction, predicted, "{number} at {row}");
                assert_eq!(answer.is_mistake, predicted != Some(examples.codes[row]));
                mistakes += u64::from(answer.is_mistake);
            }
            // As if the service were killed here.
            session = Session::restore(plan.clone(), &session.snapshot()).expect("a snapshot");
            first = end;
        }
        assert_eq!(session.counts().mistakes, mistakes, "{number}");
        let predictor = session.predictor().expect("a class");
        assert_eq!(whole(&session.last()), replica.weights, "{number}");
        match learner {
            "perceptron" => assert_eq!(whole(&predictor), replica.weights, "{number}"),
            _ => assert_eq!(whole(&predictor), replica.sums, "{number}"),
        }
        let job = task(learner, multiclass, examples.classes, Some(1));
        let outcome = trained(&job, &data);
        assert_eq!(outcome.predictor, predictor, "{number}");
        assert_eq!(outcome.counts.mistakes, mistakes, "{number}");
        let own = outcome.members.iter().map(|member| member.mistakes);
        assert_eq!(own.collect::<Vec<_>>(), replica.mistakes, "{number}");
        if examples.classes < 3 {
            continue;
        }
        let known = Task { open: false, ..job };
        let known = trained(&known, &data);
        if multiclass == Multiclass::Joint {
            // No class that has not appeared has ever the first of the largest scores.
            assert_eq!(known.predictor, outcome.predictor, "{number}");
            assert_eq!(known.counts.mistakes + 1, mistakes, "{number}");
        }
    }
}

/// A class that the run never saw has the first hypothesis, on the scale of the others.
#[test]
fn run_that_ends_before_a_class_appears_predicts_the_others() {
    let random = &mut StdRng::seed_from_u64(4);
    for number in 0..40 {
        let multiclass = [Multiclass::OneVsRest, Multiclass::Joint][number % 2];
        let learner = ["perceptron", "averaged-perceptron"][number / 2 % 2];
        let examples = Examples::draw(random, 6, 200, 0.3);
        let read = random.random_range(1..8);
        let known = examples.codes[..read]
            .iter()
            .max()
            .map_or(0, |code| *code as usize + 1);
        let mut job = task(learner, multiclass, examples.classes, Some(1));
        job.limits.max_examples = Some(read as u64);
        let data = examples.data();
        let outcome = trained(&job, &data);
        let plan = SessionPlan {
            task: task(learner, multiclass, 0, None),
            n: examples.n,
            real: false,
            assume: None,
        };
        let mut session = Session::new(plan).expect("a session");
        session
            .learn(&data.rows(0..read), &Run::default())
            .expect("learnt");
        let (found, seen) = (outcome.predictor, session.predictor().expect("a class"));
        assert_eq!(found.members().len(), examples.classes, "{number}");
        assert_eq!(found.members()[..known], *seen.members(), "{number}");
        let rest = &whole(&found)[known..];
        assert!(rest.iter().flatten().all(|weight| *weight == 0), "{number}");
        assert!(
            Predictor::committee(found.into_members()).is_some(),
            "{number}"
        );
        assert_eq!(outcome.members.len(), examples.classes);
    }
}

#[test]
fn bounds_of_open_classes_hold_in_two_thousand_streams() {
    let random = &mut StdRng::seed_from_u64(2);
    let mut stated = [0; 2];
    for stream in 0..2_000 {
        let classes = random.random_range(1..9);
        let count = random.random_range(1..40);
        let examples = Examples::draw(random, classes, count, 0.1);
        let data = examples.data();
        let is_joint = stream % 2 == 1;
        let multiclass = [Multiclass::OneVsRest, Multiclass::Joint][usize::from(is_joint)];
        let task = task("perceptron", multiclass, examples.classes, Some(200));
        let outcome = trained(&task, &data);
        let mistakes = outcome.counts.mistakes;
        if outcome.termination.reason != Reason::Converged {
            assert_eq!(outcome.bound.and_then(|bound| bound.mistakes_at_most), None);
            continue;
        }
        let expected = match is_joint {
            true => of_gap(&whole(&outcome.predictor), &examples),
            false => {
                let own: u64 = outcome.members.iter().map(|member| member.mistakes).sum();
                assert!(mistakes <= own + examples.classes as u64, "{stream}");
                let bounds = outcome.members.iter().map(|member| {
                    let most = member.bound.as_ref().and_then(|own| own.mistakes_at_most);
                    assert!(most.is_none_or(|most| member.mistakes as f64 <= most));
                    most
                });
                let sum: Option<f64> = bounds.sum();
                sum.map(|sum| sum + examples.classes as f64)
            }
        };
        let bound = outcome.bound.as_ref();
        let most = bound.and_then(|bound| bound.mistakes_at_most);
        assert_eq!(most, expected, "{stream}");
        if let Some(most) = expected {
            assert!(mistakes as f64 <= most, "{stream}: {mistakes} > {most}");
            assert_eq!(bound.and_then(|bound| bound.respected), Some(true));
            stated[usize::from(is_joint)] += 1;
        }
    }
    assert!(stated.iter().all(|count| *count > 100), "{stated:?}");
}

/// 2 R^2 |U|^2 / gamma^2 + 1. None if the gap is 0, or there is one class.
fn of_gap(weights: &[Vec<i64>], examples: &Examples) -> Option<f64> {
    let score = |own: &Vec<i64>, row| examples.active(row).map(|j| own[j]).sum::<i64>();
    let gaps = (0..examples.rows.len()).filter_map(|row| {
        let class = examples.codes[row] as usize;
        let others = (0..weights.len()).filter(|other| *other != class);
        let most = others.map(|other| score(&weights[other], row)).max()?;
        Some(score(&weights[class], row) - most)
    });
    let gap = gaps.min().filter(|gap| *gap > 0)?;
    let norm: i64 = weights.iter().flatten().map(|w| w * w).sum();
    let rows = 0..examples.rows.len();
    let radius = rows.map(|row| examples.active(row).count()).max()?;
    Some((2 * radius as i64 * norm) as f64 / (gap * gap) as f64 + 1.0)
}

#[test]
fn open_classes_need_the_order_of_the_data() {
    let examples = Examples::draw(&mut StdRng::seed_from_u64(3), 4, 30, 0.0);
    let (data, assume) = (examples.data(), None);
    let input = Input::Sample {
        data: &data,
        assume,
    };
    let entry = find("averaged-perceptron").expect("listed");
    let shuffled = Task {
        parameters: Parameters::defaults(entry.parameters),
        ..task("averaged-perceptron", Multiclass::Joint, 4, Some(1))
    };
    match check(&shuffled, input, u64::MAX) {
        Err(TaskError::WrongData(detail)) => assert!(detail.contains("order to cyclic")),
        other => panic!("{other:?}"),
    }
}
