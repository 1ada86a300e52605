//! Examples in memory: features and labels. The readers of formats produce them, and the learners read them.

use std::borrow::Cow;
use std::ops::Range;

use crate::bits::{BitMatrix, BitVector, SparseMatrix, words_for};

use crate::learners::sample::classes::ClassCodes;
use crate::memory::{self, NoMemory};

/// Real-valued examples in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct RealMatrix {
    n: usize,
    values: Vec<f64>,
}

impl RealMatrix {
    /// Creates a matrix from `rows * n` finite values in row-major order.
    ///
    /// # Panics
    /// Panics if the values do not fill whole rows.
    pub fn from_values(n: usize, values: Vec<f64>) -> Self {
        assert!(n > 0 && values.len().is_multiple_of(n), "whole rows of {n}");
        Self { n, values }
    }

    /// Number of features per row.
    pub fn n(&self) -> usize {
        self.n
    }

    pub fn rows(&self) -> usize {
        self.values.len() / self.n
    }

    /// The `n` values of one row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.n..(row + 1) * self.n]
    }

    /// All values in row-major order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// Features of all examples. Equal features compare equal in every layout.
#[derive(Clone, Debug)]
pub enum Features {
    /// Two-valued features. Bit 1 means +1 or 1 and bit 0 means -1 or 0.
    Boolean(BitMatrix),
    /// Features that are real by definition.
    Real(RealMatrix),
    /// Boolean or real features, most of which are 0 in most examples.
    Sparse(SparseMatrix),
}

impl Features {
    /// Number of features per example.
    pub fn n(&self) -> usize {
        match self {
            Self::Boolean(matrix) => matrix.n(),
            Self::Real(matrix) => matrix.n(),
            Self::Sparse(matrix) => matrix.n(),
        }
    }

    /// Whether the features are real instead of Boolean.
    pub fn is_real(&self) -> bool {
        match self {
            Self::Boolean(_) => false,
            Self::Real(_) => true,
            Self::Sparse(matrix) => matrix.is_real(),
        }
    }

    /// The features in a dense form. Sparse ones take `n` bits or values for each example there.
    ///
    /// # Errors
    /// An error if the memory grant is too small for the dense form of sparse features.
    pub fn packed(&self) -> Result<DenseFeatures<'_>, NoMemory> {
        let sparse = match self {
            Self::Boolean(matrix) => return Ok(DenseFeatures::Boolean(Cow::Borrowed(matrix))),
            Self::Real(matrix) => return Ok(DenseFeatures::Real(Cow::Borrowed(matrix))),
            Self::Sparse(matrix) => matrix,
        };
        let (n, rows) = (sparse.n(), 0..sparse.rows());
        let row_bytes = match sparse.is_real() {
            true => n * size_of::<f64>(),
            false => words_for(n) * size_of::<u64>(),
        };
        memory::need(row_bytes as u64 * rows.len() as u64)?;
        if sparse.is_real() {
            let mut values = vec![0.0; n * sparse.rows()];
            for (row, values) in rows.zip(values.chunks_mut(n)) {
                sparse.row(row).spread(values);
            }
            let matrix = RealMatrix::from_values(n, values);
            return Ok(DenseFeatures::Real(Cow::Owned(matrix)));
        }
        Ok(DenseFeatures::Boolean(Cow::Owned(sparse.packed())))
    }

    /// Packs one row of Boolean features. None for real ones.
    pub fn bits(&self, row: usize) -> Option<BitVector> {
        match self {
            Self::Boolean(matrix) => Some(matrix.row(row)),
            Self::Sparse(matrix) if !matrix.is_real() => {
                let mut words = vec![0; words_for(matrix.n())];
                matrix.row(row).pack(&mut words);
                Some(BitVector::from_words(matrix.n(), words))
            }
            Self::Real(_) | Self::Sparse(_) => None,
        }
    }

    /// Number of examples.
    pub fn rows(&self) -> usize {
        match self {
            Self::Boolean(matrix) => matrix.rows(),
            Self::Real(matrix) => matrix.rows(),
            Self::Sparse(matrix) => matrix.rows(),
        }
    }
}

