//! Sessions over features with names, which grow as new names come, beside sessions that know all names at once and
//! beside trainings.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use halfspace_core::bits::{BitVector, Excerpt, SparseMatrix, SparseRow};
use halfspace_core::learners::catalogue::find;
use halfspace_core::learners::decision::{Decision, ScoresOf};
use halfspace_core::learners::engine::assume::Assume;
use halfspace_core::learners::engine::committee::Multiclass;
use halfspace_core::learners::engine::input::{Input, TaskError};
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Run, RunLimits, StopFlag};
use halfspace_core::learners::engine::session::{Answered, LearnError, Session, SessionPlan};
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::predict::decide_each;
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::learners::sample::classes::{ClassCodes, planes_for};
use halfspace_core::learners::sample::data::{Data, Features, Labels};
use halfspace_core::learners::sample::examples::{self, ReadRows, Shape};
use halfspace_core::learners::sample::source::{Presentation, Presented, Stream};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

/// The most active features of an example.
const ACTIVE_MAX: u64 = 6;

/// Examples whose features have numbers in the order of their first examples.
struct Examples {
    rows: Vec<Vec<(u32, f64)>>,
    codes: Vec<u32>,
    is_real: bool,
}

impl Examples {
    /// Noisy examples. The classes have the order of their first examples, too.
    fn draw(
        random: &mut StdRng,
        classes: u32,
        names: usize,
        count: usize,
        strengths: Strengths,
    ) -> Self {
        let (mut numbers, mut next) = (vec![None; names], 0);
        let (mut rows, mut codes, mut known) = (Vec::new(), Vec::new(), 0);
        for _ in 0..count {
            let mut row = Vec::new();
            for _ in 0..random.random_range(0..=ACTIVE_MAX) {
                // Few names are frequent.
                let name = (random.random::<f64>().powi(3) * names as f64) as usize;
                let number = *numbers[name].get_or_insert_with(|| {
                    next += 1;
                    next - 1
                });
                if row.iter().all(|(other, _)| *other != number) {
                    row.push((number, strengths.draw(random)));
                }
            }
            row.sort_by_key(|(number, _)| *number);
            let class = match random.random_bool(0.2) {
                true => random.random_range(0..classes),
                false => row.first().map_or(0, |(number, _)| number % classes),
            };
            let code = class.min(known);
            known = known.max(code + 1);
            rows.push(row);
            codes.push(code);
        }
        Self {
            rows,
            codes,
            is_real: strengths != Strengths::Presence,
        }
    }

    /// The number of features and of classes up to a row.
    fn known(&self, end: usize) -> (usize, usize) {
        let entries = self.rows[..end].iter().flatten();
        let n = entries.map(|(number, _)| number + 1).max();
        let classes = self.codes[..end].iter().map(|code| code + 1).max();
        (n.unwrap_or(0) as usize, classes.unwrap_or(0) as usize)
    }

