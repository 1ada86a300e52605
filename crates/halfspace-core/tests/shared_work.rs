//! Tests that helper threads change nothing: every learner and every evaluation gives the same result on 1, 2 and 3
//! threads.

mod states;

use std::sync::Arc;

use halfspace_core::bits::{BitMatrix, BitVector};
use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_core::learners::engine::check::check;
use halfspace_core::learners::engine::entry::LearnerEntry;
use halfspace_core::learners::engine::evaluate::evaluate;
use halfspace_core::learners::engine::holdout::HeldOut;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::HelperSeats;
use halfspace_core::learners::engine::run::{Run, RunLimits, StopFlag};
use halfspace_core::learners::engine::shared_work::FixedSeats;
use halfspace_core::learners::engine::stopping::Sampling;
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::{train, train_from};
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::learners::sample::data::{Data, Features, Labels, RealMatrix};
use halfspace_core::learners::sample::examples::{Examples, ReadRows, Shape};
use halfspace_core::learners::sample::generate::Plan;
use halfspace_core::learners::sample::parts::PART_ROWS_MAX;
use serde_json::json;

use states::States;

/// A run with seats for helpers, who help with work of any size.
fn helped(seats: &Arc<FixedSeats>) -> Run {
    Run {
        stop: StopFlag::with_helpers(Arc::clone(seats) as Arc<dyn HelperSeats>),
        ..Run::default()
    }
}

fn seats(count: usize) -> Arc<FixedSeats> {
    Arc::new(FixedSeats::new(count, 0))
}

/// Pseudo-random words.
fn words() -> impl Iterator<Item = u64> {
    let mut state = 7_u64;
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state ^ state >> 29
    })
}

/// Labels by the majority of the first bits, with every ninth label wrong.
fn labelled(n: usize, examples: usize) -> Data {
    let (mut matrix, mut labels) = (BitMatrix::new(n), BitVector::zeros(examples));
    let (mut words, count) = (words(), n.div_ceil(64));
    for row in 0..examples {
        let row_words: Vec<u64> = words.by_ref().take(count).collect();
        let vector = BitVector::from_words(n, row_words);
        let majority = vector.words()[0].count_ones() > n.min(64) as u32 / 2;
        labels.set(row, majority != (row % 9 == 0));
        matrix.push_row(vector.words());
    }
    Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
}

fn real(n: usize, examples: usize) -> Data {
    let values: Vec<f64> = words()
        .take(n * examples)
        .map(|word| (word % 1_009) as f64 / 1_009.0)
        .collect();
    let mut labels = BitVector::zeros(examples);
    (0..examples).for_each(|row| labels.set(row, values[row * n] > 0.4));
    Data::new(
        Features::Real(RealMatrix::from_values(n, values)),
        Labels::of_signs(labels),
    )
}

/// The tasks of a learner, in all of its orders.
fn tasks(entry: &'static LearnerEntry) -> Vec<Task> {
    let orders = [
        json!({}),
        json!({"order": "shuffled"}),
        json!({"order": "random"}),
    ];
    let of = |params: &serde_json::Value| {
        let params = params.as_object().expect("an object");
        let parameters = Parameters::from_json(entry.parameters, params).ok()?;
        Some(Task {
            parameters,
            trace: true,
            holdout: Some(HeldOut::Share(0.3)),
            limits: RunLimits {
                max_passes: Some(12),
                max_examples: Some(9_000),
                ..RunLimits::default()
            },
            ..Task::of(entry, Seed(5))
        })
    };
    orders.iter().filter_map(of).collect()
}

fn outcome(task: &Task, input: Input<'_>, run: &Run) -> RunOutcome {
    train(task, input, run).expect("nobody stops it")
}

#[test]
fn every_learner_and_every_evaluation_gives_the_same_result_on_any_number_of_threads() {
    // Several parts, of which the last is short.
    let samples = [labelled(65, 1_100), labelled(7, 300), real(12, 1_300)];
    let plan = |sampling| Plan {
        count: Some(1_500),
        ..Plan::endless(Plan::random_target(101, Seed(3)), sampling)
    };
    let plans = [plan(Sampling::UniformPositive), plan(Sampling::Uniform)];
    let inputs: Vec<Input<'_>> = samples
        .iter()
        .map(|data| Input::Sample { data, assume: None })
        .chain(plans.iter().map(Input::Generated))
        .collect();
    let mut with_help = Vec::new();
    for entry in CATALOGUE {
        let (mut runs, mut helps) = (0, 0);
        for task in tasks(entry) {
            for &input in &inputs {
                if check(&task, input, u64::MAX).is_err() {
                    continue;
                }
                let expected = outcome(&task, input, &Run::default());
                for count in [1, 2] {
                    let seats = seats(count);
                    assert_eq!(
                        outcome(&task, input, &helped(&seats)),
                        expected,
                        "{}",
                        entry.name
                    );
                    helps += seats.entered();
                    let Input::Sample { data, .. } = input else {
                        continue;
                    };
                    evaluated_alike(&expected.predictor, data, count);
                }
                runs += 1;
            }
        }
        assert!(runs > 0, "{} took no sample", entry.name);
        if helps > 0 {
            with_help.push(entry.name);
        }
    }
    println!("helped: {with_help:?}");
    for name in [
        "amp",
        "auto",
        "directed-drift",
        "kernel-perceptron",
        "kernel-winnow",
        "perceptron",
        "pocket",
        "winnow",
    ] {
        assert!(with_help.contains(&name), "{name} got no help");
    }
}

