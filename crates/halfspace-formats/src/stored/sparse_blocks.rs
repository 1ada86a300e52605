//! Blocks of sparse rows in the stored form.
//!
//! A block is one unit of words:
//!
//! - a word with the length of the packed numbers in bytes in its lower half, and the number of active features in its
//!   upper half;
//! - the packed numbers, filled up with zeros to whole words: for each row the number of its active features, then
//!   for each row these features, the first from 0 and each other one as the distance from the one before, less 1.
//!   Numbers are written in groups of 7 bits, the lowest first, with the highest bit of a byte set if another group
//!   follows;
//! - in real rows a double per active feature;
//! - in labelled data one word of labels, as in dense blocks.
//!
//! The blocks differ in size, so an index follows the last one: the byte offset of the end of each block, in a unit
//! of its own.
//!
//! We write the numbers byte by byte instead of with a library of packed integers. `bitpacking` 0.9 packs fixed blocks
//! of 32, 128 or 256 integers, and a row of a text has only a few dozen.

use std::io::{self, ErrorKind, Read, Write};

use halfspace_core::bits::{SparseBlock, SparseMatrix, SparseRow};

use crate::stored::header::BlocksError;
use crate::stored::words::{WordReader, WordWriter};

const WORD_BYTES: usize = size_of::<u64>();

/// The most bytes of a number of 32 bits.
pub(crate) const NUMBER_BYTES_MAX: usize = 5;

/// Appends a number.
fn push_number(mut number: u32, bytes: &mut Vec<u8>) {
    while number >= 1 << 7 {
        bytes.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number from the front. None if the bytes end too early, or if the number has more than 32 bits.
fn take_number(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0_u32;
    for place in 0..NUMBER_BYTES_MAX {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let group = u32::from(byte & 0x7f);
        number |= group
            .checked_shl(7 * place as u32)
            .filter(|it| it >> (7 * place) == group)?;
        if byte < 1 << 7 {
            return Some(number);
        }
    }
    None
}

/// Writes a block without its labels and its check. `bytes` is a reused buffer.
pub(crate) fn write(
    block: SparseBlock<'_>,
    bytes: &mut Vec<u8>,
    to: &mut WordWriter<impl Write>,
) -> io::Result<()> {
    bytes.clear();
    let rows = || (0..block.rows()).map(|row| block.row(row));
    rows().for_each(|row| push_number(row.ids.len() as u32, bytes));
    for row in rows() {
        let mut next = 0;
        for &id in row.ids {
            push_number(id - next, bytes);
            next = id + 1;
        }
    }
    // There are at least as many bytes as entries.
    let length = u32::try_from(bytes.len()).map_err(|_| ErrorKind::FileTooLarge)?;
    let head = u64::from(length) | (block.entries() as u64) << u32::BITS;
    bytes.resize(bytes.len().next_multiple_of(WORD_BYTES), 0);
    to.write([head])?;
    to.write_slice(bytes.as_chunks().0, u64::from_le_bytes)?;
    for values in rows().filter_map(|row| row.values) {
        to.write_slice(values, f64::to_bits)?;
    }
    Ok(())
}

/// The words of a block, not yet compared with their check.
pub(crate) struct SparseWords {
    length: usize,
    entries: usize,
    packed: Vec<[u8; WORD_BYTES]>,
    values: Vec<f64>,
}

impl SparseWords {
    /// Reads the words of a block of `rows` rows up to its labels. Memory grows only with the bytes that arrive. None
    /// if the sizes are impossible, or differ from the number of words that `count` states.
    ///
    /// # Errors
    /// When the source fails or ends.
    pub(crate) fn read(
        has_values: bool,
        rows: usize,
        count: Option<usize>,
        words: &mut WordReader<impl Read>,
    ) -> io::Result<Option<Self>> {
        let head = words.word()?;
        let (length, entries) = (head as u32 as usize, (head >> u32::BITS) as usize);
        let values_count = if has_values { entries } else { 0 };
        let own = 1 + length.div_ceil(WORD_BYTES) + values_count;
        // Each number takes at least a byte.
        if entries + rows > length || count.is_some_and(|count| count != own) {
            return Ok(None);
        }
        let (mut packed, mut values) = (Vec::new(), Vec::new());
        words.read(length.div_ceil(WORD_BYTES), &mut packed, u64::to_le_bytes)?;
        words.read(values_count, &mut values, f64::from_bits)?;
        Ok(Some(Self {
            length,
            entries,
            packed,
            values,
        }))
    }

    /// Appends the `rows` rows of the block to rows of the same kind.
    ///
    /// # Errors
    /// When the words are not those of such a block.
    pub(crate) fn unpack(self, rows: usize, to: &mut SparseMatrix) -> Result<(), BlocksError> {
        let (bytes, fill) = self.packed.as_flattened().split_at(self.length);
        if fill.iter().any(|byte| *byte != 0) {
            return Err(BlocksError::StrayBits);
        }
        if !self.values.iter().all(|value| value.is_finite()) {
            return Err(BlocksError::NotFinite);
        }
        let read = unpack(rows, self.entries, bytes, &self.values, to);
        read.ok_or(BlocksError::Header("a sparse block"))
    }
}

/// None if the bytes are not the rows of a block.
fn unpack(
    rows: usize,
    entries: usize,
    mut bytes: &[u8],
    mut values: &[f64],
    to: &mut SparseMatrix,
) -> Option<()> {
    let counts: Vec<u32> = (0..rows)
        .map(|_| take_number(&mut bytes))
        .collect::<Option<_>>()?;
    if counts.iter().map(|&count| count as usize).sum::<usize>() != entries {
        return None;
    }
    let mut ids = Vec::new();
    for count in counts {
        ids.clear();
        let mut next = 0_u32;
        for _ in 0..count {
            let id = next.checked_add(take_number(&mut bytes)?)?;
            if id as usize >= to.n() {
                return None;
            }
            ids.push(id);
            next = id + 1;
        }
        let own;
        (own, values) = values.split_at(ids.len().min(values.len()));
        let values = to.is_real().then_some(own);
        to.push_row(SparseRow { ids: &ids, values });
    }
    bytes.is_empty().then_some(())
}

/// The rows with ids that are larger by 1.
pub(crate) fn raised(rows: &SparseMatrix) -> SparseMatrix {
    let mut raised = SparseMatrix::new(rows.n(), rows.is_real());
    for row in (0..rows.rows()).map(|row| rows.row(row)) {
        for (id, value) in row.entries() {
            raised.push(id as u32 + 1, value);
        }
        raised.end_row();
    }
    raised
}
