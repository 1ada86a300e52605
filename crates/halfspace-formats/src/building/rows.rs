//! Finished rows in memory, packed or real, and the row being filled.
//!
//! This module only stores values. [`SampleBuilder`](crate::building::sample_builder::SampleBuilder) owns their
//! meaning, and [`RowBuffer`](crate::building::row_buffer::RowBuffer) moves rows beyond the memory budget to the spool.

use halfspace_core::bits::{BLOCK_ROWS, BitMatrix, WORD_BITS, words_for};
use halfspace_core::learners::sample::data::{Features, RealMatrix};

/// Finished rows.
pub(crate) enum FinishedRows {
    /// All values so far are two-valued.
    Packed {
        ones: BitMatrix,
        /// Plane of the explicit -1s in sparse rows, made at the first -1. If the data turn real, the plane
        /// separates these -1s from absent values.
        minus: Option<BitMatrix>,
    },
    /// Doubles, row by row.
    Real {
        values: Vec<f64>,
        /// Index of each value in sparse rows, whose values may be far apart. Unused in dense rows.
        indices: Vec<u32>,
        /// End of each sparse row among the values. Unused in dense rows.
        ends: Vec<usize>,
    },
}

/// The row being filled. The buffers are reused.
#[derive(Default)]
pub(crate) struct RowBuilder {
    pub(crate) ones: Vec<u64>,
    pub(crate) minus: Vec<u64>,
    pub(crate) real: Vec<f64>,
    /// Indices of the real values in a sparse row.
    pub(crate) indices: Vec<u32>,
    /// Number of values so far in a dense row.
    pub(crate) filled: usize,
    /// Bits below this index can be set in `ones` without another check.
    pub(crate) settable: usize,
}

impl RowBuilder {
    /// Converts the first `filled` packed values to doubles.
    pub(crate) fn become_real(&mut self, filled: usize, sparse: bool, low: f64) {
        let word = |words: &[u64], j: usize| words.get(j / WORD_BITS).copied().unwrap_or(0);
        self.real.clear();
        self.indices.clear();
        for j in 0..filled {
            let (ones, minus) = (word(&self.ones, j), word(&self.minus, j));
            let value = real_value(ones, minus, j, low);
            if sparse && value != 0.0 {
                self.indices.push(j as u32);
            }
            if !sparse || value != 0.0 {
                self.real.push(value);
            }
        }
        self.ones = Vec::new();
        self.minus = Vec::new();
        self.settable = 0;
    }
}

impl FinishedRows {
    /// Makes an empty list of packed rows with `n` values each.
    pub(crate) fn packed(n: usize) -> Self {
        Self::Packed {
            ones: BitMatrix::new(n),
            minus: None,
        }
    }

    /// Converts packed rows of `n` values to doubles. `low` is the value of a bit that is set in neither
    /// plane.
    pub(crate) fn become_real(&mut self, n: usize, sparse: bool, low: f64) {
        let Self::Packed { ones, minus } = self else {
            return;
        };
        let rows = ones.rows();
        let mut values = Vec::with_capacity(if sparse { 0 } else { rows * n });
        let (mut indices, mut ends) = (Vec::new(), Vec::new());
        for row in 0..rows {
            let (block, place) = (row / BLOCK_ROWS, row % BLOCK_ROWS);
            let ones = ones.block(block);
            let minus = minus.as_ref().map(|minus| minus.block(block));
            let value = |j: usize| {
                let word = j / WORD_BITS;
                let minus = minus.map_or(0, |minus| minus.word(word, place));
                real_value(ones.word(word, place), minus, j, low)
            };
            if !sparse {
                values.extend((0..n).map(value));
                continue;
            }
            let present = (0..n).map(|j| (j as u32, value(j)));
            for (index, value) in present.filter(|&(_, value)| value != 0.0) {
                indices.push(index);
                values.push(value);
            }
            ends.push(values.len());
        }
        *self = Self::Real {
            values,
            indices,
            ends,
        };
    }

    /// Widens packed rows to `width` words.
    pub(crate) fn widen(&mut self, width: usize) {
        if let Self::Packed { ones, minus } = self {
            ones.resize_bits(width * WORD_BITS);
            if let Some(minus) = minus {
                minus.resize_bits(width * WORD_BITS);
            }
        }
    }

