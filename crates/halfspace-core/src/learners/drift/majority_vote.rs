//! What the batch variants of Directed Drift share: the vote of a batch of half-space examples, and the rule that
//! collects the batch.
//!
//! After a mistake, each example of the batch votes for the coordinates in which it differs from the hypothesis. Which
//! weights are flipped then is up to the variant: see `directed_drift_async.rs` and `directed_drift_sync.rs`, which
//! also name the sources.

use std::f64::consts::PI;
use std::ops::Range;

use crate::bits::{BitVector, Tally};

use crate::learners::drift::directed_drift::{
    binary_weights, first_half_space_mistake, first_hypothesis, read_weights,
};
use crate::learners::engine::entry::Setup;
use crate::learners::engine::parameters::{Parameter, ParameterError, ParameterKind};
use crate::learners::engine::random::Generator;
use crate::learners::engine::rule::{BatchRule, Kind, OnlineRule, Rule};
use crate::learners::engine::run::StopFlag;
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::update::Update;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::Block;

/// Largest batch size. The votes are 32-bit counts.
const BATCH_SIZE_MAX: u64 = u32::MAX as u64;

/// The paper's batch size: `factor * pi * n * ln n` rounded up, and at least 1.
fn default_batch_size(factor: f64, n: usize) -> u64 {
    let n = n as f64;
    let size = libm::ceil(factor * PI * n * libm::log(n)) as u64;
    size.clamp(1, BATCH_SIZE_MAX)
}

/// The parameter for the batch size. `default` is the formula of the default, for the documentation.
pub const fn batch_size(default: &'static str) -> Parameter {
    Parameter {
        name: "batch_size",
        kind: ParameterKind::Count {
            minimum: 1,
            maximum: BATCH_SIZE_MAX,
            default,
        },
        description: "Examples per batch, including the mistaken example.",
    }
}

/// Changes the hypothesis after a complete vote.
pub type Flip = fn(&mut BitVector, &mut MajorityVote, &mut Generator) -> Update;

/// Directed Drift in batch mode. The variants differ only in the function that flips coordinates.
pub struct BatchDrift {
    weights: BitVector,
    ballot: MajorityVote,
    flip: Flip,
}

impl BatchDrift {
    /// Creates a rule whose batch size is the parameter `batch_size`, or else `default_batch_size(factor, n)`.
    ///
    /// # Errors
    /// Returns an error if the length of the parameter `initial` differs from n.
    pub fn new(setup: &mut Setup<'_>, factor: f64, flip: Flip) -> Result<Self, ParameterError> {
        let default = default_batch_size(factor, setup.n);
        let size = setup.parameters.count("batch_size").unwrap_or(default);
        Ok(Self {
            weights: first_hypothesis(setup)?,
            ballot: MajorityVote::new(setup.n, size),
            flip,
        })
    }

    fn flip_when_complete(&mut self, random: &mut Generator) -> Update {
        if self.ballot.batch_remaining() > 0 {
            return Update::Awaiting;
        }
        (self.flip)(&mut self.weights, &mut self.ballot, random)
    }
}

impl Rule for BatchDrift {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Online(self)
    }

    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String> {
        self.weights = binary_weights(hypothesis)?;
        Ok(())
    }

    fn predictor(&self) -> Predictor {
        Hypothesis::BinaryWeights(self.weights.clone()).into()
    }

    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        snapshot.numbers(self.weights.words().iter().copied());
        self.ballot.snapshot(snapshot);
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.weights = read_weights(self.weights.n(), snapshot)?;
        self.ballot.restore(snapshot)
    }
}

impl OnlineRule for BatchDrift {
    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        _: &StopFlag,
    ) -> Option<usize> {
        first_half_space_mistake(&self.weights, block, rows)
    }

    fn update(&mut self, block: &Block<'_>, row: usize, random: &mut Generator) -> Update {
        self.ballot.open(block, row);
        self.flip_when_complete(random)
    }

    fn as_batch(&mut self) -> Option<&mut dyn BatchRule> {
        Some(self)
    }
}

impl BatchRule for BatchDrift {
    fn batch_remaining(&self) -> u64 {
        self.ballot.batch_remaining()
    }

    fn consume(&mut self, block: &Block<'_>, rows: Range<usize>, random: &mut Generator) -> Update {
        self.ballot.add(block, rows);
        self.flip_when_complete(random)
    }
}

/// Counts, for each coordinate, the examples of a batch that differ from the hypothesis there.
#[derive(Debug)]
pub struct MajorityVote {
    size: u64,
    batch_remaining: u64,
    tally: Tally,
}

impl MajorityVote {
    /// Creates an empty vote for batches of `size` examples of `n` bits.
    pub fn new(n: usize, size: u64) -> Self {
        assert!((1..=BATCH_SIZE_MAX).contains(&size));
        Self {
            size,
            batch_remaining: 0,
            tally: Tally::new(n),
        }
    }

    /// Starts a batch with the example on which the hypothesis made a mistake.
    pub fn open(&mut self, block: &Block<'_>, row: usize) {
        self.tally.clear();
        self.tally.add(block.bits(), row..row + 1);
        self.batch_remaining = self.size - 1;
    }

