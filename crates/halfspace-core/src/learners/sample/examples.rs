//! The interface to a finite sample, and how its rows are read.
//!
//! Samples in memory implement [`Examples`] in this file. Those that are read from a store implement it in the crate
//! `halfspace-formats`, and they may become unreadable in the middle, so every read can fail.

use std::fmt;
use std::ops::ControlFlow;

use crate::bits::{BLOCK_ROWS, words_for};
use crate::memory;

use crate::learners::engine::run::Interrupt;
use crate::learners::sample::block::{BlockFeatures, row_mask};
use crate::learners::sample::classes::{BlockCodes, ClassCodes};
use crate::learners::sample::data::{Data, Features, Labels, RealMatrix};
use crate::learners::sample::packer::Packer;

/// A finite sample, in memory or outside.
pub trait Examples: fmt::Debug + Send + Sync {
    /// Describes the sample without its rows.
    fn shape(&self) -> Shape;

    /// Creates a reader of the rows. Several readers may exist at the same time.
    fn reader(&self) -> Box<dyn ReadRows + '_>;

    /// The whole sample, if it is in memory.
    fn in_memory(&self) -> Option<&Data>;

    /// Upper bound of the bytes of a block of rows in memory.
    fn block_bytes_max(&self) -> u64 {
        self.shape().block().memory_bytes()
    }
}

/// Description of a sample before any row is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of features per example, at least one.
    pub n: usize,
    /// Number of examples, at least one.
    pub examples: usize,
    /// Whether the features are real instead of Boolean.
    pub is_real: bool,
    /// Number of active features of all examples, if the rows are sparse.
    pub entries: Option<usize>,
    /// Kind of labels.
    pub labels: LabelKind,
}

impl Shape {
    /// Chooses the layout for examples with so many active features: sparse if that takes less than half of the
    /// bytes, because a dense row is read faster than a sparse one of the same size.
    #[must_use]
    pub fn of_entries(self, entries: usize) -> Self {
        let sparse = Self {
            entries: Some(entries),
            ..self
        };
        let words = if self.is_real {
            self.n
        } else {
            words_for(self.n)
        };
        let dense_bytes = (words as u64)
            .saturating_mul(self.examples as u64)
            .saturating_mul(8);
        match sparse.memory_bytes() < dense_bytes / 2 {
            true => sparse,
            false => self.packed(),
        }
    }

    /// The shape of the same examples as dense rows.
    #[must_use]
    pub fn packed(self) -> Self {
        Self {
            entries: None,
            ..self
        }
    }

    /// The average number of active features of a sparse row, rounded up. None if the rows are dense.
    #[must_use]
    pub fn average_entries(&self) -> Option<u64> {
        let entries = self.entries?;
        Some(entries.div_ceil(self.examples.max(1)) as u64)
    }

    /// Approximate number of bytes that the examples need in memory.
    pub fn memory_bytes(&self) -> u64 {
        if let Some(entries) = self.entries {
            let bytes_an_entry = if self.is_real { 12 } else { 4 };
            let entries = (entries as u64).saturating_mul(bytes_an_entry);
            let starts = (self.examples as u64 + 1).saturating_mul(8);
            return entries
                .saturating_add(starts)
                .saturating_add(self.label_bytes());
        }
        let words = match self.is_real {
            true => (self.n as u64).saturating_mul(self.examples as u64),
            false => {
                let rows = self.examples.next_multiple_of(BLOCK_ROWS) as u64;
                (words_for(self.n) as u64).saturating_mul(rows)
            }
        };
        words.saturating_mul(8).saturating_add(self.label_bytes())
    }

    /// The shape of a block, as if it had all active features.
    #[must_use]
    pub fn block(self) -> Self {
        Self {
            examples: self.examples.min(BLOCK_ROWS),
            ..self
        }
    }

    fn label_bytes(&self) -> u64 {
        (8 * words_for(self.examples) * self.labels.planes()) as u64
    }
}

