//! A theorem's bound beside what happened.

use num_bigint::BigUint;

/// A bound on the number of mistakes, and whether it held.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Whose theorem.
    pub theorem: &'static str,
    /// The bound; none when the run does not give it.
    pub mistakes_at_most: Option<f64>,
    /// The binary logarithm of a bound beyond the range of f64; none otherwise.
    pub log2_mistakes_at_most: Option<f64>,
    /// Whether the mistakes of the run respect it; none when an assumption is not met.
    pub respected: Option<bool>,
    /// Why there is no number or verdict, or what it rests on.
    pub detail: Option<String>,
}

impl Bound {
    /// The same bound beside a run that its theorem does not speak of, since it did not start at 0.
    pub fn of_another_start(self) -> Self {
        Self {
            respected: None,
            detail: Some("assumption not met: the weights did not start at 0".to_owned()),
            ..self
        }
    }
}

/// A quotient of whole numbers as a bound is told: its value, or where that leaves the range of f64
/// its binary logarithm.
pub fn ratio(numerator: &BigUint, denominator: &BigUint) -> (Option<f64>, Option<f64>) {
    let (above, above_exponent) = leading(numerator);
    let (below, below_exponent) = leading(denominator);
    let (quotient, exponent) = (above / below, above_exponent - below_exponent);
    match i32::try_from(exponent).map(|exponent| libm::ldexp(quotient, exponent)) {
        Ok(value) if value.is_finite() => (Some(value), None),
        _ => (None, Some(libm::log2(quotient) + exponent as f64)),
    }
}

/// A whole number as the number of its first 64 bits times a power of two.
pub fn leading(number: &BigUint) -> (f64, i64) {
    let shift = number.bits().saturating_sub(64);
    let first = (number >> shift).iter_u64_digits().next().unwrap_or(0);
    (first as f64, shift as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotient_is_a_number_or_else_its_logarithm() {
        let power = |exponent: u32| BigUint::from(2_u32).pow(exponent);
        let one = BigUint::from(1_u32);
        assert_eq!(ratio(&(power(70) * 3_u32), &power(71)), (Some(1.5), None));
        assert_eq!(ratio(&BigUint::ZERO, &one), (Some(0.0), None));
        assert_eq!(ratio(&power(1023), &one).0, Some(2_f64.powi(1023)));
        assert_eq!(ratio(&power(1024), &one), (None, Some(1024.0)));
        assert_eq!(
            ratio(&power(5000), &power(4000)),
            (Some(2_f64.powi(1000)), None)
        );
        assert_eq!(ratio(&power(5000), &one), (None, Some(5000.0)));
    }
}
