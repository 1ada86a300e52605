//! Tests maximum margins against optima found by hand, and Novikoff's bound against runs of the perceptron.

use rand::{RngExt, SeedableRng};

use crate::bits::{BitMatrix, BitVector};
use crate::learners::catalogue;
use crate::learners::engine::input::Input;
use crate::learners::engine::parameters::Parameters;
use crate::learners::engine::random::{Generator, Seed};
use crate::learners::engine::run::{Interrupt, Run, RunLimits};
use crate::learners::engine::task::Task;
use crate::learners::engine::train::train;
use crate::learners::linear::linear_weights::Reading;
use crate::learners::sample::data::{Data, Features, Labels, RealMatrix};
use crate::separability::maximum_margin::{MarginOutcome, MaximumMargin, solve};
use crate::separability::proved_margin::RELATIVE_GAP_MAX;
use crate::separability::undecided::Undecided;

use super::samples::{half_space, labelled, real};

const AND: [(&str, bool); 4] = [("00", false), ("01", false), ("10", false), ("11", true)];

#[track_caller]
fn optimum(data: &Data, bias: bool, reading: Reading) -> MaximumMargin {
    match solve(data, bias, reading, &Run::default()).unwrap() {
        MarginOutcome::Optimal(found) => found,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-6 * expected.abs().max(1.0),
        "{found} {expected}"
    );
}

#[test]
fn maximum_margin_of_a_conjunction() {
    // x1 + x2 = 3/2 lies halfway between (1, 1) and the line through (0, 1) and (1, 0).
    let found = optimum(&labelled(&AND), true, Reading::Unsigned);
    assert_near(found.margin, 0.125_f64.sqrt());
    assert_near(found.weights[0], 2.0);
    assert_near(found.weights[1], 2.0);
    assert_near(found.bias.unwrap(), -3.0);
    assert_eq!(found.support, [1, 2, 3]);
    assert!(found.relative_gap <= RELATIVE_GAP_MAX);
    // If the norm includes the bias, the constraints for w1 = w2 = w are w + b <= -1 and 2 w + b >= 1. The
    // least solution is w = 2 and b = -3, so |w|^2 = 17, with R^2 = 3.
    assert_near(found.bound.value, 51.0);
    assert!(found.bound.value >= 51.0);
    assert_near(found.bound.radius, 3.0_f64.sqrt());
    assert_near(found.bound.margin, (1.0 / 17.0_f64).sqrt());
    // The signed reading doubles all distances.
    let signed = optimum(&labelled(&AND), true, Reading::Signed);
    assert_near(signed.margin, 0.5_f64.sqrt());
    assert_near(signed.bias.unwrap(), -1.0);
}

#[test]
fn maximum_margin_of_points_in_the_plane() {
    // The margin of (3, 4) and the origin is half of 5.
    let two = real(&[(&[3.0, 4.0], true), (&[0.0, 0.0], false)]);
    let found = optimum(&two, true, Reading::Signed);
    assert_near(found.margin, 2.5);
    assert_near(found.weights[0], 0.24);
    assert_near(found.weights[1], 0.32);
    assert_near(found.bias.unwrap(), -1.0);
    assert_eq!(found.support, [0, 1]);
    // Without a bias, the nearest point of the hull of (1, 0) and (0, 2) is (4/5, 2/5).
    let origin = real(&[
        (&[1.0, 0.0], true),
        (&[0.0, -2.0], false),
        (&[5.0, 5.0], true),
    ]);
    let found = optimum(&origin, false, Reading::Signed);
    assert_near(found.margin, 0.8_f64.sqrt());
    assert_eq!((found.support.as_slice(), found.bias), (&[0, 1][..], None));
    assert_near(found.bound.value, 50.0 / 0.8);
    assert_near(found.bound.margin, found.margin);
}

#[test]
fn far_away_and_far_apart_examples_keep_their_margin() {
    for (size, offset) in [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e4)] {
        let one = [offset + size, offset];
        let other = [offset - size, offset];
        let data = real(&[(&one, true), (&other, false)]);
        let found = optimum(&data, true, Reading::Signed);
        assert!((found.margin / size - 1.0).abs() < 1e-6, "{found:?}");
    }
}

#[test]
fn maximum_margin_reports_not_separable_and_one_label() {
    let xor = labelled(&[("00", false), ("01", true), ("10", true), ("11", false)]);
    let outcome = solve(&xor, true, Reading::Signed, &Run::default()).unwrap();
    assert!(matches!(outcome, MarginOutcome::NotSeparable(_)));
    let positive = half_space(&["110", "011"]);
    let outcome = solve(&positive, true, Reading::Unsigned, &Run::default()).unwrap();
    // The nearest point of the hull of (1, 1, 0, 1) and (0, 1, 1, 1) is the midpoint, whose square is 5/2.
    let MarginOutcome::OneLabel(bound) = outcome else {
        panic!("{outcome:?}");
    };
    assert_near(bound.value, 3.0 / 2.5);
    let found = optimum(&positive, false, Reading::Unsigned);
    assert_near(found.margin, 1.5_f64.sqrt());
}

