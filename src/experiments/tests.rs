//! What holds of every experiment.

use super::mistake_bound_sweep::{Batches, MistakeBoundSweep, Question};
use super::outcome::Outcome;
use super::{Experiment, ExperimentError};
use crate::learners::run::{Interrupt, Run};
use crate::learners::{directed_drift_async, directed_drift_sync};

/// All parts of it, in order.
fn all(experiment: &Experiment, seed: u64) -> Outcome {
    let compute = |part| experiment.compute(seed, part, &Run::default()).ok();
    let parts: Vec<_> = (0..experiment.parts()).map(compute).collect();
    experiment.gather(&parts)
}

fn sweep(runs: u64) -> MistakeBoundSweep {
    MistakeBoundSweep::new(&Question {
        n: vec![11, 20, 21],
        learners: vec![&directed_drift_async::ENTRY, &directed_drift_sync::ENTRY],
        batches: Batches::Default,
        runs,
        mistakes_max: 10_000,
    })
    .expect("in range")
}

#[test]
fn the_mean_mistakes_are_those_of_the_reference() {
    let outcome = all(&Experiment::new(sweep(400), 1e9).expect("cheap"), 1);
    let expected = [[0.516 * 11.0, f64::NAN, 0.507 * 21.0], [1.135, 1.50, 1.135]];
    for (series, expected) in outcome.chart.series.iter().zip(expected) {
        for (point, expected) in series.points.iter().zip(expected) {
            let (low, high) = (point.low.expect("runs"), point.high.expect("uncensored"));
            let slack = point.y - low + 0.02 * point.y;
            let is_near = (point.y - expected).abs() <= slack || expected.is_nan();
            assert!(is_near, "{}: {low} to {high}, not {expected}", series.label);
            assert_eq!(point.censored, 0);
        }
    }
}

#[test]
fn the_result_depends_neither_on_the_order_of_parts_nor_on_who_is_first() {
    let experiment = Experiment::new(sweep(1_000), 1e9).expect("cheap");
    assert!(experiment.parts() > 1, "{}", experiment.parts());
    let part = |part| experiment.compute(5, part, &Run::default()).ok();
    let mut backwards: Vec<_> = (0..experiment.parts()).rev().map(part).collect();
    assert_eq!(experiment.gather(&backwards), all(&experiment, 5));
    backwards[0] = None;
    let partial = experiment.gather(&backwards);
    assert!(partial.is_partial() && partial.runs > 0);
}

#[test]
fn a_part_that_is_told_to_stop_comes_to_nothing() {
    let experiment = Experiment::new(sweep(10), 1e9).expect("cheap");
    for interrupt in [
        Interrupt::Cancelled,
        Interrupt::Suspended,
        Interrupt::TimeLimit,
    ] {
        let run = Run::default();
        run.stop.raise(interrupt);
        assert_eq!(experiment.compute(1, 0, &run), Err(interrupt));
    }
}

#[test]
fn what_takes_too_long_is_refused_with_its_cost() {
    let error = Experiment::new(sweep(100_000), 0.001).expect_err("dear");
    let ExperimentError::TooCostly { seconds, limit } = error else {
        panic!("{error}")
    };
    assert!(seconds > limit);
}
