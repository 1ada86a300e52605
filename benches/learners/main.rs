//! Speed of whole learners, as ratios to loops over bytes that are timed in the same run.
//!
//! Run `cargo bench --bench learners`. The library's side is everything that a job computes: the generator, the rule
//! behind its trait, the train loop with its stopping rule, and the outcome. It alternates with the baseline. Each
//! round has its own seed, and the benchmark prints medians over the rounds. How many examples a drift run reads
//! depends on its seed, so we compare examples per second.

mod bytes;
mod kernel;

use std::time::Instant;

use halfspace_core::bits::{BitMatrix, BitVector, words_for};
use halfspace_core::learners::catalogue;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Run, RunLimits};
use halfspace_core::learners::engine::stopping::Sampling;
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::sample::data::{Data, Features, Labels};
use halfspace_core::learners::sample::generate::Plan;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const ROUNDS: u64 = 15;
const MAX_EXAMPLES: u64 = 5_000_000;
const PERCEPTRON_PASSES: u64 = 20;

/// Examples and mistakes of one or several runs.
#[derive(Clone, Copy, Default)]
pub struct Read {
    examples: u64,
    mistakes: u64,
}

fn main() {
    println!(
        "{:<46} {:>14} {:>14} {:>9} {:>8} {:>17} {:>8}",
        "learner / baseline", "examples/s", "baseline's", "mistakes", "ratio", "range", "target"
    );
    let drift = |seed| generated("directed-drift", 25, seed);
    let wanted = 1_000_000;
    compare(
        "D n=25 / bytes, a draw a bit",
        Some(20.0),
        |round| repeated(round, wanted, drift),
        |round| {
            repeated(round, wanted / 20, |seed| {
                bytes::drift::<25>(seed, bytes::by_bits)
            })
        },
    );
    compare(
        "D n=25 / bytes, a draw an example, native",
        None,
        |round| repeated(round, wanted, drift),
        |round| repeated(round, wanted / 10, bytes::drift_native),
    );
    let size = |factor: f64, n: f64| (factor * std::f64::consts::PI * n * n.ln()).ceil() as u64;
    compare(
        "D' n=101, default batch / bytes",
        None,
        |round| generated("directed-drift-async", 101, round),
        |round| bytes::batch_drift::<101>(round, size(0.5, 101.0), false),
    );
    compare(
        "D'' n=501, default batch / bytes",
        None,
        |round| {
            repeated(round, wanted, |seed| {
                generated("directed-drift-sync", 501, seed)
            })
        },
        |round| bytes::batch_drift::<501>(round, size(1.0, 501.0), true),
    );
    perceptron();
    kernel::tic_tac_toe();
    kernel::adversary();
}

/// Runs a learner of the library on an endless stream that has the same seed.
fn generated(learner: &str, n: usize, seed: u64) -> Read {
    let plan = Plan {
        target: Plan::random_target(n, Seed(seed)),
        sampling: Sampling::UniformPositive,
        count: None,
        noise: 0.0,
        density: 0.5,
    };
    let limits = RunLimits {
        max_examples: Some(MAX_EXAMPLES),
        ..RunLimits::default()
    };
    run(learner, seed, limits, Input::Generated(&plan))
}

fn run(learner: &str, seed: u64, limits: RunLimits, input: Input<'_>) -> Read {
    run_with(learner, &serde_json::Map::new(), seed, limits, input)
}

fn run_with(
    learner: &str,
    parameters: &serde_json::Map<String, serde_json::Value>,
    seed: u64,
    limits: RunLimits,
    input: Input<'_>,
) -> Read {
    let entry = catalogue::find(learner).expect("a learner");
    let parameters = Parameters::from_json(entry.parameters, parameters);
    let task = Task {
        parameters: parameters.expect("defaults"),
        limits,
        ..Task::of(entry, Seed(seed))
    };
    let outcome = train(&task, input, &Run::default()).expect("nobody suspends it");
    Read {
        examples: outcome.counts.examples,
        mistakes: outcome.counts.mistakes,
    }
}