#[test]
fn a_raised_flag_leaves_the_margin_undecided() {
    let run = Run::default();
    run.stop.raise(Interrupt::Cancelled);
    let outcome = solve(&labelled(&AND), true, Reading::Signed, &run);
    assert_eq!(outcome, Ok(MarginOutcome::Undecided(Undecided::Cancelled)));
    run.stop.raise(Interrupt::Suspended);
    let outcome = solve(&labelled(&AND), true, Reading::Signed, &run);
    assert_eq!(outcome, Err(Interrupt::Suspended));
}

/// The mistakes of the perceptron from w = 0 until a pass without mistakes.
fn mistakes(data: &Data, bias: bool, reading: Reading) -> u64 {
    let entry = catalogue::find("perceptron").unwrap();
    let parameters = match data.features().is_real() {
        false => serde_json::json!({"reading": reading.name(), "bias": bias}),
        true => serde_json::json!({"bias": bias}),
    };
    let parameters = Parameters::from_json(entry.parameters, parameters.as_object().unwrap());
    let task = Task {
        parameters: parameters.unwrap(),
        limits: RunLimits {
            max_passes: Some(100_000),
            ..RunLimits::default()
        },
        ..Task::of(entry, Seed(1))
    };
    let input = Input::Sample { data, assume: None };
    let outcome = train(&task, input, &Run::default()).unwrap();
    assert_eq!(outcome.training.unwrap().errors, 0);
    outcome.counts.mistakes
}

/// Creates a random sample labelled by a random hyperplane that contains no example.
fn separable(n: usize, rows: usize, bias: bool, is_real: bool, generator: &mut Generator) -> Data {
    let draw = |generator: &mut Generator| f64::from(generator.random_range(-20..=20));
    let weights: Vec<f64> = (0..n).map(|_| draw(generator)).collect();
    let offset = if bias { draw(generator) } else { 0.0 };
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    while labels.len() < rows {
        let row: Vec<f64> = (0..n)
            .map(|_| match is_real {
                true => generator.random_range(-1.0..1.0),
                false => f64::from(2 * generator.random_range(0..=1) - 1),
            })
            .collect();
        let score = row.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() + offset;
        if score != 0.0 {
            values.extend(row);
            labels.push(score > 0.0);
        } else if weights.iter().all(|w| *w == 0.0) {
            labels.push(true);
            values.extend(row);
        }
    }
    let mut bits = BitVector::zeros(rows);
    labels
        .iter()
        .enumerate()
        .for_each(|(index, label)| bits.set(index, *label));
    let features = if is_real {
        Features::Real(RealMatrix::from_values(n, values))
    } else {
        let mut matrix = BitMatrix::new(n);
        for row in values.chunks(n) {
            let mut bits = BitVector::zeros(n);
            (0..n).for_each(|j| bits.set(j, row[j] > 0.0));
            matrix.push_row(bits.words());
        }
        Features::Boolean(matrix)
    };
    Data::new(features, Labels::of_signs(bits))
}

#[test]
fn margin_bound_is_at_least_the_mistakes_of_a_perceptron() {
    let mut generator = Generator::seed_from_u64(3);
    let (mut compared, mut made) = (0, 0);
    for round in 0..300 {
        let (bias, is_real) = (round % 2 == 0, round % 3 == 0);
        let reading = match round % 4 {
            0 | 1 => Reading::Signed,
            _ => Reading::Unsigned,
        };
        let (n, rows) = (
            generator.random_range(1..=8),
            generator.random_range(2..=25),
        );
        let data = separable(n, rows, bias, is_real, &mut generator);
        let value = match solve(&data, bias, reading, &Run::default()).unwrap() {
            MarginOutcome::Optimal(found) => {
                // The geometric margin excludes the bias from the norm and is therefore at least as large.
                assert!(
                    found.margin >= found.bound.margin * (1.0 - 1e-6),
                    "{found:?}"
                );
                assert!(!found.support.is_empty());
                found.bound.value
            }
            MarginOutcome::OneLabel(bound) => bound.value,
            MarginOutcome::Approximate(found) => panic!("{found:?} {data:?}"),
            // A sample that is separable in the signed reading without a bias may not be separable in the
            // unsigned reading.
            MarginOutcome::NotSeparable(_) => continue,
            MarginOutcome::Undecided(why) => panic!("{why} {data:?}"),
        };
        let mistakes = mistakes(&data, bias, reading);
        assert!(
            mistakes as f64 <= value,
            "{mistakes} mistakes, bound {value}"
        );
        compared += 1;
        made += mistakes;
    }
    assert!(compared > 200 && made > 1000, "{compared} {made}");
}

