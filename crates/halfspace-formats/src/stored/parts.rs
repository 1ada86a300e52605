//! Traversal of rows in order, one part at a time.
//!
//! All code that stores or digests rows uses this traversal, for data in memory and for data in a spool.

use halfspace_core::bits::{BLOCK_ROWS, BitBlock, SparseBlock};
use halfspace_core::learners::sample::data::{Data, Features, Labels};

use crate::stored::canonical;

/// One part of the rows: a block or a row.
pub(crate) enum RowsPart<'a> {
    /// A block of Boolean rows: 64 rows, or fewer in the last block. In labelled data bit `r` of the word is
    /// the label of row `r`.
    Block(BitBlock<'a>, Option<u64>),
    /// One real row, with its label in labelled data.
    Row(&'a [f64], Option<bool>),
    /// A block of sparse rows, with labels as in a block of Boolean rows.
    Sparse(SparseBlock<'a>, Option<u64>),
}

/// Passes all data in memory to `see`.
///
/// # Errors
/// The first error of `see`.
pub(crate) fn for_each_part<E>(
    data: &Data,
    mut see: impl FnMut(RowsPart<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let labels = match data.labels() {
        Labels::Labelled(bits) => Some(bits),
        Labels::HalfSpace | Labels::Unlabelled => None,
    };
    match data.features() {
        Features::Boolean(matrix) => {
            for (index, block) in matrix.blocks().enumerate() {
                // A block has as many rows as a label word has bits.
                see(RowsPart::Block(
                    block,
                    labels.map(|bits| bits.words()[index]),
                ))?;
            }
        }
        Features::Sparse(matrix) => {
            for index in 0..matrix.rows().div_ceil(BLOCK_ROWS) {
                let labels = labels.map(|bits| bits.words()[index]);
                see(RowsPart::Sparse(matrix.block(index), labels))?;
            }
        }
        Features::Real(matrix) => {
            for row in 0..matrix.rows() {
                see(RowsPart::Row(
                    matrix.row(row),
                    labels.map(|bits| bits.get(row)),
                ))?;
            }
        }
    }
    Ok(())
}

impl RowsPart<'_> {
    /// Returns the number of rows with label +1.
    pub(crate) fn positives(&self) -> u64 {
        match self {
            Self::Block(_, labels) | Self::Sparse(_, labels) => {
                u64::from(labels.map_or(0, u64::count_ones))
            }
            Self::Row(_, label) => u64::from(*label == Some(true)),
        }
    }

    /// Passes the [`canonical`] bytes of each row to `see`, in order and with the label if there is one. `bytes` is a
    /// reused buffer.
    pub(crate) fn for_each_row(
        &self,
        bytes: &mut Vec<u8>,
        mut see: impl FnMut(&[u8], Option<bool>),
    ) {
        match self {
            Self::Block(block, labels) => {
                for row in 0..block.rows() {
                    let column = block.words().iter().skip(row).step_by(BLOCK_ROWS);
                    canonical::of_words(column.copied(), bytes);
                    see(bytes, labels.map(|labels| labels >> row & 1 == 1));
                }
            }
            Self::Row(values, label) => {
                canonical::of_values(values, bytes);
                see(bytes, *label);
            }
            Self::Sparse(block, labels) => {
                for row in 0..block.rows() {
                    canonical::of_sparse(block.n(), block.row(row), bytes);
                    see(bytes, labels.map(|labels| labels >> row & 1 == 1));
                }
            }
        }
    }
}
