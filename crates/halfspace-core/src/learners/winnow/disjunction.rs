//! Decides whether a short disjunction of features labels the examples, as Winnow's bound assumes.
//!
//! A feature that is active in a negative example cannot be in the disjunction; the others are the candidates. Whether
//! a few of them hit every positive example is the hitting set problem. The search runs on a small subset of the
//! positive examples. Each answer is tested on all examples, and some of the positive ones that it misses join the
//! subset. If the subset has no small hitting set, neither has the whole sample. Passes, steps and the subset are
//! bounded, and beyond a bound the verdict is open.
//!
//! Winnow uses the [`DisjunctionVerdict`] to check the assumption of its bound.

use crate::bits::words_for;

use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::sample::source::Stream;
use crate::learners::winnow::winnow_weights::active;

/// Limit of the words that the positive examples of the subset may take.
const KEPT_WORDS_MAX: usize = 1 << 22;
/// Limit of the positive examples in the subset.
const KEPT_MAX: usize = 512;
/// Limit of the positive examples that join the subset after one pass.
const JOINING_MAX: usize = 32;
/// Limit of the passes over the examples.
const PASSES_MAX: usize = 64;
/// Limit of the steps of one search.
const STEPS_MAX: u64 = 1 << 24;

/// Whether a short disjunction labels the examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisjunctionVerdict {
    /// A disjunction within the length limit labels every example.
    Fits,
    /// No disjunction of any length labels every example.
    NoneAtAll,
    /// No disjunction within the length limit labels every example. Longer disjunctions were not examined.
    NoneSoShort,
    /// The search ran into one of its limits first.
    Open,
}

/// Decides whether a disjunction of at most `literals` features labels the first `examples` of a stream. With
/// `complements`, the complement of each feature is a feature too.
///
/// # Errors
/// Returns the interrupt if the run is stopped.
pub fn verdict(
    stream: &mut dyn Stream,
    examples: u64,
    complements: bool,
    literals: u64,
    run: &Run,
) -> Result<DisjunctionVerdict, Interrupt> {
    let features = if complements { 2 } else { 1 } * stream.n();
    let literals = usize::try_from(literals).unwrap_or(usize::MAX);
    let mut seen = ReadExamples {
        n: stream.n(),
        stream,
        examples,
        complements,
        run,
    };
    let candidates = seen.candidates(features)?;
    let kept_max = (KEPT_WORDS_MAX / candidates.len()).clamp(1, KEPT_MAX);
    let mut kept: Vec<Vec<u64>> = Vec::new();
    let mut chosen = vec![0; candidates.len()];
    for _ in 0..PASSES_MAX {
        let missed = match seen.missed(&candidates, &chosen)? {
            Missed::Hopeless => return Ok(DisjunctionVerdict::NoneAtAll),
            Missed::Examples(missed) => missed,
        };
        if missed.is_empty() {
            return Ok(DisjunctionVerdict::Fits);
        }
        kept.extend(missed);
        if kept.len() > kept_max {
            return Ok(DisjunctionVerdict::Open);
        }
        chosen.fill(0);
        let mut search = Search {
            sets: &kept,
            steps_left: STEPS_MAX,
            run,
        };
        let all: Vec<_> = (0..kept.len()).collect();
        match search.hit(&all, literals, &mut chosen)? {
            Some(true) => {}
            Some(false) => return Ok(DisjunctionVerdict::NoneSoShort),
            None => return Ok(DisjunctionVerdict::Open),
        }
    }
    Ok(DisjunctionVerdict::Open)
}

/// The examples of a stream that a run has read.
struct ReadExamples<'a> {
    stream: &'a mut dyn Stream,
    n: usize,
    examples: u64,
    /// Whether complements are features too.
    complements: bool,
    run: &'a Run,
}

enum Missed {
    /// A positive example has no candidate.
    Hopeless,
    /// The candidates of the first few positive examples that no chosen feature hits.
    Examples(Vec<Vec<u64>>),
}

