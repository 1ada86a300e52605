//! Conversion of sparse rows to dense blocks, for code that reads only those.

use std::ops::Range;

use crate::bits::{BLOCK_ROWS, BlockBuffer, SparseBlock, words_for};
use crate::learners::sample::block::BlockFeatures;

/// The most values that are spread out at once, unless one row alone has more.
const VALUES_MAX: usize = 1 << 19;

/// Memory for rows in a dense form.
#[derive(Debug)]
pub struct Packer {
    bits: BlockBuffer,
    words: Vec<u64>,
    values: Vec<f64>,
}

impl Packer {
    /// Memory for rows of `n` features, which are bits unless `is_real`.
    pub fn new(n: usize, is_real: bool) -> Self {
        let bits = if is_real { 0 } else { n };
        Self {
            bits: BlockBuffer::new(bits),
            words: vec![0; words_for(bits)],
            values: Vec::new(),
        }
    }

    /// The most rows of `n` real features that are spread out at once.
    pub fn rows_max(n: usize) -> usize {
        (VALUES_MAX / n).clamp(1, BLOCK_ROWS)
    }

    /// The first of these rows in the dense form: all of them if they are Boolean.
    pub fn pack(&mut self, block: SparseBlock<'_>, rows: Range<usize>) -> BlockFeatures<'_> {
        let n = block.n();
        if block.is_real() {
            let count = rows.len().min(Self::rows_max(n));
            self.values.resize(count * n, 0.0);
            for (row, values) in rows.zip(self.values.chunks_mut(n)) {
                block.row(row).spread(values);
            }
            let values = &self.values;
            return BlockFeatures::Real { n, values };
        }
        self.bits.clear();
        for row in rows {
            block.row(row).pack(&mut self.words);
            self.bits.push_words(&self.words);
        }
        BlockFeatures::Boolean(self.bits.as_block())
    }
}
