//! The hypothesis of the kernel perceptron: its support vectors, which are the mistaken examples with their labels.
//! The exact score of x is the sum of L(v) K(v, x) over the support vectors v with labels L(v).
//!
//! The bit kernels compare an example with the support vectors block by block. Without a limit on literals, they also
//! sum the powers of two, in limbs of [`LIMB_BITS`](crate::bits::LIMB_BITS) bits; with a limit, a histogram counts the
//! shared literals. Only the sum over the limbs or the histogram needs wide integers, and the number of its terms does
//! not depend on the number of support vectors.

use std::ops::Range;

use num_bigint::{BigInt, BigUint};

use crate::bits::{BLOCK_ROWS, BitMatrix, words_for};

use crate::learners::arithmetic::wide::Wide;
use crate::learners::decision::{Decision, Score};
use crate::learners::engine::run::{Interrupt, StopFlag};
use crate::learners::kernel::conjunction_kernel::{Histogram, Kernel};
use crate::learners::sample::block::Block;

/// The largest number of support vectors.
pub const SUPPORT_MAX: usize = 1_000_000;

/// The largest number of characters of all support vectors, at n + 20 characters each, so that a model fits into a
/// document that a client can send.
pub const CHARACTERS_MAX: usize = 1 << 28;

/// The characters of a support vector in a document, besides its bits.
const CHARACTERS_BESIDE: usize = 20;

/// The most values that a histogram collects for one wide sum.
const VALUES_PER_SUM: usize = (1 << 20) - 1;

/// Words compared between two polls of the stop flag.
const WORDS_BETWEEN_LOOKS: usize = 1 << 20;

/// A list of labelled examples under a kernel. An example may occur several times.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelExpansion {
    kernel: Kernel,
    support: BitMatrix,
    /// The labels of each block of 64: bit r is set if row r has the label +1.
    positives: Vec<u64>,
}

/// The limit that prevents another support vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub enum SupportLimit {
    /// The limit [`SUPPORT_MAX`].
    Vectors,
    /// The limit [`CHARACTERS_MAX`].
    Characters,
}

impl SupportLimit {
    /// A description of the limit.
    pub fn text(self) -> &'static str {
        match self {
            Self::Vectors => "a kernel model has at most 10^6 support vectors",
            Self::Characters => {
                "a kernel model has at most 2^28 characters, n + 20 per support vector"
            }
        }
    }
}

impl KernelExpansion {
    /// An empty list, which scores every example 0.
    pub fn new(kernel: Kernel) -> Self {
        Self {
            support: BitMatrix::new(kernel.n()),
            kernel,
            positives: Vec::new(),
        }
    }

