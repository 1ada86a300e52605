//! What a learner answers with, and how it decides.

use std::ops::Range;

use crate::bits::{self, BitVector};

use super::block::Block;
use super::linear::LinearWeights;

/// A hypothesis: all that is needed to predict.
#[derive(Clone, Debug, PartialEq)]
pub enum Hypothesis {
    /// Weights in {-1, +1}; prediction +1 iff the inner product in the signed reading is >= 0.
    BinaryWeights(BitVector),
    /// Integer or real weights with an optional bias; prediction +1 iff the score is >= 0.
    Linear(LinearWeights),
}

/// The score that decides a prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Score {
    /// Exact.
    Integer(i64),
    /// Of weights that are real by definition.
    Real(f64),
}

impl Score {
    /// The prediction: +1 iff the score is >= 0.
    pub fn is_positive(self) -> bool {
        match self {
            Self::Integer(score) => score >= 0,
            Self::Real(score) => score >= 0.0,
        }
    }
}

impl Hypothesis {
    /// Features an example must have.
    pub fn n(&self) -> usize {
        match self {
            Self::BinaryWeights(weights) => weights.n(),
            Self::Linear(weights) => weights.n(),
        }
    }

    /// Whether real-valued examples can be predicted.
    pub fn takes_real(&self) -> bool {
        matches!(self, Self::Linear(weights) if weights.takes_real())
    }

    /// The scores of rows `rows` of a block, appended to `out`.
    pub fn scores(&self, block: &Block<'_>, rows: Range<usize>, out: &mut Vec<Score>) {
        match self {
            Self::BinaryWeights(weights) => {
                let mut distances = [0; bits::BLOCK_ROWS];
                bits::disagreements(block.bits(), weights.words(), &mut distances);
                let n = weights.n() as i64;
                let score = |&distance: &u32| Score::Integer(n - 2 * i64::from(distance));
                out.extend(distances[rows].iter().map(score));
            }
            Self::Linear(weights) => {
                let mut scratch = weights.scratch();
                out.extend(rows.map(|row| weights.score(block, row, &mut scratch)));
            }
        }
    }

    /// The mask of the rows of a block that the hypothesis gets wrong.
    pub fn mistakes(&self, block: &Block<'_>) -> u64 {
        match self {
            Self::BinaryWeights(weights) => {
                let bits = block.bits();
                let (limit, ties) = half_space_limits(weights.n(), block.reflected);
                let wrong_if_positive = bits::rows_over(bits, weights.words(), limit, ties);
                wrong_if_positive ^ (!block.positives & super::block::row_mask(bits.rows()))
            }
            Self::Linear(weights) => weights.mistakes(block),
        }
    }
}

/// When a binary hypothesis errs on a half-space example: row `r` is a mistake iff its Hamming
/// distance to the weights, plus bit `r` of the second number, exceeds the first.
///
/// <w, u> = n - 2 d, so a mistake on a positive example is 2 d > n; a reflected negative one is
/// also a mistake at 2 d = n, which only an even n allows.
pub fn half_space_limits(n: usize, reflected: u64) -> (u32, u64) {
    let ties = if n.is_multiple_of(2) { reflected } else { 0 };
    ((n / 2) as u32, ties)
}
