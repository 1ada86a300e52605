//! The generator of examples: draws them block by block and labels them by a hidden target.
//!
//! A [`Plan`] and a seed define the stream [`Generated`]. Which examples are positive is decided in `target.rs`.

use rand::Rng;

use crate::bits::{BLOCK_ROWS, BitMatrix, BitVector, BlockBuffer, LANES, Lanes};

use crate::learners::engine::random::{Generator, Purpose, Seed};
use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::stopping::Sampling;
use crate::learners::sample::block::{Block, BlockFeatures, row_mask};
use crate::learners::sample::data::{Data, Features, Labels};
use crate::learners::sample::source::{Presentation, Stream};
use crate::learners::sample::target::{Draw, Target};

/// Description of the examples to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The hidden concept that labels the examples.
    pub target: Target,
    /// The distribution of the examples. Only binary weights have a half-space to draw from.
    pub sampling: Sampling,
    /// Number of examples. `None` means an unlimited stream.
    pub count: Option<u64>,
    /// The probability that a label is flipped, in [0, 1/2]. A half-space example is negated instead.
    pub noise: f64,
    /// The probability of a 1 bit under [`Sampling::Uniform`], in (0, 1), which the generator truncates to 32 binary
    /// places.
    pub density: f64,
}

impl Plan {
    /// Creates a plan for an unlimited stream without noise, whose bits are fair.
    pub fn endless(target: Target, sampling: Sampling) -> Self {
        Self {
            target,
            sampling,
            count: None,
            noise: 0.0,
            density: 0.5,
        }
    }

    /// Draws the hidden binary weights of `n` bits from a seed.
    pub fn random_target(n: usize, seed: Seed) -> Target {
        Target::BinaryWeights(Draw::new(n, seed).bits())
    }

    /// Whether the examples are independent draws of the named distribution, as the confidence rules assume.
    pub fn is_clean(&self) -> bool {
        self.noise == 0.0 && (self.sampling != Sampling::Uniform || self.density == 0.5)
    }
}

/// Whether an example is noisy. Noise above 0 takes one uniform draw in [0, 1) per example.
pub fn is_noisy(noise: f64, random: &mut Generator) -> bool {
    let places = (1_u64 << 53) as f64;
    noise > 0.0 && ((random.next_u64() >> 11) as f64 / places) < noise
}

/// The stream of a plan and a seed.
#[derive(Debug)]
pub struct Generated {
    plan: Plan,
    seed: Seed,
    presentation: Presentation,
    buffer: BlockBuffer,
    /// Where the next block begins, and where the block that was requested last began.
    next: StreamPosition,
    mark: StreamPosition,
}

/// A place in a generated stream: the states of the generators and the number of examples before this place.
#[derive(Clone, Debug)]
pub(crate) struct StreamPosition {
    /// Created at the first draw, because creating eight generators takes longer than all draws of a short run.
    lanes: Option<Lanes>,
    noise: Generator,
    produced: u64,
}

impl StreamPosition {
    fn first(seed: Seed) -> Self {
        Self {
            lanes: None,
            noise: seed.generator(Purpose::Noise),
            produced: 0,
        }
    }

    pub(crate) fn write(&self, snapshot: &mut SnapshotWriter) {
        snapshot.number(self.lanes.is_some().into());
        if let Some(lanes) = &self.lanes {
            snapshot.numbers(lanes.state().as_flattened().iter().copied());
        }
        snapshot.generator(&self.noise);
        snapshot.number(self.produced);
    }

    pub(crate) fn read(snapshot: &mut SnapshotReader<'_>) -> Result<Self, SnapshotError> {
        let lanes = match snapshot.number()? {
            0 => None,
            1 => {
                let mut state = [[0; LANES]; 4];
                for word in state.as_flattened_mut() {
                    *word = snapshot.number()?;
                }
                Some(Lanes::from_state(state).ok_or(SnapshotError)?)
            }
            _ => return Err(SnapshotError),
        };
        Ok(Self {
            lanes,
            noise: snapshot.generator()?,
            produced: snapshot.number()?,
        })
    }
}

impl Generated {
    /// Creates the stream of `plan` and `seed`, presented in the form that the learner needs.
    ///
    /// # Panics
    /// Panics if the plan requests half-space examples of a target that has no half-space.
    pub fn new(plan: Plan, seed: Seed, presentation: Presentation) -> Self {
        let is_binary = plan.target.binary_weights().is_some();
        assert!(is_binary || plan.sampling == Sampling::Uniform);
        let n = plan.target.n();
        Self {
            buffer: BlockBuffer::new(n),
            next: StreamPosition::first(seed),
            mark: StreamPosition::first(seed),
            plan,
            seed,
            presentation,
        }
    }

