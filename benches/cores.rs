//! Long computations, alternately on one thread and on several.
//!
//! `cargo bench -p halfspace-core --bench cores [cores]` compares one thread with `cores` threads, 2 by default. The
//! table shows the median seconds of both sides, and the median, least and best of their ratios, which a busy machine
//! lowers. The benchmark fails if the two outcomes differ.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use halfspace_core::learners::catalogue;
use halfspace_core::learners::engine::evaluate::evaluate;
use halfspace_core::learners::engine::holdout::HeldOut;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::HelperSeats;
use halfspace_core::learners::engine::run::{Run, RunLimits, StopFlag};
use halfspace_core::learners::engine::shared_work::{FixedSeats, WORDS_MIN};
use halfspace_core::learners::engine::stopping::Sampling;
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::predict::for_each_decisions_until;
use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::generate::{Generated, Plan};
use serde_json::{Value, json};

const ROUNDS: usize = 5;

/// Drawn examples with some wrong labels.
fn drawn(n: usize, count: u64, noise: f64, sampling: Sampling) -> Data {
    let plan = Plan {
        count: Some(count),
        noise,
        ..Plan::endless(Plan::random_target(n, Seed(1)), sampling)
    };
    Generated::materialise(plan, Seed(2), &Run::default())
}

fn task(learner: &str, params: &Value, max_passes: Option<u64>, holdout: Option<f64>) -> Task {
    let entry = catalogue::find(learner).expect("a learner");
    let params = params.as_object().expect("an object");
    Task {
        parameters: Parameters::from_json(entry.parameters, params).expect("parameters"),
        holdout: holdout.map(HeldOut::Share),
        limits: RunLimits {
            max_passes,
            ..RunLimits::default()
        },
        ..Task::of(entry, Seed(3))
    }
}

fn trained(task: &Task, data: &Data, run: &Run) -> RunOutcome {
    let input = Input::Sample { data, assume: None };
    train(task, input, run).expect("nobody stops it")
}

/// A run with helpers on all cores but one.
fn run(cores: usize) -> Run {
    let seats: Arc<dyn HelperSeats> = Arc::new(FixedSeats::new(cores - 1, WORDS_MIN));
    Run {
        stop: match cores {
            1 => StopFlag::default(),
            _ => StopFlag::with_helpers(seats),
        },
        ..Run::default()
    }
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Measures a computation on one core and on `cores`, in turns.
fn compare<T: PartialEq + Debug>(name: &str, cores: usize, compute: impl Fn(&Run) -> T) {
    let (mut alone, mut together, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let expected = compute(&run(1));
        let one = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        assert!(compute(&run(cores)) == expected, "{name}");
        let all = begun.elapsed().as_secs_f64();
        alone.push(one);
        together.push(all);
        ratios.push(one / all);
    }
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let best = ratios.iter().copied().fold(0.0, f64::max);
    let (one, all, ratio) = (median(alone), median(together), median(ratios));
    println!("{name:<44} {one:>9.4} {all:>9.4} {ratio:>7.2} {least:>7.2} {best:>7.2}");
}

fn main() {
    let cores = std::env::args().find_map(|text| text.parse().ok());
    let cores: usize = cores.unwrap_or(2).max(2);
    println!(
        "{:<44} {:>9} {:>9} {:>7} {:>7} {:>7}",
        "",
        "1 core",
        format!("{cores} cores"),
        "ratio",
        "least",
        "best"
    );
    for (n, count) in [(1_001, 16_000), (1_001, 160_000), (10_001, 80_000)] {
        let half_space = drawn(n, count, 0.05, Sampling::UniformPositive);
        let amp = task("amp", &json!({"max_iterations": 10}), None, None);
        compare(&format!("amp, n = {n}, m = {count}"), cores, |run| {
            trained(&amp, &half_space, run)
        });
    }
    let labelled = drawn(256, 40_000, 0.1, Sampling::Uniform);
    let kernel = task("kernel-perceptron", &json!({}), Some(1), None);
    let tests = drawn(256, 20_000, 0.1, Sampling::Uniform);
    compare("kernel perceptron, 1 pass and errors", cores, |run| {
        trained(&kernel, &labelled, run)
    });
    let held_out = task("kernel-perceptron", &json!({}), Some(1), Some(0.5));
    compare("kernel perceptron, half held out", cores, |run| {
        trained(&held_out, &tests, run)
    });
    let separable = drawn(256, 30_000, 0.0, Sampling::Uniform);
    let to_end = task("kernel-perceptron", &json!({}), Some(100), None);
    compare("kernel perceptron, to the end, with bound", cores, |run| {
        trained(&to_end, &separable, run)
    });
    for (name, params, n, count) in [
        ("kernel-perceptron", json!({}), 256, 20_000),
        ("winnow", json!({}), 1_000, 200_000),
        ("perceptron", json!({}), 1_000, 200_000),
        ("directed-drift", json!({}), 1_000, 200_000),
    ] {
        let shown = drawn(n, 8_000, 0.1, Sampling::Uniform);
        let hypothesis =
            trained(&task(name, &params, Some(1), None), &shown, &Run::default()).predictor;
        let data = drawn(n, count, 0.1, Sampling::Uniform);
        compare(&format!("evaluate {name}, n = {n}"), cores, |run| {
            evaluate(&hypothesis, &data, 0.0, run).expect("nobody stops it")
        });
        compare(&format!("predict {name}, n = {n}"), cores, |run| {
            let mut positive = 0;
            for_each_decisions_until(&hypothesis, &data, 0.0, &run.stop, |decisions| {
                positive += decisions.iter().filter(|one| one.is_positive()).count();
                std::ops::ControlFlow::Continue(())
            });
            positive
        });
    }
}
