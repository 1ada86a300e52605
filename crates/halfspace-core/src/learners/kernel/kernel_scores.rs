//! A cache of the scores of examples under a growing list of support vectors.
//!
//! A learner reads the same examples in every pass while its list only grows. The cache stores the score of
//! an example and the number of support vectors that the score includes. An update adds only the newer
//! vectors. Over any number of passes, each pair of example and support vector is therefore compared once.
//! The bits of an example are the key of the cache, so the order and the source of the examples do not
//! matter.

use std::collections::HashMap;
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

/// The approximate bytes per cached example besides its bits and its score.
const BYTES_BESIDE: usize = 96;

/// Below this number of support vectors, computing a score is faster than a cache look-up.
const SUPPORT_MIN: usize = 16;

/// Examples that one thread scores before it looks for more.
const EXAMPLES_PER_PIECE: usize = 8;

/// The cached scores of examples under one growing expansion.
pub struct KernelScores {
    /// The index in `kept` by the bits of the example.
    places: HashMap<Box<[u64]>, usize>,
    kept: Vec<CachedScore>,
    kept_max: usize,
    /// The score of an example that is not in the cache.
    passing: CachedScore,
    histogram: Histogram,
    example: Vec<u64>,
}

/// The score of an example.
struct CachedScore {
    score: Wide,
    /// The number of support vectors that the score includes.
    support: usize,
}

impl KernelScores {
    /// An empty cache for examples of the expansion's number of bits.
    pub fn new(expansion: &KernelExpansion) -> Self {
        let kernel = expansion.kernel();
        let passing = CachedScore {
            score: kernel.zero(),
            support: 0,
        };
        let words = words_for(kernel.n());
        let bytes = 8 * (words + passing.score.words()) + BYTES_BESIDE;
        Self {
            places: HashMap::new(),
            kept: Vec::new(),
            kept_max: KEPT_BYTES_MAX / bytes,
            passing,
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
        let known = match self.place(expansion) {
            Some(place) => &mut self.kept[place],
            None => {
                self.passing.score.clear();
                self.passing.support = 0;
                &mut self.passing
            }
        };
        let first = std::mem::replace(&mut known.support, expansion.len());
        let (histogram, score) = (&mut self.histogram, &mut known.score);
        let is_done = first == expansion.len()
            || expansion.add_score(first, &self.example, histogram, score, stop);
        is_done.then_some(score)
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
                let CachedScore { score, support } = &kept[place];
                let mut score = score.clone();
                block.bits().copy_row(row, &mut example);
                let is_done =
                    expansion.add_score(*support, &example, &mut histogram, &mut score, stop);
                is_done.then_some(score)
            };
            pieces[piece].iter().map(sum).collect::<Vec<_>>()
        });
        for (&(place, _), score) in lacking.iter().zip(sums.into_iter().flatten()) {
            let Some(score) = score else { return };
            self.kept[place] = CachedScore {
                score,
                support: expansion.len(),
            };
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
        Some((place, expansion.len() - self.kept[place].support))
    }

    /// The index of the example in the cache. A new example gets an index if there is space. None
    /// otherwise.
    fn place(&mut self, expansion: &KernelExpansion) -> Option<usize> {
        if expansion.len() < SUPPORT_MIN {
            return None;
        }
        if let Some(&place) = self.places.get(&*self.example) {
            return Some(place);
        }
        let place = self.kept.len();
        if place == self.kept_max {
            return None;
        }
        self.places.insert(self.example.as_slice().into(), place);
        self.kept.push(CachedScore {
            score: expansion.kernel().zero(),
            support: 0,
        });
        Some(place)
    }
}
