//! Trainings that read examples from their stored form block by block. For every buffer size the results equal those
//! from memory bit for bit. Data that cannot be read end the run and never change the result.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use halfspace_core::bits::{BitMatrix, BitVector, words_for};
use halfspace_core::learners::catalogue::{CATALOGUE, find};
use halfspace_core::learners::engine::check::check;
use halfspace_core::learners::engine::entry::LearnerEntry;
use halfspace_core::learners::engine::evaluate::evaluate;
use halfspace_core::learners::engine::holdout::{HeldOut, Holdout, HoldoutPart};
use halfspace_core::learners::engine::input::{Input, TaskError};
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::reason::Reason;
use halfspace_core::learners::engine::run::{Interrupt, Run, RunLimits, StopFlag};
use halfspace_core::learners::engine::stopping::Sampling;
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::sample::data::{Data, DenseFeatures, Features, Labels, RealMatrix};
use halfspace_core::learners::sample::examples::Examples;
use halfspace_core::learners::sample::generate::{Generated, Plan};
use halfspace_core::learners::sample::target::Target;
use halfspace_formats::{
    BlocksError, Buffers, Layout, ReadAt, StoredExamples, digest, write_blocks,
};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};

/// Buffers that hold the least amount that can be read at once.
const TINY: Buffers = Buffers {
    whole_bytes_max: 0,
    window_bytes: 1,
};

fn blob(data: &Data) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_blocks(data, None, None, None, &mut bytes).unwrap();
    bytes
}

fn opened(source: impl ReadAt + 'static, data: &Data, buffers: Buffers) -> StoredExamples {
    let stop = StopFlag::default();
    StoredExamples::open(
        Box::new(source),
        digest(data, None, None, None),
        buffers,
        stop,
    )
    .unwrap()
}

fn stored(data: &Data, buffers: Buffers) -> StoredExamples {
    opened(Bytes::from(blob(data)), data, buffers)
}

/// Sparse random bits. The labels are a noisy half-space, or all positive.
fn boolean(rows: usize, n: usize, density: f64, labelled: bool) -> Data {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut matrix = BitMatrix::new(n);
    let mut labels = BitVector::zeros(rows);
    for row in 0..rows {
        let mut bits = BitVector::zeros(n);
        (0..n).for_each(|j| bits.set(j, random.random_bool(density)));
        let ones: u32 = bits.words().iter().map(|word| word.count_ones()).sum();
        labels.set(
            row,
            (ones as f64 >= n as f64 * density) ^ random.random_bool(0.05),
        );
        matrix.push_row(bits.words());
    }
    let labels = match labelled {
        true => Labels::of_signs(labels),
        false => Labels::HalfSpace,
    };
    Data::new(Features::Boolean(matrix), labels)
}

fn real(rows: usize, n: usize) -> Data {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    let values: Vec<f64> = (0..rows * n).map(|_| random.random()).collect();
    let mut labels = BitVector::zeros(rows);
    for row in 0..rows {
        let sum: f64 = values[row * n..(row + 1) * n].iter().sum();
        labels.set(row, sum >= n as f64 / 2.0);
    }
    let features = Features::Real(RealMatrix::from_values(n, values));
    Data::new(features, Labels::of_signs(labels))
}

/// Samples of every kind. Most do not fill their last block.
fn samples() -> Vec<Data> {
    vec![
        boolean(333, 70, 0.1, true),
        boolean(200, 130, 0.07, false),
        boolean(65, 9, 0.3, true),
        real(150, 5),
        real(70, 300),
    ]
}

fn is_taken(entry: &LearnerEntry, data: &Data) -> bool {
    let kind = match data.labels() {
        Labels::HalfSpace => entry.data.half_space,
        Labels::Labelled(_) => entry.data.labelled,
        Labels::Unlabelled => false,
    };
    kind && (entry.data.real || matches!(data.features(), Features::Boolean(_)))
}

fn task(entry: &'static LearnerEntry, params: &Value) -> Task {
    Task {
        parameters: Parameters::from_json(entry.parameters, params.as_object().unwrap()).unwrap(),
        limits: RunLimits {
            max_passes: Some(7),
            max_mistakes: Some(400),
            max_examples: None,
        },
        trace: true,
        ..Task::of(entry, Seed(5))
    }
}

fn run(task: &Task, examples: &dyn Examples) -> RunOutcome {
    let input = Input::Sample {
        data: examples,
        assume: None,
    };
    check(task, input, u64::MAX).unwrap_or_else(|error| panic!("{}: {error}", task.entry.name));
    train(task, input, &Run::default()).unwrap()
}