/// Why a task of two classes refuses examples of more.
pub const MANY_CLASSES: &str =
    "the examples have more than two classes; `positive` names the one to tell from the others";

/// Kind of labels of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelKind {
    /// Half-space examples. Each example is positive by definition.
    HalfSpace,
    /// One class code per example, in so many bit planes.
    Labelled { planes: usize },
    /// No labels.
    Unlabelled,
}

impl LabelKind {
    /// Labels of two classes.
    pub const SIGNS: Self = Self::Labelled { planes: 1 };

    /// Whether each example has a label.
    pub fn is_labelled(self) -> bool {
        matches!(self, Self::Labelled { .. })
    }

    /// Number of bit planes of the class codes, 0 without labels.
    pub fn planes(self) -> usize {
        match self {
            Self::Labelled { planes } => planes,
            Self::HalfSpace | Self::Unlabelled => 0,
        }
    }

    /// Whether the examples have more classes than two.
    pub fn has_many_classes(self) -> bool {
        matches!(self, Self::Labelled { planes: 2.. })
    }
}

/// Reader of the rows of one sample.
pub trait ReadRows: fmt::Debug + Send {
    /// Reads row `first`, which must exist, in the sample's own order. The result may contain later rows of the same
    /// 64-row block. Boolean rows are read in whole blocks unless they are sparse, so for them `first` must be a
    /// multiple of 64.
    ///
    /// # Errors
    /// Returns [`Interrupt::Unreadable`] if the rows cannot be read, and [`Interrupt::Suspended`] if the reader was
    /// told to stop.
    fn rows(&mut self, first: usize) -> Result<Rows<'_>, Interrupt>;

    /// Reads one row that exists, possibly among other rows. Returns these rows and the place of the requested one.
    /// This is for readers that access rows in any order.
    ///
    /// # Errors
    /// See [`Self::rows`].
    fn row(&mut self, row: usize) -> Result<(Rows<'_>, usize), Interrupt>;
}

/// Up to 64 rows in their stored form.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Features of the rows.
    pub features: BlockFeatures<'a>,
    /// The codes of all examples, and the example of the first row. None for rows without labels.
    codes: Option<(&'a ClassCodes, usize)>,
}

impl Rows<'_> {
    /// Bit `r` is set if row `r` is positive: if it has no label, or the code 1 of two classes. With more classes no
    /// row is positive.
    pub fn positives(&self) -> u64 {
        match self.codes {
            None => row_mask(self.count()),
            Some((codes, _)) if codes.signs().is_none() => 0,
            Some((codes, first)) => codes.positives(first),
        }
    }

    /// The class codes of rows of more than two classes.
    pub fn codes(&self) -> Option<BlockCodes> {
        let (codes, first) = self.codes.filter(|(codes, _)| codes.signs().is_none())?;
        Some(codes.block(first))
    }

    /// Number of rows, at least one.
    pub fn count(&self) -> usize {
        self.features.rows()
    }
}

