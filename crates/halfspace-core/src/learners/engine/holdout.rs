//! Selection of the held-out examples: a uniformly random subset of fixed size, drawn from the seed.
//!
//! The selection visits the examples in their order and holds each one out with probability (examples still needed) /
//! (examples still to come). Every subset of that size is then equally likely, and the selection needs no memory per
//! example. A division into folds draws the fold of each example in the same way. C. T. Fan, M. E. Muller and I.
//! Rezucha, Development of sampling plans by using sequential (item by item) selection techniques and digital computers
//! (1962).
//!
//! The subset depends only on the seed and on the number of examples, so stored and generated examples give the same
//! one. If the examples are independent draws of one distribution, so are the remaining ones, and the assumption of the
//! confidence rules still holds.

use rand::RngExt;

use crate::bits::BlockBuffer;

use crate::learners::engine::random::{Generator, Purpose, Seed};
use crate::learners::engine::run::Interrupt;
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::sample::block::{Block, BlockFeatures, row_mask};
use crate::learners::sample::generate::{Generated, StreamPosition};
use crate::learners::sample::source::Stream;

/// The examples to hold out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HeldOut {
    /// A random subset of this share of the examples, rounded to a whole number of examples.
    Share(f64),
    /// One part of a random division into equal parts. If they cannot be equal, the first ones have one example more.
    Fold {
        /// Number of the part, from 0.
        index: u32,
        /// Number of parts.
        folds: u32,
    },
}

/// A division of a sample into two parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Holdout {
    examples: u64,
    held_out: HeldOut,
    seed: Seed,
}

/// A part of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldoutPart {
    /// The part that the learner sees.
    Shown,
    /// The part that is held out from the learner.
    HeldOut,
}

impl HeldOut {
    /// Number of held-out examples.
    fn count(self, examples: u64) -> u64 {
        match self {
            Self::Share(share) => (share * examples as f64).round() as u64,
            Self::Fold { index, folds } => {
                let (index, folds) = (u64::from(index), u64::from(folds));
                examples / folds + u64::from(index < examples % folds)
            }
        }
    }
}

impl Holdout {
    /// Holds out some of the examples. Returns `None` if this would leave one of the two parts empty.
    pub fn new(held_out: HeldOut, examples: u64, seed: Seed) -> Option<Self> {
        let count = held_out.count(examples);
        (1..examples).contains(&count).then_some(Self {
            examples,
            held_out,
            seed,
        })
    }

    /// Number of examples of a part.
    pub fn count(&self, part: HoldoutPart) -> u64 {
        let held_out = self.held_out.count(self.examples);
        match part {
            HoldoutPart::Shown => self.examples - held_out,
            HoldoutPart::HeldOut => held_out,
        }
    }

    /// Row numbers of a part in ascending order.
    ///
    /// # Panics
    /// Panics if there are 2^32 examples or more.
    pub fn rows(&self, part: HoldoutPart) -> Vec<u32> {
        let mut choice = self.choice();
        let mut rows = Vec::with_capacity(self.count(part) as usize);
        let examples = u32::try_from(self.examples).expect("a checked task: see `check::check`");
        rows.extend((0..examples).filter(|_| choice.next() == part));
        rows
    }

    /// Creates the stream of a part of a finite generated stream.
    pub fn of_drawn(self, part: HoldoutPart, drawn: Generated) -> PartOfDrawn {
        PartOfDrawn {
            bits: BlockBuffer::new(drawn.n()),
            mark: (drawn.place().clone(), self.choice()),
            choice: self.choice(),
            holdout: self,
            part,
            drawn,
        }
    }

    fn choice(&self) -> Choice {
        let wanted = self.count(HoldoutPart::HeldOut);
        let (at, left) = match self.held_out {
            HeldOut::Share(_) => (0, vec![wanted, self.examples - wanted]),
            HeldOut::Fold { index, folds } => {
                let size = |index| HeldOut::Fold { index, folds }.count(self.examples);
                (index as usize, (0..folds).map(size).collect())
            }
        };
        Choice {
            to_come: self.examples,
            left,
            held_out: at,
            random: self.seed.generator(Purpose::Holdout),
        }
    }
}

/// Assigns one example after another to a part of the division.
#[derive(Clone)]
struct Choice {
    to_come: u64,
    /// The examples that each part still needs.
    left: Vec<u64>,
    /// The part that is held out.
    held_out: usize,
    random: Generator,
}

impl Choice {
    fn next(&mut self) -> HoldoutPart {
        let mut drawn = self.random.random_range(0..self.to_come);
        self.to_come -= 1;
        for (part, left) in self.left.iter_mut().enumerate() {
            if drawn < *left {
                *left -= 1;
                return match part == self.held_out {
                    true => HoldoutPart::HeldOut,
                    false => HoldoutPart::Shown,
                };
            }
            drawn -= *left;
        }
        unreachable!("the parts need all examples to come")
    }
}

/// Stream of a part of a generated stream.
pub struct PartOfDrawn {
    drawn: Generated,
    holdout: Holdout,
    part: HoldoutPart,
    choice: Choice,
    /// State of `drawn` and `choice` before the block that was requested last.
    mark: (StreamPosition, Choice),
    bits: BlockBuffer,
}

impl Stream for PartOfDrawn {
    fn n(&self) -> usize {
        self.drawn.n()
    }

