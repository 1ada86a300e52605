//! The hypothesis of the kernel perceptron: its support vectors, which are the mistaken examples with their labels.
//! The exact score of x is the sum of L(v) K(v, x) over the support vectors v with labels L(v).
//!
//! The bit kernels compare an example with the support vectors block by block. Without a limit on literals, they also
//! sum the powers of two, in limbs of [`LIMB_BITS`](crate::bits::LIMB_BITS) bits; with a limit, a histogram counts the
//! shared literals. Only the sum over the limbs or the histogram needs wide integers, and the number of its terms does
//! not depend on the number of support vectors.
//!
//! Under a monotone kernel, sparse examples become support vectors that list their ones (`listed_support.rs`). The
//! first support vector decides the form of all, and the scores are the same in both.

use std::borrow::Cow;
use std::ops::Range;

use num_bigint::{BigInt, BigUint};

use crate::bits::{BLOCK_ROWS, BitMatrix, Excerpt, words_for};
use crate::memory::{self, NoMemory};

use crate::learners::arithmetic::wide::Wide;
use crate::learners::decision::{Decision, Score};
use crate::learners::engine::run::{Interrupt, StopFlag};
use crate::learners::kernel::conjunction_kernel::{Conjunctions, Histogram, Kernel};
use crate::learners::kernel::listed_support::{ListedSupport, SharedOnes};
use crate::learners::sample::block::{self, Block, BlockFeatures, RowBits};

/// The largest number of support vectors.
pub const SUPPORT_MAX: usize = 1_000_000;

/// The largest number of characters of all support vectors, so that a model fits into a document that a client can
/// send. A support vector has those of its example ([`block::characters`]) and 20 besides.
pub const CHARACTERS_MAX: usize = 1 << 28;

/// The characters of a support vector in a document, besides those of the example.
const CHARACTERS_BESIDE: usize = 20;

/// The most values that a histogram collects for one wide sum.
const VALUES_PER_SUM: usize = (1 << 20) - 1;

/// Words compared between two polls of the stop flag.
const WORDS_BETWEEN_LOOKS: usize = 1 << 20;

/// A list of labelled examples under a kernel. An example may occur several times.
#[derive(Clone, Debug)]
pub struct KernelExpansion {
    kernel: Kernel,
    support: Support,
    /// The labels of each block of 64: bit r is set if row r has the label +1.
    positives: Vec<u64>,
    /// The characters of the document.
    characters: usize,
    /// The largest number of ones of a support vector.
    longest: usize,
}

#[derive(Clone, Debug)]
enum Support {
    Packed(BitMatrix),
    Listed(ListedSupport),
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
                "the support vectors of a kernel model have at most 2^28 characters"
            }
        }
    }
}

impl PartialEq for KernelExpansion {
    /// Compares the support vectors whatever their form.
    fn eq(&self, other: &Self) -> bool {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        self.kernel == other.kernel
            && self.len() == other.len()
            && self.positives == other.positives
            && (0..self.len()).all(|index| {
                let ones = self.row(index, &mut own).ones();
                ones.eq(other.row(index, &mut others).ones())
            })
    }
}

impl KernelExpansion {
    /// An empty list, which scores every example 0.
    pub fn new(kernel: Kernel) -> Self {
        Self {
            support: Support::Packed(BitMatrix::new(kernel.n())),
            kernel,
            positives: Vec::new(),
            characters: 0,
            longest: 0,
        }
    }

    /// Adds features up to `n` features, which are 0 in all support vectors.
    ///
    /// # Errors
    /// The values of the kernel would take too much memory, or features that are 0 count.
    pub fn grow(&mut self, n: usize) -> Result<(), String> {
        let (conjunctions, max_literals) = (self.kernel.conjunctions(), self.kernel.max_literals());
        let kernel = Kernel::new(n, conjunctions, max_literals);
        let kernel = kernel.map_err(|error| error.to_string())?;
        match &mut self.support {
            Support::Listed(own) => own.grow(n),
            Support::Packed(rows) if rows.rows() == 0 => *rows = BitMatrix::new(n),
            Support::Packed(_) => return Err("packed support vectors have a fixed n".to_owned()),
        }
        // Once a document lists the ones of every vector, n does not change its length.
        if !block::lists_ones(self.kernel.n(), self.longest) {
            let mut words = Vec::new();
            let all = 0..self.len();
            let all = all.map(|index| self.row(index, &mut words).count_ones());
            self.characters = all.map(|ones| characters(n, ones)).sum();
        }
        self.kernel = kernel;
        Ok(())
    }

