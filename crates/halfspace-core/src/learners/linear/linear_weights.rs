//! Linear threshold weights: the state and the hypothesis of the perceptron and related learners.
//!
//! Integer weights over Boolean examples decide in integers. Real weights decide in f64. These are the weights over
//! real examples, those of the perspectron, and those whose first values are not whole multiples of the learning rate.
//! A sum of reals is added in the order of [`RealColumn`], with the bias last.

use std::ops::Range;

use crate::bits::{
    self, BitVector, Excerpt, IntegerColumn, IntegerStep, RealColumn, RealStep, SparseRow,
};

use crate::learners::arithmetic::unit::{INTEGER_WEIGHT_MAX, Unit};
use crate::learners::decision::Decision;
use crate::learners::decision::Score;
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::update::{Learnt, Update};
use crate::learners::sample::block::{Block, BlockFeatures};

pub use crate::learners::linear::reading::Reading;
use crate::learners::linear::reading::row_values;

/// The limit that updates of real weights may reach.
pub const OUT_OF_RANGE: &str = "real weights must stay in the range of f64";

/// Weights and an optional bias.
#[derive(Clone, Debug, PartialEq)]
pub enum LinearWeights {
    /// Exact weights over Boolean examples.
    Integer(IntegerWeights),
    /// Weights over real examples (`reading` is none) or over Boolean ones.
    Real(RealWeights),
}

/// Integer weights over Boolean examples.
#[derive(Clone, Debug, PartialEq)]
pub struct IntegerWeights {
    reading: Reading,
    weights: IntegerColumn,
    bias: Option<i64>,
    /// The unit of the weights, which influences no decision.
    unit: Unit,
}

/// Real weights.
#[derive(Clone, Debug, PartialEq)]
pub struct RealWeights {
    reading: Option<Reading>,
    weights: RealColumn,
    bias: Option<f64>,
}

/// The sum that decides a prediction: the prediction is +1 if and only if the sum is >= 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinearScore {
    /// An exact sum.
    Integer(i64),
    /// A sum of real weights.
    Real(f64),
}

/// Memory for one example while it is scored.
#[derive(Clone, Debug)]
pub enum LinearScratch {
    /// The packed words of a row.
    Words(Vec<u64>),
    /// The values of a row.
    Values(Vec<f64>),
}

impl IntegerWeights {
    /// Weights for a reading, with a bias unless `bias` is none.
    ///
    /// # Panics
    /// Panics if a weight exceeds [`INTEGER_WEIGHT_MAX`] in magnitude.
    pub fn new(reading: Reading, weights: Vec<i64>, bias: Option<i64>) -> Self {
        let magnitudes = weights.iter().chain(&bias);
        assert!(magnitudes.clone().all(|w| w.abs() <= INTEGER_WEIGHT_MAX));
        Self {
            reading,
            weights: IntegerColumn::new(weights),
            bias,
            unit: Unit::ONE,
        }
    }

    /// The same counts in another unit.
    #[must_use]
    pub fn of_unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }

    pub fn unit(&self) -> Unit {
        self.unit
    }

    pub fn reading(&self) -> Reading {
        self.reading
    }

    /// One weight per feature, counted in units.
    pub fn weights(&self) -> Vec<i64> {
        self.weights.weights()
    }

    /// The largest magnitude of a weight or the bias.
    pub fn largest(&self) -> i64 {
        self.weights.largest().max(self.bias.map_or(0, i64::abs))
    }

    pub fn bias(&self) -> Option<i64> {
        self.bias
    }

    /// The exact score of packed row words.
    pub fn score(&self, row: &[u64]) -> i64 {
        self.weights.score(row, self.step(0, 0))
    }

    /// w += amount * x, including the bias coordinate.
    pub fn add(&mut self, row: &[u64], amount: i64) {
        self.weights
            .add(row, amount, self.reading == Reading::Signed);
        if let Some(bias) = &mut self.bias {
            *bias += amount;
        }
    }

    fn add_sparse(&mut self, ids: &[u32], amount: i64) {
        let is_signed = self.reading == Reading::Signed;
        self.weights.add_sparse(ids, amount, is_signed);
        if let Some(bias) = &mut self.bias {
            *bias += amount;
        }
    }

    fn step(&self, amount: i64, positives: u64) -> IntegerStep {
        IntegerStep {
            is_signed: self.reading == Reading::Signed,
            bias: self.bias,
            amount,
            positives,
        }
    }
}

