//! Scores under a growing list of support vectors, kept by example.
//!
//! A learner meets the same examples pass after pass, while its list only grows: what is known of
//! an example is its score under the first so many vectors, and only the vectors since then are
//! added. Over passes without number this makes each pair of example and support vector meet once.
//! Examples are known by their bits, so that neither their order nor where they come from matters.

use std::collections::HashMap;

use crate::bits::words_for;

use super::block::Block;
use super::kernel::Histogram;
use super::kernel_expansion::KernelExpansion;
use super::run::StopFlag;
use super::wide::Wide;

/// Bytes of scores kept; further examples are scored anew each time.
const KEPT_BYTES_MAX: usize = 1 << 28;

/// Bytes about that an example costs besides its bits and its score.
const BYTES_BESIDE: usize = 96;

/// With fewer support vectors than this a score is made sooner than found.
const SUPPORT_MIN: usize = 16;

/// The scores of examples under one expansion that grows.
pub struct KernelScores {
    /// Where the score of an example is kept.
    places: HashMap<Box<[u64]>, usize>,
    kept: Vec<Kept>,
    kept_max: usize,
    /// For an example whose score is not kept.
    passing: Kept,
    histogram: Histogram,
    example: Vec<u64>,
}

/// What is known of an example.
struct Kept {
    score: Wide,
    /// Under how many support vectors.
    support: usize,
}

impl KernelScores {
    /// Nothing is known yet of examples of as many bits as the expansion's.
    pub fn new(expansion: &KernelExpansion) -> Self {
        let kernel = expansion.kernel();
        let passing = Kept {
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

    /// The score of a row of a block; none when it was told to stop, after which the scores are of
    /// no use any more. The expansion is the one of [`Self::new`], grown or not.
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

    /// Where the score of the example is kept, from now on if there is room; none otherwise.
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
        self.kept.push(Kept {
            score: expansion.kernel().zero(),
            support: 0,
        });
        Some(place)
    }
}