    /// The same list over `n` features, the others 0: `ids` has the new place of each. None if a limit is exceeded.
    pub fn renumbered(&self, ids: &[u32], n: usize) -> Option<Self> {
        let (conjunctions, max_literals) = (self.kernel.conjunctions(), self.kernel.max_literals());
        let kernel = Kernel::new(n, conjunctions, max_literals).ok()?;
        let (mut other, mut words) = (Self::new(kernel), Vec::new());
        for index in 0..self.len() {
            let ones = self.row(index, &mut words).ones();
            let mut ones: Vec<u32> = ones.filter_map(|one| ids.get(one).copied()).collect();
            ones.sort_unstable();
            other
                .push(RowBits::Listed(&ones), self.is_positive(index))
                .ok()?;
        }
        Some(other)
    }

    /// The list for an excerpt of the features, which decides alike on examples without others. None unless the support
    /// vectors are listed, or if the kernel cannot have so many places.
    pub fn excerpt(&self, excerpt: &Excerpt) -> Option<Self> {
        let (conjunctions, max_literals) = (self.kernel.conjunctions(), self.kernel.max_literals());
        let support = match &self.support {
            Support::Listed(own) => Support::Listed(own.excerpt(excerpt)),
            Support::Packed(rows) if rows.rows() == 0 => {
                Support::Packed(BitMatrix::new(excerpt.n()))
            }
            Support::Packed(_) => return None,
        };
        Some(Self {
            kernel: Kernel::new(excerpt.n(), conjunctions, max_literals).ok()?,
            support,
            positives: self.positives.clone(),
            ..*self
        })
    }

    /// Bytes that the expansion may grow to with `vectors` support vectors. `ones` is the average number of active
    /// features of an example, if the rows are sparse.
    pub fn grown_bytes(&self, vectors: u64, ones: Option<u64>) -> u64 {
        let bytes = match ones {
            // Its row and the lists of the index.
            Some(ones) if self.kernel.conjunctions() == Conjunctions::Monotone => 8 * ones + 16,
            _ => 8 * (words_for(self.kernel.n()) as u64 + 1),
        };
        // A growing vector doubles its size, and the old memory exists until the copy is complete.
        3 * bytes * vectors.min(SUPPORT_MAX as u64)
    }

    /// The characters of the support vectors in a document.
    pub fn characters(&self) -> usize {
        self.characters
    }

    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The number of support vectors.
    pub fn len(&self) -> usize {
        match &self.support {
            Support::Packed(rows) => rows.rows(),
            Support::Listed(own) => own.rows().rows(),
        }
    }

    /// Whether sparse rows need not be packed.
    pub fn takes_sparse(&self) -> bool {
        matches!(self.support, Support::Listed(_))
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The support vectors in the order in which they were added, in the packed form.
    ///
    /// # Errors
    /// An error if the memory grant is too small for the packed form of listed vectors.
    pub fn packed_support(&self) -> Result<Cow<'_, BitMatrix>, NoMemory> {
        Ok(match &self.support {
            Support::Packed(rows) => Cow::Borrowed(rows),
            Support::Listed(own) => {
                let words = words_for(self.kernel.n()) * self.len();
                memory::need((words * size_of::<u64>()) as u64)?;
                Cow::Owned(own.rows().packed())
            }
        })
    }

    /// Support vector `index`. `words` is memory: see [`Block::row_bits`].
    pub fn row<'a>(&'a self, index: usize, words: &'a mut Vec<u64>) -> RowBits<'a> {
        let block = self.block(index / BLOCK_ROWS);
        block.row_bits(index % BLOCK_ROWS, words)
    }

