//! Powers of one base in fixed point, rounded down. They decide most comparisons without large integers.
//!
//! A power is stored as a whole number of units of 2^-places, less than two units below the exact power. If a sum of
//! these numbers reaches the threshold, so does the exact sum. If it lies below the threshold by more than the possible
//! rounding error, the exact sum lies below too. The remaining cases are decided by
//! [`crate::learners::arithmetic::power_sum`]. A power far above the threshold is capped, which changes no decision.
//! All arithmetic is in integers.

use num_bigint::BigUint;

use crate::learners::arithmetic::decimal::Decimal;
use crate::learners::arithmetic::power_sum::Base;

/// Bits of a power during its computation.
const MANTISSA_BITS: u64 = 192;

/// The bits of the rounding error. A power results from at most 2^8 products, and later products may multiply the
/// error of one by up to 2^20. The error of a power of [`MANTISSA_BITS`] bits is therefore below 2 to this number, in
/// units of its last place.
const MANTISSA_ERROR_BITS: u64 = 40;

/// The scale on which the powers of one base are compared with one threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerScale {
    base: Base,
    /// Binary places of the unit. Negative for a large threshold.
    places: i64,
    /// The cap on the units of a single power. A capped power exceeds the threshold.
    most: i64,
    /// The threshold in units, rounded down and rounded up.
    threshold: (i64, i64),
}

/// A power in units, rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounded {
    /// At most the power and less than two units below it, unless the power is capped.
    pub units: i64,
    /// Whether the units equal the power.
    pub is_exact: bool,
}

impl PowerScale {
    /// The finest scale on which the sum of any `features` powers stays below 2^63.
    pub fn new(base: Base, threshold: &Decimal, features: usize) -> Self {
        let most_bits = 62 - u64::from(features.max(1).ilog2());
        // threshold < 2^whole_bits, so the threshold is below half of `most` units.
        let power_of_ten = BigUint::from(10_u32).pow(threshold.places());
        let whole_bits = threshold.digits().bits() as i64 - power_of_ten.bits() as i64 + 1;
        let mut scale = Self {
            base,
            places: most_bits as i64 - 1 - whole_bits,
            most: 1 << most_bits,
            threshold: (0, 0),
        };
        scale.threshold = scale.level(threshold);
        scale
    }

    /// A number below twice the threshold in units, rounded down and rounded up. A capped power exceeds it.
    pub fn level(&self, number: &Decimal) -> (i64, i64) {
        let power_of_ten = BigUint::from(10_u32).pow(number.places());
        let (scaled, divisor) = if self.places >= 0 {
            (number.digits() << self.places, power_of_ten)
        } else {
            (number.digits().clone(), power_of_ten << -self.places)
        };
        let down = i64::try_from(&scaled / &divisor).expect("below most");
        let is_exact = &divisor * down.unsigned_abs() == scaled;
        (down, down + i64::from(!is_exact))
    }

    /// The power `base^exponent` in units.
    pub fn power(&self, exponent: i32) -> Rounded {
        let Truncated {
            mantissa,
            twos,
            is_exact,
        } = Truncated::power(self.base, exponent);
        let shift = twos + self.places;
        let bits = mantissa.bits() as i64 + shift;
        if bits > 63 {
            return self.capped();
        }
        if bits <= 0 {
            let (units, is_exact) = (0, false);
            return Rounded { units, is_exact };
        }
        let kept = if shift >= 0 {
            &mantissa << shift
        } else {
            &mantissa >> -shift
        };
        let nothing_lost = shift >= 0 || mantissa.trailing_zeros() >= Some(shift.unsigned_abs());
        match i64::try_from(kept) {
            Ok(units) if units < self.most => Rounded {
                units,
                is_exact: is_exact && nothing_lost,
            },
            _ => self.capped(),
        }
    }

    /// The threshold in units, rounded down and rounded up.
    pub fn threshold(&self) -> (i64, i64) {
        self.threshold
    }

    fn capped(&self) -> Rounded {
        Rounded {
            units: self.most,
            is_exact: false,
        }
    }

    /// Whether a sum of powers reaches the threshold. `units` is the sum of their units, and at most `inexact` of
    /// them are rounded. None if the rounding errors leave the answer open.
    pub fn reaches(&self, units: i64, inexact: usize) -> Option<bool> {
        reaches(self.threshold, units, inexact)
    }

    /// The largest sum of units at which the powers certainly lie below the threshold, if at most `inexact` of them
    /// are rounded.
    pub fn most_below(&self, inexact: usize) -> i64 {
        most_below(self.threshold, inexact)
    }
}

