//! Leaves out the features of sparse rows that a hypothesis does not know.

use crate::bits::SparseMatrix;
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::{Block, BlockFeatures};

/// The number of features that are known, and memory for rows without the others.
pub struct KnownFeatures {
    /// None if the unknown features count too.
    n: Option<usize>,
    rows: SparseMatrix,
}

impl KnownFeatures {
    /// The features that count for a predictor.
    pub fn of(predictor: &Predictor) -> Self {
        let n = predictor.n();
        Self {
            n: Some(n).filter(|_| !predictor.counts_unknown()),
            rows: SparseMatrix::new(n, false),
        }
    }

    /// The rows of a block with the known features.
    pub fn only<'a>(&'a mut self, block: Block<'a>) -> Block<'a> {
        let BlockFeatures::Sparse(own) = block.features else {
            return block;
        };
        let Some(n) = self.n.filter(|n| own.n() > *n) else {
            return block;
        };
        if self.rows.is_real() != own.is_real() {
            self.rows = SparseMatrix::new(n, own.is_real());
        }
        self.rows.clear();
        for row in (0..own.rows()).map(|row| own.row(row)) {
            let known = row.entries().take_while(|(id, _)| *id < n);
            known.for_each(|(id, value)| self.rows.push(id as u32, value));
            self.rows.end_row();
        }
        Block {
            features: BlockFeatures::Sparse(self.rows.block(0)),
            ..block
        }
    }
}
