//! Winnow's mistake bound, Theorem 2 of Khardon, Roth and Servedio. `learners::winnow_bound` has the
//! formula; here is what its parameters may be.

use std::str::FromStr;

use crate::learners::winnow_bound;

use super::{MistakeBound, OutOfRange, check_whole};

/// The longest theta, in digits.
pub const THETA_DIGITS_MAX: usize = 10_000;

/// The largest factor, as for the learner: 2^32.
pub const ALPHA_MAX: f64 = 4_294_967_296.0;

/// The most features: 2^53 - 1, which f64 still counts.
pub const FEATURES_MAX: u64 = (1 << 53) - 1;

/// The bound on Winnow's mistakes for `n` features of which `relevant` are in the disjunction, the
/// factor `alpha` above 1 and up to [`ALPHA_MAX`], and a threshold; n when there is none.
///
/// # Errors
/// The parameter that is out of range.
pub fn bound(
    n: u64,
    relevant: u64,
    alpha: f64,
    theta: Option<&Theta>,
) -> Result<MistakeBound, OutOfRange> {
    check_whole("n", n, ("2^53 - 1", FEATURES_MAX))?;
    if relevant > n {
        let detail = format!("{relevant} literals are relevant, but there are {n} features");
        return Err(OutOfRange::new("relevant", detail));
    }
    if !(alpha > 1.0 && alpha <= ALPHA_MAX) {
        let detail = format!("{alpha} is no number above 1 and up to 2^32");
        return Err(OutOfRange::new("alpha", detail));
    }
    let features = n as f64;
    let theta = theta
        .copied()
        .unwrap_or_else(|| Theta::from_float(features));
    let relevant = relevant as f64;
    let value = match theta.value {
        Some(theta) => winnow_bound::mistakes(alpha, theta, features, relevant),
        None => winnow_bound::mistakes_by_logarithm(alpha, theta.ln, features, relevant),
    };
    let log2 = if value.is_finite() {
        libm::log2(value)
    } else {
        // Only a tiny theta comes to this, where the first term stands alone.
        let factor = libm::log2(alpha / (alpha - 1.0));
        factor + libm::log2(features) - theta.ln * std::f64::consts::LOG2_E
    };
    Ok(MistakeBound {
        value: Some(value).filter(|value| value.is_finite()),
        log2,
    })
}

/// A threshold: a positive decimal number of at most [`THETA_DIGITS_MAX`] digits, which f64 need
/// not hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theta {
    /// The nearest f64; none when the number leaves its range.
    value: Option<f64>,
    /// The natural logarithm.
    ln: f64,
}

impl Theta {
    fn from_float(theta: f64) -> Self {
        Self {
            value: Some(theta),
            ln: libm::log(theta),
        }
    }
}

impl FromStr for Theta {
    type Err = OutOfRange;

    /// Reads digits with at most one point among them, without sign or exponent.
    fn from_str(text: &str) -> Result<Self, OutOfRange> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = whole.len() + fraction.len();
        let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if digits == 0 || !are_digits(whole) || !are_digits(fraction) {
            let detail = "theta is a plain decimal number, without sign or exponent";
            return Err(OutOfRange::new("theta", detail));
        }
        if digits > THETA_DIGITS_MAX {
            let detail =
                format!("{digits} digits are more than theta_digits_max, {THETA_DIGITS_MAX}");
            return Err(OutOfRange::new("theta", detail));
        }
        let all = || whole.bytes().chain(fraction.bytes());
        let Some(zeros) = all().position(|digit| digit != b'0') else {
            return Err(OutOfRange::new("theta", "0 is not positive"));
        };
        if let Ok(value) = text.parse::<f64>()
            && value.is_normal()
        {
            return Ok(Self::from_float(value));
        }
        // 0.ddd times a power of 10; 17 digits are all that f64 can tell apart.
        let leading = all().skip(zeros).take(17);
        let (leading, _) = leading.fold((0.0, 0.1), |(sum, place), digit| {
            (sum + f64::from(digit - b'0') * place, place / 10.0)
        });
        let exponent = whole.len() as f64 - zeros as f64;
        let ln = libm::log(leading) + exponent * std::f64::consts::LN_10;
        Ok(Self { value: None, ln })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theta(text: &str) -> Theta {
        text.parse().expect("a theta")
    }

    #[test]
    fn the_threshold_is_n_unless_given() {
        // 2 * 1 + 3 * 3 * (1 + 10)
        let found = bound(1024, 3, 2.0, None).expect("in range");
        assert!((found.value.expect("small") - 101.0).abs() < 1e-9);
        assert_eq!(
            found,
            bound(1024, 3, 2.0, Some(&theta("1024"))).expect("in range")
        );
        // theta < 1: 1.5 * 10 / 0.5
        let found = bound(10, 3, 3.0, Some(&theta("0.5"))).expect("in range");
        assert!((found.value.expect("small") - 30.0).abs() < 1e-9);
    }

    #[test]
    fn a_threshold_may_have_ten_thousand_digits() {
        let large = format!("1{}", "0".repeat(9_999));
        let found = bound(100, 1, 2.0, Some(&theta(&large))).expect("in range");
        let expected = 3.0 * (1.0 + 9_999.0 * libm::log2(10.0));
        assert!((found.value.expect("in range of f64") - expected).abs() < 1e-6);
        let small = format!("0.{}25", "0".repeat(400));
        let found = bound(100, 1, 2.0, Some(&theta(&small))).expect("in range");
        assert_eq!(found.value, None);
        // 2 * 100 / 2.5e-401
        let expected = libm::log2(8.0) + 402.0 * libm::log2(10.0);
        assert!((found.log2 - expected).abs() < 1e-9, "{}", found.log2);
    }

    #[test]
    fn thresholds_are_plain_decimals() {
        for text in ["1", "0.5", ".5", "5.", "007", "3.25"] {
            let value = text.parse::<f64>().expect("a number");
            assert_eq!(theta(text).value, Some(value), "{text}");
        }
        let long = "1".repeat(10_001);
        for text in [
            "", ".", "-1", "+1", "1e5", "inf", "NaN", "0", "0.0", "1.2.3", " 1", &long,
        ] {
            let error = text.parse::<Theta>().expect_err(text);
            assert_eq!(error.parameter, "theta");
        }
    }

    #[test]
    fn what_is_out_of_range_is_named() {
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
