//! The mean and the standard deviation of a column of numbers.
//!
//! Sums are kept in twice the precision of a double (Knuth's exact sum of two doubles, and Dekker's exact product by a
//! fused multiplication), so that the order of the rows and the size of the numbers beside their deviations hardly
//! matter: the results are those of exact arithmetic to within a unit in the last place.

/// An unevaluated sum of two doubles, of which the second is at most half a unit in the last place of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Twice {
    high: f64,
    low: f64,
}

/// The sum of two doubles and its rounding error.
fn two_sum(a: f64, b: f64) -> Twice {
    let high = a + b;
    let of_b = high - a;
    let low = (a - (high - of_b)) + (b - of_b);
    Twice { high, low }
}

impl Twice {
    fn plus(self, other: Self) -> Self {
        let Self { high, low } = two_sum(self.high, other.high);
        two_sum(high, low + self.low + other.low)
    }

    fn squared(self) -> Self {
        let high = self.high * self.high;
        let error = self.high.mul_add(self.high, -high);
        two_sum(high, 2.0f64.mul_add(self.high * self.low, error))
    }

    fn over(self, count: f64) -> Self {
        let high = self.high / count;
        let rest = (-high).mul_add(count, self.high) + self.low;
        two_sum(high, rest / count)
    }

    fn root(self) -> f64 {
        if self.high <= 0.0 {
            return 0.0;
        }
        let root = self.high.sqrt();
        let rest = (-root).mul_add(root, self.high) + self.low;
        root + rest / (2.0 * root)
    }
}

/// The numbers of a column, counted and added in a first pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Total {
    pub(crate) count: u64,
    pub(crate) smallest: f64,
    pub(crate) largest: f64,
    sum: Twice,
}

impl Default for Total {
    fn default() -> Self {
        Self {
            count: 0,
            smallest: f64::INFINITY,
            largest: f64::NEG_INFINITY,
            sum: Twice::default(),
        }
    }
}

impl Total {
    /// Takes a number.
    pub(crate) fn see(&mut self, number: f64) {
        self.count += 1;
        self.smallest = self.smallest.min(number);
        self.largest = self.largest.max(number);
        let number = Twice {
            high: number,
            low: 0.0,
        };
        self.sum = self.sum.plus(number);
    }

    /// The mean. It is no number if there are none, or if their sum is too large for a double.
    pub(crate) fn mean(&self) -> f64 {
        self.sum.over(self.count as f64).high
    }

    /// Begins the second pass over the same numbers.
    pub(crate) fn deviations(&self) -> Deviations {
        Deviations {
            count: self.count as f64,
            mean: self.sum.over(self.count as f64),
            unit: power_of_two(self.largest - self.smallest),
            squares: Twice::default(),
        }
    }
}

/// The squared deviations from the mean, added in a second pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deviations {
    count: f64,
    mean: Twice,
    /// The unit of the deviations, a power of two, so that no square is too large or too small for a double. It is 0 if
    /// all numbers are equal.
    unit: f64,
    squares: Twice,
}

/// The largest power of two up to a positive number, within the normal doubles. 0 for 0.
fn power_of_two(number: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    match number > 0.0 {
        true => f64::from_bits(number.clamp(f64::MIN_POSITIVE, f64::MAX).to_bits() & EXPONENT),
        false => 0.0,
    }
}

impl Deviations {
    /// Takes a number of the first pass.
    pub(crate) fn see(&mut self, number: f64) {
        let Twice { high, low } = two_sum(number, -self.mean.high);
        let deviation = two_sum(high / self.unit, (low - self.mean.low) / self.unit);
        self.squares = self.squares.plus(deviation.squared());
    }

    /// The standard deviation of all the numbers, as those of a whole population. It is 0 if they are equal.
    pub(crate) fn standard(&self) -> f64 {
        match self.unit > 0.0 {
            true => self.squares.over(self.count).root() * self.unit,
            false => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use num_traits::{ToPrimitive, Zero};
    use proptest::prelude::*;

    use super::*;

    fn moments(numbers: &[f64]) -> (f64, f64) {
        let mut total = Total::default();
        numbers.iter().for_each(|&number| total.see(number));
        let mut deviations = total.deviations();
        numbers.iter().for_each(|&number| deviations.see(number));
        (total.mean(), deviations.standard())
    }

    /// Numbers k / 2^40 as whole k.
    const UNIT: f64 = (1_u64 << 40) as f64;

    proptest! {
        #[test]
        fn moments_are_those_of_exact_arithmetic(
            whole in proptest::collection::vec(-(1_i64 << 50)..(1_i64 << 50), 2..200),
            shift in -(1_i64 << 50)..(1_i64 << 50),
            narrow in 0..40_u32,
        ) {
            let whole: Vec<i64> = whole.iter().map(|k| (k >> narrow) + shift).collect();
            let numbers: Vec<f64> = whole.iter().map(|&k| k as f64 / UNIT).collect();
            let (mean, deviation) = moments(&numbers);
            let m = BigInt::from(whole.len());
            let sum: BigInt = whole.iter().map(|&k| BigInt::from(k)).sum();
            // The numbers have at most 52 bits, so each is exact. All comparisons multiply by m.
            let beside = |number: f64, units: f64| (number * (1.0 + units * f64::EPSILON)) * UNIT;
            let within = |number: f64, exact: f64| {
                let (low, high) = (beside(number, -1.0), beside(number, 1.0));
                (low.min(high)..=low.max(high)).contains(&exact)
            };
            let exact = (&sum * BigInt::from(1_u64 << 60) / &m).to_f64().unwrap_or(f64::NAN)
                / (1_u64 << 60) as f64;
            prop_assert!(within(mean, exact) || (mean * UNIT - exact).abs() < 1e-3, "{mean} {exact}");
            // m^2 times the variance, which is a whole number.
            let squares: BigInt = whole.iter().map(|&k| BigInt::from(k) * k).sum();
            let scaled: BigInt = squares * &m - &sum * &sum;
            if scaled.is_zero() {
                prop_assert_eq!(deviation, 0.0);
            } else {
                // The root of 2^80 times the number has 40 more bits.
                let root = (scaled << 80_u32).sqrt();
                let exact = (root * BigInt::from(1_u64 << 20) / &m).to_f64().unwrap_or(f64::NAN)
                    / (1_u64 << 60) as f64;
                prop_assert!(within(deviation, exact), "{deviation} {exact}");
            }
        }
    }

    #[test]
    fn moments_of_few_and_of_equal_numbers() {
        assert_eq!(moments(&[3.0]), (3.0, 0.0));
        assert_eq!(moments(&[0.1; 7]), (0.1, 0.0));
        assert_eq!(moments(&[1.0, 2.0, 3.0, 4.0]), (2.5, 1.25_f64.sqrt()));
        let (mean, deviation) = moments(&[1e16, 1e16 + 2.0, 1e16 + 4.0]);
        assert_eq!((mean, deviation), (1e16 + 2.0, (8.0_f64 / 3.0).sqrt()));
        for unit in [1e-200, 1e200] {
            let (mean, deviation) = moments(&[unit, 3.0 * unit]);
            assert!((mean / unit - 2.0).abs() < 1e-15, "{mean}");
            assert!((deviation / unit - 1.0).abs() < 1e-15, "{deviation}");
        }
        let mut total = Total::default();
        total.see(f64::MAX);
        total.see(f64::MAX);
        assert!(!total.mean().is_finite());
        assert!(Total::default().mean().is_nan());
    }
}
