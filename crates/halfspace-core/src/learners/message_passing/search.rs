//! Approximate message passing (AMP) for binary weights, the search behind `amp`, `reinforced-amp`, `focusing-bp` and
//! two stages of `auto`. It condenses the messages between examples and weights into a few numbers per example and per
//! weight, and improves these in turn.
//!
//! D. L. Donoho, A. Maleki, A. Montanari, "Message-passing algorithms for compressed sensing", PNAS 106 (2009)
//! 18914-18919. For this perceptron: J. Barbier, F. Krzakala, N. Macris, L. Miolane, L. Zdeborova, "Optimal errors and
//! phase transitions in high-dimensional generalized linear models", PNAS 116 (2019) 5451-5460. The half-space examples
//! u are the rows of U, and m are the posterior means of the weights. N is n for odd n and n + 1 for even n, where an
//! input that is always 1 with the weight 1 is added. The functions phi and Phi are the density and the distribution
//! function of the normal distribution. An iteration computes
//!
//! V = sum (1 - m^2) / N, omega = U m / sqrt(N) - V g, z = omega / sqrt(V), g = phi(z) / (sqrt(V) Phi(z)),
//! A = sum g (g + omega / V) / N, B = U^T g / sqrt(N) + A m, m = tanh(B)
//!
//! and the candidate is the signs of B. With reinforcement, r times the previous B is added to B, where
//! r = 1 - (1 - rho)^t rises from 0. The search then settles even if there are many solutions (A. Braunstein, R.
//! Zecchina, "Learning by message passing in networks of discrete synapses", Phys. Rev. Lett. 96 (2006) 030201).
//!
//! Focusing belief propagation (C. Baldassi et al., "Unreasonable effectiveness of learning neural networks", PNAS 113
//! (2016) E7655-E7662) searches for dense regions of solutions. y coupled copies of the weights with the same messages
//! attract each other through a common centre, which adds atanh(c tanh((y - 1) atanh(c tanh D))) to the field D of the
//! data, where c = tanh(gamma). The schedule is c^2 = rho and y = 1 + 1 / (1 - rho), where rho rises in equal steps up
//! to 0.85. There the search from this start ends. Each field is the mean of the new and the previous one, because
//! undamped fields oscillate.
//!
//! Focusing and the second stage of `auto` begin with a *leaning start*: for 60 iterations, a field of constant size in
//! the direction of the random start is added. The later course of the search then depends on the start, which a plain
//! search forgets.
//!
//! An iteration is one pass over the examples, which also tests the candidate. The state has one number per example,
//! the pull g, and a few per weight. In the two matrix products, means and pulls are rounded to whole numbers of units,
//! so the sums are the same in every order and on every machine. The unit of a mean is 2^k / 2^30 for the smallest
//! power 2^k that is at least n, and the unit of a pull is about 2^-24 of the largest possible pull of the pass.

use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::sync::{Mutex, PoisonError};

use crate::bits::{self, BLOCK_ROWS, BitVector, ColumnWeights, ROW_WEIGHT_MAX, words_for};

use crate::learners::drift::directed_drift::read_weights;
use crate::learners::engine::random::Generator;
use crate::learners::engine::random::random_vector;
use crate::learners::engine::run::StopFlag;
use crate::learners::engine::shared_work::{self, are_worthwhile};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::update::Update;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::half_space_limits;
use crate::learners::sample::block::{Block, WholeBlocks};
use crate::learners::sample::source::{Presented, SharedSample, Stream};

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchLimits {
    /// Iterations from one start.
    pub max_iterations: u64,
    /// Starts after the first.
    pub restarts: u64,
}

/// What is added to the fields of the data.
#[derive(Clone, Copy, Debug)]
pub enum Amplification {
    /// No addition: the means are those of the posterior distribution.
    None,
    /// r times the previous field, with this rho.
    Reinforcement(f64),
    /// Reinforcement after a leaning start.
    LeaningReinforcement(f64),
    /// The field of the centre after a leaning start, with this step of rho per iteration.
    Focusing(f64),
}

