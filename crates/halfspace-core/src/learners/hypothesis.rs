//! The hypotheses of all learners, and their decisions on examples.
//!
//! A [`Hypothesis`] contains everything that a prediction needs. Each kind of weights has a file of its own with the
//! arithmetic of its score; this file selects the kind and decides for binary weights. Only the rules of the learners
//! change a hypothesis.

use std::ops::Range;

use crate::bits::{self, BitVector};

use crate::learners::arithmetic::bracket::Bracket;
use crate::learners::decision::Decision;
use crate::learners::engine::run::{Interrupt, StopFlag};
use crate::learners::kernel::active_counts;
use crate::learners::kernel::conjunction_kernel::Conjunctions;
use crate::learners::kernel::kernel_expansion::KernelExpansion;
use crate::learners::kernel::kernel_winnow_weights::{KernelWinnowScratch, KernelWinnowWeights};
use crate::learners::linear::bounded::BoundedWeights;
use crate::learners::linear::linear_weights::{LinearWeights, Reading};
use crate::learners::sample::block::{Block, half_space_limits};
use crate::learners::sample::examples::Examples;
use crate::learners::winnow::winnow_weights::WinnowWeights;

/// A hypothesis: the data that a prediction needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Hypothesis {
    /// Weights in {-1, +1}. The prediction is +1 iff the inner product in the signed reading is >= 0.
    BinaryWeights(BitVector),
    /// Integer or real weights with an optional bias. The prediction is +1 iff the score is >= 0.
    Linear(LinearWeights),
    /// Powers of one base. The prediction is +1 iff the powers of the active features sum to at least a threshold.
    Winnow(WinnowWeights),
    /// Powers of one base over all nonempty monotone monomials of the features.
    KernelWinnow(KernelWinnowWeights),
    /// Labelled examples under a kernel. The score of a new example is the sum of its kernels with them, each with
    /// the sign of the label. The prediction is +1 iff the score is >= 0.
    Kernel(KernelExpansion),
    /// Weights in [0, 1] with an inhibition. The prediction is +1 iff the mean product of features and inhibited
    /// weights reaches a threshold.
    Bounded(BoundedWeights),
}

impl Hypothesis {
    /// Number of features that an example must have.
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

    /// The same hypothesis over `n` features: `ids` has the new place of each of its own, of which one without a place
    /// is left out. The other features have their first weight. None if the hypothesis cannot be over
    /// [features with names](Self::reads_names), or not over so many.
    pub fn renumbered(&self, ids: &[u32], n: usize) -> Option<Self> {
        if !self.reads_names() {
            return None;
        }
        match self {
            Self::Linear(weights) => Some(Self::Linear(weights.renumbered(ids, n))),
            Self::Winnow(weights) => Some(Self::Winnow(weights.renumbered(ids, n))),
            Self::KernelWinnow(weights) => weights.renumbered(ids, n).map(Self::KernelWinnow),
            Self::Kernel(expansion) => expansion.renumbered(ids, n).map(Self::Kernel),
            Self::BinaryWeights(_) | Self::Bounded(_) => None,
        }
    }

    /// The same hypothesis over these of its features alone, which ascend, at their places. Without any, it is over one
    /// feature of the first weight. None as for [`Self::renumbered`].
    pub fn only(&self, features: &[u32]) -> Option<Self> {
        let (kept, n) = (features.len() as u32, self.n());
        let mut others = kept..;
        let mut chosen = (0..).zip(features).peekable();
        let place = |feature: u32| match chosen.next_if(|(_, next)| **next == feature) {
            Some((place, _)) => place,
            None => others.next().expect("no more than features"),
        };
        let chosen_first: Vec<u32> = (0..n as u32).map(place).collect();
        let ordered = self.renumbered(&chosen_first, n)?;
        let own: Vec<u32> = (0..kept).collect();
        ordered.renumbered(&own, features.len().max(1))
    }