impl RealWeights {
    /// Real weights. `reading` is none for real examples.
    pub fn new(reading: Option<Reading>, weights: Vec<f64>, bias: Option<f64>) -> Self {
        Self {
            reading,
            weights: RealColumn::new(weights),
            bias,
        }
    }

    /// The reading of Boolean examples. None for real examples.
    pub fn reading(&self) -> Option<Reading> {
        self.reading
    }

    /// One weight per feature.
    pub fn weights(&self) -> &[f64] {
        self.weights.weights()
    }

    pub fn bias(&self) -> Option<f64> {
        self.bias
    }

    /// The weights times a factor.
    #[must_use]
    pub fn times(mut self, factor: f64) -> Self {
        self.weights.scale(factor);
        self.bias = self.bias.map(|bias| bias * factor);
        self
    }

    /// A sparse row, if its inactive features are 0 and therefore change no sum.
    fn sparse<'a>(&self, block: &Block<'a>, row: usize) -> Option<SparseRow<'a>> {
        match block.features {
            BlockFeatures::Sparse(rows) if self.reading != Some(Reading::Signed) => {
                Some(rows.row(row))
            }
            _ => None,
        }
    }

    fn score(&self, values: &[f64]) -> f64 {
        self.weights.product(values) + self.bias.unwrap_or(0.0)
    }

    /// Adds `amount * values`. Returns false and adds nothing if a sum, or a sum times `factor`, would not be finite.
    fn add(&mut self, values: &[f64], amount: f64, factor: f64) -> bool {
        let is_added = self.weights.add(values, amount, factor);
        self.add_bias(amount, is_added)
    }

    fn add_bias(&mut self, amount: f64, is_added: bool) -> bool {
        if let Some(bias) = self.bias.as_mut().filter(|_| is_added) {
            *bias += amount;
        }
        is_added
    }
}

impl LinearWeights {
    /// Features per example.
    pub fn n(&self) -> usize {
        match self {
            Self::Integer(weights) => weights.weights.n(),
            Self::Real(weights) => weights.weights().len(),
        }
    }

    /// Adds features with weights of 0 up to `n` features.
    ///
    /// # Panics
    /// Panics if integer weights have learnt in the signed reading.
    pub fn grow(&mut self, n: usize) {
        match self {
            Self::Integer(own) => own.weights.grow(n),
            Self::Real(own) => own.weights.grow(n),
        }
    }

    /// The same weights among `n`: see [`bits::renumbered`].
    #[must_use]
    pub fn renumbered(&self, ids: &[u32], n: usize) -> Self {
        self.with(
            |own| IntegerColumn::new(bits::renumbered(&own.weights(), ids, n)),
            |own| bits::renumbered(own, ids, n),
        )
    }

    /// The weights of an excerpt of the features, which decide alike on examples without others unless the reading is
    /// signed.
    #[must_use]
    pub fn excerpt(&self, excerpt: &Excerpt) -> Self {
        self.with(
            |own| own.excerpt(excerpt),
            |own| excerpt.of(0.0, |j| own[j]),
        )
    }

    fn with(
        &self,
        integers: impl FnOnce(&IntegerColumn) -> IntegerColumn,
        reals: impl FnOnce(&[f64]) -> Vec<f64>,
    ) -> Self {
        match self {
            Self::Integer(own) => Self::Integer(IntegerWeights {
                weights: integers(&own.weights),
                ..*own
            }),
            Self::Real(own) => Self::Real(RealWeights {
                weights: RealColumn::new(reals(own.weights())),
                ..*own
            }),
        }
    }

