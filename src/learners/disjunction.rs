//! Whether examples are labelled by a disjunction of few features: what Winnow's bound assumes.
//!
//! Features that are active in a negative example are in no such disjunction. So the question is
//! whether few of the others meet every positive example: a hitting set. It is asked of a few of
//! the positive examples, by search with bounded effort, and the answer is tried on all: those
//! that it misses join the few. Since the few are among all, no answer for them is none at all.

use crate::bits::words_for;

use super::run::{Interrupt, Run};
use super::source::Stream;
use super::winnow_weights::active;

/// Words that the positive examples in memory may take.
const KEPT_WORDS_MAX: usize = 1 << 22;
/// Positive examples in memory.
const KEPT_MAX: usize = 512;
/// Positive examples that join after a pass.
const JOINING_MAX: usize = 32;
/// Passes over the examples.
const PASSES_MAX: usize = 64;
/// Steps of one search.
const STEPS_MAX: u64 = 1 << 24;

/// What is known of the assumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Such a disjunction labels every example.
    Fits,
    /// Not even all features that no negative example has would meet every positive one.
    NoneAtAll,
    /// There is a disjunction, but none so short.
    NoneSoShort,
    /// The effort allowed for it did not decide.
    Open,
}

/// Whether the first `examples` of a stream are labelled by a disjunction of at most `literals`
/// features, complements among them if `complements`.
///
/// # Errors
/// When the run is told to stop meanwhile.
pub fn verdict(
    stream: &mut dyn Stream,
    examples: u64,
    complements: bool,
    literals: u64,
    run: &Run,
) -> Result<Verdict, Interrupt> {
    let features = if complements { 2 } else { 1 } * stream.n();
    let literals = usize::try_from(literals).unwrap_or(usize::MAX);
    let mut seen = Seen {
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
            Missed::Hopeless => return Ok(Verdict::NoneAtAll),
            Missed::Examples(missed) => missed,
        };
        if missed.is_empty() {
            return Ok(Verdict::Fits);
        }
        kept.extend(missed);
        if kept.len() > kept_max {
            return Ok(Verdict::Open);
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
            Some(false) => return Ok(Verdict::NoneSoShort),
            None => return Ok(Verdict::Open),
        }
    }
    Ok(Verdict::Open)
}

/// The examples of a stream that a run has read.
struct Seen<'a> {
    stream: &'a mut dyn Stream,
    n: usize,
    examples: u64,
    /// Whether complements are features too.
    complements: bool,
    run: &'a Run,
}

enum Missed {
    /// A positive example has no candidate at all.
    Hopeless,
    /// The candidates of the first few positive examples that have none of those chosen.
    Examples(Vec<Vec<u64>>),
}

impl Seen<'_> {
    /// Shows each row's active features and label until `see` answers false.
    fn each(
        &mut self,
        mut see: impl FnMut(&mut dyn Iterator<Item = usize>, bool) -> bool,
    ) -> Result<(), Interrupt> {
        let mut row = vec![0; words_for(self.n)];
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
                block.bits().copy_row(at, &mut row);
                let mut features = active(&row, self.n, self.complements);
                if !see(&mut features, block.is_positive(at)) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Those of the features that are active in no negative example, one bit a feature.
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

/// The search for few features that meet all sets.
struct Search<'a> {
    sets: &'a [Vec<u64>],
    steps_left: u64,
    run: &'a Run,
}

impl Search<'_> {
    /// Whether at most `literals` features meet the sets of these indices; they are added to
    /// `chosen` if so. None when the steps did not suffice.
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

    /// How many of the sets, taken greedily, have nothing in common: each needs its own feature.
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

    /// The features of one set, those that meet most of the open ones last.
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
    use crate::learners::data::{Data, Features, Labels};
    use crate::learners::generate::random_vector;
    use crate::learners::random::{Purpose, Seed};
    use crate::learners::source::{Presentation, Presented};

    fn data(rows: &[(BitVector, bool)]) -> Data {
        let mut matrix = BitMatrix::new(rows[0].0.n());
        let mut labels = BitVector::zeros(rows.len());
        for (at, (row, label)) in rows.iter().enumerate() {
            matrix.push_row(row.words());
            labels.set(at, *label);
        }
        Data::new(Features::Boolean(matrix), Labels::Labelled(labels))
    }

    fn judge(data: &Data, examples: u64, complements: bool, literals: u64) -> Verdict {
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
    fn small_samples_are_judged_by_hand() {
        let apart = text(&[
            ("1000", true),
            ("0100", true),
            ("0010", true),
            ("0001", false),
        ]);
        assert_eq!(judge(&apart, 4, false, 3), Verdict::Fits);
        assert_eq!(judge(&apart, 4, false, 2), Verdict::NoneSoShort);
        // Not x4 alone.
        assert_eq!(judge(&apart, 4, true, 1), Verdict::Fits);
        let contradiction = text(&[("11", true), ("11", false)]);
        assert_eq!(judge(&contradiction, 2, true, 2), Verdict::NoneAtAll);
        // The second was not read.
        assert_eq!(judge(&contradiction, 1, true, 1), Verdict::Fits);
        let parity = text(&[("00", false), ("01", true), ("10", true), ("11", false)]);
        assert_eq!(judge(&parity, 4, true, 4), Verdict::NoneAtAll);
        let empty = text(&[("00", true)]);
        assert_eq!(judge(&empty, 1, false, 2), Verdict::NoneAtAll);
        assert_eq!(judge(&text(&[("11", false)]), 1, false, 1), Verdict::Fits);
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
            assert_eq!(judge(&sample, 400, false, literals as u64), Verdict::Fits);
            let shorter = judge(&sample, 400, false, literals as u64 - 1);
            assert_eq!(shorter, Verdict::NoneSoShort, "seed {seed}");
            // Five examples leave much open: there are shorter ones.
            assert_eq!(judge(&sample, 5, true, 5), Verdict::Fits);
        }
    }

    #[test]
    fn a_hard_question_is_left_open() {
        // Random sets of 12 of 300 features: far beyond the steps.
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
        assert_eq!(judge(&data(&rows), 400, false, 40), Verdict::Open);
        assert_eq!(judge(&data(&rows), 400, false, 3), Verdict::NoneSoShort);
    }
}
