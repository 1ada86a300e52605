//! Order statistics of number columns, independent of the order of the rows: thresholds and medians.
//!
//! The quantile at q is the number at position floor(q (m - 1)) of the m sorted numbers, counted from 0. If a column
//! has at most 256 numbers per position asked for, they are kept and sorted. A longer column is searched by radix: each
//! of eight passes over the rows counts the values of one byte, from the highest to the lowest. This takes about 2 KiB
//! of memory per position, less than the numbers themselves.

/// Bits of a number that one pass fixes.
const DIGIT_BITS: u32 = 8;

/// The numbers of a pass with one prefix, counted by their next bytes.
type Histogram = [u64; 1 << DIGIT_BITS];

/// The search for numbers of one column by their positions among the sorted numbers.
pub(crate) enum OrderSearch {
    /// The keys of all numbers, and the positions.
    Kept { keys: Vec<u64>, places: Vec<u64> },
    /// The numbers are counted.
    Counted(CountedNumbers),
}

/// The numbers of a long column.
pub(crate) struct CountedNumbers {
    /// For each place its position among the numbers with its prefix, from 0, and this prefix, which is the bits
    /// that the passes so far have fixed. The prefixes ascend.
    places: Vec<(u64, u64)>,
    /// The different prefixes in ascending order, each with a histogram.
    histograms: Vec<(u64, Box<Histogram>)>,
    /// The number of bits of a prefix.
    bits: u32,
}

/// The positions of the quantiles k / (bins + 1) among `count` sorted numbers, from 0.
pub(crate) fn quantile_places(count: u64, bins: u32) -> Vec<u64> {
    let place = |k: u32| {
        let place = u128::from(count.saturating_sub(1)) * u128::from(k) / u128::from(bins + 1);
        place as u64
    };
    (1..=bins).map(place).collect()
}

/// The positions of the two numbers in the middle of `count` sorted numbers, from 0. They are one if `count` is odd.
pub(crate) fn middle_places(count: u64) -> Vec<u64> {
    vec![count.saturating_sub(1) / 2, count / 2]
}

/// The thresholds among the quantiles: each only once, and none that is the smallest number of the column.
pub(crate) fn thresholds(mut quantiles: Vec<f64>, minimum: f64) -> Vec<f64> {
    quantiles.retain(|&number| number > minimum);
    quantiles.dedup();
    quantiles.shrink_to_fit();
    quantiles
}

impl OrderSearch {
    /// Whether a search that keeps `count` numbers takes at most as much memory as one that counts them.
    fn is_short(count: u64, places: u64) -> bool {
        count <= places << DIGIT_BITS
    }

    /// The bytes of a search for `places` of `count` numbers.
    pub(crate) fn bytes(count: u64, places: u64) -> u64 {
        let each = match Self::is_short(count, places) {
            true => return (count + places) * size_of::<u64>() as u64,
            false => size_of::<(u64, u64)>() + size_of::<(u64, Box<Histogram>)>(),
        };
        places * (each + size_of::<Histogram>()) as u64
    }

    /// Begins the search for the numbers at `places`, which ascend, among `count` numbers.
    pub(crate) fn new(count: u64, places: Vec<u64>) -> Self {
        match Self::is_short(count, places.len() as u64) {
            true => Self::Kept {
                keys: Vec::with_capacity(count as usize),
                places,
            },
            false => Self::Counted(CountedNumbers {
                places: places.into_iter().map(|place| (place, 0)).collect(),
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

    /// Returns the number at each place, after all passes.
    pub(crate) fn finish(self) -> Vec<f64> {
        let keys: Vec<u64> = match self {
            Self::Kept { mut keys, places } => {
                keys.sort_unstable();
                let found = places
                    .iter()
                    .map(|&place| keys.get(place as usize).copied());
                found.flatten().collect()
            }
            Self::Counted(counted) => {
                debug_assert_eq!(counted.bits, u64::BITS);
                counted.places.iter().map(|&(_, prefix)| prefix).collect()
            }
        };
        keys.into_iter().map(number).collect()
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
        for (place, prefix) in &mut self.places {
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
        for &(_, prefix) in &self.places {
            let last = self.histograms.last();
            if last.is_none_or(|&(last, _)| last != prefix) {
                let histogram = Box::new([0; 1 << DIGIT_BITS]);
                self.histograms.push((prefix, histogram));
            }
        }
    }
}

/// Maps numbers to integers that have the same order.
pub(crate) fn ordered(number: f64) -> u64 {
    // Adding 0.0 turns -0.0 into 0.0.
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

/// The inverse of [`ordered`].
pub(crate) fn number(key: u64) -> f64 {
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

    fn found(numbers: &[f64], places: Vec<u64>) -> Vec<f64> {
        let mut search = OrderSearch::new(numbers.len() as u64, places);
        for _ in 0..search.passes() {
            numbers.iter().for_each(|&number| search.see(number));
            search.end_pass();
        }
        search.finish()
    }

    fn thresholds(numbers: &[f64], bins: u32) -> Vec<f64> {
        let quantiles = found(numbers, quantile_places(numbers.len() as u64, bins));
        super::thresholds(
            quantiles,
            numbers.iter().copied().fold(f64::INFINITY, f64::min),
        )
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
            let middle = super::tests::found(&numbers, middle_places(numbers.len() as u64));
            numbers.sort_by(f64::total_cmp);
            prop_assert_eq!(middle, [numbers[(numbers.len() - 1) / 2], numbers[numbers.len() / 2]]);
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
