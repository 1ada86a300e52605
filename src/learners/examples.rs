//! A finite sample at rest, in memory or elsewhere, and how its rows are read.
//!
//! What is elsewhere may turn out to be unreadable in the middle: every reading can fail. Who keeps
//! examples outside memory implements [`Examples`]; here is what is in memory.

use std::fmt;
use std::ops::ControlFlow;

use crate::bits::{BLOCK_ROWS, words_for};

use super::block::{BlockFeatures, row_mask};
use super::data::{Data, Features, Labels, RealMatrix};
use super::run::Interrupt;

/// A finite sample, wherever it is kept.
pub trait Examples: fmt::Debug + Send + Sync {
    /// What it is, rows apart.
    fn shape(&self) -> Shape;

    /// Reads its rows. Several may read at once.
    fn reader(&self) -> Box<dyn ReadRows + '_>;

    /// The whole sample, where it is in memory.
    fn in_memory(&self) -> Option<&Data>;
}

/// What is known of a sample before a row of it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Features an example, at least one.
    pub n: usize,
    /// How many examples, at least one.
    pub examples: usize,
    /// Whether the features are real rather than Boolean.
    pub is_real: bool,
    /// What is said of each example.
    pub labels: LabelKind,
}

impl Shape {
    /// About how many bytes the examples take in memory.
    pub fn memory_bytes(&self) -> u64 {
        let words = match self.is_real {
            true => (self.n as u64).saturating_mul(self.examples as u64),
            false => {
                let rows = self.examples.next_multiple_of(BLOCK_ROWS) as u64;
                (words_for(self.n) as u64).saturating_mul(rows)
            }
        };
        let labels = match self.labels {
            LabelKind::Labelled => words_for(self.examples) as u64,
            LabelKind::HalfSpace | LabelKind::Unlabelled => 0,
        };
        words.saturating_add(labels).saturating_mul(8)
    }
}

/// What is said of the examples of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelKind {
    /// Each is positive by definition.
    HalfSpace,
    /// Each has a label.
    Labelled,
    /// Nothing.
    Unlabelled,
}

/// Reads the rows of one sample.
pub trait ReadRows: fmt::Debug + Send {
    /// Rows in the sample's own order: row `first`, which exists, and perhaps some after it, but
    /// none past the end of its block of 64. Boolean rows are read by whole blocks, so `first` is
    /// then a multiple of 64.
    ///
    /// # Errors
    /// [`Interrupt::Unreadable`], or [`Interrupt::Suspended`] where the reading itself was told.
    fn rows(&mut self, first: usize) -> Result<Rows<'_>, Interrupt>;

    /// One row that exists, among others perhaps: they, and which of them it is. For rows that are
    /// read in no order.
    ///
    /// # Errors
    /// As for [`Self::rows`].
    fn row(&mut self, row: usize) -> Result<(Rows<'_>, usize), Interrupt>;
}

/// Up to 64 rows as they are kept.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Their features.
    pub features: BlockFeatures<'a>,
    /// Bit `r` is set when row `r` is positive; all are where there are no labels.
    pub positives: u64,
}

impl Rows<'_> {
    /// How many, at least one.
    pub fn count(&self) -> usize {
        self.features.rows()
    }
}

/// Shows all rows in order with the index of the first of them, until `see` breaks off.
///
/// # Errors
/// What kept them from being read.
pub fn for_each_rows(
    examples: &dyn Examples,
    mut see: impl FnMut(usize, &Rows<'_>) -> ControlFlow<()>,
) -> Result<(), Interrupt> {
    let mut reader = examples.reader();
    let mut first = 0;
    while first < examples.shape().examples {
        let rows = reader.rows(first)?;
        if see(first, &rows).is_break() {
            break;
        }
        first += rows.count();
    }
    Ok(())
}

impl Examples for Data {
    fn shape(&self) -> Shape {
        Shape {
            n: self.n(),
            examples: self.examples(),
            is_real: matches!(self.features(), Features::Real(_)),
            labels: match self.labels() {
                Labels::HalfSpace => LabelKind::HalfSpace,
                Labels::Labelled(_) => LabelKind::Labelled,
                Labels::Unlabelled => LabelKind::Unlabelled,
            },
        }
    }

    fn reader(&self) -> Box<dyn ReadRows + '_> {
        Box::new(self)
    }

    fn in_memory(&self) -> Option<&Data> {
        Some(self)
    }
}

impl ReadRows for &Data {
    fn rows(&mut self, first: usize) -> Result<Rows<'_>, Interrupt> {
        Ok(Rows::of(self, first))
    }

    fn row(&mut self, row: usize) -> Result<(Rows<'_>, usize), Interrupt> {
        Ok(Rows::with(self, row))
    }
}

impl<'a> Rows<'a> {
    /// Of examples in memory, what [`ReadRows::rows`] reads.
    pub fn of(data: &'a Data, first: usize) -> Self {
        let block = first / BLOCK_ROWS;
        let end = ((block + 1) * BLOCK_ROWS).min(data.examples());
        let positives = match data.labels() {
            Labels::Labelled(labels) => labels.words()[block] >> (first % BLOCK_ROWS),
            Labels::HalfSpace | Labels::Unlabelled => row_mask(end - first),
        };
        let features = match data.features() {
            Features::Boolean(matrix) => {
                debug_assert!(first.is_multiple_of(BLOCK_ROWS), "whole blocks");
                BlockFeatures::Boolean(matrix.block(block))
            }
            Features::Real(matrix) => real(matrix, first, end),
        };
        Self {
            features,
            positives,
        }
    }

    /// Of examples in memory, what [`ReadRows::row`] reads.
    pub fn with(data: &'a Data, row: usize) -> (Self, usize) {
        let Features::Real(matrix) = data.features() else {
            let place = row % BLOCK_ROWS;
            return (Self::of(data, row - place), place);
        };
        let is_positive = match data.labels() {
            Labels::Labelled(labels) => labels.get(row),
            Labels::HalfSpace | Labels::Unlabelled => true,
        };
        let rows = Self {
            features: real(matrix, row, row + 1),
            positives: is_positive.into(),
        };
        (rows, 0)
    }
}

fn real(matrix: &RealMatrix, first: usize, end: usize) -> BlockFeatures<'_> {
    let n = matrix.n();
    BlockFeatures::Real {
        n,
        values: &matrix.values()[first * n..end * n],
    }
}
