//! Tests the properties that all experiments share, and figures from the papers and from the exact chain.

use serde_json::{Map, Value, json};

use super::false_stop_rate::{FalseStopRate, FalseStopRateSpec};
use super::mistake_bound_sweep::{MistakeBoundSweep, MistakeBoundSweepSpec};
use super::outcome::ExperimentOutcome;
use super::sample_complexity::{self, ConfiguredLearner, SampleComplexity};
use super::separable_fraction::{Points, SeparableFraction, SeparableFractionSpec};
use super::{
    Design, Experiment, ExperimentError, Observation, PARTS_MAX, POINTS_MAX, PartTally, PointPlan,
    PointTally,
};
use crate::figures::chart::{Axis, Chart, Point, Scale, Series};
use crate::learners::catalogue::find;
use crate::learners::engine::parameters::Parameters;
use crate::learners::engine::random::Seed;
use crate::learners::engine::run::{Interrupt, Run, StopFlag};
use crate::learners::engine::stopping::StopRule;
use crate::theory::cover::dichotomies;
use crate::theory::directed_drift::{expected_mistakes, false_stop_probability};

/// Computes all parts of an experiment in order.
fn all(experiment: &Experiment, seed: u64) -> ExperimentOutcome {
    let compute = |part| experiment.compute(seed, part, &Run::default()).ok();
    let parts: Vec<_> = (0..experiment.parts()).map(compute).collect();
    experiment.gather(&parts)
}

/// The outcome of a design with seed 1.
fn outcome(design: impl Design + 'static) -> ExperimentOutcome {
    all(&Experiment::new(design), 1)
}

fn names(learners: &[&str]) -> Vec<String> {
    learners.iter().map(|&name| name.to_owned()).collect()
}

/// Parameters of a sweep of negligible cost.
fn sweep() -> MistakeBoundSweepSpec {
    MistakeBoundSweepSpec {
        n: vec![11],
        learners: names(&["directed-drift-async", "directed-drift-sync"]),
        batch_sizes: None,
        normalised_batch_sizes: None,
        runs: 10,
        max_mistakes: 10_000,
    }
}

fn swept(question: &MistakeBoundSweepSpec) -> ExperimentOutcome {
    outcome(MistakeBoundSweep::new(question).expect("in range"))
}

/// Asserts that a mean lies within four standard errors and `rounding` of the expected value.
#[track_caller]
fn assert_mean(point: &Point, expected: f64, rounding: f64) {
    let (low, high) = (point.low.expect("runs"), point.high.expect("uncensored"));
    let error = (high - low) / (2.0 * 1.96);
    let is_near = (point.y - expected).abs() <= 4.0 * error + rounding;
    assert!(is_near, "n = {}: {low} to {high}, not {expected}", point.x);
}

/// The expected means come from an independent implementation with standard errors below 0.01.
#[test]
fn directed_drift_sync_and_async_make_the_reference_mistakes() {
    let expected = |learner, n: &[u64], runs, means: &[f64]| {
        let found = swept(&MistakeBoundSweepSpec {
            n: n.to_vec(),
            learners: names(&[learner]),
            runs,
            ..sweep()
        });
        for (point, mean) in found.chart.series[0].points.iter().zip(means) {
            assert_mean(point, *mean, 0.01 * mean.max(1.0));
        }
    };
    let sync = [1.135, 1.50, 1.135, 1.135, 1.28, 1.135];
    expected(
        "directed-drift-sync",
        &[11, 20, 21, 51, 100, 101],
        300,
        &sync,
    );
    let halves = [0.516 * 11.0, 0.507 * 21.0, 0.503 * 101.0];
    expected("directed-drift-async", &[11, 21, 101], 60, &halves);
}

/// D' with batches of one example is D, which needs no run.
#[test]
fn simulated_directed_drift_is_that_of_its_chain() {
    for (n, runs) in [(3, 400), (11, 300), (21, 6)] {
        let simulated = swept(&MistakeBoundSweepSpec {
            n: vec![n],
            learners: names(&["directed-drift-async", "directed-drift"]),
            batch_sizes: Some(vec![1]),
            runs,
            max_mistakes: 10_000_000,
            ..sweep()
        });
        let expected = expected_mistakes(n as usize).expect("within the chain") / n as f64;
        let [runs, exact] = [0, 1].map(|at: usize| simulated.chart.series[at].points[0]);
        assert_mean(&runs, expected, 0.0);
        assert_eq!(exact, Point::exact(1.0, expected));
    }
}

