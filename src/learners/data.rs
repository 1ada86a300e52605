//! Examples in memory, packed: what formats produce and learners read.

use std::ops::Range;

use crate::bits::{BitMatrix, BitVector};

/// Real-valued examples, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct RealMatrix {
    n: usize,
    values: Vec<f64>,
}

impl RealMatrix {
    /// Takes `rows * n` finite values, row by row.
    ///
    /// # Panics
    /// When the values do not fill whole rows.
    pub fn from_values(n: usize, values: Vec<f64>) -> Self {
        assert!(n > 0 && values.len().is_multiple_of(n), "whole rows of {n}");
        Self { n, values }
    }

    /// Features a row.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.n
    }

    /// One row, `n` values.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.n..(row + 1) * self.n]
    }

    /// All values, row by row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// The features of every example.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// Two-valued: bit 1 stands for +1 or 1, bit 0 for -1 or 0.
    Boolean(BitMatrix),
    /// Real by definition.
    Real(RealMatrix),
}

impl Features {
    /// Features an example.
    pub fn n(&self) -> usize {
        match self {
            Self::Boolean(matrix) => matrix.n(),
            Self::Real(matrix) => matrix.n(),
        }
    }

    /// The number of examples.
    pub fn rows(&self) -> usize {
        match self {
            Self::Boolean(matrix) => matrix.rows(),
            Self::Real(matrix) => matrix.rows(),
        }
    }
}

/// What is said of each example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Labels {
    /// Half-space examples: each is positive by definition.
    HalfSpace,
    /// One bit an example; 1 is +1.
    Labelled(BitVector),
    /// Nothing is said: data to predict.
    Unlabelled,
}

/// A finite sample.
///
/// Invariant: at least one example and one feature; as many labels as examples.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    features: Features,
    labels: Labels,
}

impl Data {
    /// Joins features and labels.
    ///
    /// # Panics
    /// When there is no example or feature, or the labels are not one an example.
    pub fn new(features: Features, labels: Labels) -> Self {
        assert!(features.rows() > 0 && features.n() > 0, "an empty sample");
        if let Labels::Labelled(bits) = &labels {
            assert_eq!(bits.n(), features.rows(), "one label an example");
        }
        Self { features, labels }
    }

    /// The features of every example.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// What is said of each example.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Features an example.
    pub fn n(&self) -> usize {
        self.features.n()
    }

    /// The number of examples.
    pub fn examples(&self) -> usize {
        self.features.rows()
    }

    /// Some of the examples, at least one of those there are.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Self {
        let features = match &self.features {
            Features::Boolean(all) => {
                let mut matrix = BitMatrix::new(all.n());
                for row in rows.clone() {
                    matrix.push_row(all.row(row).words());
                }
                Features::Boolean(matrix)
            }
            Features::Real(all) => {
                let n = all.n();
                let values = &all.values()[rows.start * n..rows.end * n];
                Features::Real(RealMatrix::from_values(n, values.to_vec()))
            }
        };
        let labels = match &self.labels {
            Labels::Labelled(all) => {
                let mut labels = BitVector::zeros(rows.len());
                for (at, row) in rows.enumerate() {
                    labels.set(at, all.get(row));
                }
                Labels::Labelled(labels)
            }
            alike => alike.clone(),
        };
        Self::new(features, labels)
    }
}
