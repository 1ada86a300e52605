//! The thresholds of number columns: lower quantiles of their numbers, independent of the order of the rows.
//!
//! The quantile at q is the number at place floor(q (m - 1)) of the m sorted numbers, from 0. The numbers of all
//! columns are counted by their bytes from the highest to the lowest: eight passes over the rows, and 2 KiB of memory
//! per quantile.

/// Bits of a number that one pass fixes.
const DIGIT_BITS: u32 = 8;

/// Number of passes over the rows.
pub(crate) const PASSES: u32 = u64::BITS / DIGIT_BITS;

/// The search for some quantiles of one column.
pub(crate) struct QuantileSearch {
    quantiles: Vec<Quantile>,
    /// The bits that the passes so far have fixed, from the top.
    fixed_bits: u32,
}

/// The search for one quantile.
struct Quantile {
    /// The place among the numbers with the same prefix, from 0.
    place: u64,
    /// The fixed bits of the number.
    prefix: u64,
    counts: Box<[u64; 1 << DIGIT_BITS]>,
}

impl QuantileSearch {
    /// Begins the search for the quantiles k / (bins + 1) of `count` numbers.
    pub(crate) fn new(count: u64, bins: u32) -> Self {
        let place = |k: u32| {
            let place = u128::from(count.saturating_sub(1)) * u128::from(k) / u128::from(bins + 1);
            place as u64
        };
        let quantile = |k| Quantile {
            place: place(k),
            prefix: 0,
            counts: Box::new([0; 1 << DIGIT_BITS]),
        };
        Self {
            quantiles: (1..=bins).map(quantile).collect(),
            fixed_bits: 0,
        }
    }

    /// Counts a number in the present pass.
    pub(crate) fn see(&mut self, number: f64) {
        let key = ordered(number);
        let prefix = key.checked_shr(u64::BITS - self.fixed_bits).unwrap_or(0);
        let digit = key >> (u64::BITS - DIGIT_BITS - self.fixed_bits) & ((1 << DIGIT_BITS) - 1);
        for quantile in self
            .quantiles
            .iter_mut()
            .filter(|quantile| quantile.prefix == prefix)
        {
            quantile.counts[digit as usize] += 1;
        }
    }

    /// Ends a pass.
    pub(crate) fn end_pass(&mut self) {
        self.fixed_bits += DIGIT_BITS;
        for quantile in &mut self.quantiles {
            let mut digit = 0;
            for (value, &count) in quantile.counts.iter().enumerate() {
                digit = value as u64;
                if quantile.place < count {
                    break;
                }
                quantile.place -= count;
            }
            quantile.prefix = quantile.prefix << DIGIT_BITS | digit;
            quantile.counts.fill(0);
        }
    }

    /// Returns the quantiles above `minimum` after all passes, in ascending order without repeats.
    pub(crate) fn finish(self, minimum: f64) -> Vec<f64> {
        debug_assert_eq!(self.fixed_bits, u64::BITS);
        let numbers = self
            .quantiles
            .iter()
            .map(|quantile| number(quantile.prefix));
        let mut thresholds: Vec<f64> = numbers.filter(|&number| number > minimum).collect();
        thresholds.dedup();
        thresholds
    }
}

/// Maps numbers to integers in the same order.
fn ordered(number: f64) -> u64 {
    // Adding 0.0 turns -0.0 into 0.0.
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

/// The inverse of [`ordered`].
fn number(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 {
        key & !(1 << 63)
    } else {
        !key
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn thresholds(numbers: &[f64], bins: u32) -> Vec<f64> {
        let mut search = QuantileSearch::new(numbers.len() as u64, bins);
        for _ in 0..PASSES {
            numbers.iter().for_each(|&number| search.see(number));
            search.end_pass();
        }
        search.finish(numbers.iter().copied().fold(f64::INFINITY, f64::min))
    }

    proptest! {
        #[test]
        fn they_are_the_sorted_numbers_at_the_places(
            mut numbers in proptest::collection::vec(-5.0..5.0_f64, 1..60),
            bins in 1..12_u32,
        ) {
            let found = thresholds(&numbers, bins);
            numbers.sort_by(f64::total_cmp);
            let place = |k: u32| (numbers.len() - 1) * k as usize / (bins as usize + 1);
            let mut expected: Vec<f64> = (1..=bins).map(|k| numbers[place(k)]).collect();
            expected.retain(|&number| number > numbers[0]);
            expected.dedup();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn repeats_and_the_minimum_are_left_out() {
        assert_eq!(thresholds(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0], 8), [2.0]);
        assert_eq!(thresholds(&[3.0; 5], 8), [] as [f64; 0]);
        assert_eq!(thresholds(&[-0.0, 0.0, 1.0], 1), [] as [f64; 0]);
    }
}
