//! One 16-bit number per column, and the search for the first row whose sum does not settle its label.
//!
//! The layout is that of [`super::integers`].

use std::ops::Range;

use super::column_groups::{GROUP_COLUMNS, GROUP_WORDS, Group, RowWords, WIDTH, cell_mut};
use super::integers::{NARROW_COLUMNS_MAX, plain};
use super::kernels::{Kernels, kernels, multiversioned};
use super::matrix::BitBlock;
use super::scalar;
use super::small_bounds::SmallBounds;

/// The largest value that a bound of [`SmallBounds`] can have. A kernel may stop adding when a sum reaches it.
pub const SMALL_SUM_MAX: i64 = i16::MAX as i64;

/// One 16-bit number per column, at least 0, to be summed where rows select it.
#[derive(Clone, Debug, PartialEq)]
pub struct SmallColumn {
    groups: Vec<Group>,
}

impl SmallColumn {
    /// Zeros for `n` columns. `None` if there are so many that a sum could overflow.
    pub fn new(n: usize) -> Option<Self> {
        let groups = vec![[[0; WIDTH]; WIDTH]; n.div_ceil(GROUP_COLUMNS)];
        (n <= NARROW_COLUMNS_MAX).then_some(Self { groups })
    }

    /// Adds zeros up to `n` columns. `None` as for [`Self::new`].
    #[must_use]
    pub fn grown(mut self, n: usize) -> Option<Self> {
        let groups = n.div_ceil(GROUP_COLUMNS);
        self.groups.resize(groups, [[0; WIDTH]; WIDTH]);
        (n <= NARROW_COLUMNS_MAX).then_some(self)
    }

    /// Replaces the number of column `j`.
    #[inline]
    pub fn set(&mut self, j: usize, number: i16) {
        debug_assert!(number >= 0);
        *cell_mut(&mut self.groups, j) = number;
    }

    /// Returns the first of `rows` whose label, bit `r` of `positives` for row `r`, is not confirmed by the bounds.
    ///
    /// # Panics
    /// Panics if a row is not in the block, the block has more columns than numbers, or a bound is too large.
    pub fn first_open(
        &self,
        block: BitBlock,
        rows: Range<usize>,
        positives: u64,
        bounds: SmallBounds,
    ) -> Option<usize> {
        assert!(rows.end <= block.rows(), "rows of the block");
        assert!(
            block.words_per_row() <= self.groups.len() * GROUP_WORDS,
            "words a row"
        );
        assert!(bounds.positive <= SMALL_SUM_MAX && bounds.negative < SMALL_SUM_MAX);
        match kernels() {
            Kernels::Detected => first_open_detected(&self.groups, block, rows, positives, bounds),
            Kernels::Scalar => scalar::first_open(&self.groups, block, rows, positives, bounds),
        }
    }
}

multiversioned! {
    fn first_open_detected(
        groups: &[Group],
        block: BitBlock<'_>,
        rows: Range<usize>,
        positives: u64,
        bounds: SmallBounds,
    ) -> Option<usize> {
        multiversion::target::match_target! {
            "x86_64+avx512f+avx512vpopcntdq" => {
                let columns = block.words().as_chunks().0;
                super::avx512_columns::first_open(groups, columns, rows, positives, bounds)
            },
            _ => rows.clone().find(|&at| {
                let row = RowWords::of_block(block, at);
                let sum = multiversion::target::match_target! {
                    "x86_64+avx2" => super::avx2::narrow_sum(groups, row),
                    _ => plain::narrow_sum(groups, row),
                };
                let ones = row.ones(block.words_per_row());
                !bounds.confirm(positives >> at & 1 == 1, sum, ones)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BLOCK_ROWS, BitMatrix, last_word_mask, words_for};
    use proptest::prelude::*;

    prop_compose! {
        fn cases()(n in prop_oneof![1_usize..=70, 1_usize..=1100], rows in 1_usize..=BLOCK_ROWS)(
            numbers in prop::collection::vec(0..=i16::MAX, n),
            // The sums of large numbers pass the limit of 16 bits, and the sums of small ones do not.
            shift in 0_u32..15,
            mut rows in prop::collection::vec(prop::collection::vec(any::<u64>(), words_for(n)), rows),
            positives in any::<u64>(), n in Just(n),
        ) -> (Vec<i16>, Vec<Vec<u64>>, u64) {
            for row in &mut rows {
                *row.last_mut().expect("a word") &= last_word_mask(n);
            }
            (numbers.into_iter().map(|number| number >> shift).collect(), rows, positives)
        }
    }

    proptest! {
        #[test]
        fn small_column_open_rows_match_the_definition(
            (numbers, rows, positives) in cases(), from in 0_usize..64, middle in 0_usize..64,
        ) {
            let mut column = SmallColumn::new(numbers.len()).expect("few columns");
            numbers.iter().enumerate().for_each(|(j, &number)| column.set(j, number));
            let mut matrix = BitMatrix::new(numbers.len());
            rows.iter().for_each(|row| matrix.push_row(row));
            let sums = rows.iter().map(|row| {
                let ones = (0..numbers.len()).filter(|&j| row[j / 64] >> (j % 64) & 1 == 1);
                ones.fold((0, 0), |(sum, ones), j| (sum + i64::from(numbers[j]), ones + 1))
            });
            let sums: Vec<(i64, i64)> = sums.collect();
            // A row with a bound equal to its sum is the closest case.
            let (sum, ones) = sums[middle % rows.len()];
            let bounds = SmallBounds {
                positive: sum.min(SMALL_SUM_MAX),
                negative: (sum + ones).min(SMALL_SUM_MAX - 1),
            };
            let from = from % rows.len();
            let is_open = |&row: &usize| match positives >> row & 1 {
                1 => sums[row].0 < bounds.positive,
                _ => sums[row].0 + sums[row].1 > bounds.negative,
            };
            let expected = (from..rows.len()).find(is_open);
            let (block, range) = (matrix.block(0), from..rows.len());
            prop_assert_eq!(expected, column.first_open(block, range.clone(), positives, bounds));
            let groups = &column.groups;
            prop_assert_eq!(expected, scalar::first_open(groups, block, range, positives, bounds));
        }
    }
}
