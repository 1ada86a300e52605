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

use crate::learners::arithmetic::wide::{self, Wide};
use crate::learners::engine::run::StopFlag;
use crate::learners::engine::shared_work::{self, are_worthwhile};
use crate::learners::kernel::kernel_expansion::{ExpansionScratch, KernelExpansion};
use crate::learners::sample::block::{Block, OwnedRowBits, RowBits, WholeBlocks};
use crate::learners::sample::source::{SharedSample, Stream};

/// The largest size of the cache in bytes. Examples for which it has no space are scored anew each time.
const KEPT_BYTES_MAX: usize = 1 << 28;

/// With fewer words of support vectors, computing a score is faster than a cache look-up.
const SUPPORT_WORDS_MIN: u64 = 256;

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
    pub(super) support_words_min: u64,
    scratch: ExpansionScratch,
    /// Memory for the packed words of a row.
    words: Vec<u64>,
}

/// The scores of examples, found by their bits. A few allocations hold all of them.
#[derive(Default)]
struct ScoreTable {
    hasher: RandomState,
    /// The indices of the records.
    indices: HashTable<u32>,
    records: Vec<Record>,
    /// The words of packed examples, and the ones of listed examples.
    words: Vec<u64>,
    ones: Vec<u32>,
    scores: Vec<u64>,
}

struct Record {
    is_listed: bool,
    /// The place in `words` or `ones`.
    example: Range<usize>,
    /// The place in `scores`.
    score: Range<usize>,
    /// The number of support vectors in the score.
    support: usize,
}

impl Record {
    fn bits<'a>(&self, words: &'a [u64], ones: &'a [u32]) -> RowBits<'a> {
        match self.is_listed {
            true => RowBits::Listed(&ones[self.example.clone()]),
            false => RowBits::Packed(&words[self.example.clone()]),
        }
    }
}

impl ScoreTable {
    /// The words of a score and the number of support vectors in the score.
    fn score(&self, index: usize) -> (&[u64], usize) {
        let record = &self.records[index];
        (&self.scores[record.score.clone()], record.support)
    }

    fn set_score(&mut self, index: usize, score: &Wide, support: usize) {
        let record = &mut self.records[index];
        record.support = support;
        self.scores[record.score.clone()].copy_from_slice(score.words());
    }

    /// The record of an example. A new one gets the score 0 of no support vectors, in so many words, unless there is
    /// no space left for it.
    fn find_or_insert(&mut self, example: RowBits<'_>, score_words: usize) -> Option<usize> {
        let hash = self.hasher.hash_one(example);
        let bits = |index: &u32| self.records[*index as usize].bits(&self.words, &self.ones);
        if let Some(&index) = self.indices.find(hash, |index| bits(index) == example) {
            return Some(index as usize);
        }
        let index = self.records.len();
        let bytes =
            size_of_val(&*self.words) + size_of_val(&*self.ones) + size_of_val(&*self.scores);
        // A record takes at most four indices with a byte of control each.
        let own = index * (size_of::<Record>() + 4 * (size_of::<u32>() + 1));
        // Growing doubles the memory.
        if 2 * (bytes + own) >= KEPT_BYTES_MAX {
            return None;
        }
        let rehash = |index: &u32| self.hasher.hash_one(bits(index));
        self.indices.insert_unique(hash, index as u32, rehash);
        let score = self.scores.len();
        self.scores.resize(score + score_words, 0);
        let (words, ones) = (self.words.len(), self.ones.len());
        let (is_listed, example) = match example {
            RowBits::Packed(packed) => {
                self.words.extend_from_slice(packed);
                (false, words..self.words.len())
            }
            RowBits::Listed(listed) => {
                self.ones.extend_from_slice(listed);
                (true, ones..self.ones.len())
            }
        };
        self.records.push(Record {
            is_listed,
            example,
            score: score..score + score_words,
            support: 0,
        });
        Some(index)
    }
}

impl KernelScores {
    /// An empty cache.
    pub fn new() -> Self {
        Self {
            kept: ScoreTable::default(),
            support_words_min: SUPPORT_WORDS_MIN,
            scratch: ExpansionScratch::default(),
            words: Vec::new(),
        }
    }

