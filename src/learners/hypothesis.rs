//! What a learner answers with, and how it decides.

use std::ops::Range;

use num_bigint::{BigInt, BigUint};

use crate::bits::{self, BitVector};

use super::block::Block;
use super::bounded::BoundedWeights;
use super::examples::Examples;
use super::kernel_expansion::KernelExpansion;
use super::kernel_winnow;
use super::kernel_winnow_weights::{KernelWinnowWeights, Scratch};
use super::linear::LinearWeights;
use super::run::{Interrupt, StopFlag};
use super::winnow_weights::WinnowWeights;

/// A hypothesis: all that is needed to predict.
#[derive(Clone, Debug, PartialEq)]
pub enum Hypothesis {
    /// Weights in {-1, +1}; prediction +1 iff the inner product in the signed reading is >= 0.
    BinaryWeights(BitVector),
    /// Integer or real weights with an optional bias; prediction +1 iff the score is >= 0.
    Linear(LinearWeights),
    /// Powers of one base; prediction +1 iff those of the active features reach a threshold.
    Winnow(WinnowWeights),
    /// The same over all nonempty monotone monomials of the features.
    KernelWinnow(KernelWinnowWeights),
    /// Labelled examples under a kernel; prediction +1 iff the sum of their kernels with the
    /// example, each with its label's sign, is >= 0.
    Kernel(KernelExpansion),
    /// Weights in [0, 1] less an inhibition; prediction +1 iff the mean of their products with the
    /// features reaches a threshold.
    Bounded(BoundedWeights),
}

/// What a hypothesis says of one example.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The number that decided.
    pub score: Score,
    /// The prediction: +1 iff the score is at least the hypothesis's threshold, which is 0 unless
    /// its kind has another.
    pub is_positive: bool,
}

/// The number that decides a prediction.
#[derive(Clone, Debug, PartialEq)]
pub enum Score {
    /// Exact.
    Integer(i64),
    /// Exact, beyond 64 bits.
    Large(BigInt),
    /// Exact, in lowest terms; the denominator exceeds 1.
    Fraction {
        numerator: BigInt,
        denominator: BigUint,
    },
    /// Of weights that are real by definition.
    Real(f64),
}

impl From<BigInt> for Score {
    fn from(score: BigInt) -> Self {
        match i64::try_from(&score) {
            Ok(small) => Self::Integer(small),
            Err(_) => Self::Large(score),
        }
    }
}

impl From<i64> for Decision {
    fn from(score: i64) -> Self {
        Self {
            score: Score::Integer(score),
            is_positive: score >= 0,
        }
    }
}

impl From<f64> for Decision {
    fn from(score: f64) -> Self {
        Self {
            score: Score::Real(score),
            is_positive: score >= 0.0,
        }
    }
}

impl Hypothesis {
    /// Features an example must have.
    pub fn n(&self) -> usize {
        match self {
            Self::BinaryWeights(weights) => weights.n(),
            Self::Linear(weights) => weights.n(),
            Self::Winnow(weights) => weights.n(),
            Self::KernelWinnow(weights) => weights.n(),
            Self::Kernel(expansion) => expansion.kernel().n(),
            Self::Bounded(weights) => weights.weights().len(),
        }
    }

    /// About how many words of work one decision takes.
    pub fn words_of_work(&self) -> u64 {
        match self {
            Self::BinaryWeights(weights) => bits::words_for(weights.n()) as u64,
            Self::Linear(weights) => weights.n() as u64,
            Self::Winnow(weights) => weights.exponents().len() as u64,
            Self::KernelWinnow(weights) => weights.active_max() << weights.active_max(),
            Self::Kernel(expansion) => expansion.words_of_work(),
            Self::Bounded(weights) => weights.weights().len() as u64,
        }
    }

    /// Whether real-valued examples can be predicted.
    pub fn takes_real(&self) -> bool {
        match self {
            Self::Linear(weights) => weights.takes_real(),
            Self::Bounded(_) => true,
            Self::BinaryWeights(_) | Self::Winnow(_) | Self::KernelWinnow(_) | Self::Kernel(_) => {
                false
            }
        }
    }

    /// Whether Boolean examples can be predicted as bits, in the hypothesis's own reading.
    pub fn reads_bits(&self) -> bool {
        match self {
            Self::Linear(weights) => !weights.takes_real(),
            _ => true,
        }
    }

    /// Whether all these examples, which have its n, can be decided in bounded time; if not, which
    /// cannot, and why.
    ///
    /// # Errors
    /// What kept the examples from being read.
    pub fn check_examples(&self, examples: &dyn Examples) -> Result<Result<(), String>, Interrupt> {
        match self {
            Self::KernelWinnow(weights) => kernel_winnow::check_examples(weights, examples),
            _ => Ok(Ok(())),
        }
    }

    /// What is said of rows `rows` of a block, appended to `out`; less, or anything, once `stop` is
    /// raised: whoever asks looks at the flag before believing the answer.
    pub fn decide(
        &self,
        block: &Block<'_>,
        rows: Range<usize>,
        stop: &StopFlag,
        out: &mut Vec<Decision>,
    ) {
        match self {
            Self::BinaryWeights(weights) => {
                let mut distances = [0; bits::BLOCK_ROWS];
                bits::disagreements(block.bits(), weights.words(), &mut distances);
                let n = weights.n() as i64;
                let score = |&distance: &u32| n - 2 * i64::from(distance);
                out.extend(distances[rows].iter().map(score).map(Decision::from));
            }
            Self::Linear(weights) => {
                let mut scratch = weights.scratch();
                out.extend(rows.map(|row| weights.decide(block, row, &mut scratch)));
            }
            Self::Winnow(weights) => {
                let mut words = vec![0; bits::words_for(weights.n())];
                out.extend(rows.map(|row| {
                    block.bits().copy_row(row, &mut words);
                    weights.decide(&words)
                }));
            }
            Self::KernelWinnow(weights) => {
                let mut words = vec![0; bits::words_for(weights.n())];
                let mut scratch = Scratch::default();
                out.extend(rows.map(|row| {
                    block.bits().copy_row(row, &mut words);
                    weights.decide(&words, &mut scratch)
                }));
            }
            Self::Kernel(expansion) => expansion.decide(block, rows, stop, out),
            Self::Bounded(weights) => out.extend(rows.map(|row| weights.decide(block, row))),
        }
    }

    /// The mask of the rows of a block that the hypothesis gets wrong. Once `stop` is raised any
    /// mask will do: whoever asks looks at the flag before believing the answer.
    pub fn mistakes(&self, block: &Block<'_>, stop: &StopFlag) -> u64 {
        match self {
            Self::BinaryWeights(weights) => {
                let bits = block.bits();
                let (limit, ties) = half_space_limits(weights.n(), block.reflected);
                let wrong_if_positive = bits::rows_over(bits, weights.words(), limit, ties);
                wrong_if_positive ^ (!block.positives & super::block::row_mask(bits.rows()))
            }
            Self::Linear(weights) => weights.mistakes(block),
            Self::Winnow(weights) => weights.positives(block.bits(), stop) ^ block.positives,
            Self::KernelWinnow(weights) => weights.positives(block.bits(), stop) ^ block.positives,
            Self::Kernel(expansion) => expansion.mistakes(block, stop),
            Self::Bounded(weights) => weights.mistakes(block),
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