#[test]
fn mistake_sweep_censors_a_run_that_reaches_max_mistakes() {
    let found = swept(&MistakeBoundSweepSpec {
        n: vec![21],
        normalised_batch_sizes: Some(vec![0.1, 0.5, 2.0]),
        runs: 20,
        max_mistakes: 100,
        ..sweep()
    });
    for series in &found.chart.series {
        let heights: Vec<f64> = series.points.iter().map(|point| point.y).collect();
        assert!(heights[0] > 1.5 * heights[2], "{heights:?}");
        assert!(series.points[2].y < 1.0 && series.points[2].censored == 0);
    }
    let censored = found.chart.series[1].points[0];
    assert!(
        censored.censored > 0 && censored.high.is_none(),
        "{censored:?}"
    );
    assert!(censored.y <= 100.0 / 21.0);
    let said = found.chart.notes.join(" ");
    assert!(said.contains("stopped after 100 mistakes"), "{said}");
    assert_eq!(found.chart.marks.len(), 2);
}

#[test]
fn false_stop_rates_are_those_of_the_chain() {
    let (n, deltas) = (vec![5, 10], vec![0.2, 0.05]);
    let rules = vec![StopRule::PerHypothesis, StopRule::Anytime, StopRule::Exact];
    let design = FalseStopRate::new(FalseStopRateSpec {
        n: n.clone(),
        rules: rules.clone(),
        deltas: deltas.clone(),
        runs: 300,
    });
    let found = outcome(design.expect("in range")).chart;
    let mut series = found.series.iter().zip(&found.theory);
    for rule in rules {
        for &n in &n {
            let (series, theory) = series.next().expect("one a rule and n");
            assert!(
                series.points[0].x < series.points[1].x,
                "from left to right"
            );
            assert_eq!(series.label, format!("{}, n = {n}", rule.name()));
            for (point, place) in series.points.iter().zip(&theory.points) {
                let exact = false_stop_probability(n, point.x, rule).expect("in range");
                assert_eq!((place.x, place.y), (point.x, exact));
                let error = (exact * (1.0 - exact) / 300.0).sqrt();
                assert!(
                    (point.y - exact).abs() <= 4.0 * error + 0.004,
                    "{series:?}, {exact}"
                );
                let keeps = exact <= point.x;
                assert!(keeps || rule == StopRule::PerHypothesis, "{series:?}");
            }
        }
    }
    let diagonal = found.theory.last().expect("a diagonal");
    assert!(diagonal.points.iter().all(|place| place.x == place.y));
}

#[test]
fn separable_fraction_is_that_of_covers_count() {
    let design = SeparableFraction::new(SeparableFractionSpec {
        dimensions: vec![3, 5],
        ratios: vec![1.0, 2.0, 3.0],
        points: Points::Normal,
        runs: 100,
    });
    for series in outcome(design.expect("in range")).chart.series {
        let dimension: u64 = series.label[4..].parse().expect("N = ..");
        for point in &series.points {
            let points = (point.x * dimension as f64).round() as u64;
            let exact = dichotomies(points, dimension, &StopFlag::default())
                .expect("in range")
                .fraction;
            let error = (exact * (1.0 - exact) / 100.0).sqrt();
            assert!((point.y - exact).abs() <= 4.0 * error, "{point:?}, {exact}");
            assert_eq!(point.censored, 0);
        }
    }
}

#[test]
fn points_of_signs_are_not_in_general_position() {
    let share = |points| {
        let design = SeparableFraction::new(SeparableFractionSpec {
            dimensions: vec![3],
            ratios: vec![2.0],
            points,
            runs: 150,
        });
        outcome(design.expect("in range")).chart.series[0].points[0].y
    };
    assert!(share(Points::Signs) < share(Points::Normal) - 0.1);
}

fn learner(name: &str, params: &Value) -> ConfiguredLearner {
    let entry = find(name).expect("a learner");
    let object = params.as_object().cloned().unwrap_or_else(Map::new);
    let parameters = Parameters::from_json(entry.parameters, &object);
    let parameters = parameters.expect("parameters");
    ConfiguredLearner { entry, parameters }
}

