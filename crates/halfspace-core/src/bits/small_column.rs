//! One number of 16 bits per column, and the search for the first row whose sum leaves its label open.
//!
//! The layout is that of [`super::integers`].

use std::ops::Range;

use super::integers::{GROUP_COLUMNS, Group, NARROW_COLUMNS_MAX, RowWords, WIDTH, cell_mut, plain};
use super::kernels::{Kernels, kernels, multiversioned};
use super::{BitBlock, scalar};

/// One number of 16 bits per column, for sums that rows select.
#[derive(Clone, Debug, PartialEq)]
pub struct SmallColumn {
    groups: Vec<Group>,
}

/// The sums that confirm a label. The sum of a row counts each selected number once.
#[derive(Clone, Copy, Debug)]
pub struct SmallBounds {
    /// The least sum that confirms a positive label.
    pub positive: i64,
    /// The largest sum that confirms a negative label. Each selected column adds 1 to this sum.
    pub negative: i64,
}

impl SmallColumn {
    /// Zeros for `n` columns. None if a sum could overflow.
    pub fn new(n: usize) -> Option<Self> {
        let groups = vec![[[0; WIDTH]; WIDTH]; n.div_ceil(GROUP_COLUMNS)];
        (n <= NARROW_COLUMNS_MAX).then_some(Self { groups })
    }

    /// Replaces the number of column `j`.
    #[inline]
    pub fn set(&mut self, j: usize, number: i16) {
        *cell_mut(&mut self.groups, j) = number;
    }

    /// Returns the first of `rows` whose label the bounds do not confirm. Bit `r` of `positives` is the label of
    /// row `r`.
    ///
    /// # Panics
    /// Panics if a row is not in the block.
    pub fn first_open(
        &self,
        block: BitBlock,
        rows: Range<usize>,
        positives: u64,
        bounds: SmallBounds,
    ) -> Option<usize> {
        assert!(rows.end <= block.rows(), "rows of the block");
        match kernels() {
            Kernels::Detected => first_open_detected(&self.groups, block, rows, positives, bounds),
            Kernels::Scalar => scalar::first_open(&self.groups, block, rows, positives, bounds),
        }
    }
}

impl SmallBounds {
    /// Whether the sum of a row, and that sum with 1 for each selected column, confirm the label.
    #[inline(always)]
    pub(super) fn confirm(self, is_positive: bool, sum: i64, ones: i64) -> bool {
        match is_positive {
            true => sum >= self.positive,
            false => sum + ones <= self.negative,
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