    /// Draws all examples of a finite plan into memory, for learners that reorder them. If `run` is stopped
    /// meanwhile, the sample is shorter but not empty.
    ///
    /// # Panics
    /// Panics if the plan is unlimited.
    pub fn materialise(plan: Plan, seed: Seed, run: &Run) -> Data {
        let count = plan.count.expect("a finite plan");
        let is_labelled = plan.sampling == Sampling::Uniform;
        let rows = usize::try_from(count).unwrap_or(usize::MAX);
        let mut matrix = BitMatrix::for_rows(plan.target.n(), rows);
        let mut positives = Vec::new();
        let mut stream = Self::new(plan, seed, Presentation::Labelled);
        while let Some(block) = stream.draw_block() {
            // Only the last labelled block has fewer than 64 rows, so the masks join without gaps.
            positives.push(block.positives);
            matrix.push_block(block.bits());
            if run.stop.raised().is_some() {
                break;
            }
        }
        let labels = if is_labelled {
            Labels::of_signs(BitVector::from_words(matrix.rows(), positives))
        } else {
            Labels::HalfSpace
        };
        Data::new(Features::Boolean(matrix), labels)
    }

    /// Place where the next block begins.
    pub(crate) fn place(&self) -> &StreamPosition {
        &self.next
    }

    fn go_to(&mut self, place: StreamPosition) {
        self.mark.clone_from(&place);
        self.next = place;
    }

    /// Draws the next block. Returns `None` after the last example.
    fn draw_block(&mut self) -> Option<Block<'_>> {
        let left = self.plan.count.map(|count| count - self.next.produced);
        if left == Some(0) {
            return None;
        }
        let mut positives = self.draw();
        while self.buffer.rows() == 0 {
            positives = self.draw();
        }
        if let Some(left) = left.filter(|&left| left < self.buffer.rows() as u64) {
            self.buffer.retain_rows(row_mask(left as usize));
        }
        let rows = self.buffer.rows();
        self.next.produced += rows as u64;
        let noisy = self.noisy_rows(rows);
        let mut reflected = 0;
        if self.plan.sampling == Sampling::Uniform {
            positives = (positives ^ noisy) & row_mask(rows);
            if self.presentation == Presentation::HalfSpace {
                reflected = !positives & row_mask(rows);
                self.buffer.reflect_rows(reflected);
                positives = row_mask(rows);
            }
        } else {
            self.buffer.reflect_rows(noisy);
            positives = row_mask(rows);
        }
        Some(Block {
            reflected,
            ..Block::of(BlockFeatures::Boolean(self.buffer.as_block()), positives)
        })
    }

    /// Draws up to 64 candidates and keeps those that the distribution allows. Returns the mask of positive rows.
    fn draw(&mut self) -> u64 {
        let n = self.plan.target.n();
        self.draw_bits();
        let negative = self.plan.target.negatives(self.buffer.as_block());
        match self.plan.sampling {
            Sampling::Uniform => !negative,
            Sampling::Reflected => {
                self.buffer.reflect_rows(negative);
                u64::MAX
            }
            // An odd n has no ties. Reflection then maps the cube two to one onto the half-space, so the
            // result is exactly uniform and no draw is lost.
            Sampling::UniformPositive if !n.is_multiple_of(2) => {
                self.buffer.reflect_rows(negative);
                u64::MAX
            }
            Sampling::UniformPositive => {
                self.buffer.retain_rows(!negative);
                row_mask(self.buffer.rows())
            }
        }
    }

    /// Fills the buffer with independent bits of the plan's density.
    fn draw_bits(&mut self) {
        let seed = self.seed;
        let lanes = self
            .next
            .lanes
            .get_or_insert_with(|| seed.lanes(Purpose::Examples));
        if self.plan.sampling != Sampling::Uniform || self.plan.density == 0.5 {
            self.buffer.draw(BLOCK_ROWS, lanes);
        } else {
            let places = (self.plan.density * (u64::from(u32::MAX) + 1) as f64) as u32;
            self.buffer.draw_biased(BLOCK_ROWS, places, lanes);
        }
    }

    /// Returns the mask of noisy rows.
    fn noisy_rows(&mut self, rows: usize) -> u64 {
        let noisy = |row| u64::from(is_noisy(self.plan.noise, &mut self.next.noise)) << row;
        (0..rows).map(noisy).fold(0, |mask, row| mask | row)
    }
}

impl Stream for Generated {
    fn n(&self) -> usize {
        self.plan.target.n()
    }

    fn examples(&self) -> Option<u64> {
        self.plan.count
    }