/// Whether a sum of powers reaches a [level](PowerScale::level): see [`PowerScale::reaches`].
pub fn reaches(level: (i64, i64), units: i64, inexact: usize) -> Option<bool> {
    match units {
        _ if units >= level.1 => Some(true),
        _ if units <= most_below(level, inexact) => Some(false),
        _ => None,
    }
}

fn most_below((down, up): (i64, i64), inexact: usize) -> i64 {
    match inexact {
        0 => up - 1,
        // A capped power alone would have reached the level, so no power is capped here.
        inexact => down - 2 * inexact as i64,
    }
}

/// A cache of powers on a scale.
#[derive(Debug)]
pub struct PowerTable {
    scale: PowerScale,
    /// The exponent of the first entry.
    lowest: i32,
    known: Vec<Option<Rounded>>,
}

impl PowerTable {
    pub fn new(scale: PowerScale) -> Self {
        Self {
            scale,
            lowest: -32,
            known: vec![None; 64],
        }
    }

    /// The power `base^exponent` in units of the scale. None if the exponent exceeds [`Base::exponent_max`] in
    /// magnitude.
    #[inline]
    pub fn power(&mut self, exponent: i32) -> Option<Rounded> {
        // A negative difference becomes a place beyond the table.
        match self.known.get(exponent.wrapping_sub(self.lowest) as usize) {
            Some(&Some(power)) => Some(power),
            _ => self.computed(exponent),
        }
    }

    #[cold]
    fn computed(&mut self, exponent: i32) -> Option<Rounded> {
        if exponent.abs() > self.scale.base.exponent_max() {
            return None;
        }
        if !(self.lowest..self.lowest + self.known.len() as i32).contains(&exponent) {
            self.grow(exponent);
        }
        let entry = &mut self.known[exponent.abs_diff(self.lowest) as usize];
        Some(*entry.get_or_insert_with(|| self.scale.power(exponent)))
    }

    /// Extends the table to `exponent`, at least to twice its size.
    fn grow(&mut self, exponent: i32) {
        let length = self.known.len();
        if exponent < self.lowest {
            let more = length.max(self.lowest.abs_diff(exponent) as usize);
            self.known.splice(0..0, std::iter::repeat_n(None, more));
            self.lowest -= more as i32;
        } else {
            let needed = exponent.abs_diff(self.lowest) as usize + 1;
            self.known.resize(needed.max(2 * length), None);
        }
    }
}

/// `mantissa * 2^twos`, which is at most the represented number.
struct Truncated {
    mantissa: BigUint,
    twos: i64,
    is_exact: bool,
}

impl Truncated {
    fn power(base: Base, exponent: i32) -> Self {
        let size = exponent.unsigned_abs();
        let (odd, divisor) = (
            Self::odd_power(base.odd(), size),
            Self::odd_power(base.divisor(), size),
        );
        let (above, below) = match exponent {
            0.. => (odd, divisor),
            _ => (divisor, odd),
        };
        let mut power = above.times(&below.reciprocal());
        power.twos += i64::from(base.twos()) * i64::from(exponent);
        power
    }

    fn odd_power(odd: u64, exponent: u32) -> Self {
        let mut power = Self {
            mantissa: BigUint::from(1_u32),
            twos: 0,
            is_exact: true,
        };
        if odd == 1 {
            return power;
        }
        let odd = Self {
            mantissa: BigUint::from(odd),
            twos: 0,
            is_exact: true,
        };
        for place in (0..u32::BITS - exponent.leading_zeros()).rev() {
            power = power.times(&power);
            if exponent >> place & 1 == 1 {
                power = power.times(&odd);
            }
        }
        power
    }

    fn times(&self, other: &Self) -> Self {
        let mut mantissa = &self.mantissa * &other.mantissa;
        let dropped = mantissa.bits().saturating_sub(MANTISSA_BITS);
        let nothing_lost = mantissa.trailing_zeros() >= Some(dropped);
        mantissa >>= dropped;
        Self {
            mantissa,
            twos: self.twos + other.twos + dropped as i64,
            is_exact: self.is_exact && other.is_exact && nothing_lost,
        }
    }

