//! Stored form of data: the learners' own layout on disk, written and read one block at a time.
//!
//! This module owns the writer and the sequential reader of stored data. [`crate::stored::layout`] specifies where
//! every part is.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::Arc;

use halfspace_core::bits::{BLOCK_ROWS, BitMatrix, SparseMatrix, words_for};
use halfspace_core::learners::sample::block::row_mask;
use halfspace_core::learners::sample::classes::{BlockCodes, ClassCodes};
use halfspace_core::learners::sample::data::{Data, Features, Labels, RealMatrix};
use halfspace_core::learners::sample::examples::{Examples, LabelKind, Shape};
use halfspace_core::learners::sample::weights::Weight;

use crate::classes::Classes;
use crate::stored::header::BlocksError;
use crate::stored::layout::{Layout, Units};
use crate::stored::parts::{RowsPart, for_each_part};
use crate::stored::sparse_blocks::{self, SparseWords};
use crate::stored::weights;
use crate::stored::words::{WordReader, WordWriter};
use crate::vocabulary::Vocabulary;

/// Writes data in the stored form, with the names of their classes, which are 1 and -1 without names, and of their
/// features, and with the weights of the examples.
///
/// # Errors
/// When the target cannot be written, or the bytes of a block exceed 64 bits.
pub fn write_blocks(
    data: &Data,
    classes: Option<&Classes>,
    vocabulary: Option<&Vocabulary>,
    weights: Option<&[Weight]>,
    to: impl Write,
) -> Result<(), BlocksError> {
    let units = Units {
        names: vocabulary.is_some(),
        weights: weights.is_some(),
    };
    let mut blocks = BlockWriter::new(data.shape(), units, to)?;
    for_each_part(data, |part| blocks.push(&part))?;
    blocks.finish(classes, vocabulary, weights)
}

/// Writer of the stored form, one part of the rows at a time. All stored data come from this writer.
pub(crate) struct BlockWriter<W> {
    layout: Layout,
    words: WordWriter<W>,
    rows_written: usize,
    /// The labels of the real rows of the present block so far.
    labels: BlockCodes,
    /// The ends of the sparse blocks so far.
    ends: Vec<u64>,
    /// Reused buffer.
    packed: Vec<u8>,
}