    /// Some rows, as a service that knows only `n` features reads them.
    fn data(&self, rows: std::ops::Range<usize>, n: usize, classes: usize) -> Data {
        let mut matrix = SparseMatrix::new(n, self.is_real);
        for row in &self.rows[rows.clone()] {
            let (ids, values): (Vec<u32>, Vec<f64>) = row.iter().copied().unzip();
            let values = self.is_real.then_some(&*values);
            matrix.push_row(SparseRow { ids: &ids, values });
        }
        let mut planes = vec![BitVector::zeros(rows.len()); planes_for(classes)];
        for (at, code) in self.codes[rows].iter().enumerate() {
            for (bit, plane) in planes.iter_mut().enumerate() {
                plane.set(at, code >> bit & 1 == 1);
            }
        }
        let labels = Labels::Labelled(ClassCodes::of_planes(planes));
        Data::new(Features::Sparse(matrix), labels)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Strengths {
    Presence,
    /// Whole values, whose sums are exact.
    Whole,
    Fractions,
}

impl Strengths {
    fn draw(self, random: &mut StdRng) -> f64 {
        match self {
            Self::Presence => 1.0,
            Self::Whole => f64::from(random.random_range(1..5)),
            Self::Fractions => random.random_range(-1.0..1.0),
        }
    }
}

fn task(learner: &str, params: &Value, classes: usize, is_open: bool) -> Task {
    let entry = find(learner).expect("listed");
    let params = params.as_object().expect("an object");
    let mut task = Task {
        parameters: Parameters::from_json(entry.parameters, params).expect("parameters"),
        classes,
        open: is_open,
        ..Task::of(entry, Seed(1))
    };
    task.read_names().expect("a learner of names");
    task.active_max = Some(ACTIVE_MAX);
    task
}

/// Learners with parameters, and whether they read values.
fn learners() -> Vec<(&'static str, Value, bool)> {
    vec![
        ("perceptron", json!({}), true),
        ("perceptron", json!({"eta": 0.3, "bias": false}), true),
        ("averaged-perceptron", json!({"order": "cyclic"}), true),
        (
            "averaged-perceptron",
            json!({"order": "cyclic", "thickness": 3}),
            true,
        ),
        ("winnow", json!({}), false),
        ("winnow", json!({"thickness": 0.3}), false),
        ("kernel-winnow", json!({"thickness": 0.3}), false),
        ("kernel-perceptron", json!({"thickness": 4}), false),
        // The power 1 is not exact on the scale of such a threshold, and above it.
        (
            "winnow",
            json!({"alpha": 1.1, "theta": "340282366920938463463374607431768211456"}),
            false,
        ),
        ("winnow", json!({"alpha": 3.0, "theta": "0.3"}), false),
        ("kernel-perceptron", json!({}), false),
        (
            "kernel-perceptron",
            json!({"kernel.max_literals": 2}),
            false,
        ),
        ("kernel-winnow", json!({}), false),
    ]
}

/// The number of names that were new in their examples.
fn unseen(answers: &[Answered]) -> usize {
    let new = answers.iter().map(|answer| answer.unseen.expect("names"));
    new.sum::<u32>() as usize
}

/// Whichever way the examples come, and wherever the session is restored, it is the session that got them
/// at once, bit for bit; and the training, whose names are all known.
#[test]
fn grown_session_equals_one_that_knew_all_features() {
    let random = &mut StdRng::seed_from_u64(7);
    for number in 0..40 {
        for (learner, params, reads_values) in learners() {
            let classes = [2, 5, 20][number % 3];
            let is_open = classes > 2 && number / 3 % 2 == 1;
            let count = random.random_range(1..300);
            let strengths = match (reads_values, number % 4) {
                (true, 1) => Strengths::Whole,
                (true, 3) => Strengths::Fractions,
                _ => Strengths::Presence,
            };
            let names = [20, 30_000][number / 3 % 2];
            let examples = Examples::draw(random, classes, names, count, strengths);
            let (n, known) = examples.known(count);
            let classes = if is_open { 0 } else { classes as usize };
            let mut own = task(learner, &params, classes, is_open);
            if classes != 2 && learner.ends_with("perceptron") && learner != "kernel-perceptron" {
                own.multiclass = [Multiclass::Joint, Multiclass::OneVsRest][number % 2];
            }
            let plan = SessionPlan {
                task: own,
                n: 0,
                real: examples.is_real,
                assume: None,
            };
            let planes = if is_open { known } else { classes };
            let mut whole = Session::new(plan.clone()).expect("a session");
            let data = examples.data(0..count, n.max(1), planes);
            let expected = whole.learn(&data, &Run::default()).expect("learnt");
            let (mut session, mut answers, mut first) =
                (Session::new(plan.clone()).expect("one"), Vec::new(), 0);
            while first < count {
                let end = match number % 2 {
                    0 => first + 1,
                    _ => (first + random.random_range(1..150)).min(count),
                };
                let (n, known) = examples.known(end);
                let part =
                    examples.data(first..end, n.max(1), if is_open { known } else { classes });
                answers.extend(session.learn(&part, &Run::default()).expect("learnt"));
                assert_eq!(session.n(), n);
                assert_eq!(unseen(&answers), n);
                if random.random_bool(0.6) {
                    let snapshot = session.snapshot();
                    session = Session::restore(plan.clone(), &snapshot).expect("a snapshot");
                    assert_eq!(session.snapshot(), snapshot);
                }
                first = end;
            }
            let told = format!("{learner} {params} {number}");
            assert_eq!(answers, expected, "{told}");
            assert_eq!(session.snapshot(), whole.snapshot(), "{told}");
            assert_eq!(session.predictor(), whole.predictor(), "{told}");
            assert_eq!(session.last(), whole.last(), "{told}");
            // A job knows two classes or more.
            if known > 1 && known == planes {
                let job = Task {
                    classes: known.max(2),
                    limits: RunLimits {
                        max_passes: Some(1),
                        ..RunLimits::default()
                    },
                    ..plan.task.clone()
                };
                let input = Input::Sample {
                    data: &data,
                    assume: None,
                };
                let job = train(&job, input, &Run::default()).expect("a training");
                assert_eq!(Some(job.predictor), session.predictor(), "{told}");
                assert_eq!(job.counts.mistakes, session.counts().mistakes, "{told}");
            }
        }
    }
}

#[test]
fn renumbered_hypothesis_decides_alike() {
    let random = &mut StdRng::seed_from_u64(8);
    for (learner, params, _) in learners() {
        let examples = Examples::draw(random, 3, 40, 200, Strengths::Presence);
        let (n, classes) = examples.known(200);
        let plan = SessionPlan {
            task: task(learner, &params, classes, false),
            n: 0,
            real: false,
            assume: None,
        };
        let mut session = Session::new(plan).expect("a session");
        let data = examples.data(0..200, n, classes);
        session.learn(&data, &Run::default()).expect("learnt");
        let predictor = session.predictor().expect("three classes");
        // Each feature moves on by 7, the last ones to the front.
        let ids: Vec<u32> = (0..n as u32).map(|id| (id + 7) % n as u32).collect();
        let moved = predictor.renumbered(&ids, n).expect("features with names");
        assert_ne!(moved, predictor, "{learner}");
        // Further features, which are not active here.
        let apart: Vec<u32> = (0..n as u32).map(|id| 3 * id + 2).collect();
        let among = predictor.renumbered(&apart, 3 * n + 1);
        let among = among.expect("features with names");
        assert_eq!(among.n(), 3 * n + 1);
        let with = |ids: &[u32]| {
            let moved = |row: &Vec<_>| self::moved(row, |id| ids[id as usize]);
            Examples {
                rows: examples.rows.iter().map(moved).collect(),
                codes: examples.codes.clone(),
                is_real: examples.is_real,
            }
        };
        let wrong = |predictor: &_, data: &Data| {
            let mut masks = Vec::new();
            for first in (0..200).step_by(64) {
                let part = data.rows(first..(first + 64).min(200));
                masks.push(errors(predictor, &part));
            }
            masks
        };
        for (other, ids) in [(&moved, &ids), (&among, &apart)] {
            let data_of_other = with(ids).data(0..200, other.n(), classes);
            let expected = wrong(&predictor, &data);
            assert_eq!(wrong(other, &data_of_other), expected, "{learner}");
        }
        let back: Vec<u32> = (0..n as u32)
            .map(|id| (id + n as u32 - 7 % n as u32) % n as u32)
            .collect();
        assert_eq!(moved.renumbered(&back, n), Some(predictor), "{learner}");
    }
}

/// The weights of a few names decide on examples of these names and of unknown ones, with the same scores bit for bit.
#[test]
fn excerpt_decides_as_the_whole_hypothesis() {
    let random = &mut StdRng::seed_from_u64(9);
    for number in 0..12 {
        for (learner, params, reads_values) in learners() {
            let strengths = match (reads_values, number % 2) {
                (true, 1) => Strengths::Fractions,
                _ => Strengths::Presence,
            };
            let examples = Examples::draw(random, [2, 5][number / 2 % 2], 400, 300, strengths);
            let (n, classes) = examples.known(200);
            let plan = SessionPlan {
                task: task(learner, &params, classes, false),
                n: 0,
                real: examples.is_real,
                assume: None,
            };
            let mut session = Session::new(plan).expect("a session");
            let data = examples.data(0..200, n, classes);
            session.learn(&data, &Run::default()).expect("learnt");
            for first in (200..300).step_by(20) {
                let rows = first..first + 20;
                let entries = examples.rows[rows.clone()].iter().flatten();
                let known = entries.map(|(id, _)| *id).filter(|&id| (id as usize) < n);
                let excerpt = Excerpt::new(known.collect());
                let place = |id: u32| match excerpt.place(id) {
                    Some(place) => place,
                    None => excerpt.n() as u32 + id - n as u32,
                };
                let other = Examples {
                    rows: examples.rows[rows.clone()]
                        .iter()
                        .map(|row| moved(row, place))
                        .collect(),
                    codes: examples.codes[rows.clone()].to_vec(),
                    ..examples
                };
                let (all, _) = examples.known(300);
                let predictor = session.predictor().expect("classes");
                let expected = decisions(&predictor, &examples.data(rows, all, classes));
                let few = session.excerpt(&excerpt).expect("features with names");
                assert_eq!(few.n(), excerpt.n());
                let n = excerpt.n() + all - n;
                let found = decisions(&few, &other.data(0..20, n, classes));
                assert_eq!(found, expected, "{learner} {params} {number}");
            }
        }
    }
}

/// A row with its features at other places.
fn moved(row: &[(u32, f64)], place: impl Fn(u32) -> u32) -> Vec<(u32, f64)> {
    let mut row: Vec<_> = row.iter().map(|&(id, value)| (place(id), value)).collect();
    row.sort_by_key(|(id, _)| *id);
    row
}

fn decisions(predictor: &Predictor, data: &Data) -> Vec<Decision> {
    let mut all = Vec::new();
    let (scores, stop) = (ScoresOf::All, StopFlag::default());
    let decided = decide_each(predictor, data, 0.0, scores, &stop, |decisions, _| {
        all.extend_from_slice(decisions);
        ControlFlow::Continue(())
    });
    decided.expect("examples in memory");
    all
}

/// The mask of the wrongly classified rows.
fn errors(predictor: &Predictor, data: &Data) -> u64 {
    let mut sample = Presented::new(data, Presentation::LabelledSparse);
    let block = sample.next_block().expect("in memory").expect("rows");
    predictor.mistakes(&block, &StopFlag::default())
}

#[test]
fn session_over_names_refuses_what_needs_their_number() {
    let plan = |task| SessionPlan {
        task,
        n: 0,
        real: false,
        assume: None,
    };
    for learner in ["winnow", "kernel-winnow"] {
        let mut undeclared = task(learner, &json!({}), 2, false);
        undeclared.active_max = None;
        let refused = Session::new(plan(undeclared)).err();
        let Some(TaskError::Parameter(error)) = refused else {
            panic!("{learner}: {refused:?}");
        };
        assert!(error.name == "theta" && error.detail.contains("`active`"));
        let mut own = task(learner, &json!({"theta": "9"}), 2, false);
        own.active_max = None;
        assert!(Session::new(plan(own)).is_ok(), "{learner}");
    }
    let entry = find("sbpi").expect("listed");
    let named = Task {
        names: true,
        ..Task::of(entry, Seed(1))
    };
    assert!(Session::new(plan(named)).is_err());
    let uniform = SessionPlan {
        assume: Some(Assume::Uniform),
        ..plan(task("perceptron", &json!({}), 2, false))
    };
    assert!(matches!(
        Session::new(uniform).err(),
        Some(TaskError::WrongStop {
            field: "assume",
            ..
        })
    ));
}

/// A kernel of many literals has a table that grows with n. The session refuses the example that would make it too
/// large, and learns on without it.
#[test]
fn session_stays_as_it_was_when_the_rule_cannot_grow() {
    let plan = SessionPlan {
        task: task(
            "kernel-perceptron",
            &json!({"kernel.max_literals": 5000}),
            2,
            false,
        ),
        n: 0,
        real: false,
        assume: None,
    };
    let mut session = Session::new(plan).expect("a session");
    let data = |id: u32| {
        let mut matrix = SparseMatrix::new(id as usize + 1, false);
        matrix.push_row(SparseRow {
            ids: &[id],
            values: None,
        });
        let labels = Labels::of_signs(BitVector::zeros(1));
        Data::new(Features::Sparse(matrix), labels)
    };
    session.learn(&data(3), &Run::default()).expect("learnt");
    let before = session.snapshot();
    let refused = session.learn(&data(1 << 20), &Run::default());
    assert!(matches!(refused, Err(LearnError::Unfit { example: 0, .. })));
    assert_eq!((session.snapshot(), session.n()), (before, 4));
    session.learn(&data(4), &Run::default()).expect("learnt");
}

/// A sample that counts how often somebody begins to read it.
#[derive(Debug)]
struct Read<'a> {
    data: &'a Data,
    readers: AtomicUsize,
}

impl examples::Examples for Read<'_> {
    fn shape(&self) -> Shape {
        self.data.shape()
    }