    fn reciprocal(&self) -> Self {
        let one = BigUint::from(1_u32);
        if self.mantissa == one {
            return Self {
                mantissa: one,
                twos: -self.twos,
                is_exact: self.is_exact,
            };
        }
        let places = 2 * MANTISSA_BITS;
        // The exact number is at most this divisor.
        let divisor = if self.is_exact {
            self.mantissa.clone()
        } else {
            &self.mantissa + (one.clone() << MANTISSA_ERROR_BITS)
        };
        Self {
            mantissa: (one << places) / divisor,
            twos: -self.twos - places as i64,
            is_exact: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::arithmetic::power_sum::{PowerSum, terms_of};
    use proptest::prelude::*;

    const ALPHAS: [&str; 9] = [
        "2",
        "3",
        "10",
        "1.5",
        "1.1",
        "1.7",
        "1.001",
        "1000000000",
        "4294967296",
    ];

    fn base(alpha: &str) -> Base {
        Base::of_decimal(&Decimal::parse(alpha).expect("plain")).expect("a base")
    }

    fn scale(alpha: &str, theta: &str, features: usize) -> PowerScale {
        PowerScale::new(
            base(alpha),
            &Decimal::parse(theta).expect("plain"),
            features,
        )
    }

    #[test]
    fn power_scale_rounds_by_less_than_two_units() {
        for alpha in ALPHAS {
            for theta in ["0.000001", "1", "1000", "123456789012345678901234567890"] {
                let scale = scale(alpha, theta, 1000);
                for exponent in -400..400 {
                    let Rounded { units, is_exact } = scale.power(exponent);
                    let sum = || PowerSum::new(scale.base, &[(exponent, 1)]);
                    // Units as a decimal: a whole number divided by 2^places.
                    let decimal = |units: i64| {
                        let units = BigUint::from(units.unsigned_abs());
                        match scale.places {
                            places if places <= 0 => Decimal::whole(units << -places),
                            places => {
                                let places = places as usize;
                                let digits = units * BigUint::from(5_u32).pow(places as u32);
                                let digits = format!("{digits:0>width$}", width = places + 1);
                                let (whole, rest) = digits.split_at(digits.len() - places);
                                Decimal::parse(&format!("{whole}.{rest}")).expect("plain")
                            }
                        }
                    };
                    assert!(sum().reaches(&decimal(units)), "{alpha}^{exponent} {theta}");
                    if units == scale.most {
                        assert!(units > scale.threshold.1);
                    } else {
                        let above = decimal(units + if is_exact { 1 } else { 2 });
                        assert!(!sum().reaches(&above), "{alpha}^{exponent} {theta}");
                    }
                }
            }
        }
    }

    #[test]
    fn power_scale_is_exact_for_small_powers_of_two() {
        let scale = scale("2", "1000", 1000);
        for exponent in -40..=10 {
            assert!(scale.power(exponent).is_exact, "{exponent}");
        }
        let one = scale.power(0).units;
        assert_eq!(scale.reaches(1000 * one, 0), Some(true));
        assert_eq!(scale.reaches(1000 * one - 1, 0), Some(false));
        assert_eq!(scale.reaches(1000 * one - 1, 1), None);
    }

    #[test]
    fn power_scale_has_powers_for_the_largest_exponents() {
        // The largest power of 1.001 is no more than e^9.
        for alpha in ALPHAS.into_iter().filter(|&alpha| alpha != "1.001") {
            let scale = scale(alpha, "1", 1);
            let most = scale.base.exponent_max();
            assert_eq!(scale.power(most).units, scale.most);
            assert_eq!(scale.power(-most).units, 0);
        }
    }

    proptest! {
        #[test]
        fn power_scale_verdict_equals_the_exact_comparison(
            exponents in prop::collection::vec(-12_i32..12, 1..60),
            alpha in prop::sample::select(ALPHAS.to_vec()),
            is_double in any::<bool>(),
            theta in prop::sample::select(vec!["0.001", "0.1", "1", "3", "60", "1024.5", "count"]),
        ) {
            // Half of the bases are the double nearest to the decimal.
            let base = match is_double {
                true => Base::new(base(alpha).value()).expect("a base"),
                false => base(alpha),
            };
            // The threshold `count` is the number of terms, which equals the sum if all powers are 1.
            let count = exponents.len() as u64;
            let theta = Decimal::parse(theta).unwrap_or_else(|_| Decimal::from(count));
            let scale = PowerScale::new(base, &theta, exponents.len());
            let mut table = PowerTable::new(scale.clone());
            let powers: Vec<_> = exponents.iter().filter_map(|&e| table.power(e)).collect();
            let units = powers.iter().map(|power| power.units).sum();
            let inexact = powers.iter().filter(|power| !power.is_exact).count();
            let sum = PowerSum::new(base, &terms_of(exponents.iter().copied()));
            let exact = sum.reaches(&theta);
            if let Some(verdict) = scale.reaches(units, inexact) {
                prop_assert_eq!(verdict, exact);
            }
        }
    }
}