    fn examples(&self) -> Option<u64> {
        Some(self.holdout.count(self.part))
    }

    fn next_block(&mut self) -> Result<Option<Block<'_>>, Interrupt> {
        let (mut positives, mut reflected) = (0, 0);
        self.mark = (self.drawn.place().clone(), self.choice.clone());
        self.bits.clear();
        while self.bits.rows() == 0 {
            let Some(block) = self.drawn.next_block()? else {
                return Ok(None);
            };
            let mut kept = 0;
            for row in 0..block.rows() {
                if self.choice.next() == self.part {
                    kept |= 1 << row;
                }
            }
            positives = together(block.positives, kept);
            reflected = together(block.reflected, kept);
            self.bits.copy_block(block.bits());
            self.bits.retain_rows(kept);
        }
        Ok(Some(Block {
            reflected,
            ..Block::of(BlockFeatures::Boolean(self.bits.as_block()), positives)
        }))
    }

    fn rewind(&mut self) {
        self.drawn.rewind();
        self.choice = self.holdout.choice();
        self.mark = (self.drawn.place().clone(), self.choice.clone());
    }

    fn mark(&self, snapshot: &mut SnapshotWriter) {
        let (drawn, choice) = &self.mark;
        drawn.write(snapshot);
        snapshot.numbers([choice.to_come]);
        // The last part needs the rest.
        snapshot.numbers(
            choice
                .left
                .split_last()
                .map_or(&[][..], |(_, known)| known)
                .iter()
                .copied(),
        );
        snapshot.generator(&choice.random);
    }

    fn seek(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.drawn.seek(snapshot)?;
        self.choice.to_come = snapshot.number()?;
        let mut left = snapshot.numbers(self.choice.left.len() - 1)?;
        let known = left.iter().copied().fold(0, u64::saturating_add);
        left.push(self.choice.to_come.saturating_sub(known));
        self.choice.left = left;
        self.choice.random = snapshot.generator()?;
        self.mark = (self.drawn.place().clone(), self.choice.clone());
        Ok(())
    }
}

/// Gathers the bits of `word` at the ones of `kept` in the lowest places.
fn together(word: u64, kept: u64) -> u64 {
    let (mut gathered, mut count) = (0, 0);
    let mut left = kept;
    while left != 0 {
        gathered |= (word >> left.trailing_zeros() & 1) << count;
        count += 1;
        left &= left - 1;
    }
    gathered & row_mask(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holdout_rounds_shares_and_has_no_empty_part() {
        let sizes = |share, examples| {
            let holdout = Holdout::new(HeldOut::Share(share), examples, Seed(1))?;
            Some((
                holdout.count(HoldoutPart::Shown),
                holdout.count(HoldoutPart::HeldOut),
            ))
        };
        assert_eq!(sizes(0.2, 10), Some((8, 2)));
        assert_eq!(sizes(0.25, 10), Some((7, 3)));
        assert_eq!(sizes(0.5, 2), Some((1, 1)));
        assert_eq!(sizes(0.04, 10), None);
        assert_eq!(sizes(0.96, 10), None);
        assert_eq!(sizes(0.5, 1), None);
    }

    #[test]
    fn holdout_draws_each_subset_with_the_same_chance() {
        let mut counts = std::collections::HashMap::new();
        let runs = 20_000;
        for seed in 0..runs {
            let holdout = Holdout::new(HeldOut::Share(0.4), 5, Seed(seed)).expect("two of five");
            let (shown, held_out) = (
                holdout.rows(HoldoutPart::Shown),
                holdout.rows(HoldoutPart::HeldOut),
            );
            assert_eq!((shown.len(), held_out.len()), (3, 2));
            let mut all = [shown, held_out.clone()].concat();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4]);
            *counts.entry(held_out).or_insert(0_u64) += 1;
        }
        // There are ten subsets, so Pearson's statistic has nine degrees of freedom. The seeds are fixed.
        let expected = runs as f64 / 10.0;
        let terms = counts
            .values()
            .map(|&count| (count as f64 - expected).powi(2) / expected);
        let statistic: f64 = terms.sum();
        assert!(counts.len() == 10 && statistic < 27.9, "{statistic}");
    }

    #[test]
    fn holdout_folds_partition_the_sample() {
        let held_out = |index| {
            let fold = HeldOut::Fold { index, folds: 3 };
            let holdout = Holdout::new(fold, 11, Seed(4)).expect("three parts of eleven");
            let rows = holdout.rows(HoldoutPart::HeldOut);
            assert_eq!(rows.len() as u64, holdout.count(HoldoutPart::HeldOut));
            rows
        };
        let folds = [held_out(0), held_out(1), held_out(2)];
        assert_eq!(folds.each_ref().map(Vec::len), [4, 4, 3]);
        let mut all = folds.concat();
        all.sort_unstable();
        assert_eq!(all, (0..11).collect::<Vec<u32>>());
        let fold = |folds| Holdout::new(HeldOut::Fold { index: 4, folds }, 3, Seed(4));
        assert_eq!(fold(5), None);
    }

    #[test]
    fn holdout_gathers_selected_bits() {
        assert_eq!(together(0b1011_0110, 0b1100_0101), 0b1010);
        assert_eq!(together(u64::MAX, 0), 0);
        assert_eq!(together(u64::MAX, u64::MAX), u64::MAX);
    }
}