/// The size of the field of a leaning start, and its last iteration.
const LEANING: (f64, u64) = (0.3, 60);
/// The largest rho of focusing, at which y is 7.7. The search then ends.
const FOCUS_MAX: f64 = 0.85;

/// The magnitude of the first means.
const FIRST_MEAN: f64 = 0.001;
/// A start has settled when the mean square change of the means is below this number.
const SETTLED: f64 = 1e-12;
/// A start has also settled when the variance is below this number.
const DECIDED: f64 = 1e-9;

/// Words that a thread reads before it takes more, and the most blocks that these may be.
const PART_WORDS: usize = 1 << 17;
const PART_BLOCKS_MAX: usize = 64;

/// The most parts that threads read before they wait for each other. Even a small sample has at least the lower
/// number.
const PARTS_MAX: usize = 32;
const PARTS_MIN: usize = 16;

/// Words of work per word of the sample, for the two products and the test of the candidate.
const WORK_PER_WORD: usize = 4;

/// The state of a search.
#[derive(Debug)]
pub struct MessagePassing {
    /// N, which is odd.
    dimension: f64,
    amplification: Amplification,
    budget: SearchLimits,
    /// Iterations since the last start.
    iteration: u64,
    /// Whether further iterations will not change the candidate.
    is_settled: bool,
    /// (1 - rho)^t.
    forgetting: f64,
    /// m and B.
    means: Vec<f64>,
    fields: Vec<f64>,
    /// g, one number per example.
    pulls: Vec<f64>,
    candidate: BitVector,
    /// The first candidate of a leaning start.
    leaning: Option<BitVector>,
    /// The candidate with the fewest errors, and its errors.
    best: Option<(u64, BitVector)>,
    pass: PassSums,
}

/// The inputs and the sums of one pass over the sample.
#[derive(Debug)]
struct PassSums {
    /// V.
    variance: f64,
    /// The means in units of `mean_unit`.
    columns: ColumnWeights,
    mean_unit: f64,
    /// The number of units in a pull of 1: a power of two.
    units_a_pull: f64,
    /// U^T g in these units.
    sums: Vec<i64>,
    /// The sum of g (g + omega / V).
    curvature: f64,
    /// Examples read.
    examples: usize,
}

/// The numbers of the examples of one block.
#[derive(Debug)]
struct BlockPulls {
    /// g.
    pulls: [f64; BLOCK_ROWS],
    /// g (g + omega / V).
    curvatures: [f64; BLOCK_ROWS],
    /// g in units.
    weights: [i32; BLOCK_ROWS],
}

impl Default for BlockPulls {
    fn default() -> Self {
        Self {
            pulls: [0.0; BLOCK_ROWS],
            curvatures: [0.0; BLOCK_ROWS],
            weights: [0; BLOCK_ROWS],
        }
    }
}

impl MessagePassing {
    /// A search for `n` weights from a random start.
    pub fn new(
        n: usize,
        amplification: Amplification,
        budget: SearchLimits,
        random: &mut Generator,
    ) -> Self {
        let mut search = Self {
            dimension: (n + usize::from(n.is_multiple_of(2))) as f64,
            amplification,
            budget,
            iteration: 0,
            is_settled: false,
            forgetting: 1.0,
            means: vec![0.0; n],
            fields: vec![0.0; n],
            pulls: Vec::new(),
            candidate: BitVector::zeros(n),
            leaning: None,
            best: None,
            pass: PassSums::new(n),
        };
        search.start(random);
        search
    }

    /// The number of weights.
    pub fn n(&self) -> usize {
        self.means.len()
    }

    fn start(&mut self, random: &mut Generator) {
        self.start_at(random_vector(self.candidate.n(), random));
    }

    /// Starts from these weights: they are the first candidate, and the means lean towards them. A failing start has
    /// little influence on the search: measured at n = 1001, starts with 2 % wrong weights took as long and failed as
    /// often as starts with 20 %.
    pub fn start_at(&mut self, weights: BitVector) {
        self.candidate = weights;
        self.leaning = match self.amplification {
            Amplification::LeaningReinforcement(_) | Amplification::Focusing(_) => {
                Some(self.candidate.clone())
            }
            Amplification::None | Amplification::Reinforcement(_) => None,
        };
        for (j, mean) in self.means.iter_mut().enumerate() {
            *mean = if self.candidate.get(j) {
                FIRST_MEAN
            } else {
                -FIRST_MEAN
            };
        }
        self.fields.fill(0.0);
        self.pulls.fill(0.0);
        (self.iteration, self.forgetting, self.is_settled) = (0, 1.0, false);
        self.pass.begin(&self.means, self.dimension, 0.0);
    }

