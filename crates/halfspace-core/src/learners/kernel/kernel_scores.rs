//! A cache of the scores of examples under a growing list of support vectors.
//!
//! A learner reads the same examples in every pass while its list only grows. The cache stores the score of an example
//! and how many support vectors it includes, so only the newer ones have to be added. Each pair of example and support
//! vector is then compared once, however many passes there are. Examples for which the cache has no space are scored
//! anew each time, and so are all while the support vectors are few. The key is the bits of the example, so neither the
//! order nor the source of the examples matters.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use hashbrown::HashTable;

use crate::bits::words_for;

use crate::learners::arithmetic::wide::Wide;
use crate::learners::engine::run::StopFlag;
use crate::learners::engine::shared_work::{self, are_worthwhile};
use crate::learners::kernel::conjunction_kernel::Histogram;
use crate::learners::kernel::kernel_expansion::KernelExpansion;
use crate::learners::sample::block::{Block, WholeBlocks};
use crate::learners::sample::source::{SharedSample, Stream};

/// The largest size of the cache in bytes. Examples for which it has no space are scored anew each time.
const KEPT_BYTES_MAX: usize = 1 << 28;

/// With fewer words of support vectors, computing a score is faster than a cache look-up.
const SUPPORT_WORDS_MIN: usize = 256;

/// Examples that a thread scores before it takes more.
const EXAMPLES_PER_PIECE: usize = 8;

/// The most examples that several threads score before the learner reads the first of them, and the most words of
/// these.
const AHEAD_EXAMPLES_MAX: usize = 2048;
const AHEAD_WORDS_MAX: usize = 1 << 19;

/// The cached scores of examples under one growing expansion.
pub struct KernelScores {
    kept: ScoreTable,
    /// [`SUPPORT_WORDS_MIN`] outside tests.
    pub(super) support_words_min: usize,
    /// The score of the present example.
    score: Wide,
    histogram: Histogram,
    example: Vec<u64>,
}

/// The scores of examples, found by their bits. One allocation holds all examples.
struct ScoreTable {
    hasher: RandomState,
    /// The indices of the records.
    indices: HashTable<u32>,
    /// A record is the example, its score, and the number of support vectors in the score.
    records: Vec<u64>,
    words: usize,
    record_words: usize,
    records_max: usize,
}

impl ScoreTable {
    fn new(words: usize, score_words: usize) -> Self {
        let record_words = words + score_words + 1;
        // Growing doubles the memory. A record takes at most four indices with a byte of control each.
        let bytes = 2 * size_of::<u64>() * record_words + 4 * (size_of::<u32>() + 1);
        Self {
            hasher: RandomState::new(),
            indices: HashTable::new(),
            records: Vec::new(),
            words,
            record_words,
            records_max: KEPT_BYTES_MAX / bytes,
        }
    }

    fn record(&self, index: usize) -> &[u64] {
        &self.records[index * self.record_words..][..self.record_words]
    }

    /// The words of a score and the number of support vectors in the score.
    fn score(&self, index: usize) -> (&[u64], usize) {
        let (support, record) = self.record(index).split_last().expect("a record");
        (&record[self.words..], *support as usize)
    }

    fn set_score(&mut self, index: usize, score: &Wide, support: usize) {
        let record = &mut self.records[index * self.record_words..][..self.record_words];
        let (last, words) = record[self.words..].split_last_mut().expect("a record");
        words.copy_from_slice(score.words());
        *last = support as u64;
    }

    /// The record of an example. A new one gets the score 0 of no support vectors, unless there is no space left for
    /// it.
    fn find_or_insert(&mut self, example: &[u64]) -> Option<usize> {
        let hash = self.hasher.hash_one(example);
        let bits = |index: &u32| &self.records[*index as usize * self.record_words..][..self.words];
        if let Some(&index) = self.indices.find(hash, |index| bits(index) == example) {
            return Some(index as usize);
        }
        let index = self.indices.len();
        if index == self.records_max {
            return None;
        }
        let rehash = |index: &u32| self.hasher.hash_one(bits(index));
        self.indices.insert_unique(hash, index as u32, rehash);
        self.records.extend(example);
        self.records.resize((index + 1) * self.record_words, 0);
        Some(index)
    }
}

impl KernelScores {
    /// An empty cache for examples of the expansion's number of bits.
    pub fn new(expansion: &KernelExpansion) -> Self {
        let kernel = expansion.kernel();
        let (score, words) = (kernel.zero(), words_for(kernel.n()));
        Self {
            kept: ScoreTable::new(words, score.words().len()),
            support_words_min: SUPPORT_WORDS_MIN,
            score,
            histogram: kernel.histogram(),
            example: vec![0; words],
        }
    }

    /// The score of a row of a block. `expansion` must be the one of [`Self::new`], possibly with more support
    /// vectors. Returns none if the computation was told to stop; the cache is then unusable.
    pub fn score(
        &mut self,
        expansion: &KernelExpansion,
        block: &Block<'_>,
        row: usize,
        stop: &StopFlag,
    ) -> Option<&Wide> {
        block.bits().copy_row(row, &mut self.example);
        let place = match self.is_used(expansion) {
            true => self.kept.find_or_insert(&self.example),
            false => None,
        };
        let mut first = 0;
        match place {
            Some(place) => {
                let (words, support) = self.kept.score(place);
                self.score.assign(words);
                first = support;
            }
            None => self.score.clear(),
        }
        if first < expansion.len() {
            let (histogram, score) = (&mut self.histogram, &mut self.score);
            if !expansion.add_score(first, &self.example, histogram, score, stop) {
                return None;
            }
            if let Some(place) = place {
                self.kept.set_score(place, &self.score, expansion.len());
            }
        }
        Some(&self.score)
    }