    /// Returns the bytes of the rows in memory.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Packed { ones, .. } => self.packed_bytes(ones.n()),
            Self::Real {
                values,
                indices,
                ends,
            } => real_bytes(1, values.len() + indices.len() / 2 + ends.len()),
        }
    }

    /// Returns the bytes that packed rows would take with `n` values each.
    pub(crate) fn packed_bytes(&self, n: usize) -> u64 {
        match self {
            Self::Packed { ones, minus } => {
                packed_bytes(ones.rows(), n) * (1 + u64::from(minus.is_some()))
            }
            Self::Real { .. } => 0,
        }
    }

    /// Appends the row and clears the row buffers.
    pub(crate) fn push(&mut self, row: &mut RowBuilder, sparse: bool) {
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
            Self::Real {
                values,
                indices,
                ends,
            } => {
                values.append(&mut row.real);
                if sparse {
                    indices.append(&mut row.indices);
                    ends.push(values.len());
                }
            }
        }
        row.filled = 0;
    }

    /// Removes the first `count` rows: whole blocks of packed rows, or all real rows.
    pub(crate) fn forget(&mut self, count: usize) {
        match self {
            Self::Packed { ones, minus } => {
                for plane in [Some(ones), minus.as_mut()].into_iter().flatten() {
                    let mut kept = BitMatrix::new(plane.n());
                    let blocks = plane.blocks().skip(count.div_ceil(BLOCK_ROWS));
                    blocks.for_each(|block| kept.push_block(block));
                    *plane = kept;
                }
            }
            Self::Real {
                values,
                indices,
                ends,
            } => {
                values.clear();
                indices.clear();
                ends.clear();
            }
        }
    }

    /// Returns the rows as features, with `n` values each.
    pub(crate) fn into_features(self, n: usize) -> Features {
        match self {
            Self::Packed { mut ones, .. } => {
                ones.resize_bits(n);
                ones.shrink_to_fit();
                Features::Boolean(ones)
            }
            Self::Real {
                mut values,
                indices,
                ends,
            } => {
                if !ends.is_empty() {
                    values = expand(&values, &indices, &ends, n);
                }
                values.shrink_to_fit();
                Features::Real(RealMatrix::from_values(n, values))
            }
        }
    }
}

/// A finished real row.
#[derive(Clone, Copy)]
pub(crate) struct RealRow<'a> {
    values: &'a [f64],
    /// Index of each value, if the row is sparse.
    indices: Option<&'a [u32]>,
}

impl<'a> RealRow<'a> {
    /// Makes a row of all its values.
    pub(crate) fn dense(values: &'a [f64]) -> Self {
        let indices = None;
        Self { values, indices }
    }

    /// Makes a row whose other values are 0.
    pub(crate) fn sparse(values: &'a [f64], indices: &'a [u32]) -> Self {
        let indices = Some(indices);
        Self { values, indices }
    }

    /// Returns the number of values up to the last present one.
    pub(crate) fn width(&self) -> usize {
        match self.indices {
            None => self.values.len(),
            Some(indices) => indices.last().map_or(0, |&last| last as usize + 1),
        }
    }

    /// Returns the values if they are exactly the first `width` values of the row.
    pub(crate) fn whole(&self, width: usize) -> Option<&'a [f64]> {
        let is_whole = self.indices.is_none() && self.values.len() == width;
        is_whole.then_some(self.values)
    }

    /// Returns the first `width` values. Values past the last present one are 0.
    pub(crate) fn written(self, width: usize) -> impl Iterator<Item = f64> {
        let mut next = 0;
        (0..width).map(move |j| {
            let Some(indices) = self.indices else {
                return self.values.get(j).copied().unwrap_or(0.0);
            };
            if indices.get(next).is_none_or(|&index| index as usize != j) {
                return 0.0;
            }
            next += 1;
            self.values[next - 1]
        })
    }
}

/// Returns the bytes of `rows` real rows of `n` values.
pub(crate) fn real_bytes(rows: usize, n: usize) -> u64 {
    (n * rows * size_of::<f64>()) as u64
}

/// Returns the bytes of `rows` packed rows of `n` values, in whole blocks.
pub(crate) fn packed_bytes(rows: usize, n: usize) -> u64 {
    (words_for(n) * rows.next_multiple_of(BLOCK_ROWS) * size_of::<u64>()) as u64
}

/// Returns value `j` of a row from its words in the two planes.
pub(crate) fn real_value(ones: u64, minus: u64, j: usize, low: f64) -> f64 {
    let bit = j % WORD_BITS;
    match (ones >> bit & 1, minus >> bit & 1) {
        (1, _) => 1.0,
        (_, 1) => -1.0,
        _ => low,
    }
}

/// Makes a plane of explicit -1s for rows without any.
fn no_minus(n: usize, rows: usize) -> BitMatrix {
    let mut plane = BitMatrix::new(n);
    let absent = vec![0; words_for(n)];
    for _ in 0..rows {
        plane.push_row(&absent);
    }
    plane
}

/// Expands sparse rows to `n` values each.
fn expand(values: &[f64], indices: &[u32], ends: &[usize], n: usize) -> Vec<f64> {
    let mut whole = vec![0.0; ends.len() * n];
    let mut start = 0;
    for (&end, row) in ends.iter().zip(whole.chunks_exact_mut(n)) {
        for (&index, &value) in indices[start..end].iter().zip(&values[start..end]) {
            row[index as usize] = value;
        }
        start = end;
    }
    whole
}
