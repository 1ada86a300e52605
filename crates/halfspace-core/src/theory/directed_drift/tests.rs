//! Tests the figures of the exact analysis against references in rational arithmetic, and for small n also against the
//! whole chain over hypotheses and examples.

use super::*;
use crate::learners::engine::stopping::{anytime_run_length, ln_survival};

fn near(found: f64, expected: f64, relative: f64) -> bool {
    (found - expected).abs() <= relative * expected.abs()
}

fn of(n: u64, delta: f64) -> Analysis {
    analyse(n, delta, &StopFlag::default()).expect("in range")
}

/// The chain and the probabilities of its starts, for tests that need no full analysis.
fn chain(n: usize) -> (DriftChain, Vec<f64>) {
    let starts = scaled_binomials(n).pop().expect("a row");
    (DriftChain::new(n), starts)
}

fn mistakes(n: usize) -> ByStart {
    let (chain, starts) = chain(n);
    expected(&chain, &starts, |_| 1.0)
}

#[test]
fn expected_mistakes_are_those_of_the_reference() {
    for (n, count) in [
        (1, 0.5),
        (2, 2.5),
        (3, 3.8),
        (5, 12.642_296_963_599_781),
        (10, 198.927_931_152_776_27),
        (20, 30_063.434_878_230_69),
        (25, 282_801.911_904_706_3),
    ] {
        let found = mistakes(n);
        assert!(near(found.random_start, count, 1e-12), "{n}: {found:?}");
    }
    for (n, count) in [(5, 9.183_281_507_225_17), (20, 26_577.342_123_581_66)] {
        let found = mistakes(n).by_distance;
        assert!(near(found[1], count, 1e-12), "{n}: {}", found[1]);
    }
    for (n, examples) in [
        (2, 7.5),
        (3, 7.2),
        (5, 28.239_802_451_070_055),
        (10, 615.540_763_079_671_1),
        (20, 82_419.355_893_749_54),
        (25, 642_331.466_596_340_9),
    ] {
        let (chain, starts) = chain(n);
        let found = expected_examples(&chain, &starts);
        assert!(near(found.random_start, examples, 1e-12), "{n}: {found:?}");
        let log2 = expected_examples_log2(n).expect("in range");
        assert!((log2 - libm::log2(examples)).abs() < 1e-12);
    }
    assert_eq!(expected_examples_log2(513), None);
}

/// The exact false stops of the paper's rule exceed the promised probabilities.
#[test]
fn per_hypothesis_false_stops_are_those_of_the_reference() {
    let deltas = [0.1, 0.05, 0.01, 0.001];
    for (n, rates) in [
        (5, [0.2317, 0.1019, 0.0167, 0.00063]),
        (10, [0.8773, 0.7793, 0.3252, 0.0533]),
        (15, [0.8775, 0.7044, 0.1854, 0.01445]),
        (20, [0.9956, 0.9783, 0.7499, 0.1502]),
        (25, [0.9949, 0.9729, 0.5980, 0.0501]),
    ] {
        let (chain, starts) = chain(n);
        for (delta, rate) in deltas.into_iter().zip(rates) {
            let length = per_hypothesis_run_length(n, libm::log(delta));
            let found = from_random_start(&chain.false_stops(length), &starts);
            // The reference has one more digit for small values.
            let digits = if rate < 0.015 { 5e-6 } else { 5e-5 };
            assert!(
                (found - rate).abs() <= digits * 1.001,
                "{n}, {delta}: {found}"
            );
        }
    }
}

#[test]
fn exact_rule_keeps_its_delta_from_every_start() {
    for (n, length) in [(5, 11), (10, 29), (15, 29), (20, 46), (25, 45)] {
        let (chain, starts) = chain(n);
        let rule = FixedRule::new(chain.exact_run_length(0.05), &chain, &starts);
        assert_eq!(rule.run_length, length);
        let worst = rule.false_stop_probability_worst_start;
        assert!(worst <= 0.05 && worst > 0.03, "{n}: {rule:?}");
        assert!(rule.false_stop_probability <= worst);
    }
}

#[test]
fn theorem_1_holds_as_printed_from_n_4_and_n_2_on() {
    for n in 1..=100 {
        let bounds = TheoremOne::new(n, &mistakes(n));
        assert_eq!(bounds.upper_holds, n > 3, "{n}: {bounds:?}");
        assert_eq!(bounds.lower_holds, n > 1, "{n}: {bounds:?}");
    }
    assert_eq!(TheoremOne::new(3, &mistakes(3)).upper, Some(3.375));
    assert!(near(mistakes(3).by_distance[1], 3.4, 1e-14));
}

#[test]
fn drift_figures_at_the_largest_n_are_finite_but_the_upper_bound() {
    let found = of(N_MAX as u64, 1e-9);
    let counts = [&found.expected_mistakes, &found.expected_examples];
    for count in counts {
        assert!(count.random_start.is_finite() && count.by_distance.len() == N_MAX + 1);
        assert!(count.by_distance.iter().all(|value| value.is_finite()));
        assert!(count.by_distance.is_sorted());
    }
    assert_eq!(found.theorem_1.upper, None);
    assert!(near(found.theorem_1.log2_upper, 512.0 * 8.0, 1e-14));
    assert!(found.theorem_1.lower.is_finite() && found.theorem_1.lower_holds);
    assert!(found.exact.false_stop_probability_worst_start <= 1e-9);
    assert!(found.anytime.false_stop_probability <= 1e-9);
    assert!(found.anytime.uncertainty <= 1e-12);
}