    /// Brings the cached scores of some rows of a block up to date: see [`Self::prepare`].
    pub fn prepare_rows(
        &mut self,
        expansion: &KernelExpansion,
        block: &Block<'_>,
        rows: Range<usize>,
        stop: &StopFlag,
    ) {
        let count = rows.len();
        if count > 0
            && self.may_lack(expansion, count, stop)
            && self.is_due(expansion, block, rows.start, count, stop)
        {
            let mut examples = Vec::new();
            self.copy_rows(block, rows, &mut examples);
            self.prepare(expansion, &examples, stop);
        }
    }

    /// Brings the cached scores of the next examples of a sample up to date: see [`Self::prepare`].
    pub fn prepare_ahead(
        &mut self,
        expansion: &KernelExpansion,
        sample: &SharedSample<'_>,
        stop: &StopFlag,
    ) {
        let ahead = (AHEAD_WORDS_MAX / self.example.len()).min(AHEAD_EXAMPLES_MAX);
        let size = WholeBlocks::within(ahead);
        let count = size.rows().min(sample.left());
        if !self.may_lack(expansion, count, stop) {
            return;
        }
        let ((_, mut stream), mut examples) = (sample.part(0, size), Vec::new());
        while let Some(block) = stream.next_block().expect("data in memory are always read") {
            if examples.is_empty() && !self.is_due(expansion, &block, 0, count, stop) {
                return;
            }
            self.copy_rows(&block, 0..block.rows(), &mut examples);
        }
        self.prepare(expansion, &examples, stop);
    }

    /// Brings the cached scores of some examples up to date, if helpers are worth their time. These compute the sums
    /// of different examples at the same time, so that later calls of [`Self::score`] only add newer support vectors.
    /// `examples` has the words of one example after another.
    fn prepare(&mut self, expansion: &KernelExpansion, examples: &[u64], stop: &StopFlag) {
        let lacking = self.lacking(expansion, examples);
        if !are_worthwhile(stop, lacking.iter().map(|lack| lack.words).sum()) {
            return;
        }
        let pieces: Vec<_> = lacking.chunks(EXAMPLES_PER_PIECE).collect();
        let kept = &self.kept;
        let sums = shared_work::map(stop, pieces.len(), |piece, stop| {
            let mut histogram = expansion.kernel().histogram();
            let sum = |lack: &Lack<'_>| {
                let (words, support) = kept.score(lack.place);
                let mut score = expansion.kernel().zero();
                score.assign(words);
                let is_done =
                    expansion.add_score(support, lack.example, &mut histogram, &mut score, stop);
                is_done.then_some(score)
            };
            pieces[piece].iter().map(sum).collect::<Vec<_>>()
        });
        for (lack, score) in lacking.iter().zip(sums.into_iter().flatten()) {
            let Some(score) = score else { return };
            self.kept.set_score(lack.place, &score, expansion.len());
        }
    }

    /// Whether `count` examples could lack so many support vectors that helpers are worth their time.
    fn may_lack(&self, expansion: &KernelExpansion, count: usize, stop: &StopFlag) -> bool {
        let words = expansion.words_of_work().saturating_mul(count as u64);
        self.is_used(expansion) && are_worthwhile(stop, words)
    }

    /// Whether the first of `count` examples lacks so many support vectors that helpers are worth their time. It is a
    /// cheap sign of whether the others were brought up to date before.
    fn is_due(
        &mut self,
        expansion: &KernelExpansion,
        block: &Block<'_>,
        row: usize,
        count: usize,
        stop: &StopFlag,
    ) -> bool {
        let mut first = Vec::new();
        self.copy_rows(block, row..row + 1, &mut first);
        let lacking = self.lacking(expansion, &first);
        let words: u64 = lacking.iter().map(|lack| lack.words).sum();
        are_worthwhile(stop, words * count as u64)
    }

    /// The cached examples among `examples` whose scores lack support vectors. Equal examples appear once.
    fn lacking<'a>(&mut self, expansion: &KernelExpansion, examples: &'a [u64]) -> Vec<Lack<'a>> {
        let words = self.example.len();
        let lack = |example| {
            let place = self.kept.find_or_insert(example)?;
            let vectors = expansion.len() - self.kept.score(place).1;
            let words = (vectors * words) as u64;
            (words > 0).then_some(Lack {
                place,
                example,
                words,
            })
        };
        let mut lacking: Vec<_> = examples.chunks_exact(words).filter_map(lack).collect();
        lacking.sort_unstable_by_key(|lack| lack.place);
        lacking.dedup_by_key(|lack| lack.place);
        lacking
    }

    fn copy_rows(&mut self, block: &Block<'_>, rows: Range<usize>, examples: &mut Vec<u64>) {
        for row in rows {
            block.bits().copy_row(row, &mut self.example);
            examples.extend(&self.example);
        }
    }

    fn is_used(&self, expansion: &KernelExpansion) -> bool {
        expansion.len() * self.example.len() >= self.support_words_min
    }
}

/// A cached example whose score lacks support vectors.
struct Lack<'a> {
    place: usize,
    example: &'a [u64],
    /// The words of these support vectors.
    words: u64,
}
