//! Powers of one base in fixed point, rounded down. They settle most comparisons without large integers.
//!
//! A power is stored as a whole number of units of 2^-places. It is below 2^63 units, and less than two of them are
//! lost, so a sum of `m` rounded powers lies less than `2 m` units above the sum of their units: see
//! [`PowerScale::bracket`]. [`crate::learners::arithmetic::power_sum`] decides the comparisons that such bounds leave
//! open. A power far above the threshold is capped, and a sum that may contain it has no upper bound. All arithmetic is
//! in integers.
//!
//! Proof that less than two units are lost: cutting a product to 192 bits loses less than d = 2^-191 of it. An exponent
//! has at most 19 bits, so a power results from at most 19 squarings with at most two cuts each, and every later
//! squaring doubles the relative loss. The loss is below 2 d (1 + 2 + ... + 2^18) < 2^-171, which is less than 2^22
//! units in the last of 192 places. A reciprocal divides by 2^40 such units more than the mantissa, so it loses less
//! than 2^-150, and so does its product with another power. Below 2^63 units, this is less than 2^-87 units. Rounding
//! down to whole units loses less than one more.

use num_bigint::BigUint;

use crate::learners::arithmetic::bracket::Bracket;
use crate::learners::arithmetic::decimal::Decimal;
use crate::learners::arithmetic::power_sum::Base;

/// Bits of a power during its computation.
const MANTISSA_BITS: u64 = 192;

/// The bits of a bound on the loss of a power of [`MANTISSA_BITS`] bits, in units of its last place.
const MANTISSA_ERROR_BITS: u64 = 40;

/// The scale on which the powers of one base are compared with one threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerScale {
    base: Base,
    /// Binary places of the unit. Negative for a large threshold.
    places: i64,
    /// The cap on the units of a single power. A capped power exceeds the threshold.
    most: i64,
    /// The threshold in units, rounded up.
    threshold: i64,
}

/// A power in units, rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounded {
    pub units: i64,
    pub loss: Loss,
}

/// What a power has lost in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    Nothing,
    /// Less than two units.
    Rounded,
    /// Any amount, because the power is capped.
    Capped,
}

/// How many powers have lost something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    rounded: usize,
    capped: usize,
}

impl Losses {
    /// Counts so many further powers.
    #[must_use]
    pub fn with(mut self, loss: Loss, count: usize) -> Self {
        match loss {
            Loss::Nothing => {}
            Loss::Rounded => self.rounded += count,
            Loss::Capped => self.capped += count,
        }
        self
    }