fn few_examples() -> sample_complexity::SampleComplexityParams {
    sample_complexity::SampleComplexityParams {
        n: vec![51],
        learners: vec![
            learner("amp", &json!({})),
            learner("sbpi", &json!({})),
            learner("perceptron", &json!({"bias": false})),
        ],
        ratios: vec![0.5, 3.0],
        runs: 12,
        max_passes: 100,
    }
}

#[test]
fn sample_complexity_of_searching_learners_is_below_the_perceptrons() {
    let design = SampleComplexity::new(few_examples()).expect("in range");
    let found = outcome(design).chart;
    let ends: Vec<(f64, f64)> = found
        .series
        .iter()
        .map(|series| (series.points[0].y, series.points[1].y))
        .collect();
    assert!(ends.iter().all(|(few, _)| *few == 0.0), "{ends:?}");
    assert!(ends[0].1 >= 0.9 && ends[1].1 >= 0.9, "{ends:?}");
    assert!(ends[2].1 < 0.8, "signs of a perceptron need more: {ends:?}");
    let marks: Vec<f64> = found.marks.iter().map(|mark| mark.x).collect();
    assert_eq!(marks, [1.245, 1.493]);
    assert_eq!(found.series[1].label, "sbpi, n = 51");
    assert_eq!(found.notes.len(), 2);
}

#[test]
fn sample_complexity_auto_finds_what_amp_finds_run_by_run() {
    let design = SampleComplexity::new(sample_complexity::SampleComplexityParams {
        learners: vec![learner("amp", &json!({})), learner("auto", &json!({}))],
        ratios: vec![1.25, 1.75],
        ..few_examples()
    });
    let experiment = Experiment::new(design.expect("in range"));
    let found = |point, number| {
        let observed = experiment.observe(1, point, number, &Run::default());
        observed.expect("nobody stops it").value
    };
    let (mut by_amp, mut runs) = (0, 0);
    for (amp, auto) in [(0, 2), (1, 3)] {
        for number in 0..12 {
            assert!(found(auto, number) >= found(amp, number), "run {number}");
            by_amp += found(amp, number);
            runs += 1;
        }
    }
    assert!(
        0 < by_amp && by_amp < runs,
        "{by_amp} of {runs} tell nothing"
    );
}

#[test]
fn chart_labels_number_learners_of_the_same_name() {
    let design = SampleComplexity::new(sample_complexity::SampleComplexityParams {
        n: vec![5],
        learners: vec![
            learner("amp", &json!({})),
            learner("sbpi", &json!({})),
            learner("sbpi", &json!({"reinforcement": 0.5})),
        ],
        ratios: vec![1.0],
        runs: 1,
        max_passes: 1,
    });
    let found = outcome(design.expect("in range")).chart;
    let labels: Vec<&str> = found.series.iter().map(|one| one.label.as_str()).collect();
    assert_eq!(labels, ["amp, n = 5", "sbpi (2), n = 5", "sbpi (3), n = 5"]);
    assert!(found.notes[2].contains("position in the request"));
}

/// A design whose runs claim a long time and take none. The value of a run is the last digits of its seed.
#[derive(Debug)]
struct Digits;

impl Design for Digits {
    fn name(&self) -> &'static str {
        "digits"
    }

    fn points(&self) -> Vec<PointPlan> {
        let plan = |runs, seconds_a_run| PointPlan {
            runs,
            seconds_a_run,
        };
        vec![
            plan(100, 0.25),
            plan(7, 3.0),
            plan(0, 1.0),
            plan(1_000, 0.001),
        ]
    }

    fn observe(&self, _: usize, seed: Seed, _: &Run) -> Result<Observation, Interrupt> {
        Ok(Observation {
            value: seed.0 % 1_000,
            is_censored: seed.0.is_multiple_of(7),
        })
    }

    fn chart(&self, tallies: &[PointTally]) -> Chart {
        let points = tallies.iter().enumerate();
        let points = points.filter_map(|(at, tally)| Point::mean(at as f64, tally, 1.0));
        Chart {
            title: "Digits".to_owned(),
            x: Axis::new("point", "", Scale::Linear),
            y: Axis::new("digits", "", Scale::Linear),
            series: vec![Series::new("digits", points)],
            theory: Vec::new(),
            marks: Vec::new(),
            notes: Vec::new(),
        }
    }
}

