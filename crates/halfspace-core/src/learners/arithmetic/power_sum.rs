//! Exact sums of powers of one base, by which Winnow and kernel Winnow decide.
//!
//! A weight is alpha^e with a whole exponent e, and only e is stored, so a weight that is promoted 50 times by 1.1 and
//! demoted 50 times is 1 again. The base alpha is a decimal or a double above 1. Either equals an odd whole number over
//! a power of five, times a power of two. A sum of powers is therefore a whole number times known powers, and integers
//! of unlimited size compare it with a decimal. No float decides.

use num_bigint::{BigInt, BigUint};
use num_integer::gcd;

use crate::learners::arithmetic::decimal::Decimal;
use crate::learners::decision::Score;

/// The largest base.
pub const BASE_MAX: f64 = 4_294_967_296.0;

/// The only odd prime that can divide the denominator of a decimal.
const FIVE: u64 = 5;

/// The largest number of bits of a power, above or below 1. With the digits of a threshold and the number of features
/// on top, no integer of a comparison exceeds 2^20 bits.
pub const POWER_BITS_MAX: u64 = (1 << 19) - (1 << 16);

/// The base alpha of the weights, above 1 and at most [`BASE_MAX`]: exactly `odd / divisor * 2^twos`.
///
/// Invariant: `odd` and `divisor`, a power of five, have no common factor, so equal numbers have equal fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Base {
    odd: u64,
    divisor: u64,
    twos: i32,
    value: f64,
}

impl Base {
    /// The rational number that a double represents. None outside the range of bases.
    pub fn new(value: f64) -> Option<Self> {
        if !(value > 1.0 && value <= BASE_MAX) {
            return None;
        }
        // Doubles above 1 are never subnormal: 52 stored bits follow a hidden one.
        let bits = value.to_bits();
        let mantissa = (bits & ((1 << 52) - 1)) | 1 << 52;
        let exponent = (bits >> 52) as i32 - 1075;
        let twos = mantissa.trailing_zeros();
        Some(Self {
            odd: mantissa >> twos,
            divisor: 1,
            twos: exponent + twos as i32,
            value,
        })
    }

    /// A decimal as a base. None outside the range of bases, or if numerator or denominator has more than 64 bits,
    /// which never happens with up to 19 digits.
    pub fn of_decimal(decimal: &Decimal) -> Option<Self> {
        let places = decimal.places();
        let one = BigUint::from(10_u32).pow(places);
        let value = decimal.to_string().parse::<f64>().ok()?;
        // The double may be 1 although the decimal is larger.
        let is_in_range =
            *decimal.digits() > one && value > 1.0 && *decimal.digits() <= one * (BASE_MAX as u64);
        if !is_in_range {
            return None;
        }
        let twos = decimal.digits().trailing_zeros().unwrap_or(0);
        let (mut odd, mut fives) = (decimal.digits() >> twos, places);
        while fives > 0 && (&odd % FIVE) == BigUint::ZERO {
            odd /= FIVE;
            fives -= 1;
        }
        Some(Self {
            odd: u64::try_from(odd).ok()?,
            divisor: FIVE.checked_pow(fives)?,
            twos: twos as i32 - places as i32,
            value,
        })
    }

    /// The exact base as a decimal.
    pub fn to_decimal(self) -> Decimal {
        let fives = self.divisor.ilog(FIVE);
        let places = fives.max(self.twos.min(0).unsigned_abs());
        let shift = u64::from(places).wrapping_add_signed(self.twos.into());
        let digits = (BigUint::from(self.odd) << shift) * BigUint::from(FIVE).pow(places - fives);
        Decimal::of_digits(digits, places)
    }

    /// The base as a double, if a double represents it exactly.
    pub fn as_double(self) -> Option<f64> {
        (Self::new(self.value) == Some(self)).then_some(self.value)
    }

    /// The base as a double, rounded if necessary.
    pub fn value(self) -> f64 {
        self.value
    }

    /// The odd factor of the numerator.
    pub fn odd(self) -> u64 {
        self.odd
    }

    /// The power of five in the denominator.
    pub fn divisor(self) -> u64 {
        self.divisor
    }

    /// The exponent of the factor two. Negative for a fraction.
    pub fn twos(self) -> i32 {
        self.twos
    }

    /// The largest magnitude of an exponent.
    pub fn exponent_max(self) -> i32 {
        let odd_bits = match self.odd {
            1 => 0,
            odd => u64::from(odd.ilog2() + 1),
        };
        let step = odd_bits + self.twos.max(0) as u64;
        (POWER_BITS_MAX / step) as i32
    }
}