/// The nearest point of the convex hull of `points` to 0, by trying every subset in fractions. A subset is a
/// candidate if the least-squares point of its affine hull has positive multipliers.
mod brute_force {
    use std::cmp::Ordering;

    /// A fraction in lowest terms with a positive denominator.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Rational(i128, i128);

    const ZERO: Rational = Rational(0, 1);
    const ONE: Rational = Rational(1, 1);

    impl Rational {
        fn of(over: i128, under: i128) -> Self {
            let (mut a, mut b) = (over.abs(), under.abs());
            while b > 0 {
                (a, b) = (b, a % b);
            }
            Self(over / a * under.signum(), under.abs() / a)
        }

        fn plus(self, other: Self) -> Self {
            Self::of(self.0 * other.1 + other.0 * self.1, self.1 * other.1)
        }

        fn times(self, other: Self) -> Self {
            Self::of(self.0 * other.0, self.1 * other.1)
        }

        fn minus(self, other: Self) -> Self {
            self.plus(Self(-other.0, other.1))
        }

        fn over(self, other: Self) -> Self {
            self.times(Self::of(other.1, other.0))
        }
    }

    impl PartialOrd for Rational {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Rational {
        fn cmp(&self, other: &Self) -> Ordering {
            (self.0 * other.1).cmp(&(other.0 * self.1))
        }
    }

    fn dot(one: &[Rational], other: &[Rational]) -> Rational {
        let products = one.iter().zip(other).map(|(a, b)| a.times(*b));
        products.fold(ZERO, Rational::plus)
    }

    /// Solves a square system. None if it is singular.
    fn solved(mut rows: Vec<Vec<Rational>>) -> Option<Vec<Rational>> {
        let count = rows.len();
        for pivot in 0..count {
            let found = (pivot..count).find(|&row| rows[row][pivot] != ZERO)?;
            rows.swap(pivot, found);
            let lead = rows[pivot][pivot];
            rows[pivot]
                .iter_mut()
                .for_each(|entry| *entry = entry.over(lead));
            for row in 0..count {
                if row != pivot {
                    let factor = rows[row][pivot];
                    let base = rows[pivot].clone();
                    let entries = rows[row].iter_mut().zip(base);
                    entries.for_each(|(entry, base)| *entry = entry.minus(factor.times(base)));
                }
            }
        }
        rows.into_iter().map(|mut row| row.pop()).collect()
    }

    /// The nearest point to 0 of the hull, by its definition: the least norm over all simplices of the points.
    pub fn nearest(points: &[Vec<Rational>]) -> Vec<Rational> {
        let mut best: Option<(Rational, Vec<Rational>)> = None;
        for subset in 1_u32..1 << points.len() {
            let chosen: Vec<&Vec<Rational>> = (0..points.len())
                .filter(|index| subset >> index & 1 == 1)
                .map(|index| &points[index])
                .collect();
            if chosen.len() > points[0].len() + 1 {
                continue;
            }
            // Multipliers m with sum 1 and equal products of the point with all chosen ones.
            let count = chosen.len();
            let mut rows: Vec<Vec<Rational>> = (0..count)
                .map(|i| {
                    let products = chosen.iter().map(|other| dot(chosen[i], other));
                    products.chain([Rational(-1, 1), ZERO]).collect()
                })
                .collect();
            let ones = std::iter::repeat_n(ONE, count);
            rows.push(ones.chain([ZERO, ONE]).collect());
            let Some(multipliers) = solved(rows) else {
                continue;
            };
            if multipliers[..count]
                .iter()
                .any(|multiplier| *multiplier < ZERO)
            {
                continue;
            }
            let mut point = vec![ZERO; points[0].len()];
            for (vertex, weight) in chosen.iter().zip(&multipliers) {
                let coordinates = point.iter_mut().zip(*vertex);
                coordinates.for_each(|(sum, x)| *sum = sum.plus(x.times(*weight)));
            }
            let square = dot(&point, &point);
            if best.as_ref().is_none_or(|(least, _)| square < *least) {
                best = Some((square, point));
            }
        }
        best.expect("a point is its own hull").1
    }