    fn reader(&self) -> Box<dyn ReadRows + '_> {
        self.readers.fetch_add(1, Ordering::Relaxed);
        self.data.reader()
    }

    fn in_memory(&self) -> Option<&Data> {
        None
    }
}

/// The number of active names is counted before a run only if something follows from it.
#[test]
fn a_given_threshold_needs_no_count_of_active_names() {
    let mut random = StdRng::seed_from_u64(31);
    let drawn = Examples::draw(&mut random, 2, 40, 300, Strengths::Presence);
    let data = drawn.data(0..300, drawn.known(300).0, 2);
    let trained = |params: Value, active_max: Option<u64>| {
        let task = Task {
            active_max,
            limits: RunLimits {
                max_passes: Some(2),
                ..RunLimits::default()
            },
            ..task("winnow", &params, 2, false)
        };
        let sample = Read {
            data: &data,
            readers: AtomicUsize::new(0),
        };
        let input = Input::Sample {
            data: &sample,
            assume: None,
        };
        let outcome = train(&task, input, &Run::default()).expect("a training");
        (outcome, sample.readers.into_inner())
    };
    let known = |params: Value| trained(params, Some(ACTIVE_MAX));
    let unknown = |params: Value| trained(params, None);
    assert_eq!(unknown(json!({})).1, known(json!({})).1 + 1);
    let given = json!({"theta": "24"});
    assert_eq!(unknown(given.clone()).1, known(given).1);
    // The bound for a disjunction needs the number.
    let bounded = json!({"theta": "24", "relevant": 3});
    let (own, readers) = unknown(bounded.clone());
    let (expected, fewer) = known(bounded);
    assert_eq!((own.bound, readers), (expected.bound, fewer + 1));
}
