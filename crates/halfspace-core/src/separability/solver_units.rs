//! Scaling of real values for the solver of the maximum margin.
//!
//! Some tolerances of the solver are absolute, so the values are divided by a power of two that makes them at most 1 in
//! magnitude. If the norm excludes the bias, they are first centred at 0. Proofs do not depend on this, because they
//! all use the sample itself.

use crate::learners::sample::data::DenseFeatures;

use super::examples::SignedExamples;
use super::interior_point::Constraint;
use super::proved_margin::Norm;

/// A translation followed by a division by a power of two.
pub struct SolverUnits {
    /// Subtracted from the features. Empty if there is no translation.
    centre: Vec<f64>,
    /// Exponent of the power of two.
    exponent: i32,
}

impl SolverUnits {
    /// Chooses the units for the working examples. Boolean examples keep their units.
    pub fn new(examples: &SignedExamples<'_>, working: &[usize], norm: Norm) -> Self {
        let DenseFeatures::Real(matrix) = examples.features() else {
            return Self {
                centre: Vec::new(),
                exponent: 0,
            };
        };
        let middle = |feature: usize| {
            let values = working.iter().map(|&index| matrix.row(index)[feature]);
            let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| {
                (a.min(x), b.max(x))
            });
            least / 2.0 + most / 2.0
        };
        let centre: Vec<f64> = match norm {
            Norm::WithBias => Vec::new(),
            Norm::WithoutBias => (0..matrix.n()).map(middle).collect(),
        };
        let mut largest: f64 = match norm {
            Norm::WithBias if examples.has_bias() => 1.0,
            _ => 0.0,
        };
        for &index in working {
            for (feature, value) in matrix.row(index).iter().enumerate() {
                let moved = value - centre.get(feature).unwrap_or(&0.0);
                largest = largest.max(moved.abs());
            }
        }
        let exponent = match largest > 0.0 && largest.is_finite() {
            true => libm::ilogb(largest) + 1,
            false => 0,
        };
        Self { centre, exponent }
    }

    /// The constraint a.w >= 1 for example `index` in these units.
    pub fn constraint(&self, examples: &SignedExamples<'_>, index: usize) -> Constraint {
        let mut values = Vec::new();
        examples.values(index, &mut values);
        let sign = if examples.is_negative(index) {
            -1.0
        } else {
            1.0
        };
        for (value, centre) in values.iter_mut().zip(&self.centre) {
            *value -= sign * centre;
        }
        let scaled = match self.centre.is_empty() {
            true => values.len(),
            // A bias outside the norm may have any unit.
            false => self.centre.len(),
        };
        for value in &mut values[..scaled] {
            *value = libm::scalbn(*value, -self.exponent);
        }
        Constraint { values, least: 1.0 }
    }

    /// Converts weights back to the units of the sample. The bias of translated examples is not converted, so the
    /// caller must choose a new one.
    pub fn undo(&self, variables: &[f64]) -> Vec<f64> {
        let scaled = variables.iter();
        scaled.map(|w| libm::scalbn(*w, -self.exponent)).collect()
    }
}