    /// Writes the weights and the bias, if any, as the bits of their numbers.
    pub fn snapshot(&self, snapshot: &mut SnapshotWriter) {
        match self {
            Self::Integer(own) => {
                let weights = own.weights().into_iter().chain(own.bias);
                snapshot.numbers(weights.map(i64::cast_unsigned));
            }
            Self::Real(own) => {
                let numbers = own.weights().iter().chain(&own.bias);
                snapshot.numbers(numbers.map(|weight| weight.to_bits()));
            }
        }
    }

    /// Reads weights of the same kind and number from a snapshot.
    ///
    /// # Errors
    /// An error if the snapshot ends too early or a weight is out of range.
    pub fn restored(&self, snapshot: &mut SnapshotReader<'_>) -> Result<Self, SnapshotError> {
        let count = self.n() + usize::from(self.has_bias());
        match self {
            Self::Integer(own) => {
                let numbers = snapshot.numbers(count)?.into_iter().map(u64::cast_signed);
                let mut weights: Vec<i64> = numbers.collect();
                let is_in_range = |weight: &i64| weight.unsigned_abs() <= INTEGER_WEIGHT_MAX as u64;
                if !weights.iter().all(is_in_range) {
                    return Err(SnapshotError);
                }
                let bias = own.bias.and_then(|_| weights.pop());
                // Names are read unsigned, in sparse rows.
                let weights = match own.reading {
                    Reading::Signed => IntegerColumn::new(weights),
                    Reading::Unsigned => IntegerColumn::listed(weights),
                };
                Ok(Self::Integer(IntegerWeights {
                    weights,
                    bias,
                    ..*own
                }))
            }
            Self::Real(own) => {
                let numbers = snapshot.numbers(count)?.into_iter().map(f64::from_bits);
                let mut weights: Vec<f64> = numbers.collect();
                if !weights.iter().all(|weight| weight.is_finite()) {
                    return Err(SnapshotError);
                }
                let bias = own.bias.and_then(|_| weights.pop());
                Ok(Self::Real(RealWeights::new(own.reading, weights, bias)))
            }
        }
    }

    /// Checks that a learner whose own first weights are `own` can start from these weights.
    ///
    /// # Errors
    /// The first difference in reading, data type or bias.
    pub fn check_like(&self, own: &Self) -> Result<(), String> {
        match (self.reading(), own.reading()) {
            (given, expected) if given == expected => {}
            (Some(given), Some(_)) => {
                let given = given.name();
                return Err(format!(
                    "the model has reading = {given}; set the same value"
                ));
            }
            (None, _) => {
                let detail = "the model needs real-valued examples, but the examples are Boolean";
                return Err(detail.to_owned());
            }
            (Some(_), None) => {
                let detail = "the model needs Boolean examples, but the examples are real-valued";
                return Err(detail.to_owned());
            }
        }
        if self.has_bias() != own.has_bias() {
            let given = self.has_bias();
            return Err(format!("the model has bias = {given}; set the same value"));
        }
        Ok(())
    }

    /// Whether the scores of both weights mean the same.
    pub fn is_like(&self, other: &Self) -> bool {
        let units = match (self, other) {
            (Self::Integer(own), Self::Integer(other)) => own.unit() == other.unit(),
            (Self::Real(_), Self::Real(_)) => true,
            _ => false,
        };
        units && self.check_like(other).is_ok()
    }

    /// The weights and the bias as numbers.
    pub fn numbers(&self) -> (Vec<f64>, Option<f64>) {
        match self {
            Self::Integer(own) => {
                let number = |&count: &i64| own.unit.times(count);
                let weights = own.weights().iter().map(number).collect();
                (weights, own.bias.as_ref().map(number))
            }
            Self::Real(own) => (own.weights().to_vec(), own.bias),
        }
    }

