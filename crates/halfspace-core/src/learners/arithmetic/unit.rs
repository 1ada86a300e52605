//! The unit of weights that are whole multiples of a learning rate. A learner computes with the multiples, which are
//! whole numbers, and shows each times the decimal form of the rate.
//!
//! The mistakes of a perceptron that starts at weights 0 do not depend on the learning rate. In floating point they
//! would, because three times 0.1 is not 0.3 there and a score of exactly 0 becomes a small number of either sign.

use num_bigint::BigUint;

/// The largest magnitude of an integer weight. With n <= 2^20 features every score fits into an i64, and every JSON
/// reader represents the weight exactly.
pub const INTEGER_WEIGHT_MAX: i64 = 1 << 40;

/// The powers of ten that are doubles.
const POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// A positive number, represented by the shortest decimal form of its double.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    value: f64,
    /// The number is `digits / 10^places`, with at most 17 significant digits.
    digits: i128,
    places: usize,
}

impl Unit {
    /// The unit of plain whole numbers.
    pub const ONE: Self = Self {
        value: 1.0,
        digits: 1,
        places: 0,
    };

    /// The unit of this value. None unless it is positive, finite and not far above all weights.
    pub fn new(value: f64) -> Option<Self> {
        if !(value > 0.0 && value.is_finite()) {
            return None;
        }
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e')?;
        let exponent: i32 = exponent.parse().ok()?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let places = fraction.len() as i32 - exponent;
        // A rate with 20 or more trailing zeros is far above the largest weight.
        let zeros = u32::try_from(-places.min(0))
            .ok()
            .filter(|&zeros| zeros < 20)?;
        Some(Self {
            value,
            digits: digits * 10_i128.pow(zeros),
            places: places.max(0) as usize,
        })
    }

    /// One of `parts` equal parts, a divisor of 1000. The double of its value is rounded, its decimal form is exact.
    #[must_use]
    pub fn part(self, parts: u32) -> Self {
        match parts {
            1 => self,
            parts => Self {
                value: self.value / f64::from(parts),
                digits: self.digits * i128::from(1000 / parts),
                places: self.places + 3,
            },
        }
    }

    pub fn value(self) -> f64 {
        self.value
    }

    /// This number counted in another unit, as a numerator and a denominator.
    pub fn over(self, unit: Self) -> (BigUint, BigUint) {
        let ten = |places: usize| BigUint::from(10_u32).pow(places as u32);
        let of = |digits: i128, places| BigUint::from(digits.unsigned_abs()) * ten(places);
        (of(self.digits, unit.places), of(unit.digits, self.places))
    }

    /// This number counted in another unit, rounded down and rounded up.
    pub fn count_between(self, unit: Self) -> (i64, i64) {
        let (own, other) = self.over(unit);
        let down = &own / &other;
        let is_whole = &down * &other == own;
        // No score is as large.
        let down = i64::try_from(down).unwrap_or(i64::MAX - 1);
        (down, down + i64::from(!is_whole))
    }

    /// `count` units, as the double nearest to the exact product.
    pub fn times(self, count: i64) -> f64 {
        let (digits, places) = (self.digits * i128::from(count), self.places);
        // If both numbers are exact doubles, their quotient is rounded correctly (W. D. Clinger, 1990).
        if let Some(power) = POWERS_OF_TEN.get(places)
            && digits.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS
        {
            return digits as i64 as f64 / power;
        }
        // The standard library parses decimals with correct rounding. No product of a unit exceeds the
        // range of f64, and a product that is too small becomes 0.
        format!("{digits}e-{places}").parse().unwrap_or(f64::NAN)
    }

    /// The number of units in a weight. None if the weight is no whole multiple, or too large a one.
    pub fn count(self, weight: f64) -> Option<i64> {
        if weight == 0.0 {
            return Some(0);
        }
        let count = (weight / self.value).round();
        if count.is_nan() || count.abs() > INTEGER_WEIGHT_MAX as f64 {
            return None;
        }
        let count = count as i64;
        (self.times(count) == weight).then_some(count)
    }

    /// The numbers of units in some weights. None unless all of them are whole multiples.
    pub fn counts<'w>(self, weights: impl IntoIterator<Item = &'w f64>) -> Option<Vec<i64>> {
        weights
            .into_iter()
            .map(|&weight| self.count(weight))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unit_multiples_are_exact_decimals() {
        let third = Unit::new(0.3).expect("positive");
        assert_eq!(third.times(3), 0.9);
        assert_ne!(third.times(3), 3.0 * 0.3);
        assert_eq!(third.count(0.9), Some(3));
        assert_eq!(third.count(-0.9), Some(-3));
        assert_eq!(third.count(0.8999999999999999), None);
        assert_eq!(third.count(0.5), None);
        assert_eq!(third.count(f64::NAN), None);
        assert_eq!(third.counts(&[0.0, -0.3, 1.2]), Some(vec![0, -1, 4]));
        assert_eq!(third.counts(&[0.0, 0.1]), None);
        assert_eq!(Unit::new(1.0), Some(Unit::ONE));
        assert_eq!(Unit::new(1e-7).expect("positive").times(12), 1.2e-6);
        assert_eq!(Unit::new(1_048_576.0).expect("positive").count(3.0), None);
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(Unit::new(value), None, "{value}");
        }
    }

    proptest! {
        #[test]
        fn unit_products_are_the_nearest_doubles(
            digits in 1_u64..100_000_000, places in 0_usize..30, count in -(1_i64 << 40)..1 << 40,
        ) {
            let unit = Unit::new(format!("{digits}e-{places}").parse().expect("a double")).expect("positive");
            let decimal = format!("{}e-{places}", i128::from(digits) * i128::from(count));
            prop_assert_eq!(unit.times(count), decimal.parse::<f64>().expect("a double"));
        }

        #[test]
        fn unit_counts_survive_the_round_trip(value in 1e-9_f64..1e6, count in -(1_i64 << 40)..1 << 40) {
            let unit = Unit::new(value).expect("positive");
            prop_assert_eq!(unit.count(unit.times(count)), Some(count));
        }
    }
}