    /// Counts one power that has changed.
    #[inline]
    pub fn change(&mut self, before: Loss, after: Loss) {
        let of = |loss| {
            (
                usize::from(loss == Loss::Rounded),
                usize::from(loss == Loss::Capped),
            )
        };
        let (old, new) = (of(before), of(after));
        self.rounded = self.rounded + new.0 - old.0;
        self.capped = self.capped + new.1 - old.1;
    }
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
            threshold: 0,
        };
        scale.threshold = scale.level(threshold);
        scale
    }

    /// A number below twice the threshold in units, rounded up. A capped power exceeds it.
    pub fn level(&self, number: &Decimal) -> i64 {
        let power_of_ten = BigUint::from(10_u32).pow(number.places());
        let (scaled, divisor) = if self.places >= 0 {
            (number.digits() << self.places, power_of_ten)
        } else {
            (number.digits().clone(), power_of_ten << -self.places)
        };
        let down = i64::try_from(&scaled / &divisor).expect("below most");
        let is_exact = &divisor * down.unsigned_abs() == scaled;
        down + i64::from(!is_exact)
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
            let (units, loss) = (0, Loss::Rounded);
            return Rounded { units, loss };
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
                loss: match is_exact && nothing_lost {
                    true => Loss::Nothing,
                    false => Loss::Rounded,
                },
            },
            _ => self.capped(),
        }
    }

    /// The threshold in units, rounded up.
    pub fn threshold(&self) -> i64 {
        self.threshold
    }

    fn capped(&self) -> Rounded {
        Rounded {
            units: self.most,
            loss: Loss::Capped,
        }
    }

    /// The bounds of a sum of powers. `units` is the sum of their units, and they are among powers with these losses.
    #[inline]
    pub fn bracket(&self, units: i64, losses: Losses) -> Bracket {
        // A sum below the cap contains no capped power.
        let has_capped = losses.capped > 0 && units >= self.most;
        Bracket::new(units, (!has_capped).then_some(2 * losses.rounded as i64))
    }

    /// The largest sum of units at which powers with these losses certainly lie below the threshold.
    pub fn most_below(&self, losses: Losses) -> i64 {
        // The threshold is below the cap, so the sum contains no capped power.
        self.threshold - 1 - 2 * losses.rounded as i64
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
    use crate::learners::arithmetic::bracket::proved_leader;
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
                    let Rounded { units, loss } = scale.power(exponent);
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
                    let above = match loss {
                        Loss::Nothing => units + 1,
                        Loss::Rounded => units + 2,
                        Loss::Capped => {
                            assert!(units > 2 * scale.threshold - 2);
                            continue;
                        }
                    };
                    assert!(
                        !sum().reaches(&decimal(above)),
                        "{alpha}^{exponent} {theta}"
                    );
                }
            }
        }
    }

    #[test]
    fn power_scale_is_exact_for_small_powers_of_two() {
        let scale = scale("2", "1000", 1000);
        for exponent in -40..=10 {
            assert_eq!(scale.power(exponent).loss, Loss::Nothing, "{exponent}");
        }
        let one = scale.power(0).units;
        let reaches = |units, loss| {
            let bracket = scale.bracket(units, Losses::default().with(loss, 1));
            bracket.reaches(scale.threshold())
        };
        assert_eq!(reaches(1000 * one, Loss::Nothing), Some(true));
        assert_eq!(reaches(1000 * one - 1, Loss::Nothing), Some(false));
        assert_eq!(reaches(1000 * one - 1, Loss::Rounded), None);
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

    /// The bounds of `count` times the power with this exponent, and of one further power if there is one.
    fn repeated(scale: &PowerScale, exponent: i32, count: usize, further: Option<i32>) -> Bracket {
        let (power, other) = (scale.power(exponent), further.map(|e| scale.power(e)));
        let losses = Losses::default().with(power.loss, count);
        let losses = other.map_or(losses, |other| losses.with(other.loss, 1));
        let units = count as i64 * power.units + other.map_or(0, |other| other.units);
        scale.bracket(units, losses)
    }

    #[test]
    fn power_scale_leaves_sums_open_that_almost_equal_the_threshold() {
        let (mut open, mut lost_most) = (0, 0.0_f64);
        for alpha in ["1.2", "1.5", "1.1", "1.7", "1.001"] {
            for (exponent, count) in (1..40).zip([1_usize, 7, 100, 136].into_iter().cycle()) {
                // The sum is a decimal. The second threshold is above it, but not by a unit.
                let one = Decimal::parse(alpha).expect("plain");
                let digits = one.digits().pow(exponent) * count as u64;
                let places = exponent * one.places();
                let above: BigUint = &digits * BigUint::from(10_u32).pow(20) + 1_u32;
                let thresholds = [
                    (Decimal::of_digits(digits, places), true),
                    (Decimal::of_digits(above, places + 20), false),
                ];
                for (threshold, is_reached) in thresholds {
                    let scale = PowerScale::new(base(alpha), &threshold, count);
                    let verdict =
                        repeated(&scale, exponent as i32, count, None).reaches(scale.threshold());
                    let exact = PowerSum::new(scale.base, &[(exponent as i32, count as u64)]);
                    assert_eq!(exact.reaches(&threshold), is_reached);
                    assert!(verdict.is_none_or(|verdict| verdict == is_reached));
                    open += usize::from(verdict.is_none());
                    // Less than one unit is missing because the threshold is rounded up.
                    let units = count as i64 * scale.power(exponent as i32).units;
                    let lost = (scale.threshold() - 1 - units) as f64 / count as f64;
                    lost_most = lost_most.max(lost);
                }
            }
        }
        // A bound below nine tenths of a unit per power would have decided some of these wrongly.
        assert!(
            open > 250 && lost_most > 0.9,
            "{open} open, {lost_most} units lost"
        );
    }

    #[test]
    fn power_scale_leaves_equal_sums_of_unlike_powers_open() {
        // alpha = numerator / denominator, so this many powers and as many of the next lower exponent sum to the same.
        for (alpha, denominator, numerator) in [("1.5", 2, 3), ("1.2", 5, 6), ("1.1", 10, 11)] {
            let scale = scale(alpha, "544", 40);
            for exponent in -30..-1 {
                let one = repeated(&scale, exponent + 1, denominator, None);
                let other = |further| repeated(&scale, exponent, numerator, further);
                // The further power is less than a unit, but decides which sum is larger.
                for further in [None, Some(-400)] {
                    let leader = proved_leader([one, other(further)].into_iter());
                    assert_eq!(leader, None, "{alpha}^{exponent}");
                }
                let apart = proved_leader([one, other(Some(exponent))].into_iter());
                assert_eq!(apart, Some(1), "{alpha}^{exponent}");
            }
        }
        let scale = scale("2", "544", 40);
        let equal = [repeated(&scale, 3, 1, None), repeated(&scale, 2, 2, None)];
        assert_eq!(proved_leader(equal.into_iter()), Some(0));
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
            let losses = powers.iter().fold(Losses::default(), |all, power| all.with(power.loss, 1));
            let sum = PowerSum::new(base, &terms_of(exponents.iter().copied()));
            let exact = sum.reaches(&theta);
            if let Some(verdict) = scale.bracket(units, losses).reaches(scale.threshold()) {
                prop_assert_eq!(verdict, exact);
            }
        }
    }
}
