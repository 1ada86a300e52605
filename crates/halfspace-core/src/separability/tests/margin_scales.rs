//! Tests maximum margins of small real samples in units of every size, far from 0, and with different units per column.
//!
//! In one and two dimensions the expected margin is half the distance between the convex hulls of the two classes.

use rand::{RngExt, SeedableRng};

use crate::bits::BitVector;
use crate::learners::engine::random::Generator;
use crate::learners::engine::run::Run;
use crate::learners::linear::linear_weights::Reading;
use crate::learners::sample::data::{Data, Features, Labels, RealMatrix};
use crate::separability::maximum_margin::{MarginOutcome, MaximumMargin, solve};
use crate::separability::proved_margin::RELATIVE_GAP_MAX;

use super::samples::real;

#[track_caller]
fn optimum(data: &Data, bias: bool) -> MaximumMargin {
    match solve(data, bias, Reading::Signed, &Run::default()).unwrap() {
        MarginOutcome::Optimal(found) => found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_margin_of_two_points_is_half_their_distance() {
    let pairs: [(&[f64], &[f64]); 8] = [
        (&[50000.5, 20000.0], &[40000.0, 70000.0]),
        (&[1e9], &[1e9 + 1.0]),
        (&[0.0], &[1e-9]),
        (&[1941.5], &[1952.5]),
        (&[1e-300, 2e-300], &[2e-300, 1e-300]),
        (&[1e150], &[-1e150]),
        (&[1e9, 1e-9], &[1e9, 2e-9]),
        (&[1e9, 1e-9, 7.0], &[-1e9, 2e-9, 7.0]),
    ];
    for (one, other) in pairs {
        for (first, second) in [(one, other), (other, one)] {
            let found = optimum(&real(&[(first, true), (second, false)]), true);
            let expected = distance(one, other) / 2.0;
            assert!(
                (found.margin / expected - 1.0).abs() <= 1e-6,
                "{found:?} {expected}"
            );
            assert_eq!(found.support, [0, 1]);
            assert!(found.bound.relative_gap <= RELATIVE_GAP_MAX);
        }
    }
}

#[test]
fn margin_beyond_f64_is_approximate_with_bounds() {
    // The two values differ only in the last place of f64, so the bias can hardly separate them.
    let data = real(&[(&[1.0 + f64::EPSILON], true), (&[1.0], false)]);
    let outcome = solve(&data, true, Reading::Signed, &Run::default()).unwrap();
    let MarginOutcome::Approximate(found) = outcome else {
        panic!("{outcome:?}");
    };
    let expected = f64::EPSILON / 2.0;
    assert!(found.margin > 0.1 * expected, "{found:?}");
    assert!(found.margin <= expected, "{found:?}");
    assert!(found.margin * (1.0 + found.relative_gap) >= expected * (1.0 - 1e-12));
}

#[test]
fn margin_of_a_wide_sample_of_large_values_is_optimal() {
    let mut generator = Generator::seed_from_u64(5);
    let data = sample(Family::Size(1e6), 20, 15, &mut generator);
    let found = optimum(&data, true);
    assert!(found.relative_gap <= RELATIVE_GAP_MAX && found.margin > 1.0);
}

fn distance(one: &[f64], other: &[f64]) -> f64 {
    one.iter()
        .zip(other)
        .fold(0.0, |so_far, (x, y)| libm::hypot(so_far, x - y))
}

/// Distribution of the values of a sample.
#[derive(Clone, Copy, Debug)]
enum Family {
    /// Uniform, with this bound for all columns.
    Size(f64),
    /// Uniform, with a power of ten from 1e-9 to 1e9 as the bound of each column.
    Mixed,
    /// Whole years.
    Years,
    /// Uniform from 0 to 1, plus a million.
    Far,
}

/// Creates a sample of random values. With probability one half the labels are random, and otherwise a plane
/// gives them.
fn sample(family: Family, n: usize, rows: usize, generator: &mut Generator) -> Data {
    let sizes: Vec<f64> = (0..n)
        .map(|_| match family {
            Family::Size(size) => size,
            Family::Mixed => 10_f64.powi(generator.random_range(-9..=9)),
            Family::Years | Family::Far => 1.0,
        })
        .collect();
    let value = |size: f64, generator: &mut Generator| match family {
        Family::Size(_) | Family::Mixed => size * generator.random_range(-1.0..1.0),
        Family::Years => f64::from(generator.random_range(1900..=2020)),
        Family::Far => 1e6 + generator.random_range(0.0..1.0),
    };
    let values: Vec<f64> = (0..n * rows)
        .map(|index| value(sizes[index % n], generator))
        .collect();
    let is_random = generator.random_bool(0.5);
    let normal: Vec<f64> = sizes
        .iter()
        .map(|size| generator.random_range(-1.0..1.0) / size)
        .collect();
    let score = |row: usize| -> f64 {
        let pairs = values[row * n..][..n].iter().zip(&values[..n]);
        pairs
            .zip(&normal)
            .map(|((x, first), w)| (x - first) * w)
            .sum()
    };
    let mut labels = BitVector::zeros(rows);
    for row in 0..rows {
        let label = match is_random {
            true => generator.random_bool(0.5),
            false => score(row) > 0.0,
        };
        labels.set(row, label);
    }
    let matrix = RealMatrix::from_values(n, values.clone());
    Data::new(Features::Real(matrix), Labels::of_signs(labels))
}

/// Half the distance between the hulls of the two labels, in one or two dimensions. If the hulls are disjoint, the
/// nearest points are a corner of one and a point on a segment of the other.
fn half_distance(data: &Data) -> f64 {
    let (Features::Real(matrix), Some(labels)) = (data.features(), data.labels().signs()) else {
        panic!("labelled real values");
    };
    let of_label = |label: bool| -> Vec<&[f64]> {
        (0..matrix.rows())
            .filter(|&row| labels.get(row) == label)
            .map(|row| matrix.row(row))
            .collect()
    };
    let mut least = f64::INFINITY;
    for label in [false, true] {
        let (corners, others) = (of_label(label), of_label(!label));
        for corner in corners {
            for from in &others {
                for to in &others {
                    least = least.min(to_segment(corner, from, to));
                }
            }
        }
    }
    least / 2.0
}

fn to_segment(point: &[f64], from: &[f64], to: &[f64]) -> f64 {
    let away = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(x, y)| x - y).collect() };
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(x, y)| x * y).sum() };
    let (along, offset) = (away(to, from), away(point, from));
    let (length, product) = (dot(&along, &along), dot(&along, &offset));
    if point.len() < 2 || product <= 0.0 || product >= length {
        return distance(point, from).min(distance(point, to));
    }
    (along[0] * offset[1] - along[1] * offset[0]).abs() / length.sqrt()
}

