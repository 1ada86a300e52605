//! Weights in [0, 1] with a constant inhibition: the hypothesis of the bounded perceptron.
//!
//! This file holds the score, the weight update and the check of the ranges; `bounded_perceptron.rs` decides when to
//! update. The numbers are floating point, so each sum is added in the order of the coordinates, and every machine
//! computes the same result.

use crate::bits::WORD_BITS;
use crate::learners::decision::Decision;
use crate::learners::sample::block::{Block, BlockFeatures};

/// Weights with their inhibition and threshold. The score of x in [0, 1]^n is
/// `(1/n) sum (W_i - inhibition) x_i - threshold`.
///
/// Invariant: there is at least one weight and each lies in [0, 1]. The inhibition and the threshold are finite and
/// not negative.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundedWeights {
    weights: Vec<f64>,
    inhibition: f64,
    threshold: f64,
}

impl BoundedWeights {
    /// Creates weights from checked numbers.
    ///
    /// # Panics
    /// Panics if a number is out of range or `weights` is empty.
    pub fn new(weights: Vec<f64>, inhibition: f64, threshold: f64) -> Self {
        let made = Self::from_numbers(weights, inhibition, threshold);
        made.expect("checked parameters are in their ranges")
    }

    /// Creates weights. Returns `None` if a number is out of range or `weights` is empty.
    pub fn from_numbers(weights: Vec<f64>, inhibition: f64, threshold: f64) -> Option<Self> {
        let is_size = |number: f64| number >= 0.0 && number.is_finite();
        let is_bounded = weights.iter().all(|weight| (0.0..=1.0).contains(weight));
        let is_whole = is_bounded && !weights.is_empty();
        (is_whole && is_size(inhibition) && is_size(threshold)).then_some(Self {
            weights,
            inhibition,
            threshold,
        })
    }

    /// One weight per feature.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Amount that the score subtracts from each weight.
    pub fn inhibition(&self) -> f64 {
        self.inhibition
    }

    /// Amount that the score subtracts from the mean.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The prediction for one row, with its score.
    pub fn decide(&self, block: &Block<'_>, row: usize) -> Decision {
        self.score(block, row).into()
    }

    /// Whether the prediction for one row is +1.
    pub fn is_positive(&self, block: &Block<'_>, row: usize) -> bool {
        self.score(block, row) >= 0.0
    }

    /// The score of one row. Boolean features count as 0 and 1.
    fn score(&self, block: &Block<'_>, row: usize) -> f64 {
        let mut sum = 0.0;
        for_each_active(block, row, |j, x| {
            sum += (self.weights[j] - self.inhibition) * x
        });
        sum / self.weights.len() as f64 - self.threshold
    }

    /// Whether every feature of a row is 0.
    pub fn is_inactive(&self, block: &Block<'_>, row: usize) -> bool {
        let mut is_inactive = true;
        for_each_active(block, row, |_, _| is_inactive = false);
        is_inactive
    }

    /// Moves each weight towards `target` (0 or 1) by the fraction `eta * x_i` of the distance. Returns whether any
    /// changed.
    pub fn approach(&mut self, block: &Block<'_>, row: usize, target: f64, eta: f64) -> bool {
        let mut is_changed = false;
        for_each_active(block, row, |j, x| {
            let old = self.weights[j];
            // Keeps the weight in range despite rounding and despite features outside [0, 1].
            self.weights[j] = (old + eta * x * (target - old)).clamp(0.0, 1.0);
            is_changed |= self.weights[j] != old;
        });
        is_changed
    }

    /// The mask of the rows of a block on which the prediction is wrong.
    pub fn mistakes(&self, block: &Block<'_>) -> u64 {
        (0..block.rows()).fold(0, |mask, row| {
            let predicted = self.is_positive(block, row);
            mask | u64::from(predicted != block.is_positive(row)) << row
        })
    }
}

/// Calls `visit` with the active features of a row in order. The value -1 counts as 0 in real rows too, so that the
/// prediction of a row does not depend on whether the other rows are Boolean.
fn for_each_active(block: &Block<'_>, row: usize, mut visit: impl FnMut(usize, f64)) {
    match block.features {
        BlockFeatures::Real { n, values } => {
            let active = values[row * n..(row + 1) * n].iter().enumerate();
            active
                .filter(|(_, x)| **x != 0.0 && **x != -1.0)
                .for_each(|(j, &x)| visit(j, x));
        }
        BlockFeatures::Sparse(rows) => {
            let active = rows.row(row).entries().filter(|(_, x)| *x != -1.0);
            active.for_each(|(j, x)| visit(j, x));
        }
        BlockFeatures::Boolean(bits) => {
            for index in 0..bits.words_per_row() {
                let mut word = bits.word(index, row);
                while word != 0 {
                    visit(index * WORD_BITS + word.trailing_zeros() as usize, 1.0);
                    word &= word - 1;
                }
            }
        }
    }
}