    /// The indices with the least product, of each label if there is a bias.
    pub fn support(examples: &[(Vec<i64>, bool)], bias: bool) -> Vec<usize> {
        let whole = |values: &[i64], sign: i64| -> Vec<Rational> {
            let rational = |&x: &i64| Rational(i128::from(sign * x), 1);
            values.iter().map(rational).collect()
        };
        let signed = |(values, is_positive): &(Vec<i64>, bool)| {
            whole(values, if *is_positive { 1 } else { -1 })
        };
        let points: Vec<Vec<Rational>> = match bias {
            false => examples.iter().map(signed).collect(),
            true => {
                let of = |label: bool| {
                    examples
                        .iter()
                        .filter(move |(_, is_positive)| *is_positive == label)
                };
                let mut sums = Vec::new();
                for one in of(true).map(signed) {
                    for other in of(false).map(signed) {
                        sums.push(one.iter().zip(&other).map(|(a, b)| a.plus(*b)).collect());
                    }
                }
                sums
            }
        };
        let direction = nearest(&points);
        let products: Vec<Rational> = examples
            .iter()
            .map(|it| dot(&signed(it), &direction))
            .collect();
        let least = |label: Option<bool>| {
            let of_label =
                (0..examples.len()).filter(|&i| label.is_none_or(|label| examples[i].1 == label));
            of_label.map(|i| &products[i]).min()
        };
        let is_least = |i: usize| match bias {
            true => Some(&products[i]) == least(Some(examples[i].1)),
            false => Some(&products[i]) == least(None),
        };
        (0..examples.len()).filter(|&i| is_least(i)).collect()
    }
}

/// Small samples with few different values have many examples at the margin that the optimum does not need.
#[test]
fn the_support_is_every_example_at_the_margin() {
    // The optimum needs the last two examples alone.
    let found = optimum(
        &labelled(&[("110", true), ("100", true), ("001", false)]),
        true,
        Reading::Unsigned,
    );
    assert_eq!(
        (found.support.as_slice(), found.is_support_exact),
        (&[0, 1, 2][..], true)
    );
    let mut generator = Generator::seed_from_u64(11);
    let (mut compared, mut degenerate) = (0, 0);
    for round in 0..400 {
        let (bias, is_real) = (round % 2 == 0, round % 3 == 0);
        let n = generator.random_range(1..=4);
        let rows = generator.random_range(2..=6);
        let mut examples: Vec<(Vec<i64>, bool)> = Vec::new();
        for _ in 0..rows {
            let most = if is_real { 3 } else { 1 };
            let values = (0..n).map(|_| generator.random_range(0..=most)).collect();
            examples.push((values, generator.random_range(0..2) == 1));
        }
        // Duplicates are at the margin too.
        let copy = examples[0].clone();
        examples.push(copy);
        let data = match is_real {
            true => {
                let values: Vec<Vec<f64>> = examples
                    .iter()
                    .map(|(values, _)| values.iter().map(|&x| x as f64).collect())
                    .collect();
                let rows: Vec<(&[f64], bool)> = values
                    .iter()
                    .zip(&examples)
                    .map(|(values, (_, label))| (values.as_slice(), *label))
                    .collect();
                real(&rows)
            }
            false => {
                let texts: Vec<String> = examples
                    .iter()
                    .map(|(values, _)| values.iter().map(|x| x.to_string()).collect())
                    .collect();
                let rows: Vec<(&str, bool)> = texts
                    .iter()
                    .zip(&examples)
                    .map(|(text, (_, label))| (text.as_str(), *label))
                    .collect();
                labelled(&rows)
            }
        };
        let outcome = solve(&data, bias, Reading::Unsigned, &Run::default()).unwrap();
        let (MarginOutcome::Optimal(found) | MarginOutcome::Approximate(found)) = outcome else {
            continue;
        };
        let expected = brute_force::support(&examples, bias);
        assert!(found.is_support_exact);
        assert_eq!(found.support, expected, "{examples:?} bias {bias}");
        compared += 1;
        degenerate += u32::from(expected.len() > n + 1);
    }
    assert!(compared > 60 && degenerate > 5, "{compared} {degenerate}");
}

#[test]
fn support_alone_gives_the_same_hyperplane_bit_for_bit() {
    let mut generator = Generator::seed_from_u64(5);
    let (mut reproduced, mut solved) = (0, 0);
    for round in 0..100 {
        let (bias, is_real) = (round % 2 == 0, round % 3 == 0);
        let data = separable(6, 60, bias, is_real, &mut generator);
        let outcome = solve(&data, bias, Reading::Signed, &Run::default()).unwrap();
        let MarginOutcome::Optimal(found) = outcome else {
            continue;
        };
        solved += 1;
        if !found.is_of_support {
            continue;
        }
        reproduced += 1;
        let alone = optimum(&data.select(&found.support), bias, Reading::Signed);
        assert_eq!((alone.weights, alone.bias), (found.weights, found.bias));
        assert!(found.support.len() < 60);
    }
    assert!(
        solved >= 80 && reproduced >= solved - 2,
        "{reproduced} of {solved}"
    );
}