    /// Bytes that the expansion may grow to with `vectors` support vectors.
    pub fn grown_bytes(&self, vectors: u64) -> u64 {
        let words = words_for(self.kernel.n()) as u64 + 1;
        // A growing vector doubles its size, and the old memory exists until the copy is complete.
        3 * 8 * words * vectors.min(SUPPORT_MAX as u64)
    }

    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The number of support vectors.
    pub fn len(&self) -> usize {
        self.support.rows()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The support vectors in the order in which they were added.
    pub fn support(&self) -> &BitMatrix {
        &self.support
    }

    /// Whether support vector `index` has the label +1.
    pub fn is_positive(&self, index: usize) -> bool {
        self.positives[index / BLOCK_ROWS] >> (index % BLOCK_ROWS) & 1 == 1
    }

    /// The labels of block `index` of the support vectors: bit r is set if row r has the label +1.
    pub fn labels(&self, index: usize) -> u64 {
        self.positives[index]
    }

    /// Adds a support vector, given by its words.
    ///
    /// # Errors
    /// The limit that the list has reached.
    pub fn push(&mut self, example: &[u64], is_positive: bool) -> Result<(), SupportLimit> {
        let (index, n) = (self.len(), self.kernel.n());
        if index >= SUPPORT_MAX {
            return Err(SupportLimit::Vectors);
        }
        if (index + 1) * (n + CHARACTERS_BESIDE) > CHARACTERS_MAX {
            return Err(SupportLimit::Characters);
        }
        self.support.push_row(example);
        if index.is_multiple_of(BLOCK_ROWS) {
            self.positives.push(0);
        }
        self.positives[index / BLOCK_ROWS] |= u64::from(is_positive) << (index % BLOCK_ROWS);
        Ok(())
    }

    /// The approximate number of words of work for one score.
    pub fn words_of_work(&self) -> u64 {
        let compared = self.support.words_per_row() as u64 * self.len() as u64;
        compared + self.kernel.words_of_sum()
    }

    /// The approximate number of words of work of [`Self::norm_squared`].
    pub fn words_of_norm(&self) -> u64 {
        let pairs = self.len() as u64 * self.len() as u64;
        let sums = pairs / VALUES_PER_SUM as u64 + 1;
        // A pair also changes one entry of the histogram.
        let compared = pairs.saturating_mul(self.support.words_per_row() as u64 + 1);
        compared.saturating_add(sums * self.kernel.words_of_sum())
    }

    /// The sum of L(u) L(v) K(u, v) over all pairs of support vectors, which is the sum of the squared weights of all
    /// conjunctions.
    ///
    /// # Errors
    /// The interrupt that stopped the sum.
    pub fn norm_squared(&self, stop: &StopFlag) -> Result<BigUint, Interrupt> {
        let mut scratch = self.scratch();
        let negated: Vec<u64> = self.positives.iter().map(|labels| !labels).collect();
        let (mut norm, mut values) = (BigInt::ZERO, 0);
        for row in 0..self.len() {
            let block = self.support.block(row / BLOCK_ROWS);
            block.copy_row(row % BLOCK_ROWS, &mut scratch.example);
            let (example, histogram) = (&scratch.example, &mut scratch.histogram);
            let labels = match self.is_positive(row) {
                true => &self.positives,
                false => &negated,
            };
            let support = &self.support;
            self.kernel
                .count(support, 0..self.len(), labels, example, histogram);
            values += self.len();
            if values + self.len() > VALUES_PER_SUM || row + 1 == self.len() {
                let (histogram, score) = (&mut scratch.histogram, &mut scratch.score);
                if !self.kernel.add(histogram, score, stop) {
                    break;
                }
                norm += score.to_big();
                score.clear();
                values = 0;
            }
            if stop.raised().is_some() {
                break;
            }
        }
        // The sum is a squared norm, so the magnitude is the sum itself.
        stop.raised().map_or(Ok(norm.into_parts().1), Err)
    }

    /// Memory for scoring one example.
    pub fn scratch(&self) -> ExpansionScratch {
        ExpansionScratch {
            histogram: self.kernel.histogram(),
            score: self.kernel.zero(),
            example: vec![0; words_for(self.kernel.n())],
        }
    }

    /// Adds the terms of the support vectors from `first` on to the `score` of an example, given by its words.
    /// Returns false if the computation was told to stop; `score` is then invalid.
    pub fn add_score(
        &self,
        first: usize,
        example: &[u64],
        histogram: &mut Histogram,
        score: &mut Wide,
        stop: &StopFlag,
    ) -> bool {
        let rows_between_looks = WORDS_BETWEEN_LOOKS / example.len() + 1;
        let (mut row, support) = (first, &self.support);
        while row < self.len() {
            if stop.raised().is_some() {
                return false;
            }
            let rows = row..self.len().min(row + rows_between_looks);
            row = rows.end;
            self.kernel
                .count(support, rows, &self.positives, example, histogram);
        }
        self.kernel.add(histogram, score, stop)
    }

    /// Appends the prediction and the exact score of each of `rows` to `out`, or of fewer if `stop` is raised.
    pub fn decide(
        &self,
        block: &Block<'_>,
        rows: Range<usize>,
        stop: &StopFlag,
        out: &mut Vec<Decision>,
    ) {
        let mut scratch = self.scratch();
        for row in rows {
            if !scratch.score(self, block, row, stop) {
                break;
            }
            let score = Score::from(scratch.score.to_big());
            out.push(Decision::new(score, !scratch.score.is_negative()));
        }
    }

    /// The mask of the rows of a block that the expansion classifies wrongly, or any mask if `stop` is raised.
    pub fn mistakes(&self, block: &Block<'_>, stop: &StopFlag) -> u64 {
        let mut scratch = self.scratch();
        let mut mask = 0;
        for row in 0..block.rows() {
            if !scratch.score(self, block, row, stop) {
                break;
            }
            let predicted = !scratch.score.is_negative();
            mask |= u64::from(predicted != block.is_positive(row)) << row;
        }
        mask
    }
}

/// Memory for scoring one example.
#[derive(Clone, Debug)]
pub struct ExpansionScratch {
    histogram: Histogram,
    score: Wide,
    example: Vec<u64>,
}

impl ExpansionScratch {
    /// Computes the score of one row. Returns false if the computation was told to stop.
    fn score(
        &mut self,
        expansion: &KernelExpansion,
        block: &Block<'_>,
        row: usize,
        stop: &StopFlag,
    ) -> bool {
        block.bits().copy_row(row, &mut self.example);
        self.score.clear();
        let (histogram, score) = (&mut self.histogram, &mut self.score);
        expansion.add_score(0, &self.example, histogram, score, stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::BitVector;
    use crate::learners::kernel::conjunction_kernel::Conjunctions;
    use crate::learners::kernel::kernel_scores::KernelScores;
    use crate::learners::sample::block::BlockFeatures;
    use proptest::prelude::*;

    /// K for each number of shared literals, from sums over the rows of Pascal's triangle.
    fn values(kernel: &Kernel) -> Vec<BigInt> {
        let mut row = vec![BigInt::from(1)];
        let of_row = |row: &[BigInt]| {
            let most = kernel.max_literals().map_or(row.len(), |k| k as usize + 1);
            row.iter().take(most).sum()
        };
        let mut values = vec![of_row(&row)];
        for _ in 0..kernel.n() {
            let inner: Vec<_> = row.windows(2).map(|pair| &pair[0] + &pair[1]).collect();
            row = [&[BigInt::from(1)], &*inner, &[BigInt::from(1)]].concat();
            values.push(of_row(&row));
        }
        values
    }

    /// The score by its definition.
    fn naive(
        kernel: &Kernel,
        values: &[BigInt],
        support: &[(BitVector, bool)],
        x: &BitVector,
    ) -> BigInt {
        let mut sum = BigInt::ZERO;
        for (v, is_positive) in support {
            let is_shared = |j: &usize| match kernel.conjunctions() {
                Conjunctions::All => v.get(*j) == x.get(*j),
                Conjunctions::Monotone => v.get(*j) && x.get(*j),
            };
            let value = &values[(0..x.n()).filter(is_shared).count()];
            if *is_positive {
                sum += value;
            } else {
                sum -= value;
            }
        }
        sum
    }

    fn block_of<'a>(words: &'a BitMatrix, index: usize) -> Block<'a> {
        Block::of(BlockFeatures::Boolean(words.block(index)), 0)
    }