impl<W: Write> BlockWriter<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// When the target cannot be written, or the bytes of a block exceed 64 bits.
    pub(crate) fn new(header: Shape, units: Units, to: W) -> Result<Self, BlocksError> {
        let layout = Layout::new(header, units)?;
        let mut words = WordWriter::with_crc(to);
        let mut head = Vec::with_capacity(Layout::CHECKED_HEAD_BYTES);
        layout.write(&mut head)?;
        for &eight in head.as_chunks().0 {
            words.write_unchecked(u64::from_le_bytes(eight))?;
        }
        Ok(Self {
            labels: BlockCodes::zeros(layout.header().labels.planes().max(1)),
            layout,
            words,
            rows_written: 0,
            ends: Vec::new(),
            packed: Vec::new(),
        })
    }

    /// Writes the next rows.
    ///
    /// # Errors
    /// When the target cannot be written.
    pub(crate) fn push(&mut self, part: &RowsPart<'_>) -> Result<(), BlocksError> {
        let block = self.rows_written / BLOCK_ROWS;
        match part {
            RowsPart::Block(rows, labels) => {
                self.words.write_slice(rows.words(), |word| word)?;
                self.write_labels(labels.as_ref())?;
                self.rows_written += rows.rows();
                self.end_unit(self.layout.unit(block, 0))?;
            }
            RowsPart::Sparse(rows, labels) => {
                let before = self.words.written();
                sparse_blocks::write(*rows, &mut self.packed, &mut self.words)?;
                self.write_labels(labels.as_ref())?;
                self.rows_written += rows.rows();
                self.end_unit(self.layout.unit(block, 0))?;
                let start = self.ends.last().copied();
                let start = start.unwrap_or(Layout::CHECKED_HEAD_BYTES as u64);
                self.ends.push(start + self.words.written() - before);
            }
            RowsPart::Row(values, label) => {
                self.words.write_slice(values, f64::to_bits)?;
                let place = self.rows_written % BLOCK_ROWS;
                self.rows_written += 1;
                if let Some(code) = label {
                    self.labels.set(place, *code);
                }
                let is_by_rows = self.layout.is_by_rows();
                if is_by_rows {
                    self.end_unit(self.layout.unit(block, place))?;
                }
                if place + 1 == self.layout.rows_of(block) {
                    if label.is_some() {
                        let empty = BlockCodes::zeros(self.layout.header().labels.planes().max(1));
                        let labels = std::mem::replace(&mut self.labels, empty);
                        self.write_labels(Some(&labels))?;
                    }
                    match (is_by_rows, label) {
                        (false, _) => self.end_unit(self.layout.unit(block, 0))?,
                        (true, Some(_)) => self.end_unit(self.layout.labels_unit(block))?,
                        (true, None) => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the words of labels. The codes may come in fewer planes than the header has.
    fn write_labels(&mut self, codes: Option<&BlockCodes>) -> io::Result<()> {
        let words = codes.map_or(&[][..], BlockCodes::words);
        let planes = self.layout.header().labels.planes();
        self.words
            .write((0..planes).map(|plane| words.get(plane).copied().unwrap_or(0)))
    }

    fn end_unit(&mut self, unit: usize) -> io::Result<()> {
        let crc = self.words.take_crc();
        self.words.write_unchecked(self.layout.check_of(unit, crc))
    }

    /// Writes a unit of names.
    fn write_names(&mut self, mut names: Vec<u8>, unit: usize) -> io::Result<()> {
        self.words.write([names.len() as u64])?;
        names.resize(names.len().next_multiple_of(size_of::<u64>()), 0);
        self.words
            .write_slice(names.as_chunks().0, u64::from_le_bytes)?;
        self.end_unit(unit)
    }

    /// Writes the classes of labelled rows, which are 1 and -1 without names, the names of features and the weights of
    /// the rows, and flushes everything to the target.
    ///
    /// # Errors
    /// When the target cannot be written.
    pub(crate) fn finish(
        mut self,
        classes: Option<&Classes>,
        vocabulary: Option<&Vocabulary>,
        weights: Option<&[Weight]>,
    ) -> Result<(), BlocksError> {
        if self.layout.header().labels.planes() > 0 {
            self.write_names(Classes::bytes_of(classes), self.layout.classes_unit())?;
        }
        if let Some(vocabulary) = vocabulary {
            self.write_names(vocabulary.to_bytes(), self.layout.vocabulary_unit())?;
        }
        if let Some(weights) = weights {
            debug_assert_eq!(weights.len(), self.layout.header().examples);
            weights::write(weights, &mut self.words)?;
            self.end_unit(self.layout.weights_unit())?;
        }
        if self.layout.index_bytes().is_some() {
            self.words.write(std::mem::take(&mut self.ends))?;
            let blocks = self.layout.blocks();
            self.end_unit(self.layout.unit(blocks, 0))?;
        }
        self.words.finish()?;
        Ok(())
    }
}

/// Data with the names of their classes and of their features.
pub type NamedData = (Data, Option<Classes>, Option<Vocabulary>);

/// Data with the names of their classes and of their features, and the weights of their examples.
pub type WeightedData = (
    Data,
    Option<Classes>,
    Option<Vocabulary>,
    Option<Arc<[Weight]>>,
);

/// Reads the output of [`write_blocks`] to the end of the source.
///
/// # Errors
/// When the source is not such output. Even if the header claims more, memory grows only with the bytes that arrive.
pub fn read_blocks(mut from: impl Read) -> Result<WeightedData, BlocksError> {
    let layout = Layout::read(&mut from)?;
    let mut words = WordReader::with_crc(from);
    let rows = 0..layout.header().examples;
    let data = read_rows(&layout, rows, 0, &mut words)?;
    let (classes, vocabulary) = layout.names_from(&mut words)?;
    let weights = layout.weights_from(&mut words)?;
    if layout.index_bytes().is_some() {
        let blocks = layout.blocks();
        words.read(blocks, &mut Vec::new(), |end| end)?;
        end_unit(&layout, layout.unit(blocks, 0), &mut words)?;
    }
    if !words.ends()? {
        return Err(BlocksError::Trailing);
    }
    Ok((data, classes, vocabulary, weights))
}

/// Reads whole blocks and checks each unit. The buffers are allocated for `capacity` rows at the start, so it must be
/// 0 unless the source is known to be long enough.
pub(crate) fn read_rows(
    layout: &Layout,
    rows: Range<usize>,
    capacity: usize,
    words: &mut WordReader<impl Read>,
) -> Result<Data, BlocksError> {
    let header = layout.header();
    let (bits, reals) = match header.is_real {
        _ if header.entries.is_some() => (0, 0),
        false => (
            words_for(header.n) * capacity.next_multiple_of(BLOCK_ROWS),
            0,
        ),
        true => (0, header.n * capacity),
    };
    let mut features: Vec<u64> = Vec::with_capacity(bits);
    let mut values: Vec<f64> = Vec::with_capacity(reals);
    let mut labels = vec![Vec::new(); header.labels.planes()];
    let is_real = header.is_real;
    let mut sparse = header.entries.map(|_| SparseMatrix::new(header.n, is_real));
    let first = layout.block_offset(rows.start / BLOCK_ROWS);
    let last = layout.block_end((rows.end - 1) / BLOCK_ROWS);
    if let (Some(sparse), Some(first), Some(last), 1..) = (&mut sparse, first, last, capacity) {
        // An active feature takes at least a byte, and its value 8.
        let entry_bytes = if is_real { 9 } else { 1 };
        let most = (last - first) as usize / entry_bytes;
        sparse.reserve(capacity, header.entries.map_or(most, |all| all.min(most)));
    }
    for block in rows.start / BLOCK_ROWS..rows.end.div_ceil(BLOCK_ROWS) {
        let held = layout.rows_of(block);
        let mut packed = None;
        match header.is_real {
            _ if header.entries.is_some() => {
                let count = layout.words_of_sparse(block);
                let read = SparseWords::read(is_real, held, count, words)?;
                let read = read.ok_or_else(|| layout.damage_of(layout.unit(block, 0)));
                packed = Some(read?);
            }
            false => {
                let count = words_for(header.n) * BLOCK_ROWS;
                words.read(count, &mut features, |word| word)?;
            }
            true if layout.is_by_rows() => {
                for place in 0..held {
                    words.read(header.n, &mut values, f64::from_bits)?;
                    end_unit(layout, layout.unit(block, place), words)?;
                }
            }
            true => words.read(held * header.n, &mut values, f64::from_bits)?,
        }
        for plane in &mut labels {
            words.read(1, plane, |word| word)?;
        }
        if layout.is_by_rows() && header.labels.planes() > 0 {
            end_unit(layout, layout.labels_unit(block), words)?;
        }
        let last = labels.iter().filter_map(|plane| plane.last());
        if last.fold(0, |all, word| all | word) & !row_mask(held) != 0 {
            return Err(BlocksError::StrayBits);
        }
        if !layout.is_by_rows() {
            end_unit(layout, layout.unit(block, 0), words)?;
        }
        if let (Some(packed), Some(sparse)) = (packed, &mut sparse) {
            packed.unpack(held, sparse)?;
        }
    }
    let features = match sparse {
        Some(sparse) => Features::Sparse(sparse),
        None => features_of(header, rows.len(), features, values)?,
    };
    let labels = match header.labels {
        LabelKind::HalfSpace => Labels::HalfSpace,
        LabelKind::Labelled { .. } => Labels::Labelled(ClassCodes::from_planes(rows.len(), labels)),
        LabelKind::Unlabelled => Labels::Unlabelled,
    };
    Ok(Data::new(features, labels))
}

/// Compares the check of the last unit that was read.
pub(crate) fn end_unit(
    layout: &Layout,
    unit: usize,
    words: &mut WordReader<impl Read>,
) -> Result<(), BlocksError> {
    let crc = words.take_crc();
    let found = words.word()?;
    words.take_crc();
    if found == layout.check_of(unit, crc) {
        return Ok(());
    }
    Err(layout.damage_of(unit))
}

/// Converts whole dense blocks to features.
fn features_of(
    header: &Shape,
    rows: usize,
    features: Vec<u64>,
    values: Vec<f64>,
) -> Result<Features, BlocksError> {
    match header.is_real {
        false => {
            let matrix = BitMatrix::from_block_words(header.n, rows, features);
            Ok(Features::Boolean(matrix.ok_or(BlocksError::StrayBits)?))
        }
        true if !values.iter().all(|value| value.is_finite()) => Err(BlocksError::NotFinite),
        true => Ok(Features::Real(RealMatrix::from_values(header.n, values))),
    }
}
