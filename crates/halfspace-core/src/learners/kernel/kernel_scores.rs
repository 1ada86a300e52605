//! A cache of the scores of examples under a growing list of support vectors.
//!
//! A learner reads the same examples in every pass while its list only grows. The cache stores the score of
//! an example and the number of support vectors that the score includes. An update adds only the newer
//! vectors. Over any number of passes, each pair of example and support vector is therefore compared once.
//! The bits of an example are the key of the cache, so the order and the source of the examples do not
//! matter.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use crate::bits::words_for;

use crate::learners::arithmetic::wide::Wide;
use crate::learners::engine::helpers::{self, are_worthwhile};
use crate::learners::engine::run::StopFlag;
use crate::learners::kernel::conjunction_kernel::Histogram;
use crate::learners::kernel::kernel_expansion::KernelExpansion;
use crate::learners::sample::block::Block;

/// The largest size of the cache in bytes. Further examples are scored again each time.
const KEPT_BYTES_MAX: usize = 1 << 28;

/// With fewer words of support vectors, computing a score is faster than a cache look-up.
const SUPPORT_WORDS_MIN: usize = 256;

/// Examples that one thread scores before it looks for more.
const EXAMPLES_PER_PIECE: usize = 8;

/// The cached scores of examples under one growing expansion.
pub struct KernelScores {
    kept: ScoreTable,
    kept_max: usize,
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
    /// 1 plus the index of a record, or 0. Their number is a power of two, and at most half of them are in use.
    slots: Vec<u32>,
    /// A record is the example, its score, and the number of support vectors in the score.
    records: Vec<u64>,
    words: usize,
    record_words: usize,
}

impl ScoreTable {
    fn new(words: usize, score_words: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            slots: vec![0; 16],
            records: Vec::new(),
            words,
            record_words: words + score_words + 1,
        }
    }

    fn len(&self) -> usize {
        self.records.len() / self.record_words
    }

    /// The words of a score and the number of support vectors in the score.
    fn score(&self, index: usize) -> (&[u64], usize) {
        let record = &self.records[index * self.record_words..][..self.record_words];
        let (support, score) = record[self.words..].split_last().expect("a record");
        (score, *support as usize)
    }

    fn set_score(&mut self, index: usize, score: &Wide, support: usize) {
        let record = &mut self.records[index * self.record_words..][..self.record_words];
        let (last, words) = record[self.words..].split_last_mut().expect("a record");
        words.copy_from_slice(score.words());
        *last = support as u64;
    }

    /// The record of an example. The error is the slot for a new record.
    fn find(&self, example: &[u64]) -> Result<usize, usize> {
        let mut slot = self.hasher.hash_one(example) as usize;
        loop {
            slot &= self.slots.len() - 1;
            let Some(index) = (self.slots[slot] as usize).checked_sub(1) else {
                return Err(slot);
            };
            if self.records[index * self.record_words..][..self.words] == *example {
                return Ok(index);
            }
            slot += 1;
        }
    }

    /// Adds a record with the score 0 of no support vectors.
    fn insert(&mut self, slot: usize, example: &[u64]) -> usize {
        let index = self.len();
        self.records.extend(example);
        self.records.resize((index + 1) * self.record_words, 0);
        self.slots[slot] = index as u32 + 1;
        if 2 * self.len() > self.slots.len() {
            self.slots = vec![0; 2 * self.slots.len()];
            for index in 0..self.len() {
                let example = &self.records[index * self.record_words..][..self.words];
                if let Err(slot) = self.find(example) {
                    self.slots[slot] = index as u32 + 1;
                }
            }
        }
        index
    }
}

