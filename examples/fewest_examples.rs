//! How few examples determine binary weights: the learners of hidden weights at several numbers of examples per
//! weight, on fresh streams, and on random labels.
//!
//! `cargo run --release --example fewest_examples` measures everything in some minutes. For a part of it, put some of
//! the words `hidden`, `small`, `large`, `fresh`, `random` and `hard` after `--`.

use std::time::Instant;

use halfspace_core::bits::{BLOCK_ROWS, BitMatrix, BlockBuffer};
use halfspace_core::learners::catalogue;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::random::{Purpose, Seed};
use halfspace_core::learners::engine::run::Run;
use halfspace_core::learners::engine::stopping::Sampling;
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::sample::data::{Data, Features, Labels};
use halfspace_core::learners::sample::generate::Plan;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |part: &str| wanted.is_empty() || wanted.iter().any(|word| word == part);
    println!(
        "{:<20} {:>6} {:>9}  {:>8} {:>8} {:>9} {:>9}",
        "learner", "n", "a weight", "found", "", "passes", "seconds"
    );
    if is_wanted("hidden") {
        for (learner, percent) in [
            ("amp", 150),
            ("auto", 150),
            ("amp", 160),
            ("auto", 160),
            ("sbpi", 200),
            ("clipped-perceptron", 200),
            ("amp", 200),
            ("auto", 200),
        ] {
            hidden(learner, 1001, percent, 20);
        }
    }
    if is_wanted("small") {
        for percent in [150, 200, 250] {
            hidden("amp", 101, percent, 400);
        }
    }
    if is_wanted("large") {
        hidden("amp", 10_001, 160, 3);
    }
    if is_wanted("hard") {
        hidden("amp", 1001, 140, 5);
        hidden("auto", 1001, 140, 2);
    }
    if is_wanted("random") {
        for (learner, percent, seeds) in [
            ("sbpi", 60, 5),
            ("reinforced-amp", 60, 5),
            ("auto", 60, 5),
            ("clipped-perceptron", 60, 5),
            ("reinforced-amp", 70, 8),
            ("focusing-bp", 70, 20),
            ("focusing-bp", 73, 20),
            ("focusing-bp", 75, 20),
        ] {
            random(learner, 1001, percent, seeds);
        }
    }
    if is_wanted("fresh") {
        for learner in ["sbpi", "clipped-perceptron"] {
            fresh(learner, 1001, 20);
        }
    }
}

/// Uniform examples, labelled by hidden weights: in how many samples the weights are found.
fn hidden(learner: &str, n: usize, percent: u64, seeds: u64) {
    summarise(learner, n, percent, seeds, |task, seed| {
        let target = Plan::random_target(n, Seed(seed));
        let count = (n as u64 * percent).div_ceil(100);
        let plan = Plan {
            count: Some(count),
            ..Plan::endless(target, Sampling::UniformPositive)
        };
        train(task, Input::Generated(&plan), &Run::default()).expect("an end")
    });
}

/// Random labels: how many samples are learnt.
fn random(learner: &str, n: usize, percent: u64, seeds: u64) {
    summarise(learner, n, percent, seeds, |task, seed| {
        let mut lanes = Seed(seed).lanes(Purpose::Examples);
        let (mut matrix, mut buffer) = (BitMatrix::new(n), BlockBuffer::new(n));
        let rows = (n * percent as usize).div_ceil(100);
        while matrix.rows() < rows {
            buffer.draw(BLOCK_ROWS.min(rows - matrix.rows()), &mut lanes);
            matrix.push_block(buffer.as_block());
        }
        let data = Data::new(Features::Boolean(matrix), Labels::HalfSpace);
        let input = Input::Sample {
            data: &data,
            assume: None,
        };
        train(task, input, &Run::default()).expect("an end")
    });
}

#[expect(clippy::disallowed_methods, reason = "an example measures real time")]
fn summarise(
    learner: &str,
    n: usize,
    percent: u64,
    seeds: u64,
    run: impl Fn(&Task, u64) -> RunOutcome,
) {
    let (mut found, mut passes, start) = (0, 0, Instant::now());
    let mut said = None;
    for seed in 1..=seeds {
        let task = Task::of(catalogue::find(learner).expect("a learner"), Seed(seed));
        let outcome = run(&task, seed);
        let is_learnt = outcome
            .training
            .is_some_and(|training| training.errors == 0);
        found += u64::from(outcome.target.map_or(is_learnt, |target| target.recovered));
        passes += outcome.counts.passes;
        said = outcome.termination.detail.or(said);
    }
    println!(
        "{learner:<20} {n:>6} {:>9.2}  {found:>4} of {seeds:<3} {:>5.1} % {:>9.1} {:>9.3}",
        percent as f64 / 100.0,
        100.0 * found as f64 / seeds as f64,
        passes as f64 / seeds as f64,
        start.elapsed().as_secs_f64() / seeds as f64,
    );
    if let Some(said) = said {
        println!("    last remark: {said}");
    }
}

/// Fresh examples: all mistakes, and the examples up to the last of them.
fn fresh(learner: &str, n: usize, seeds: u64) {
    let (mut mistakes, mut examples, mut found) = (0, 0, 0);
    for seed in 1..=seeds {
        let plan = Plan::endless(
            Plan::random_target(n, Seed(seed)),
            Sampling::UniformPositive,
        );
        let mut task = Task::of(catalogue::find(learner).expect("a learner"), Seed(seed));
        task.trace = true;
        let outcome = train(&task, Input::Generated(&plan), &Run::default()).expect("an end");
        let points = outcome.trace.as_ref().expect("wanted").points();
        let last = points
            .iter()
            .rev()
            .find(|point| point.examples < outcome.counts.examples);
        mistakes += outcome.counts.mistakes;
        examples += last.map_or(0, |point| point.examples);
        found += u64::from(outcome.target.expect("hidden").recovered);
    }
    let share = |count: u64| count as f64 / (seeds * n as u64) as f64;
    println!(
        "{learner:<20} {n:>6}     fresh  {found:>4} of {seeds:<3} {:.2} n mistakes, the last after {:.2} n examples",
        share(mistakes),
        share(examples),
    );
}