    prop_compose! {
        fn cases()(n in prop_oneof![1_usize..=70, 1_usize..=150])(
            n in Just(n), is_monotone in any::<bool>(),
            max_literals in prop_oneof![
                Just(None), (1_u64..12).prop_map(Some), (1..=n as u64).prop_map(Some)
            ],
            support in prop::collection::vec(
                (prop::collection::vec(any::<u64>(), words_for(n)), any::<bool>(), 0..4_u8), 0..90
            ),
        ) -> (Kernel, Vec<(BitVector, bool)>) {
            let conjunctions = if is_monotone { Conjunctions::Monotone } else { Conjunctions::All };
            let kernel = Kernel::new(n, conjunctions, max_literals).expect("a small table");
            // Includes vectors of all ones and of few ones, so that powers of all sizes occur.
            let vectors = support.into_iter().map(|(words, is_positive, shape)| {
                let words = words.iter().map(|word| match shape {
                    0 => u64::MAX,
                    1 => word & word >> 7 & word >> 21,
                    2 => word | word >> 7 | word >> 21,
                    _ => *word,
                });
                (BitVector::from_words(n, words.collect()), is_positive)
            });
            (kernel, vectors.collect())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn kernel_scores_and_signs_match_the_definition((kernel, support) in cases()) {
            let (stop, n, values) = (StopFlag::default(), kernel.n(), values(&kernel));
            let mut expansion = KernelExpansion::new(kernel.clone());
            let mut scores = KernelScores::new(&expansion);
            scores.support_words_min = 16;
            let mut examples = BitMatrix::new(n);
            support.iter().for_each(|(x, _)| examples.push_row(x.words()));
            for (known, (x, is_positive)) in support.iter().enumerate() {
                // The cached scores of some examples are updated now and then.
                for row in (0..examples.rows()).filter(|row| (row + known).is_multiple_of(13)) {
                    let block = block_of(&examples, row / BLOCK_ROWS);
                    let kept = scores.score(&expansion, &block, row % BLOCK_ROWS, &stop);
                    let expected = naive(&kernel, &values, &support[..known], &support[row].0);
                    prop_assert_eq!(kept.expect("nobody stops it").to_big(), expected);
                }
                expansion.push(x.words(), *is_positive).expect("room");
            }
            for (index, bits) in examples.blocks().enumerate() {
                let mut decisions = Vec::new();
                let block = block_of(&examples, index);
                expansion.decide(&block, 0..bits.rows(), &StopFlag::default(), &mut decisions);
                let wrong_if_negative = expansion.mistakes(&block, &stop);
                for (row, decision) in decisions.into_iter().enumerate() {
                    let expected = naive(&kernel, &values, &support, &support[index * BLOCK_ROWS + row].0);
                    prop_assert_eq!(decision.is_positive(), expected >= BigInt::ZERO);
                    prop_assert_eq!(wrong_if_negative >> row & 1 == 1, decision.is_positive());
                    prop_assert_eq!(decision.score, Score::from(expected));
                }
            }
            let examples = support.iter().map(|(x, is_positive)| {
                let score = naive(&kernel, &values, &support, x);
                if *is_positive { score } else { -score }
            });
            let norm = expansion.norm_squared(&stop).expect("nobody stops it");
            prop_assert_eq!(BigInt::from(norm), examples.sum::<BigInt>());
            for (x, _) in &support {
                let itself = naive(&kernel, &values, &[(x.clone(), true)], x);
                prop_assert_eq!(BigInt::from(kernel.of_itself(x.words())), itself);
            }
        }
    }

    #[test]
    fn the_limits_on_support_vectors_are_kept() {
        let kernel = |n| Kernel::new(n, Conjunctions::All, None).expect("no table");
        let mut narrow = KernelExpansion::new(kernel(1));
        for _ in 0..SUPPORT_MAX {
            narrow.push(&[1], true).expect("room");
        }
        assert_eq!(narrow.push(&[1], true), Err(SupportLimit::Vectors));
        assert_eq!(narrow.len(), SUPPORT_MAX);
        let n = CHARACTERS_MAX / 3 - CHARACTERS_BESIDE;
        let (mut wide, example) = (KernelExpansion::new(kernel(n)), vec![0; words_for(n)]);
        for _ in 0..3 {
            wide.push(&example, false).expect("room");
        }
        assert_eq!(wide.push(&example, false), Err(SupportLimit::Characters));
    }

    #[test]
    fn stop_flag_ends_a_kernel_sum() {
        let kernel = Kernel::new(70, Conjunctions::Monotone, Some(5)).expect("a small table");
        let mut expansion = KernelExpansion::new(kernel);
        for _ in 0..100 {
            expansion.push(&[1, 1], false).expect("room");
        }
        let stop = StopFlag::default();
        stop.raise(Interrupt::Cancelled);
        let mut scores = KernelScores::new(&expansion);
        let examples = expansion.support().clone();
        let block = block_of(&examples, 0);
        assert_eq!(scores.score(&expansion, &block, 0, &stop), None);
        assert_eq!(expansion.mistakes(&block, &stop), 0);
    }
}
