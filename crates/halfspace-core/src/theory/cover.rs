//! Cover's theorem: the number of dichotomies of points in general position that hyperplanes realise.
//!
//! T. M. Cover, "Geometrical and statistical properties of systems of linear inequalities with applications in pattern
//! recognition" (1965), as in H. Sompolinsky's lecture on the capacity of the perceptron. P points in general position
//! in N dimensions have 2^P labellings, and hyperplanes through the origin realise
//! `C(P, N) = 2 sum over k < N of binom(P - 1, k)` of them. The fraction is 1 for P <= N and exactly one half at P = 2
//! N.

use num_bigint::BigUint;
use serde::{Serialize, Serializer};

use crate::learners::engine::bound::leading;
use crate::learners::engine::run::StopFlag;

use super::{FigureError, check_whole, look};

/// Largest number of points and of dimensions, for which the count has about 3,000 digits.
pub const DICHOTOMIES_MAX: u64 = 10_000;

/// Cover's count of linearly separable dichotomies.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Dichotomies {
    /// C(P, N), exactly, as a decimal string.
    #[serde(rename = "dichotomies", serialize_with = "decimal")]
    #[schema(value_type = String, pattern = "^[1-9][0-9]*$")]
    pub count: BigUint,
    /// Binary logarithm of the count.
    pub log2: f64,
    /// C(P, N) / 2^P, rounded to a double; 0 below the range of doubles.
    pub fraction: f64,
    /// Binary logarithm of the fraction.
    pub log2_fraction: f64,
}

fn decimal<S: Serializer>(count: &BigUint, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(count)
}

/// Counts the dichotomies of `points` points in general position in `dimension` dimensions that hyperplanes through
/// the origin separate.
///
/// # Errors
/// Returns an error if a parameter is not from 1 to [`DICHOTOMIES_MAX`], or if the computation was told to stop.
pub fn dichotomies(
    points: u64,
    dimension: u64,
    stop: &StopFlag,
) -> Result<Dichotomies, FigureError> {
    let limit = ("dichotomies_max", DICHOTOMIES_MAX);
    check_whole("points", points, limit)?;
    check_whole("dimension", dimension, limit)?;
    let count = count(points, dimension, stop)?;
    let (leading, exponent) = leading(&count);
    let of_all = exponent - points as i64;
    Ok(Dichotomies {
        log2: exponent as f64 + libm::log2(leading),
        fraction: libm::scalbn(leading, of_all as i32),
        log2_fraction: of_all as f64 + libm::log2(leading),
        count,
    })
}

fn count(points: u64, dimension: u64, stop: &StopFlag) -> Result<BigUint, FigureError> {
    let others = points - 1;
    if dimension > others {
        return Ok(BigUint::from(1_u8) << points);
    }
    // The binomials are symmetric and sum to 2^(P - 1), so the shorter end is summed.
    if dimension > points / 2 {
        let missing = binomial_sum(others, points - dimension, stop)?;
        return Ok(((BigUint::from(1_u8) << others) - missing) << 1_u8);
    }
    Ok(binomial_sum(others, dimension, stop)? << 1_u8)
}

/// The sum of C(m, k) over k below `terms`. Each binomial follows from the previous one by a small factor and a small
/// divisor, so this costs about `terms` passes over a number of m bits.
fn binomial_sum(m: u64, terms: u64, stop: &StopFlag) -> Result<BigUint, FigureError> {
    let mut binomial = BigUint::from(1_u8);
    let mut sum = BigUint::ZERO;
    for k in 0..terms {
        look(stop)?;
        sum += &binomial;
        binomial = binomial * (m - k) / (k + 1);
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::engine::run::Interrupt;

    fn of(points: u64, dimension: u64) -> Dichotomies {
        dichotomies(points, dimension, &StopFlag::default()).expect("in range")
    }

    /// This recurrence over the points is independent of the formula in use.
    #[test]
    fn cover_counts_obey_the_recurrence_of_the_proof() {
        for points in 2..40 {
            assert_eq!(of(points, 1).count, BigUint::from(2_u8));
            for dimension in 2..45 {
                let without = of(points - 1, dimension).count + of(points - 1, dimension - 1).count;
                assert_eq!(
                    of(points, dimension).count,
                    without,
                    "{points}, {dimension}"
                );
            }
        }
    }

    #[test]
    fn cover_counts_every_dichotomy_up_to_the_dimension() {
        for (points, dimension) in [(1, 1), (5, 5), (5, 9), (300, 300), (10_000, 10_000)] {
            let found = of(points, dimension);
            assert_eq!(found.count, BigUint::from(1_u8) << points);
            assert_eq!(found.log2, points as f64);
            assert_eq!((found.fraction, found.log2_fraction), (1.0, 0.0));
        }
    }

    #[test]
    fn cover_counts_exactly_half_at_twice_the_dimension() {
        for dimension in [1, 2, 5, 65, 5_000] {
            let found = of(2 * dimension, dimension);
            assert_eq!(found.count, BigUint::from(1_u8) << (2 * dimension - 1));
            assert_eq!((found.fraction, found.log2_fraction), (0.5, -1.0));
        }
    }

    #[test]
    fn cover_counts_past_f64_have_their_logarithm() {
        let found = of(10_000, 1);
        assert_eq!((found.log2, found.log2_fraction), (1.0, -9_999.0));
        assert_eq!(found.fraction, 0.0);
        let found = of(10_000, 3_000);
        assert!(found.log2 > 8_000.0 && found.log2 < 9_000.0);
        assert!((found.log2 - 10_000.0 - found.log2_fraction).abs() < 1e-9);
        // 2 (C(5, 0) + C(5, 1)) = 12
        assert!((of(6, 2).log2 - libm::log2(12.0)).abs() < 1e-15);
        assert!((of(6, 2).fraction - 12.0 / 64.0).abs() < 1e-17);
    }

    #[test]
    fn cover_names_the_parameter_out_of_range() {
        for (points, dimension, named) in [
            (0, 1, "points"),
            (1, 0, "dimension"),
            (10_001, 5, "points"),
            (5, 10_001, "dimension"),
        ] {
            let found = dichotomies(points, dimension, &StopFlag::default());
            let Err(FigureError::OutOfRange(error)) = found else {
                panic!("{found:?}");
            };
            assert_eq!(error.parameter, named);
            assert!(error.detail.contains("10000"), "{error}");
        }
    }

    #[test]
    fn cover_count_ends_when_it_is_interrupted() {
        let stop = StopFlag::default();
        stop.raise(Interrupt::TimeLimit);
        let stopped = dichotomies(10_000, 5_000, &stop);
        assert_eq!(stopped, Err(FigureError::Stopped(Interrupt::TimeLimit)));
    }
}
