//! Comparisons of decimal texts with doubles, without converting the text to a double.
//!
//! The service reads a text as the nearest double, and as the even one if two are equally near. So the double reaches a
//! threshold if the decimal number is beyond the middle between the threshold and the double below it, or exactly in
//! the middle if the threshold is even. Databases convert texts with errors in the last bit, and for this reason their
//! programs compare digits.

use num_bigint::BigUint;

/// The least decimal number whose double is at least a threshold.
pub(super) struct Bound {
    pub(super) is_negative: bool,
    /// The magnitude is 0.DIGITS times this power of ten.
    pub(super) exponent: i64,
    /// Digits without zeros at both ends.
    pub(super) digits: String,
    /// Whether the bound itself still reaches the threshold.
    pub(super) is_included: bool,
}

impl Bound {
    /// The bound of a threshold. For infinity it is the end of the finite numbers.
    pub(super) fn of(threshold: f64) -> Self {
        let is_positive = threshold > 0.0;
        let magnitude = threshold.abs();
        // The double below is farther from 0 iff the threshold is not positive.
        let other = match is_positive {
            true => magnitude.to_bits() - 1,
            false => magnitude.to_bits() + 1,
        };
        let ([whole, other_whole], twos) = aligned(magnitude.to_bits(), other);
        let (exponent, digits) = decimal(whole + other_whole, twos - 1);
        Self {
            is_negative: !is_positive,
            exponent,
            digits,
            is_included: magnitude.to_bits().is_multiple_of(2),
        }
    }
}

/// Two doubles as whole multiples of one power of two. Infinity is the power of two after the largest double.
fn aligned(first: u64, second: u64) -> ([BigUint; 2], i64) {
    let parts = [first, second].map(parts);
    let twos = parts[0].1.min(parts[1].1);
    (
        parts.map(|(whole, own)| BigUint::from(whole) << (own - twos)),
        twos,
    )
}

/// The significand and the power of two of a double that is not negative.
fn parts(bits: u64) -> (u64, i64) {
    let fraction = bits & ((1 << 52) - 1);
    match (bits >> 52) as i64 {
        0 => (fraction, -1074),
        exponent => (fraction | 1 << 52, exponent - 1075),
    }
}

/// `whole * 2^twos` as the exponent and the digits of 0.DIGITS.
fn decimal(whole: BigUint, twos: i64) -> (i64, String) {
    let digits = match u32::try_from(-twos) {
        Ok(halvings) => (whole * BigUint::from(5_u32).pow(halvings)).to_string(),
        Err(_) => (whole << twos.unsigned_abs()).to_string(),
    };
    let exponent = digits.len() as i64 + twos.min(0);
    (exponent, digits.trim_end_matches('0').to_owned())
}

/// An expression of SQL for a double whose value does not depend on how the database converts decimal texts. `real`
/// makes a double of a whole number.
pub(super) fn exact(number: f64, real: fn(u64) -> String) -> String {
    let (whole, twos) = parts(number.abs().to_bits());
    if whole == 0 {
        return "0.0".to_owned();
    }
    let (exponent, digits) = decimal(whole.into(), twos);
    if digits.len() <= 15 && (-6..=21).contains(&exponent) {
        return format!("{number:?}");
    }
    let odd = whole.trailing_zeros();
    let mut expression = real(whole >> odd);
    let mut twos = twos + i64::from(odd);
    while twos != 0 {
        let step = twos.clamp(-62, 62);
        let sign = if step < 0 { '/' } else { '*' };
        expression += &format!(" {sign} {}", real(1 << step.unsigned_abs()));
        twos -= step;
    }
    let minus = if number < 0.0 { "-" } else { "" };
    format!("{minus}({expression})")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decimal number of a bound, with one more digit that puts it above or below.
    fn text(bound: &Bound, last: &str) -> String {
        let sign = if bound.is_negative { "-" } else { "" };
        format!("{sign}0.{}{last}e{}", bound.digits, bound.exponent)
    }

    #[test]
    fn decimal_bound_is_where_the_nearest_double_changes() {
        let mut tried = vec![
            0.0,
            5e-324,
            2.5,
            0.1,
            0.1 + 0.2,
            f64::MIN_POSITIVE,
            f64::MAX,
            1e300,
        ];
        tried.extend(
            (1..2_000_u64).map(|at| f64::from_bits(at.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
        );
        tried.extend(tried.clone().iter().map(|number| -number));
        for number in tried.into_iter().filter(|number| number.is_finite()) {
            let bound = Bound::of(number);
            let read = |last| text(&bound, last).parse::<f64>().expect("a number");
            assert_eq!(read("") >= number, bound.is_included, "{number:e}");
            // One more digit leads away from 0.
            assert_eq!(read("0001") >= number, !bound.is_negative, "{number:e}");
        }
    }
}