/// Features in a dense form.
#[derive(Clone, Debug, PartialEq)]
pub enum DenseFeatures<'a> {
    /// Two-valued features.
    Boolean(Cow<'a, BitMatrix>),
    /// Features that are real by definition.
    Real(Cow<'a, RealMatrix>),
}

impl PartialEq for Features {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Sparse(one), Self::Sparse(other)) => one == other,
            (Self::Boolean(one), Self::Boolean(other)) => one == other,
            (Self::Real(one), Self::Real(other)) => one == other,
            (Self::Sparse(sparse), Self::Real(dense))
            | (Self::Real(dense), Self::Sparse(sparse)) => {
                let mut values = vec![0.0; sparse.n()];
                let mut is_equal = |row: usize| {
                    sparse.row(row).spread(&mut values);
                    dense.row(row) == values
                };
                sparse.is_real()
                    && (sparse.n(), sparse.rows()) == (dense.n(), dense.rows())
                    && (0..dense.rows()).all(&mut is_equal)
            }
            _ => {
                (self.n(), self.rows()) == (other.n(), other.rows())
                    && (0..self.rows()).all(|row| {
                        self.bits(row)
                            .is_some_and(|bits| Some(bits) == other.bits(row))
                    })
            }
        }
    }
}

impl From<DenseFeatures<'_>> for Features {
    fn from(features: DenseFeatures<'_>) -> Self {
        match features {
            DenseFeatures::Boolean(matrix) => Self::Boolean(matrix.into_owned()),
            DenseFeatures::Real(matrix) => Self::Real(matrix.into_owned()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Labels {
    /// Half-space examples without labels. Each example is positive by definition.
    HalfSpace,
    /// One class code per example.
    Labelled(ClassCodes),
    /// No labels. The examples are only for prediction.
    Unlabelled,
}

impl Labels {
    /// The labels of two classes: bit 1 means +1.
    pub fn of_signs(signs: BitVector) -> Self {
        Self::Labelled(signs.into())
    }

    /// Whether each example has a label.
    pub fn are_given(&self) -> bool {
        matches!(self, Self::Labelled(_))
    }

    /// The signs of examples of two classes, where bit 1 means +1. None for other examples.
    pub fn signs(&self) -> Option<&BitVector> {
        match self {
            Self::Labelled(codes) => codes.signs(),
            Self::HalfSpace | Self::Unlabelled => None,
        }
    }
}

/// A finite sample in memory.
///
/// Invariant: there is at least one example and one feature. Labelled data has one label per example.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    features: Features,
    labels: Labels,
}

impl Data {
    /// Creates a sample.
    ///
    /// # Panics
    /// Panics if there is no example, no feature or not exactly one label per example.
    pub fn new(features: Features, labels: Labels) -> Self {
        assert!(features.rows() > 0 && features.n() > 0, "an empty sample");
        if let Labels::Labelled(codes) = &labels {
            assert_eq!(codes.rows(), features.rows(), "one label an example");
        }
        Self { features, labels }
    }

    /// The examples with other labels.
    ///
    /// # Panics
    /// As for [`Self::new`].
    #[must_use]
    pub fn with_labels(self, labels: Labels) -> Self {
        Self::new(self.features, labels)
    }

    pub fn features(&self) -> &Features {
        &self.features
    }

    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Number of features per example.
    pub fn n(&self) -> usize {
        self.features.n()
    }

    /// Number of examples.
    pub fn examples(&self) -> usize {
        self.features.rows()
    }

    /// Copies a range of rows, which must not be empty.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Self {
        self.select(&rows.collect::<Vec<_>>())
    }

    /// Copies the rows with these indices, of which there must be at least one.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let features = match &self.features {
            Features::Boolean(all) => {
                let mut matrix = BitMatrix::new(all.n());
                for &row in rows {
                    matrix.push_row(all.row(row).words());
                }
                Features::Boolean(matrix)
            }
            Features::Real(all) => {
                let values = rows.iter().flat_map(|&row| all.row(row)).copied();
                Features::Real(RealMatrix::from_values(all.n(), values.collect()))
            }
            Features::Sparse(all) => {
                let mut matrix = SparseMatrix::new(all.n(), all.is_real());
                rows.iter().for_each(|&row| matrix.push_row(all.row(row)));
                Features::Sparse(matrix)
            }
        };
        let labels = match &self.labels {
            Labels::Labelled(all) => Labels::Labelled(all.select(rows)),
            alike => alike.clone(),
        };
        Self::new(features, labels)
    }
}
