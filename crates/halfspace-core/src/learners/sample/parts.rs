//! Division of a sample in memory into parts that several threads classify at the same time.

use std::ops::Range;

use crate::bits::BLOCK_ROWS;
use crate::learners::engine::run::StopFlag;
use crate::learners::engine::shared_work::{PIECE_WORDS_MAX, are_worthwhile};
use crate::learners::hypothesis::Hypothesis;
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::WholeBlocks;
use crate::learners::sample::source::{Presented, SharedSample, Stream};

/// Words of work per part. Taking a part costs little beside so much work.
const PART_WORDS: u64 = 1 << 20;

/// Maximum rows per part.
pub const PART_ROWS_MAX: usize = 512;

/// Words of work per word of a decision of Winnow, which takes as long as 16 words of a kernel sum.
const WINNOW_FACTOR: u64 = 16;

/// Words of work per decision, compared with a kernel sum.
pub fn words_of(predictor: &Predictor) -> u64 {
    let factor = match predictor.one() {
        Some(Hypothesis::Winnow(_)) => WINNOW_FACTOR,
        _ => 1,
    };
    predictor.words_of_work().saturating_mul(factor).max(1)
}

/// The next examples of a sample in memory, in parts of equal size. The last part may be shorter.
pub struct Parts<'a> {
    sample: SharedSample<'a>,
    size: WholeBlocks,
}

impl<'a> Parts<'a> {
    /// Divides the next `examples` of a stream, together with the rest of their last block. None if the stream is not
    /// in memory, if helpers gain no time, or if a block of 64 examples takes too long for one piece.
    pub fn of(
        stream: &'a dyn Stream,
        predictor: &Predictor,
        examples: u64,
        stop: &StopFlag,
    ) -> Option<Self> {
        let sample = stream.shared()?;
        let words = words_of(predictor);
        let is_short = words.saturating_mul(BLOCK_ROWS as u64) <= PIECE_WORDS_MAX;
        let next = usize::try_from(examples).unwrap_or(usize::MAX);
        let sample = sample.up_to(WholeBlocks::covering(next));
        let words_of_all = words.saturating_mul(sample.left() as u64);
        let is_worthwhile = is_short && are_worthwhile(stop, words_of_all);
        let rows = (PART_WORDS / words).min(PART_ROWS_MAX as u64) as usize;
        let size = WholeBlocks::covering(rows);
        is_worthwhile.then_some(Self { sample, size })
    }

    pub fn count(&self) -> usize {
        self.sample.parts(self.size)
    }

    /// The part at an index, with the positions of its examples.
    pub fn get(&self, index: usize) -> (Range<usize>, Presented<'_>) {
        self.sample.part(index, self.size)
    }
}
