//! Finished rows in memory, packed or real, and the row being filled.
//!
//! Plain storage: what values mean and which are allowed is
//! [`SampleBuilder`](super::sample_builder::SampleBuilder)'s, and what becomes of more rows than
//! memory has room for is [`Store`](super::store::Store)'s.

use std::ops::Range;

use crate::bits::{BLOCK_ROWS, BitMatrix, WORD_BITS, words_for};
use crate::learners::data::{Features, RealMatrix};

/// Finished rows.
pub(super) enum Held {
    /// All two-valued so far.
    Packed {
        ones: BitMatrix,
        /// Explicit -1s of sparse rows, which absent values must not be taken for when the data
        /// turn out real; there is none before the first -1.
        minus: Option<BitMatrix>,
    },
    /// Doubles, row by row.
    Real {
        values: Vec<f64>,
        /// Where each sparse row ends, since rows stop at their last index. Unused when dense.
        ends: Vec<usize>,
    },
}

/// The row being filled; its buffers are reused.
#[derive(Default)]
pub(super) struct Row {
    pub(super) ones: Vec<u64>,
    pub(super) minus: Vec<u64>,
    pub(super) real: Vec<f64>,
    /// Values so far, when dense.
    pub(super) filled: usize,
    /// Bits below this may be set in `ones` without a look at anything else.
    pub(super) settable: usize,
}

impl Row {
    /// Turns the first `filled` packed values to doubles.
    pub(super) fn become_real(&mut self, filled: usize, low: f64) {
        let word = |words: &[u64], j: usize| words.get(j / WORD_BITS).copied().unwrap_or(0);
        self.real.clear();
        for j in 0..filled {
            let (ones, minus) = (word(&self.ones, j), word(&self.minus, j));
            self.real.push(real_value(ones, minus, j, low));
        }
        self.ones = Vec::new();
        self.minus = Vec::new();
        self.settable = 0;
    }
}

impl Held {
    /// No rows, to be packed, of `n` values.
    pub(super) fn packed(n: usize) -> Self {
        Self::Packed {
            ones: BitMatrix::new(n),
            minus: None,
        }
    }

    /// Turns packed rows of `n` values to doubles; `low` is what neither plane has.
    pub(super) fn become_real(&mut self, n: usize, sparse: bool, low: f64) {
        let Self::Packed { ones, minus } = self else {
            return;
        };
        let rows = ones.rows();
        let mut values = Vec::with_capacity(rows * n);
        for row in 0..rows {
            let (block, place) = (row / BLOCK_ROWS, row % BLOCK_ROWS);
            let ones = ones.block(block);
            let minus = minus.as_ref().map(|minus| minus.block(block));
            values.extend((0..n).map(|j| {
                let word = j / WORD_BITS;
                let minus = minus.map_or(0, |minus| minus.word(word, place));
                real_value(ones.word(word, place), minus, j, low)
            }));
        }
        let ends = match sparse {
            true => (1..=rows).map(|row| row * n).collect(),
            false => Vec::new(),
        };
        *self = Self::Real { values, ends };
    }

    /// Widens packed rows to `width` words.
    pub(super) fn widen(&mut self, width: usize) {
        if let Self::Packed { ones, minus } = self {
            ones.resize_bits(width * WORD_BITS);
            if let Some(minus) = minus {
                minus.resize_bits(width * WORD_BITS);
            }
        }
    }

