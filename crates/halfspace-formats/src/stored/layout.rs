//! Layout of stored data: the positions of the header, the blocks and their checks.
//!
//! All integers are little-endian. The header has 40 bytes:
//!
//! - the magic `halfspac` (8 bytes) and the version (4 bytes);
//! - four bytes: the kind of the rows, that of the labels, the sum of 1 for sparse rows, 2 for a vocabulary and 4 for
//!   weights, and the number of bit planes of the class codes, which is 0 without labels;
//! - n, the number of rows, and the bytes of a whole block or, for sparse rows, the number of active features of
//!   all rows (8 bytes each).
//!
//! A check of 8 bytes follows, and then blocks of 64 rows, the last of which has the remaining rows. A block
//! contains:
//!
//! - Boolean rows as packed words, word-major, with zeros up to 64 rows even in the last block; or real rows as
//!   doubles, row by row, without filling;
//! - in labelled data one word per bit plane `p`, whose bit `r` is bit `p` of the class code of the block's row
//!   `r`.
//!
//! All such blocks except the last have the same size, so that you can read data larger than memory by position.
//! Sparse rows have other blocks, with an index of their positions: see [`crate::stored::sparse_blocks`].
//!
//! After the last block of labelled data come the names of the classes, as a unit: the number of their bytes (8
//! bytes), and the bytes of [`Classes::bytes_of`] with zeros up to a whole word. If features have names, those follow
//! in the same form, with the bytes of [`Vocabulary::to_bytes`]. The weights of the examples, if they have weights,
//! follow in this form too: each in thousandths, in 4 bytes. The index of sparse rows comes last.
//!
//! A *unit* is the least amount that is read at once: normally a block, and each row and the labels of a block if dense
//! real rows have at least 64 features. A check follows each unit: the CRC-64/NVME of its bytes, combined with the
//! header's check and the unit's number. It finds every change within 64 consecutive bits, and a unit in the place of
//! another or under another header.

use std::io::{Read, Write};
use std::ops::Range;
use std::sync::Arc;

use crc_fast::crc64_nvme;

use halfspace_core::bits::{BLOCK_ROWS, words_for};
use halfspace_core::learners::sample::classes::{PLANES_MAX, planes_for};
use halfspace_core::learners::sample::examples::{LabelKind, Shape};
use halfspace_core::learners::sample::weights::Weight;

use crate::classes::Classes;
use crate::stored::header::{BlocksError, LabelsKind};

use crate::stored::sparse_blocks::NUMBER_BYTES_MAX;
use crate::stored::weights::{self, WEIGHT_BYTES};
use crate::stored::words::WordReader;
use crate::vocabulary::Vocabulary;

const MAGIC: &[u8; 8] = b"halfspac";
const VERSION: u32 = 2;

const WORD_BYTES: usize = size_of::<u64>();
/// Words of a check.
const CHECK_WORDS: usize = 1;
/// Bytes of the header without its check.
pub(crate) const HEAD_BYTES: usize = 40;
/// Least n for which each real row is a unit. A check then takes at most 1.6 % of the space. Shorter units would cost
/// more time, because the CRC is slow below 512 bytes.
const ROW_UNIT_N_MIN: usize = 64;

/// The units that only some data have after their rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// The names of the features.
    pub names: bool,
    /// The weights of the examples.
    pub weights: bool,
}

/// Layout of certain stored data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    header: Shape,
    units: Units,
    /// Check of the header.
    check: u64,
    /// The index of sparse rows, if it was read: the byte offset of the end of each block.
    ends: Option<Arc<[u64]>>,
    /// The classes of labelled rows, if they were read.
    classes: Option<Arc<Classes>>,
}

impl Layout {
    /// Bytes of a header with its check. All stored data have at least this many bytes.
    pub const CHECKED_HEAD_BYTES: usize = HEAD_BYTES + WORD_BYTES;

