//! Copies of Boolean blocks of a stream, so that several threads can classify them at the same time. Samples in memory
//! need no copy: see [`super::parts`].
//!
//! A copy is worth its time only if classifying the block takes much longer than copying it. For real examples it never
//! does.

use crate::bits::{BLOCK_ROWS, BlockBuffer, SparseMatrix, words_for};
use crate::learners::engine::run::{Interrupt, StopFlag};
use crate::learners::engine::shared_work::are_worthwhile;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::{Block, BlockFeatures};
use crate::learners::sample::parts::words_of;
use crate::learners::sample::source::Stream;

/// The most blocks of a batch.
const BLOCKS_MAX: usize = 32;

/// The most bytes of a batch, unless one block alone has more.
const BYTES_MAX: usize = 256 << 10;

/// Some blocks of a stream of Boolean examples.
#[derive(Debug, Default)]
pub struct Batch {
    blocks: Vec<CopiedBlock>,
    /// Blocks that hold rows.
    filled: usize,
}

#[derive(Debug)]
struct CopiedBlock {
    bits: CopiedBits,
    positives: u64,
    reflected: u64,
}

#[derive(Debug)]
enum CopiedBits {
    Packed(BlockBuffer),
    Listed(SparseMatrix),
}

/// Whether helpers gain time by a copy of Boolean examples that the hypothesis classifies. They gain none for the
/// kinds named here, which read examples about as fast as a copy does.
pub fn is_worth_copying(predictor: &Predictor, examples: u64, stop: &StopFlag) -> bool {
    if let None
    | Some(Hypothesis::BinaryWeights(_) | Hypothesis::Linear(_) | Hypothesis::Bounded(_)) =
        predictor.one()
    {
        return false;
    }
    let rows = BYTES_MAX / (8 * words_for(predictor.n()));
    let rows = rows.clamp(BLOCK_ROWS, BLOCKS_MAX * BLOCK_ROWS) as u64;
    are_worthwhile(stop, words_of(predictor).saturating_mul(examples.min(rows)))
}

impl Batch {
    /// Replaces the contents by the next blocks of a stream, which have `rows_max` rows or a few more.
    ///
    /// # Errors
    /// As for [`Stream::next_block`].
    pub fn fill(&mut self, stream: &mut dyn Stream, rows_max: u64) -> Result<(), Interrupt> {
        self.filled = 0;
        let (mut rows, mut bytes, n) = (0, 0, stream.n());
        while self.filled < BLOCKS_MAX && rows < rows_max && bytes < BYTES_MAX {
            let Some(block) = stream.next_block()? else {
                break;
            };
            if self.filled == self.blocks.len() {
                self.blocks.push(CopiedBlock::new(n));
            }
            rows += block.rows() as u64;
            bytes += self.blocks[self.filled].copy(&block, n);
            self.filled += 1;
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.filled
    }

    /// Whether the stream had no further block.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    pub fn block(&self, index: usize) -> Block<'_> {
        self.blocks[index].as_block()
    }

    pub fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        self.blocks[..self.filled].iter().map(CopiedBlock::as_block)
    }
}

impl CopiedBlock {
    fn new(n: usize) -> Self {
        Self {
            bits: CopiedBits::Listed(SparseMatrix::new(n, false)),
            positives: 0,
            reflected: 0,
        }
    }

    /// Copies a block of `n` features. Returns its bytes.
    fn copy(&mut self, block: &Block<'_>, n: usize) -> usize {
        (self.positives, self.reflected) = (block.positives, block.reflected);
        match (&mut self.bits, block.features) {
            (CopiedBits::Listed(copy), BlockFeatures::Sparse(rows)) => {
                copy.clear();
                (0..rows.rows()).for_each(|row| copy.push_row(rows.row(row)));
                rows.entries() * size_of::<u32>()
            }
            (CopiedBits::Packed(copy), _) => {
                copy.copy_block(block.bits());
                size_of_val(block.bits().words())
            }
            // The rows of a stream have one form.
            (CopiedBits::Listed(_), _) => {
                self.bits = CopiedBits::Packed(BlockBuffer::new(n));
                self.copy(block, n)
            }
        }
    }

    fn as_block(&self) -> Block<'_> {
        let features = match &self.bits {
            CopiedBits::Packed(bits) => BlockFeatures::Boolean(bits.as_block()),
            CopiedBits::Listed(rows) => BlockFeatures::Sparse(rows.block(0)),
        };
        Block {
            reflected: self.reflected,
            ..Block::of(features, self.positives)
        }
    }
}
