//! Winnow's mistake bound, Theorem 2 of Khardon, Roth and Servedio.
//!
//! The formula is in `learners::winnow::winnow_bound`. This module checks the parameters.

use crate::learners::arithmetic::decimal::Decimal;
use crate::learners::arithmetic::power_sum::BASE_MAX;
use crate::learners::winnow::winnow_bound;

use super::{MistakeBound, OutOfRange, check_whole};

/// Largest number of features: 2^53 - 1, so that f64 represents every count exactly.
pub const FEATURES_MAX: u64 = (1 << 53) - 1;

/// Computes the bound on Winnow's mistakes for `n` features and a disjunction of `relevant` literals. The
/// factor `alpha` must be above 1 and at most [`BASE_MAX`]. The default of the threshold `theta` is n.
///
/// # Errors
/// Names the parameter that is out of range.
pub fn bound(
    n: u64,
    relevant: u64,
    alpha: f64,
    theta: Option<&str>,
) -> Result<MistakeBound, OutOfRange> {
    check_whole("n", n, ("2^53 - 1", FEATURES_MAX))?;
    if relevant > n {
        let detail = format!("relevant is {relevant}, but n is {n}");
        return Err(OutOfRange::new("relevant", detail));
    }
    if !(alpha > 1.0 && alpha <= BASE_MAX) {
        let detail = format!("{alpha} is not a number above 1 and at most 2^32");
        return Err(OutOfRange::new("alpha", detail));
    }
    let theta = match theta {
        None => Decimal::from(n),
        Some(text) => Decimal::parse(text).map_err(|detail| OutOfRange::new("theta", detail))?,
    };
    if theta.is_zero() {
        return Err(OutOfRange::new("theta", "0 is not positive"));
    }
    let (features, theta_ln) = (n as f64, theta.ln());
    let value = winnow_bound::mistakes_by_logarithm(alpha, theta_ln, features, relevant as f64);
    let log2 = if value.is_normal() {
        libm::log2(value)
    } else {
        // A tiny theta makes the bound infinite in f64. A large one makes it 0 if no literal is relevant. In both
        // cases the first term of the bound is all of it, or dominates.
        let factor = libm::log2(alpha / (alpha - 1.0));
        factor + libm::log2(features) - theta_ln * std::f64::consts::LOG2_E
    };
    Ok(MistakeBound {
        value: Some(value).filter(|value| value.is_normal()),
        log2,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn winnow_threshold_defaults_to_n() {
        // 2 * 1 + 3 * 3 * (1 + 10)
        let found = bound(1024, 3, 2.0, None).expect("in range");
        assert!((found.value.expect("small") - 101.0).abs() < 1e-9);
        let given = bound(1024, 3, 2.0, Some("1024"));
        assert_eq!(given.expect("in range"), found);
        // theta < 1: 1.5 * 10 / 0.5
        let found = bound(10, 3, 3.0, Some("0.5")).expect("in range");
        assert!((found.value.expect("small") - 30.0).abs() < 1e-9);
    }

    #[test]
    fn winnow_threshold_may_have_ten_thousand_digits() {
        let large = format!("1{}", "0".repeat(9_999));
        let found = bound(100, 1, 2.0, Some(&large)).expect("in range");
        let expected = 3.0 * (1.0 + 9_999.0 * libm::log2(10.0));
        assert!((found.value.expect("in range of f64") - expected).abs() < 1e-6);
        let small = format!("0.{}25", "0".repeat(400));
        let found = bound(100, 1, 2.0, Some(&small)).expect("in range");
        assert_eq!(found.value, None);
        // 2 * 100 / 2.5e-401
        let expected = libm::log2(8.0) + 402.0 * libm::log2(10.0);
        assert!((found.log2 - expected).abs() < 1e-9, "{}", found.log2);
    }

    /// Without relevant literals the bound is 2 N / theta, which may be too small for f64.
    #[test]
    fn winnow_bound_below_f64_has_its_logarithm() {
        for digits in [307, 308, 309, 323, 324, 400, 9_999] {
            let theta = format!("1{}", "0".repeat(digits));
            let found = bound(8, 0, 2.0, Some(&theta)).expect("in range");
            let expected = 4.0 - digits as f64 * libm::log2(10.0);
            assert!(
                (found.log2 - expected).abs() < 1e-9,
                "{digits}: {}",
                found.log2
            );
            assert_eq!(found.value.is_some(), digits < 309, "{digits}");
        }
    }

    #[test]
    fn winnow_threshold_is_a_plain_positive_decimal() {
        let long = "1".repeat(10_001);
        for text in [
            "", ".5", "-1", "+1", "1e5", "inf", "NaN", "0", "0.0", " 1", &long,
        ] {
            let error = bound(5, 1, 2.0, Some(text)).expect_err(text);
            assert_eq!(error.parameter, "theta");
        }
    }

    #[test]
    fn winnow_bound_names_the_parameter_out_of_range() {
        let named = |n, relevant, alpha| {
            let error = bound(n, relevant, alpha, None).expect_err("out of range");
            error.parameter
        };
        assert_eq!(named(0, 0, 2.0), "n");
        assert_eq!(named(1 << 53, 0, 2.0), "n");
        assert_eq!(named(5, 6, 2.0), "relevant");
        for alpha in [1.0, 0.0, -2.0, f64::NAN, f64::INFINITY, 5e9] {
            assert_eq!(named(5, 1, alpha), "alpha");
        }
    }
}