    /// Block `index` of the support vectors with their labels.
    pub fn block(&self, index: usize) -> Block<'_> {
        let features = match &self.support {
            Support::Packed(rows) => BlockFeatures::Boolean(rows.block(index)),
            Support::Listed(own) => BlockFeatures::Sparse(own.rows().block(index)),
        };
        Block::of(features, self.positives[index])
    }

    /// Whether support vector `index` has the label +1.
    pub fn is_positive(&self, index: usize) -> bool {
        self.positives[index / BLOCK_ROWS] >> (index % BLOCK_ROWS) & 1 == 1
    }

    /// A row of a block in the form that the kernel reads. `words` is memory for packed words.
    pub fn example<'a>(
        &self,
        block: &Block<'a>,
        row: usize,
        words: &'a mut Vec<u64>,
    ) -> RowBits<'a> {
        match (block.features, self.kernel.conjunctions()) {
            (BlockFeatures::Sparse(rows), Conjunctions::All) => {
                RowBits::Packed(RowBits::Listed(rows.row(row).ids).packed(rows.n(), words))
            }
            _ => block.row_bits(row, words),
        }
    }

    /// Adds a support vector.
    ///
    /// # Errors
    /// The limit that the list has reached.
    pub fn push(&mut self, example: RowBits<'_>, is_positive: bool) -> Result<(), SupportLimit> {
        let (index, n) = (self.len(), self.kernel.n());
        if index >= SUPPORT_MAX {
            return Err(SupportLimit::Vectors);
        }
        let ones = example.count_ones();
        let own = characters(n, ones);
        if self.characters + own > CHARACTERS_MAX {
            return Err(SupportLimit::Characters);
        }
        self.characters += own;
        self.longest = self.longest.max(ones);
        let is_monotone = self.kernel.conjunctions() == Conjunctions::Monotone;
        if self.is_empty() && is_monotone && matches!(example, RowBits::Listed(_)) {
            self.support = Support::Listed(ListedSupport::new(n));
        }
        match &mut self.support {
            Support::Packed(rows) => rows.push_row(example.packed(n, &mut Vec::new())),
            Support::Listed(own) => own.push(example.listed(&mut Vec::new())),
        }
        if index.is_multiple_of(BLOCK_ROWS) {
            self.positives.push(0);
        }
        self.positives[index / BLOCK_ROWS] |= u64::from(is_positive) << (index % BLOCK_ROWS);
        Ok(())
    }

    /// The approximate number of words of work that a support vector adds to a score.
    pub fn words_per_vector(&self) -> u64 {
        match &self.support {
            Support::Packed(rows) => rows.words_per_row() as u64,
            // The index visits only the vectors that share a feature, each a few times.
            Support::Listed(_) => 1,
        }
    }

    /// The approximate number of words of work for one score.
    pub fn words_of_work(&self) -> u64 {
        let sum = match &self.support {
            Support::Packed(_) => self.kernel.words_of_sum(),
            Support::Listed(_) => 1,
        };
        self.words_per_vector() * self.len() as u64 + sum
    }

    /// The approximate number of words of work of [`Self::norm_squared`].
    pub fn words_of_norm(&self) -> u64 {
        let pairs = self.len() as u64 * self.len() as u64;
        let sums = pairs / VALUES_PER_SUM as u64 + 1;
        // A pair also changes one entry of the histogram.
        let compared = pairs.saturating_mul(self.words_per_vector() + 1);
        match &self.support {
            Support::Packed(_) => compared.saturating_add(sums * self.kernel.words_of_sum()),
            Support::Listed(_) => compared,
        }
    }

    /// The sum of L(u) L(v) K(u, v) over all pairs of support vectors, which is the sum of the squared weights of all
    /// conjunctions.
    ///
    /// # Errors
    /// The interrupt that stopped the sum.
    pub fn norm_squared(&self, stop: &StopFlag) -> Result<BigUint, Interrupt> {
        let norm = match &self.support {
            Support::Packed(rows) => self.norm_of_packed(rows, stop),
            Support::Listed(own) => {
                let (mut norm, mut scratch) = (BigInt::ZERO, ExpansionScratch::default());
                for (index, ones) in (0..self.len()).map(|row| (row, own.rows().row(row).ids)) {
                    let ones = RowBits::Listed(ones);
                    scratch.score.reset(self.score_bits(ones));
                    if !scratch.add_score(self, 0, ones, stop) {
                        break;
                    }
                    match self.is_positive(index) {
                        true => norm += scratch.score.to_big(),
                        false => norm -= scratch.score.to_big(),
                    }
                }
                norm
            }
        };
        // The sum is a squared norm, so the magnitude is the sum itself.
        stop.raised().map_or(Ok(norm.into_parts().1), Err)
    }

    /// [`Self::norm_squared`] for packed vectors, whose values are counted together. Any number once `stop` is raised.
    fn norm_of_packed(&self, support: &BitMatrix, stop: &StopFlag) -> BigInt {
        let mut histogram = self.kernel.histogram();
        let mut score = Wide::zero(self.kernel.sum_bits(self.kernel.n()));
        let mut example = vec![0; support.words_per_row()];
        let negated: Vec<u64> = self.positives.iter().map(|labels| !labels).collect();
        let (mut norm, mut values) = (BigInt::ZERO, 0);
        for row in 0..self.len() {
            let block = support.block(row / BLOCK_ROWS);
            block.copy_row(row % BLOCK_ROWS, &mut example);
            let labels = match self.is_positive(row) {
                true => &self.positives,
                false => &negated,
            };
            self.kernel
                .count(support, 0..self.len(), labels, &example, &mut histogram);
            values += self.len();
            if values + self.len() > VALUES_PER_SUM || row + 1 == self.len() {
                if !self.kernel.add(&mut histogram, &mut score, stop) {
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
        norm
    }

    /// The bits of the score of an example, the sign included.
    pub fn score_bits(&self, example: RowBits<'_>) -> usize {
        self.kernel.sum_bits(match (&self.support, example) {
            (Support::Listed(_), RowBits::Listed(ones)) => ones.len(),
            _ => self.kernel.n(),
        })
    }

    /// Appends the prediction and the exact score of each of `rows` to `out`, or of fewer if `stop` is raised.
    pub fn decide(
        &self,
        block: &Block<'_>,
        rows: Range<usize>,
        stop: &StopFlag,
        out: &mut Vec<Decision>,
    ) {
        let mut scratch = ExpansionScratch::default();
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
        let mut scratch = ExpansionScratch::default();
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

/// The characters of a support vector of so many ones in a document.
fn characters(n: usize, ones: usize) -> usize {
    block::characters(n, ones) + CHARACTERS_BESIDE
}

/// Memory for scoring one example.
#[derive(Clone, Debug, Default)]
pub struct ExpansionScratch {
    /// The score.
    pub score: Wide,
    histogram: Option<Histogram>,
    shared: SharedOnes,
    values: Vec<BigUint>,
    words: Vec<u64>,
    places: Vec<u32>,
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
        let mut words = std::mem::take(&mut self.words);
        let example = expansion.example(block, row, &mut words);
        self.score.reset(expansion.score_bits(example));
        let is_done = self.add_score(expansion, 0, example, stop);
        self.words = words;
        is_done
    }

    /// Adds the terms of the support vectors from `first` on to the score of an example. Returns false if the
    /// computation was told to stop; the score is then invalid.
    pub fn add_score(
        &mut self,
        expansion: &KernelExpansion,
        first: usize,
        example: RowBits<'_>,
        stop: &StopFlag,
    ) -> bool {
        let (kernel, positives) = (&expansion.kernel, &expansion.positives);
        let support = match &expansion.support {
            Support::Packed(support) => support,
            Support::Listed(own) => {
                let ones = example.listed(&mut self.places);
                let sums = own.sums(first, ones, positives, &mut self.shared, stop);
                if let Some(sums) = sums {
                    kernel.add_sums(sums, &mut self.values, &mut self.score);
                }
                return sums.is_some();
            }
        };
        let example = example.packed(kernel.n(), &mut self.words);
        let histogram = self.histogram.get_or_insert_with(|| kernel.histogram());
        let rows_between_looks = WORDS_BETWEEN_LOOKS / example.len() + 1;
        let mut row = first;
        while row < expansion.len() {
            if stop.raised().is_some() {
                return false;
            }
            let rows = row..expansion.len().min(row + rows_between_looks);
            row = rows.end;
            kernel.count(support, rows, positives, example, histogram);
        }
        kernel.add(histogram, &mut self.score, stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitVector, last_word_mask};
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
            let mut scores = KernelScores::new();
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
                expansion.push(RowBits::Packed(x.words()), *is_positive).expect("room");
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
                prop_assert_eq!(BigInt::from(kernel.of_itself(RowBits::Packed(x.words()))), itself);
            }
        }
    }

    #[test]
    fn the_limits_on_support_vectors_are_kept() {
        let kernel = |n| Kernel::new(n, Conjunctions::All, None).expect("no table");
        let mut narrow = KernelExpansion::new(kernel(1));
        for _ in 0..SUPPORT_MAX {
            narrow.push(RowBits::Packed(&[1]), true).expect("room");
        }
        assert_eq!(
            narrow.push(RowBits::Packed(&[1]), true),
            Err(SupportLimit::Vectors)
        );
        assert_eq!(narrow.len(), SUPPORT_MAX);
        let n = CHARACTERS_MAX / 3 - CHARACTERS_BESIDE;
        let mut example = vec![u64::MAX; words_for(n)];
        *example.last_mut().expect("a word") &= last_word_mask(n);
        let mut wide = KernelExpansion::new(kernel(n));
        for _ in 0..3 {
            wide.push(RowBits::Packed(&example), false).expect("room");
        }
        assert_eq!(
            wide.push(RowBits::Packed(&example), false),
            Err(SupportLimit::Characters)
        );
    }

    #[test]
    fn stop_flag_ends_a_kernel_sum() {
        let kernel = Kernel::new(70, Conjunctions::Monotone, Some(5)).expect("a small table");
        let mut expansion = KernelExpansion::new(kernel);
        for _ in 0..100 {
            expansion
                .push(RowBits::Packed(&[1, 1]), false)
                .expect("room");
        }
        let stop = StopFlag::default();
        stop.raise(Interrupt::Cancelled);
        let mut scores = KernelScores::new();
        let examples = expansion.packed_support().expect("memory").into_owned();
        let block = block_of(&examples, 0);
        assert_eq!(scores.score(&expansion, &block, 0, &stop), None);
        assert_eq!(expansion.mistakes(&block, &stop), 0);
    }
}
