//! Selection of the held-out examples: a uniformly random subset of fixed size, drawn from the seed. A stratified
//! selection has a fixed size for each class.
//!
//! The selection visits the examples in their order and holds each one out with probability (examples still needed) /
//! (examples still to come). Every subset of that size is then equally likely, and the selection needs no memory per
//! example. A division into folds draws the fold of each example in the same way. C. T. Fan, M. E. Muller and I.
//! Rezucha, Development of sampling plans by using sequential (item by item) selection techniques and digital computers
//! (1962).
//!
//! Without classes, the subset depends only on the seed and on the number of examples, so stored and generated examples
//! give the same one. If the examples are independent draws of one distribution, so are the remaining ones, and the
//! assumption of the confidence rules still holds. The parts of a stratified selection are no independent draws: the
//! labels of all examples fix how many of each class a part has.

use rand::RngExt;

use crate::bits::BlockBuffer;

use crate::learners::engine::random::{Generator, Purpose, Seed};
use crate::learners::engine::run::Interrupt;
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::sample::block::{Block, BlockFeatures, row_mask};
use crate::learners::sample::classes::ClassCodes;
use crate::learners::sample::examples::{Examples, class_codes};
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
#[derive(Clone, Debug, PartialEq)]
pub struct Holdout {
    /// The strata before the first example: one, or one for each class.
    strata: Vec<Stratum>,
    /// The part of each stratum that is held out.
    held_out: usize,
    /// The class of each example, if they are the strata.
    codes: Option<ClassCodes>,
    seed: Seed,
}

/// Examples of which each part takes a fixed number.
#[derive(Clone, Debug, PartialEq)]
struct Stratum {
    to_come: u64,
    /// The examples that each part still needs.
    left: Vec<u64>,
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
    /// The number of examples of each part of a stratum, at least `kept` of which a share leaves to the learner.
    /// `before` is the number of examples in the strata before it, so that what is rounded in one stratum is made up
    /// for in the next.
    fn sizes(self, examples: u64, before: u64, kept: u64) -> Vec<u64> {
        match self {
            Self::Share(share) => {
                let up_to = |examples: u64| (share * examples as f64).round() as u64;
                let held_out = up_to(before + examples) - up_to(before);
                let held_out = held_out.min(examples.saturating_sub(kept));
                vec![held_out, examples - held_out]
            }
            Self::Fold { folds, .. } => {
                let folds = u64::from(folds);
                let after = |fold: u64| (fold + folds - before % folds) % folds;
                let size = |fold| examples / folds + u64::from(after(fold) < examples % folds);
                (0..folds).map(size).collect()
            }
        }
    }

    fn part(self) -> usize {
        match self {
            Self::Share(_) => 0,
            Self::Fold { index, .. } => index as usize,
        }
    }
}

impl Holdout {
    /// Holds out some of the examples. Returns `None` if this would leave one of the two parts empty.
    pub fn new(held_out: HeldOut, examples: u64, seed: Seed) -> Option<Self> {
        let whole = Stratum {
            to_come: examples,
            left: held_out.sizes(examples, 0, 0),
        };
        Self::of_strata(vec![whole], held_out, None, seed)
    }

    /// Holds out some of a sample, of each class if `stratify` says so.
    ///
    /// # Errors
    /// An interrupt if the labels, which a stratified split needs, cannot be read.
    pub fn of(
        held_out: HeldOut,
        data: &dyn Examples,
        stratify: bool,
        seed: Seed,
    ) -> Result<Option<Self>, Interrupt> {
        let codes = match stratify {
            true => class_codes(data)?,
            false => None,
        };
        Ok(match codes {
            Some(codes) => Self::stratified(held_out, codes, seed),
            None => Self::new(held_out, data.shape().examples as u64, seed),
        })
    }

    /// Tells of a row whether the learner sees it.
    pub fn shows(&self) -> impl Fn(usize) -> bool + use<> {
        let shown = self.rows(HoldoutPart::Shown);
        move |row| shown.binary_search(&(row as u32)).is_ok()
    }