    /// Adds further examples to the batch.
    pub fn add(&mut self, block: &Block<'_>, rows: Range<usize>) {
        assert!(rows.len() as u64 <= self.batch_remaining);
        self.batch_remaining -= rows.len() as u64;
        self.tally.add(block.bits(), rows);
    }

    /// Writes the votes of an incomplete batch.
    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        snapshot.number(self.batch_remaining);
        if self.batch_remaining > 0 {
            snapshot.numbers(self.tally.counts().iter().map(|&ones| ones.into()));
        }
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.batch_remaining = snapshot.number()?;
        if self.batch_remaining >= self.size {
            return Err(SnapshotError);
        }
        if self.batch_remaining == 0 {
            return Ok(());
        }
        let rows = u32::try_from(self.size - self.batch_remaining).map_err(|_| SnapshotError)?;
        let counts = snapshot.numbers(self.tally.n())?.into_iter().map(|ones| {
            let ones = u32::try_from(ones).ok().filter(|&ones| ones <= rows);
            ones.ok_or(SnapshotError)
        });
        self.tally = Tally::from_counts(rows, counts.collect::<Result<_, _>>()?);
        Ok(())
    }

    /// Number of examples that the batch still needs.
    pub fn batch_remaining(&self) -> u64 {
        self.batch_remaining
    }

    /// Flips every coordinate in which at least half of the batch differs from `weights`. Returns whether there was
    /// one.
    pub fn flip_outvoted(&mut self, weights: &mut BitVector) -> bool {
        // With c ones among m examples, a weight of -1 flips if `2 c >= m`. A weight of +1 flips if
        // `2 (m - c) >= m`.
        let half = self.size.div_ceil(2) as u32;
        let may_tie = self.size.is_multiple_of(2);
        let mut any = 0;
        for (word, ones) in self.tally.compare(half).enumerate() {
            let ties = if may_tie { ones.equal } else { 0 };
            let before = weights.words()[word];
            let outvoted = !before & ones.at_least | before & (!ones.at_least | ties);
            // Padding bits past the last coordinate have no votes. They never flip because `half` is at least
            // 1.
            weights.flip_masked(word, outvoted);
            any |= outvoted;
        }
        any != 0
    }

    /// For each coordinate, the number of examples that differ from `weights` there.
    pub fn votes(&mut self, weights: &BitVector) -> impl Iterator<Item = u64> {
        let size = self.size;
        let ones = self.tally.counts();
        ones.iter().enumerate().map(move |(j, &ones)| {
            // A weight of +1 differs from the examples with bit 0.
            if weights.get(j) {
                size - u64::from(ones)
            } else {
                u64::from(ones)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::BitMatrix;
    use crate::learners::sample::block::BlockFeatures;

    /// Returns the weights after the vote of a batch. With `is_interrupted`, the vote is saved and restored
    /// after the first example.
    fn after(weights: &str, batch: &[&str], is_interrupted: bool) -> String {
        let vector = |text: &str| BitVector::from_bit_string(text.as_bytes()).expect("bits");
        let mut weights = vector(weights);
        let mut matrix = BitMatrix::new(weights.n());
        for example in batch {
            matrix.push_row(vector(example).words());
        }
        let block = Block::of(BlockFeatures::Boolean(matrix.block(0)), 0);
        let fresh = || MajorityVote::new(matrix.n(), batch.len() as u64);
        let mut ballot = fresh();
        ballot.open(&block, 0);
        if is_interrupted {
            let mut written = SnapshotWriter::of_at_most(1 << 10);
            ballot.snapshot(&mut written);
            let bytes = written.finish();
            ballot = fresh();
            ballot
                .restore(&mut SnapshotReader::new(&bytes))
                .expect("a snapshot");
        }
        ballot.add(&block, 1..batch.len());
        ballot.flip_outvoted(&mut weights);
        weights.to_bit_string()
    }

    #[test]
    fn majority_vote_flips_a_weight_at_half_of_the_batch() {
        let wide = |text: &str| format!("{text}{}", "0".repeat(63));
        for (weights, batch, expected) in [
            // One of two examples differs in each coordinate. This tie flips the weight.
            ("10", vec!["11", "00"], "01"),
            // No example differs in the first coordinate and both differ in the second.
            ("10", vec!["11", "11"], "11"),
            // One vote of three flips no weight and two votes do.
            ("10", vec!["11", "10", "00"], "10"),
            ("10", vec!["01", "01", "10"], "01"),
            // A batch of one example decides alone.
            ("10", vec!["01"], "01"),
            ("01", vec!["00", "00", "11", "11"], "10"),
        ] {
            let expected = (expected.to_owned(), wide(expected));
            for is_interrupted in [false, batch.len() > 1] {
                let narrow = after(weights, &batch, is_interrupted);
                let batch: Vec<String> = batch.iter().map(|text| wide(text)).collect();
                let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
                let found = (narrow, after(&wide(weights), &batch, is_interrupted));
                assert_eq!(found, expected, "{weights}, {batch:?}");
            }
        }
    }
}