/// Calls `see` with all rows in order, and with the index of the first row of each call. Sparse rows are shown in a
/// dense form. Stops if `see` breaks.
///
/// # Errors
/// Returns the interrupt if the rows cannot be read.
pub fn for_each_rows(
    examples: &dyn Examples,
    mut see: impl FnMut(usize, &Rows<'_>) -> ControlFlow<()>,
) -> Result<(), Interrupt> {
    let (mut reader, shape) = (examples.reader(), examples.shape());
    let mut packer = None;
    let mut first = 0;
    while first < shape.examples {
        let mut rows = reader.rows(first)?;
        if let BlockFeatures::Sparse(block) = rows.features {
            let packer = packer.get_or_insert_with(|| Packer::new(shape.n, shape.is_real));
            rows.features = packer.pack(block, 0..block.rows());
        }
        let count = rows.count();
        if see(first, &rows).is_break() {
            break;
        }
        first += count;
    }
    Ok(())
}

/// Reads the class codes of all examples, or returns `None` if they have no labels.
///
/// # Errors
/// Returns the interrupt if the rows cannot be read, or if the codes do not fit into the memory.
pub fn class_codes(examples: &dyn Examples) -> Result<Option<ClassCodes>, Interrupt> {
    let Shape {
        labels,
        examples: count,
        ..
    } = examples.shape();
    match (labels, examples.in_memory().map(Data::labels)) {
        (_, Some(Labels::Labelled(codes))) => return Ok(Some(codes.clone())),
        (LabelKind::HalfSpace | LabelKind::Unlabelled, _) => return Ok(None),
        (LabelKind::Labelled { .. }, _) => {}
    }
    let needed = memory::need((labels.planes() * 8 * words_for(count)) as u64);
    needed.map_err(|_| Interrupt::Memory)?;
    let mut planes = vec![vec![0; words_for(count)]; labels.planes()];
    let mut reader = examples.reader();
    let mut first = 0;
    while first < count {
        let rows = reader.rows(first)?;
        let codes = rows.codes();
        for (plane, words) in planes.iter_mut().enumerate() {
            let word = codes.map_or(rows.positives(), |codes| codes.words()[plane]);
            let (at, shift) = (first / BLOCK_ROWS, first % BLOCK_ROWS);
            words[at] |= (word & row_mask(rows.count())) << shift;
        }
        first += rows.count();
    }
    Ok(Some(ClassCodes::from_planes(count, planes)))
}

impl Examples for Data {
    fn shape(&self) -> Shape {
        Shape {
            n: self.n(),
            examples: self.examples(),
            is_real: self.features().is_real(),
            entries: match self.features() {
                Features::Sparse(matrix) => Some(matrix.entries()),
                Features::Boolean(_) | Features::Real(_) => None,
            },
            labels: match self.labels() {
                Labels::HalfSpace => LabelKind::HalfSpace,
                Labels::Labelled(codes) => LabelKind::Labelled {
                    planes: codes.planes(),
                },
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
    /// Implements [`ReadRows::rows`] for examples in memory.
    pub fn of(data: &'a Data, first: usize) -> Self {
        let block = first / BLOCK_ROWS;
        let end = ((block + 1) * BLOCK_ROWS).min(data.examples());
        let features = match data.features() {
            Features::Boolean(matrix) => {
                debug_assert!(first.is_multiple_of(BLOCK_ROWS), "whole blocks");
                BlockFeatures::Boolean(matrix.block(block))
            }
            Features::Real(matrix) => real(matrix, first, end),
            Features::Sparse(matrix) => BlockFeatures::Sparse(matrix.among(first..end)),
        };
        Self {
            features,
            codes: codes(data, first),
        }
    }

    /// Implements [`ReadRows::row`] for examples in memory.
    pub fn with(data: &'a Data, row: usize) -> (Self, usize) {
        let features = match data.features() {
            Features::Boolean(_) => {
                let place = row % BLOCK_ROWS;
                return (Self::of(data, row - place), place);
            }
            Features::Real(matrix) => real(matrix, row, row + 1),
            Features::Sparse(matrix) => BlockFeatures::Sparse(matrix.among(row..row + 1)),
        };
        let rows = Self {
            features,
            codes: codes(data, row),
        };
        (rows, 0)
    }
}

fn codes(data: &Data, first: usize) -> Option<(&ClassCodes, usize)> {
    match data.labels() {
        Labels::Labelled(codes) => Some((codes, first)),
        Labels::HalfSpace | Labels::Unlabelled => None,
    }
}

fn real(matrix: &RealMatrix, first: usize, end: usize) -> BlockFeatures<'_> {
    let n = matrix.n();
    BlockFeatures::Real {
        n,
        values: &matrix.values()[first * n..end * n],
    }
}