    /// The same hypothesis, for which a feature that it does not know counts nothing.
    #[must_use]
    pub fn closed(self) -> Self {
        match self {
            Self::Winnow(weights) => Self::Winnow(weights.closed(true)),
            Self::KernelWinnow(weights) => Self::KernelWinnow(weights.closed(true)),
            // The first weight of these is 0.
            other => other,
        }
    }

    /// Whether a feature that the hypothesis does not know counts nothing, although the first weight is 1.
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Winnow(weights) => weights.is_closed(),
            Self::KernelWinnow(weights) => weights.is_closed(),
            Self::BinaryWeights(_) | Self::Linear(_) | Self::Kernel(_) | Self::Bounded(_) => false,
        }
    }

    /// A number per feature that grows with the magnitude of its weight. None if there are no weights per feature.
    pub fn magnitudes(&self) -> Option<Vec<f64>> {
        match self {
            Self::Linear(weights) => {
                let (numbers, _) = weights.numbers();
                Some(numbers.into_iter().map(f64::abs).collect())
            }
            Self::Winnow(weights) => {
                Some(weights.exponents().iter().copied().map(f64::from).collect())
            }
            Self::BinaryWeights(_) | Self::KernelWinnow(_) | Self::Kernel(_) | Self::Bounded(_) => {
                None
            }
        }
    }

    /// Approximate number of words of work per decision.
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

    /// Whether the scores of both hypotheses mean the same, so that the members of a committee may have both.
    pub fn is_like(&self, other: &Self) -> bool {
        let are_like = match (self, other) {
            (Self::Linear(own), Self::Linear(other)) => own.is_like(other),
            (Self::Winnow(own), Self::Winnow(other)) => {
                (own.base(), own.theta()) == (other.base(), other.theta())
                    && own.has_complements() == other.has_complements()
                    && own.is_closed() == other.is_closed()
            }
            (Self::KernelWinnow(own), Self::KernelWinnow(other)) => {
                (own.base(), own.theta()) == (other.base(), other.theta())
                    && own.max_literals() == other.max_literals()
                    && own.is_closed() == other.is_closed()
            }
            (Self::Kernel(own), Self::Kernel(other)) => own.kernel() == other.kernel(),
            (Self::Bounded(own), Self::Bounded(other)) => {
                (own.inhibition(), own.threshold()) == (other.inhibition(), other.threshold())
            }
            (Self::BinaryWeights(_), Self::BinaryWeights(_)) => true,
            _ => false,
        };
        are_like && self.n() == other.n()
    }

    /// The sign of the weight of each feature, as a weight in {-1, +1}. None for a kind without such signs.
    pub fn signs(&self) -> Option<BitVector> {
        match self {
            Self::BinaryWeights(weights) => Some(weights.clone()),
            Self::Linear(weights) => Some(weights.signs()),
            Self::Winnow(_) | Self::KernelWinnow(_) | Self::Kernel(_) | Self::Bounded(_) => None,
        }
    }

    /// Whether the hypothesis accepts real-valued examples.
    pub fn takes_real(&self) -> bool {
        match self {
            Self::Linear(weights) => weights.takes_real(),
            Self::Bounded(_) => true,
            Self::BinaryWeights(_) | Self::Winnow(_) | Self::KernelWinnow(_) | Self::Kernel(_) => {
                false
            }
        }
    }

    /// Whether the hypothesis reads Boolean examples as bits. One over real features needs them as values.
    pub fn reads_bits(&self) -> bool {
        match self {
            Self::Linear(weights) => !weights.takes_real(),
            _ => true,
        }
    }

    /// Whether the hypothesis reads sparse rows. `is_zero` says that an inactive feature counts as 0 when it is read
    /// as a number.
    pub fn takes_sparse(&self, is_zero: bool) -> bool {
        match self {
            Self::Linear(weights) => !weights.takes_real() || is_zero,
            Self::Winnow(_) | Self::KernelWinnow(_) => true,
            Self::Kernel(expansion) => expansion.takes_sparse(),
            Self::BinaryWeights(_) | Self::Bounded(_) => false,
        }
    }

    /// Whether examples may have features that the hypothesis does not know, because an inactive feature does not
    /// count.
    pub fn reads_names(&self) -> bool {
        match self {
            Self::Linear(weights) => weights.reading() != Some(Reading::Signed),
            Self::Winnow(weights) => !weights.has_complements(),
            Self::KernelWinnow(_) => true,
            Self::Kernel(expansion) => expansion.kernel().conjunctions() == Conjunctions::Monotone,
            Self::BinaryWeights(_) | Self::Bounded(_) => false,
        }
    }

    /// Whether a feature counts that the hypothesis does not know. The first weight of such a feature is 1 where
    /// updates multiply weights. Elsewhere it is 0, so the feature is left out.
    pub fn counts_unknown(&self) -> bool {
        matches!(self, Self::Winnow(_) | Self::KernelWinnow(_)) && !self.is_closed()
    }

    /// Checks that all examples can be decided in bounded time, if they have the right number of features. The inner
    /// error states which limit they exceed.
    ///
    /// # Errors
    /// Returns the interrupt if the examples cannot be read.
    pub fn check_examples(&self, examples: &dyn Examples) -> Result<Result<(), String>, Interrupt> {
        match self {
            Self::KernelWinnow(weights) => active_counts::check_examples(weights, examples),
            _ => Ok(Ok(())),
        }
    }

    /// Appends the decisions on rows `rows` of a block to `out`. Once `stop` is raised, decisions may be missing or
    /// wrong, so check the flag before you use them.
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
                let mut words = Vec::new();
                let decide = |row| weights.decide(block.row_bits(row, &mut words));
                out.extend(rows.map(decide));
            }
            Self::KernelWinnow(weights) => {
                let (mut words, mut scratch) = (Vec::new(), KernelWinnowScratch::default());
                let decide = |row| weights.decide(block.row_bits(row, &mut words), &mut scratch);
                out.extend(rows.map(decide));
            }
            Self::Kernel(expansion) => expansion.decide(block, rows, stop, out),
            Self::Bounded(weights) => out.extend(rows.map(|row| weights.decide(block, row))),
        }
    }

    /// Appends bounds on the scores of rows `rows` of a block to `out`. They compare with those of a hypothesis that is
    /// [like](Self::is_like) this one. None if the scores themselves cost no more.
    pub fn bracket(
        &self,
        block: &Block<'_>,
        rows: Range<usize>,
        out: &mut Vec<Bracket>,
    ) -> Option<()> {
        let Self::Winnow(weights) = self else {
            return None;
        };
        let mut words = Vec::new();
        let bracket = |row| weights.bracket(block.row_bits(row, &mut words));
        out.extend(rows.map(bracket));
        Some(())
    }

    /// Returns the mask of the rows of a block on which the hypothesis is wrong. Once `stop` is raised, the mask may
    /// be wrong, so check the flag before you use it.
    pub fn mistakes(&self, block: &Block<'_>, stop: &StopFlag) -> u64 {
        match self {
            Self::BinaryWeights(weights) => {
                let bits = block.bits();
                let (limit, ties) = half_space_limits(weights.n(), block.reflected);
                let wrong_if_positive = bits::rows_over(bits, weights.words(), limit, ties);
                wrong_if_positive
                    ^ (!block.positives & crate::learners::sample::block::row_mask(bits.rows()))
            }
            Self::Linear(weights) => weights.mistakes(block),
            Self::Winnow(weights) => weights.mistakes(block, stop),
            Self::KernelWinnow(weights) => weights.positives(block, stop) ^ block.positives,
            Self::Kernel(expansion) => expansion.mistakes(block, stop),
            Self::Bounded(weights) => weights.mistakes(block),
        }
    }
}
