//! A finite population of labelled Boolean examples with known probabilities, so that true errors are exact sums.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::bits::{BitMatrix, BitVector};
use crate::learners::engine::random::{Purpose, Seed};
use crate::learners::engine::run::StopFlag;
use crate::learners::predictor::Predictor;
use crate::learners::sample::data::{Data, Features, Labels};
use crate::learners::sample::source::{Presentation, Presented, Stream};

/// The distribution of the examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = CoverageDistribution)]
pub enum Distribution {
    /// All examples are equally likely.
    Uniform,
    /// Each bit is 1 with probability 0.2.
    Biased,
    /// One random example has the probability 0.7 beside a uniform rest.
    Skewed,
}

impl Distribution {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Biased => "biased",
            Self::Skewed => "skewed",
        }
    }
}

/// The probability of a 1 bit of biased examples.
const BIASED_DENSITY: f64 = 0.2;

/// The probability of the one heavy example of a skewed distribution.
const HEAVY: f64 = 0.7;

/// The labels of a population.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A random half-space of binary weights.
    BinaryWeights,
    /// The disjunction of the first three features.
    Disjunction,
}

/// All 2^n examples with their probabilities.
pub(super) struct Population {
    /// Every example with its clean label, in the order of the binary numbers.
    pub all: Data,
    labels: Vec<bool>,
    probabilities: Vec<f64>,
    /// The probability of a flipped label.
    noise: f64,
}

impl Population {
    /// Draws the random parts from `seed`.
    pub fn new(
        n: usize,
        distribution: Distribution,
        target: Target,
        noise: f64,
        seed: Seed,
    ) -> Self {
        let mut random = seed.generator(Purpose::Target);
        let weights: u64 = random.random_range(0..1 << n);
        let heavy = random.random_range(0..1_u64 << n);
        let uniform = 1.0 / (1_u64 << n) as f64;
        let probability = |row: u64| match distribution {
            Distribution::Uniform => uniform,
            Distribution::Biased => {
                let ones = row.count_ones();
                let zeros = n as f64 - f64::from(ones);
                libm::pow(BIASED_DENSITY, ones.into()) * libm::pow(1.0 - BIASED_DENSITY, zeros)
            }
            Distribution::Skewed => {
                (1.0 - HEAVY) * uniform + if row == heavy { HEAVY } else { 0.0 }
            }
        };
        let label = |row: u64| match target {
            // The product of the signs is n - 2 d, and a product of 0 counts as positive.
            Target::BinaryWeights => 2 * (row ^ weights).count_ones() as usize <= n,
            Target::Disjunction => row & 0b111 != 0,
        };
        let rows = 0..1_u64 << n;
        let labels: Vec<bool> = rows.clone().map(label).collect();
        Self {
            all: sample(n, rows.clone().zip(labels.iter().copied())),
            probabilities: rows.map(probability).collect(),
            labels,
            noise,
        }
    }

    /// Draws `count` independent examples, which depend on the seed and the purpose only.
    pub fn draw(&self, count: u64, seed: Seed, purpose: Purpose) -> Data {
        let mut random = seed.generator(purpose);
        let mut cumulative = 0.0;
        let ends: Vec<f64> = self
            .probabilities
            .iter()
            .map(|probability| {
                cumulative += probability;
                cumulative
            })
            .collect();
        let last = ends.len() - 1;
        let drawn = (0..count).map(|_| {
            let place: f64 = random.random();
            let row = ends.partition_point(|&end| end <= place).min(last);
            let is_flipped = random.random_bool(self.noise);
            (row as u64, self.labels[row] != is_flipped)
        });
        sample(self.all.n(), drawn)
    }

    /// The probability that a drawn label differs from the prediction.
    pub fn error(&self, predictor: &Predictor, presentation: Presentation) -> f64 {
        let mut stream = Presented::new(&self.all, presentation);
        let (mut row, mut wrong) = (0, 0.0);
        while let Ok(Some(block)) = stream.next_block() {
            let mask = predictor.mistakes(&block, &StopFlag::default());
            for at in 0..block.rows() {
                let is_wrong = mask >> at & 1 == 1;
                wrong += if is_wrong {
                    self.probabilities[row]
                } else {
                    0.0
                };
                row += 1;
            }
        }
        self.noise + (1.0 - 2.0 * self.noise) * wrong
    }
}

fn sample(n: usize, rows: impl Iterator<Item = (u64, bool)>) -> Data {
    let mut matrix = BitMatrix::new(n);
    let mut labels = Vec::new();
    for (row, label) in rows {
        matrix.push_row(&[row]);
        labels.push(label);
    }
    let mut packed = BitVector::zeros(labels.len());
    labels
        .iter()
        .enumerate()
        .for_each(|(at, &label)| packed.set(at, label));
    Data::new(Features::Boolean(matrix), Labels::of_signs(packed))
}