    /// Holds out examples of each class. A share is rounded to whole examples and leaves at least one of the class to
    /// the learner; the folds of a class differ by at most one example. Returns `None` if this would leave one of the
    /// two parts empty.
    pub fn stratified(held_out: HeldOut, codes: ClassCodes, seed: Seed) -> Option<Self> {
        let mut counts = vec![0; 1 << codes.planes()];
        (0..codes.rows()).for_each(|row| counts[codes.get(row) as usize] += 1);
        let mut before = 0;
        let stratum = |count: &u64| {
            let left = held_out.sizes(*count, before, 1);
            before += count;
            Stratum {
                to_come: *count,
                left,
            }
        };
        let strata = counts.iter().map(stratum).collect();
        Self::of_strata(strata, held_out, Some(codes), seed)
    }

    fn of_strata(
        strata: Vec<Stratum>,
        held_out: HeldOut,
        codes: Option<ClassCodes>,
        seed: Seed,
    ) -> Option<Self> {
        let holdout = Self {
            strata,
            held_out: held_out.part(),
            codes,
            seed,
        };
        let count = |part| holdout.count(part);
        (count(HoldoutPart::Shown) > 0 && count(HoldoutPart::HeldOut) > 0).then_some(holdout)
    }

    /// Number of examples of a part.
    pub fn count(&self, part: HoldoutPart) -> u64 {
        let strata = self.strata.iter();
        let held_out = strata.map(|stratum| stratum.left[self.held_out]).sum();
        match part {
            HoldoutPart::Shown => self.examples() - held_out,
            HoldoutPart::HeldOut => held_out,
        }
    }

    fn examples(&self) -> u64 {
        self.strata.iter().map(|stratum| stratum.to_come).sum()
    }

    /// Row numbers of a part in ascending order.
    ///
    /// # Panics
    /// Panics if there are 2^32 examples or more.
    pub fn rows(&self, part: HoldoutPart) -> Vec<u32> {
        let mut choice = self.choice();
        let mut rows = Vec::with_capacity(self.count(part) as usize);
        let examples = u32::try_from(self.examples()).expect("a checked task: see `check::check`");
        let stratum = |row: u32| {
            let codes = self.codes.as_ref();
            codes.map_or(0, |codes| codes.get(row as usize) as usize)
        };
        rows.extend((0..examples).filter(|row| choice.next(stratum(*row)) == part));
        rows
    }

    /// Creates the stream of a part of a finite generated stream. Its examples have one stratum.
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
        Choice {
            strata: self.strata.clone(),
            held_out: self.held_out,
            random: self.seed.generator(Purpose::Holdout),
        }
    }
}

/// Assigns one example after another to a part of the division.
#[derive(Clone)]
struct Choice {
    strata: Vec<Stratum>,
    /// The part that is held out.
    held_out: usize,
    random: Generator,
}