    /// The layout in which data are written.
    ///
    /// # Errors
    /// When the bytes of a block exceed 64 bits.
    pub fn new(header: Shape, units: Units) -> Result<Self, BlocksError> {
        let mut layout = Self {
            header,
            units,
            check: 0,
            ends: None,
            classes: None,
        };
        layout.check = crc64_nvme(&layout.head()?);
        Ok(layout)
    }

    /// The kinds and sizes of the rows.
    pub fn header(&self) -> &Shape {
        &self.header
    }

    /// Whether the features have names, which are stored too.
    pub fn is_named(&self) -> bool {
        self.units.names
    }

    /// Whether the examples have weights, which are stored too.
    pub fn is_weighted(&self) -> bool {
        self.units.weights
    }

    /// The number of blocks.
    pub fn blocks(&self) -> usize {
        self.header.examples.div_ceil(BLOCK_ROWS)
    }

    fn head(&self) -> Result<[u8; HEAD_BYTES], BlocksError> {
        let header = &self.header;
        let last = match header.entries {
            Some(entries) => Some(entries as u64),
            None => self.block_bytes(),
        };
        let last = last.ok_or(BlocksError::Header("the size of a block"))?;
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(MAGIC);
        head[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let is_sparse = u8::from(header.entries.is_some());
        let units = u8::from(self.units.names) << 1 | u8::from(self.units.weights) << 2;
        let kinds = [
            u8::from(header.is_real),
            LabelsKind::of(header.labels).code(),
            is_sparse | units,
            header.labels.planes() as u8,
        ];
        head[12..16].copy_from_slice(&kinds);
        let longs = [header.n as u64, header.examples as u64, last];
        for (at, long) in longs.into_iter().enumerate() {
            head[16 + 8 * at..24 + 8 * at].copy_from_slice(&long.to_le_bytes());
        }
        Ok(head)
    }

    /// Writes the header.
    ///
    /// # Errors
    /// When the target cannot be written.
    pub(crate) fn write(&self, mut to: impl Write) -> Result<(), BlocksError> {
        to.write_all(&self.head()?)?;
        to.write_all(&self.check.to_le_bytes())?;
        Ok(())
    }

    /// Reads and checks a header.
    ///
    /// # Errors
    /// When the header is truncated, of another version, damaged, or contradicts itself.
    pub fn read(mut from: impl Read) -> Result<Self, BlocksError> {
        let mut head = [0; HEAD_BYTES];
        from.read_exact(&mut head)?;
        if head[..8] != *MAGIC {
            return Err(BlocksError::Magic);
        }
        let version = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        if version != VERSION {
            return Err(BlocksError::Version(version));
        }
        let mut check = [0; WORD_BYTES];
        from.read_exact(&mut check)?;
        let check = u64::from_le_bytes(check);
        if check != crc64_nvme(&head) {
            return Err(BlocksError::Header("its check"));
        }
        let (header, units) = header_of(&head)?;
        let layout = Self {
            header,
            units,
            check,
            ends: None,
            classes: None,
        };
        let has_places = layout.block_offset(layout.blocks()).is_some();
        let is_sparse = header.entries.is_some();
        if !is_sparse && (layout.block_bytes() != Some(long(&head, 32)) || !has_places) {
            return Err(BlocksError::Header("the size of a block"));
        }
        Ok(layout)
    }

    /// Whether each real row is a unit, instead of the block.
    pub(crate) fn is_by_rows(&self) -> bool {
        let is_dense = self.header.entries.is_none();
        is_dense && self.header.is_real && self.header.n >= ROW_UNIT_N_MIN
    }

    /// The number of rows in block `index`.
    pub(crate) fn rows_of(&self, index: usize) -> usize {
        (self.header.examples - index * BLOCK_ROWS).min(BLOCK_ROWS)
    }

    /// The bytes of every dense block except the last, or `None` above 64 bits. If the rows are real, the last block
    /// may be shorter.
    pub(crate) fn block_bytes(&self) -> Option<u64> {
        self.bytes_of_block(BLOCK_ROWS)
    }

    /// The bytes of a block with `rows` rows.
    fn bytes_of_block(&self, rows: usize) -> Option<u64> {
        let n = self.header.n;
        let labels = self.header.labels.planes();
        let words = match self.header.is_real {
            true if self.is_by_rows() => {
                let rows = n.checked_add(CHECK_WORDS)?.checked_mul(rows)?;
                rows.checked_add(self.label_unit_words())?
            }
            true => n.checked_mul(rows)?.checked_add(labels + CHECK_WORDS)?,
            false => {
                let rows = words_for(n).checked_mul(BLOCK_ROWS)?;
                rows.checked_add(labels + CHECK_WORDS)?
            }
        };
        (words as u64).checked_mul(WORD_BYTES as u64)
    }

    /// The bytes of a row that is a unit, with its check.
    pub(crate) fn row_bytes(&self) -> u64 {
        ((self.header.n + CHECK_WORDS) * WORD_BYTES) as u64
    }

    /// The number of words of a block's labels if they are a unit of their own, with its check.
    fn label_unit_words(&self) -> usize {
        match self.header.labels.planes() {
            0 => 0,
            planes => planes + CHECK_WORDS,
        }
    }

    /// The number of bytes of a block's labels if they are a unit of their own, with its check.
    pub(crate) fn labels_bytes(&self) -> u64 {
        (self.label_unit_words() * WORD_BYTES) as u64
    }

    /// The bytes of the index after the last block of sparse rows. Dense rows have no index.
    pub fn index_bytes(&self) -> Option<u64> {
        let words = self.blocks() + CHECK_WORDS;
        self.header.entries.map(|_| (words * WORD_BYTES) as u64)
    }

    /// Adds the index of sparse rows, which is at the end of the stored data.
    ///
    /// # Errors
    /// When the bytes are not the index of these rows.
    pub fn with_index(mut self, bytes: &[u8]) -> Result<Self, BlocksError> {
        let words: Vec<u64> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|it| u64::from_le_bytes(*it))
            .collect();
        let unit = self.unit(self.blocks(), 0);
        let Some((&check, ends)) = words.split_last() else {
            return Err(BlocksError::Truncated);
        };
        let crc = crc64_nvme(&bytes[..size_of_val(ends)]);
        if check != self.check_of(unit, crc) {
            return Err(self.damage_of(unit));
        }
        let is_index = ends.len() == self.blocks()
            && ends.is_sorted_by(|one, other| one < other)
            && ends[0] > Self::CHECKED_HEAD_BYTES as u64;
        if !is_index {
            return Err(BlocksError::Header("the index"));
        }
        self.ends = Some(ends.into());
        Ok(self)
    }