/// Compares evaluations of a sample in memory and of a sample that is read in blocks.
fn evaluated_alike(predictor: &Predictor, data: &dyn Examples, helpers: usize) {
    for zero in [0.0, -1.0] {
        let expected = evaluate(predictor, data, zero, &Run::default());
        let seats = seats(helpers);
        assert_eq!(evaluate(predictor, data, zero, &helped(&seats)), expected);
        let has_parts = data.shape().examples > PART_ROWS_MAX;
        assert!(!has_parts || seats.entered() > 0);
        let in_blocks = evaluate(predictor, &Blocks(data), zero, &helped(&seats));
        assert_eq!(in_blocks, expected);
    }
}

/// A sample that is not in memory as far as helpers know.
#[derive(Debug)]
struct Blocks<'a>(&'a dyn Examples);

impl Examples for Blocks<'_> {
    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn reader(&self) -> Box<dyn ReadRows + '_> {
        self.0.reader()
    }

    fn in_memory(&self) -> Option<&Data> {
        None
    }
}

/// A row of reals above 8,192 features is gathered into blocks of fewer than 64 rows.
#[test]
fn errors_on_long_shuffled_rows_are_the_same_on_any_number_of_threads() {
    let data = real(9_000, 1_100);
    let entry = CATALOGUE.iter().find(|entry| entry.name == "perceptron");
    let params = json!({"order": "shuffled"});
    let entry = entry.expect("listed");
    let params = params.as_object().expect("an object");
    let task = Task {
        parameters: Parameters::from_json(entry.parameters, params).expect("valid"),
        holdout: Some(HeldOut::Share(0.5)),
        limits: RunLimits {
            max_passes: Some(2),
            ..RunLimits::default()
        },
        ..Task::of(entry, Seed(5))
    };
    let input = Input::Sample {
        data: &data,
        assume: None,
    };
    let seats = seats(1);
    assert_eq!(
        outcome(&task, input, &helped(&seats)),
        outcome(&task, input, &Run::default())
    );
    assert!(seats.entered() > 0);
}

/// Rows with six ones, of which every 97th row is negative.
fn sparse(n: usize, examples: usize) -> Data {
    let (mut matrix, mut labels) = (BitMatrix::new(n), BitVector::zeros(examples));
    let mut words = words();
    for row in 0..examples {
        let mut vector = BitVector::zeros(n);
        let ones = words.by_ref().take(6);
        ones.for_each(|word| vector.set((word >> 11) as usize % n, true));
        labels.set(row, row % 97 != 0);
        matrix.push_row(vector.words());
    }
    Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
}

/// Above 16,384 features, which is 2^14, helpers score fewer rows ahead than the maximum, and a number that is no power
/// of two.
#[test]
fn kernel_learners_run_at_n_around_a_power_of_two() {
    let kernels = CATALOGUE
        .iter()
        .filter(|entry| entry.name.starts_with("kernel"));
    let shifts = [6, 10, 13, 14, 15, 20];
    for (entry, shift) in kernels.flat_map(|entry| shifts.map(move |shift| (entry, shift))) {
        for n in [(1_usize << shift) - 1, 1 << shift, (1 << shift) + 1] {
            // More rows than helpers score ahead.
            let rows = (1 << 19) / n.div_ceil(64);
            let data = sparse(n, rows.clamp(64, 2048) + 65);
            let input = Input::Sample {
                data: &data,
                assume: None,
            };
            // The default theta of kernel Winnow has too many digits for many features.
            let choices = match entry.name {
                "kernel-winnow" => vec![json!({"theta": 8})],
                _ => vec![json!({}), json!({"order": "shuffled"})],
            };
            for params in choices {
                let params = params.as_object().expect("an object");
                let parameters = Parameters::from_json(entry.parameters, params).expect("valid");
                let task = Task {
                    parameters,
                    limits: RunLimits {
                        max_passes: Some(2),
                        ..RunLimits::default()
                    },
                    ..Task::of(entry, Seed(5))
                };
                let seats = seats(1);
                let helped = outcome(&task, input, &helped(&seats));
                assert_eq!(helped, outcome(&task, input, &Run::default()), "{n}");
            }
        }
    }
}

#[test]
fn a_state_of_a_helped_run_resumes_on_one_thread_and_the_other_way() {
    let plan = Plan {
        count: Some(12_001),
        ..Plan::endless(Plan::random_target(401, Seed(1)), Sampling::UniformPositive)
    };
    let input = Input::Generated(&plan);
    let mut task = Task::of(
        CATALOGUE
            .iter()
            .find(|entry| entry.name == "amp")
            .expect("listed"),
        Seed(1),
    );
    let params = json!({"max_iterations": 3});
    task.parameters = Parameters::from_json(
        task.entry.parameters,
        params.as_object().expect("an object"),
    )
    .expect("valid");
    let states = Arc::new(States::default());
    let run = Run {
        checkpoints: Some(Arc::<States>::clone(&states)),
        ..helped(&seats(1))
    };
    let expected = outcome(&task, input, &run);
    let states = states.0.lock().expect("no panic");
    assert!(states.len() > 4, "{}", states.len());
    for state in states.iter() {
        for run in [Run::default(), helped(&seats(2))] {
            let resumed = train_from(&task, input, Some(state), &run).expect("nobody stops it");
            assert_eq!(resumed, expected);
        }
    }
}