    /// Reads the next examples of a pass. Returns the mask of those that the candidate classifies wrongly.
    pub fn read(&mut self, block: &Block<'_>) -> u64 {
        let is_clamped = self.is_clamped();
        self.pass
            .read(block, is_clamped, self.dimension, &mut self.pulls);
        self.wrong(block)
    }

    /// The mask of the examples that the candidate classifies wrongly.
    fn wrong(&self, block: &Block<'_>) -> u64 {
        let (limit, ties) = half_space_limits(self.means.len(), block.reflected);
        bits::rows_over(block.bits(), self.candidate.words(), limit, ties)
    }

    /// Whether the search adds a fixed weight, because the number of weights is even.
    fn is_clamped(&self) -> bool {
        self.means.len().is_multiple_of(2)
    }

    /// Like [`Self::read`], for the next blocks of a sample and with helpers. Empty if helpers are not worth their
    /// time.
    pub fn read_ahead(&mut self, sample: &SharedSample<'_>, stop: &StopFlag) -> Vec<u64> {
        let (left, words) = (sample.left(), words_for(self.means.len()));
        let rows = (PART_WORDS / words).min(PART_BLOCKS_MAX * BLOCK_ROWS);
        let size = WholeBlocks::within(rows).min(WholeBlocks::covering(left.div_ceil(PARTS_MIN)));
        let sample = sample.up_to(WholeBlocks::covering(size.rows() * PARTS_MAX));
        let read = sample.left();
        if !are_worthwhile(stop, (read * words * WORK_PER_WORD) as u64) {
            return Vec::new();
        }
        let (parts, first) = (sample.parts(size), self.pass.examples);
        self.pass.reserve(read, &mut self.pulls);
        let previous = &self.pulls[first..];
        // The sums are whole numbers, so any order gives the same sums.
        let sums = Mutex::new(std::mem::take(&mut self.pass.sums));
        let found = shared_work::map(stop, parts, |part, stop| {
            // The look ends a pause of the run, and compares the memory of the thread with the grant.
            stop.raised();
            let (rows, stream) = sample.part(part, size);
            self.part(stream, &previous[rows.start..], &sums)
        });
        self.pass.sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (mut masks, mut place) = (Vec::with_capacity(read.div_ceil(BLOCK_ROWS)), first);
        for (mask, pulled) in found.into_iter().flatten() {
            let rows = BLOCK_ROWS.min(first + read - place);
            self.pass.take(&pulled, rows, &mut self.pulls[place..]);
            place += rows;
            masks.push(mask);
        }
        masks
    }

    /// Reads a part of a pass and adds to the sums. Returns, for each block, the mask of its mistakes and the numbers
    /// of its examples.
    fn part(
        &self,
        mut stream: Presented<'_>,
        mut previous: &[f64],
        sums: &Mutex<Vec<i64>>,
    ) -> Vec<(u64, BlockPulls)> {
        let (mut blocks, mut added) = (Vec::new(), vec![0; self.means.len()]);
        while let Some(block) = stream.next_block().expect("data in memory are always read") {
            let is_clamped = self.is_clamped();
            let pulled = self.pass.pull(&block, is_clamped, self.dimension, previous);
            bits::add_column_sums(block.bits(), &pulled.weights, &mut added);
            previous = &previous[block.rows()..];
            blocks.push((self.wrong(&block), pulled));
        }
        let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.iter_mut()
            .zip(added)
            .for_each(|(sum, added)| *sum += added);
        blocks
    }

    /// Receives the errors of the candidate at the end of a pass.
    pub fn evaluated(&mut self, errors: u64) {
        if self
            .best
            .as_ref()
            .is_none_or(|(fewest, _)| errors < *fewest)
        {
            self.best = Some((errors, self.candidate.clone()));
        }
    }

