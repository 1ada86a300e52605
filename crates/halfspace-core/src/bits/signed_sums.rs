//! Tables of the signed sums of four weights.

use super::vector::WORD_BITS;

/// Columns (or rows) per table of signed sums.
pub(super) const GROUP: usize = 4;

/// Tables per word of columns, or per block of rows.
pub(super) const WORD_TABLES: usize = WORD_BITS / GROUP;

/// The signed sums of four weights, indexed by the four bits that give the signs.
pub(super) type SignedSums = [i32; 1 << GROUP];
