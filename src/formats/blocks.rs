//! The stored form of data: the learners' own layout on disk.
//!
//! All integers are little-endian. A header of 40 bytes: the magic `halfspac`, the version (4
//! bytes), the kind of the rows and of the labels (1 byte each), 2 zero bytes, n and the number of
//! rows (8 bytes each), and the bytes of a whole block (8). Then blocks of 64 rows, the last with
//! what is left: Boolean rows as packed words, word-major, all 64 rows of them even in the last
//! block; real rows as doubles, row by row, only those that exist; then, when labelled, one word
//! whose bit `r` is the label of the block's row `r`. So every block but the last is of one size,
//! and block `i` stands at `40 + i * block_bytes`: data larger than memory are read by position.

use std::io::{self, ErrorKind, Read, Write};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use utoipa::ToSchema;

use crate::bits::{BLOCK_ROWS, BitMatrix, BitVector, words_for};
use crate::learners::data::{Data, Features, Labels, RealMatrix};

use super::parts::{Part, for_each_part};
use super::words::{WordReader, WordWriter};

const MAGIC: &[u8; 8] = b"halfspac";
const VERSION: u32 = 1;
const WORD_BYTES: usize = size_of::<u64>();

/// What the rows hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowsKind {
    /// Packed bits.
    Boolean,
    /// Doubles.
    Real,
}

impl RowsKind {
    pub(super) fn of(features: &Features) -> Self {
        match features {
            Features::Boolean(_) => Self::Boolean,
            Features::Real(_) => Self::Real,
        }
    }

    pub(super) fn code(self) -> u8 {
        match self {
            Self::Boolean => 0,
            Self::Real => 1,
        }
    }
}

/// What is said of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LabelsKind {
    /// Each is positive by definition.
    HalfSpace,
    /// A bit each.
    Labelled,
    /// Nothing.
    Unlabelled,
}

impl LabelsKind {
    pub fn of(labels: &Labels) -> Self {
        match labels {
            Labels::HalfSpace => Self::HalfSpace,
            Labels::Labelled(_) => Self::Labelled,
            Labels::Unlabelled => Self::Unlabelled,
        }
    }

    pub(super) fn code(self) -> u8 {
        match self {
            Self::HalfSpace => 0,
            Self::Labelled => 1,
            Self::Unlabelled => 2,
        }
    }
}

/// Why stored data cannot be read.
#[derive(Debug, Error)]
pub enum BlocksError {
    /// The first bytes are not those of stored data.
    #[error("these are no stored data: the magic is missing")]
    Magic,
    /// The version is not one that is read here.
    #[error("the stored data are of version {0}; version {VERSION} is read here")]
    Version(u32),
    /// The header contradicts itself.
    #[error("the header of the stored data is damaged: {0}")]
    Header(&'static str),
    /// The data end before the last row.
    #[error("the stored data are cut off")]
    Truncated,
    /// Something follows the last block.
    #[error("the stored data go on after their last block")]
    Trailing,
    /// A bit past n, past the last row or past the last label is set.
    #[error("a bit of the stored data is set where none belongs")]
    StrayBits,
    /// A real value is infinite or no number.
    #[error("a value of the stored data is not finite")]
    NotFinite,
    /// The digest is another than the one recorded.
    #[error("the stored data do not have the digest that was recorded")]
    Digest,
    /// The data could not be read or written.
    #[error("the stored data could not be read or written")]
    Io(#[source] io::Error),
}

impl From<io::Error> for BlocksError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::UnexpectedEof => Self::Truncated,
            _ => Self::Io(error),
        }
    }
}

/// What the first bytes of stored data say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlocksHeader {
    /// What the rows hold.
    pub kind: RowsKind,
    /// What is said of them.
    pub labels: LabelsKind,
    /// Features a row.
    pub n: usize,
    /// The number of rows.
    pub rows: usize,
}

impl BlocksHeader {
    /// Bytes of the header, and so where the first block stands.
    pub const BYTES: usize = 40;

    /// The header of data in memory.
    pub fn of(data: &Data) -> Self {
        Self {
            kind: RowsKind::of(data.features()),
            labels: LabelsKind::of(data.labels()),
            n: data.n(),
            rows: data.examples(),
        }
    }