    /// The reading of Boolean examples. None for real examples.
    pub fn reading(&self) -> Option<Reading> {
        match self {
            Self::Integer(weights) => Some(weights.reading),
            Self::Real(weights) => weights.reading,
        }
    }

    fn has_bias(&self) -> bool {
        match self {
            Self::Integer(weights) => weights.bias.is_some(),
            Self::Real(weights) => weights.bias.is_some(),
        }
    }

    /// The signs of the weights without the bias. A weight of 0 counts as positive.
    pub fn signs(&self) -> BitVector {
        let mut signs = BitVector::zeros(self.n());
        let (weights, _) = self.numbers();
        for (j, weight) in weights.into_iter().enumerate() {
            signs.set(j, weight >= 0.0);
        }
        signs
    }

    /// The weights times a unit. Integer weights store the unit separately.
    #[must_use]
    pub fn of_unit(self, unit: Unit) -> Self {
        match self {
            Self::Integer(own) => Self::Integer(own.of_unit(unit)),
            Self::Real(own) => Self::Real(own.times(unit.value())),
        }
    }

    /// Whether the weights are over real examples rather than Boolean ones.
    pub fn takes_real(&self) -> bool {
        matches!(self, Self::Real(weights) if weights.reading.is_none())
    }

    /// Memory for scoring one example.
    pub fn scratch(&self) -> LinearScratch {
        match self {
            Self::Integer(_) => LinearScratch::Words(Vec::new()),
            Self::Real(_) => LinearScratch::Values(Vec::new()),
        }
    }

    /// The score of one row.
    pub fn score(&self, block: &Block<'_>, row: usize, scratch: &mut LinearScratch) -> LinearScore {
        match (self, scratch) {
            (Self::Integer(own), LinearScratch::Words(words)) => {
                LinearScore::Integer(match block.features {
                    BlockFeatures::Sparse(rows) => {
                        own.weights.sparse_score(rows.row(row).ids, own.step(0, 0))
                    }
                    _ => {
                        words.resize(bits::words_for(own.weights.n()), 0);
                        block.bits().copy_row(row, words);
                        own.score(words)
                    }
                })
            }
            (Self::Real(own), LinearScratch::Values(_))
                if let Some(row) = own.sparse(block, row) =>
            {
                LinearScore::Real(own.weights.sparse_product(row) + own.bias.unwrap_or(0.0))
            }
            (Self::Real(weights), LinearScratch::Values(values)) => {
                LinearScore::Real(weights.score(row_values(weights.reading, block, row, values)))
            }
            _ => unreachable!("scratch of other weights"),
        }
    }

    /// The prediction for one row with its score.
    pub fn decide(&self, block: &Block<'_>, row: usize, scratch: &mut LinearScratch) -> Decision {
        match self.score(block, row, scratch) {
            LinearScore::Integer(units) => {
                let unit = match self {
                    Self::Integer(own) => own.unit,
                    Self::Real(_) => Unit::ONE,
                };
                Decision::new(Score::of_units(units, unit), units >= 0)
            }
            LinearScore::Real(score) => score.into(),
        }
    }

    /// The prediction for one row.
    pub fn is_positive(&self, block: &Block<'_>, row: usize, scratch: &mut LinearScratch) -> bool {
        match self.score(block, row, scratch) {
            LinearScore::Integer(score) => score >= 0,
            LinearScore::Real(score) => score >= 0.0,
        }
    }

