//! Finished rows in memory, and the row that is being filled. Boolean rows are packed, 64 features to a machine word;
//! real rows are doubles.
//!
//! This module only stores values. [`SampleBuilder`](crate::building::sample_builder::SampleBuilder) knows what they
//! mean, and [`RowBuffer`](crate::building::row_buffer::RowBuffer) moves rows beyond the memory budget to a temporary
//! file.

use halfspace_core::bits::{BLOCK_ROWS, BitMatrix, WORD_BITS, words_for};
use halfspace_core::learners::sample::data::{Features, RealMatrix};

use crate::stored::words::real_value;

/// Finished rows.
pub(crate) enum FinishedRows {
    /// All values so far are two-valued.
    Packed(BitMatrix),
    /// Doubles, row by row.
    Real(Vec<f64>),
}

/// The row that is being filled. Its buffers are reused.
#[derive(Default)]
pub(crate) struct RowBuilder {
    pub(crate) ones: Vec<u64>,
    pub(crate) real: Vec<f64>,
    /// Number of values so far.
    pub(crate) filled: usize,
}

impl RowBuilder {
    /// Converts the first `filled` packed values to doubles. `low` is the value of a 0 bit.
    pub(crate) fn become_real(&mut self, filled: usize, low: f64) {
        let word = |j: usize| self.ones.get(j / WORD_BITS).copied().unwrap_or(0);
        self.real.clear();
        self.real
            .extend((0..filled).map(|j| real_value(word(j), j, low)));
        self.ones = Vec::new();
    }
}

impl FinishedRows {
    /// Makes an empty list of packed rows with `n` values each.
    pub(crate) fn packed(n: usize) -> Self {
        Self::Packed(BitMatrix::new(n))
    }

    /// Converts packed rows of `n` values to doubles. `low` is the value of a 0 bit.
    pub(crate) fn become_real(&mut self, n: usize, low: f64) {
        let Self::Packed(ones) = self else {
            return;
        };
        let mut values = Vec::with_capacity(ones.rows() * n);
        for row in 0..ones.rows() {
            let (block, place) = (ones.block(row / BLOCK_ROWS), row % BLOCK_ROWS);
            let value = |j: usize| real_value(block.word(j / WORD_BITS, place), j, low);
            values.extend((0..n).map(value));
        }
        *self = Self::Real(values);
    }

    /// The bytes of the rows in memory.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Packed(ones) => packed_bytes(ones.rows(), ones.n()),
            Self::Real(values) => size_of_val(&**values) as u64,
        }
    }

    /// Appends the row and clears the row buffers.
    pub(crate) fn push(&mut self, row: &mut RowBuilder) {
        match self {
            Self::Packed(ones) => {
                ones.push_row(&row.ones);
                row.ones.fill(0);
            }
            Self::Real(values) => values.append(&mut row.real),
        }
        row.filled = 0;
    }

    /// Removes the first `count` rows: whole blocks of packed rows, or all real rows.
    pub(crate) fn forget(&mut self, count: usize) {
        match self {
            Self::Packed(ones) => {
                let mut kept = BitMatrix::new(ones.n());
                let blocks = ones.blocks().skip(count.div_ceil(BLOCK_ROWS));
                blocks.for_each(|block| kept.push_block(block));
                *ones = kept;
            }
            Self::Real(values) => values.clear(),
        }
    }

    /// Returns the rows as features, with `n` values each.
    pub(crate) fn into_features(self, n: usize) -> Features {
        match self {
            Self::Packed(mut ones) => {
                ones.resize_bits(n);
                ones.shrink_to_fit();
                Features::Boolean(ones)
            }
            Self::Real(mut values) => {
                values.shrink_to_fit();
                Features::Real(RealMatrix::from_values(n, values))
            }
        }
    }
}

/// The bytes of `rows` real rows of `n` values.
pub(crate) fn real_bytes(rows: usize, n: usize) -> u64 {
    (n * rows * size_of::<f64>()) as u64
}

/// The bytes of `rows` packed rows of `n` values, in whole blocks.
pub(crate) fn packed_bytes(rows: usize, n: usize) -> u64 {
    (words_for(n) * rows.next_multiple_of(BLOCK_ROWS) * size_of::<u64>()) as u64
}
