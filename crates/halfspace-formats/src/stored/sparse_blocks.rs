//! Blocks of sparse rows in the stored form.
//!
//! A block is one unit of words:
//!
//! - a word with the length of the packed numbers in bytes in its lower half, and the number of active features in its
//!   upper half;
//! - the packed numbers, filled up with zeros to whole words: for each row the number of its active features, then
//!   for each row these features, the first from 0 and each other one as the distance from the one before, less 1.
//!   They are packed as Stream VByte (Lemire, Kurz and Rupp 2018). First come the lengths: two bits per number say
//!   that it takes 1 to 4 bytes, the first of four in the lowest bits of a byte. The numbers follow, little-endian;
//! - in real rows a double per active feature;
//! - in labelled data one word of labels, as in dense blocks.
//!
//! The blocks differ in size, so an index follows the last one: the byte offset of the end of each block, in a unit
//! of its own.
//!
//! The lengths stand apart from the numbers, so a reader has no branch to predict per number. We read them ourselves:
//! `streamvbyte64` 0.2 is fast only on aarch64, `stream-vbyte` 0.4 only with features of the compiler, and `bitpacking`
//! 0.9 packs fixed blocks of 128 integers or more.

use std::io::{self, ErrorKind, Read, Write};

use halfspace_core::bits::{SparseBlock, SparseMatrix};

use crate::stored::header::BlocksError;
use crate::stored::words::{WordReader, WordWriter};

const WORD_BYTES: usize = size_of::<u64>();

/// The most bytes of a number of 32 bits with its length.
pub(crate) const NUMBER_BYTES_MAX: usize = 5;

/// Numbers whose lengths share a byte.
const GROUP: usize = 4;

/// The bits of a number by its length less 1.
const MASKS: [u32; GROUP] = [0xff, 0xffff, 0xff_ffff, u32::MAX];

/// Packs numbers behind their lengths.
struct Packer<'b> {
    bytes: &'b mut Vec<u8>,
    count: usize,
}

impl<'b> Packer<'b> {
    fn new(count: usize, bytes: &'b mut Vec<u8>) -> Self {
        bytes.clear();
        bytes.resize(count.div_ceil(GROUP), 0);
        Self { bytes, count: 0 }
    }

    fn push(&mut self, number: u32) {
        let length = (u32::BITS - number.leading_zeros()).div_ceil(8).max(1) as usize;
        self.bytes[self.count / GROUP] |= (length as u8 - 1) << (2 * (self.count % GROUP));
        self.count += 1;
        self.bytes
            .extend_from_slice(&number.to_le_bytes()[..length]);
    }
}

/// Packed numbers, read from the front.
struct Numbers<'b> {
    lengths: &'b [u8],
    /// The numbers, and at least three bytes more.
    bytes: &'b [u8],
    place: usize,
    at: usize,
}

impl<'b> Numbers<'b> {
    /// None if the bytes end before the lengths of `count` numbers do.
    fn new(count: usize, bytes: &'b [u8]) -> Option<Self> {
        let (lengths, bytes) = bytes.split_at_checked(count.div_ceil(GROUP))?;
        Some(Self {
            lengths,
            bytes,
            place: 0,
            at: 0,
        })
    }

    /// None after the last number.
    #[inline]
    fn take(&mut self) -> Option<u32> {
        let lengths = self.lengths.get(self.place / GROUP)?;
        let length = usize::from(lengths >> (2 * (self.place % GROUP))) % GROUP;
        let four = self.bytes.get(self.at..)?.first_chunk()?;
        self.place += 1;
        self.at += length + 1;
        Some(u32::from_le_bytes(*four) & MASKS[length])
    }
}