/// Calls `see` with every learner, in each of its orders, and every sample that the learner takes.
fn for_each(mut see: impl FnMut(&Task, &Data)) {
    let mut seen = 0;
    for data in samples() {
        for entry in CATALOGUE.iter().filter(|entry| is_taken(entry, &data)) {
            see(&task(entry, &json!({})), &data);
            let has_order = entry.parameters.iter().any(|known| known.name == "order");
            for order in ["cyclic", "shuffled", "random"] {
                let params = json!({"order": order});
                let known = params.as_object().unwrap();
                if has_order && Parameters::from_json(entry.parameters, known).is_ok() {
                    see(&task(entry, &params), &data);
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn every_learner_learns_the_same_block_by_block() {
    for_each(|task, data| {
        let expected = run(task, data);
        for buffers in [
            TINY,
            Buffers {
                window_bytes: 5_000,
                ..TINY
            },
            Buffers {
                whole_bytes_max: 1 << 30,
                ..TINY
            },
        ] {
            let stored = stored(data, buffers);
            if buffers.whole_bytes_max > 0 {
                stored.verify(&StopFlag::default()).unwrap();
                assert!(stored.in_memory().is_some());
            }
            let found = run(task, &stored);
            assert_eq!(found, expected, "{} {buffers:?}", task.entry.name);
        }
    });
}

/// The learner searches, then shuffles, then searches again over rows that stay shuffled.
#[test]
fn the_stages_of_auto_learn_the_same_block_by_block() {
    let data = boolean(65, 9, 0.3, true);
    let mut task = task(find("auto").unwrap(), &json!({}));
    task.limits = RunLimits::default();
    let expected = run(&task, &data);
    assert_eq!(expected.termination.reason, Reason::Limit("restarts"));
    // A pass of a search counts as one mistake.
    assert!(expected.counts.mistakes > expected.counts.passes);
    assert_eq!(run(&task, &stored(&data, TINY)), expected);
}

fn part(data: &Data, rows: &[u32]) -> Data {
    let features = match data.features().packed().expect("memory") {
        DenseFeatures::Boolean(matrix) => {
            let mut part = BitMatrix::new(data.n());
            let mut words = vec![0; words_for(data.n())];
            for &row in rows {
                words.copy_from_slice(matrix.row(row as usize).words());
                part.push_row(&words);
            }
            Features::Boolean(part)
        }
        DenseFeatures::Real(matrix) => {
            let values = rows.iter().flat_map(|&row| matrix.row(row as usize));
            Features::Real(RealMatrix::from_values(data.n(), values.copied().collect()))
        }
    };
    let labels = match data.labels() {
        Labels::Labelled(labels) => {
            let mut part = BitVector::zeros(rows.len());
            for (at, &row) in rows.iter().enumerate() {
                part.set(at, labels.get(row as usize) == 1);
            }
            Labels::of_signs(part)
        }
        labels => labels.clone(),
    };
    Data::new(features, labels)
}

#[test]
fn holdout_equals_a_training_and_an_evaluation_on_the_parts() {
    for_each(|whole, data| {
        let parted = Task {
            holdout: Some(HeldOut::Share(0.3)),
            ..whole.clone()
        };
        let holdout =
            Holdout::new(HeldOut::Share(0.3), data.examples() as u64, whole.seed).unwrap();
        let (shown, held_out) = (
            holdout.rows(HoldoutPart::Shown),
            holdout.rows(HoldoutPart::HeldOut),
        );
        let (rest, tested) = (part(data, &shown), part(data, &held_out));
        let context = format!("{} {:?}", whole.entry.name, data.shape());
        let found = run(&parted, data);
        let mut alone = run(whole, &rest);
        let counted = found.holdout.unwrap_or_else(|| panic!("{context}"));
        assert_eq!(counted.examples, held_out.len() as u64, "{context}");
        assert_eq!(
            Some(counted),
            {
                // The held-out errors equal those that an evaluation on the held-out part counts.
                let evaluation = evaluate(&alone.predictor, &tested, 0.0, &Run::default());
                evaluation.ok().map(
                    |found| halfspace_core::learners::engine::outcome::Training {
                        errors: found.confusion.errors(),
                        examples: found.confusion.examples(),
                    },
                )
            },
            "{context}"
        );
        alone.holdout = Some(counted);
        // The rows of the rest have other numbers in the whole sample.
        let own = |places: &mut u64| *places = u64::from(shown[*places as usize]);
        alone
            .grounds
            .kept
            .iter_mut()
            .flatten()
            .flatten()
            .for_each(own);
        assert_eq!(found, alone, "{context}");
        assert_eq!(run(&parted, &stored(data, TINY)), found, "{context}");
    });
}

fn plan(count: Option<u64>, sampling: Sampling) -> Plan {
    let bits = BitVector::from_bit_string(b"101101110010110").unwrap();
    Plan {
        count,
        ..Plan::endless(Target::BinaryWeights(bits), sampling)
    }
}

/// The same subset is held out for data that are generated while reading, materialised or stored.
#[test]
fn holdout_of_generated_examples_is_that_of_stored_ones() {
    for (learner, params, sampling) in [
        ("perceptron", json!({}), Sampling::Uniform),
        (
            "perceptron",
            json!({"order": "shuffled"}),
            Sampling::Uniform,
        ),
        ("pocket", json!({}), Sampling::Uniform),
        ("directed-drift", json!({}), Sampling::UniformPositive),
        (
            "directed-drift-sync",
            json!({"batch_size": 40}),
            Sampling::Reflected,
        ),
    ] {
        let task = Task {
            holdout: Some(HeldOut::Share(0.25)),
            ..task(find(learner).unwrap(), &params)
        };
        let plan = plan(Some(1_000), sampling);
        let data = Generated::materialise(plan.clone(), task.seed, &Run::default());
        let input = Input::Generated(&plan);
        assert_eq!(check(&task, input, 1 << 20), Ok(()));
        let drawn = train(&task, input, &Run::default()).unwrap();
        let kept = Input::Sample {
            data: &data,
            assume: Some(sampling.into()),
        };
        let kept = train(&task, kept, &Run::default()).unwrap();
        assert_eq!(drawn.predictor, kept.predictor, "{learner}");
        assert_eq!(drawn.counts, kept.counts, "{learner}");
        assert_eq!(drawn.holdout, kept.holdout, "{learner}");
        assert_eq!(
            drawn.termination.confidence, kept.termination.confidence,
            "{learner}"
        );
        assert_eq!(kept.training.unwrap().examples, 750);
        assert_eq!(kept.holdout.unwrap().examples, 250);
    }
    let task = Task {
        holdout: Some(HeldOut::Share(0.25)),
        ..task(find("perceptron").unwrap(), &json!({}))
    };
    let endless = plan(None, Sampling::Uniform);
    let refused = check(&task, Input::Generated(&endless), 1 << 20);
    assert!(
        matches!(refused, Err(TaskError::WrongStop { .. })),
        "{refused:?}"
    );
    let ending = Task {
        limits: RunLimits {
            max_examples: Some(10),
            ..RunLimits::default()
        },
        ..task.clone()
    };
    let refused = check(&ending, Input::Generated(&endless), 1 << 20);
    assert!(
        matches!(refused, Err(TaskError::Field { .. })),
        "{refused:?}"
    );
    let one = plan(Some(1), Sampling::Uniform);
    let refused = check(&task, Input::Generated(&one), 1 << 20);
    assert!(
        matches!(refused, Err(TaskError::Field { .. })),
        "{refused:?}"
    );
}

#[test]
fn shuffled_order_of_rows_counts_as_state() {
    let data = boolean(333, 70, 0.1, true);
    let perceptron = find("perceptron").unwrap();
    let needed = |task: &Task| {
        let input = Input::Sample {
            data: &data,
            assume: None,
        };
        match check(task, input, 0) {
            Err(TaskError::TooLarge { needed, .. }) => needed,
            other => panic!("{other:?}"),
        }
    };
    let cyclic = needed(&task(perceptron, &json!({})));
    let shuffled = needed(&task(perceptron, &json!({"order": "shuffled"})));
    assert_eq!(shuffled - cyclic, 4 * 333);
    let parted = Task {
        holdout: Some(HeldOut::Share(0.5)),
        ..task(perceptron, &json!({}))
    };
    assert_eq!(needed(&parted) - cyclic, 4 * 333);
}

/// A source that fails after a number of reads.
#[derive(Debug)]
struct Failing {
    bytes: Vec<u8>,
    reads_left: Arc<AtomicI64>,
    kind: io::ErrorKind,
}

impl ReadAt for Failing {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if self.reads_left.fetch_sub(1, Ordering::Relaxed) <= 0 {
            return Err(self.kind.into());
        }
        let from = offset as usize;
        buffer.copy_from_slice(&self.bytes[from..from + buffer.len()]);
        Ok(())
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }
}

#[test]
fn failing_source_ends_a_run_without_a_result() {
    for_each(|task, data| {
        let reads_left = Arc::new(AtomicI64::new(1));
        for (after, kind) in [
            (0, io::ErrorKind::Other),
            (1, io::ErrorKind::UnexpectedEof),
            (7, io::ErrorKind::Other),
        ] {
            reads_left.store(1_000_000, Ordering::Relaxed);
            let source = Failing {
                bytes: blob(data),
                reads_left: Arc::clone(&reads_left),
                kind,
            };
            let stored = opened(source, data, TINY);
            reads_left.store(after, Ordering::Relaxed);
            let input = Input::Sample {
                data: &stored,
                assume: None,
            };
            let outcome = train(task, input, &Run::default());
            if reads_left.load(Ordering::Relaxed) >= 0 {
                // The run ended before the source failed.
                assert!(outcome.is_ok());
                continue;
            }
            assert_eq!(outcome, Err(Interrupt::Unreadable), "{}", task.entry.name);
            let failure = stored.failure().unwrap();
            let is_expected = match kind {
                io::ErrorKind::UnexpectedEof => matches!(failure, BlocksError::Truncated),
                _ => matches!(failure, BlocksError::Io(_)),
            };
            assert!(is_expected, "{failure:?}");
        }
    });
}

#[test]
fn every_flipped_bit_of_stored_examples_is_found() {
    let samples = [
        boolean(70, 9, 0.3, true),
        boolean(65, 70, 0.3, false),
        real(70, 2),
    ];
    for data in samples {
        let good = blob(&data);
        let verified = |bytes: Vec<u8>, buffers| {
            let stop = StopFlag::default();
            let source = Box::new(Bytes::from(bytes));
            let stored =
                StoredExamples::open(source, digest(&data, None, None, None), buffers, stop);
            stored.is_ok_and(|stored| stored.verify(&StopFlag::default()).is_ok())
        };
        for buffers in [
            TINY,
            Buffers {
                whole_bytes_max: 1 << 20,
                ..TINY
            },
        ] {
            assert!(verified(good.clone(), buffers));
            assert!(!verified(good[..good.len() - 1].to_vec(), buffers));
            assert!(!verified([good.clone(), vec![0]].concat(), buffers));
            for at in 0..good.len() {
                let mut flipped = good.clone();
                flipped[at] ^= 1 << (at % 8);
                assert!(
                    !verified(flipped, buffers),
                    "byte {at} of {:?}",
                    data.shape()
                );
            }
        }
    }
}

#[test]
fn a_damaged_block_is_refused_wherever_it_is_read() {
    for data in [boolean(333, 70, 0.1, true), real(150, 5), real(150, 70)] {
        let mut bytes = blob(&data);
        let layout = Layout::read(bytes.as_slice()).unwrap();
        let block = layout.block_offset(1).unwrap() as usize;
        bytes[block + 9] ^= 1;
        let stored = opened(Bytes::from(bytes), &data, TINY);
        for order in ["cyclic", "shuffled"] {
            let task = task(find("perceptron").unwrap(), &json!({"order": order}));
            let input = Input::Sample {
                data: &stored,
                assume: None,
            };
            let outcome = train(&task, input, &Run::default());
            assert_eq!(outcome, Err(Interrupt::Unreadable));
        }
        let failure = stored.failure();
        assert!(
            matches!(failure, Some(BlocksError::Check { rows, .. }) if rows.start == 64),
            "{failure:?}"
        );
    }
}

/// The report of each damaged block names its rows.
#[test]
fn damage_report_names_the_rows_of_every_damaged_block() {
    let data = boolean(333, 70, 0.1, true);
    let mut bytes = blob(&data);
    let layout = Layout::read(bytes.as_slice()).unwrap();
    for block in [1, 4] {
        bytes[layout.block_offset(block).unwrap() as usize + 700] ^= 16;
    }
    let buffers = Buffers {
        window_bytes: 1 << 20,
        ..TINY
    };
    let stored = opened(Bytes::from(bytes.clone()), &data, buffers);
    let damages = stored.damages(true, 9, &mut |_| {});
    let told: Vec<_> = damages.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("rows 65 to 128,") && told[1].contains("rows 257 to 320,"));
    assert_eq!(stored.damages(true, 1, &mut |_| {}).len(), 1);
    let whole = opened(Bytes::from(blob(&data)), &data, buffers);
    assert!(whole.damages(true, 9, &mut |_| {}).is_empty());
    // Other data whose blocks are all whole.
    let other = blob(&boolean(333, 70, 0.2, true));
    let other = opened(Bytes::from(other), &data, buffers);
    assert!(other.damages(false, 9, &mut |_| {}).is_empty());
    let damages = other.damages(true, 9, &mut |_| {});
    assert!(matches!(damages[..], [BlocksError::Digest]), "{damages:?}");
}

#[test]
fn suspended_reading_of_stored_examples_is_given_up() {
    let data = boolean(333, 70, 0.1, true);
    let stop = StopFlag::default();
    let source = Box::new(Bytes::from(blob(&data)));
    let stored =
        StoredExamples::open(source, digest(&data, None, None, None), TINY, stop.clone()).unwrap();
    stop.raise(Interrupt::Suspended);
    let winnow = task(find("kernel-winnow").unwrap(), &json!({}));
    let input = Input::Sample {
        data: &stored,
        assume: None,
    };
    let refused = check(&winnow, input, u64::MAX);
    assert_eq!(refused, Err(TaskError::Unread(Interrupt::Suspended)));
}