impl Choice {
    /// The part of the next example, which is in this stratum.
    fn next(&mut self, stratum: usize) -> HoldoutPart {
        let Stratum { to_come, left } = &mut self.strata[stratum];
        let mut drawn = self.random.random_range(0..*to_come);
        *to_come -= 1;
        for (part, left) in left.iter_mut().enumerate() {
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
                if self.choice.next(0) == self.part {
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
        let Stratum { to_come, left } = &choice.strata[0];
        snapshot.numbers([*to_come]);
        // The last part needs the rest.
        let known = left.split_last().map_or(&[][..], |(_, known)| known);
        snapshot.numbers(known.iter().copied());
        snapshot.generator(&choice.random);
    }

    fn seek(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.drawn.seek(snapshot)?;
        let stratum = &mut self.choice.strata[0];
        stratum.to_come = snapshot.number()?;
        let mut left = snapshot.numbers(stratum.left.len() - 1)?;
        let known = left.iter().copied().fold(0, u64::saturating_add);
        left.push(stratum.to_come.saturating_sub(known));
        stratum.left = left;
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
    use std::collections::HashMap;

    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use rand::seq::SliceRandom;

    use super::*;
    use crate::bits::BitVector;
    use crate::learners::sample::classes::planes_for;

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

    /// Pearson's statistic for subsets that are expected equally often.
    fn pearson(counts: &HashMap<Vec<u32>, u64>, expected: f64) -> f64 {
        let terms = counts
            .values()
            .map(|&count| (count as f64 - expected).powi(2) / expected);
        terms.sum()
    }

    #[test]
    fn holdout_draws_each_subset_with_the_same_chance() {
        let mut counts = HashMap::new();
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
        let statistic = pearson(&counts, runs as f64 / 10.0);
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

    /// Codes of so many examples of each class, in a mixed order.
    fn mixed(counts: &[u64], seed: u64) -> ClassCodes {
        let mut codes: Vec<u32> = (0..)
            .zip(counts)
            .flat_map(|(code, count)| vec![code; *count as usize])
            .collect();
        codes.shuffle(&mut StdRng::seed_from_u64(seed));
        let mut planes = vec![BitVector::zeros(codes.len()); planes_for(counts.len())];
        for (row, code) in codes.iter().enumerate() {
            for (plane, bits) in planes.iter_mut().enumerate() {
                bits.set(row, code >> plane & 1 == 1);
            }
        }
        ClassCodes::of_planes(planes)
    }

    fn of_each(codes: &ClassCodes, rows: &[u32], classes: usize) -> Vec<u64> {
        let mut counts = vec![0; classes];
        rows.iter()
            .for_each(|row| counts[codes.get(*row as usize) as usize] += 1);
        counts
    }

    #[test]
    fn stratified_holdout_has_the_share_of_each_class() {
        let random = &mut StdRng::seed_from_u64(1);
        for case in 0..300 {
            let classes = random.random_range(2..40);
            let counts: Vec<u64> = (0..classes).map(|_| random.random_range(1..30)).collect();
            let (codes, share) = (mixed(&counts, case), random.random_range(0.05..0.95));
            let all: u64 = counts.iter().sum();
            let held_out = HeldOut::Share(share);
            let Some(holdout) = Holdout::stratified(held_out, codes.clone(), Seed(case)) else {
                continue;
            };
            let [shown, rows] = [HoldoutPart::Shown, HoldoutPart::HeldOut].map(|part| {
                let rows = holdout.rows(part);
                assert_eq!(rows.len() as u64, holdout.count(part));
                rows
            });
            let mut both = [shown, rows.clone()].concat();
            both.sort_unstable();
            assert!(both.into_iter().eq(0..all as u32));
            let mut refused = 0;
            for (found, count) in of_each(&codes, &rows, classes).iter().zip(&counts) {
                assert!(found < count, "{found} of {count}");
                assert!((*found as f64 - share * *count as f64).abs() <= 1.0);
                refused += u64::from(found + 1 == *count);
            }
            let wanted = (share * all as f64).round() as u64;
            assert!((wanted - refused.min(wanted)..=wanted).contains(&(rows.len() as u64)));
        }
    }

    #[test]
    fn stratified_folds_have_equal_parts_of_each_class() {
        let counts = [7, 1, 12, 3];
        let codes = mixed(&counts, 1);
        let folds = 3;
        let rows = |index| {
            let fold = HeldOut::Fold { index, folds };
            let holdout = Holdout::stratified(fold, codes.clone(), Seed(4)).expect("three parts");
            holdout.rows(HoldoutPart::HeldOut)
        };
        let parts: Vec<Vec<u32>> = (0..folds).map(rows).collect();
        let mut sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [7, 8, 8]);
        let counted: Vec<_> = parts.iter().map(|part| of_each(&codes, part, 4)).collect();
        for (class, count) in counts.iter().enumerate() {
            for part in &counted {
                assert!((count / 3..=count.div_ceil(3)).contains(&part[class]));
            }
        }
        let mut all = parts.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..23));
    }

    #[test]
    fn stratified_holdout_draws_each_subset_of_a_class_with_the_same_chance() {
        let codes = mixed(&[4, 5], 2);
        let mut counts = HashMap::new();
        let runs = 20_000;
        for seed in 0..runs {
            let held_out = HeldOut::Share(0.4);
            let holdout = Holdout::stratified(held_out, codes.clone(), Seed(seed)).expect("some");
            *counts
                .entry(holdout.rows(HoldoutPart::HeldOut))
                .or_insert(0_u64) += 1;
        }
        // Two of four and two of five: 60 subsets, so Pearson's statistic has 59 degrees of freedom.
        let statistic = pearson(&counts, runs as f64 / 60.0);
        assert!(counts.len() == 60 && statistic < 98.3, "{statistic}");
    }

    #[test]
    fn holdout_gathers_selected_bits() {
        assert_eq!(together(0b1011_0110, 0b1100_0101), 0b1010);
        assert_eq!(together(u64::MAX, 0), 0);
        assert_eq!(together(u64::MAX, u64::MAX), u64::MAX);
    }
}