    /// The classes of labelled rows, if they were read.
    pub fn classes(&self) -> Option<&Classes> {
        self.classes.as_deref()
    }

    /// Adds the classes of labelled rows from the bytes of their unit.
    ///
    /// # Errors
    /// When the bytes are not the classes of these rows.
    pub(crate) fn with_classes(mut self, bytes: &[u8]) -> Result<Self, BlocksError> {
        self.classes = Some(Arc::new(self.classes_in(bytes)?));
        Ok(self)
    }

    /// The names of the classes from the bytes of their unit.
    ///
    /// # Errors
    /// When the bytes are not the classes of these rows.
    fn classes_in(&self, bytes: &[u8]) -> Result<Classes, BlocksError> {
        let names = self.names_in(self.classes_unit(), bytes);
        names
            .and_then(Classes::from_bytes)
            .filter(|classes| planes_for(classes.count()) == self.header.labels.planes())
            .ok_or(BlocksError::Header("the classes"))
    }

    /// The names of the features from the bytes of their unit.
    ///
    /// # Errors
    /// When the bytes are not the names of these features.
    pub(crate) fn vocabulary(&self, bytes: &[u8]) -> Result<Vocabulary, BlocksError> {
        let names = self.names_in(self.vocabulary_unit(), bytes);
        let names = names.and_then(Vocabulary::from_bytes);
        names
            .filter(|names| names.len().max(1) == self.header.n)
            .ok_or(BlocksError::Header("the names of the features"))
    }