/// Runs with new seeds until enough examples are read.
fn repeated(round: u64, examples: u64, mut run: impl FnMut(u64) -> Read) -> Read {
    let mut all = Read::default();
    for seed in round << 32.. {
        let read = run(seed);
        all.examples += read.examples;
        all.mistakes += read.mistakes;
        if all.examples >= examples {
            break;
        }
    }
    all
}

/// 8,124 labelled rows of 126 features, 22 of them set, as in the agaricus data. No hyperplane separates the rows, so
/// training never ends by itself.
fn perceptron() {
    let (n, attributes) = (126, 22);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut matrix = BitMatrix::new(n);
    let (mut labels, mut values) = (Vec::new(), Vec::new());
    for _ in 0..8_124 {
        let mut row = vec![0; words_for(n)];
        for attribute in 0..attributes {
            let ends = [attribute, attribute + 1].map(|place| place * n / attributes);
            let j = random.random_range(ends[0]..ends[1]);
            row[j / 64] |= 1_u64 << (j % 64);
        }
        let value = |j: usize| {
            if row[j / 64] >> (j % 64) & 1 == 1 {
                1.0
            } else {
                -1.0
            }
        };
        values.push((0..n).map(value).collect::<Vec<f64>>());
        matrix.push_row(&row);
        // One attribute mostly determines the label, so mistakes are rare but do not end.
        labels.push((row[0] & 0b111 != 0) ^ random.random_bool(0.01));
    }
    let mut packed = BitVector::zeros(labels.len());
    labels
        .iter()
        .enumerate()
        .for_each(|(row, &label)| packed.set(row, label));
    let data = Data::new(Features::Boolean(matrix), Labels::of_signs(packed));
    let limits = RunLimits {
        max_passes: Some(PERCEPTRON_PASSES),
        ..RunLimits::default()
    };
    let input = Input::Sample {
        data: &data,
        assume: None,
    };
    compare(
        "perceptron n=126, 22 set / f64 row by row",
        None,
        |seed| run("perceptron", seed, limits, input),
        |_| bytes::perceptron(&values, &labels, PERCEPTRON_PASSES),
    );
}

/// Prints a line with the ratio of the examples per second of `learner` and `baseline`.
fn compare(
    name: &str,
    target: Option<f64>,
    mut learner: impl FnMut(u64) -> Read,
    mut baseline: impl FnMut(u64) -> Read,
) {
    let mut mistakes = 0.0;
    let mut rounds: Vec<[f64; 3]> = (0..ROUNDS)
        .map(|round| {
            let (speed, share) = speed(|| learner(round));
            mistakes += share / ROUNDS as f64;
            let (baseline, _) = crate::speed(|| baseline(round));
            [speed, baseline, speed / baseline]
        })
        .collect();
    let mut sorted = |key: usize| {
        rounds.sort_by(|a, b| a[key].total_cmp(&b[key]));
        let of = |round: &[f64; 3]| round[key];
        (
            of(&rounds[0]),
            of(&rounds[rounds.len() / 2]),
            of(&rounds[rounds.len() - 1]),
        )
    };
    let ((_, speed, _), (_, baseline, _)) = (sorted(0), sorted(1));
    let (least, ratio, most) = sorted(2);
    let range = format!("{least:.1} .. {most:.1}");
    let target = target.map_or(String::new(), |target| format!(">= {target}"));
    println!(
        "{name:<46} {speed:>14.0} {baseline:>14.0} {mistakes:>9.4} {ratio:>8.2} {range:>17} \
         {target:>8}"
    );
}

/// Examples per second, and the fraction of mistakes.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn speed(work: impl FnOnce() -> Read) -> (f64, f64) {
    let start = Instant::now();
    let read = work();
    let seconds = start.elapsed().as_secs_f64();
    let examples = read.examples as f64;
    (examples / seconds, read.mistakes as f64 / examples)
}