impl KernelScores {
    /// An empty cache for examples of the expansion's number of bits.
    pub fn new(expansion: &KernelExpansion) -> Self {
        let kernel = expansion.kernel();
        let (score, words) = (kernel.zero(), words_for(kernel.n()));
        let kept = ScoreTable::new(words, score.words().len());
        // Growing doubles the memory. Four slots belong to a record at most.
        let bytes = 2 * size_of::<u64>() * kept.record_words + 4 * size_of::<u32>();
        Self {
            kept,
            kept_max: KEPT_BYTES_MAX / bytes,
            support_words_min: SUPPORT_WORDS_MIN,
            score,
            histogram: kernel.histogram(),
            example: vec![0; words],
        }
    }

    /// The score of a row of a block. `expansion` must be the one of [`Self::new`], possibly with more
    /// support vectors. Returns none if the computation was told to stop. In that case the cache is
    /// unusable.
    pub fn score(
        &mut self,
        expansion: &KernelExpansion,
        block: &Block<'_>,
        row: usize,
        stop: &StopFlag,
    ) -> Option<&Wide> {
        block.bits().copy_row(row, &mut self.example);
        let place = self.place(expansion);
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

    /// Brings the cached scores of some rows up to date, if helpers are worth their time. Helpers compute the sums of
    /// different rows at the same time. The later calls of [`Self::score`] then add only newer support vectors.
    pub fn prepare(
        &mut self,
        expansion: &KernelExpansion,
        block: &Block<'_>,
        rows: Range<usize>,
        stop: &StopFlag,
    ) {
        let each = expansion.words_of_work();
        if rows.is_empty() || !are_worthwhile(stop, each.saturating_mul(rows.len() as u64)) {
            return;
        }
        // The first row tells cheaply whether the rows were brought up to date before.
        let (words, count) = (self.example.len(), rows.len());
        let first_lacks = self.lacking(expansion, block, rows.start);
        let vectors = first_lacks.map_or(0, |(_, vectors)| vectors);
        if vectors == 0 || !are_worthwhile(stop, (vectors * words * count) as u64) {
            return;
        }
        let mut lacking: Vec<(usize, usize)> = Vec::with_capacity(count);
        for row in rows {
            // Equal rows share a place.
            if let Some((place, 1..)) = self.lacking(expansion, block, row)
                && lacking.iter().all(|(other, _)| *other != place)
            {
                lacking.push((place, row));
            }
        }
        let pieces: Vec<_> = lacking.chunks(EXAMPLES_PER_PIECE).collect();
        let kept = &self.kept;
        let sums = helpers::map(stop, pieces.len(), |piece, stop| {
            let kernel = expansion.kernel();
            let (mut example, mut histogram) = (self.example.clone(), kernel.histogram());
            let sum = |&(place, row): &(usize, usize)| {
                let (words, support) = kept.score(place);
                let mut score = kernel.zero();
                score.assign(words);
                block.bits().copy_row(row, &mut example);
                let is_done =
                    expansion.add_score(support, &example, &mut histogram, &mut score, stop);
                is_done.then_some(score)
            };
            pieces[piece].iter().map(sum).collect::<Vec<_>>()
        });
        for (&(place, _), score) in lacking.iter().zip(sums.into_iter().flatten()) {
            let Some(score) = score else { return };
            self.kept.set_score(place, &score, expansion.len());
        }
    }

    /// The place of a row in the cache, and the number of support vectors that its score lacks.
    fn lacking(
        &mut self,
        expansion: &KernelExpansion,
        block: &Block<'_>,
        row: usize,
    ) -> Option<(usize, usize)> {
        block.bits().copy_row(row, &mut self.example);
        let place = self.place(expansion)?;
        Some((place, expansion.len() - self.kept.score(place).1))
    }

    /// The index of the example in the cache. A new example gets an index if there is space. None
    /// otherwise.
    fn place(&mut self, expansion: &KernelExpansion) -> Option<usize> {
        if expansion.len() * self.example.len() < self.support_words_min {
            return None;
        }
        match self.kept.find(&self.example) {
            Ok(place) => Some(place),
            Err(_) if self.kept.len() == self.kept_max => None,
            Err(slot) => Some(self.kept.insert(slot, &self.example)),
        }
    }
}
