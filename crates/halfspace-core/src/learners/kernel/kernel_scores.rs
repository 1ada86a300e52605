//! A cache of the scores of examples under a growing list of support vectors.
//!
//! A learner reads the same examples in every pass while its list only grows. The cache stores the score of
//! an example and the number of support vectors that the score includes. An update adds only the newer
//! vectors. Over any number of passes, each pair of example and support vector is therefore compared once.
//! The bits of an example are the key of the cache, so the order and the source of the examples do not
//! matter.

use std::collections::HashMap;

use crate::bits::words_for;

use crate::learners::arithmetic::wide::Wide;
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