    /// The score of a row of a block. `expansion` must be the one of the calls before, possibly with more support
    /// vectors. Returns none if the computation was told to stop; the cache is then unusable.
    pub fn score(
        &mut self,
        expansion: &KernelExpansion,
        block: &Block<'_>,
        row: usize,
        stop: &StopFlag,
    ) -> Option<&Wide> {
        let mut words = std::mem::take(&mut self.words);
        let example = expansion.example(block, row, &mut words);
        let is_done = self.score_example(expansion, example, stop);
        self.words = words;
        is_done.then_some(&self.scratch.score)
    }

    fn score_example(
        &mut self,
        expansion: &KernelExpansion,
        example: RowBits<'_>,
        stop: &StopFlag,
    ) -> bool {
        let bits = expansion.score_bits(example);
        let place = match self.is_used(expansion) {
            true => self.kept.find_or_insert(example, wide::words_of(bits)),
            false => None,
        };
        let mut first = 0;
        match place {
            Some(place) => {
                let (words, support) = self.kept.score(place);
                self.scratch.score.assign(words);
                first = support;
            }
            None => self.scratch.score.reset(bits),
        }
        if first < expansion.len() {
            if !self.scratch.add_score(expansion, first, example, stop) {
                return false;
            }
            if let Some(place) = place {
                let score = &self.scratch.score;
                self.kept.set_score(place, score, expansion.len());
            }
        }
        true
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
            let examples = copies(expansion, block, rows);
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
        let words = expansion.words_per_vector() as usize;
        let ahead = (AHEAD_WORDS_MAX / words.max(1)).min(AHEAD_EXAMPLES_MAX);
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
            examples.extend(copies(expansion, &block, 0..block.rows()));
        }
        self.prepare(expansion, &examples, stop);
    }

    /// Brings the cached scores of some examples up to date, if helpers are worth their time. These compute the sums
    /// of different examples at the same time, so that later calls of [`Self::score`] only add newer support vectors.
    fn prepare(&mut self, expansion: &KernelExpansion, examples: &[OwnedRowBits], stop: &StopFlag) {
        let lacking = self.lacking(expansion, examples);
        if !are_worthwhile(stop, lacking.iter().map(|lack| lack.words).sum()) {
            return;
        }
        let pieces: Vec<_> = lacking.chunks(EXAMPLES_PER_PIECE).collect();
        let kept = &self.kept;
        let sums = shared_work::map(stop, pieces.len(), |piece, stop| {
            let mut scratch = ExpansionScratch::default();
            let sum = |lack: &Lack<'_>| {
                let (words, support) = kept.score(lack.place);
                scratch.score.assign(words);
                let is_done = scratch.add_score(expansion, support, lack.example, stop);
                is_done.then(|| scratch.score.clone())
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
        let first = copies(expansion, block, row..row + 1);
        let lacking = self.lacking(expansion, &first);
        let words: u64 = lacking.iter().map(|lack| lack.words).sum();
        are_worthwhile(stop, words * count as u64)
    }

    /// The cached examples among `examples` whose scores lack support vectors. Equal examples appear once.
    fn lacking<'a>(
        &mut self,
        expansion: &KernelExpansion,
        examples: &'a [OwnedRowBits],
    ) -> Vec<Lack<'a>> {
        let lack = |example: &'a OwnedRowBits| {
            let example = example.as_bits();
            let words = wide::words_of(expansion.score_bits(example));
            let place = self.kept.find_or_insert(example, words)?;
            let vectors = expansion.len() - self.kept.score(place).1;
            let words = vectors as u64 * expansion.words_per_vector();
            (words > 0).then_some(Lack {
                place,
                example,
                words,
            })
        };
        let mut lacking: Vec<_> = examples.iter().filter_map(lack).collect();
        lacking.sort_unstable_by_key(|lack| lack.place);
        lacking.dedup_by_key(|lack| lack.place);
        lacking
    }

    fn is_used(&self, expansion: &KernelExpansion) -> bool {
        // The first support vector decides how many words a score has.
        let words = expansion.len() as u64 * expansion.words_per_vector();
        !expansion.is_empty() && words >= self.support_words_min
    }
}

fn copies(expansion: &KernelExpansion, block: &Block<'_>, rows: Range<usize>) -> Vec<OwnedRowBits> {
    let mut words = Vec::new();
    let copy = |row| OwnedRowBits::from(expansion.example(block, row, &mut words));
    rows.map(copy).collect()
}

/// A cached example whose score lacks support vectors.
struct Lack<'a> {
    place: usize,
    example: RowBits<'a>,
    /// The words of work for these support vectors.
    words: u64,
}