#[test]
fn the_margin_is_found_at_every_scale() {
    let mut generator = Generator::seed_from_u64(17);
    let sizes = [1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9].map(Family::Size);
    let others = [Family::Mixed, Family::Years, Family::Far];
    let (mut told, mut approximate, mut compared) = (String::new(), 0, 0);
    for family in sizes.into_iter().chain(others) {
        let (mut optima, mut rest) = (0, 0);
        for round in 0..60 {
            let (n, rows) = (
                generator.random_range(1..=5),
                generator.random_range(2..=10),
            );
            let (data, bias) = (sample(family, n, rows, &mut generator), round % 3 > 0);
            match solve(&data, bias, Reading::Signed, &Run::default()).unwrap() {
                MarginOutcome::Optimal(found) => {
                    optima += 1;
                    if bias && n <= 2 {
                        compared += 1;
                        let ratio = found.margin / half_distance(&data);
                        assert!((ratio - 1.0).abs() < 2e-6, "{ratio} {found:?} {data:?}");
                    }
                }
                MarginOutcome::Approximate(found) => {
                    rest += 1;
                    told += &format!("{found:?}\n");
                }
                MarginOutcome::OneLabel(bound) => assert!(bound.relative_gap <= RELATIVE_GAP_MAX),
                MarginOutcome::NotSeparable(_) => {}
                MarginOutcome::Undecided(why) => panic!("{why} {data:?}"),
            }
        }
        told += &format!("{family:?}: {optima} optima, {rest} near them\n");
        assert!(optima >= 15, "{told}");
        approximate += rest;
    }
    println!("{told}{compared} compared");
    assert!(approximate == 0 && compared > 50, "{told}");
}