/// Writes a block without its labels and its check. `bytes` is a reused buffer.
pub(crate) fn write(
    block: SparseBlock<'_>,
    bytes: &mut Vec<u8>,
    to: &mut WordWriter<impl Write>,
) -> io::Result<()> {
    let mut packer = Packer::new(block.rows() + block.entries(), bytes);
    let rows = || (0..block.rows()).map(|row| block.row(row));
    rows().for_each(|row| packer.push(row.ids.len() as u32));
    for row in rows() {
        let mut next = 0;
        for &id in row.ids {
            packer.push(id - next);
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
    pub(crate) fn unpack(mut self, rows: usize, to: &mut SparseMatrix) -> Result<(), BlocksError> {
        let fill = &self.packed.as_flattened()[self.length..];
        if fill.iter().any(|byte| *byte != 0) {
            return Err(BlocksError::StrayBits);
        }
        if !self.values.iter().all(|value| value.is_finite()) {
            return Err(BlocksError::NotFinite);
        }
        self.packed.push([0; WORD_BYTES]);
        let read = self.append(rows, to);
        read.ok_or(BlocksError::Header("a sparse block"))
    }

    /// None if the bytes are not the rows of a block.
    fn append(&self, rows: usize, to: &mut SparseMatrix) -> Option<()> {
        let mut numbers = Numbers::new(rows + self.entries, self.packed.as_flattened())?;
        let counts: Vec<u32> = (0..rows).map(|_| numbers.take()).collect::<Option<_>>()?;
        if counts.iter().map(|&count| count as usize).sum::<usize>() != self.entries {
            return None;
        }
        let (is_real, mut values) = (to.is_real(), &self.values[..]);
        for count in counts {
            let own;
            (own, values) = values.split_at((count as usize).min(values.len()));
            let distances = (0..count).map_while(|_| numbers.take());
            to.push_distances(distances, is_real.then_some(own))?;
        }
        (numbers.lengths.len() + numbers.at == self.length).then_some(())
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The numbers as they are stored, with the bytes that a reader adds.
    fn packed(numbers: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut packer = Packer::new(numbers.len(), &mut bytes);
        numbers.iter().for_each(|number| packer.push(*number));
        bytes.extend([0; 3]);
        bytes
    }

    fn block_of(numbers: &[u32], entries: usize) -> SparseWords {
        let bytes = packed(numbers);
        let length = bytes.len() - 3;
        let mut words = bytes[..length].to_vec();
        words.resize(length.next_multiple_of(WORD_BYTES), 0);
        SparseWords {
            length,
            entries,
            packed: words.as_chunks().0.to_vec(),
            values: Vec::new(),
        }
    }

    proptest! {
        #[test]
        fn packed_numbers_are_read_again(
            numbers in proptest::collection::vec((any::<u32>(), 0_u32..32).prop_map(|(it, by)| it >> by), 0..40),
        ) {
            let bytes = packed(&numbers);
            let mut read = Numbers::new(numbers.len(), &bytes).unwrap();
            let all: Option<Vec<u32>> = numbers.iter().map(|_| read.take()).collect();
            prop_assert_eq!(all, Some(numbers));
            prop_assert_eq!(read.lengths.len() + read.at + 3, bytes.len());
        }
    }

    #[test]
    fn packed_numbers_take_their_length_and_two_bits() {
        let bytes = packed(&[0, 256, 0x01_02_03, u32::MAX, 7]);
        assert_eq!(bytes[..2], [0b11_10_01_00, 0]);
        assert_eq!(bytes.len(), 2 + 1 + 2 + 3 + 4 + 1 + 3);
    }

    #[test]
    fn sparse_block_refuses_counts_and_features_that_do_not_fit() {
        let read = |numbers: &[u32], entries| {
            let mut rows = SparseMatrix::new(10, false);
            block_of(numbers, entries)
                .unpack(2, &mut rows)
                .map(|()| rows)
        };
        // Two rows: the feature 3 and no feature; the features 0 and 9, and 1.
        assert_eq!(read(&[1, 0, 3], 1).unwrap().row(0).ids, [3]);
        let rows = read(&[2, 1, 0, 8, 1], 3).unwrap();
        assert_eq!((rows.row(0).ids, rows.row(1).ids), (&[0, 9][..], &[1][..]));
        for (numbers, entries) in [
            (&[1, 0, 10][..], 1),
            (&[2, 0, 5, u32::MAX], 2),
            (&[1, 1, 3], 2),
            (&[1, 0, 3], 2),
            (&[1, 0, 3, 4], 1),
        ] {
            assert!(read(numbers, entries).is_err(), "{numbers:?}");
        }
    }
}