    /// What the rows take in memory, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Packed { ones, .. } => self.packed_bytes(ones.n()),
            Self::Real { values, ends } => real_bytes(1, values.len() + ends.len()),
        }
    }

    /// What packed rows would take with `width` words each, in bytes.
    pub(super) fn packed_bytes(&self, n: usize) -> u64 {
        match self {
            Self::Packed { ones, minus } => {
                packed_bytes(ones.rows(), n) * (1 + u64::from(minus.is_some()))
            }
            Self::Real { .. } => 0,
        }
    }

    /// Appends the row and empties it.
    pub(super) fn push(&mut self, row: &mut Row, sparse: bool) {
        match self {
            Self::Packed { ones, minus } => {
                if !row.minus.is_empty() || minus.is_some() {
                    row.minus.resize(row.ones.len(), 0);
                    let plane = minus.get_or_insert_with(|| no_minus(ones.n(), ones.rows()));
                    plane.push_row(&row.minus);
                    row.minus.fill(0);
                }
                ones.push_row(&row.ones);
                row.ones.fill(0);
            }
            Self::Real { values, ends } => {
                values.append(&mut row.real);
                if sparse {
                    ends.push(values.len());
                }
            }
        }
        row.filled = 0;
    }

    /// Forgets the first `count` rows: whole blocks of packed rows, or all rows.
    pub(super) fn forget(&mut self, count: usize) {
        match self {
            Self::Packed { ones, minus } => {
                for plane in [Some(ones), minus.as_mut()].into_iter().flatten() {
                    let mut kept = BitMatrix::new(plane.n());
                    let blocks = plane.blocks().skip(count.div_ceil(BLOCK_ROWS));
                    blocks.for_each(|block| kept.push_block(block));
                    *plane = kept;
                }
            }
            Self::Real { values, ends } => {
                values.clear();
                ends.clear();
            }
        }
    }

    /// The rows, each of `n` values.
    pub(super) fn into_features(self, n: usize) -> Features {
        match self {
            Self::Packed { mut ones, .. } => {
                ones.resize_bits(n);
                ones.shrink_to_fit();
                Features::Boolean(ones)
            }
            Self::Real { values, ends } => {
                let mut values = expand(values, &ends, n);
                values.shrink_to_fit();
                Features::Real(RealMatrix::from_values(n, values))
            }
        }
    }
}

/// What so many real rows take, in bytes.
pub(super) fn real_bytes(rows: usize, n: usize) -> u64 {
    (n * rows * size_of::<f64>()) as u64
}

/// What so many packed rows take, whole blocks, in bytes.
pub(super) fn packed_bytes(rows: usize, n: usize) -> u64 {
    (words_for(n) * rows.next_multiple_of(BLOCK_ROWS) * size_of::<u64>()) as u64
}

/// The words that some bits of a row stand in, each with the mask of those bits.
pub(super) fn words_of(bits: &Range<usize>) -> impl Iterator<Item = (usize, u64)> + use<> {
    let Range { start, end } = *bits;
    (start / WORD_BITS..end.div_ceil(WORD_BITS)).map(move |at| {
        let before = start.saturating_sub(at * WORD_BITS);
        let after = ((at + 1) * WORD_BITS).saturating_sub(end);
        (at, (u64::MAX << before) & (u64::MAX >> after))
    })
}

/// Value `j` of a row, from the words of the two planes that it stands in.
pub(super) fn real_value(ones: u64, minus: u64, j: usize, low: f64) -> f64 {
    let bit = j % WORD_BITS;
    match (ones >> bit & 1, minus >> bit & 1) {
        (1, _) => 1.0,
        (_, 1) => -1.0,
        _ => low,
    }
}

/// The plane of the explicit -1s of rows that have none.
fn no_minus(n: usize, rows: usize) -> BitMatrix {
    let mut plane = BitMatrix::new(n);
    let absent = vec![0; words_for(n)];
    for _ in 0..rows {
        plane.push_row(&absent);
    }
    plane
}

/// Fills sparse rows up to `n` values. Dense rows (no ends) are whole.
fn expand(values: Vec<f64>, ends: &[usize], n: usize) -> Vec<f64> {
    if ends.iter().zip(1..).all(|(&end, row)| end == row * n) {
        return values;
    }
    let mut whole = Vec::with_capacity(ends.len() * n);
    let mut start = 0;
    for (&end, rows) in ends.iter().zip(1..) {
        whole.extend_from_slice(&values[start..end]);
        whole.resize(rows * n, 0.0);
        start = end;
    }
    whole
}