    /// The bytes of names in those of their unit. None if the unit is damaged.
    fn names_in<'b>(&self, unit: usize, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let (words, &[check]) = bytes.as_chunks().0.split_last_chunk()?;
        let read: &[u8] = words.as_flattened();
        let (length, names) = read.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (names, fill) = names.split_at_checked(length)?;
        let is_whole = u64::from_le_bytes(check) == self.check_of(unit, crc64_nvme(read))
            && fill.len() < WORD_BYTES
            && fill.iter().all(|byte| *byte == 0);
        is_whole.then_some(names)
    }

    /// The unit number of the classes.
    pub(crate) fn classes_unit(&self) -> usize {
        self.unit(self.blocks() + 1, 0)
    }

    /// The unit number of the names of features.
    pub(crate) fn vocabulary_unit(&self) -> usize {
        self.unit(self.blocks() + 2, 0)
    }

    /// The unit number of the weights.
    pub(crate) fn weights_unit(&self) -> usize {
        self.unit(self.blocks() + 3, 0)
    }

    /// The bytes of the weights with their check, or `None` above 64 bits.
    pub(crate) fn weights_bytes(&self) -> Option<u64> {
        let none = (!self.units.weights).then_some(0);
        none.or_else(|| Self::weights_bytes_of(self.header.examples))
    }

    /// Reads the weights, if there are any.
    ///
    /// # Errors
    /// When the words are not the weights of these rows.
    pub(crate) fn weights_from(
        &self,
        words: &mut WordReader<impl Read>,
    ) -> Result<Option<Arc<[Weight]>>, BlocksError> {
        if !self.units.weights {
            return Ok(None);
        }
        let check = |crc| self.check_of(self.weights_unit(), crc);
        weights::read(self.header.examples, check, words).map(Some)
    }

    /// The bytes of the weights of `rows` examples with their check, or `None` above 64 bits.
    pub fn weights_bytes_of(rows: usize) -> Option<u64> {
        Self::names_bytes(WEIGHT_BYTES.checked_mul(rows as u64)?)
    }

    /// The bytes of a unit of names that take `names` bytes, or `None` above 64 bits.
    pub(crate) fn names_bytes(names: u64) -> Option<u64> {
        let others = (1 + CHECK_WORDS) * WORD_BYTES;
        names
            .checked_next_multiple_of(WORD_BYTES as u64)?
            .checked_add(others as u64)
    }

    /// Where the names of the classes are, and those of the features and the weights after them, if there are `bytes`
    /// stored bytes and the index was read. `None` without any of them.
    pub fn names_place(&self, bytes: u64) -> Option<Range<u64>> {
        let start = self.block_end(self.blocks() - 1)?;
        let end = bytes.checked_sub(self.index_bytes().unwrap_or(0))?;
        let has_any = self.has_classes() || self.units != Units::default();
        has_any.then_some(start..end.max(start))
    }

    /// Reads the names of classes and of features.
    ///
    /// # Errors
    /// When the bytes are not the names of these rows.
    pub fn read_names(
        &self,
        mut from: impl Read,
    ) -> Result<(Option<Classes>, Option<Vocabulary>), BlocksError> {
        self.names_from(&mut WordReader::new(&mut from))
    }

    /// See [`Self::read_names`].
    pub(crate) fn names_from(
        &self,
        words: &mut WordReader<impl Read>,
    ) -> Result<(Option<Classes>, Option<Vocabulary>), BlocksError> {
        let classes = match self.has_classes() {
            false => None,
            true => Some(self.classes_in(&names_unit(words)?)?),
        };
        let vocabulary = match self.units.names {
            false => None,
            true => Some(self.vocabulary(&names_unit(words)?)?),
        };
        Ok((classes, vocabulary))
    }

    /// Whether the names of classes are stored.
    pub(crate) fn has_classes(&self) -> bool {
        self.header.labels.planes() > 0
    }

    /// The number of blocks from block `first` on that together have at most `bytes` bytes, but at least 1.
    pub(crate) fn blocks_within(&self, first: usize, bytes: u64) -> usize {
        if let Some(ends) = &self.ends {
            let start = self.block_offset(first).unwrap_or(0);
            let within = ends[first..].partition_point(|end| end - start <= bytes);
            return within.max(1);
        }
        let blocks = bytes / self.block_bytes().unwrap_or(u64::MAX);
        usize::try_from(blocks.max(1)).unwrap_or(usize::MAX)
    }

    /// The number of words of a sparse block before its labels and its check, if the index was read.
    pub(crate) fn words_of_sparse(&self, index: usize) -> Option<usize> {
        let bytes = self.block_end(index)? - self.block_offset(index)?;
        let others = self.header.labels.planes() + CHECK_WORDS;
        (bytes as usize / WORD_BYTES).checked_sub(others)
    }

    /// The byte offset of block `index`, or `None` above 64 bits or if the index was not read.
    pub fn block_offset(&self, index: usize) -> Option<u64> {
        if self.header.entries.is_some() {
            return match index.checked_sub(1) {
                None => Some(Self::CHECKED_HEAD_BYTES as u64),
                Some(before) => self.ends.as_ref()?.get(before).copied(),
            };
        }
        let before = self.block_bytes()?.checked_mul(index as u64)?;
        before.checked_add(Self::CHECKED_HEAD_BYTES as u64)
    }

    /// The byte offset of the end of block `index`, or `None` above 64 bits.
    pub(crate) fn block_end(&self, index: usize) -> Option<u64> {
        if self.header.entries.is_some() {
            return self.ends.as_ref()?.get(index).copied();
        }
        let bytes = self.bytes_of_block(self.rows_of(index))?;
        self.block_offset(index)?.checked_add(bytes)
    }

    /// The bytes of the stored data with the header, without the names of features. `None` above 64 bits or if the
    /// index was not read. Classes are counted only if they were read.
    pub fn stored_bytes(&self) -> Option<u64> {
        let blocks = self.block_end(self.blocks() - 1)?;
        let names = self
            .classes()
            .map(|classes| Classes::bytes_of(Some(classes)).len() as u64);
        let names = names.and_then(Self::names_bytes).unwrap_or(0);
        blocks
            .checked_add(self.index_bytes().unwrap_or(0))?
            .checked_add(names)?
            .checked_add(self.weights_bytes()?)
    }

    /// The number of units in a whole block.
    fn units_of_block(&self) -> usize {
        if self.is_by_rows() { BLOCK_ROWS + 1 } else { 1 }
    }

    /// The unit number of a block, or of its row `place`.
    pub(crate) fn unit(&self, block: usize, place: usize) -> usize {
        block * self.units_of_block() + place
    }

    /// The unit number of a block's labels.
    pub(crate) fn labels_unit(&self, block: usize) -> usize {
        self.unit(block, BLOCK_ROWS)
    }

    /// Makes the error of a damaged unit.
    pub(crate) fn damage_of(&self, unit: usize) -> BlocksError {
        let (block, place) = (unit / self.units_of_block(), unit % self.units_of_block());
        if block == self.blocks() {
            // The index tells where all rows are.
            let offset = self.block_offset(block).unwrap_or(u64::MAX);
            let rows = 0..self.header.examples;
            return BlocksError::Check { rows, offset };
        }
        let (first, held) = (block * BLOCK_ROWS, self.rows_of(block));
        let offset = self.block_offset(block).unwrap_or(u64::MAX);
        if self.is_by_rows() && place < held {
            let row = first + place;
            let before = place as u64 * self.row_bytes();
            return BlocksError::Check {
                rows: row..row + 1,
                offset: offset.saturating_add(before),
            };
        }
        BlocksError::Check {
            rows: first..first + held,
            offset,
        }
    }

    /// The check of a unit whose bytes have this CRC.
    pub(crate) fn check_of(&self, unit: usize, crc: u64) -> u64 {
        // The factor is odd, so different unit numbers have different products modulo 2^64.
        let number = (unit as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        crc ^ self.check ^ number
    }
}

