//! Up to 64 examples as a rule sees them.

use crate::bits::{BLOCK_ROWS, BitBlock};

/// Up to 64 examples with what is said of them.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The features of the rows.
    pub features: BlockFeatures<'a>,
    /// Bit `r` is set when row `r` is labelled +1 (as it stands here, after any reflection).
    pub positives: u64,
    /// Bit `r` is set when row `r` is a negative example shown reflected (u <- -u): a tie is a
    /// mistake on it, because sgn(0) = +1.
    pub reflected: u64,
}

/// The features of a block.
#[derive(Clone, Copy, Debug)]
pub enum BlockFeatures<'a> {
    /// Packed bits, word-major.
    Boolean(BitBlock<'a>),
    /// Real values, row by row, `n` a row.
    Real { n: usize, values: &'a [f64] },
}

impl BlockFeatures<'_> {
    /// The number of rows, at most 64.
    pub fn rows(&self) -> usize {
        match self {
            Self::Boolean(bits) => bits.rows(),
            Self::Real { n, values } => values.len() / n,
        }
    }
}

impl<'a> Block<'a> {
    /// The number of rows, at most 64.
    pub fn rows(&self) -> usize {
        self.features.rows()
    }

    /// The packed bits of a block shown to a learner of Boolean data only.
    ///
    /// # Panics
    /// On real values. The catalogue admits no real data to such a learner.
    pub fn bits(&self) -> BitBlock<'a> {
        match self.features {
            BlockFeatures::Boolean(bits) => bits,
            BlockFeatures::Real { .. } => unreachable!("real data before a Boolean learner"),
        }
    }

    /// Whether row `row` is labelled +1.
    pub fn is_positive(&self, row: usize) -> bool {
        self.positives >> row & 1 == 1
    }
}

/// A mask of the first `rows` rows.
pub fn row_mask(rows: usize) -> u64 {
    match rows {
        BLOCK_ROWS.. => u64::MAX,
        rows => (1 << rows) - 1,
    }
}