impl ReadExamples<'_> {
    /// Passes the active features and the label of each row to `see` until `see` returns false.
    fn each(
        &mut self,
        mut see: impl FnMut(&mut dyn Iterator<Item = usize>, bool) -> bool,
    ) -> Result<(), Interrupt> {
        let mut words = Vec::new();
        let mut left = self.examples;
        self.stream.rewind();
        while left > 0 {
            if let Some(interrupt) = self.run.stop.raised() {
                return Err(interrupt);
            }
            let Some(block) = self.stream.next_block()? else {
                return Ok(());
            };
            let rows = left.min(block.rows() as u64);
            left -= rows;
            for at in 0..rows as usize {
                let row = block.row_bits(at, &mut words);
                let mut features = active(row, self.n, self.complements);
                if !see(&mut features, block.is_positive(at)) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The features that are active in no negative example, one bit per feature.
    fn candidates(&mut self, features: usize) -> Result<Vec<u64>, Interrupt> {
        let mut candidates = vec![0; words_for(features)];
        (0..features).for_each(|feature| set(&mut candidates, feature));
        self.each(|features, is_positive| {
            if !is_positive {
                features.for_each(|feature| candidates[feature / 64] &= !(1 << (feature % 64)));
            }
            true
        })?;
        Ok(candidates)
    }

    fn missed(&mut self, candidates: &[u64], chosen: &[u64]) -> Result<Missed, Interrupt> {
        let mut missed = Vec::new();
        let mut is_hopeless = false;
        self.each(|features, is_positive| {
            if !is_positive {
                return true;
            }
            let mut own = vec![0; candidates.len()];
            let mut is_hit = false;
            for feature in features.filter(|&feature| has(candidates, feature)) {
                is_hit |= has(chosen, feature);
                set(&mut own, feature);
            }
            if is_hit {
                return true;
            }
            is_hopeless = own.iter().all(|&word| word == 0);
            missed.push(own);
            !is_hopeless && missed.len() < JOINING_MAX
        })?;
        Ok(if is_hopeless {
            Missed::Hopeless
        } else {
            Missed::Examples(missed)
        })
    }
}

fn has(bits: &[u64], place: usize) -> bool {
    bits[place / 64] >> (place % 64) & 1 == 1
}

fn set(bits: &mut [u64], place: usize) {
    bits[place / 64] |= 1 << (place % 64);
}

/// The search for a few features that hit all sets.
struct Search<'a> {
    sets: &'a [Vec<u64>],
    steps_left: u64,
    run: &'a Run,
}

impl Search<'_> {
    /// Decides whether at most `literals` features hit the sets with the indices `open`, and if so adds them to
    /// `chosen`. Returns `None` if the steps did not suffice.
    fn hit(
        &mut self,
        open: &[usize],
        literals: usize,
        chosen: &mut [u64],
    ) -> Result<Option<bool>, Interrupt> {
        if let Some(interrupt) = self.run.stop.raised() {
            return Err(interrupt);
        }
        let size = |&at: &usize| {
            self.sets[at]
                .iter()
                .map(|word| word.count_ones())
                .sum::<u32>()
        };
        let Some(&smallest) = open.iter().min_by_key(|at| size(at)) else {
            return Ok(Some(true));
        };
        if self.apart(open) > literals {
            return Ok(Some(false));
        }
        let mut features: Vec<_> = self.by_frequency(smallest, open);
        let cost = (open.len() * (chosen.len() + features.len())) as u64;
        while let Some(feature) = features.pop() {
            let Some(left) = self.steps_left.checked_sub(cost.max(1)) else {
                return Ok(None);
            };
            self.steps_left = left;
            let misses = |at: &usize| !has(&self.sets[*at], feature);
            let rest: Vec<_> = open.iter().copied().filter(misses).collect();
            match self.hit(&rest, literals - 1, chosen)? {
                Some(false) => {}
                Some(true) => {
                    set(chosen, feature);
                    return Ok(Some(true));
                }
                None => return Ok(None),
            }
        }
        Ok(Some(false))
    }

    /// Counts pairwise disjoint sets, chosen greedily. Each of them needs a feature of its own.
    fn apart(&self, open: &[usize]) -> usize {
        let mut taken = vec![0; self.sets[open[0]].len()];
        let mut count = 0;
        for &at in open {
            let set = &self.sets[at];
            if set.iter().zip(&taken).all(|(set, taken)| set & taken == 0) {
                count += 1;
                taken
                    .iter_mut()
                    .zip(set)
                    .for_each(|(taken, set)| *taken |= set);
            }
        }
        count
    }

    /// The features of one set, in ascending order of the number of open sets that they hit.
    fn by_frequency(&self, set: usize, open: &[usize]) -> Vec<usize> {
        let own = &self.sets[set];
        let features = (0..own.len() * 64).filter(|&feature| has(own, feature));
        let met = |&feature: &usize| {
            let sets = open.iter().filter(|&&at| has(&self.sets[at], feature));
            sets.count()
        };
        let mut features: Vec<_> = features.collect();
        features.sort_by_cached_key(met);
        features
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitMatrix, BitVector};
    use crate::learners::engine::random::random_vector;
    use crate::learners::engine::random::{Purpose, Seed};
    use crate::learners::sample::data::{Data, Features, Labels};
    use crate::learners::sample::source::{Presentation, Presented};

    fn data(rows: &[(BitVector, bool)]) -> Data {
        let mut matrix = BitMatrix::new(rows[0].0.n());
        let mut labels = BitVector::zeros(rows.len());
        for (at, (row, label)) in rows.iter().enumerate() {
            matrix.push_row(row.words());
            labels.set(at, *label);
        }
        Data::new(Features::Boolean(matrix), Labels::of_signs(labels))
    }

    fn judge(data: &Data, examples: u64, complements: bool, literals: u64) -> DisjunctionVerdict {
        let mut sample = Presented::new(data, Presentation::Labelled);
        verdict(
            &mut sample,
            examples,
            complements,
            literals,
            &Run::default(),
        )
        .expect("no stop")
    }

    fn text(rows: &[(&str, bool)]) -> Data {
        let row = |(bits, label): &(&str, bool)| {
            let bits = BitVector::from_bit_string(bits.as_bytes()).expect("bits");
            (bits, *label)
        };
        data(&rows.iter().map(row).collect::<Vec<_>>())
    }

    #[test]
    fn disjunction_verdicts_on_small_samples() {
        let apart = text(&[
            ("1000", true),
            ("0100", true),
            ("0010", true),
            ("0001", false),
        ]);
        assert_eq!(judge(&apart, 4, false, 3), DisjunctionVerdict::Fits);
        assert_eq!(judge(&apart, 4, false, 2), DisjunctionVerdict::NoneSoShort);
        // The complement of x4 alone suffices.
        assert_eq!(judge(&apart, 4, true, 1), DisjunctionVerdict::Fits);
        let contradiction = text(&[("11", true), ("11", false)]);
        assert_eq!(
            judge(&contradiction, 2, true, 2),
            DisjunctionVerdict::NoneAtAll
        );
        // The second example is past the limit.
        assert_eq!(judge(&contradiction, 1, true, 1), DisjunctionVerdict::Fits);
        let parity = text(&[("00", false), ("01", true), ("10", true), ("11", false)]);
        assert_eq!(judge(&parity, 4, true, 4), DisjunctionVerdict::NoneAtAll);
        let empty = text(&[("00", true)]);
        assert_eq!(judge(&empty, 1, false, 2), DisjunctionVerdict::NoneAtAll);
        assert_eq!(
            judge(&text(&[("11", false)]), 1, false, 1),
            DisjunctionVerdict::Fits
        );
    }

    #[test]
    fn the_disjunction_that_labels_random_examples_is_found_short_enough() {
        for seed in 0..30 {
            let mut random = Seed(seed).generator(Purpose::Examples);
            let n = 60 + seed as usize;
            let literals = 1 + seed as usize % 5;
            let rows: Vec<_> = (0..400)
                .map(|_| {
                    let mut row = random_vector(n, &mut random);
                    let mask = random_vector(n, &mut random);
                    let other = random_vector(n, &mut random);
                    (0..n)
                        .filter(|&j| mask.get(j) && other.get(j))
                        .for_each(|j| row.set(j, false));
                    let label = (0..literals).any(|j| row.get(7 * j));
                    (row, label)
                })
                .collect();
            let sample = data(&rows);
            assert_eq!(
                judge(&sample, 400, false, literals as u64),
                DisjunctionVerdict::Fits
            );
            let shorter = judge(&sample, 400, false, literals as u64 - 1);
            assert_eq!(shorter, DisjunctionVerdict::NoneSoShort, "seed {seed}");
            // Shorter disjunctions label five examples.
            assert_eq!(judge(&sample, 5, true, 5), DisjunctionVerdict::Fits);
        }
    }

    #[test]
    fn disjunction_verdict_beyond_the_work_limit_is_open() {
        // Random sets of 12 out of 300 features need far more steps than the limit.
        let mut random = Seed(1).generator(Purpose::Examples);
        let rows: Vec<_> = (0..400)
            .map(|_| {
                let mut row = BitVector::zeros(300);
                for _ in 0..12 {
                    row.set(rand::RngExt::random_range(&mut random, 0..300), true);
                }
                (row, true)
            })
            .collect();
        assert_eq!(
            judge(&data(&rows), 400, false, 40),
            DisjunctionVerdict::Open
        );
        assert_eq!(
            judge(&data(&rows), 400, false, 3),
            DisjunctionVerdict::NoneSoShort
        );
    }
}