/// The bytes of the stored form without names and weights, or `None` above 64 bits. For sparse rows this is an upper
/// bound.
pub fn stored_bytes(header: &Shape) -> Option<u64> {
    let Some(entries) = header.entries else {
        return Layout::new(*header, Units::default()).ok()?.stored_bytes();
    };
    let value = if header.is_real { WORD_BYTES } else { 0 };
    let of_entries = entries.checked_mul(NUMBER_BYTES_MAX + value)?;
    let of_rows = header.examples.checked_mul(NUMBER_BYTES_MAX)?;
    // Its head, the fill of the numbers, the labels, the check and the place in the index.
    let words = 4 + header.labels.planes();
    let blocks = header.examples.div_ceil(BLOCK_ROWS);
    let of_blocks = blocks.checked_mul(words * WORD_BYTES)?;
    let all = of_entries.checked_add(of_rows)?.checked_add(of_blocks)?;
    (all as u64).checked_add((Layout::CHECKED_HEAD_BYTES + WORD_BYTES) as u64)
}

fn long(head: &[u8; HEAD_BYTES], at: usize) -> u64 {
    let mut eight = [0; WORD_BYTES];
    eight.copy_from_slice(&head[at..at + WORD_BYTES]);
    u64::from_le_bytes(eight)
}