    fn next_block(&mut self) -> Result<Option<Block<'_>>, Interrupt> {
        self.mark.clone_from(&self.next);
        Ok(self.draw_block())
    }

    fn rewind(&mut self) {
        self.go_to(StreamPosition::first(self.seed));
    }

    fn mark(&self, snapshot: &mut SnapshotWriter) {
        self.mark.write(snapshot);
    }

    fn seek(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let place = StreamPosition::read(snapshot)?;
        if self.plan.count.is_some_and(|count| place.produced > count) {
            return Err(SnapshotError);
        }
        self.go_to(place);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(n: usize, sampling: Sampling, count: u64) -> Plan {
        Plan {
            target: Plan::random_target(n, Seed(1)),
            sampling,
            count: Some(count),
            noise: 0.0,
            density: 0.5,
        }
    }

    fn weights(plan: &Plan) -> &BitVector {
        plan.target.binary_weights().expect("random_target")
    }

    fn rows(plan: Plan, seed: u64) -> Vec<BitVector> {
        let data = Generated::materialise(plan, Seed(seed), &Run::default());
        let Features::Boolean(matrix) = data.features() else {
            unreachable!()
        };
        (0..matrix.rows()).map(|row| matrix.row(row)).collect()
    }

    /// Pearson's statistic of the counts of `n`-bit rows against the expected weights.
    fn chi_squared(plan: &Plan, weight: impl Fn(usize) -> f64) -> (f64, usize) {
        let n = plan.target.n();
        let drawn = rows(plan.clone(), 3);
        let mut counts = vec![0_u64; 1 << n];
        for row in &drawn {
            counts[row.words()[0] as usize] += 1;
        }
        let distance = |u: u64| (u ^ weights(plan).words()[0]).count_ones() as usize;
        let expected_weights: Vec<_> = (0..1 << n).map(|u| weight(distance(u))).collect();
        let total: f64 = expected_weights.iter().sum();
        let mut statistic = 0.0;
        let mut cells = 0;
        for (count, weight) in counts.iter().zip(&expected_weights) {
            if *weight == 0.0 {
                assert_eq!(*count, 0, "an impossible example was drawn");
                continue;
            }
            let expected = drawn.len() as f64 * weight / total;
            statistic += (*count as f64 - expected).powi(2) / expected;
            cells += 1;
        }
        (statistic, cells - 1)
    }

    /// The statistic has mean `cells` and variance `2 cells`. The seeds are fixed.
    fn is_plausible((statistic, cells): (f64, usize)) -> bool {
        let cells = cells as f64;
        (statistic - cells).abs() < 5.0 * (2.0 * cells).sqrt()
    }

    #[test]
    fn uniform_positive_is_uniform_on_the_half_space() {
        for n in [5, 6, 8] {
            let plan = plan(n, Sampling::UniformPositive, 100_000);
            let weight = |d: usize| if 2 * d <= n { 1.0 } else { 0.0 };
            assert!(is_plausible(chi_squared(&plan, weight)), "n = {n}");
        }
    }

    #[test]
    fn reflected_gives_a_tie_half_the_weight() {
        let plan = plan(6, Sampling::Reflected, 100_000);
        let weight = |d: usize| match d {
            0..=2 => 1.0,
            3 => 0.5,
            _ => 0.0,
        };
        assert!(is_plausible(chi_squared(&plan, weight)));
        let even = |d: usize| if d <= 3 { 1.0 } else { 0.0 };
        assert!(
            !is_plausible(chi_squared(&plan, even)),
            "the test has power"
        );
    }

    #[test]
    fn uniform_labels_are_the_targets() {
        let plan = plan(7, Sampling::Uniform, 5_000);
        let target = weights(&plan).clone();
        let data = Generated::materialise(plan, Seed(9), &Run::default());
        let (Features::Boolean(matrix), Some(labels)) = (data.features(), data.labels().signs())
        else {
            unreachable!()
        };
        for row in 0..matrix.rows() {
            let positive = 2 * matrix.row(row).hamming_distance(&target) <= 7;
            assert_eq!(labels.get(row), positive);
        }
    }

    #[test]
    fn generated_noise_and_density_have_their_rates() {
        let mut noisy = plan(9, Sampling::UniformPositive, 100_000);
        noisy.noise = 0.2;
        let wrong = rows(noisy.clone(), 5)
            .iter()
            .filter(|row| 2 * row.hamming_distance(weights(&noisy)) > 9)
            .count();
        assert!((wrong as f64 / 1e5 - 0.2).abs() < 0.006, "{wrong}");
        let mut dense = plan(40, Sampling::Uniform, 10_000);
        dense.density = 0.1;
        let zero = BitVector::zeros(40);
        let rows = rows(dense, 5);
        let ones: usize = rows.iter().map(|row| row.hamming_distance(&zero)).sum();
        assert!((ones as f64 / 4e5 - 0.1).abs() < 0.0025, "{ones}");
    }

    #[test]
    fn a_rewound_stream_repeats_itself() {
        for n in [12, 65, 130] {
            let mut plan = plan(n, Sampling::UniformPositive, 1_000);
            plan.noise = 0.1;
            let mut stream = Generated::new(plan, Seed(4), Presentation::HalfSpace);
            let mut pass = || {
                let mut words = Vec::new();
                let mut rows = 0;
                while let Some(block) = stream.draw_block() {
                    words.extend_from_slice(block.bits().words());
                    rows += block.rows();
                }
                stream.rewind();
                (words, rows)
            };
            let first = pass();
            assert_eq!(first, pass());
            assert_eq!(first.1, 1_000);
        }
    }
}