    /// Makes the next candidate after the present one failed in a pass.
    pub fn search(&mut self, random: &mut Generator) -> Update {
        let before = self.candidate.clone();
        if self.is_settled || self.iteration >= self.budget.max_iterations {
            if self.budget.restarts == 0 {
                return Update::Refused("restarts");
            }
            self.budget.restarts -= 1;
            self.start(random);
        } else {
            self.iterate();
        }
        if self.candidate == before {
            Update::Unchanged
        } else {
            Update::Changed
        }
    }

    /// Computes means, fields and candidate from the sums of the pass.
    fn iterate(&mut self) {
        self.iteration += 1;
        let kept = match self.amplification {
            Amplification::Reinforcement(rho) | Amplification::LeaningReinforcement(rho) => {
                self.forgetting *= 1.0 - rho;
                1.0 - self.forgetting
            }
            Amplification::None | Amplification::Focusing(_) => 0.0,
        };
        let centre = match self.amplification {
            Amplification::Focusing(step) => Some((step * self.iteration as f64).min(FOCUS_MAX)),
            _ => None,
        };
        let leaning = self
            .leaning
            .as_ref()
            .filter(|_| self.iteration <= LEANING.1);
        let root = self.dimension.sqrt();
        let correction = self.pass.curvature / self.dimension;
        let scale = 1.0 / (self.pass.units_a_pull * root);
        let mut change = 0.0;
        let states = self.means.iter_mut().zip(&mut self.fields);
        for (j, ((mean, field), &sum)) in states.zip(&self.pass.sums).enumerate() {
            let data = sum as f64 * scale + correction * *mean;
            *field = match centre {
                Some(rho) => (data + centre_field(data, rho) + *field) / 2.0,
                None => data + kept * *field,
            };
            if let Some(start) = leaning {
                *field += if start.get(j) { LEANING.0 } else { -LEANING.0 };
            }
            let old = std::mem::replace(mean, libm::tanh(*field));
            change += (*mean - old) * (*mean - old);
            self.candidate.set(j, *field >= 0.0);
        }
        let largest = self.pulls.iter().copied().fold(0.0, f64::max);
        self.pass.begin(&self.means, self.dimension, largest);
        self.is_settled = change < SETTLED * self.dimension
            || self.pass.variance < DECIDED
            || centre == Some(FOCUS_MAX);
    }

    /// The candidate with the fewest errors.
    pub fn predictor(&self) -> Predictor {
        let best = self.best.as_ref().map_or(&self.candidate, |(_, best)| best);
        Hypothesis::BinaryWeights(best.clone()).into()
    }

    /// Writes the state, also in the middle of a pass.
    pub fn snapshot(&self, snapshot: &mut SnapshotWriter) {
        snapshot.numbers([
            self.budget.restarts,
            self.iteration,
            self.is_settled.into(),
            self.forgetting.to_bits(),
        ]);
        let reals = self.means.iter().chain(&self.fields);
        snapshot.numbers(reals.map(|real| real.to_bits()));
        snapshot.number(self.pulls.len() as u64);
        snapshot.numbers(self.pulls.iter().map(|pull| pull.to_bits()));
        snapshot.numbers(self.candidate.words().iter().copied());
        snapshot.number(self.best.is_some().into());
        if let Some((errors, best)) = &self.best {
            snapshot.number(*errors);
            snapshot.numbers(best.words().iter().copied());
        }
        let pass = &self.pass;
        snapshot.number(pass.units_a_pull.to_bits());
        snapshot.numbers(pass.sums.iter().map(|sum| sum.cast_unsigned()));
        snapshot.numbers([pass.curvature.to_bits(), pass.examples as u64]);
        if let Some(start) = &self.leaning {
            snapshot.numbers(start.words().iter().copied());
        }
    }