/// Reads a unit of names with its check. Memory grows only with the bytes that arrive.
fn names_unit(words: &mut WordReader<impl Read>) -> Result<Vec<u8>, BlocksError> {
    let length = words.word()?;
    let count = usize::try_from(length.div_ceil(8)).map_err(|_| BlocksError::Truncated)?;
    let count = count.checked_add(1).ok_or(BlocksError::Truncated)?;
    let mut unit = vec![length.to_le_bytes()];
    words.read(count, &mut unit, u64::to_le_bytes)?;
    words.take_crc();
    Ok(unit.into_flattened())
}

/// Reads kinds and sizes from the bytes of a header, and which units the data have.
fn header_of(head: &[u8; HEAD_BYTES]) -> Result<(Shape, Units), BlocksError> {
    let is_real = match head[12] {
        0 => false,
        1 => true,
        _ => return Err(BlocksError::Header("the kind of the rows")),
    };
    let planes = usize::from(head[15]);
    let labels = match head[13] {
        0 => LabelKind::HalfSpace,
        1 => LabelKind::Labelled { planes },
        2 => LabelKind::Unlabelled,
        _ => return Err(BlocksError::Header("the kind of the labels")),
    };
    let has = |bit: u8| head[14] & bit == bit;
    let is_sparse = has(1);
    if head[14] > 7 {
        return Err(BlocksError::Header("the layout of the rows"));
    }
    if planes > PLANES_MAX || (planes > 0) != labels.is_labelled() {
        return Err(BlocksError::Header("the planes of the labels"));
    }
    let count = |at, what| match usize::try_from(long(head, at)) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(BlocksError::Header(what)),
    };
    let shape = Shape {
        n: count(16, "n")?,
        examples: count(24, "the number of rows")?,
        is_real,
        entries: match (is_sparse, usize::try_from(long(head, 32))) {
            (false, _) => None,
            (true, Ok(entries)) => Some(entries),
            (true, Err(_)) => return Err(BlocksError::Header("the number of active features")),
        },
        labels,
    };
    let (names, weights) = (has(2), has(4));
    Ok((shape, Units { names, weights }))
}