#[test]
fn experiment_result_does_not_depend_on_the_order_of_parts() {
    let experiment = Experiment::new(Digits);
    assert_eq!(experiment.parts(), PARTS_MAX);
    let part = |part| experiment.compute(5, part, &Run::default()).ok();
    let mut backwards: Vec<_> = (0..experiment.parts()).rev().map(part).collect();
    let whole = all(&experiment, 5);
    assert_eq!(experiment.gather(&backwards), whole);
    // The same runs in other parts, here one run per part, must give the same outcome.
    let mut tallies = PartTally::default();
    for (point, plan) in Digits.points().iter().enumerate() {
        for number in 0..plan.runs {
            let mut one = PointTally::default();
            one.add(
                experiment
                    .observe(5, point, number, &Run::default())
                    .expect("an end"),
            );
            tallies.push(point, one);
        }
    }
    assert_eq!(experiment.gather(&[Some(tallies)]), whole);
    assert_ne!(all(&experiment, 6), whole);
    backwards[0] = None;
    let partial = experiment.gather(&backwards);
    assert!(partial.is_partial() && partial.runs > 0);
    let last = partial.chart.notes.last().expect("a note");
    assert_eq!(
        *last,
        format!("Not finished: {} of 1107 runs.", partial.runs)
    );
    let nothing = experiment.gather(&vec![None; experiment.parts() as usize]);
    assert_eq!(nothing.runs, 0);
    assert!(nothing.chart.to_svg().ends_with("</svg>\n"));
}

#[test]
fn a_tally_is_the_same_once_it_was_stored() {
    let design = MistakeBoundSweep::new(&sweep()).expect("in range");
    let experiment = Experiment::new(design);
    let tally = experiment
        .compute(3, 0, &Run::default())
        .expect("nobody stops it");
    let stored = serde_json::to_value(&tally).expect("numbers");
    let read: PartTally = serde_json::from_value(stored).expect("the tally");
    assert_eq!(read, tally);
    let outcome = experiment.gather(&[Some(read)]);
    let stored = serde_json::to_string(&outcome.chart).expect("numbers");
    let read: Chart = serde_json::from_str(&stored).expect("the chart");
    assert_eq!(read, outcome.chart);
}

#[test]
fn experiment_part_that_is_interrupted_has_no_result() {
    let design = MistakeBoundSweep::new(&sweep()).expect("in range");
    let experiment = Experiment::new(design);
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
fn chart_csv_has_a_line_for_each_point_curve_and_mark() {
    let found = swept(&MistakeBoundSweepSpec {
        n: vec![3, 5],
        learners: names(&["directed-drift", "directed-drift-sync"]),
        ..sweep()
    });
    let table = found.chart.to_csv();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "kind,label,x,y,low,high,runs,censored");
    assert!(
        lines[1].starts_with("measured,directed-drift,3,3.8"),
        "{}",
        lines[1]
    );
    assert!(lines[1].ends_with(",0,0"));
    assert!(lines[3].ends_with(",10,0"), "{}", lines[3]);
    // Four points, and two bounds of Theorem 1 at n = 3, 4 and 5.
    assert_eq!(lines.len(), 1 + 4 + 6);
    assert!(lines.contains(&"theory,\"Theorem 1, upper: (n/2)^n\",3,3.375,,,,"));
}

/// JSON pointer to the fault of a rejected question.
fn refused<T: std::fmt::Debug>(checked: Result<T, ExperimentError>) -> String {
    checked.expect_err("refused").pointer().to_owned()
}