    /// Restores a state that [`Self::snapshot`] wrote.
    ///
    /// # Errors
    /// An error if the bytes are not the state of a search for the same number of weights.
    pub fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let n = self.n();
        self.budget.restarts = snapshot.number()?;
        self.iteration = snapshot.number()?;
        self.is_settled = snapshot.number()? == 1;
        self.forgetting = f64::from_bits(snapshot.number()?);
        self.means = reals(snapshot, n)?;
        self.fields = reals(snapshot, n)?;
        let pulls = snapshot.count()?;
        self.pulls = reals(snapshot, pulls)?;
        self.candidate = read_weights(n, snapshot)?;
        self.best = match snapshot.number()? {
            0 => None,
            _ => Some((snapshot.number()?, read_weights(n, snapshot)?)),
        };
        // Variance and columns follow from the means.
        self.pass.begin(&self.means, self.dimension, 0.0);
        let pass = &mut self.pass;
        pass.units_a_pull = f64::from_bits(snapshot.number()?);
        let sums = snapshot.numbers(n)?.into_iter();
        pass.sums = sums.map(u64::cast_signed).collect();
        pass.curvature = f64::from_bits(snapshot.number()?);
        pass.examples = usize::try_from(snapshot.number()?).map_err(|_| SnapshotError)?;
        if let Some(start) = &mut self.leaning {
            *start = read_weights(n, snapshot)?;
        }
        match self.pass.examples <= pulls {
            true => Ok(()),
            false => Err(SnapshotError),
        }
    }
}

fn reals(snapshot: &mut SnapshotReader<'_>, count: usize) -> Result<Vec<f64>, SnapshotError> {
    let numbers = snapshot.numbers(count)?.into_iter();
    Ok(numbers.map(f64::from_bits).collect())
}

impl PassSums {
    fn new(n: usize) -> Self {
        // Sums of signed means stay within 2^30 units.
        let places = 30 - n.next_power_of_two().trailing_zeros().cast_signed();
        Self {
            variance: 1.0,
            columns: ColumnWeights::new(n),
            mean_unit: libm::scalbn(1.0, -places),
            units_a_pull: 1.0,
            sums: vec![0; n],
            curvature: 0.0,
            examples: 0,
        }
    }

    /// Prepares a pass before its first example. No pull of the previous pass exceeds `largest_pull`.
    fn begin(&mut self, means: &[f64], dimension: f64, largest_pull: f64) {
        let spread = means.iter().map(|mean| 1.0 - mean * mean).sum::<f64>();
        // The variance is a divisor below, so it must not be 0.
        self.variance = (spread / dimension).max(f64::MIN_POSITIVE.sqrt());
        let units = 1.0 / self.mean_unit;
        let rounded: Vec<i32> = means
            .iter()
            .map(|mean| (mean * units).round() as i32)
            .collect();
        self.columns.assign(&rounded);
        let reach = means.iter().map(|mean| mean.abs()).sum::<f64>() + 1.0;
        let omega_max = reach / dimension.sqrt() + self.variance * largest_pull;
        let deviation = self.variance.sqrt();
        let pull_max = inverse_mills(-omega_max / deviation) / deviation;
        let places = libm::ilogb(f64::from(ROW_WEIGHT_MAX) / pull_max);
        self.units_a_pull = libm::scalbn(1.0, places);
        self.sums.fill(0);
        self.curvature = 0.0;
        self.examples = 0;
    }

    fn read(&mut self, block: &Block<'_>, is_clamped: bool, dimension: f64, pulls: &mut Vec<f64>) {
        let first = self.examples;
        self.reserve(block.rows(), pulls);
        let pulled = self.pull(block, is_clamped, dimension, &pulls[first..]);
        self.take(&pulled, block.rows(), &mut pulls[first..]);
        bits::add_column_sums(block.bits(), &pulled.weights, &mut self.sums);
    }

    /// Counts the next examples of the pass, each of which has a pull.
    fn reserve(&mut self, rows: usize, pulls: &mut Vec<f64>) {
        self.examples += rows;
        if pulls.len() < self.examples {
            pulls.resize(self.examples, 0.0);
        }
    }