/// `value * odd^odd_power * divisor^-divisor_power * 2^two_power`, for the factors of one base.
#[derive(Clone, Debug)]
pub struct PowerSum {
    base: Base,
    value: BigUint,
    odd_power: i64,
    divisor_power: i64,
    two_power: i64,
}

impl PowerSum {
    /// The sum of `count * base^exponent` over terms in ascending order of their exponents.
    pub fn new(base: Base, terms: &[(i32, u64)]) -> Self {
        debug_assert!(terms.is_sorted_by(|a, b| a.0 < b.0));
        let (lowest, highest) = match terms {
            [] => (0, 0),
            [first, .., last] => (i64::from(first.0), i64::from(last.0)),
            [only] => (i64::from(only.0), i64::from(only.0)),
        };
        let twos = i64::from(base.twos);
        Self {
            base,
            value: reduced_sum(base, terms),
            odd_power: lowest,
            divisor_power: highest,
            two_power: twos * if twos < 0 { highest } else { lowest },
        }
    }

    /// Whether the sum is at least `threshold`.
    pub fn reaches(&self, threshold: &Decimal) -> bool {
        // Both sides are multiplied by 10^places and by the powers with negative exponents.
        let places = threshold.places();
        let mut sum = &self.value * BigUint::from(5_u32).pow(places);
        let mut needed = threshold.digits().clone();
        let odd = power(self.base.odd, self.odd_power);
        if self.odd_power >= 0 {
            sum *= odd;
        } else {
            needed *= odd;
        }
        let divisor = power(self.base.divisor, self.divisor_power);
        if self.divisor_power >= 0 {
            needed *= divisor;
        } else {
            sum *= divisor;
        }
        match self.two_power + i64::from(places) {
            twos if twos >= 0 => sum <<= twos,
            twos => needed <<= -twos,
        }
        sum >= needed
    }

    /// The sum as a score in lowest terms.
    pub fn into_score(self) -> Score {
        let Self {
            base: Base { odd, divisor, .. },
            value: mut numerator,
            odd_power,
            divisor_power,
            two_power,
        } = self;
        let mut denominator = BigUint::from(1_u32);
        for (factor, exponent) in [(odd, odd_power), (divisor, -divisor_power)] {
            let power = power(factor, exponent);
            if exponent >= 0 {
                numerator *= power;
            } else {
                let left;
                (numerator, left) = without_factors_of(factor, numerator, power);
                denominator *= left;
            }
        }
        if two_power >= 0 {
            numerator <<= two_power;
        } else {
            let needed = two_power.unsigned_abs();
            let shared = numerator.trailing_zeros().unwrap_or(needed).min(needed);
            numerator >>= shared;
            denominator <<= needed - shared;
        }
        if denominator == BigUint::from(1_u32) {
            return Score::from(BigInt::from(numerator));
        }
        Score::Fraction {
            numerator: BigInt::from(numerator),
            denominator,
        }
    }
}

/// A factor to the power of the magnitude of an exponent.
fn power(factor: u64, exponent: i64) -> BigUint {
    BigUint::from(factor).pow(exponent.unsigned_abs() as u32)
}

/// The sum over terms as a whole number: divided by `odd^lowest`, multiplied by `divisor^highest`, and divided by two
/// to the power of `twos * lowest`, or of `twos * highest` if `twos` is negative. The two halves of the terms are
/// summed separately, so that most multiplications have factors of similar size.
fn reduced_sum(base: Base, terms: &[(i32, u64)]) -> BigUint {
    let (left, right) = match terms {
        [] => return BigUint::ZERO,
        [(_, count)] => return BigUint::from(*count),
        _ => terms.split_at(terms.len() / 2),
    };
    let (mut low, mut high) = (reduced_sum(base, left), reduced_sum(base, right));
    let gap = |from: &[(i32, u64)], to: &[(i32, u64)], ends: fn(&[(i32, u64)]) -> i32| {
        u64::from(ends(to).abs_diff(ends(from)))
    };
    let first = |terms: &[(i32, u64)]| terms[0].0;
    let last = |terms: &[(i32, u64)]| terms[terms.len() - 1].0;
    if base.odd > 1 {
        high *= BigUint::from(base.odd).pow(gap(left, right, first) as u32);
    }
    if base.divisor > 1 {
        low *= BigUint::from(base.divisor).pow(gap(left, right, last) as u32);
    }
    let twos = u64::from(base.twos.unsigned_abs());
    if base.twos >= 0 {
        high <<= twos * gap(left, right, first);
    } else {
        low <<= twos * gap(left, right, last);
    }
    low + high
}