#[test]
fn drift_analysis_names_the_parameter_out_of_range() {
    for (n, delta, named) in [
        (0, 0.5, "n"),
        (513, 0.5, "n"),
        (5, 0.0, "delta"),
        (5, 1.0, "delta"),
        (5, f64::NAN, "delta"),
    ] {
        assert_eq!(out_of_range(n, delta).parameter, named);
    }
    let error = out_of_range(513, 0.5);
    assert!(
        error.detail.contains("exact_analysis_n_max = 512"),
        "{error}"
    );
}

/// Algorithm D on all hypotheses and all positive examples of the target (1, .., 1). This model applies single
/// examples to a distribution over hypotheses and knows nothing of distances.
struct Whole {
    n: usize,
    positive: Vec<usize>,
}

impl Whole {
    fn new(n: usize) -> Self {
        let is_positive = |u: &usize| 2 * u.count_ones() as usize >= n;
        let positive = (0..1 << n).filter(is_positive).collect();
        Self { n, positive }
    }

    fn target(&self) -> usize {
        (1 << self.n) - 1
    }

    fn is_mistake(&self, w: usize, u: usize) -> bool {
        2 * (w ^ u).count_ones() as usize > self.n
    }

    /// The hypotheses after a mistake with the probability of each flip.
    fn flips(&self, w: usize, u: usize) -> impl Iterator<Item = (usize, f64)> {
        let differing = (w ^ u).count_ones();
        let coordinates = (0..self.n).filter(move |i| (w ^ u) >> i & 1 == 1);
        coordinates.map(move |i| (w ^ 1 << i, 1.0 / f64::from(differing)))
    }

    /// Repeats an update of one value per hypothesis until the values converge.
    fn solve(&self, update: impl Fn(&[f64], usize) -> f64) -> Vec<f64> {
        let mut values = vec![0.0; 1 << self.n];
        for _ in 0..100_000 {
            let mut moved: f64 = 0.0;
            for w in 0..self.target() {
                let value = update(&values, w);
                moved = moved.max((value - values[w]).abs());
                values[w] = value;
            }
            if moved < 1e-14 {
                return values;
            }
        }
        panic!("it does not settle");
    }

    /// The share of positive examples that w misclassifies, and the mean value of the next hypothesis after such a
    /// mistake.
    fn after_mistake(&self, values: &[f64], w: usize) -> (f64, f64) {
        let wrong = self.positive.iter().filter(|&&u| self.is_mistake(w, u));
        let count = wrong.clone().count() as f64;
        let sum: f64 = wrong
            .flat_map(|&u| self.flips(w, u))
            .map(|(next, p)| p * values[next])
            .sum();
        (count / self.positive.len() as f64, sum / count)
    }
}

#[test]
fn chain_over_distances_matches_the_whole_chain() {
    for n in 1..=5 {
        let whole = Whole::new(n);
        let found = of(n as u64, 0.05);
        let mistakes = whole.solve(|values, w| 1.0 + whole.after_mistake(values, w).1);
        let examples = whole.solve(|values, w| {
            let (error, after) = whole.after_mistake(values, w);
            1.0 / error + after
        });
        let length = found.per_hypothesis.run_length;
        let stops = whole.solve(|values, w| {
            let (error, after) = whole.after_mistake(values, w);
            let survival = (1.0 - error).powi(length as i32);
            survival + (1.0 - survival) * after
        });
        for w in 0..1 << n {
            let d = (w ^ whole.target()).count_ones() as usize;
            let pairs = [
                (&found.expected_mistakes.by_distance, &mistakes),
                (&found.expected_examples.by_distance, &examples),
                (
                    &found.per_hypothesis.false_stop_probability_by_distance,
                    &stops,
                ),
            ];
            for (by_distance, by_hypothesis) in pairs {
                let (one, other) = (by_distance[d], by_hypothesis[w]);
                assert!(
                    (one - other).abs() < 1e-9 * (1.0 + other),
                    "{n}, {d}: {one}, {other}"
                );
            }
        }
    }
}

/// The model tests hypothesis k on single examples until a mistake or the end of the run, so the survival
/// probability needs no power.
#[test]
fn anytime_false_stops_match_the_whole_chain() {
    let delta = 0.3;
    for n in 1..=4 {
        let whole = Whole::new(n);
        let ln_survival = ln_survival(n, Sampling::UniformPositive);
        let mut beginning = vec![1.0 / f64::from(1 << n); 1 << n];
        let mut stopped_wrong = 0.0;
        for hypothesis in 1..400 {
            let mut next = vec![0.0; 1 << n];
            let length = anytime_run_length(libm::log(delta), ln_survival, hypothesis);
            for _ in 0..length.expect("a length") {
                for (w, alive) in beginning.iter_mut().enumerate() {
                    let share = *alive / whole.positive.len() as f64;
                    for &u in whole.positive.iter().filter(|&&u| whole.is_mistake(w, u)) {
                        *alive -= share;
                        whole.flips(w, u).for_each(|(to, p)| next[to] += share * p);
                    }
                }
            }
            stopped_wrong += beginning[..whole.target()].iter().sum::<f64>();
            beginning = next;
        }
        let found = of(n as u64, delta).anytime.false_stop_probability;
        assert!(
            (found - stopped_wrong).abs() < 1e-10,
            "{n}: {found}, {stopped_wrong}"
        );
    }
}

fn out_of_range(n: u64, delta: f64) -> OutOfRange {
    match analyse(n, delta, &StopFlag::default()) {
        Err(FigureError::OutOfRange(error)) => error,
        found => panic!("{found:?}"),
    }
}