    /// The pulls of a block after its `previous` pulls.
    fn pull(
        &self,
        block: &Block<'_>,
        is_clamped: bool,
        dimension: f64,
        previous: &[f64],
    ) -> BlockPulls {
        let (bits, root, deviation) = (block.bits(), dimension.sqrt(), self.variance.sqrt());
        let mut products = [0; BLOCK_ROWS];
        bits::row_sums(bits, &self.columns, &mut products);
        let mut pulled = BlockPulls::default();
        for (row, (&product, previous)) in products.iter().zip(previous).enumerate() {
            let clamp = match (is_clamped, block.reflected >> row & 1) {
                (false, _) => 0.0,
                (true, 0) => 1.0,
                (true, _) => -1.0,
            };
            let sum = f64::from(product) * self.mean_unit + clamp;
            let omega = sum / root - self.variance * previous;
            let pull = inverse_mills(omega / deviation) / deviation;
            pulled.pulls[row] = pull;
            pulled.curvatures[row] = pull * (pull + omega / self.variance);
            let units = (pull * self.units_a_pull).round();
            pulled.weights[row] = units.min(f64::from(ROW_WEIGHT_MAX)) as i32;
        }
        pulled
    }

    /// Takes the pulls of the next block. The curvatures are added in the order of the examples.
    fn take(&mut self, pulled: &BlockPulls, rows: usize, pulls: &mut [f64]) {
        pulls[..rows].copy_from_slice(&pulled.pulls[..rows]);
        for curvature in &pulled.curvatures[..rows] {
            self.curvature += curvature;
        }
    }
}

/// The field of the centre of y copies whose data have the field `data`.
fn centre_field(data: f64, rho: f64) -> f64 {
    let coupling = rho.sqrt();
    let copy = libm::atanh(coupling * libm::tanh(data));
    libm::atanh(coupling * libm::tanh(copy / (1.0 - rho)))
}

/// phi(z) / Phi(z) of the normal distribution.
fn inverse_mills(z: f64) -> f64 {
    if z < -8.0 {
        return -z - 1.0 / z;
    }
    let density = libm::exp(-z * z / 2.0) / (2.0 * PI).sqrt();
    density / (libm::erfc(-z * FRAC_1_SQRT_2) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_mills_has_the_tabulated_values_and_is_smooth() {
        let near = |z: f64, expected: f64| {
            let found = inverse_mills(z);
            assert!((found / expected - 1.0).abs() < 1e-9, "{z}: {found}");
        };
        // phi(0) / (1 / 2), and two values of a table.
        near(0.0, 0.797_884_560_802_865_4);
        near(1.0, 0.287_599_970_939_178_4);
        near(-1.0, 1.525_135_276_160_981);
        let step = inverse_mills(-8.000_001) - inverse_mills(-7.999_999);
        assert!((0.0..0.01).contains(&step), "{step}");
        assert!(inverse_mills(-1e300).is_finite() && inverse_mills(40.0) >= 0.0);
    }

    #[test]
    fn centre_field_is_that_of_y_copies() {
        // y = 3 and c = 1 / sqrt(2): tanh(D) = 0.6 gives 2 atanh(0.6 c), worked by hand.
        let field = centre_field(libm::atanh(0.6), 0.5);
        let inner = 0.6 * FRAC_1_SQRT_2;
        let doubled = 2.0 * inner / (1.0 + inner * inner);
        assert!((libm::tanh(field) - FRAC_1_SQRT_2 * doubled).abs() < 1e-12);
        assert_eq!(centre_field(2.0, 0.0), 0.0);
        assert_eq!(centre_field(0.0, FOCUS_MAX), 0.0);
        assert!(centre_field(-1e9, FOCUS_MAX).is_finite());
    }

    #[test]
    fn pass_sums_stay_finite_at_extreme_means() {
        for n in [1, 2, 63, 1 << 20] {
            let mut pass = PassSums::new(n);
            for mean in [0.001, 1.0, -1.0] {
                let dimension = (n + (n + 1) % 2) as f64;
                pass.begin(&vec![mean; n], dimension, 1e6);
                assert!(pass.units_a_pull.is_finite() && pass.units_a_pull > 0.0);
                assert!(n as f64 / pass.mean_unit <= f64::from(i32::MAX));
            }
        }
    }
}