    /// w += amount * x for one row, including the bias coordinate. Integer weights take the amount as an integer.
    /// Returns false and adds nothing if a real weight, or a real weight times `factor`, would leave the range of
    /// f64.
    #[must_use]
    pub fn add(
        &mut self,
        block: &Block<'_>,
        row: usize,
        (amount, factor): (f64, f64),
        scratch: &mut LinearScratch,
    ) -> bool {
        match (self, scratch) {
            (Self::Integer(own), LinearScratch::Words(words)) => {
                match block.features {
                    BlockFeatures::Sparse(rows) => {
                        own.add_sparse(rows.row(row).ids, amount as i64);
                    }
                    _ => {
                        words.resize(bits::words_for(own.weights.n()), 0);
                        block.bits().copy_row(row, words);
                        own.add(words, amount as i64);
                    }
                }
                true
            }
            (Self::Real(own), LinearScratch::Values(_))
                if let Some(row) = own.sparse(block, row) =>
            {
                let is_added = own.weights.add_sparse(row, amount, factor);
                own.add_bias(amount, is_added)
            }
            (Self::Real(weights), LinearScratch::Values(values)) => {
                let values = row_values(weights.reading, block, row, values);
                weights.add(values, amount, factor)
            }
            _ => unreachable!("scratch of other weights"),
        }
    }

    /// Learns from `rows` as a perceptron does: see
    /// [`OnlineRule::learn`](crate::learners::engine::rule::OnlineRule::learn). The amount and the factor are those
    /// of [`Self::add`] for a positive row. None if these weights cannot read the form of the examples directly.
    pub fn learn(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        (amount, factor): (f64, f64),
        mistakes_max: u64,
    ) -> Option<Learnt> {
        let positives = block.positives;
        let (end, mistaken, is_finite) = match (self, block.features) {
            (Self::Integer(own), BlockFeatures::Boolean(bits)) => {
                let step = own.step(amount as i64, positives);
                let (end, mistaken, bias) = own.weights.learn(bits, rows, step, mistakes_max);
                own.bias = bias;
                (end, mistaken, true)
            }
            (Self::Integer(own), BlockFeatures::Sparse(block)) => {
                let step = own.step(amount as i64, positives);
                let (end, mistaken, bias) =
                    own.weights.learn_sparse(block, rows, step, mistakes_max);
                own.bias = bias;
                (end, mistaken, true)
            }
            (Self::Real(own), BlockFeatures::Real { values, .. }) => {
                let step = RealStep {
                    bias: own.bias,
                    amount,
                    factor,
                    positives,
                };
                let learnt = own.weights.learn(values, rows, step, mistakes_max);
                own.bias = learnt.bias;
                (learnt.end, learnt.mistaken, learnt.is_finite)
            }
            _ => return None,
        };
        // The last mistake is the one that could not be added.
        let refused = match is_finite {
            true => 0,
            false => 1 << (end - 1),
        };
        Some(Learnt {
            mistaken,
            updated: mistaken & !refused,
            last: match (is_finite, mistaken) {
                (false, _) => Update::Refused(OUT_OF_RANGE),
                (true, 0) => Update::Unchanged,
                (true, _) => Update::Changed,
            },
            ..Learnt::nothing(end)
        })
    }

    /// The first of `rows` that the weights classify wrongly.
    pub fn first_mistake(
        &self,
        block: &Block<'_>,
        mut rows: Range<usize>,
        scratch: &mut LinearScratch,
    ) -> Option<usize> {
        if let (Self::Real(own), BlockFeatures::Real { values, .. }) = (self, block.features) {
            let bias = own.bias.unwrap_or(0.0);
            return own.weights.first_wrong(values, rows, bias, block.positives);
        }
        rows.find(|&row| self.is_positive(block, row, scratch) != block.is_positive(row))
    }

    /// The mask of the rows of a block that the weights classify wrongly.
    pub fn mistakes(&self, block: &Block<'_>) -> u64 {
        let (mut scratch, mut mask) = (self.scratch(), 0);
        let mut first = 0;
        while let Some(row) = self.first_mistake(block, first..block.rows(), &mut scratch) {
            mask |= 1 << row;
            first = row + 1;
        }
        mask
    }
}
