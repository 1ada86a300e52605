//! Goes through rows in order, one part at a time.
//!
//! All code that stores or digests rows uses this, for data in memory and for data in a spool.

use halfspace_core::bits::{BLOCK_ROWS, BitBlock, SparseBlock};
use halfspace_core::learners::sample::classes::BlockCodes;
use halfspace_core::learners::sample::data::{Data, Features, Labels};

use crate::stored::canonical;

/// One part of the rows: a block or a row.
pub(crate) enum RowsPart<'a> {
    /// A block of Boolean rows: 64 rows, or fewer in the last block. Labelled data have class codes.
    Block(BitBlock<'a>, Option<BlockCodes>),
    /// One real row, with its class code in labelled data.
    Row(&'a [f64], Option<u32>),
    /// A block of sparse rows, with labels as in a block of Boolean rows.
    Sparse(SparseBlock<'a>, Option<BlockCodes>),
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
        Labels::Labelled(codes) => Some(codes),
        Labels::HalfSpace | Labels::Unlabelled => None,
    };
    match data.features() {
        Features::Boolean(matrix) => {
            for (index, block) in matrix.blocks().enumerate() {
                let codes = labels.map(|codes| codes.block(index * BLOCK_ROWS));
                see(RowsPart::Block(block, codes))?;
            }
        }
        Features::Sparse(matrix) => {
            for index in 0..matrix.rows().div_ceil(BLOCK_ROWS) {
                let labels = labels.map(|codes| codes.block(index * BLOCK_ROWS));
                see(RowsPart::Sparse(matrix.block(index), labels))?;
            }
        }
        Features::Real(matrix) => {
            for row in 0..matrix.rows() {
                see(RowsPart::Row(
                    matrix.row(row),
                    labels.map(|codes| codes.get(row)),
                ))?;
            }
        }
    }
    Ok(())
}

impl RowsPart<'_> {
    /// Adds the number of rows of each class to `counts`.
    pub(crate) fn count_classes(&self, counts: &mut Vec<u64>) {
        let mut count = |code: u32, rows: u32| {
            let code = code as usize;
            counts.resize(counts.len().max(code + 1), 0);
            counts[code] += u64::from(rows);
        };
        match self {
            Self::Row(_, label) => label.iter().for_each(|code| count(*code, 1)),
            Self::Block(_, None) | Self::Sparse(_, None) => {}
            Self::Block(block, Some(codes)) => codes.count(block.rows(), count),
            Self::Sparse(block, Some(codes)) => codes.count(block.rows(), count),
        }
    }

    /// Passes the [`canonical`] bytes of each row to `see`, in order and with the label if there is one. `bytes` is a
    /// reused buffer.
    pub(crate) fn for_each_row(
        &self,
        bytes: &mut Vec<u8>,
        mut see: impl FnMut(&[u8], Option<u32>),
    ) {
        match self {
            Self::Block(block, labels) => {
                for row in 0..block.rows() {
                    let column = block.words().iter().skip(row).step_by(BLOCK_ROWS);
                    canonical::of_words(column.copied(), bytes);
                    see(bytes, labels.as_ref().map(|codes| codes.get(row)));
                }
            }
            Self::Row(values, label) => {
                canonical::of_values(values, bytes);
                see(bytes, *label);
            }
            Self::Sparse(block, labels) => {
                for row in 0..block.rows() {
                    canonical::of_sparse(block.n(), block.row(row), bytes);
                    see(bytes, labels.as_ref().map(|codes| codes.get(row)));
                }
            }
        }
    }
}