/// Divides both numbers by their common factors. `power` is a power of `odd`.
fn without_factors_of(odd: u64, mut value: BigUint, mut power: BigUint) -> (BigUint, BigUint) {
    loop {
        // A common factor divides a power of `odd`, so its primes are primes of `odd`.
        let of_value = gcd(odd, remainder(&value, odd));
        let shared = gcd(of_value, remainder(&power, of_value));
        if shared == 1 {
            return (value, power);
        }
        value /= shared;
        power /= shared;
    }
}

fn remainder(number: &BigUint, divisor: u64) -> u64 {
    u64::try_from(number % divisor).expect("less than the divisor")
}

/// The distinct exponents in ascending order with their counts, as terms of a sum of powers.
pub fn terms_of(exponents: impl Iterator<Item = i32> + Clone) -> Vec<(i32, u64)> {
    let bounds = exponents.clone().fold(None, |bounds, e| match bounds {
        None => Some((e, e)),
        Some((low, high)) => Some((e.min(low), e.max(high))),
    });
    let Some((lowest, highest)) = bounds else {
        return Vec::new();
    };
    // Exponents never exceed `Base::exponent_max`, so the counts take a few MiB at most.
    let mut counts = vec![0_u64; highest.abs_diff(lowest) as usize + 1];
    for exponent in exponents {
        counts[exponent.abs_diff(lowest) as usize] += 1;
    }
    let counted = (lowest..).zip(counts);
    counted.filter(|&(_, count)| count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn score(alpha: f64, terms: &[(i32, u64)]) -> Score {
        PowerSum::new(Base::new(alpha).expect("a base"), terms).into_score()
    }

    fn fraction(numerator: u64, denominator: u64) -> Score {
        Score::Fraction {
            numerator: numerator.into(),
            denominator: denominator.into(),
        }
    }

    #[test]
    fn power_sums_are_in_lowest_terms() {
        assert_eq!(score(2.0, &[]), Score::Integer(0));
        assert_eq!(score(2.0, &[(-2, 3), (1, 1)]), fraction(11, 4));
        assert_eq!(score(2.0, &[(-2, 4)]), Score::Integer(1));
        assert_eq!(score(3.0, &[(-2, 12)]), fraction(4, 3));
        assert_eq!(score(6.0, &[(-2, 12)]), fraction(1, 3));
        assert_eq!(score(6.0, &[(-3, 8)]), fraction(1, 27));
        assert_eq!(score(1.5, &[(-1, 1), (1, 1)]), fraction(13, 6));
        assert_eq!(score(1.5, &[(-2, 9), (2, 4)]), Score::Integer(13));
        assert_eq!(score(2.0, &[(64, 1)]), Score::Large(BigInt::from(1) << 64));
    }

    #[test]
    fn base_is_exactly_its_double() {
        let base = Base::new(1.1).expect("a base");
        assert_eq!(base.odd() as f64 * 2_f64.powi(base.twos()), 1.1);
        let base = Base::new(BASE_MAX).expect("a base");
        assert_eq!((base.odd(), base.twos()), (1, 32));
        assert_eq!(base.exponent_max(), POWER_BITS_MAX as i32 / 32);
        for wrong in [1.0, 0.5, -2.0, f64::NAN, f64::INFINITY, 4_294_967_297.0] {
            assert!(Base::new(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn base_of_a_decimal_is_exact() {
        let of = |text: &str| Base::of_decimal(&Decimal::parse(text).expect("plain"));
        let base = of("1.7").expect("a base");
        assert_eq!((base.odd(), base.divisor(), base.twos()), (17, 5, -1));
        assert_eq!(base.as_double(), None);
        assert_ne!(Some(base), Base::new(1.7));
        assert!(PowerSum::new(base, &[(1, 1)]).reaches(&Decimal::parse("1.7").expect("plain")));
        // The double is below the decimal.
        let double = Base::new(1.7).expect("a base");
        assert!(!PowerSum::new(double, &[(1, 1)]).reaches(&Decimal::parse("1.7").expect("plain")));
        for (text, value) in [
            ("1.5", 1.5),
            ("2", 2.0),
            ("4294967296", BASE_MAX),
            ("1.25", 1.25),
        ] {
            assert_eq!(of(text), Base::new(value), "{text}");
            assert_eq!(of(text).and_then(Base::as_double), Some(value), "{text}");
        }
        // A double has its own decimal, which may be long.
        for base in [double, base, Base::new(3.0).expect("a base")] {
            assert_eq!(Base::of_decimal(&base.to_decimal()), Some(base));
        }
        assert_eq!(base.to_decimal().to_string(), "1.7");
        for text in ["1", "0.5", "4294967296.1", "1.00000000000000000001"] {
            assert_eq!(of(text), None, "{text}");
        }
        let score = |terms: &[(i32, u64)]| PowerSum::new(base, terms).into_score();
        assert_eq!(score(&[(-1, 17)]), Score::Integer(10));
        assert_eq!(score(&[(1, 1), (2, 1)]), fraction(459, 100));
        assert_eq!(score(&[(-2, 1)]), fraction(100, 289));
    }

    #[test]
    fn power_sum_compares_exactly_with_one() {
        let one = Decimal::from(1);
        let base = Base::new(1.1).expect("a base");
        assert!(PowerSum::new(base, &[(0, 1)]).reaches(&one));
        // Floats lose one unit in the last place of 1.1^50, but this sum is exact.
        let almost = Decimal::parse(&format!("0.{}", "9".repeat(5_000))).expect("plain");
        assert!(PowerSum::new(base, &[(0, 1)]).reaches(&almost));
        assert!(!PowerSum::new(base, &[(-1, 1)]).reaches(&almost));
    }

    #[test]
    fn the_largest_integers_stay_within_their_limit() {
        let decimals = ["1.7", "1.000000000000001", "3.14159"];
        let decimals = decimals.map(|text| {
            let decimal = Decimal::parse(text).expect("plain");
            Base::of_decimal(&decimal).expect("a base")
        });
        let doubles = [2.0, 3.0, 1.1, 1.5, BASE_MAX, 1.0 + f64::EPSILON];
        let doubles = doubles.map(|alpha| Base::new(alpha).expect("a base"));
        for base in doubles.into_iter().chain(decimals) {
            let alpha = base.value();
            let most = base.exponent_max();
            let sum = PowerSum::new(base, &[(-most, 1 << 21), (0, 7), (most, 1 << 21)]);
            assert!(sum.value.bits() <= 1 << 20, "{alpha}: {}", sum.value.bits());
            assert!(sum.reaches(&Decimal::from(2)));
            let low = PowerSum::new(base, &[(-most, 1)]);
            assert!(!low.reaches(&Decimal::from(2)));
        }
    }

    proptest! {
        /// Compares with rationals built term by term.
        #[test]
        fn power_sum_equals_a_sum_of_rationals(
            exponents in prop::collection::vec(-9_i32..9, 0..40),
            alpha in prop::sample::select(vec!["2", "3", "6", "12", "1.5", "1.25", "2.5", "1.7", "1.4", "2.35"]),
            theta in 0_u64..100_000, places in 0_u32..6,
        ) {
            let decimal = Decimal::parse(alpha).expect("plain");
            let base = Base::of_decimal(&decimal).expect("a base");
            // alpha = top / 100, so alpha^e times (100 top)^9 is whole.
            let top = decimal.digits() * BigUint::from(10_u32).pow(2 - decimal.places());
            let scale = (&top * 100_u32).pow(9);
            let term = |e: i32| {
                let size = e.unsigned_abs();
                let (up, down) = (top.pow(size), BigUint::from(100_u32).pow(size));
                if e >= 0 { &scale * up / down } else { &scale * down / up }
            };
            let total: BigUint = exponents.iter().map(|&e| term(e)).sum();
            let sum = PowerSum::new(base, &terms_of(exponents.iter().copied()));
            let text = format!("{theta:0>6}");
            let (whole, fraction) = text.split_at(6 - places as usize);
            let point = if places > 0 { "." } else { "" };
            let threshold = Decimal::parse(&format!("{whole}{point}{fraction}")).expect("plain");
            let tens = BigUint::from(10_u32).pow(threshold.places());
            let reached = &total * tens >= threshold.digits() * &scale;
            prop_assert_eq!(sum.reaches(&threshold), reached);
            let (numerator, denominator) = match sum.into_score() {
                Score::Integer(whole) => (BigInt::from(whole), BigUint::from(1_u32)),
                Score::Large(whole) => (whole, BigUint::from(1_u32)),
                Score::Fraction { numerator, denominator } => (numerator, denominator),
                Score::Multiple { .. } | Score::Real(_) => unreachable!(),
            };
            prop_assert_eq!(&numerator * BigInt::from(scale), BigInt::from(total * &denominator));
            for prime in [2_u32, 3, 5] {
                let divides = |n: &BigUint| (n % prime) == BigUint::ZERO;
                prop_assert!(!(divides(&denominator) && divides(numerator.magnitude())));
            }
        }
    }
}