    /// The number of blocks.
    pub fn blocks(&self) -> usize {
        self.rows.div_ceil(BLOCK_ROWS)
    }

    /// Bytes of every block but the last, which may be shorter when the rows are real; `None`
    /// when they pass 64 bits.
    pub fn block_bytes(&self) -> Option<u64> {
        self.bytes_of_block(BLOCK_ROWS)
    }

    /// Bytes of a block of so many rows.
    fn bytes_of_block(&self, rows: usize) -> Option<u64> {
        let words = match self.kind {
            RowsKind::Boolean => words_for(self.n).checked_mul(BLOCK_ROWS)?,
            RowsKind::Real => self.n.checked_mul(rows)?,
        };
        let label = u64::from(self.labels == LabelsKind::Labelled);
        let words = (words as u64).checked_add(label)?;
        words.checked_mul(WORD_BYTES as u64)
    }

    /// Where block `index` stands; `None` past 64 bits.
    pub fn block_offset(&self, index: usize) -> Option<u64> {
        let before = self.block_bytes()?.checked_mul(index as u64)?;
        before.checked_add(Self::BYTES as u64)
    }

    /// Bytes of the stored data, header and all; `None` past 64 bits.
    pub fn stored_bytes(&self) -> Option<u64> {
        let last = self.blocks() - 1;
        let last_bytes = self.bytes_of_block(self.rows - last * BLOCK_ROWS)?;
        self.block_offset(last)?.checked_add(last_bytes)
    }

    /// Reads and checks a header.
    ///
    /// # Errors
    /// When it is cut off, of another version, or contradicts itself.
    pub fn read(mut from: impl Read) -> Result<Self, BlocksError> {
        let mut bytes = [0; Self::BYTES];
        from.read_exact(&mut bytes)?;
        let long = |at: usize| {
            let mut eight = [0; WORD_BYTES];
            eight.copy_from_slice(&bytes[at..at + WORD_BYTES]);
            u64::from_le_bytes(eight)
        };
        if bytes[..8] != *MAGIC {
            return Err(BlocksError::Magic);
        }
        let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        if version != VERSION {
            return Err(BlocksError::Version(version));
        }
        let kind = match bytes[12] {
            0 => RowsKind::Boolean,
            1 => RowsKind::Real,
            _ => return Err(BlocksError::Header("the kind of the rows")),
        };
        let labels = match bytes[13] {
            0 => LabelsKind::HalfSpace,
            1 => LabelsKind::Labelled,
            2 => LabelsKind::Unlabelled,
            _ => return Err(BlocksError::Header("the kind of the labels")),
        };
        if bytes[14..16] != [0, 0] {
            return Err(BlocksError::Header("the bytes kept zero"));
        }
        let count = |at, what| match usize::try_from(long(at)) {
            Ok(count) if count > 0 => Ok(count),
            _ => Err(BlocksError::Header(what)),
        };
        let header = Self {
            kind,
            labels,
            n: count(16, "n")?,
            rows: count(24, "the number of rows")?,
        };
        if header.block_bytes() != Some(long(32)) || header.block_offset(header.blocks()).is_none()
        {
            return Err(BlocksError::Header("the size of a block"));
        }
        Ok(header)
    }

    /// Writes the header.
    ///
    /// # Errors
    /// When the target does, or a block passes 64 bits.
    pub fn write(&self, mut to: impl Write) -> Result<(), BlocksError> {
        let too_large = BlocksError::Header("the size of a block");
        let block_bytes = self.block_bytes().ok_or(too_large)?;
        to.write_all(MAGIC)?;
        to.write_all(&VERSION.to_le_bytes())?;
        to.write_all(&[self.kind.code(), self.labels.code(), 0, 0])?;
        for long in [self.n as u64, self.rows as u64, block_bytes] {
            to.write_all(&long.to_le_bytes())?;
        }
        Ok(())
    }
}

/// Writes data in the stored form.
///
/// # Errors
/// When the target does.
pub fn write_blocks(data: &Data, to: impl Write) -> Result<(), BlocksError> {
    let mut blocks = BlockWriter::new(BlocksHeader::of(data), to)?;
    for_each_part(data, |part| blocks.push(&part))?;
    blocks.finish()
}

