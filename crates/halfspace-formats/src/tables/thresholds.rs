//! The thresholds of number columns: lower quantiles of their numbers, independent of the order of the rows.
//!
//! The quantile at q is the number at position floor(q (m - 1)) of the m sorted numbers, counted from 0. If a column
//! has at most 256 numbers per quantile, they are kept and sorted. A longer column is searched by radix: each of eight
//! passes over the rows counts the values of one byte, from the highest to the lowest. This takes about 2 KiB of memory
//! per quantile, less than the numbers themselves.

/// Bits of a number that one pass fixes.
const DIGIT_BITS: u32 = 8;

/// The numbers of a pass with one prefix, counted by their next bytes.
type Histogram = [u64; 1 << DIGIT_BITS];

/// The search for the quantiles k / (bins + 1) of the numbers of one column.
pub(crate) enum QuantileSearch {
    /// The keys of all numbers.
    Kept { keys: Vec<u64>, bins: u32 },
    /// The numbers are counted.
    Counted(CountedNumbers),
}

/// The numbers of a long column.
pub(crate) struct CountedNumbers {
    /// For each quantile its position among the numbers with its prefix, from 0, and this prefix, which is the bits
    /// that the passes so far have fixed. The prefixes ascend.
    quantiles: Vec<(u64, u64)>,
    /// The different prefixes in ascending order, each with a histogram.
    histograms: Vec<(u64, Box<Histogram>)>,
    /// The number of bits of a prefix.
    bits: u32,
}

/// The positions of the quantiles among `count` sorted numbers, from 0.
fn places(count: u64, bins: u32) -> impl Iterator<Item = u64> {
    (1..=bins).map(move |k| {
        let place = u128::from(count.saturating_sub(1)) * u128::from(k) / u128::from(bins + 1);
        place as u64
    })
}

impl QuantileSearch {
    /// Whether a search that keeps `count` numbers takes at most as much memory as one that counts them.
    fn is_short(count: u64, bins: u32) -> bool {
        count <= u64::from(bins) << DIGIT_BITS
    }

    /// The bytes of a search among `count` numbers.
    pub(crate) fn bytes(count: u64, bins: u32) -> u64 {
        let each = match Self::is_short(count, bins) {
            true => return count * size_of::<u64>() as u64,
            false => size_of::<(u64, u64)>() + size_of::<(u64, Box<Histogram>)>(),
        };
        u64::from(bins) * (each + size_of::<Histogram>()) as u64
    }

    /// Begins the search among `count` numbers.
    pub(crate) fn new(count: u64, bins: u32) -> Self {
        match Self::is_short(count, bins) {
            true => Self::Kept {
                keys: Vec::with_capacity(count as usize),
                bins,
            },
            false => Self::Counted(CountedNumbers {
                quantiles: places(count, bins).map(|place| (place, 0)).collect(),
                histograms: vec![(0, Box::new([0; 1 << DIGIT_BITS]))],
                bits: 0,
            }),
        }
    }

    /// The number of passes over the rows.
    pub(crate) fn passes(&self) -> u32 {
        match self {
            Self::Kept { .. } => 1,
            Self::Counted(_) => u64::BITS / DIGIT_BITS,
        }
    }

    /// Takes a number in the current pass.
    pub(crate) fn see(&mut self, number: f64) {
        let key = ordered(number);
        match self {
            Self::Kept { keys, .. } if keys.len() < keys.capacity() => keys.push(key),
            Self::Kept { .. } => {}
            Self::Counted(counted) => counted.see(key),
        }
    }

    /// Ends a pass.
    pub(crate) fn end_pass(&mut self) {
        if let Self::Counted(counted) = self {
            counted.end_pass();
        }
    }

    /// Returns the quantiles above `minimum`, after all passes, in ascending order and each only once.
    pub(crate) fn finish(self, minimum: f64) -> Vec<f64> {
        let keys: Vec<u64> = match self {
            Self::Kept { mut keys, bins } => {
                keys.sort_unstable();
                let places = places(keys.len() as u64, bins);
                let mut found: Vec<u64> = places
                    .filter_map(|place| keys.get(place as usize).copied())
                    .collect();
                found.dedup();
                found.shrink_to_fit();
                found
            }
            Self::Counted(counted) => {
                debug_assert_eq!(counted.bits, u64::BITS);
                counted
                    .quantiles
                    .iter()
                    .map(|&(_, prefix)| prefix)
                    .collect()
            }
        };
        let numbers = keys.into_iter().map(number);
        let mut thresholds: Vec<f64> = numbers.filter(|&number| number > minimum).collect();
        thresholds.dedup();
        thresholds
    }
}

impl CountedNumbers {
    fn see(&mut self, key: u64) {
        let prefix = key.checked_shr(u64::BITS - self.bits).unwrap_or(0);
        let found = self
            .histograms
            .binary_search_by_key(&prefix, |&(prefix, _)| prefix);
        if let Ok(found) = found {
            let digit = key >> (u64::BITS - DIGIT_BITS - self.bits) & ((1 << DIGIT_BITS) - 1);
            self.histograms[found].1[digit as usize] += 1;
        }
    }

    fn end_pass(&mut self) {
        if self.bits == u64::BITS {
            return;
        }
        self.bits += DIGIT_BITS;
        let mut counted = std::mem::take(&mut self.histograms).into_iter().peekable();
        for (place, prefix) in &mut self.quantiles {
            while counted.next_if(|(other, _)| *other < *prefix).is_some() {}
            let Some((_, counts)) = counted.peek() else {
                break;
            };
            let mut digit = 0;
            for (value, &count) in counts.iter().enumerate() {
                digit = value as u64;
                if *place < count {
                    break;
                }
                *place -= count;
            }
            *prefix = *prefix << DIGIT_BITS | digit;
        }
        drop(counted);
        if self.bits == u64::BITS {
            return;
        }
        for &(_, prefix) in &self.quantiles {
            let last = self.histograms.last();
            if last.is_none_or(|&(last, _)| last != prefix) {
                let histogram = Box::new([0; 1 << DIGIT_BITS]);
                self.histograms.push((prefix, histogram));
            }
        }
    }
}

/// Maps numbers to integers that have the same order.
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
        for _ in 0..search.passes() {
            numbers.iter().for_each(|&number| search.see(number));
            search.end_pass();
        }
        search.finish(numbers.iter().copied().fold(f64::INFINITY, f64::min))
    }

    proptest! {
        #[test]
        fn thresholds_are_sorted_numbers_at_the_quantiles(
            mut numbers in proptest::collection::vec(-5.0..5.0_f64, 1..1500),
            bins in 1..12_u32,
            digits in 0..9_i32,
        ) {
            // A column of few numbers keeps them, and rounded numbers occur repeatedly.
            let unit = 10_f64.powi(digits);
            numbers.iter_mut().for_each(|number| *number = (*number * unit).round() / unit);
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
    fn thresholds_omit_repeats_and_the_minimum() {
        assert_eq!(thresholds(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0], 8), [2.0]);
        assert_eq!(thresholds(&[3.0; 5], 8), [] as [f64; 0]);
        assert_eq!(thresholds(&[-0.0, 0.0, 1.0], 1), [] as [f64; 0]);
    }
}
