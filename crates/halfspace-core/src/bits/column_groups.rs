//! How the kernels over integer columns lay out weights and take rows and updates.
//!
//! A group holds the weights of 256 columns in sixteen vectors. Vector `j` has the weights of the columns `16 k + j`
//! for `k` from 0 to 15. If the 256 bits of a row are cut into sixteen parts of 16 bits, bit `j` of part `k` selects
//! the weight `k` of this vector.

use std::ops::Range;

use super::matrix::{BLOCK_ROWS, BitBlock};
use super::vector::WORD_BITS;

/// Columns per vector, and vectors per group.
pub(super) const WIDTH: usize = 16;

pub(super) const GROUP_COLUMNS: usize = WIDTH * WIDTH;

/// Words of a row per group.
pub(super) const GROUP_WORDS: usize = GROUP_COLUMNS / WORD_BITS;

/// The weights of 256 columns.
pub(super) type Group = [[i16; WIDTH]; WIDTH];

/// How a row is decided, and how a mistake changes the weights.
#[derive(Clone, Copy, Debug)]
pub struct IntegerStep {
    /// Whether a bit that is 0 counts as -1 rather than as 0.
    pub is_signed: bool,
    /// The weight of a constant coordinate 1, if there is one.
    pub bias: Option<i64>,
    /// The factor of a positive example in an update. A negative example has the opposite factor.
    pub amount: i64,
    /// The mask of the rows that are positive.
    pub positives: u64,
}

/// The words of one row, which in a block lie between those of others.
#[derive(Clone, Copy)]
pub(super) struct RowWords<'a> {
    words: &'a [u64],
    first: usize,
    stride: usize,
}

impl<'a> RowWords<'a> {
    #[inline(always)]
    pub(super) fn of_block(block: BitBlock<'a>, row: usize) -> Self {
        Self {
            words: block.words(),
            first: row,
            stride: BLOCK_ROWS,
        }
    }

    #[inline(always)]
    pub(super) fn of_row(words: &'a [u64]) -> Self {
        Self {
            words,
            first: 0,
            stride: 1,
        }
    }

    /// Word `at` of the row. Words past the last are 0.
    #[inline(always)]
    pub(super) fn word(self, at: usize) -> u64 {
        let place = self.first + at * self.stride;
        match self.words.get(place) {
            Some(word) => *word,
            None => 0,
        }
    }

    /// The words of group `group`.
    #[inline(always)]
    pub(super) fn group(self, group: usize) -> [u64; GROUP_WORDS] {
        let first = group * GROUP_WORDS;
        [
            self.word(first),
            self.word(first + 1),
            self.word(first + 2),
            self.word(first + 3),
        ]
    }

    #[inline(always)]
    pub(super) fn ones(self, words: usize) -> i64 {
        (0..words)
            .map(|at| i64::from(self.word(at).count_ones()))
            .sum()
    }
}

/// The rows that [`IntegerColumn::learn`](super::IntegerColumn::learn) reads.
pub(super) struct NarrowRows<'a> {
    pub(super) block: BitBlock<'a>,
    pub(super) rows: Range<usize>,
    pub(super) mistakes_max: u64,
    pub(super) n: usize,
}

impl IntegerStep {
    #[inline(always)]
    pub(super) fn score(self, selected: i64, total: i64) -> i64 {
        let sum = match self.is_signed {
            true => 2 * selected - total,
            false => selected,
        };
        sum + self.bias.unwrap_or(0)
    }

    #[inline(always)]
    pub(super) fn is_wrong(self, row: usize, score: i64) -> bool {
        (score >= 0) != (self.positives >> row & 1 == 1)
    }

    /// Learns the bias from row `row`. Returns the factor by which the row is to be added.
    #[inline(always)]
    pub(super) fn learn(&mut self, row: usize) -> i64 {
        let amount = match self.positives >> row & 1 {
            1 => self.amount,
            _ => -self.amount,
        };
        self.bias = self.bias.map(|bias| bias + amount);
        amount
    }
}

/// The change of the sum of `n` weights when a row with so many ones is added once.
#[inline(always)]
pub(super) fn change(ones: i64, n: usize, is_signed: bool) -> i64 {
    match is_signed {
        true => 2 * ones - n as i64,
        false => ones,
    }
}

/// The vector and the place of column `j` within its group.
fn place(j: usize) -> (usize, usize) {
    (j % WIDTH, j % GROUP_COLUMNS / WIDTH)
}

/// The weight of column `j`.
pub(super) fn cell(groups: &[Group], j: usize) -> &i16 {
    let (vector, lane) = place(j);
    &groups[j / GROUP_COLUMNS][vector][lane]
}

/// The weight of column `j`, to change it.
pub(super) fn cell_mut(groups: &mut [Group], j: usize) -> &mut i16 {
    let (vector, lane) = place(j);
    &mut groups[j / GROUP_COLUMNS][vector][lane]
}

/// What to add to the selected weights and what to all weights, so that together they add `amount` times a row.
pub(super) fn parts_of(amount: i64, is_signed: bool) -> (i64, i64) {
    match is_signed {
        true => (2 * amount, -amount),
        false => (amount, 0),
    }
}