/// Writes the stored form of rows, a part at a time: the one writer of it.
pub(super) struct BlockWriter<W> {
    words: WordWriter<W>,
    rows: usize,
    /// Of the real rows so far: blocks of Boolean rows come whole.
    rows_written: usize,
    labels: u64,
}

impl<W: Write> BlockWriter<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// When the target does, or a block passes 64 bits.
    pub(super) fn new(header: BlocksHeader, mut to: W) -> Result<Self, BlocksError> {
        header.write(&mut to)?;
        Ok(Self {
            words: WordWriter::new(to),
            rows: header.rows,
            rows_written: 0,
            labels: 0,
        })
    }

    /// Writes the rows that follow those written.
    ///
    /// # Errors
    /// When the target does.
    pub(super) fn push(&mut self, part: &Part<'_>) -> Result<(), BlocksError> {
        match part {
            Part::Block(block, labels) => {
                self.words.write(block.words().iter().copied())?;
                self.words.write(labels.iter().copied())?;
            }
            Part::Row(values, label) => {
                self.words
                    .write(values.iter().map(|value| value.to_bits()))?;
                let place = self.rows_written % BLOCK_ROWS;
                self.rows_written += 1;
                let Some(label) = label else { return Ok(()) };
                self.labels |= u64::from(*label) << place;
                if place + 1 == BLOCK_ROWS || self.rows_written == self.rows {
                    self.words.write([std::mem::take(&mut self.labels)])?;
                }
            }
        }
        Ok(())
    }

    /// Hands everything to the target.
    ///
    /// # Errors
    /// When the target does.
    pub(super) fn finish(self) -> Result<(), BlocksError> {
        self.words.finish()?;
        Ok(())
    }
}

/// Reads what [`write_blocks`] wrote, to the end of the source.
///
/// # Errors
/// For anything that it cannot have written; memory grows only with what is there, whatever the
/// header promises.
pub fn read_blocks(mut from: impl Read) -> Result<Data, BlocksError> {
    let header = BlocksHeader::read(&mut from)?;
    let mut words = WordReader::new(from);
    let data = read_rows(&header, &mut words)?;
    if !words.ends()? {
        return Err(BlocksError::Trailing);
    }
    Ok(data)
}

/// Reads as many blocks as the header has rows for.
pub(super) fn read_rows(
    header: &BlocksHeader,
    words: &mut WordReader<impl Read>,
) -> Result<Data, BlocksError> {
    let mut features: Vec<u64> = Vec::new();
    let mut values: Vec<f64> = Vec::new();
    let mut labels = Vec::new();
    for block in 0..header.blocks() {
        let rows = (header.rows - block * BLOCK_ROWS).min(BLOCK_ROWS);
        match header.kind {
            RowsKind::Boolean => {
                let count = words_for(header.n) * BLOCK_ROWS;
                words.read(count, &mut features, |word| word)?;
            }
            RowsKind::Real => words.read(rows * header.n, &mut values, f64::from_bits)?,
        }
        if header.labels == LabelsKind::Labelled {
            words.read(1, &mut labels, |word| word)?;
            let stray = |word: &u64| rows < BLOCK_ROWS && word >> rows != 0;
            if labels.last().is_some_and(stray) {
                return Err(BlocksError::StrayBits);
            }
        }
    }
    let features = match header.kind {
        RowsKind::Boolean => {
            let matrix = BitMatrix::from_block_words(header.n, header.rows, features);
            Features::Boolean(matrix.ok_or(BlocksError::StrayBits)?)
        }
        RowsKind::Real if !values.iter().all(|value| value.is_finite()) => {
            return Err(BlocksError::NotFinite);
        }
        RowsKind::Real => Features::Real(RealMatrix::from_values(header.n, values)),
    };
    let labels = match header.labels {
        LabelsKind::HalfSpace => Labels::HalfSpace,
        LabelsKind::Labelled => Labels::Labelled(BitVector::from_words(header.rows, labels)),
        LabelsKind::Unlabelled => Labels::Unlabelled,
    };
    Ok(Data::new(features, labels))
}