#[test]
fn mistake_sweep_points_at_parameters_out_of_range() {
    let of = |change: fn(&mut MistakeBoundSweepSpec)| {
        let mut question = sweep();
        change(&mut question);
        refused(MistakeBoundSweep::new(&question))
    };
    assert_eq!(of(|of| of.runs = 0), "/runs");
    assert_eq!(of(|of| of.runs = 100_001), "/runs");
    assert_eq!(of(|of| of.n = vec![11, 0]), "/n/1");
    assert_eq!(of(|of| of.n = Vec::new()), "/n");
    assert_eq!(of(|of| of.n = vec![11, 21, 11]), "/n/2");
    assert_eq!(of(|of| of.learners = Vec::new()), "/learners");
    assert_eq!(
        of(|of| of.learners.push(of.learners[0].clone())),
        "/learners/2"
    );
    assert_eq!(of(|of| of.max_mistakes = 0), "/max_mistakes");
    assert_eq!(of(|of| of.batch_sizes = Some(vec![5, 0])), "/batch_sizes/1");
    assert_eq!(of(|of| of.batch_sizes = Some(Vec::new())), "/batch_sizes");
    let normalised = "/normalised_batch_sizes/0";
    assert_eq!(
        of(|of| of.normalised_batch_sizes = Some(vec![0.0])),
        normalised
    );
    assert_eq!(
        of(|of| of.normalised_batch_sizes = Some(vec![f64::NAN])),
        normalised
    );
    let single = |of: &mut MistakeBoundSweepSpec| {
        of.n = vec![3, 1];
        of.normalised_batch_sizes = Some(vec![1.0]);
    };
    assert_eq!(of(single), "/n/1");
    assert_eq!(
        of(|of| of.learners.push("winnow".to_owned())),
        "/learners/2"
    );
    let far = |of: &mut MistakeBoundSweepSpec| {
        of.learners = names(&["directed-drift"]);
        of.n = vec![513];
    };
    assert_eq!(of(far), "/n/0");
    let million = MistakeBoundSweepSpec {
        n: vec![3; 1_000],
        batch_sizes: Some(vec![1; 1_000]),
        ..sweep()
    };
    let error = MistakeBoundSweep::new(&million).expect_err("refused");
    let (points, limit) = (2_000_000, POINTS_MAX);
    assert_eq!(error, ExperimentError::TooManyPoints { points, limit });
}

#[test]
fn experiments_point_at_parameters_out_of_range() {
    let stops = |n: &[u64], deltas: &[f64], runs| {
        refused(FalseStopRate::new(FalseStopRateSpec {
            n: n.to_vec(),
            rules: vec![StopRule::Anytime],
            deltas: deltas.to_vec(),
            runs,
        }))
    };
    assert_eq!(stops(&[5], &[0.1, 1.0], 1), "/deltas/1");
    assert_eq!(stops(&[5], &[0.0], 1), "/deltas/0");
    assert_eq!(stops(&[5], &[5e-17], 1), "/deltas/0");
    assert_eq!(stops(&[5], &[0.1, 0.2, 0.1], 1), "/deltas/2");
    assert_eq!(stops(&[5, 513], &[0.1], 1), "/n/1");
    assert_eq!(stops(&[5], &[0.1], 0), "/runs");
    let cover = |dimensions: &[u64], ratios: &[f64]| {
        refused(SeparableFraction::new(SeparableFractionSpec {
            dimensions: dimensions.to_vec(),
            ratios: ratios.to_vec(),
            points: Points::Signs,
            runs: 1,
        }))
    };
    assert_eq!(cover(&[0], &[1.0]), "/dimensions/0");
    assert_eq!(cover(&[257], &[1.0]), "/dimensions/0");
    assert_eq!(cover(&[5], &[1.0, 16.5]), "/points_per_dimension/1");
    assert_eq!(cover(&[5], &[1.0, 1.0]), "/points_per_dimension/1");
    let few = |change: fn(&mut sample_complexity::SampleComplexityParams)| {
        let mut question = few_examples();
        change(&mut question);
        refused(SampleComplexity::new(question))
    };
    assert_eq!(few(|of| of.max_passes = 0), "/max_passes");
    assert_eq!(
        few(|of| of.ratios = vec![-1.0]),
        "/examples_per_dimension/0"
    );
    assert_eq!(
        few(|of| of.learners.push(learner("winnow", &json!({})))),
        "/learners/3/name"
    );
    let initial = |of: &mut sample_complexity::SampleComplexityParams| {
        of.learners = vec![learner("directed-drift", &json!({"initial": "101"}))];
    };
    assert_eq!(few(initial), "/learners/0/params/initial");
}
